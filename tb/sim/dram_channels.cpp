// Runs requests through channels of the DRAM model, for tb/sim/dram_channels.py. In every memory
// cycle it offers the next requests in order, as many as there are channels, and then ticks.

#include <cstdint>
#include <vector>

namespace {

struct Command {
    std::uint64_t time;
    std::uint32_t what, bank, row;
};

/// The commands of the run, if they are wanted.
std::vector<Command>* commands = nullptr;

void note(std::uint64_t time, char what, std::uint32_t bank, std::uint32_t row) {
    if (commands) commands->push_back({time, static_cast<std::uint32_t>(what), bank, row});
}

}  // namespace

#define DRAM_LOG note
#include "dram_channel.h"

namespace {

struct Request {
    std::uint64_t time;
    std::uint32_t line, channel, bank, row, write;
};

std::vector<Command> noted;

}  // namespace

extern "C" {

/// With `skip` cycles in which the channels have nothing to do are left out. The commands are noted
/// if there is one channel.
std::uint64_t dram_run(const DeviceParameters* parameters, const Request* requests,
                       std::uint32_t count, std::uint32_t window, std::uint32_t channels,
                       std::uint32_t skip, std::int64_t* latencies, ChannelCounts* counts) {
    noted.clear();
    commands = channels == 1 ? &noted : nullptr;
    DramAnswers answers{count, parameters->answer_delay};
    std::vector<std::uint32_t> links(count);
    std::vector<DramChannel> each;
    for (std::uint32_t c = 0; c < channels; ++c)
        each.emplace_back(*parameters, answers, links.data());
    std::vector<std::uint64_t> next(channels, 0);
    std::uint32_t offer = 0, reads = 0;
    std::uint64_t last = 0;
    for (std::uint64_t now = 0; offer < count || reads; ++now) {
        for (std::uint32_t offered = 0; offered < channels && offer < count; ++offered) {
            const Request& request = requests[offer];
            if (request.time > now || (window && reads >= window)) break;
            DramChannel& channel = each[request.channel];
            if (!channel.room(request.write)) break;
            channel.accept(now, {request.line, request.row, offer,
                                 static_cast<std::uint8_t>(request.bank), request.write != 0});
            next[request.channel] = now;
            latencies[offer++] = request.write ? -1 : -static_cast<std::int64_t>(now);
            reads += !request.write;
            last = now;
        }
        for (std::uint32_t c = 0; c < channels; ++c) {
            if (skip && next[c] > now) continue;
            each[c].tick(now);
            next[c] = each[c].next(now);
        }
        while (answers.ready(now)) {
            latencies[answers.pop()] += now;
            --reads;
            last = now;
        }
    }
    for (std::uint32_t c = 0; c < channels; ++c) counts[c] = each[c].counts;
    return last;
}

/// The commands of the last run.
std::uint64_t dram_commands(const Command** place) {
    *place = noted.data();
    return noted.size();
}

}  // extern "C"
