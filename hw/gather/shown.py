"""What the live page shows of parts that several units have."""

from hw.inside import Inside


__all__ = ["ENTRY", "row_store"]


#: Words of an entry of a row.
ENTRY = ("vid", "loc", "degree")


def row_store(module) -> tuple[Inside, ...]:
    """The rows of a :class:`hw.gather.table.RowStore`, which lies in a module of the unit."""
    return (Inside("entries of rows", module, "st_valid", "mask"),
            Inside("rows of vertices", module, "st_entries", "entries", ENTRY,
                   valid="entries of rows"))
