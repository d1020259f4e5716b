"""Addresses of a cluster's scheduler, Dask's settings, and the end of Dask's servers.

Dask keeps no data here, shows no pages, and prints nothing: commands say what users need to know.
"""

import asyncio
import importlib.metadata
import logging
import re
import signal
import socket
import warnings
from typing import Any

import dask.config

from hw import numbers
from sw.errors import UserError


__all__ = ["LOOPBACK", "address_of", "quiet", "reach", "until_signal"]


#: Host on which nobody but this machine's users can reach a scheduler.
LOOPBACK = "127.0.0.1"

#: Seconds within which a scheduler must accept a connection, and answer.
_REACH = 5

_SETTINGS = {
    "distributed.comm.timeouts.connect": "10s",
    # No pages: neither scheduler nor worker answers HTTP.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # The pieces run in other processes, so a profile of the threads says nothing.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.limit": "1h",
}


def address_of(text) -> tuple[str, int]:
    """Host and port of a scheduler's address, ``HOST:PORT`` or ``tcp://HOST:PORT``.

    Raises
    ------
    UserError
        The text is no such address.
    """
    found = re.fullmatch(r"(?:tcp://)?(\[[0-9A-Fa-f:.]+\]|[^\s/:@\[\]]+):([0-9]+)", text)
    port = numbers.integer(found[2]) if found else None
    if found is None or port is None or not 0 < port < 1 << 16:
        raise UserError(f"{text}: is no address of a cluster; must be HOST:PORT, as in "
                        f"tcp://{LOOPBACK}:8786")
    return found[1].strip("[]"), port


def reach(text) -> str:
    """The address of a scheduler as Dask writes it, if it answers.

    Raises
    ------
    UserError
        The text is no address, nothing is there, or another program is there.
    """
    host, port = address_of(text)
    try:
        socket.create_connection((host, port), timeout=_REACH).close()
    except OSError as error:
        why = "no answer" if isinstance(error, TimeoutError) else error.strerror or str(error)
        raise UserError(f"there is no cluster at {text}: {why}; `graphloom cluster` starts one"
                        ) from None
    quiet()
    reached = f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}"
    try:
        # Dask itself waits for ever for a program that accepts a connection and says nothing.
        kind = asyncio.run(asyncio.wait_for(_kind(reached), _REACH))
    except Exception:           # whatever the other program's answer makes of Dask
        kind = None
    if kind != "Scheduler":
        raise UserError(f"the program at {text} is no cluster, or one of another Dask than "
                        f"{importlib.metadata.version('distributed')}; `graphloom cluster` starts "
                        "one")
    return reached


async def _kind(address):
    """The kind of a server of Dask."""
    import distributed
    async with distributed.rpc(address) as server:
        found: Any = await server.identity()
        return found["type"]


def quiet():
    """Apply the settings, and silence Dask's own messages."""
    dask.config.set(_SETTINGS)
    warnings.filterwarnings("ignore", module="distributed")
    import distributed         # it sets its loggers up
    for name in (distributed.__name__, "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


async def until_signal(server) -> int:
    """Wait until a server ends or a signal asks for its end. Returns the signal's number or 0."""
    loop, heard = asyncio.get_running_loop(), asyncio.Event()
    number = 0

    def hear(signal_number):
        nonlocal number
        number = signal_number
        heard.set()

    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(each) is not signal.SIG_IGN:
            loop.add_signal_handler(each, hear, int(each))
    waits = [asyncio.ensure_future(server.finished()), asyncio.ensure_future(heard.wait())]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for each in waits:
        each.cancel()
    return number
