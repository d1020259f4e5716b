"""``graphloom lock``: requirements.lock from pyproject.toml. For developers, so not listed."""

from .tests import ROOT


__all__ = ["register"]


def register(app):
    """Add the command."""
    app.command("lock", hidden=True)(_lock)


def _lock():
    """Resolve the dependencies in pyproject.toml and write requirements.lock. Needs a network."""
    from sw.lock import lock_text

    from . import files
    path = ROOT / "requirements.lock"
    text = lock_text(ROOT)
    changed = not path.exists() or path.read_text() != text
    if changed:
        files.write_text(str(path), text)
    print(f"{path}: {'written' if changed else 'up to date'}")
