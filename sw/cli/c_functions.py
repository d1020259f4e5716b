"""``graphloom campaign --c``: random functions of C in all lanes, against this computer's."""

import time

from base.installation import PROGRAM, need_tree

from . import files
from .options import option


__all__ = ["OPTION", "run"]


OPTION = option("c", int, "C", "Compare N random functions of C in all lanes, on the functional "
                "simulator and on the RTL, with the same C on this computer, and check no "
                "configurations.", metavar="N", min=1)

#: Functions of a program.
_EACH = 10

#: The ways of compiling that programs take in turn: (branches that part lanes, level, floats).
_WAYS = (("found", "2", "full"), ("found", "1", "none"), ("found", "s", "half"),
         ("all", "2", "none"), ("found", "3", "full"), ("all", "0", "full"))


def run(count, seed, json):
    """Compare, print each difference, and write counts and differences to the file ``json``, if
    there is one. Each program has the seed of the one before plus 1. Returns the exit code."""
    need_tree("graphloom campaign --c")
    from checks.campaign.c_lanes import compare
    from hw.config import preset

    from .execute import console, progress_display
    out, began = console(), time.monotonic()
    config = preset("tiny").replace(imem_bytes=1 << 20)
    out.say(f"{count:,} functions of seed {seed}; to repeat: {PROGRAM} campaign --c {count} --seed "
            f"{seed}")
    differences, done = [], 0
    with progress_display() as (show, _):
        while done < count:
            parted, level, floats = _WAYS[seed % len(_WAYS)]
            found = compare(seed, min(_EACH, count - done), config.replace(float=floats),
                            parted=parted, level=level, machines=("functional", "rtl"))
            if found is not None:
                differences.append(vars(found))
                out.say(f"seed {seed}, branches {parted}, level {level}: {found.reason}")
            done, seed = done + _EACH, seed + 1
            show(f"{min(done, count):,} of {count:,} functions, {len(differences)} differences")
    out.say(f"{count:,} functions, {len(differences)} differences, "
            f"{time.monotonic() - began:.0f} seconds")
    files.write_json(json, {"functions": count, "differences": differences})
    return 1 if differences else 0
