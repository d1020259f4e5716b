"""The device as a GraphVM, while it runs a program: groups of operators are launches of kernels."""

import weakref
from typing import Any

from base.errors import UserError
from sw.compile.frontiers.pool import ALL, EMPTY
from sw.compile.lower.fuse import EDGES, WHERE, Member, in_beginning, op_of
from sw.compile.lower.held import GroupLaunch, HeldBack
from sw.compile.lower.host_numbers import LARGE, THRESHOLD, VERTEX, WORD
from sw.vm.host import Machine
from sw.vm.reference import ReferenceMachine


__all__ = ["Begun", "DeviceSet", "RtlMachine", "first_words"]


class Begun(Exception):
    """The part of a program before its first operator is over."""


class DeviceSet:
    """A set of vertices in the device's memory.

    Parameters
    ----------
    block : int
        Its block in the pool.
    count : int or None
        Its vertices, if they were counted.
    """

    def __init__(self, block, count=None):
        self.block, self.count = block, count


class _PiledQueue:
    """A queue with a pile.

    Parameters
    ----------
    pile : Pile
    near : DeviceSet
        The near vertices.
    advance : callable
        ``advance(kernel)``: launch a kernel that moves the threshold. Returns the set that it
        makes.
    """

    def __init__(self, pile, near, advance):
        self.pile, self.near, self._advance = pile, near, advance

    def size(self, size, session):
        """The number of near vertices, behind moves of the threshold if there would be none; 0 if
        the queue is empty. ``size`` gives that of a set."""
        kernel = "advance"
        while not size(self.near) and self.pile.size(session):
            self.near, kernel = self._advance(f"{kernel}_{self.pile.queue}"), "leap"
        return self.near.count


