"""Reader of Parquet files: a table with a row for each arc, by pyarrow.

The columns are found as in edge lists (:mod:`sw.graph.layout`). Columns of vertices have whole
numbers or text.
"""

import numpy as np

from base.errors import UserError
from base.installation import need

from .graph import LIMIT, Graph, check_density
from .layout import picked
from .numbering import Numbering
from .signs import IDS, numbered, tell
from .source import EXPANSION, FREE


__all__ = ["read_parquet"]


_BYTES = 8      # of a value in memory


def read_parquet(source, path, name, reading):
    """Read a graph; a reader of :mod:`sw.graph.readers`."""
    need(f"{path}: reading Parquet", "pyarrow")
    import pyarrow
    import pyarrow.parquet
    stream = source.seekable()
    size = stream.seek(0, 2)
    try:
        file = pyarrow.parquet.ParquetFile(stream)
        titles = file.schema_arrow.names
        picks = picked([title.encode() for title in titles], reading, path)
        rows = file.metadata.num_rows
        if not 0 < rows < LIMIT:
            raise UserError(f"{path}: has {rows} arcs, must have from 1 to {LIMIT - 1}")
        if rows * len(picks) * _BYTES > max(FREE, EXPANSION * size):
            raise UserError(f"{path}: expands to more than {EXPANSION} times its size, which no "
                            f"graph does")
        table = file.read([titles[place] for place in picks])
    except (pyarrow.ArrowException, OSError) as error:
        raise UserError(f"{path}: cannot be read as Parquet: {error}") from None
    columns = [table.column(titles[place]) for place in picks]
    for place, column in zip(picks, columns):
        if column.null_count:
            raise UserError(f"{path}: column {titles[place]!r}: {column.null_count} values are "
                            f"missing")
    words = any(not pyarrow.types.is_integer(column.type) for column in columns[:2])
    numbering = Numbering(path) if reading.relabel or words else None
    ends = [_ids(column, f"{path}: column {titles[place]!r}", numbering, reading.first or 0)
            for place, column in zip(picks, columns[:2])]
    weights = reading.weighing.apply(columns[2].to_numpy(), path) if len(columns) == 3 else None
    if numbering is not None:
        (src, dst), names = numbering.settle(ends)
        numbered(names, path, reading.note)
        return Graph(len(names), src, dst, weights, name, names=names)
    found = max(int(end.max()) for end in ends) + 1
    check_density(found, rows, path, IDS)
    src, dst = ends
    graph = Graph(found, src, dst, weights, name)
    tell(graph, path, reading.note, gaps=True, first=reading.first)
    return graph


def _ids(column, where, numbering, first):
    """Vertices of a column, or what stands for its ids."""
    import pyarrow
    if pyarrow.types.is_integer(column.type):
        values = column.to_numpy()
        low, high = int(values.min()), int(values.max())
        if numbering is None:
            if low < first or high >= LIMIT - 1 + first:
                wrong = low if low < first else high
                raise UserError(f"{where}: {wrong} is not an integer from {first} to "
                                f"{LIMIT - 2 + first}{IDS}")
            return (values - first).astype(np.uint32)
        if low >= 0 and high < 1 << 63:
            return values.astype(np.int64)
    elif not (pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type)):
        raise UserError(f"{where} is of type {column.type}, must have whole numbers or text")
    coded = pyarrow.concat_arrays(column.cast(pyarrow.string()).chunks).dictionary_encode()
    words = numbering.of([word.encode() for word in coded.dictionary.to_pylist()])
    return words[coded.indices.to_numpy()]
