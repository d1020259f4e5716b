// A model made by sim/compiler, with the members of a Verilated model that models.h uses.

#pragma once

#include <cstdint>
#include <memory>

#include "words.h"

/// A model of a design with the types State and Ports; its functions are in their namespace.
///
/// The model evaluates the rising edge of `clk` and everything behind it. An evaluation without an
/// edge takes the inputs that the current cycle sees.
template <typename State, typename Ports>
class Compiled : public Ports {
public:
    std::uint8_t clk = 0;

    Compiled() : m_state{std::make_unique<State>()} {
        power_on(*m_state);
        show(*m_state, *this);
    }

    void eval() {
        State& state = *m_state;
        const bool edge = clk && !m_clk;
        m_clk = clk;
        const bool changed = direct(state, *this);
        if (!changed && !edge) return;
        if (changed) settle(state);
        if (edge) {
            commit(state);
            take(state, *this);
            settle(state);
        }
        show(state, *this);
    }

    const State& state() const { return *m_state; }

private:
    std::unique_ptr<State> m_state;
    std::uint8_t m_clk = 0;
};
