"""``graphloom campaign --fuzz``: mutated command lines and files, and what becomes of them."""

import pathlib
import time

from base.errors import UserError
from base.installation import PROGRAM, need_tree

from . import files
from .options import option


__all__ = ["OPTIONS", "run"]


_FUZZER = "Fuzzer"


#: The options of the fuzzer.
OPTIONS = (
    option("fuzz", bool, _FUZZER, "Run mutated command lines and mutated files, not "
           "configurations."),
    option("lines", int, _FUZZER, "Number of mutated command lines.", default=2_000, metavar="N",
           min=0),
    option("files_", int, _FUZZER, "Number of mutated files.", default=20_000, metavar="N", min=0),
    option("case", str, _FUZZER, "Run this case only.", metavar="line:N|file:N"),
    option("keep", str, _FUZZER, "Folder that keeps the files that broke a rule.",
           default="results/fuzz", metavar="FOLDER"),
)


def _names(fuzzing):
    """The names of the cases."""
    if fuzzing.case is not None:
        return [fuzzing.case]
    return ([f"line:{number}" for number in range(fuzzing.lines)]
            + [f"file:{number}" for number in range(fuzzing.files_)])


def _app():
    from .main import app
    return app


def run(fuzzing, seed, jobs, json):
    """Run the fuzzer by its :data:`OPTIONS` in ``jobs`` processes, print what it finds, and write
    counts and faults to the file ``json``, if there is one. Returns the exit code: 1 if a case
    broke a rule."""
    need_tree("graphloom campaign --fuzz")
    from checks.campaign.fuzz.work import CommandLine, fuzz, parse

    from .execute import console, progress_display
    from .main import main
    if fuzzing.case is not None:
        parse(fuzzing.case)                  # refuses a case that there is not
    names = _names(fuzzing)
    if not names:
        raise UserError("--lines 0 --files 0: nothing to run; one of the two must be above 0")
    out, began = console(), time.monotonic()
    counts, faults, done = {}, [], 0
    again = (f"--case {fuzzing.case}" if fuzzing.case is not None else
             f"--lines {fuzzing.lines} --files {fuzzing.files_}")
    out.say(f"{len(names):,} cases of seed {seed}; to repeat: "
            f"{PROGRAM} campaign --fuzz --seed {seed} {again}")
    with progress_display() as (show, tell):
        def report(found, more):
            nonlocal done
            before, done = done, done + sum(found.values())
            for kind, number in found.items():
                counts[kind] = counts.get(kind, 0) + number
            for fault in more:
                faults.append(fault)
                _tell(out, fault, seed, fuzzing.keep)
            text = f"{done:,} of {len(names):,} cases, {len(faults)} faults"
            show(text)
            if before // 2000 != done // 2000 and done < len(names):
                tell(text)

        fuzz(CommandLine(main, _app), seed, names, jobs, report)
    seconds = time.monotonic() - began
    files.write_json(json, {"seed": seed, "lines": fuzzing.lines, "files": fuzzing.files_,
                            "counts": counts, "faults": faults,
                            "wall_seconds": round(seconds, 1)})
    ends = ", ".join(f"{number:,} {kind}" for kind, number in sorted(counts.items()))
    out.print(f"{done:,} cases: {ends}; {len(faults)} broke a rule; {seconds:.0f} s")
    return 1 if faults else 0


def _tell(out, fault, seed, folder):
    """Print a fault and the command that repeats it, and keep its mutated file in the folder."""
    kept = ""
    if fault["data"] is not None:
        suffix = fault["file"].removeprefix("fuzz")
        path = pathlib.Path(folder, f"{seed}-{fault['case'].replace(':', '-')}{suffix}")
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_bytes(str(path), bytes.fromhex(fault["data"]))
        kept = f"\n  the file: {path}"
    out.say(f"{fault['case']}: {fault['fault']}\n  graphloom {fault['command']}{kept}"
            f"\n  to repeat: {PROGRAM} campaign --fuzz --seed {seed} --case {fault['case']}")
