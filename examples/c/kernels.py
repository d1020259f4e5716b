"""Run kernels in C, check them against numpy, and print their cycles.

From the project's folder::

    PYTHONPATH=. .venv/bin/python examples/c/kernels.py --preset default
"""

import argparse
import dataclasses
import pathlib
import sys
from collections.abc import Callable

import numpy as np

import graphloom


SOURCE = pathlib.Path(__file__).with_name("kernels.c")


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


def main(arguments=None) -> int:
    """Run all kernels, and print a line for each. Returns 1 if a result is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--preset", default="default")
    parser.add_argument("--size", type=int, default=256, help="a power of two")
    parser.add_argument("--functional", action="store_true", help="no cycles")
    asked = parser.parse_args(arguments)
    try:
        config = graphloom.preset(asked.preset)
        program = graphloom.compile(SOURCE, config=config)
        make = graphloom.Device.functional if asked.functional else graphloom.Device.simulate
        right = True
        with make(config) as device:
            for each in examples(asked.size):
                launch = device.launch(program[each.name], **each.arguments)
                same = all((each.arguments[name] == array).all()
                           for name, array in each.expected.items())
                right = right and same
                print(f"{each.name:16} {'right' if same else 'WRONG'} {launch.cycles:9,} cycles "
                      f"{launch.instructions:8,} instructions")
            for name in ("bfs", "bfs_weaver"):
                found, depth, cycles = search(
                    lambda **given: device.launch(program[name], **given), asked.size)
                same = (found == depth).all()
                right = right and same
                print(f"{name:16} {'right' if same else 'WRONG'} {cycles:9,} cycles")
    except (graphloom.UserError, graphloom.ConfigError) as error:
        print(f"kernels.py: error: {error}", file=sys.stderr)
        return 2
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
