"""Run kernels in C, check them against numpy, and print their cycles.

From the project's folder::

    PYTHONPATH=. .venv/bin/python examples/c/kernels.py --preset baseline
    PYTHONPATH=. .venv/bin/python examples/c/kernels.py --preset baseline --floats full
"""

import argparse
import dataclasses
import itertools
import pathlib
import sys
from collections.abc import Callable

import numpy as np

import graphloom


SOURCE = pathlib.Path(__file__).with_name("kernels.c")
FLOATS = SOURCE.with_name("floats.c")


@dataclasses.dataclass(frozen=True)
class Example:
    """A kernel with its arguments and what has to become of them.

    Attributes
    ----------
    name : str
    arguments : dict of str to object
    expected : dict of str to numpy.ndarray
        The arrays afterwards.
    """
    name: str
    arguments: dict
    expected: dict


def examples(size: int, seed: int = 1) -> list[Example]:
    """The kernels on random data of a size, a power of two, that one launch completes."""
    draw = np.random.default_rng(seed)
    x, y = (draw.integers(-1000, 1000, size, np.int32) for _ in range(2))
    side = max(2, int(size ** 0.5))
    a, b = (draw.integers(-9, 9, (side, side), np.int32) for _ in range(2))
    small = draw.integers(0, 64, size, np.uint8)
    degrees = draw.integers(0, 9, size)
    rows = np.concatenate([[0], np.cumsum(degrees)]).astype(np.uint32)
    columns = draw.integers(0, size, int(rows[-1]), np.uint32)
    values = draw.integers(-1 << 16, 1 << 16, len(columns), np.int32)
    vector = draw.integers(-1 << 16, 1 << 16, size, np.int32)
    products = values.astype(np.int64) * vector[columns]
    sums = np.concatenate([[0], np.cumsum(products)])
    return [
        Example("vector_add", {"n": size, "x": x, "y": y, "z": np.zeros(size, np.int32)},
                {"z": x + y}),
        Example("saxpy", {"n": size, "a": 3, "x": x, "y": y.copy()}, {"y": 3 * x + y}),
        Example("matrix_multiply", {"n": side, "a": a, "b": b, "c": np.zeros_like(a)},
                {"c": a @ b}),
        Example("reduction", {"n": size, "x": x, "total": np.zeros(1, np.int32)},
                {"total": x.sum(keepdims=True)}),
        Example("histogram", {"n": size, "x": small, "counts": np.zeros(64, np.int32)},
                {"counts": np.bincount(small, minlength=64)}),
        Example("prefix_sum", {"n": size, "x": x, "sums": np.zeros(size, np.int32)},
                {"sums": np.cumsum(x)}),
        Example("bitonic_sort", {"n": size, "x": x.copy()}, {"x": np.sort(x)}),
        Example("spmv", {"n": size, "rows": rows, "columns": columns, "values": values, "x": vector,
                         "y": np.zeros(size, np.int32)},
                {"y": (sums[rows[1:]] - sums[rows[:-1]]) >> 16}),
    ]


def _row_sums(rows, terms):
    """The sum of each row's terms, from the first on, each rounded to float32."""
    return np.array([np.add.accumulate(np.append(np.float32(0), terms[first:end]))[-1]
                     for first, end in itertools.pairwise(rows)])


def float_examples(size: int, seed: int = 1) -> list[Example]:
    """The kernels in floats on random data of a size that one launch completes."""
    draw = np.random.default_rng(seed)
    x, y, vector, mass = draw.standard_normal((4, size), np.float32)
    rows = np.concatenate([[0], np.cumsum(draw.integers(0, 9, size))]).astype(np.uint32)
    columns = draw.integers(0, size, int(rows[-1]), np.uint32)
    values = draw.standard_normal(len(columns), np.float32)
    pulls = np.zeros((2, size), np.float32)
    for body in range(size):
        distance = np.stack([x[body] - x, y[body] - y])
        squared = distance[0] * distance[0] + distance[1] * distance[1] + np.float32(0.01)
        pulls += distance * (mass[body] / (squared * np.sqrt(squared)))
    return [
        Example("saxpy_floats", {"n": size, "a": 0.75, "x": x, "y": y.copy()},
                {"y": y + np.float32(0.75) * x}),
        Example("spmv_floats", {"n": size, "rows": rows, "columns": columns, "values": values,
                                "x": vector, "y": np.zeros(size, np.float32)},
                {"y": _row_sums(rows, values * vector[columns])}),
        Example("nbody", {"n": size, "x": x, "y": y, "mass": mass,
                          "ax": np.zeros(size, np.float32), "ay": np.zeros(size, np.float32)},
                {"ax": pulls[0], "ay": pulls[1]}),
    ]


