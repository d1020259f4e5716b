"""Names of columns that tell what a table of arcs has in them."""

import re


__all__ = ["known_columns"]


_BETWEEN = re.compile(r"[ .-]")
_PAIR = re.compile(r"(.+?)_?(1|2|a|b)")

_SOURCES = {"source", "src", "from", "u", "start", "row", "source_id", "src_id", "from_id",
            "sourceid", "srcid", "fromid", "fromnodeid", "from_node_id", "source_node", "from_node",
            ":start_id"}
_TARGETS = {"target", "dst", "to", "v", "end", "col", "column", "target_id", "dst_id", "to_id",
            "targetid", "dstid", "toid", "tonodeid", "to_node_id", "target_node", "to_node",
            "destination", "dest", "destination_id", "dest_id", ":end_id"}
_WEIGHTS = {"weight", "w", "weights", "length", "cost", "distance", "capacity", "value"}


def known_columns(names):
    """The places of source, destination and perhaps weight by the names of columns, or None."""
    names = [_BETWEEN.sub("_", name.lower()) for name in names]

    def place(known):
        return next((at for at, name in enumerate(names) if name in known), None)

    source, target, weight = map(place, (_SOURCES, _TARGETS, _WEIGHTS))
    if source is None or target is None:
        pairs = {}                              # id_1 and id_2, node1 and node2, ...
        for at, name in enumerate(names):
            if match := _PAIR.fullmatch(name):
                pairs.setdefault(match[1], {})[match[2]] = at
        whole = [(pair["1"], pair["2"]) if "1" in pair else (pair["a"], pair["b"])
                 for stem, pair in pairs.items() if stem
                 and (pair.keys() >= {"1", "2"} or pair.keys() >= {"a", "b"})]
        if len(whole) != 1:
            return None
        source, target = whole[0]
    return (source, target) if weight is None else (source, target, weight)
