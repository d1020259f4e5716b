"""Where the lanes of a function part and meet, and what has to be kept for that.

A *level* is the number of entries of the warp's divergence stack. A branch at which lanes may part
gets a SPLIT, which pushes an entry; the lanes left behind resume before the branch and execute it
themselves. Where the lanes of the branch meet, a JOIN brings the stack back to the level at which
they parted. A branch that alone leaves a loop gets a PRED instead: lanes that have left wait until
the last one leaves, and the mask that the loop was entered with is active again.

The level of a meeting place is saved when lanes enter the branches that meet there. Where such a
place lies between no other parting lanes, that is the level at the entry of the function.
"""

import dataclasses

from sw.cc.flow import EXIT


__all__ = ["Joins", "Saved"]


@dataclasses.dataclass(frozen=True)
class Saved:
    """A value that is kept from where lanes enter until they meet: the level for a meeting place,
    or the mask for a loop, by its branch. Place None stands for the level at the entry."""
    kind: str  #: ``"level"`` or ``"mask"``.
    place: int | None


class Joins:
    """The plan of a function.

    Parameters
    ----------
    analysis : sw.cc.uniformity.Analysis

    Attributes
    ----------
    loops : dict of int to sw.cc.flow.Loop
        Branches that get a PRED.
    splits : set of int
        Branches that get a SPLIT.
    waits : dict of int to set of int
        As of the analysis.
    places : dict of int to list of int
        Where lanes meet, and the branches that meet there.
    repeated : set of int
        Places at which the stack may be several entries above the level.
    saved : list of Saved
        What is kept.
    level_of : dict of int to Saved
        The level of each meeting place.
    on_edges : dict of (int, int) to list of Saved
        What is saved on the edges between blocks.
    by_split : dict of int to Saved
        Levels that the SPLIT of a branch itself gives.
    spans : dict of Saved to set of int
        The blocks in which what is kept is needed.
    """

    def __init__(self, analysis):
        flow, self.waits = analysis.flow, analysis.waits
        self._flow = flow
        self.loops = {branch: loop for branch, loop in flow.loops.items()
                      if branch in analysis.parted and branch not in analysis.guards
                      # Lanes that wait in the loop leave it apart.
                      and loop.body.isdisjoint(analysis.waits)}
        self.splits = analysis.parted - self.loops.keys()
        self.places = {}
        for branch in sorted(self.splits):
            self.places.setdefault(flow.meets[branch], []).append(branch)
        inside = set().union(*(flow.region(branch) for branch in self.splits))
        self.repeated = {
            place for place, branches in self.places.items()
            if any(other in flow.region(branch) for branch in branches
                   for other in (*branches, *analysis.waits))}
        self.on_edges, self.by_split, self.level_of, self.spans = {}, {}, {}, {}
        at_entry = Saved("level", None)
        for place in self.places:
            if place != EXIT and (place in inside or self._lone(place) is not None):
                self._save_level(place)
            else:
                self.level_of[place] = at_entry
                self.spans[at_entry] = set(flow.targets)
        for branch, loop in self.loops.items():
            # A loop may begin where lanes meet: the mask is that of all of them.
            mask, blocks = Saved("mask", branch), self._closed(loop.body)
            self.spans[mask] = blocks
            for edge in self._entering(blocks):
                self.on_edges.setdefault(edge, []).append(mask)
        self.saved = sorted(self.spans, key=lambda kept: (kept.kind, kept.place or 0))

    def _closed(self, blocks):
        """Blocks, and for each place among them the branches that meet there and the blocks up to
        it: between two savings, no lane leaves these blocks."""
        found, known = set(blocks), set()
        while found != known:
            known = set(found)
            for other, branches in self.places.items():
                if other in known:
                    found |= self._reach(branches)
        return found

    def _reach(self, branches):
        """Branches, and the blocks in which their lanes are before they meet."""
        return set(branches).union(*(self._flow.region(branch) for branch in branches))

    def _entering(self, blocks):
        """The edges that lead into blocks."""
        return [(before, node) for node in sorted(blocks)
                for before in self._flow.predecessors[node] if before not in blocks]

    def _lone(self, place):
        """The only branch that meets at a place, if its SPLIT gives the level: the branch is met
        once, and the only way to the place."""
        branches = self.places[place]
        if len(branches) != 1:
            return None
        branch = branches[0]
        blocks = self._reach([branch])
        alone = branch not in self._flow.region(branch) and all(
            before in blocks for node in blocks - {branch} | {place}
            for before in self._flow.predecessors[node])
        return branch if alone else None

    def _save_level(self, place):
        kept = self.level_of[place] = Saved("level", place)
        blocks = self._closed(self._reach(self.places[place]))
        self.spans[kept] = blocks | {place}
        lone = self._lone(place)
        if lone is not None:
            self.by_split[lone] = kept
            return
        edges = self._entering(blocks)
        # From elsewhere the place is reached too, and its JOIN needs the level there.
        edges += [(before, place) for before in self._flow.predecessors[place]
                  if before not in blocks and place not in blocks]
        for edge in edges:
            self.on_edges.setdefault(edge, []).append(kept)
