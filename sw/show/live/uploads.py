"""Graphs that are sent to the live page's server.

An upload has a name that nobody can guess and that no graph of the catalogue, generator or file
has: ``upload:TOKEN/NAME``. So it takes no other graph's place, and only who sent it finds it.
Uploads are bounded in number and bytes, and forgotten when nobody has used them for some time.
"""

import dataclasses
import pathlib
import re
import secrets
import shutil
import threading
import time


__all__ = ["MOST_BYTES", "PREFIX", "Uploads"]


#: How the text of every upload begins.
PREFIX = "upload:"

#: Bytes of an upload.
MOST_BYTES = 16 << 20

#: Uploads that are kept, their bytes, and the seconds for which an unused one is kept.
_MOST, _MOST_KEPT, _SECONDS = 64, 256 << 20, 3600

#: Characters of a name that are kept.
_PLAIN = 80


@dataclasses.dataclass
class _Upload:
    path: pathlib.Path
    size: int
    used: float


class Uploads:
    """The uploads of a server.

    Parameters
    ----------
    folder : pathlib.Path
        Where they lie.
    """

    def __init__(self, folder):
        self._folder = folder
        self._kept: dict[str, _Upload] = {}
        self._lock = threading.Lock()

    def keep(self, name, contents) -> tuple[str, pathlib.Path]:
        """Keep an upload. Returns the text that names it, and its file.

        Parameters
        ----------
        name : str
            The user's name of the file, of any characters.
        contents : bytes
            At most :data:`MOST_BYTES`.
        """
        plain = re.sub(r"[^A-Za-z0-9._+=,-]", "_", re.split(r"[/\\]", name)[-1])[-_PLAIN:]
        plain = plain.lstrip(".-") or "graph.el"
        token = secrets.token_hex(16)
        text = f"{PREFIX}{token}/{plain}"
        path = self._folder / token / plain
        with self._lock:
            self._forget(_MOST - 1, _MOST_KEPT - len(contents))
            path.parent.mkdir()
            path.write_bytes(contents)
            self._kept[text] = _Upload(path, len(contents), time.monotonic())
        return text, path

    def find(self, text) -> pathlib.Path | None:
        """The file of an upload; None if there is no such upload any more."""
        with self._lock:
            self._forget(_MOST, _MOST_KEPT)
            found = self._kept.get(text)
            if found is None:
                return None
            found.used = time.monotonic()
            return found.path

    def drop(self, text):
        """Forget an upload."""
        with self._lock:
            self._remove(text)

    def _forget(self, most, most_kept):
        """Forget what nobody has used for long, and then the oldest until the rest is so little."""
        oldest = sorted(self._kept, key=lambda text: self._kept[text].used)
        for text in oldest:
            if time.monotonic() - self._kept[text].used > _SECONDS or len(self._kept) > most \
                    or sum(each.size for each in self._kept.values()) > most_kept:
                self._remove(text)

    def _remove(self, text):
        found = self._kept.pop(text, None)
        if found is not None:
            shutil.rmtree(found.path.parent, ignore_errors=True)
