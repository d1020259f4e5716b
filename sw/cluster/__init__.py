"""Many machines that do pieces of work, on Dask distributed.

``graphloom cluster`` starts a scheduler, and ``graphloom worker`` a worker, which does each piece
in a process of its machine. :class:`Cluster` is the executor that gives pieces to the workers.
"""

from .executor import Cluster


__all__ = ["Cluster"]
