"""What operations weigh at least that make the steps of shared loops together, whatever these loops are.

Of a tensor that a loop does not move, all words come to each of its steps, unless a node above the loop keeps them: for
that there has to be room, cut as the tensor is by the other loops. So for every choice of trips it is known which
tensors come again, and how often. Closer than by words that come, an operation is bounded by the best mapping of the
tile of each visit; all visits are alike here (`SingleBounds.is_plain`).

Which trips there may be: some loop has several, if operations are to be one branch below loops; and an intermediate
that is exchanged in a memory without room for all of it is cut by loops that its writer, its readers and all between
them have in common. Loops of one dimension at several splits inside each other count as one here, which stands outside
all others and inside them: what is not spared the steps of all of them is spared none. Where there is one split alone,
each order of loops is looked at: a node that is kept across a loop is cut by those outside it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ....cost_models.cost import capacity_parts, tensor_tile_words
from ....cost_models.sets import tiles_overlap
from ....ir import Operation, Tensor, ceil_div
from ...tilings import factors
from ..terms.branch import Room, Sizes
from ..terms.parts import less_room
from ..terms.sharing import SharedDim
from ..terms.upper_memories import UpperMemories
from .operation_bounds import OperationBounds

Steps = tuple[tuple[str, int], ...]
"""Dimensions of an operation and their trips: each step is a visit."""

Homes = tuple[str, ...]
"""By tensor of an operation, the memory that it comes from at least."""

Passes = tuple[int, ...]
"""By tensor of an operation, how often all of its words come from its home at least."""

Weigh = Callable[[Operation, Homes, Steps, Passes, Room], float]
"""What an operation weighs at least that has homes and steps, and so much room."""


class LyingTensors(NamedTuple):
    """Intermediates in their homes.

    whole  those that lie there as a whole, whatever loops there are
    cut    those of which a tile does, that all loops cut
    """

    whole: frozenset[str] = frozenset()
    cut: frozenset[str] = frozenset()


MOST_TRIPS = 4096
"""Choices of trips up to which all are looked at; where there are more, nothing is said."""

MOST_CLOSELY = 24
"""Choices of trips for which smaller tiles are asked about, those first that seem to weigh least."""


@dataclass
class SharedSteps:
    """Steps of the loops of one cascade on one machine, by weights of energy alone.

    near     what operations weigh at least with all tensors near
    weigh    what an operation weighs at least
    """

    memories: UpperMemories
    intermediates: Collection[str]
    near: OperationBounds
    energy: float
    weigh: Weigh
    _known: dict[object, float] = field(default_factory=dict)

    def least(
        self,
        operations: Sequence[Operation],
        homes: Sequence[Homes],
        dims: Sequence[SharedDim],
        parts: int,
        lying: LyingTensors,
        at_once: bool = False,
    ) -> float:
        """What some operations weigh at least together; infinite where there are no such loops.

        dims     that all that may be shared are over
        parts    that the loops have steps at least
        lying    which intermediates lie in their homes, and how much of them
        at_once  whether there is one split alone, so that each dimension has one loop
        """
        key = tuple(operation.name for operation in operations), tuple(homes), tuple(dims), parts, lying, at_once
        if key not in self._known:
            self._known[key] = self._least(operations, homes, dims, parts, lying, at_once)
        return self._known[key]

    def _least(
        self,
        operations: Sequence[Operation],
        homes: Sequence[Homes],
        dims: Sequence[SharedDim],
        parts: int,
        lying: LyingTensors,
        at_once: bool,
    ) -> float:
        room = self.memories.room
        plain = [self.weigh(op, own, (), (1,) * len(own), room) for op, own in zip(operations, homes, strict=True)]
        sizes = [_size(operations, dim) for dim in dims]
        ways = [factors(size, "perfect", True) for size in sizes if size is not None]
        if len(ways) < len(dims) or math.prod(map(len, ways)) > MOST_TRIPS:
            return sum(plain)
        stepped = [_Stepped(self, op, own, dims, lying) for op, own in zip(operations, homes, strict=True)]
        every = []
        for loops in _loops(ways, at_once):
            if math.prod(loops.trips) >= parts:
                each = [max(least, one.quickly(loops)) for least, one in zip(plain, stepped, strict=True)]
                every.append((sum(each), loops, each))
        every.sort()
        found = math.inf
        for i, (total, loops, each) in enumerate(every):
            if total >= found:
                break
            if i >= MOST_CLOSELY:
                return min(found, total)
            found = min(found, sum(map(_Stepped.closely, stepped, itertools.repeat(loops), each)))
        return found


class _LoopTrips(NamedTuple):
    """Loops over some dimensions.

    trips    of each
    outside  of each, which of the others stand outside it, or may
    """

    trips: tuple[int, ...]
    outside: tuple[frozenset[int], ...]


def _loops(ways: Sequence[Sequence[int]], at_once: bool) -> Iterator[_LoopTrips]:
    """All choices of trips; and where there is one loop for each dimension, in all orders."""
    places = range(len(ways))
    every = [tuple(frozenset(places) - {place} for place in places)]
    if at_once:
        orders = itertools.permutations(places)
        every = [tuple(frozenset(order[: order.index(place)]) for place in places) for order in orders]
    for trips in itertools.product(*ways):
        several = frozenset(place for place in places if trips[place] > 1)
        for outside in dict.fromkeys(tuple(own & several for own in each) for each in every):
            yield _LoopTrips(trips, outside)


class _Stepped:
    """One operation below loops over some dimensions.

    further_pj  that the output takes more at least where partial sums come to its home, which has no room for them
    """

    def __init__(
        self,
        steps: SharedSteps,
        operation: Operation,
        homes: Homes,
        dims: Sequence[SharedDim],
        lying: LyingTensors,
    ) -> None:
        self.steps, self.operation, self.homes = steps, operation, homes
        self.own, self.nearest_pj = [dim.of(operation.name) for dim in dims], steps.near.nearest_pj(operation.name)
        far = steps.near.far
        self.once_pj = [
            far(operation, tensor.name, operation.problem.dims, home)[0]
            for tensor, home in zip(operation.problem.tensors, homes, strict=True)
        ]
        self._kept: dict[tuple[int, tuple[int, ...], Room], bool] = {}
        tensors = enumerate(operation.problem.tensors)
        self._exchanged = [n for n, tensor in tensors if tensor.name in lying.cut and _is_plain(tensor)]
        self.written = operation.problem.tensors.index(operation.output)
        home, sums = steps.memories.of(homes[self.written]), steps.memories.arch.partial_width_bits(operation.output)
        whole = sums * tensor_tile_words(operation.output, operation.problem.sizes, steps.memories.arch.footprint)
        most = max((part.bits for part in capacity_parts(home)), default=whole)
        is_tight = operation.output.name in lying.whole and whole > most
        self.further_pj = self._further_pj(homes[self.written]) if is_tight else 0.0

    def _further_pj(self, home: str) -> float:
        """pJ that the output takes more from the next home further out, each word once."""
        memories, own = self.steps.memories, self.operation
        outer = memories.upper[max(0, memories.depth[home] - 1)].name
        far = (self.steps.near.far(own, own.output.name, own.problem.dims, one)[0] for one in (outer, home))
        return max(0.0, next(far) - next(far))

    def quickly(self, loops: _LoopTrips) -> float:
        """What it weighs with all tensors near, and each word from its home as often as it has to come."""
        if self._exchanged and self._room(loops) is None:
            return math.inf
        passing = sum(pj * self._passes(n, loops) for n, pj in enumerate(self.once_pj) if pj)
        if self.further_pj and self._passes(self.written, loops) > 1:  # sums come and go where they have no room
            passing += self.further_pj
        return self.steps.energy * (self.nearest_pj + passing)

    def _room(self, loops: _LoopTrips) -> Room | None:
        """Bits that what it exchanges leaves; None where that has no room."""
        memories, problem = self.steps.memories, self.operation.problem
        sizes = problem.sizes
        for dim, n in zip(self.own, loops.trips, strict=True):
            sizes = {**sizes, dim: ceil_div(sizes[dim], n)}
        taken = []
        for n in self._exchanged:
            tensor, memory = problem.tensors[n], self.homes[n]
            words = tensor_tile_words(tensor, sizes, memories.arch.footprint)
            part = memories.part_for(self.operation.name, [self.operation], tensor.name, memory)
            taken.append((memory, part, words * memories.arch.width_bits(tensor)))
        return less_room(memories.room, tuple(taken))

    def closely(self, loops: _LoopTrips, least: float) -> float:
        """What it weighs by the tiles of all visits as well.

        least  what it weighs at least
        """
        trips: dict[str, int] = {}
        for i, dim in enumerate(self.own):
            if self._is_visited(i, loops):
                trips[dim] = trips.get(dim, 1) * loops.trips[i]
        if not trips or any(self.operation.problem.sizes[dim] % n for dim, n in trips.items()):
            return least
        steps = tuple(trips.items())
        passes = tuple(self._passes(n, loops) for n in range(len(self.homes)))
        room = self._room(loops)
        return max(
            least, math.inf if room is None else self.steps.weigh(self.operation, self.homes, steps, passes, room)
        )

    def _passes(self, tensor: int, loops: _LoopTrips) -> int:
        """How often all words of a tensor come from its home."""
        dims = self.operation.problem.tensors[tensor].dims
        still = (i for i, dim in enumerate(self.own) if loops.trips[i] > 1 and dim not in dims)
        return math.prod(loops.trips[i] for i in still if not self._is_kept(tensor, i, loops))

    def _is_visited(self, loop: int, loops: _LoopTrips) -> bool:
        """Whether steps of a loop are visits that have nothing in common but what nodes above them keep."""
        if loops.trips[loop] == 1:
            return False
        arch, tensors = self.steps.memories.arch, self.operation.problem.tensors
        overlap = any(tiles_overlap(tensor, self.own[loop], arch.footprint) for tensor in tensors)
        return not (overlap and any(memory.halo != "none" for memory in arch.memories))

    def _is_kept(self, tensor: int, across: int, loops: _LoopTrips) -> bool:
        """Whether a node further in than its home may keep a tensor across a loop, cut by those outside it."""
        one, outside = self.operation.problem.tensors[tensor], loops.outside[across]
        cut = tuple(n if i in outside and self.own[i] in one.dims else 1 for i, n in enumerate(loops.trips))
        room = (self._room(loops) if self._exchanged else self.steps.memories.room) or ()
        key = tensor, cut, room
        if key not in self._kept:
            sizes = dict(self.operation.problem.dims)
            for dim, n in zip(self.own, cut, strict=True):
                sizes[dim] = max(1, sizes[dim] // n)
            self._kept[key] = self._has_room(one, self.homes[tensor], sizes, room)
        return self._kept[key]

    def _has_room(self, tensor: Tensor, home: str, sizes: Mapping[str, int], room: Room) -> bool:
        """Whether a memory further in than a home may keep a tile of a tensor, and has room for it: of an output that
        goes outside, for partial sums.

        room  bits that are left
        """
        memories, arch = self.steps.memories, self.steps.memories.arch
        is_wide = tensor.is_output and tensor.name not in self.steps.intermediates
        width = arch.partial_width_bits(tensor) if is_wide else arch.width_bits(tensor)
        bits = tensor_tile_words(tensor, sizes, arch.footprint) * width
        return any(
            level.keeps[tensor.role] != "never"
            and bits <= max((left for memory, _, left in room if memory == level.name), default=bits)
            for level in memories.upper[memories.depth[home] + 1 :]
        )


def _is_plain(tensor: Tensor) -> bool:
    """Whether an operation sees no more of a tensor than is written, and no part of it twice."""
    return all(rank == ((rank[0][0], 1),) for rank in tensor.ranks if rank)


def visits_of(operation: Operation, steps: Steps) -> tuple[Sizes, int, int]:
    """The tile of one of the visits that steps make of an operation, how many there are, and how many of them add to
    the same sums."""
    trips = dict(steps)
    tile = tuple((dim, max(1, size // trips.get(dim, 1))) for dim, size in operation.problem.dims)
    return tile, math.prod(trips.values()), math.prod(n for dim, n in steps if dim in operation.reduced_dims)


def _size(operations: Sequence[Operation], dim: SharedDim) -> int | None:
    """Elements of a shared dimension, of operations that make even steps; None where none does."""
    return next((op.problem.sizes[dim.of(op.name)] for op in operations if op.name not in dim.uneven), None)
