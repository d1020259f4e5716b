"""The quick part of the tests: ``./graphloom test --quick``.

Of each test function the first case counts, that is, the function with the first of its parameters.
The functions of :data:`SLOW` are left out. They took more than a second of a processor with one
case, with builds in the cache. A file all of whose functions are slow keeps the first of them only
if the table says so, with ``keep``.
"""

__all__ = ["SLOW", "chosen"]


def chosen(tests) -> set[str]:
    """The tests of the quick part, among tests in their order (pytest's node ids)."""
    found, seen = set(), set()
    for test in tests:
        function = test.partition("[")[0]
        file, _, name = function.partition("::")
        if function not in seen:
            seen.add(function)
            if name.rpartition("::")[2] not in SLOW.get(file, ()):
                found.add(test)
    return found


#: {file: slow test functions}.
SLOW: dict[str, tuple[str, ...]] = {
}
