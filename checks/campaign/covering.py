"""A small set of configurations in which every field has each of its legal values.

The fields are independent, except for the combinations that :class:`hw.config.HardwareConfig`
refuses. So each configuration gives every field the next value that no configuration before had.
The longest list of values determines the number of configurations. A field whose values are all
covered cycles through values that are quick to build. Both orders are chosen: the first six
configurations grow from one lane of one warp to 32 x 32 on one core, where every instruction can be
compared. Configurations with several cores of few lanes each follow.

A value counts only where it has an effect: the ways of the L2 only with an L2, entries of the
Weaver's table only with a Weaver, buffers of the SCU only with an SCU. The legal numbers of table
entries depend on warps and lanes, so roles are covered instead. The roles are: entries for all
warps, by 0 or by number; for one warp; for all warps but one, which is no power of two.
"""

import dataclasses
import functools

from checks.campaign.random_statements import memory_needed
from hw.config import LEGAL, ConfigError, HardwareConfig
from hw.gather.variants import VARIANTS


__all__ = ["Point", "covered_by", "covering", "required"]


#: Fields whose values are chosen first, in this order, because they restrict other fields.
_FIRST = ("cores", "l2_bytes", "threads", "warps", "memory_bytes", "l1_bytes", "local_bytes")

#: The order in which values are covered, if it differs from the order of :data:`LEGAL`.
_ORDER = {
    "cores": (1, 1, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8),
    "counters": (True, False, True, True, True),
    "divider": ("serial", "serial", "serial", "none"),
    "float": ("none", "full", "half", "none"),
    "l1_ways": (8, 4, 2, 1),
    "l2_mshrs": (8, 2, 32, 4, 64, 16),
    "load_queue": (16, 2, 64, 8, 32, 4),
    "scu": (0, 0, 4, 1),
    "scu_vector_bytes": (2 << 10, 5 << 10),
    "scu_request_bytes": (2 << 10, 38 << 10, 10 << 10),
    "scu_hash_bytes": (18 << 10, 2 << 10, 6 << 10),
    "pipeline": ("short", "long"),
    "trace": (True, True, True, True, True, True, False),
    "gather": (*VARIANTS, "none"),
    "table_latency": (0, 0, 10, 0, 160, 20, 40, 80),
    "weaver_entries": ("0", "all warps", "one warp", "all but one"),
}

#: The values of the later cycles, if they differ from all values in that order.
_TURNS = {
    "cores": (1,),
    "threads": (4, 2, 8, 1, 4),
    "warps": (4, 8, 2, 1),
    "memory_bytes": (1 << 20, 1 << 22),
    "scu": (0, 0, 4, 0, 1),
    "gather": ("graphpeg", "fsm", "eghw", "graphpeg", "scan", "eghw"),
}

#: Whether a field's value has an effect, for fields where it may have none.
_IN_EFFECT = {
    "l2_ways": lambda config: config.l2_bytes > 0,
    **{setting: lambda config, setting=setting:
       config.unit is not None and setting in config.unit.settings
       for unit in VARIANTS.values() for setting in unit.settings},
    "exchange_interval": lambda config: config.exchanges or not config.exchange_interval,
    "exchange_threshold": lambda config: config.exchanges,
    **dict.fromkeys(("scu_vector_bytes", "scu_request_bytes", "scu_hash_bytes"),
                    lambda config: config.scu > 0),
}

#: Fields whose values depend on other fields, or of which the extremes are enough: {field: {role:
#: value for a configuration}}.
_ROLES = {
    "weaver_entries": {
        "0": lambda config: 0,
        "all warps": lambda config: config.warps * config.threads,
        "one warp": lambda config: config.threads if config.warps > 1 else None,
        "all but one": lambda config: (config.warps - 1) * config.threads
        if config.warps > 2 else None,
    },
    "exchange_interval": {
        "0": lambda config: 0,
        "least": lambda config: LEGAL["exchange_interval"].values[1] if config.cores > 1 else None,
        "most": lambda config: LEGAL["exchange_interval"].values[-1] if config.cores > 1 else None,
    },
    **{name: {"0": lambda config: 0,
              "least": lambda config, name=name: LEGAL[name].values[1],
              "most": lambda config, name=name: LEGAL[name].values[-1]}
       for name in ("l1_latency", "l2_latency")},
    "sector_bytes": {
        "0": lambda config: 0,
        "least": lambda config: LEGAL["sector_bytes"].values[1]
        if config.l2_bytes and config.line_bytes > LEGAL["sector_bytes"].values[1] else None,
        "half a line": lambda config: config.line_bytes // 2
        if config.l2_bytes and config.line_bytes > 2 * LEGAL["sector_bytes"].values[1] else None,
    },
    "fetch_sectors": {
        "one": lambda config: 1,
        "two": lambda config: 2 if config.sectors >= 2 else None,
        "four": lambda config: 4 if config.sectors >= 4 else None,
    },
    "exchange_threshold": {
        "least": lambda config: LEGAL["exchange_threshold"].values[0],
        "most": lambda config: LEGAL["exchange_threshold"].values[-1],
    },
}

