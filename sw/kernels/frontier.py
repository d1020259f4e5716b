"""Frontiers in device memory: what the next superstep starts from.

The host never writes between launches. A launch is given the number of its superstep, and all that
it leaves to the next superstep is in a control block that it finds ready and leaves ready.
"""

__all__ = ["Queue", "Flag"]


class _Frontier:
    """Both kinds.

    Attributes
    ----------
    number, following : Register
        In a kernel, after :meth:`prepare`: the superstep's number, and the next one's.
    """

    def reserve(self, task):
        """Reserve buffers."""
        raise NotImplementedError

    def init(self, task, vertex):
        """Fill the buffers; ``vertex`` alone is the first frontier."""
        raise NotImplementedError

    def prepare(self, k, number):
        """Prologue; ``number`` is a register that holds the superstep's number."""
        self.number = number
        self.following = k.lasting("following")
        k.a.addi(self.following, number, 1)

    def add(self, k, vertex):
        """The active lanes' vertices are in the next frontier. Each vertex once."""
        raise NotImplementedError

    def filled(self, session, number) -> bool:
        """For the host: whether superstep ``number`` has left a frontier to the next."""
        raise NotImplementedError


class Queue(_Frontier):
    """The vertices of the frontier, in no order, as addresses in the algorithm's base array.

    There are two queues: superstep s reads number s mod 2 and adds to the other. The control block
    is a ring of four words, the address behind the last entry of the queue of superstep s in word
    s mod 4. Superstep s reads word s, adds its entries by word s + 1, and makes word s + 2 the
    start of the queue that it has read, for its successor to add by.

    Attributes
    ----------
    end : Register
        In a kernel: address behind the last entry of this superstep's queue.
    start : Register
        Address of the first; only until the prologue frees it.
    """
    _RING = 4

    def reserve(self, task):
        task.buffers.reserve("control", self._RING)
        for name in ("queue", "other_queue"):
            task.buffers.reserve(name, task.vertex_words)

    def init(self, task, vertex):
        buffers = task.buffers
        vertices = buffers.address(task.algorithm.base_array(task))
        padding = vertices + 4 * task.graph.num_vertices
        buffers.fill("queue", [vertices + 4 * vertex], padding)
        buffers.fill("other_queue", rest=padding)
        buffers.fill("control", [buffers.address("queue") + 4, buffers.address("other_queue")])

    def prepare(self, k, number):
        super().prepare(k, number)
        a = k.a
        self.end, self._tail = k.lasting("queue_end"), k.lasting("tail")
        self._entry_bytes = k.constant(4, "entry_bytes")
        self.start = k.lasting("start")
        with a.scope("slot", "control") as (slot, control):
            a.li(control, k.address("control"))
            self._slot(k, slot, number, control)
            a.lw(self.end, slot)
            a.andi(slot, number, 1)
            a.li(self.start, k.address("other_queue") - k.address("queue"))
            a.mul(self.start, self.start, slot)
            a.li(slot, k.address("queue"))
            a.add(self.start, self.start, slot)
            self._slot(k, self._tail, self.following, control)
            a.addi(slot, number, 2)
            self._slot(k, slot, slot, control)
            a.sw(self.start, slot)      # all warps store the same

    def _slot(self, k, into, number, control):
        k.a.andi(into, number, self._RING - 1)
        k.a.slli(into, into, 2)
        k.a.add(into, into, control)

    def add(self, k, vertex):
        with k.a.scope("entry") as (entry,):
            k.a.amoadd_w(entry, self._entry_bytes, self._tail)
            k.a.sw(vertex.reg, entry)

    def filled(self, session, number):
        following = number + 1
        start = session.task.buffers.address("other_queue" if following % 2 else "queue")
        return int(session.read("control")[following % self._RING]) > start


class Flag(_Frontier):
    """Only whether there is a next frontier; the algorithm knows its vertices by their values.

    The control block is one word: the number of the latest superstep for which there is one.
    """

    def reserve(self, task):
        task.buffers.reserve("control", 1)

    def init(self, task, vertex):
        task.buffers.fill("control", [0])

    def prepare(self, k, number):
        super().prepare(k, number)
        self._control = k.constant(k.address("control"), "control")

    def add(self, k, vertex):
        k.a.sw(self.following, self._control)

    def filled(self, session, number):
        return int(session.read("control")[0]) == number + 1
