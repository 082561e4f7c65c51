"""What a part of a tree weighs at least with shared loops, for many of their orders and trips at once.

Every tensor has some choices, of nodes or of a memory to pass in (`tensor_bounds.py`). `LoopBounds.open` takes at first
the best of each by itself, then only choices that have room at the same time; `OpenColumns.in_rooms` adds what
operations take more in the room that these leave.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from ....ir import Cascade
from ...effort import AT_ONCE
from ...exact.rows import Flags, Ints
from ...means import Means
from ..terms.parts import VisitedPart
from ..terms.placing import Placing
from ..terms.sharing import SharedDim
from ..terms.upper_memories import Floats, UpperMemories
from .loop_choices import Choices, Least
from .room_bounds import InRoom, RoomBounds
from .tensor_bounds import NodesBelow, TensorBounds

Weigh = Callable[[Least], Floats]
"""(n,) what a part weighs at least that takes something more than its operations do."""


class LoopOrder(NamedTuple):
    """Loops in one order, with many trips.

    places  of their dimensions among all, outermost first
    steps   columns of the trips that they have
    """

    places: tuple[int, ...]
    steps: slice


class _Chosen(NamedTuple):
    """Choices for all tensors together that weigh less than a cutoff.

    column   (n,) the order and trips of each
    weights  (n,)
    least    what they take
    are_all  whether all tensors are chosen for: of the others the best of each counts, and no room is known
    """

    column: Ints
    weights: Floats
    least: Least
    are_all: bool


@dataclass(frozen=True, eq=False)
class LoopBounds:
    """Bounds for one part and some orders of loops: a column for each order and each of its trips.

    dims    that loops may step over
    trips   (dims, steps); 1 where there is no loop
    orders  their columns stand one after the other
    both_pj  as of `TensorBounds`
    means  are asked for each tensor, and each block of columns
    rooms  closer bounds of operations in the room that is left, where they are known
    """

    cascade: Cascade
    memories: UpperMemories
    placing: Placing
    part: VisitedPart
    dims: tuple[SharedDim, ...]
    trips: Floats
    orders: tuple[LoopOrder, ...]
    both_pj: Floats
    means: Means
    rooms: RoomBounds | None = None

    @cached_property
    def steps(self) -> Ints:
        """(columns,) which trips each has."""
        every = np.arange(self.trips.shape[1])
        return np.concatenate([every[order.steps] for order in self.orders])

    def order_of(self, column: int) -> LoopOrder:
        """The order of a column."""
        return self.orders[int(self._ends.searchsorted(column, "right"))]

    @cached_property
    def _ends(self) -> Ints:
        return np.cumsum([order.steps.stop - order.steps.start for order in self.orders])

    def open(self, weigh: Weigh, cutoff: float) -> OpenColumns:
        """Columns that weigh less than a cutoff by choices that have room together."""
        columns = np.flatnonzero(weigh(self.choices.least) < cutoff)
        size = 256  # columns whose choices are looked at together
        blocks = (columns[start : start + size] for start in range(0, len(columns), size))
        return OpenColumns(self, weigh, [self._together(block, weigh, cutoff) for block in blocks])

    # ---- choices -------------------------------------------------------------------------------------------

    @cached_property
    def choices(self) -> Choices:
        """Of every tensor: nodes and homes of those from outside, memories of those that pass here."""
        bounds = TensorBounds(self.cascade, self.memories, self.placing, self.part, self.dims, self.trips, self.both_pj)
        found = []
        for tensor, home in self.part.homes:
            chains, known = [self._chains(order, tensor, home) for order in self.orders], dict[NodesBelow, Floats]()
            for nodes in dict.fromkeys(nodes for own in chains for nodes in own):
                self.means.check()
                known[nodes] = bounds.at_nodes(tensor, home, nodes).values
            found.append(self._by_order([[known[nodes] for nodes in own] for own in chains]))
        for tensor in self.exchanged:
            memories = map(self.memories.of, self.memories.exchanging(self.cascade, tensor))
            passing = [bounds.exchanged(tensor, memory).values.take(self.steps, 1) for memory in memories]
            found.append(np.stack(passing, 1))
        nothing = bounds.nothing
        zero = Least.nothing(nothing.operations, nothing.ports, nothing.rooms, len(self.steps))
        return Choices.of(zero, found, self._have_room)

    def _chains(self, order: LoopOrder, tensor: str, home: str) -> list[NodesBelow]:
        """What nodes of a tensor may stand below some loops in one order."""
        dims = tuple(self.dims[place] for place in order.places)
        chains = self.placing.chains(self.part, dims, tensor, home)
        return [tuple((memory, order.places[:depth]) for memory, depth in chain) for chain in chains]

    def _by_order(self, options: list[list[Floats]]) -> Floats:
        """(rows, choices, columns) of one tensor, by its choices with each order."""
        rows, most = len(options[0][0]), max(map(len, options))
        found = np.zeros((rows, most, len(self.steps)))
        found[0] = np.inf
        start = 0
        for order, own in zip(self.orders, options, strict=True):
            self.means.check()
            end = start + order.steps.stop - order.steps.start
            for number, values in enumerate(own):
                found[:, number, start:end] = values[:, order.steps]
            start = end
        return found

    @cached_property
    def exchanged(self) -> list[str]:
        """Intermediates that pass from one branch to another at this split for sure."""
        homes = dict(self.part.homes)
        if not self.placing.all_part_here(self.part):
            return []
        operations = map(self.cascade.operation, self.part.names)
        outputs = [operation.output.name for operation in operations if not operation.iterates]
        return [output for output in outputs if output not in homes and len(self.placing.users(self.part, output)) > 1]

    # ---- choices together ----------------------------------------------------------------------------------

    def _together(self, column: Ints, weigh: Weigh, cutoff: float) -> _Chosen:
        """Choices for all tensors, with some orders and trips, that have room together and weigh less than a cutoff."""
        self.means.check()
        choices, are_all, weights = self.choices, True, None
        least = choices.alone.of(choices.alone.values.take(column, 1))
        # Where no tensor has a choice it is still seen whether there is room.
        every, later = (choices.open, choices.later[1:]) if choices.open else ((_NOTHING,), choices.later)
        for options, rest in zip(every, later, strict=True):
            if len(least.bits) * len(column) * options.shape[1] > AT_ONCE:
                least, are_all, weights = least.of(least.values + options.min(axis=1).take(column, 1)), False, None
                continue
            own = options if options is _NOTHING else options.take(column, 2)
            both = least.values[:, None] + own
            weighed = both[: least.weighed] + rest[: least.weighed].take(column, 1)[:, None]
            weights = weigh(least.of(weighed.reshape(len(weighed), -1)))
            least = least.of(both.reshape(len(both), -1))
            some = (self._have_room(least) & (weights < cutoff)).nonzero()[0]
            least, weights = least.of(least.values.take(some, 1)), weights.take(some)
            column = column.take(some % len(column))
            if not len(column):
                return _Chosen(column, weights, least, True)
        return _Chosen(column, weigh(least) if weights is None else weights, least, are_all)

    def _have_room(self, least: Least) -> Flags:
        """(n,) whether there is room for what is taken."""
        found: Flags = np.logical_and.reduce(least.bits <= self._left, axis=0)
        return found

    @cached_property
    def _left(self) -> Floats:
        """(operations x rooms, 1) bits, with a little more for what is lost in rounding."""
        left = np.array([[float(size) for _, _, size in room] for room in self.part.room])
        return left.reshape(-1, 1) * (1 + 1e-12)

    def more_in_rooms(self, rooms: RoomBounds, chosen: Least, column: Ints) -> Least:
        """Some choices, with what operations take more in the room that is left.

        column  the order and trips of each
        """
        looked_at, tile = np.unique(self.steps.take(column), return_inverse=True)
        trips, count = self.trips.take(looked_at, 1), chosen.rooms
        bounds = TensorBounds(self.cascade, self.memories, self.placing, self.part, self.dims, trips, self.both_pj)
        found, steps = chosen.of(chosen.values.copy()), trips.astype(np.int64)
        for place in rooms.places(self.part, self.exchanged):
            self.means.check()
            user = self.cascade.operation(self.part.names[place])
            sizes = {dim: np.full(len(looked_at), size) for dim, size in self.part.sizes[place]}
            for dim, own in zip(self.dims, steps, strict=True):
                sizes[dim.of(user.name)] //= own
            nearest = place * count  # tables are made for machines with one bounded memory at most
            bits = self._left[nearest] - chosen.bits[nearest] if count else np.full(len(column), np.inf)
            in_room = InRoom(tile, chosen.far[place].astype(np.int64), bits)
            energy, cycles = rooms.more(self.part, place, sizes, partial(bounds.repeats_inside, user), in_room)
            found.energy[:] += energy
            found.cycles[place] += cycles
        return found


_NOTHING = np.zeros((1, 1, 1))
"""The only choice where there is none."""


@dataclass(frozen=True, eq=False)
class OpenColumns:
    """Columns of some bounds that weigh less than a cutoff.

    weigh  what they weigh
    """

    bounds: LoopBounds
    weigh: Weigh
    blocks: Sequence[_Chosen]

    @cached_property
    def weights(self) -> Floats:
        """(columns,) what each weighs at least; infinite where that is no less than the cutoff."""
        found = np.full(len(self.bounds.steps), np.inf)
        for block in self.blocks:
            np.minimum.at(found, block.column, block.weights)
        return found

    def in_rooms(self, columns: Sequence[int], cutoff: float) -> Floats:
        """(columns of the bounds,) the same of some columns with what operations take more in the room that is left,
        where it is known what that is; infinite of others."""
        found, rooms = np.full(len(self.bounds.steps), np.inf), self.bounds.rooms
        are_wanted = np.zeros(len(found), dtype=bool)
        are_wanted[columns] = True
        for block in self.blocks:
            self.bounds.means.check()
            some = (are_wanted.take(block.column) & (block.weights < cutoff)).nonzero()[0]
            column, weights = block.column.take(some), block.weights.take(some)
            if block.are_all and rooms is not None:
                chosen = block.least.of(block.least.values.take(some, 1))
                weights = self.weigh(self.bounds.more_in_rooms(rooms, chosen, column))
            np.minimum.at(found, column, weights)
        return found
