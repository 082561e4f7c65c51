"""What operations weigh at least that make the steps of shared loops together, whatever these loops are.

Of a tensor that a loop does not move, all words come to each of its steps, unless a node above the loop keeps them: for
that there has to be room, cut as the tensor is by the other loops. So for every choice of trips it is known which
tensors come again, and how often. Where none can be spared a step, all of it is a visit of its own, with a smaller
tile, and the best mapping of that tile says more.

Which trips there may be: some loop has several, if operations are to be one branch below loops; and an intermediate
that is exchanged in a memory without room for all of it is cut by loops that its writer, its readers and all between
them have in common. Loops of one dimension at several splits inside each other count as one here: what is not spared
the steps of all of them is spared none.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ...cost_models.cost import capacity_parts, tensor_tile_words
from ...cost_models.sets import tiles_overlap
from ...ir import Operation, Tensor
from ..tilings import factors
from .branch import Sizes
from .operation_bounds import OperationBounds
from .sharing import SharedDim
from .upper_memories import UpperMemories

Steps = tuple[tuple[str, int], ...]
"""Dimensions of an operation and their trips: each step is a visit."""

Homes = tuple[str, ...]
"""By tensor of an operation, the memory that it comes from at least."""

Weigh = Callable[[Operation, Homes, Steps], float]
"""What an operation weighs at least that has homes and steps."""

MOST_TRIPS = 4096
"""Choices of trips up to which all are looked at; where there are more, nothing is said."""

MOST_CLOSELY = 16
"""Choices of trips for which smaller tiles are asked about, those first that seem to weigh least."""


@dataclass
class SharedSteps:
    """Steps of the loops of one cascade on one machine, by weights of energy alone.

    near     what operations weigh at least with all tensors near
    weigh    what an operation weighs at least
    is_even  whether all visits of an operation are alike, and their tiles divide it
    """

    memories: UpperMemories
    intermediates: Collection[str]
    near: OperationBounds
    energy: float
    weigh: Weigh
    is_even: Callable[[Operation], bool]
    _known: dict[object, float] = field(default_factory=dict)

    def least(
        self,
        operations: Sequence[Operation],
        homes: Sequence[Homes],
        dims: Sequence[SharedDim],
        parts: int,
        passed_on: frozenset[str],
    ) -> float:
        """What some operations weigh at least together; infinite where there are no such loops.

        dims       that all that may be shared are over
        parts      that the loops have steps at least
        passed_on  intermediates that these pass to others, or find: they lie whole in their homes
        """
        key = tuple(operation.name for operation in operations), tuple(homes), parts, passed_on
        if key not in self._known:
            self._known[key] = self._least(operations, homes, dims, parts, passed_on)
        return self._known[key]

    def _least(
        self,
        operations: Sequence[Operation],
        homes: Sequence[Homes],
        dims: Sequence[SharedDim],
        parts: int,
        passed_on: frozenset[str],
    ) -> float:
        plain = [self.weigh(operation, own, ()) for operation, own in zip(operations, homes, strict=True)]
        ways = [factors(_size(operations, dim), "perfect", True) for dim in dims]
        if math.prod(map(len, ways)) > MOST_TRIPS:
            return sum(plain)
        stepped = [_Stepped(self, op, own, dims, passed_on) for op, own in zip(operations, homes, strict=True)]
        every = []
        for trips in itertools.product(*ways):
            if math.prod(trips) >= parts:
                each = [max(least, one.quickly(trips)) for least, one in zip(plain, stepped, strict=True)]
                every.append((sum(each), trips, each))
        every.sort()
        found = math.inf
        for i, (total, trips, each) in enumerate(every):
            if total >= found:
                break
            if i >= MOST_CLOSELY:
                return min(found, total)
            found = min(found, sum(map(_Stepped.closely, stepped, itertools.repeat(trips), each)))
        return found


class _Stepped:
    """One operation below loops over some dimensions.

    even     whether all its visits are alike
    is_tight whether its home has no room for the output in partial sums
    """

    def __init__(
        self,
        steps: SharedSteps,
        operation: Operation,
        homes: Homes,
        dims: Sequence[SharedDim],
        passed_on: frozenset[str],
    ) -> None:
        self.steps, self.operation, self.homes = steps, operation, homes
        self.even, self.own = steps.is_even(operation), [dim.of(operation.name) for dim in dims]
        self.nearest_pj = steps.near.nearest_pj(operation.name) if self.even else 0.0
        far = steps.near.far
        self.once_pj = [
            far(operation, tensor.name, operation.problem.dims, home)[0]
            for tensor, home in zip(operation.problem.tensors, homes, strict=True)
        ]
        self._kept: dict[tuple[int, int, tuple[int, ...]], bool] = {}
        self.written = operation.problem.tensors.index(operation.output)
        home, sums = steps.memories.of(homes[self.written]), steps.memories.arch.partial_width_bits(operation.output)
        whole = sums * tensor_tile_words(operation.output, operation.problem.sizes, steps.memories.arch.footprint)
        is_passed_on = operation.output.name in passed_on
        self.is_tight = is_passed_on and whole > max((part.bits for part in capacity_parts(home)), default=whole)

    def quickly(self, trips: tuple[int, ...]) -> float:
        """What it weighs with all tensors near, and each word from its home as often as it has to come."""
        if not self.even:
            return 0.0
        if self.is_tight and self._passes(self.written, trips) > 1:  # sums would come and go where they have no room
            return math.inf
        passing = (pj * self._passes(n, trips) for n, pj in enumerate(self.once_pj) if pj)
        return self.steps.energy * (self.nearest_pj + sum(passing))

    def closely(self, trips: tuple[int, ...], least: float) -> float:
        """What it weighs by smaller tiles as well.

        least  what it weighs at least
        """
        steps = tuple(
            (dim, n) for i, (dim, n) in enumerate(zip(self.own, trips, strict=True)) if self._is_step(i, trips)
        )
        return max(least, self.steps.weigh(self.operation, self.homes, steps)) if steps else least

    def _passes(self, tensor: int, trips: tuple[int, ...]) -> int:
        """How often all words of a tensor come from its home."""
        dims = self.operation.problem.tensors[tensor].dims
        still = (i for i, dim in enumerate(self.own) if trips[i] > 1 and dim not in dims)
        return math.prod(trips[i] for i in still if not self._is_kept(tensor, i, trips))

    def _is_step(self, loop: int, trips: tuple[int, ...]) -> bool:
        """Whether no step of a loop is spared anything by nodes above it."""
        if not self.even or trips[loop] == 1:
            return False
        own, arch, tensors = self.own[loop], self.steps.memories.arch, self.operation.problem.tensors
        overlapping = [tiles_overlap(tensor, own, arch.footprint) for tensor in tensors]
        if any(overlapping) and any(memory.halo != "none" for memory in arch.memories):
            return False  # what two steps have in common may remain in a node
        may_stay = (n for n, tensor in enumerate(tensors) if own not in tensor.dims or overlapping[n])
        return not any(self._is_kept(n, loop, trips) for n in may_stay)

    def _is_kept(self, tensor: int, across: int, trips: tuple[int, ...]) -> bool:
        """Whether a node further in than its home may keep a tensor across the steps of a loop, cut by all others."""
        one = self.operation.problem.tensors[tensor]
        cut = tuple(trips[i] if i != across and dim in one.dims else 1 for i, dim in enumerate(self.own))
        key = tensor, across, cut
        if key not in self._kept:
            sizes = dict(self.operation.problem.dims)
            for dim, n in zip(self.own, cut, strict=True):
                sizes[dim] //= n
            self._kept[key] = self._has_room(one, self.homes[tensor], sizes)
        return self._kept[key]

    def _has_room(self, tensor: Tensor, home: str, sizes: Mapping[str, int]) -> bool:
        """Whether a memory further in than a home may keep a tile of a tensor, and has room for it: of an output that
        goes outside, for partial sums."""
        memories, arch = self.steps.memories, self.steps.memories.arch
        is_wide = tensor.is_output and tensor.name not in self.steps.intermediates
        width = arch.partial_width_bits(tensor) if is_wide else arch.width_bits(tensor)
        bits = tensor_tile_words(tensor, sizes, arch.footprint) * width
        return any(
            level.keeps[tensor.role] != "never"
            and bits <= max((part.bits for part in capacity_parts(level)), default=bits)
            for level in memories.upper[memories.depth[home] + 1 :]
        )


def visits_of(operation: Operation, steps: Steps) -> tuple[Sizes, int, int]:
    """The tile of one of the visits that steps make of an operation, how many there are, and how many of them add to
    the same sums."""
    trips = dict(steps)
    tile = tuple((dim, size // trips.get(dim, 1)) for dim, size in operation.problem.dims)
    return tile, math.prod(trips.values()), math.prod(n for dim, n in steps if dim in operation.reduced_dims)


def _size(operations: Sequence[Operation], dim: SharedDim) -> int:
    """Elements of a shared dimension, of operations that make even steps."""
    return next(op.problem.sizes[dim.of(op.name)] for op in operations if op.name not in dim.uneven)
