"""The scheduler of a cluster: workers join it, and clients give them pieces through it."""

import asyncio
import errno

import distributed

from base.errors import UserError

from .connection import bindable, bracketed, quiet, until_signal
from .place import LOOPBACK


__all__ = ["schedule"]


def schedule(host, port, said, tls=None) -> int:
    """Be the scheduler of a cluster at an address and port until a signal asks for the end. Returns
    its number.

    ``said`` is called with the address when connections are accepted. Without ``tls`` everything is
    accepted, and nothing encrypted. Raises UserError if it cannot accept connections there."""
    own = bracketed(bindable(host))
    quiet()
    return asyncio.run(_schedule(own, port, said, tls and tls.security))


async def _schedule(host, port, said, security):
    try:
        scheduler = await distributed.Scheduler(
            host=host, port=port, security=security, dashboard=False,
            dashboard_address=f"{LOOPBACK}:0")
    except (OSError, RuntimeError) as error:
        while error.__cause__ is not None:
            error = error.__cause__
        if not isinstance(error, OSError):
            raise
        why = ("another program uses this port: give another with --port"
               if error.errno == errno.EADDRINUSE else error.strerror or str(error))
        raise UserError(f"a cluster cannot be at {host}:{port}: {why}") from None
    try:
        said(scheduler.address)
        return await until_signal(scheduler)
    finally:
        await scheduler.close()
