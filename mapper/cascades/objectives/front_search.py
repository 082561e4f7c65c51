"""All best trees of a cascade in a region of energy and latency, not only the least of a weighted sum.

The same parts as in `tree_search.py`, from the outside in; but what is known of a part is a *front*: mappings of which
none costs as little energy and latency as another. Both add up over parts, so the front of the whole is made of the
fronts of its parts. Of a part, everything is wanted that lies in a region, and nothing else: energy, latency and a
weighted sum of both below a limit each. What other parts take at least, in each of the three, is left out of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...pareto.front import Point, front_of
from ...pareto.weights import NOTHING, AtLeast, OpenRegion, Weights
from ..space.shared_loops import Loops
from ..space.splits import Split
from ..tables.cuts import fronts
from ..terms.exchanges import Exchange
from ..terms.parts import FoundPart, VisitedPart, some_of
from ..tree_search import TreeSearch


class _Known(NamedTuple):
    """The front of a part, as far as it lies in a region."""

    region: OpenRegion
    front: list[FoundPart]


@dataclass
class FrontSearch(TreeSearch):
    """The search for the Pareto front of one cascade on one machine; the weights decide what is pruned.

    Raises OutOfMeans when time or memory run out.
    """

    _fronts: dict[VisitedPart, _Known] = field(init=False, default_factory=dict)

    def explore(
        self, names: Sequence[str], region: Callable[[], OpenRegion | None], take: Callable[[FoundPart], None]
    ) -> None:
        """Hand over all trees of the whole cascade that lie in a region, which may shrink with what is found, but for
        those that cost no less energy and no less latency than another.

        region  what is of interest still; None: nothing is
        """
        part, within = self._root(names), region()
        if part is None or within is None:
            return
        if len(names) == 1:
            for found in self._front_of(part, within):
                take(found)
            return
        for loops in self._one_by_one(part, region):
            within = region()
            if within is not None:
                for found in front_of(self._fronts_with_loops(part, loops, within), _cost):
                    take(found)
        within = region()  # without loops most is open still
        if within is not None and within.holds(self.bounds.in_all(part)):
            for found in front_of(self._fronts_with_loops(part, (), within), _cost):
                take(found)

    def _one_by_one(self, part: VisitedPart, region: Callable[[], OpenRegion | None]) -> Iterator[Loops]:
        """Shared loops with which something may lie in a region, that which reaches least of its limits first: as the
        region shrinks there are fewer."""
        done: set[Loops] = set()
        within = region()
        while within is not None:
            waiting = [(bound, loops) for bound, loops in self._shared(part, within) if loops not in done]
            for _, loops in sorted(waiting, key=lambda each: each[0]):
                done.add(loops)
                yield loops
                shrunk = region()
                if shrunk != within:
                    within = shrunk
                    break
            else:
                return

    def _shared(self, part: VisitedPart, region: OpenRegion) -> Iterable[tuple[float, Loops]]:
        """Shared loops, with the part of a limit that is reached with them at least."""
        if not self.loops.shares_loops:
            return []
        every = self.loops.open_choices(part, 1.0, measure=region)
        return [(one.bound, one.loops) for one in self.loops.closely(list(every), 1.0)]

    def _front_of(self, part: VisitedPart, region: OpenRegion) -> list[FoundPart]:
        """All of a part that lies in a region, perhaps with more that does not."""
        known = self._fronts.get(part)
        if known is None or not region.lies_in(known.region):
            self.means.check()
            wider = region if known is None else region.with_all_of(known.region)
            front = self._leaf(part, wider) if len(part.names) == 1 else self._inner(part, wider)
            known = self._fronts[part] = _Known(wider, front)
        return known.front

    def _leaf(self, part: VisitedPart, region: OpenRegion) -> list[FoundPart]:
        if region.is_empty or not region.holds(self.bounds.in_all(part)):
            return []
        mappings = self.solver.front(part.question(), region.beside(NOTHING, part.part_of(0)))
        return [self.leaves.leaf(part, mapping) for mapping in mappings]

    def _inner(self, part: VisitedPart, region: OpenRegion) -> list[FoundPart]:
        if region.is_empty or not region.holds(self.bounds.in_all(part)):
            return []
        found: list[FoundPart] = []

        def left() -> OpenRegion:
            return region.without((one.energy_pj, one.latency_cycles) for one in found)

        for loops in self._one_by_one(part, left):
            more = [*self._fronts_with_loops(part, loops, left())]
            if more:
                found = front_of([*found, *more], _cost)
        return found

    def _fronts_with_loops(self, part: VisitedPart, loops: Loops, region: OpenRegion) -> Iterator[FoundPart]:
        self.means.check()
        visits = part.visits(loops)
        for nodes in self.above.choices(part, loops, 1.0, region):
            if nodes.bound >= 1:
                continue
            inside = self.above.inside(part, loops, nodes)
            passing = AtLeast(nodes.energy_pj, 0.0, self.weights.energy * nodes.energy_pj)
            for split in self._front_of_split(inside, 0, (), region.beside(passing, visits)):
                yield self.above.found(part, loops, nodes, split)

    def _front_of_split(self, inside: VisitedPart, start: int, live: Exchange, region: OpenRegion) -> list[Split]:
        """Return the fronts of the branches from one operation on, within a region."""
        count = len(inside.names)
        if region.is_empty:
            return []
        if start == count:
            return [Split(0.0, 0.0, 0.0)]
        rest_of = [self.bounds.in_all(some_of(inside, end, count)) for end in range(start, count + 1)]
        if not region.holds(rest_of[0]):
            return []
        found: list[Split] = []
        for end in range(start + 1, count + 1):
            if not self.splits.may_be_branch(inside, start, end):
                continue
            for exchange in self.exchanges.choices(inside, start, end, live):
                found += self._first_with_rest(inside, start, end, exchange, region, rest_of[end - start])
        return front_of(found, _cost)

    def _first_with_rest(
        self, inside: VisitedPart, start: int, end: int, exchange: Exchange, region: OpenRegion, rest_least: AtLeast
    ) -> Iterator[Split]:
        part = self.splits.branch_part(inside, start, end, exchange)
        first = [] if part is None else self._front_of(part, region.beside(rest_least))
        if not first:
            return
        after, still = self.splits.after(inside, end, exchange)
        rest = self._front_of_split(after, end, still, region.beside(_least_of(first, self.weights)))
        for one, other in _sums(first, rest, region):
            yield self.splits.joined(one, other, exchange)


def _least_of(front: list[FoundPart], weights: Weights) -> AtLeast:
    """Return lower bounds that hold for every mapping of a list."""
    points = [(one.energy_pj, one.latency_cycles) for one in front]
    energy, latency = (min(values) for values in zip(*points, strict=True))
    return AtLeast(energy, latency, min(weights.of(*point) for point in points))


def _sums(first: list[FoundPart], rest: list[Split], region: OpenRegion) -> list[tuple[FoundPart, Split]]:
    """Pairs on the front of all sums of two fronts that lie in a region."""
    if not first or not rest:
        return []
    energy = np.add.outer([one.energy_pj for one in first], [one.energy_pj for one in rest]).ravel()
    latency = np.add.outer([one.latency_cycles for one in first], [one.latency_cycles for one in rest]).ravel()
    within = np.flatnonzero(region.of_each(energy, latency) < 1)
    best = within[fronts(np.zeros(len(within), dtype=np.int64), np.array([energy[within], latency[within]]))]
    return [(first[i // len(rest)], rest[i % len(rest)]) for i in best.tolist()]


def _cost(part: FoundPart | Split) -> Point:
    return part.energy_pj, part.latency_cycles
