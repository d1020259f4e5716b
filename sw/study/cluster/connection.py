"""The way to a cluster's scheduler, Dask's settings, and the end of Dask's servers.

Dask keeps no data here, shows no pages, and prints nothing: commands say what users need to know.
"""

import asyncio
import importlib.metadata
import logging
import signal
import socket
import warnings
from typing import Any

import dask.config

from base.errors import UserError


__all__ = ["bindable", "bracketed", "quiet", "reach", "until_signal"]


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


def reach(place) -> str:
    """Look whether the scheduler of a place answers. Returns the address of this machine from which
    it was reached. Raises UserError if nothing or another program is there, or only one of the two
    has TLS."""
    try:
        with socket.create_connection((place.host, place.port), timeout=_REACH) as found:
            own = found.getsockname()[0]
    except (OSError, UnicodeError) as error:      # a host name that cannot be one is no Unicode
        why = "no answer" if isinstance(error, TimeoutError) else (
            getattr(error, "strerror", None) or str(error))
        raise UserError(f"there is no cluster at {place.text}: {why}; `graphloom cluster` starts "
                        "one") from None
    quiet()
    try:
        # Dask itself waits for ever for a program that accepts a connection and says nothing.
        kind = asyncio.run(asyncio.wait_for(_kind(place), _REACH))
    except Exception:           # whatever the other program's answer makes of Dask
        kind = None
    if kind != "Scheduler":
        with_tls = ("one with TLS, for which --tls-ca, --tls-cert and --tls-key are missing"
                    if place.tls is None else
                    "one without TLS, or one whose authority has not signed this certificate")
        raise UserError(f"the program at {place.text} is no cluster, or {with_tls}, or one of "
                        f"another Dask than {importlib.metadata.version('distributed')}; "
                        "`graphloom cluster` starts one")
    return own


def bindable(host) -> str:
    """The numbers of an address of this machine, given by name or numbers. Raises UserError if this
    machine cannot accept connections there. An empty name is none: Dask would take it for all
    addresses."""
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
        found.sort(key=lambda each: each[0] != socket.AF_INET)
        family, kind, protocol, _, address = found[0]
        with socket.socket(family, kind, protocol) as tried:
            tried.bind(address)
    except (OSError, UnicodeError) as error:
        raise UserError(f"--host {host}: must be an address of this machine: "
                        f"{getattr(error, 'strerror', None) or error}") from None
    return str(address[0])


def bracketed(host) -> str:
    """A host as it stands before a colon and a port."""
    return f"[{host}]" if ":" in host else host


async def _kind(place):
    """The kind of a server of Dask."""
    import distributed
    arguments = place.security.get_connection_args("client") if place.tls else {}
    async with distributed.rpc(place.address, connection_args=arguments) as server:
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
