"""Where a cluster listens, and who is let in.

====================  ============================================================================
addresses             test_a_worker_listens_where_it_reaches_its_scheduler, test_all_addresses
TLS                   test_tls, test_files_of_tls
bad input             test_a_host_of_another_machine, test_options_of_tls
====================  ============================================================================
"""

import contextlib
import ipaddress
import pathlib
import shutil
import socket
import struct
import subprocess

import pytest

from base.errors import UserError
from sw.cli.main import main
from sw.study.cluster import connection
from sw.study.cluster.executor import Cluster
from sw.study.cluster.place import ClusterPlace, Tls, tls

from . import machines
from .machines import LocalCluster


#: The state of a socket that listens, in /proc/net/tcp.
_LISTENS = "0A"


def _error(capsys, *arguments):
    assert main(list(arguments)) == 2
    text = capsys.readouterr().err
    assert text.startswith("graphloom: error: ") and text.count("\n") == 1, text
    return text


def _sockets(process):
    """The addresses at which a process or one of its children listens."""
    found, left = set(), [process.pid]
    while left:
        folder = pathlib.Path(f"/proc/{left.pop()}")
        left += map(int, (folder / "task" / folder.name / "children").read_text().split())
        inodes = set()
        for link in (folder / "fd").iterdir():
            with contextlib.suppress(FileNotFoundError):        # closed meanwhile
                inodes.add(link.readlink().name)
        for name in ("tcp", "tcp6"):
            for line in (folder / "net" / name).read_text().splitlines()[1:]:
                _, local, _, state, *_, inode = line.split()[:10]
                if state == _LISTENS and f"socket:[{inode}]" in inodes:
                    words = local.partition(":")[0]
                    packed = b"".join(struct.pack("=I", int(words[at:at + 8], 16))
                                      for at in range(0, len(words), 8))
                    found.add(ipaddress.ip_address(packed))
    return found


def _own():
    """An address of this machine that is no loopback; None if there is none. No packet is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return probe.getsockname()[0]


@pytest.mark.parametrize("host, spelt", [("localhost", "127.1"), ("127.0.0.2", "127.0.0.2"),
                                         ("::1", "[::1]")])
def test_a_worker_listens_where_it_reaches_its_scheduler(host, spelt):
    """However the loopback is written, nobody from elsewhere reaches scheduler or worker."""
    if host == "::1" and not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    with LocalCluster(0, host=host) as few:
        process, _ = few.add(address=f"{spelt}:{few.port}")
        for each in (process, few.scheduler):
            assert _sockets(each) and all(address.is_loopback for address in _sockets(each))
        with Cluster(few.place) as there:
            records = {}
            there.work([(0, (machines.square, (3,)))], records.__setitem__)
        assert records == {0: {"square": 9}}


def test_all_addresses():
    """A scheduler at all addresses: a worker still accepts connections at one, or where it is
    told."""
    own = _own()
    if own is None:
        pytest.skip("this machine has no address but loopback")
    with LocalCluster(0, host="0.0.0.0") as few:
        assert ipaddress.ip_address("0.0.0.0") in _sockets(few.scheduler)
        for address, words, wanted in (("127.0.0.1", (), "127.0.0.1"), (own, (), own),
                                       (own, ("--host", "127.0.0.1"), "127.0.0.1")):
            process, _ = few.add(*words, address=f"{address}:{few.port}")
            others = {each for each in _sockets(process) if not each.is_loopback}
            assert ipaddress.ip_address(wanted) in _sockets(process)
            assert others == {each for each in (ipaddress.ip_address(wanted),)
                              if not each.is_loopback}


@pytest.mark.parametrize("host", ["192.0.2.77", "no-such-host.invalid", "127.0.0.1:80", "tcp://::1",
                                  "a" * 70])
def test_a_host_of_another_machine(capsys, host):
    for words in (["cluster"], ["worker", "127.0.0.1:1"]):
        assert f"--host {host}: must be an address of this machine: " in _error(
            capsys, *words, "--host", host)
    with pytest.raises(UserError, match="must be an address of this machine"):
        connection.bindable("")                  # Dask listens everywhere then


@pytest.fixture(scope="module")
def authorities(tmp_path_factory):
    """Two authorities, with a certificate of each: records of :class:`Tls`."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not installed; it makes the certificates")
    found = []
    for name in ("one", "other"):
        folder = tmp_path_factory.mktemp(name)
        for words in (
                ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                 "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj",
                 f"/CN={name}"],
                ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                 "-keyout", "own.key", "-out", "own.csr", "-subj", "/CN=member"],
                ["x509", "-req", "-in", "own.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                 "-CAcreateserial", "-out", "own.pem", "-days", "2"],
                ["ec", "-in", "own.key", "-out", "locked.key", "-aes256", "-passout", "pass:x"]):
            subprocess.run([program, *words], cwd=folder, check=True, capture_output=True)
        found.append(Tls(*(str(folder / file) for file in ("ca.pem", "own.pem", "own.key"))))
    return found