#: Values of the fields that are not chosen yet. With these, as little as possible is refused.
_GENEROUS = {"l1_ways": 1, "l1_bytes": 1 << 15, "l1_banks": 1, "l2_ways": 1, "l2_banks": 1,
             "l2_bytes": 0, "local_bytes": LEGAL["local_bytes"].values[-1],
             "memory_bytes": LEGAL["memory_bytes"].values[-1], "warps": 1, "threads": 1, "cores": 1,
             "weaver_entries": 0, "exchange_interval": 0, "sector_bytes": 0}


@dataclasses.dataclass(frozen=True)
class Point:
    """One configuration of the covering."""
    number: int  #: Number of the point, from 1 on.
    config: HardwareConfig  #: Its name contains number, cores and shape.
    first: tuple  #: tuple of (str, value). The values, or roles, that no earlier point has.


def required() -> dict:
    """The values to cover: {field: values}; names of roles for fields with roles."""
    return {name: tuple(_ROLES[name]) if name in _ROLES else legal.values
            for name, legal in LEGAL.items()}


def covered_by(config: HardwareConfig) -> dict:
    """{field: the value, or role, of :func:`required` that the configuration covers}."""
    found = {}
    for name in LEGAL:
        if not _IN_EFFECT.get(name, lambda config: True)(config):
            continue
        value = getattr(config, name)
        roles = [role for role, of in _ROLES.get(name, {}).items() if of(config) == value]
        if name not in _ROLES or roles:
            found[name] = roles[0] if name in _ROLES else value
    return found


def _sequence(name):
    """All values or roles of a field, in the order of covering."""
    order = _ORDER.get(name, ())
    return [*order, *(value for value in required()[name] if value not in order)]


def _legal(chosen):
    """A configuration with the chosen values and generous other values.

    None if it would be refused, or if it has too little memory for the programs.
    """
    try:
        config = HardwareConfig(**{**_GENEROUS, **chosen})
    except ConfigError:
        return None
    return config if memory_needed(config) <= config.memory_bytes else None


class _Field:
    """A field's values that are not covered yet, and its later cycles."""

    def __init__(self, name):
        self.name, self.left = name, _sequence(name)
        self._turns, self._turn = _TURNS.get(name, tuple(self.left)), 0

    def choose(self, chosen):
        """Add the first value that is legal with the values chosen so far."""
        turns = [self._turns[(self._turn + step) % len(self._turns)]
                 for step in range(len(self._turns))]
        for value in (*self.left, *turns, *required()[self.name]):
            given = value
            if self.name in _ROLES:
                given = _ROLES[self.name][value](_legal(chosen))
                if given is None:
                    continue
            config = _legal({**chosen, self.name: given})
            if config is None:
                continue
            chosen[self.name] = given
            if value in self.left:
                effective = _IN_EFFECT.get(self.name)
                if effective is None or effective(config):
                    self.left.remove(value)
            elif value in turns:
                self._turn += turns.index(value) + 1
            return
        raise AssertionError(f"no value of {self.name} is legal with {chosen}")


@functools.cache
def covering() -> tuple:
    """The points of the covering. Each call gives the same points."""
    names = [*_FIRST, *(name for name in LEGAL if name not in _FIRST)]
    names.sort(key=lambda name: name in _ROLES)
    fields = {name: _Field(name) for name in names}
    missing = {(name, value) for name, values in required().items() for value in values}
    points = []
    while missing:
        chosen = {}
        for field in fields.values():
            field.choose(chosen)
        number = len(points) + 1
        cores = f"{chosen['cores']}x" if chosen["cores"] > 1 else ""
        config = HardwareConfig(
            name=f"{number}: {cores}{chosen['warps']}x{chosen['threads']}", **chosen)
        first = [item for item in covered_by(config).items() if item in missing]
        if not first:
            raise AssertionError(f"no configuration has {sorted(missing, key=str)}")
        missing.difference_update(first)
        points.append(Point(number, config, tuple(first)))
    return tuple(points)
