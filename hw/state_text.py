"""Names of states in waveforms."""

from amaranth.hdl import Signal


__all__ = ["state_text"]


def state_text(m, fsm, *, name):
    """Signal that holds the name of an FSM's state as ASCII text, for waveforms.

    Verilog has no place for the names of states. A waveform viewer shows this signal as a string
    if the signal's format is set to ASCII. Call this function after the FSM's last state.
    """
    states = list(fsm.encoding)
    text = Signal(8 * max(map(len, states)), name=name)
    for state in states:
        with m.If(fsm.ongoing(state)):
            m.d.comb += text.eq(int.from_bytes(state.encode(), "big"))
    return text
