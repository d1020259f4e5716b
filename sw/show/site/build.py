"""Building and serving the site."""

import contextlib
import logging
import os
import socket

from base import output
from base.errors import UserError
from base.installation import EXTRAS, ROOT, need


__all__ = ["HOST", "PORT", "build", "check_port", "serve"]


#: Only this machine reads a site that is served.
HOST = "127.0.0.1"

#: The port of a site that is served, unless the user names another.
PORT = 8000

#: The settings of the site.
SETTINGS = ROOT / "mkdocs.yml"

#: The file that tells a folder of an earlier site from a folder of the user's.
_MARK = ".graphloom-site"


def _need_packages():
    for module in EXTRAS["docs"].modules:
        need("graphloom docs", module, "docs")


def check_port(port) -> None:
    """Refuse a port that cannot be served. Raises UserError."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            raise UserError(f"--port {port}: cannot be served: {error.strerror}; "
                            "name another") from None


class _Warnings(logging.Handler):
    """Keeps the warnings and errors of a build."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.found = []

    def emit(self, record):
        """Keep one."""
        self.found.append(record.getMessage())


class _Broken(Exception):
    """The site has errors."""


def build(folder) -> list[str]:
    """Build the site in a folder, which is replaced as a whole.

    Parameters
    ----------
    folder : str or path
        A new name, an empty folder, or the folder of an earlier site.

    Returns
    -------
    list of str
        The warnings and errors of the build, broken links among them. If there is one, the folder
        stays as it was.

    Raises
    ------
    UserError
        If a package is missing, or the folder cannot be written.
    """
    _need_packages()
    with contextlib.suppress(_Broken), \
            output.replacing_folder(folder, "--site", output.marked_by(_MARK)) as made:
        found = _make(made)
        if found:
            raise _Broken
        (made / _MARK).touch()
    return found


def _quiet():
    """Keep MkDocs from printing advice about its own future versions."""
    os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")


def _make(folder, settings=SETTINGS):
    """Have MkDocs build the site of a file of settings; its warnings and errors."""
    _quiet()
    from mkdocs.commands.build import build as make
    from mkdocs.config import load_config
    from mkdocs.exceptions import Abort, MkDocsException
    warnings, log = _Warnings(), logging.getLogger("mkdocs")
    log.addHandler(warnings)
    try:
        config = load_config(str(settings), site_dir=str(folder), strict=True)
        config.plugins.on_startup(command="build", dirty=False)
        try:
            make(config)
        except Abort:
            pass                          # strict: the warnings say why
        except MkDocsException as error:
            warnings.found.append(str(error))
        finally:
            config.plugins.on_shutdown()
    finally:
        log.removeHandler(warnings)
    return warnings.found


def serve(port, settings=SETTINGS) -> None:
    """Serve the site to this machine until Ctrl-C, and build it anew when a page changes.

    Parameters
    ----------
    port : int
    settings : path
        The settings of the site.

    Raises
    ------
    UserError
        If a package is missing, or the port cannot be served.
    """
    _need_packages()
    check_port(port)
    _quiet()
    from mkdocs.commands.serve import serve as run
    log = logging.getLogger("mkdocs")
    log.setLevel(logging.INFO)
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    log.addHandler(handler)
    with contextlib.suppress(KeyboardInterrupt):
        run(str(settings), livereload=True, dev_addr=f"{HOST}:{port}")