def rank(launch: Callable, size: int, steps: int = 10, seed: int = 1):
    """PageRank, a launch for each step. ``launch(**arguments)`` runs the kernel. Returns the ranks,
    the right ranks, and the sum of the cycles."""
    draw = np.random.default_rng(seed)
    rows = np.concatenate([[0], np.cumsum(draw.integers(0, 9, size))]).astype(np.uint32)
    columns = draw.integers(0, size, int(rows[-1]), np.uint32)
    degrees = np.bincount(columns, minlength=size).astype(np.uint32)
    each = np.divide(np.float32(1), degrees, dtype=np.float32, where=degrees > 0,
                     out=np.zeros(size, np.float32))
    share, right_share = each / np.float32(size), each / np.float32(size)
    found, cycles = np.zeros(size, np.float32), 0
    for _ in range(steps):
        following = np.zeros(size, np.float32)
        cycles += launch(n=size, rows=rows, columns=columns, degrees=degrees, share=share,
                         next=following, rank=found).cycles
        share = following
        right = np.float32(0.15) / np.float32(size) \
            + np.float32(0.85) * _row_sums(rows, right_share[columns])
        right_share = np.divide(right, degrees, dtype=np.float32, where=degrees > 0,
                                out=np.zeros(size, np.float32))
    return found, right, cycles


def search(launch: Callable, size: int, seed: int = 1):
    """A breadth-first search, a launch for each level. ``launch(**arguments)`` runs the kernel.
    Returns the depths, -1 of what is not reached, the right depths, and the sum of the cycles."""
    draw = np.random.default_rng(seed)
    rows = np.concatenate([[0], np.cumsum(draw.integers(0, 5, size))]).astype(np.uint32)
    columns = draw.integers(0, size, int(rows[-1]), np.uint32)
    depth, level, found, cycles = np.full(size, -1, np.int32), 0, np.ones(1, np.int32), 0
    depth[0] = 0
    while found[0]:
        found[0] = 0
        cycles += launch(n=size, rows=rows, columns=columns, depth=depth, level=level,
                         found=found).cycles
        level += 1
    right = np.full(size, -1, np.int32)
    right[0], queue = 0, [0]
    for vertex in queue:
        for other in columns[rows[vertex]:rows[vertex + 1]].tolist():
            if right[other] < 0:
                right[other] = right[vertex] + 1
                queue.append(other)
    return depth, right, cycles


def _report(name, same, launches):
    """Print a line for a kernel."""
    cycles, instructions = (sum(getattr(launch, field) for launch in launches)
                            for field in ("cycles", "instructions"))
    rate = f" {instructions / cycles:5.2f} a cycle" if cycles else ""
    print(f"{name:16} {'right' if same else 'WRONG'} {cycles:9,} cycles "
          f"{instructions:8,} instructions{rate}", flush=True)
    return same


def _run(device, source, config, single, repeated):
    """Run kernels of a file: those that one launch completes, and those with many. Returns whether
    all are right."""
    program, right = graphloom.compile(source, config=config), []
    for each in single:
        launch = device.launch(program[each.name], **each.arguments)
        right.append(_report(each.name, all((each.arguments[name] == array).all()
                                            for name, array in each.expected.items()), [launch]))
    for name, run in repeated.items():
        launches = []

        def launch(**arguments):
            launches.append(device.launch(program[name], **arguments))
            return launches[-1]
        found, expected, _ = run(launch)
        right.append(_report(name, (found == expected).all(), launches))
    return all(right)


def main(arguments=None) -> int:
    """Run all kernels, and print a line for each. Returns 1 if a result is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--preset", default="default")
    parser.add_argument("--size", type=int, default=256, help="a power of two")
    parser.add_argument("--functional", action="store_true", help="no cycles")
    parser.add_argument("--floats", choices=("none", "half", "full"), default="none",
                        help="which floats the hardware has; with any, kernels in floats run, too")
    asked = parser.parse_args(arguments)
    size = asked.size
    try:
        config = graphloom.preset(asked.preset).replace(float=asked.floats)
        make = graphloom.Device.functional if asked.functional else graphloom.Device.simulate
        with make(config) as device:
            right = _run(device, SOURCE, config, examples(size), dict.fromkeys(
                ("bfs", "bfs_weaver"), lambda launch: search(launch, size)))
            if config.floats:
                right &= _run(device, FLOATS, config, float_examples(size),
                              {"pagerank": lambda launch: rank(launch, size)})
    except (graphloom.UserError, graphloom.ConfigError) as error:
        print(f"kernels.py: error: {error}", file=sys.stderr)
        return 2
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
