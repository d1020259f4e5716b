"""``graphloom cluster`` and ``graphloom worker``: machines that share other commands' runs."""

import os
from typing import Annotated

import typer

from base.installation import PROGRAM, need
from sw.study.cluster.place import ClusterPlace

from . import options, process
from .commands import app


@app.command("cluster", epilog="Example: graphloom cluster, in another terminal graphloom "
             "worker tcp://127.0.0.1:8786, and in a third graphloom reproduce cr2 --cluster "
             "tcp://127.0.0.1:8786")
@options.with_tls
def _cluster(
        port: Annotated[int, typer.Option(
            "--port", metavar="N", min=1, max=(1 << 16) - 1, help="Port for workers and "
            "commands.")] = 8786,
        host: Annotated[str, typer.Option(
            "--host", metavar="ADDRESS", help="Address of this machine at which workers and "
            "commands reach the cluster; 0.0.0.0 for all addresses.")] = "127.0.0.1",
        tls=None):
    """Start a cluster: the scheduler between workers and the commands with --cluster.

    The cluster runs until Ctrl-C. Workers join it with `graphloom worker`. Whoever reaches a
    cluster without TLS can run any program on its workers; on loopback, this is every user of the
    machine. docs/cluster.md says more.
    """
    need("graphloom cluster", "distributed")
    from sw.study.cluster.scheduler import schedule

    def said(address):
        files = "" if tls is None else ", all with --tls-ca, --tls-cert and --tls-key"
        print(f"{address}: a cluster; workers join it with {PROGRAM} worker {address}, commands "
              f"use it with --cluster {address}{files}, end it with Ctrl-C", flush=True)

    return _ended(schedule(host, port, said, tls))


@app.command("worker", epilog="Exit code: 0 if the cluster has ended, 130 after Ctrl-C. "
             "Examples: graphloom worker tcp://127.0.0.1:8786; graphloom worker node1:8786 "
             "--jobs 8")
@options.with_tls
def _worker(
        address: Annotated[str, typer.Argument(
            metavar="ADDRESS", help="Address of the cluster, as `graphloom cluster` prints it.",
            show_default=False)],
        jobs: Annotated[int | None, typer.Option(
            "--jobs", metavar="N", min=1, help="Runs at a time.",
            show_default="as many as there are processors")] = None,
        host: Annotated[str | None, typer.Option(
            "--host", metavar="ADDRESS", help="Address of this machine at which the worker accepts "
            "connections; 0.0.0.0 for all addresses.",
            show_default="the address from which it reaches the cluster")] = None,
        tls=None):
    """Join a cluster, and do runs for the commands with --cluster.

    The worker needs the same sources and versions as the commands. It works until Ctrl-C, or until
    the cluster ends. Its runs then begin again on other workers.
    """
    place = ClusterPlace(address, tls)
    need("graphloom worker", "distributed")
    from sw.study.cluster.worker import serve
    jobs = jobs or os.cpu_count() or 1

    def said(own):
        print(f"{own}: a worker of {address}, {jobs} runs at a time; end it with Ctrl-C",
              flush=True)

    number = serve(place, jobs, said, host)
    if not number:
        print(f"the cluster {address} has ended")
    return _ended(number)


def _ended(number):
    """The exit code after a signal with this number, or after none."""
    if number:
        process.received = number
        raise KeyboardInterrupt
    return 0
