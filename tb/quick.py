"""The quick part of the tests: ``./graphloom test --quick``.

Each file of tests gives at most :data:`MOST` of its test functions, spread evenly over the file,
and of each function the first case, that is, the function with the first of its parameters. The
functions of :data:`SLOW` are left out before.
"""

__all__ = ["MOST", "SLOW", "chosen"]


#: Test functions of a file.
MOST = 3


def chosen(tests) -> set[str]:
    """The tests of the quick part, among tests in their order (pytest's node ids)."""
    first = {}
    for test in tests:
        first.setdefault(test.partition("[")[0], test)
    files = {}
    for function, test in first.items():
        file, _, name = function.partition("::")
        if name.rpartition("::")[2] not in SLOW.get(file, ()):
            files.setdefault(file, []).append(test)
    return {test for all_ in files.values() for test in _spread(all_)}


def _spread(tests):
    """At most :data:`MOST` of the tests, from the first to the last."""
    count = min(MOST, len(tests))
    return [tests[index * (len(tests) - 1) // max(1, count - 1)] for index in range(count)]


#: {file: slow test functions}: with one case and builds in the cache, they took more than two
#: seconds of a processor.
SLOW: dict[str, tuple[str, ...]] = {
}
