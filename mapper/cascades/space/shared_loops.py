"""Loops above a split: all choices of dimensions, order and trips, with what a part weighs at least with them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ....ir import Loop, SharedLoop
from ...effort import TREE_EFFORT
from ...pareto.weights import Yardstick
from ...tilings import factors
from ..relaxations.loop_bounds import LoopBounds, LoopOrder, OpenColumns
from ..relaxations.loop_weights import LoopWeights, loop_weights
from ..relaxations.part_bounds import PartBounds
from ..relaxations.room_bounds import RoomBounds
from ..terms.generations import Generations
from ..terms.parts import VisitedPart
from ..terms.ragged_loops import RaggedLoops, SharedTrips
from ..terms.sharing import LoopAbove, SharedDim, shared_dims
from ..terms.tree_rules import TreeRules
from ..terms.upper_memories import Floats
from ..terms.window_passing import WindowPassing

Loops = tuple[LoopAbove, ...]


@dataclass
class _Orders:
    """Orders of loops that are bounded together.

    dims   that they may step over
    count  columns of `LoopBounds`
    """

    dims: tuple[SharedDim, ...]
    count: int = 0
    _steps: list[tuple[SharedTrips | None, ...]] = field(default_factory=list)
    _orders: list[LoopOrder] = field(default_factory=list)

    def add(
        self, places: Sequence[int], orders: Sequence[tuple[int, ...]], steps: list[tuple[SharedTrips, ...]]
    ) -> None:
        """Loops over some dimensions.

        places  of these among all
        orders  of places, outermost first
        steps   along each of the places, n times
        """
        columns = slice(len(self._steps), len(self._steps) + len(steps))
        for each in steps:
            own = dict(zip(places, each, strict=True))
            self._steps.append(tuple(own.get(place) for place in range(len(self.dims))))
        self._orders += [LoopOrder(order, columns) for order in orders]
        self.count += len(orders) * len(steps)

    @property
    def orders(self) -> tuple[LoopOrder, ...]:
        """All of them."""
        return tuple(self._orders)

    def trips(self) -> Floats:
        """(dims, steps)."""
        every = [[1 if step is None else step.trips for step in each] for each in self._steps]
        return np.array(every, dtype=np.float64).T.copy()

    def loops(self, order: LoopOrder, step: int) -> Loops:
        """Those in one order, by the number of their steps."""
        chosen = ((self.dims[place], self._steps[step][place]) for place in order.places)
        return tuple(LoopAbove(dim, own.trips, tile=own.tile) for dim, own in chosen if own is not None)


class OpenLoops(NamedTuple):
    """Loops above a split, and what the part weighs at least with them.

    among   all that were bounded together; None where there are no loops, and where nothing bounds them closer
    column  which of them these are
    """

    bound: float
    loops: Loops
    among: OpenColumns | None = None
    column: int = 0


@dataclass(frozen=True, eq=False)
class SharedLoops(TreeRules):
    """Loops above the splits of one cascade.

    bounds   of what parts weigh
    passing  of intermediates that are read through windows
    ragged   loops of which the last step is shorter
    rooms    closer bounds of operations in the room that nodes leave, where they are known
    """

    bounds: PartBounds
    passing: WindowPassing
    generations: Generations
    ragged: RaggedLoops
    rooms: RoomBounds | None
    _shared: dict[tuple[str, ...], tuple[SharedDim, ...]] = field(default_factory=dict)

    def open_choices(
        self, part: VisitedPart, cutoff: float, must_step: bool = False, measure: Yardstick | None = None
    ) -> Iterator[OpenLoops]:
        """All choices of shared loops whose bound lies below the cutoff: no dimension twice, each with more than one
        trip.

        must_step  whether one of them has to step over generations, whatever branches could
        measure    what bounds are of, instead of what the part weighs
        """
        if part.names not in self._shared:
            every = shared_dims(self.bounds.cascade, part.names)
            allowed = (dim for dim in every if self.constraints.allow_loop({name for _, name in dim.dims}))
            searched = (dim for dim in allowed if self.passing.allows(dim) and self.generations.allows(dim))
            self._shared[part.names] = tuple(searched)
        shared = self._shared[part.names]
        sizes = {name: dict(own) for name, own in zip(part.names, part.sizes, strict=True)}
        shared = tuple(dim for dim in shared if not dim.uneven or self.passing.is_whole(dim, sizes))
        steps = {dim: self._steps(part, dim, sizes) for dim in shared}
        must_step = must_step or self.generations.must_step(part)
        weigh = loop_weights(self.bounds, part, measure)
        orders = _Orders(shared)
        for count in range(1, len(shared) + 1):
            for places in itertools.combinations(range(len(shared)), count):
                dims = [shared[place] for place in places]
                if must_step and not any(map(self.generations.is_stepped, dims)):
                    continue
                if not (_apart(dims) and all(steps[dim] for dim in dims) and self.passing.may_stand_together(dims)):
                    continue
                self.means.check()
                permuted = list(itertools.permutations(places))
                for grid in _grids([steps[dim] for dim in dims]):
                    orders.add(places, permuted, grid)
                    if orders.count >= TREE_EFFORT.at_once:
                        yield from self._bounded(part, orders, weigh, cutoff)
                        orders = _Orders(shared)
        if orders.count:
            yield from self._bounded(part, orders, weigh, cutoff)

    def _steps(self, part: VisitedPart, dim: SharedDim, sizes: dict[str, dict[str, int]]) -> list[SharedTrips]:
        """Trips of a shared loop, with tiles; none where operations disagree. From one generation to the next it takes
        all steps."""
        over = {
            one.loop if one is not None else None
            for name, own in dim.dims
            for one in [next((o for o in part.over_of(part.names.index(name)) if o.dim == own), None)]
        }
        if len(over) > 1:  # the last visit is shorter for some of them alone, or for each along another loop
            return []
        size = {sizes[name][own] for name, own in dim.dims if name not in dim.uneven}
        if len(size) != 1:
            return []
        (elements,) = size
        found = [SharedTrips(trips) for trips in factors(elements, "perfect", True) if trips > 1]
        if self.generations.is_stepped(dim):
            found = found[-1:]
        elif self.ragged.is_whole(dim, elements):
            found += self.ragged.steps(dim, elements)
        names = {name for _, name in dim.dims}
        return [step for step in found if self.constraints.allow_trips(names, step.trips)]

    def _bounded(self, part: VisitedPart, orders: _Orders, weigh: LoopWeights, cutoff: float) -> Iterator[OpenLoops]:
        """Loops in some orders whose bound lies below the cutoff."""
        self.means.check()
        bounds = LoopBounds(
            self.bounds.cascade,
            self.bounds.memories,
            self.bounds.placing,
            part,
            orders.dims,
            orders.trips(),
            orders.orders,
            weigh.own.both_pj,
            self.means,
            self.rooms,
        )
        among = bounds.open(weigh, cutoff)
        open_ones, kept = np.flatnonzero(among.weights < cutoff), None if self.rooms is None else among
        self.pruned["loops"] += orders.count - len(open_ones)
        steps = bounds.steps.take(open_ones).tolist()
        for column, step, least in zip(open_ones.tolist(), steps, among.weights.take(open_ones).tolist(), strict=True):
            loops = orders.loops(bounds.order_of(column), step)
            for passed in self.passing.ways(part.names, loops):
                for placed in self.generations.ways(part, passed):
                    yield OpenLoops(least, placed, kept, column)

    def closely(self, chosen: Sequence[OpenLoops], cutoff: float) -> list[OpenLoops]:
        """Those of some loops whose bound lies below the cutoff with what operations take more in the room that is
        left, where that is known."""
        found: list[OpenLoops] = []
        together: dict[int, list[OpenLoops]] = {}
        for one in chosen:
            if one.among is not None and self.rooms is not None:
                together.setdefault(id(one.among), []).append(one)
            elif one.bound < cutoff:
                found.append(one)
        for those in together.values():
            assert those[0].among is not None
            weights = those[0].among.in_rooms([one.column for one in those], cutoff).tolist()
            closer = (one._replace(bound=max(one.bound, weights[one.column])) for one in those)
            found += (one for one in closer if one.bound < cutoff)
        self.pruned["loops"] += len(chosen) - len(found)
        return found


def _grids(steps: Sequence[Sequence[SharedTrips]]) -> Iterator[list[tuple[SharedTrips, ...]]]:
    """All combinations, so many at once."""
    every = itertools.product(*steps)
    while found := list(itertools.islice(every, TREE_EFFORT.at_once)):
        yield found


def _apart(dims: Sequence[SharedDim]) -> bool:
    """Whether no operation has the same dimension in two of them."""
    return all(not set(one.dims) & set(other.dims) for one, other in itertools.combinations(dims, 2))


def loop_item(loop: LoopAbove, names: Sequence[str]) -> Loop:
    """A loop as an item of a tree, named by the first operation's dimension."""
    first = loop.dim.of(names[0])
    renamed = tuple((name, loop.dim.of(name)) for name in names if loop.dim.of(name) != first)
    return SharedLoop(first, loop.trips, renamed=renamed) if renamed else Loop(first, loop.trips)
