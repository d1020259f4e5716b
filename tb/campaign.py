"""Long random campaigns: ``python -m tb.campaign --help``.

Each program is run by the instruction-set simulator and by the RTL, which must leave the same
memory and registers. What fails is named by its seed, by which it can be repeated.
"""

import argparse
import sys
import time

from tb.programs.machines import CONFIGS, machine, verify
from tb.programs.random_programs import random_case


def _memory(seed):
    """A kind of memory for a program: quick or slow, wide or narrow, with a long or short queue."""
    return {"latency": (1, 20, 100)[seed % 3], "queue": (2, 16)[seed // 3 % 2],
            "bytes_per_cycle": (4, 32)[seed // 6 % 2]}


def main(arguments=None):
    """Run the programs asked for; the exit code is 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tb.campaign", description=__doc__)
    parser.add_argument("--config", choices=CONFIGS, action="append",
                        help="configuration, may be given again; default: all")
    parser.add_argument("--seed", type=int, default=1000, help="first seed (default 1000)")
    parser.add_argument("--count", type=int, default=200,
                        help="programs for each configuration (default 200)")
    parser.add_argument("--size", type=int, default=120,
                        help="statements in a program (default 120)")
    options = parser.parse_args(arguments)
    failures = 0
    for name in options.config or CONFIGS:
        begin, cycles = time.perf_counter(), 0
        for seed in range(options.seed, options.seed + options.count):
            try:
                outcome = verify(machine(name, **_memory(seed)),
                                 random_case(CONFIGS[name], seed, options.size))
                cycles += outcome.counters["cycles"]
            except Exception as error:
                failures += 1
                print(f"{name} seed {seed} size {options.size}: {type(error).__name__}: {error}",
                      flush=True)
        seconds = time.perf_counter() - begin
        print(f"{name}: {options.count} programs, {cycles} cycles, {seconds:.0f} s", flush=True)
    print(f"{failures} failures" if failures else "no failures")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
