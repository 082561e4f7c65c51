"""A complete row as a mapping."""

from __future__ import annotations

from collections.abc import Iterator

from ...arch import Fanout
from ...ir import Axis, Loop, LoopNest, Mapping, Node, Problem
from .columns import Columns
from .counting import Counting
from .exact_halo import ExactHalo
from .placement import MAC_LEVEL, Placement


class NestBuilder:
    """Writes complete rows of one search as mappings."""

    def __init__(self, counting: Counting, exact: ExactHalo) -> None:
        self.counting, self.exact, self.q, self.lattice = counting, exact, counting.q, counting.lattice

    def mapping(self, placement: Placement, row: Columns) -> Mapping:
        """The mapping of a row, built from the inside out."""
        items: list[Loop | Node] = []
        at, below = MAC_LEVEL, 0
        ends = zip(placement.levels, placement.steps, row["tiles"].tolist(), row["orders"].tolist(), strict=True)
        for level, step, tile, number in ends:
            for i in reversed(range(len(self.q.fanouts))):
                if level < self.q.fanouts[i].level < at:
                    chosen = int(self.counting.arrays.chosen[row["row"], i])
                    items += self._in_parallel(i, chosen)
                    below += chosen
            trips = self._extents(tile - below)
            items += [Loop(self.q.dims[d], trips[d]) for d in self._order(placement, number) if trips[d] > 1]
            name = self.q.memories[step.memory].name
            items += [Node(name, self.q.tensors[t].name) for t in sorted(step.kept, reverse=True)]
            at, below = level, tile
        return Mapping(self.q.problem, LoopNest(tuple(items[::-1])))

    def _extents(self, number: int) -> list[int]:
        return [int(extent) for extent in self.lattice.extent[:, number]]

    def _order(self, placement: Placement, number: int) -> list[int]:
        """Dimensions from the inside out."""
        if not self.exact.nodes(placement):
            return list(self.counting.numbered[number][2])
        first = []
        while number:
            number, d = divmod(number, 16)
            first.append(d - 1)
        return first + [d for d in range(len(self.q.dims)) if d not in first]

    def _in_parallel(self, fanout: int, chosen: int) -> list[Loop]:
        """The spatial loops of a fanout, innermost first."""
        level = self.q.arch.levels[self.q.fanouts[fanout].level]
        assert isinstance(level, Fanout)
        extents = zip(self.q.dims, self._extents(chosen), strict=True)
        return _on_axes(level, self.q.problem, [(d, n) for d, n in extents if n > 1])


def _on_axes(fanout: Fanout, problem: Problem, extents: list[tuple[str, int]]) -> list[Loop]:
    """Spatial loops, innermost first: every dimension on the axes that have room."""

    def place(rest: list[tuple[str, int]], room: list[int]) -> list[tuple[str, list[int]]] | None:
        if not rest:
            return []
        (d, n), *more = rest
        for split in _splits(n, [r if a.allows(problem, d) else 1 for r, a in zip(room, fanout.axes, strict=True)]):
            found = place(more, [r // s for r, s in zip(room, split, strict=True)])
            if found is not None:
                return [(d, split), *found]
        return None

    chosen = place(extents, [a.size for a in fanout.axes])
    assert chosen is not None
    return [
        Loop(d, s, Axis(fanout.name, i)) for i in range(len(fanout.axes)) for d, split in chosen if (s := split[i]) > 1
    ]


def _splits(n: int, room: list[int]) -> Iterator[list[int]]:
    if len(room) == 1:
        if n <= room[0]:
            yield [n]
        return
    for k in range(1, min(n, room[0]) + 1):
        if n % k == 0:
            for rest in _splits(n // k, room[1:]):
                yield [k, *rest]
