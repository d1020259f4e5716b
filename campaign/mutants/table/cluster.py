"""Planted faults of the cluster: who may work, and what becomes of pieces whose worker is gone."""

from campaign.mutants.mutant import Mutant


__all__ = ["MUTANTS"]


_CLUSTER, _COMMANDS = "tb/sw/cluster/test_cluster.py", "tb/sw/cluster/test_commands.py"

MUTANTS = (
    Mutant("cluster-a-plain-worker-of-dask-works",
           "sw/cluster/members.py", "Members._unfit", "not about", "False",
           (f"{_CLUSTER}::test_a_plain_worker",)),
    Mutant("cluster-missing-packages-are-no-difference",
           "sw/cluster/identity.py", "differences",
           "there.get(name) != here.get(name)", "there.get(name, here.get(name)) != here.get(name)",
           (f"{_CLUSTER}::test_differences",)),
    Mutant("cluster-files-may-differ",
           "sw/cluster/worker.py", "check_files", "digests([path]) != {path: digest}",
           "digests([path]).keys() != {path}",
           (f"{_CLUSTER}::test_another_file",)),
    Mutant("cluster-files-are-read-where-the-worker-began",
           "sw/cluster/executor.py", "_ClusterSlots.begin", "folder is None", "True",
           (f"{_CLUSTER}::test_another_file",)),
    Mutant("cluster-sources-may-change-under-work",
           "sw/cluster/worker.py", "perform", "differences(identity(), wanted)", "''",
           (f"{_CLUSTER}::test_other_sources",)),
    Mutant("cluster-a-piece-is-tried-for-ever",
           "sw/cluster/executor.py", "_ClusterSlots._look", "placed.losses < _LOSSES", "True",
           (f"{_CLUSTER}::test_a_piece_that_loses_workers",)),
    Mutant("cluster-any-server-is-a-scheduler",
           "sw/cluster/connection.py", "reach", 'kind != "Scheduler"', "kind is None",
           (f"{_COMMANDS}::test_a_program_that_is_no_cluster",)),
    Mutant("cluster-port-0-is-an-address",
           "sw/cluster/connection.py", "address_of", "0 < port < 1 << 16", "0 <= port < 1 << 16",
           (f"{_COMMANDS}::test_addresses",)),
)