def _words(files):
    return ["--tls-ca", files.ca, "--tls-cert", files.cert, "--tls-key", files.key]


def test_tls(authorities, capsys):
    """Members of the authority work together; nobody else gets in, at scheduler or worker."""
    ours, others = authorities
    with LocalCluster(1, tls=ours) as few:
        assert few.address.startswith("tls://")
        with Cluster(few.place) as there:
            records = {}
            there.work([(0, (machines.square, (3,)))], records.__setitem__)
            [worker] = there.workers
        assert records == {0: {"square": 9}} and worker.startswith("tls://")
        plain = f"127.0.0.1:{few.port}"
        for command in (["worker", plain], ["campaign", "--cluster", plain]):
            assert "or one with TLS, for which --tls-ca" in _error(capsys, *command)
            assert "whose authority has not signed this certificate" in _error(
                capsys, *command, *_words(others))
        # Dask's own client, without any check of Graphloom's, at both doors.
        import distributed
        for door in (few.address, worker):
            host, _, port = door.removeprefix("tls://").partition(":")
            with pytest.raises(OSError):
                distributed.Client(f"tcp://{host}:{port}", timeout=2)
            with pytest.raises(OSError):
                distributed.Client(door, timeout=2, security=others.security)


def test_files_of_tls(authorities, tmp_path):
    ours, others = authorities
    locked = str(pathlib.Path(ours.key).with_name("locked.key"))
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    for ca, cert, key, why in (
            ("none.pem", ours.cert, ours.key, "--tls-ca none.pem: cannot be read: No such file"),
            (str(empty), ours.cert, ours.key, "has no certificate; must be a file in PEM form"),
            (ours.ca, ours.key, ours.key, "must be a certificate and its private key in PEM form"),
            (ours.ca, ours.cert, others.key, "the key is another certificate's"),
            (ours.ca, ours.cert, locked, "the key has a password"),
            (ours.ca, ours.cert, "/dev/zero", "it is a device or socket, not a file"),
            (ours.ca, str(tmp_path), ours.key, "it is a folder")):
        with pytest.raises(UserError, match=why):
            tls(ca, cert, key)


def test_options_of_tls(authorities, capsys):
    ours, _ = authorities
    assert tls(None, None, None) is None
    assert "--tls-key: must be given as well" in _error(
        capsys, "worker", "127.0.0.1:1", "--tls-ca", ours.ca, "--tls-cert", ours.cert)
    assert "give --cluster as well" in _error(capsys, "mutants", *_words(ours))
    assert "give --tls-ca" in _error(capsys, "worker", "tls://127.0.0.1:1")
    assert "write tls:// in place of tcp://" in _error(
        capsys, "worker", "tcp://127.0.0.1:1", *_words(ours))
    assert ClusterPlace("127.0.0.1:1", ours).address == "tls://127.0.0.1:1"
