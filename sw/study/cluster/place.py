"""Where a cluster is: the address of its scheduler, and the files of its TLS.

With TLS, every connection of the cluster is encrypted, and each side shows a certificate that the
cluster's authority has signed. Without it, whoever reaches an address can run any program there.
"""

import dataclasses
import re
import ssl

from base.errors import UserError
from base.input import open_file
from base import numbers


__all__ = ["LOOPBACK", "ClusterPlace", "Tls", "tls"]


#: Host on which only this machine's users can reach a scheduler.
LOOPBACK = "127.0.0.1"


@dataclasses.dataclass(frozen=True)
class Tls:
    """Files in PEM form with which the members of a cluster know each other. Raises UserError if a
    file cannot be read, is no such file, or the key is another certificate's."""
    ca: str  #: Certificates of the authorities that sign the members' certificates.
    cert: str  #: This member's certificate and its private key, which has no password.
    key: str  #: This member's certificate and its private key, which has no password.

    def __post_init__(self):
        for option, path in (("--tls-ca", self.ca), ("--tls-cert", self.cert),
                             ("--tls-key", self.key)):
            try:
                open_file(path).close()
            except OSError as error:
                raise UserError(f"{option} {path}: cannot be read: {error.strerror}") from None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_verify_locations(self.ca)
        except ssl.SSLError:
            raise UserError(f"--tls-ca {self.ca}: has no certificate; must be a file in PEM form"
                            ) from None
        try:
            context.load_cert_chain(self.cert, self.key, password=self._password)
        except ssl.SSLError as error:
            why = ("the key is another certificate's" if error.reason == "KEY_VALUES_MISMATCH"
                   else "must be a certificate and its private key in PEM form")
            raise UserError(f"--tls-cert {self.cert}, --tls-key {self.key}: {why}") from None

    def _password(self):
        raise UserError(f"--tls-key {self.key}: the key has a password; give a key without one, "
                        "which only its owner can read")

    @property
    def security(self):
        """Dask's form of these files, for every kind of member. Nothing goes unencrypted."""
        import distributed
        return distributed.Security(
            require_encryption=True, tls_ca_file=self.ca, **{
                f"tls_{member}_{part}": path for member in ("client", "scheduler", "worker")
                for part, path in (("cert", self.cert), ("key", self.key))})


def tls(ca, cert, key) -> Tls | None:
    """The files of ``--tls-ca``, ``--tls-cert`` and ``--tls-key``; None if none is given. Raises
    UserError if some are missing, or :class:`Tls` refuses them."""
    given = {"--tls-ca": ca, "--tls-cert": cert, "--tls-key": key}
    missing = [option for option, path in given.items() if path is None]
    if len(missing) == len(given):
        return None
    if missing:
        raise UserError(f"{' and '.join(missing)}: must be given as well; TLS needs "
                        "--tls-ca, --tls-cert and --tls-key")
    return Tls(ca, cert, key)


@dataclasses.dataclass(frozen=True)
class ClusterPlace:
    """Where a cluster is. Raises UserError if the text is no such address, or if TLS is asked for
    and its files are missing, or the other way around."""
    #: The address of its scheduler as the user gave it: ``HOST:PORT``, or with ``tcp://``, or with
    #: ``tls://`` before it.
    text: str
    tls: Tls | None = None

    def __post_init__(self):
        protocol, _, _ = self._parts
        if protocol == "tls" and self.tls is None:
            raise UserError(f"{self.text}: a cluster with TLS: give --tls-ca, --tls-cert and "
                            "--tls-key")
        if protocol == "tcp" and self.tls is not None:
            raise UserError(f"{self.text}: a cluster without TLS: write tls:// in place of tcp://, "
                            "or leave out --tls-ca, --tls-cert and --tls-key")

    @property
    def _parts(self):
        found = re.fullmatch(r"(?:(tcp|tls)://)?(\[[0-9A-Fa-f:.]+\]|[^\s/:@\[\]]+):([0-9]+)",
                             self.text)
        port = numbers.integer(found[3]) if found else None
        if found is None or port is None or not 0 < port < 1 << 16:
            raise UserError(f"{self.text}: is no address of a cluster; must be HOST:PORT, as in "
                            f"tcp://{LOOPBACK}:8786")
        return found[1], found[2].strip("[]"), port

    @property
    def host(self) -> str:
        """Name or address of the scheduler's machine."""
        return self._parts[1]

    @property
    def port(self) -> int:
        """The scheduler's port."""
        return self._parts[2]

    @property
    def address(self) -> str:
        """The address as Dask writes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'tcp' if self.tls is None else 'tls'}://{host}:{self.port}"

    @property
    def security(self):
        """Dask's form of :attr:`tls`; None without it."""
        return self.tls and self.tls.security
