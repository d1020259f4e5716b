"""Many machines that do pieces of work, on Dask distributed.

``graphloom cluster`` starts a scheduler, and ``graphloom worker`` a worker, which does each piece
in a process of its machine.

====================  =============================================================================
:mod:`.place`         where a cluster is, and the files of its TLS; needs no Dask
:mod:`.connection`    Dask's settings, and the way to a scheduler
:mod:`.scheduler`     the scheduler
:mod:`.worker`        a worker
:mod:`.members`       the workers that a client may use
:mod:`.executor`      the executor that gives pieces to the workers
====================  =============================================================================
"""
