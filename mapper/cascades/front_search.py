"""All best trees of a cascade in a region of energy and latency, not only the least of a weighted sum.

The same parts as in `tree_search.py`, from the outside in; but what is known of a part is a *front*: mappings of which
none costs as little energy and latency as another. Both add up over parts, so the front of the whole is made of the
fronts of its parts. Of a part, everything is wanted that weighs less than a cutoff, and nothing else: what is no more
than a point in energy and latency weighs no more than the point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from ..exact.rows import Floats, Ints
from .exchanges import Exchange
from .parts import FoundPart, VisitedPart, some_of
from .shared_loops import Loops
from .tree_search import Split, TreeSearch


class _Point(Protocol):
    @property
    def energy_pj(self) -> float: ...
    @property
    def latency_cycles(self) -> float: ...


Each = TypeVar("Each", bound=_Point)


class _Known(NamedTuple):
    """The front of a part, as far as it weighs less than a cutoff."""

    cutoff: float
    front: list[FoundPart]


@dataclass
class FrontSearch(TreeSearch):
    """Fronts of one cascade on one machine; the weights say what is left aside.

    Raises OutOfMeans when time or memory run out.
    """

    _fronts: dict[VisitedPart, _Known] = field(init=False, default_factory=dict)

    def explore(self, names: Sequence[str], cutoff: Callable[[], float], take: Callable[[FoundPart], None]) -> None:
        """Hand over all trees of the whole cascade that weigh less than a cutoff, which may fall with what is found,
        but for those that cost no less energy and no less latency than another."""
        part = self._root(names)
        if part is None:
            return
        if len(names) == 1:
            for found in self._front_of(part, cutoff()):
                take(found)
            return
        for bound, loops in self._choices_of_loops(part, cutoff()):
            if bound < cutoff():
                for found in _front([*self._fronts_with_loops(part, loops, cutoff())]):
                    take(found)

    def _choices_of_loops(self, part: VisitedPart, cutoff: float) -> list[tuple[float, Loops]]:
        """Shared loops of a whole tree, with bounds; none at all last, since most is open still with them."""
        return [*sorted(self._shared(part, cutoff), key=lambda choice: choice[0]), (self.bounds.of(part), ())]

    def _shared(self, part: VisitedPart, cutoff: float) -> Iterable[tuple[float, Loops]]:
        """Shared loops, with bounds."""
        return self.loops.choices(part, cutoff) if self.shares_loops else ()

    def _front_of(self, part: VisitedPart, cutoff: float) -> list[FoundPart]:
        """All of a part that weighs less than the cutoff, perhaps with more that does not."""
        known = self._fronts.get(part)
        if known is None or known.cutoff < cutoff:
            self.means.check()
            front = self._leaf(part, cutoff) if len(part.names) == 1 else self._inner(part, cutoff)
            known = self._fronts[part] = _Known(cutoff, front)
        return known.front

    def _leaf(self, part: VisitedPart, cutoff: float) -> list[FoundPart]:
        if self.bounds.close(part) >= cutoff:
            return []
        self.branches += 1
        mappings = self.solver.front(part.question(), self.weights, cutoff / part.part_of(0))
        return [self.leaf(part, mapping) for mapping in mappings]

    def _inner(self, part: VisitedPart, cutoff: float) -> list[FoundPart]:
        if self.bounds.of(part) >= cutoff:
            return []
        found: list[FoundPart] = []
        for _, loops in self._shared(part, cutoff):
            found += self._fronts_with_loops(part, loops, cutoff)
        return _front(found)

    def _fronts_with_loops(self, part: VisitedPart, loops: Loops, cutoff: float) -> Iterator[FoundPart]:
        self.means.check()
        visits = part.visits(loops)
        for nodes in self._nodes_with(part, loops, cutoff):
            if nodes.bound >= cutoff or self._close(part, loops, nodes) >= cutoff:
                continue
            inside = self._inside(part, loops, nodes)
            left = (cutoff - self.weights.energy * nodes.energy_pj) / visits
            for split in self._front_of_split(inside, 0, (), left):
                yield FoundPart(
                    nodes.energy_pj + visits * split.energy_pj,
                    visits * split.latency_cycles,
                    self._tree(part, loops, nodes, split),
                    self._stored(loops, split),
                )

    def _front_of_split(self, inside: VisitedPart, start: int, live: Exchange, cutoff: float) -> list[Split]:
        """Branches from one operation on, that weigh less than the cutoff together."""
        count = len(inside.names)
        if start == count:
            return [Split(0.0, 0.0, 0.0)] if cutoff > 0 else []
        rest_of = [self.bounds.close(some_of(inside, end, count)) for end in range(start, count + 1)]
        if rest_of[0] >= cutoff:
            return []
        found: list[Split] = []
        for end in range(start + 1, count + 1):
            if not self._may_be_branch(inside, start, end):
                continue
            for exchange in self.exchanges.choices(inside, start, end, live):
                found += self._first_with_rest(inside, start, end, exchange, cutoff, rest_of[end - start])
        return _front(found)

    def _first_with_rest(
        self, inside: VisitedPart, start: int, end: int, exchange: Exchange, cutoff: float, rest_bound: float
    ) -> Iterator[Split]:
        part = self._branch_part(inside, start, end, exchange)
        first = [] if part is None else self._front_of(part, cutoff - rest_bound)
        if not first:
            return
        after, still = self._after(inside, end, exchange)
        least = min(self.weights.of(one.energy_pj, one.latency_cycles) for one in first)
        rest = self._front_of_split(after, end, still, cutoff - least)
        for one, other in _sums(first, rest, self.weights.energy, self.weights.latency, cutoff):
            yield self._joined(one, other, exchange)


def _sums(
    first: list[FoundPart], rest: list[Split], of_energy: float, of_latency: float, cutoff: float
) -> list[tuple[FoundPart, Split]]:
    """Pairs on the front of all sums of two fronts that weigh less than a cutoff."""
    if not first or not rest:
        return []
    energy = np.add.outer([one.energy_pj for one in first], [one.energy_pj for one in rest]).ravel()
    latency = np.add.outer([one.latency_cycles for one in first], [one.latency_cycles for one in rest]).ravel()
    light = np.flatnonzero(of_energy * energy + of_latency * latency < cutoff)
    best = light[_least(energy[light], latency[light])]
    return [(first[i // len(rest)], rest[i % len(rest)]) for i in best.tolist()]


def _front(points: list[Each]) -> list[Each]:
    """Those that cost less energy or less latency than every other one, from the least energy on."""
    energy, latency = (np.array([getattr(p, name) for p in points]) for name in ("energy_pj", "latency_cycles"))
    return [points[i] for i in _least(energy, latency).tolist()]


def _least(energy: Floats, latency: Floats) -> Ints:
    """Places of the points that no other one equals or beats in both, from the least energy on."""
    order = np.lexsort([latency, energy])
    before = np.minimum.accumulate(np.concatenate([[math.inf], latency[order]]))[:-1]
    return order[latency[order] < before]
