"""Many independent runs on several processor cores, with their figures in a file.

A campaign that was interrupted goes on where it was, and a run that fails loses no other.
"""

import concurrent.futures
import dataclasses
import json
import multiprocessing

from sw.benchmarks.records import Records
from sw.errors import RunError, UserError


__all__ = ["Case", "Campaign"]


@dataclasses.dataclass(frozen=True)
class Case:
    """One run: an algorithm on a graph under a schedule.

    Parameters
    ----------
    graph : str
        As :func:`sw.graph.load.load` takes it.
    undirected : bool
        Whether the reverse of each arc is added.
    weights : int, optional
        Largest of the random weights that a graph without weights gets.
    algorithm, direction, schedule, format, split : str
    settings : tuple of (str, value)
        The algorithm's parameters. The source of a search may be ``"hub"``: the vertex with the
        most out-arcs, the lowest of them.
    """
    graph: str
    undirected: bool
    algorithm: str
    direction: str
    schedule: str
    format: str = "csr"
    split: str = "static"
    weights: int | None = None
    settings: tuple = ()

    def key(self, config, dram) -> str:
        """What tells this case's line from all others: the case and all it runs on."""
        return json.dumps([dataclasses.asdict(self), dataclasses.asdict(config),
                           dataclasses.asdict(dram)], sort_keys=True)

    def run(self, config, dram) -> dict:
        """Run it in this process. Returns what its line holds but for the key."""
        import numpy as np

        from sw.graph.load import load
        from sw.runtime import Device
        record = {"case": dataclasses.asdict(self)}
        try:
            graph = load(self.graph, weights=self.weights, undirected=self.undirected)
            record |= {"vertices": graph.num_vertices, "arcs": graph.num_edges}
            settings = dict(self.settings)
            if settings.get("source") == "hub":
                settings["source"] = int(np.argmax(graph.out_degrees))
            with Device.simulate(config, dram=dram) as device:
                result = device.run(self.algorithm, graph, schedule=self.schedule,
                                    format=self.format, direction=self.direction,
                                    split=self.split, **settings)
        except (RunError, UserError) as error:
            return record | {"error": str(error)}
        return record | {"cycles": result.cycles, "supersteps": result.supersteps,
                         "checksum": result.checksum, "verified": result.verified,
                         "counters": result.counters}


def _run(case, config, dram):
    return case.run(config, dram)


class Campaign:
    """A set of cases, the file of their figures, and the processes that run them.

    Parameters
    ----------
    cases : list of Case
        In the order in which they are started.
    config, dram
        Hardware and memory of all of them.
    path : str or None
        The file. Lines of other cases in it are kept, but do not count.
    """
    def __init__(self, cases, config, dram, path=None):
        self.cases = list(cases)
        self.config, self.dram = config, dram
        self.records = {}
        self._file = Records(path)
        wanted = {case.key(config, dram): case for case in self.cases}
        for key, record in self._file.read():
            if key in wanted and "error" not in record:
                self.records[wanted[key]] = record

    def run(self, jobs, report):
        """Run the cases that have no line yet.

        Parameters
        ----------
        jobs : int
            Processes.
        report : callable
            Called with (case, record, done, total) at the end of each run.
        """
        # The simulator is built once, before several processes need it.
        from sim.build import gpu_verilog
        gpu_verilog(self.config)
        left = [case for case in self.cases if case not in self.records]
        done = len(self.cases) - len(left)
        with concurrent.futures.ProcessPoolExecutor(
                jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            futures = {pool.submit(_run, case, self.config, self.dram): case for case in left}
            try:
                for future in concurrent.futures.as_completed(futures):
                    case = futures[future]
                    record = future.result()
                    self.records[case] = self._file.keep(case.key(self.config, self.dram), record)
                    done += 1
                    report(case, record, done, len(self.cases))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for process in list((pool._processes or {}).values()):
                    process.terminate()
                raise
