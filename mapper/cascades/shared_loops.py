"""Loops above a split: all choices of dimensions, order and trips, with what a part weighs at least with them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ...ir import Loop, SharedLoop
from ..means import Means
from ..tilings import factors
from .generations import Generations
from .loop_bounds import LoopBounds
from .loop_choices import KnownChoices, Least
from .loop_orders import LoopOrders
from .part_bounds import OwnLeast, PartBounds
from .parts import VisitedPart
from .ragged_loops import RaggedLoops, SharedTrips
from .room_bounds import RoomBounds
from .sharing import LoopAbove, SharedDim, shared_dims
from .tree_constraints import TreeConstraints
from .upper_memories import Floats
from .weights import Weights, Yardstick
from .window_passing import WindowPassing

Loops = tuple[LoopAbove, ...]

AT_ONCE = 1 << 15
"""Combinations of steps that are bounded at once."""


class Grid(NamedTuple):
    """Steps along some dimensions, whatever their order.

    steps  of each dimension, n times
    trips  (dims, n)
    key    the same as bytes
    """

    steps: list[tuple[SharedTrips, ...]]
    trips: Floats
    key: bytes

    @classmethod
    def of(cls, steps: list[tuple[SharedTrips, ...]]) -> Grid:
        """With these steps."""
        trips: Floats = np.array([[step.trips for step in each] for each in steps], dtype=np.float64).T
        return cls(steps, trips, trips.tobytes())


class OpenLoops(NamedTuple):
    """Loops above a split, and what the part weighs at least with them.

    among   all trips of loops in their order, and what these are measured by; None where there are no loops
    column  which of the trips these are
    """

    bound: float
    loops: Loops
    among: tuple[LoopBounds, Callable[[Least], Floats]] | None = None
    column: int = 0


@dataclass
class SharedLoops:
    """Loops above the splits of one cascade.

    bounds  of what parts weigh
    pruned  counts choices that are left aside, by rule
    constraints  that say which dimensions they may step over
    passing  of intermediates that are read through windows
    ragged   loops of which the last step is shorter
    orders   that are looked at
    known    of choices for tensors, by part and loops; more is noted there
    rooms    closer bounds of operations in the room that nodes leave, where they are known
    """

    bounds: PartBounds
    means: Means
    pruned: Counter[str]
    constraints: TreeConstraints
    passing: WindowPassing
    generations: Generations
    ragged: RaggedLoops
    orders: LoopOrders
    known: KnownChoices = field(default_factory=KnownChoices)
    rooms: RoomBounds | None = None
    _shared: dict[tuple[str, ...], tuple[SharedDim, ...]] = field(default_factory=dict)

    def choices(
        self, part: VisitedPart, cutoff: float, must_step: bool = False, measure: Yardstick | None = None
    ) -> Iterator[tuple[float, Loops]]:
        """All choices of shared loops whose bound lies below the cutoff, with their bounds."""
        return ((one.bound, one.loops) for one in self.open_choices(part, cutoff, must_step, measure))

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
            allowed = (dim for dim in every if self.constraints.allow_loop(dim))
            searched = (dim for dim in allowed if self.passing.allows(dim) and self.generations.allows(dim))
            self._shared[part.names] = tuple(searched)
        shared = self._shared[part.names]
        sizes = {name: dict(own) for name, own in zip(part.names, part.sizes, strict=True)}
        shared = tuple(dim for dim in shared if not dim.uneven or self.passing.is_whole(dim, sizes))
        steps = {dim: self._steps(part, dim, sizes) for dim in shared}
        must_step = must_step or self.generations.must_step(part)
        own = self.bounds.own(part)
        if measure is not None:  # which has energy apart
            own = replace(own, both_pj=0.0 * own.both_pj)
        weight = partial(self._weight, own, measure or self.bounds.weights)
        for count in range(1, len(shared) + 1):
            for dims in itertools.combinations(shared, count):
                if must_step and not any(map(self.generations.is_stepped, dims)):
                    continue
                if not (_apart(dims) and all(steps[dim] for dim in dims) and self.passing.may_stand_together(dims)):
                    continue
                for grid in map(Grid.of, _grids([steps[dim] for dim in dims])):
                    for order in itertools.permutations(range(count)):
                        self.means.check()
                        if self.orders.may_be_needed(part, [dims[i] for i in order]):
                            yield from self._in_order(part, dims, order, grid, own, weight, cutoff)

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
        return [step for step in found if self.constraints.allow_trips(dim, step.trips)]

    def _in_order(
        self,
        part: VisitedPart,
        dims: tuple[SharedDim, ...],
        order: tuple[int, ...],
        grid: Grid,
        own: OwnLeast,
        weight: Callable[[Least], Floats],
        cutoff: float,
    ) -> Iterator[OpenLoops]:
        """All steps of loops in one order whose bound lies below the cutoff.

        order  of the dimensions, outermost first
        """
        bounds, trips, ordered = self.bounds, grid.trips[list(order)], tuple(dims[i] for i in order)
        bounds_of = LoopBounds(
            bounds.cascade,
            bounds.memories,
            bounds.placing,
            part,
            ordered,
            trips,
            grid.key,
            self.orders.filled_anew(part),
            own.both_pj,
            self.known,
            self.rooms,
        )
        open_ones = np.flatnonzero(weight(bounds_of.least()) < cutoff)
        weights = bounds_of.together(open_ones, weight, cutoff) if len(open_ones) else np.zeros(0)
        open_ones, weights = open_ones[weights < cutoff], weights[weights < cutoff]
        self.pruned["loops"] += trips.shape[1] - len(open_ones)
        among = bounds_of, weight
        for i, least in zip(open_ones.tolist(), weights.tolist(), strict=True):
            steps = (grid.steps[i][place] for place in order)
            loops = tuple(LoopAbove(dim, step.trips, tile=step.tile) for dim, step in zip(ordered, steps, strict=True))
            for passed in self.passing.ways(part.names, loops):
                for placed in self.generations.ways(part, passed):
                    yield OpenLoops(least, placed, among, i)

    def closely(self, chosen: Iterable[OpenLoops], cutoff: float) -> list[OpenLoops]:
        """Those of some loops whose bound lies below the cutoff with what operations take more in the room that is
        left, where that is known."""
        found: list[OpenLoops] = []
        together: dict[int, list[OpenLoops]] = {}
        for one in chosen:
            if one.among is not None and one.among[0].rooms is not None:
                together.setdefault(id(one.among), []).append(one)
            elif one.bound < cutoff:
                found.append(one)
        for those in together.values():
            assert those[0].among is not None
            bounds, weight = those[0].among
            columns = np.array(sorted({one.column for one in those}))
            weights = dict(zip(columns.tolist(), bounds.in_rooms(columns, weight, cutoff).tolist(), strict=True))
            closer = (one._replace(bound=max(one.bound, weights[one.column])) for one in those)
            found += (one for one in closer if one.bound < cutoff)
        self.pruned["loops"] += sum(map(len, together.values())) - sum(one.among is not None for one in found)
        return found

    def _weight(self, own: OwnLeast, measure: Yardstick, more: Least) -> Floats:
        """(..., n) what a part weighs at least that takes more than its operations do by themselves.

        With all tensors near, an operation weighs `both_pj` more than its least energy and its least latency together.
        Where ports make it wait, it has that least energy, and weighs what it waits for more, or it weighs `both_pj`
        more: a mapping that takes its time may be best in energy. So of these two the larger counts, not both."""
        bounds = self.bounds
        if not bounds.timed and isinstance(measure, Weights):
            return measure.energy * (own.energy_pj + more.energy)
        fits = more.energy < np.inf
        energy = np.where(fits, own.energy_pj + own.both_pj.sum() + more.energy, 0.0)  # whatever energy weighs
        latency = np.zeros_like(energy)
        if bounds.timed:
            ports = (own.busy[:, :, None] + more.cycles).max(axis=-2, initial=0.0)
            latency = np.maximum(own.cycles[:, None], ports).sum(axis=-2)
            if own.both_pj.any():
                per_cycle = bounds.leakage + bounds.weights.latency / bounds.weights.energy
                waits = np.maximum(ports - own.cycles[:, None], 0.0)
                energy = energy - np.minimum(own.both_pj[:, None], per_cycle * waits).sum(axis=-2)
            energy = energy + (bounds.leakage * latency if bounds.leakage else 0.0)
        return np.where(fits, measure.of_each(energy, latency), np.inf)


def _grids(steps: Sequence[Sequence[SharedTrips]]) -> Iterator[list[tuple[SharedTrips, ...]]]:
    """All combinations, so many at once."""
    every = itertools.product(*steps)
    while found := list(itertools.islice(every, AT_ONCE)):
        yield found


def _apart(dims: Sequence[SharedDim]) -> bool:
    """Whether no operation has the same dimension in two of them."""
    return all(not set(one.dims) & set(other.dims) for one, other in itertools.combinations(dims, 2))


def loop_item(loop: LoopAbove, names: Sequence[str]) -> Loop:
    """A loop as an item of a tree, named by the first operation's dimension."""
    first = loop.dim.of(names[0])
    renamed = tuple((name, loop.dim.of(name)) for name in names if loop.dim.of(name) != first)
    return SharedLoop(first, loop.trips, renamed=renamed) if renamed else Loop(first, loop.trips)
