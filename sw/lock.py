"""Writes requirements.lock: the exact version of everything, also of what packages need in turn.

Run by ``./graphloom lock`` after a change of the dependencies in pyproject.toml. Versions only: no
addresses and no hashes, so that the lock works with any index. A package that is needed only where
a marker holds gets that marker.
"""

import json
import re
import subprocess
import sys
import tomllib

from sw.errors import UserError


__all__ = ["lock_text"]


_HEADER = """\
# Every package Graphloom runs with. Made from pyproject.toml by `./graphloom lock`; do not edit.
"""


def _normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def _resolve(requirements):
    """What pip would install, as {name: (version, names of what it requires)}."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet",
         "--disable-pip-version-check", "--report", "-", *requirements],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise UserError(f"pip cannot resolve the dependencies in pyproject.toml: {reason}")
    packages = {}
    for item in json.loads(done.stdout)["install"]:
        metadata = item["metadata"]
        needs = {_normal(re.findall(r"^[\w.-]+", text)[0])
                 for text in metadata.get("requires_dist", ())}
        packages[_normal(metadata["name"])] = metadata["version"], needs
    return packages


def lock_text(root) -> str:
    """The text of requirements.lock for the pyproject.toml in ``root``. Needs the network."""
    with open(root / "pyproject.toml", "rb") as file:
        requirements = tomllib.load(file)["project"]["dependencies"]
    packages = _resolve(requirements)
    markers = {}
    for text in requirements:
        specifier, _, marker = text.partition(";")
        markers[_normal(re.findall(r"^[\w.-]+", specifier)[0])] = {marker.strip()}
    changed = True
    while changed:
        changed = False
        for name, (_, needs) in packages.items():
            for need in needs & packages.keys():
                known = markers.setdefault(need, set())
                if not markers.get(name, set()) <= known:
                    known |= markers[name]
                    changed = True
    lines = []
    for name, (version, _) in sorted(packages.items()):
        marker = markers.get(name, {""})
        lines.append(f"{name}=={version}" + (f"; {min(marker)}" if len(marker) == 1
                                             and min(marker) else ""))
    return _HEADER + "\n".join(lines) + "\n"