class RtlMachine(Machine):
    """Launches kernels through a session.

    The first contents of memory hold the results of the instructions before the first operator. A
    machine without a session finds these: it raises :class:`Begun` at the first operator.

    Parameters
    ----------
    parent : ProgramAlgorithm
    session : object, optional
        As of :meth:`~sw.compile.algorithm.Algorithm.drive`.

    Attributes
    ----------
    sets : dict of int to list
        The first vertices of sets, by the blocks of the pool.
    queues : dict of str to WaitingQueue
        The queues of the part before the first operator.
    values : dict
        The host's variables.
    supersteps : int
        Executions of operators of edges.
    ways : list of str
        Of a hybrid: the way of each of these.
    turns : list of int
        The last bit of the last block of each storage.
    """

    def __init__(self, parent, session=None):
        self._parent = parent
        self._session: Any = session
        storages = parent.pool.storages
        self._free = [number for number in range(storages - 1, -1, -1)
                      if number not in (ALL // 2, EMPTY // 2)]
        self.turns = [1] * storages
        self._slots: dict[int, int] = {}
        self._supersteps: dict[str, int] = {}
        self._number = 0                # of the next launch that has a number
        self.supersteps = 0
        self.ways: list[str] = []
        self._begun = False
        self._held: Any = None                  # HeldBack
        self._words: dict = {}                  # values of the host that the members use
        self._ahead: Any = None                 # (op, input set, result), performed in advance
        self._all = DeviceSet(ALL, parent.graph.num_vertices)
        self._host = ReferenceMachine(parent.program, parent.graph)
        self._performed: Any = set()            # by the host, as of Groups
        self._turned = frozenset()              # vectors whose words are in their other array
        self.sets: dict[int, list] = {}
        self.queues: dict[str, Any] = {}

    def start(self, bits, arrays):
        self._host.start(bits, arrays)

    @property
    def arrays(self) -> dict:
        """The first words of the vectors."""
        return {vector.name: self._host.read(vector.name)
                for vector in self._parent.program.vectors}

    def attach(self, values, evaluate, word):
        self.values, self._evaluate, self._word = values, evaluate, word

    # Sets

    def _new(self, count=None):
        """A set in a storage that no other set has."""
        storage, pool = self._free.pop(), self._parent.pool
        last = 2 * storage + self.turns[storage]
        # The Stream Compaction Unit starts no kernel for no edges, so none has made a set then.
        if not (pool.counts and self._begun and self._session is not None
                and not pool.size(self._session, last)):
            self.turns[storage] ^= 1
        vset = DeviceSet(2 * storage + self.turns[storage], count)
        weakref.finalize(vset, self._free.append, storage)
        return vset

    def make_set(self, vertices):
        if vertices is None:
            return self._all
        vertices = sorted(set(vertices))
        if not vertices:
            return DeviceSet(EMPTY, 0)
        if not self._begun:
            vset = self._new(len(vertices))
            self.sets.pop(vset.block ^ 1, None)
            self.sets[vset.block] = vertices
            return vset
        self._flush()
        vset = self._new(len(vertices))
        for vertex in vertices:
            self._set(VERTEX, vertex)
            self._make("include", self._parent.pool.argument(vset), [])
        return vset

    def size(self, vset):
        if isinstance(vset, _PiledQueue):
            return vset.size(self.size, self._device())
        if vset.count is None:
            self._answer(vset)
            if vset.count is None:
                vset.count = self._parent.pool.size(self._device(), vset.block)
            if self._ahead is not None and self._ahead[1] is vset and not vset.count:
                self._ahead = None
        return vset.count

    def _answer(self, vset):
        """Launch what makes a set, and what is performed in advance if the set has vertices."""
        held = self._held
        number = -1 if held is None else held.result(vset)
        if held is None or number == -1:
            return
        ahead = self._parent.groups.ahead.get((held.group, number))
        if ahead is not None:
            nodes = self._parent.dependence.uniforms(ahead.op)
            words = _words_ahead(ahead, nodes, self.values, self._evaluate, self._word)
            result = self._new() if ahead.op.kind == WHERE else None
            self._held = held.with_member(Member(ahead.op, number), result)
            self._words |= words
            self._ahead = ahead.op, vset, result
        self._flush()

    # Launches

    def _device(self):
        """The session. Raises Begun if there is none."""
        if self._session is None:
            raise Begun
        return self._session

    def _launch(self, kernel, argument=0):
        session = self._device()
        self._begun = True
        session.launch(kernel, argument)

    def _make(self, kernel, argument, sets):
        """Launch a kernel that makes ``sets``; some of its fields may be None."""
        self._launch(kernel, argument)
        pool = self._parent.pool
        if pool.counted:
            for vset, count in zip(sets, pool.added(self._device())):
                if vset is not None:
                    vset.count = count

    def _set(self, slot, word):
        """Give a slot its word, or the slot of a vertex the device's number of one."""
        if slot == VERTEX:
            word = self._device().task.vertices.number(word)
        if self._slots.get(slot) != word:
            self._launch(f"slot{slot}", word)
            self._slots[slot] = word

    # Operators

    def _take(self, node, vset, uniforms, makes=False):
        """Hold an operator back, or find that it was performed in advance. Returns the set that it
        makes, or None."""
        self._device()
        self._begun = True
        parent, op = self._parent, op_of(node, self._parent.numbers)
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead[0] == op and ahead[1] is vset:
            return ahead[2]
        held = self._held
        member = held and held.member(op, vset, parent.groups)
        if member is None:
            self._flush()
            held, member, self._words = HeldBack((), vset, ()), Member(op, None), {}
        result = self._new() if makes else None
        self._held = held.with_member(member, result)
        self._words |= uniforms
        return result

    def _flush(self):
        """Launch what is held back."""
        held, self._held = self._held, None
        launch = GroupLaunch.of(self._parent, held, self._turned)
        if held is None or launch is None:
            return
        parent, head = self._parent, held.group[0].op
        self._turned ^= launch.swapped
        if launch.before is not None:
            self._launch(launch.before)
        for node in launch.slotted:
            self._set(parent.host.slots[node], self._words[node])
        name, fields, sets = launch.kernel, launch.fields, launch.sets
        number = launch.number and self._words[launch.number]
        if number is not None and number > fields.most:
            self._set(LARGE, number)
            number = None
        superstep = self._supersteps.get(head.name, -1) + 1
        self._supersteps[head.name] = superstep
        inputs = [None] * (len(sets) - len(launch.made))
        if head.kind == EDGES and any(side.switches for side in self._session.task.sides.values()):
            self.ways.append(_way(self._session, self._parent.pool, held.input))
            name = f"{self.ways[-1]}_{name}"
        bits = 0
        if head.kind == EDGES \
                and (pile := parent.piles.get(parent.edges[head.what].output_vset)) is not None:
            if pile.full(fields.most):
                self._launch(f"restamp_{pile.queue}")
            bits, number = pile.superstep()
        elif head.kind == EDGES and head.what in parent.claimed:
            if self._number > fields.most:
                self._launch("renumber", self._number + 1)
                self._number = 0
            number, self._number = self._number, self._number + 1
        self._make(name, bits | fields.word(superstep, [each.block for each in sets], number),
                   [*inputs, *sets[len(inputs):]])
        if launch.behind is not None:
            self._make(launch.behind, parent.pool.argument(held.results[0]), held.results[:1])

    def edges(self, node, vset, uniforms):
        self.supersteps += 1
        more = {part: self._word(part)
                for part in self._parent.dependence.uniforms(op_of(node, self._parent.numbers))
                if part not in uniforms and part in self._parent.host.slots}
        return self._take(node, vset, uniforms | more, node.tracking is not None)

    def vertices(self, node, vset, uniforms):
        parent = self._parent
        if self._begun or not in_beginning(node, self._performed, parent.numbers):
            self._take(node, vset, uniforms)
            return
        self._performed.add(node.position)
        if self._session is None:
            members = None if vset is self._all else self.sets.get(vset.block, ())
            self._host.vertices(node, self._host.make_set(members), uniforms)

    def where(self, node, vset, uniforms):
        if node.position in self._parent.dropped:
            return DeviceSet(EMPTY)
        return self._take(node, vset, uniforms, makes=True)

    def total(self, node, vset, uniforms):
        before = _total(self._device())
        self._take(node, vset, uniforms)
        self._flush()
        return (_total(self._device()) - before) % (1 << 64)

    # Queues

    def make_queue(self, node, waiting, vertices):
        self.queues[node.name] = waiting
        vset, pile = self.make_set(vertices), self._parent.piles.get(node.name)
        if pile is None or self._session is None:
            return vset
        # Which of its vertices are near is in the first contents of memory.
        vset.count = None if vertices else 0

        def advance(kernel):
            self._flush()
            made = self._new()
            self._launch(kernel, self._parent.pool.argument(made) | pile.move())
            return made

        return _PiledQueue(pile, vset, advance)

    def dequeue(self, queue, waiting):
        if not isinstance(queue, _PiledQueue):
            return super().dequeue(queue, waiting)
        self._begun = True              # the first contents of memory have no order of a queue
        self.size(queue)
        ready, queue.near = queue.near, DeviceSet(EMPTY, 0)
        return ready, queue

    def join(self, vset, other):
        if isinstance(vset, _PiledQueue):
            vset.near = self.join(vset.near, other)
            return vset
        if other.count == 0:
            return vset
        self._flush()
        if vset.count == 0:
            return other
        joined = self._new()
        self._make("join", self._parent.pool.argument(vset, other, joined), [None, None, joined])
        return joined

    def split(self, vset, vector, threshold):
        self._flush()
        parts = self._new(), self._new()
        self._set(THRESHOLD, threshold % (1 << 32))
        self._make(f"split_{vector}", self._parent.pool.argument(vset, *parts), [None, *parts])
        return parts

    def least(self, vset, vector):
        self._flush()
        self._launch("infinite")
        self._launch(f"least_{vector}", self._parent.pool.argument(vset))
        return int(self._device().read("least", 1)[0])

    def store(self, vector, vertex, word):
        if not self._begun:
            self._host.store(vector, vertex, word)
            return
        self._flush()
        self._set(VERTEX, vertex)
        self._set(WORD, word)
        self._launch(f"store_{vector}")

    def read(self, vector):
        self._flush()
        return self._parent.addresses.read(
            self._device(), vector, self._parent.arrays(self._turned)(vector))


def _way(session, pool, vset):
    """The way that a hybrid takes from a set, by its size."""
    if vset.count is None:
        vset.count = pool.size(session, vset.block)
    return session.task.next_side(vset.count)


def first_words(machine, vector, *names):
    """For a machine that has found the first operator: the words of a vector at the vertices of
    sets, as far as there are sets of these names by then, or at all vertices if not all are known.
    """
    sets, words = {EMPTY: [], **machine.sets}, machine.arrays[vector]
    blocks = [machine.values[name].block for name in names if name in machine.values]
    if not blocks or any(block not in sets for block in blocks):
        return words
    return words[sorted(set().union(*(sets[block] for block in blocks)))]


def _words_ahead(ahead, nodes, values, evaluate, word):
    """The words of the host that an operator will find; the rest is as of Machine.attach."""
    before = dict(values)
    for node in ahead.assigns:
        values[node.name] = evaluate(node.value)
    words = {}
    for node in nodes:
        try:
            words[node] = word(node)
        except UserError:
            words[node] = 0         # only an empty set makes the host not ask, and refuse it
    values.clear()
    values.update(before)
    return words


def _total(session):
    """The sum of all sums of vertices so far, of 64 bits."""
    low, high = session.read("results", 2).tolist()
    return low | high << 32
