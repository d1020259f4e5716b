"""Look keys up in a hash table on the GPU, under several schedules, and print the cycles.

    PYTHONPATH=. .venv/bin/python examples/hash_lookup.py
    PYTHONPATH=. .venv/bin/python examples/hash_lookup.py --help

The same pairs are in three tables. In the table ``even`` every bucket has as many pairs. In
``skewed`` the bucket of rank r has a share of 1 / r of the pairs of the largest bucket. The table
``one`` has a single bucket. A schedule that gives a lane a bucket suffers from ``skewed``; the
Weaver, and schedules that share rows, hand out the pairs of all buckets evenly (SparseWeaver,
section 4.7.2).
"""

import argparse
import sys

import numpy as np

from graphloom import Device, HardwareConfig, HashTable, UserError


TABLES = ("even", "skewed", "one")


def options():
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], epilog="Every answer "
                                     "is compared with a dictionary in Python.")
    parser.add_argument("--preset", default="default", metavar="NAME",
                        help="hardware to start from: tiny, fpga, baseline, default, paper")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE",
                        help="change a field of the preset, such as cores=2; may be repeated")
    parser.add_argument("--schedules", default="vm,wm,em,weaver", metavar="A,B",
                        help="schedules, with options as in vm:unroll=4 (vm,wm,em,weaver)")
    parser.add_argument("--units", default="fsm,stream", metavar="A,B",
                        help="units for the schedule weaver: fsm, scan or stream (fsm,stream)")
    parser.add_argument("--pairs", type=int, default=1024, metavar="N",
                        help="pairs of a table (1024)")
    parser.add_argument("--buckets", type=int, default=128, metavar="N",
                        help="buckets of the tables even and skewed (128)")
    parser.add_argument("--queries", type=int, default=1024, metavar="N",
                        help="keys to look up (1024)")
    parser.add_argument("--missing", type=int, default=10, metavar="PERCENT",
                        help="share of the queries that are not in the table (10)")
    parser.add_argument("--copies", type=int, default=1, metavar="N",
                        help="pairs of the table with the same key (1)")
    parser.add_argument("--count", action="store_true",
                        help="also count the pairs of each key, so no match ends a bucket")
    parser.add_argument("--seed", type=int, default=1, metavar="N",
                        help="seed of keys and queries (1)")
    given = parser.parse_args()
    for name, low, high in (("pairs", 1, 1 << 20), ("buckets", 1, 1 << 12), ("queries", 1, 1 << 20),
                            ("missing", 0, 100), ("copies", 1, 1 << 20), ("seed", 0, 1 << 31)):
        value = getattr(given, name)
        if not low <= value <= high:
            parser.error(f"--{name} {value}: must be from {low} to {high}")
    return given


def lengths(table, buckets, keys):
    """How many different keys each bucket gets."""
    share = np.ones(buckets) if table == "even" else 1 / np.arange(1, buckets + 1)
    ends = np.rint(np.cumsum(share) / share.sum() * keys).astype(int)
    return np.diff(ends, prepend=0)


def draw(rng, device, table, given):
    """Keys and queries: random words, of which each bucket gets as many as it shall have."""
    buckets = 1 if table == "one" else given.buckets
    wanted = lengths(table, buckets, -(-given.pairs // given.copies))
    bucket_of = HashTable(device, [], [], buckets).bucket_of
    chosen = [[] for _ in wanted]
    words = np.array([], np.uint32)
    while any(len(keys) < count for keys, count in zip(chosen, wanted)):
        words = np.unique(np.append(words, rng.integers(1 << 32, size=1 << 18, dtype=np.uint32)))
        mixed = rng.permutation(words)
        owners = bucket_of(mixed)
        order = np.argsort(owners, kind="stable")
        starts = np.searchsorted(owners[order], np.arange(buckets + 1))
        chosen = [mixed[order[start:end][:count]]
                  for start, end, count in zip(starts, starts[1:], wanted)]
    keys = rng.permutation(np.repeat(np.concatenate(chosen), given.copies)[:given.pairs])
    queries = rng.choice(keys, given.queries)
    others = np.setdiff1d(words, keys)
    missing = given.queries * given.missing // 100
    queries[:missing] = rng.choice(others, missing)
    return keys, rng.permutation(queries), buckets


def measure(given, device, schedule):
    """The cycles of a lookup in each table."""
    cycles = []
    for table in TABLES:
        rng = np.random.default_rng(given.seed)
        keys, queries, buckets = draw(rng, device, table, given)
        values = rng.integers(1 << 32, size=len(keys), dtype=np.uint32)
        result = HashTable(device, keys, values, buckets).lookup(queries, schedule=schedule,
                                                                 count=given.count)
        check(keys, values, queries, result)
        cycles.append(result.cycles)
    return cycles


def check(keys, values, queries, result):
    """Compare the answers with those of a dictionary."""
    first, counts = {}, {}
    for key, value in zip(keys.tolist(), values.tolist()):
        first.setdefault(key, value)
        counts[key] = counts.get(key, 0) + 1
    assert result.found.tolist() == [query in first for query in queries.tolist()]
    assert result.values.tolist() == [first.get(query, 0) for query in queries.tolist()]
    if result.counts is not None:
        assert result.counts.tolist() == [counts.get(query, 0) for query in queries.tolist()]


def main():
    """Print the table."""
    given = options()
    config = HardwareConfig.parse(given.preset, given.set)
    hardware = {unit: HardwareConfig.parse(given.preset, [*given.set, f"gather={unit}"])
                for unit in given.units.split(",")} | {config.gather: config}
    print(f"{given.queries} queries, {given.missing} % of them missing; {given.pairs} pairs; "
          f"{given.buckets} buckets, and 1; on {config.name}, {config.cores} x {config.warps} x "
          f"{config.threads}\n")
    print(f"{'cycles':24}" + "".join(f"{table:>12}" for table in TABLES))
    for schedule in given.schedules.split(","):
        by_unit = schedule.partition(":")[0] == "weaver"
        for unit in given.units.split(",") if by_unit else [config.gather]:
            name = f"{schedule} ({unit})" if by_unit else schedule
            with Device.simulate(hardware[unit]) as device:
                cycles = measure(given, device, schedule)
            print(f"{name:24}" + "".join(f"{count:12,}" for count in cycles), flush=True)


if __name__ == "__main__":
    try:
        main()
    except (UserError, ValueError) as error:
        print(f"hash_lookup.py: error: {error}", file=sys.stderr)
        sys.exit(2)
