"""Runs whose shape, cores, split and order of warps are drawn, by what a test runs."""

from sw.compile.kernels.split import SPLITS
from tb.sw.compile.kernels.test_programs import ALGORITHMS, GRAPHS, check, config


__all__ = ["run"]


def run(rng, algorithm, name, schedule, direction, *, shapes=((2, 4), (4, 8), (1, 32)),
        cores=(1, 2), splits=SPLITS, imem_bytes=1 << 15, unit=None, part=None, **options):
    """Run an algorithm on a graph of that name, and compare with golden.

    Parameters
    ----------
    rng : random.Random
    algorithm, name, schedule, direction : str
    shapes, cores, splits : sequence
        Warps and lanes, cores, and splits to choose from.
    imem_bytes : int
    unit : sequence of str, optional
        Units that hand out edges, to choose from.
    part : callable, optional
        Gives, by the warps of a core, how many take part; None for all.
    **options
        Of the run.
    """
    warps, threads = rng.choice(shapes)
    fields = {"cores": rng.choice(cores), "imem_bytes": imem_bytes}
    if unit is not None:
        fields["gather"] = rng.choice(unit)
    hardware = config(warps, threads, **fields)
    seed, split = rng.randrange(1 << 20), rng.choice(splits)
    if part is not None:
        options["warps"] = part(warps)
    return check(hardware, algorithm, GRAPHS[name], schedule, direction, seed=seed, split=split,
                 **options, **ALGORITHMS[algorithm])
