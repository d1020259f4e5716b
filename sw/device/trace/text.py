"""A trace as text: for each warp of each launch, its instructions in order."""

__all__ = ["pieces"]


def _wait(states, first, last):
    """Cycles from first to last in which the warp did not issue, and the most frequent cause.

    ``states`` is a list of runs in reverse order. Runs that end by ``first`` are removed from it.
    """
    spent = {}
    while states and states[-1][1] <= first:
        states.pop()
    for begin, end, state in reversed(states):
        if begin >= last:
            break
        share = min(end, last) - max(begin, first)
        spent[state] = spent.get(state, 0) + share
    if not spent:
        return ""
    # A warp that is ready waits for its turn.
    cause = max(spent, key=spent.__getitem__)
    return f"{last - first} {'turn' if cause == 'ready' else cause}"


def _line(found, wait, mask_digits):
    parts = [found["result"] + f" (+{found['latency']})"] if "result" in found else []
    if "addresses" in found:
        parts.append(f"@ {found['addresses']}")
    if "data" in found:
        parts.append(f"<- {found['data']}")
    text = (f"{found['cycle']:>9}  {wait:<12}  {found['phase']:<14}  {found['pc']:#06x}  "
            f"{found['text']:<32}  {found['mask']:0{mask_digits}x}  {'  '.join(parts)}")
    return text.rstrip()


def pieces(recorder):
    """The lines of the trace, with their ends.

    A line has the cycle of issue; the cycles that the warp waited since its last instruction, and
    the most frequent cause; the phase; PC, instruction and mask; the result in active lanes, and
    the cycles until it was written; after ``@`` the addresses of a memory instruction, and after
    ``<-`` the stored values. Numbers of lanes are hexadecimal.
    """
    for line in _lines(recorder):
        yield line + "\n"


def _lines(recorder):
    config = recorder.config
    digits = -(-config.threads // 4)
    yield (f"# {config.name}: {config.cores} x {config.warps} warps x {config.threads} lanes; "
           f"cycles {recorder.window[0]} to {recorder.window[1] - 1}")
    yield ("#   cycle  waited        phase           PC      instruction" + " " * 23
           + "mask  result (+cycles)  @ addresses  <- data")
    for launch, first, end in recorder.launches():
        for core in range(config.cores):
            for warp in range(config.warps):
                indices = recorder.instructions(launch, core, warp)
                yield ""
                yield (f"launch {launch} ({recorder.kernels[launch]}), core {core}, warp {warp}: "
                       f"{len(indices)} instructions in cycles {first} to {end - 1}")
                states = recorder.states(launch, core, end, warp)[::-1]
                free = first
                for index in indices:
                    found = recorder.describe(index)
                    wait = _wait(states, free, found["cycle"]) if found["cycle"] > free else ""
                    free = found["cycle"] + 1
                    yield _line(found, wait, digits)
