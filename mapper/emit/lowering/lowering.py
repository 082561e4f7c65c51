"""From a mapping to its scalar program (`loop_program.py`).

A tile is copied where it changes: just inside the innermost temporal loop above its node that moves the tensor. Loops
between that place and the node leave the tile as it is, but for spatial ones: the buffer holds what the instances hold
together, so that a tile that stays in an array while loops above the array run is not copied again.

    for C in 4                        for c0:
      for P in 8            ->          spad_W = copy of W[8 x 16 filters, c0]
        parallel K in 8                 for p0:
          spad keeps W                    for k0, on the array:
          for K in 16                       for k1: ... spad_W[k1] ...

A tile of partial sums enters as zeros and is added to the next buffer outwards when it leaves. That is right wherever
the reduction loops stand, spatial ones too; and nothing has to be known of the order of visits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from ....arch import Architecture
from ....cost_models.boundaries import boundaries_of
from ....cost_models.layouts import layout_in
from ....cost_models.layouts.layout import ANY
from ....ir import Loop, Mapping, MappingError, Node, Problem, Rank, Tensor, did_you_mean
from ..parts.steps import Step, span, steps_of
from .loop_program import (
    Access,
    Affine,
    Allocate,
    Array,
    Drain,
    Fill,
    For,
    Index,
    LoopProgram,
    MultiplyAccumulate,
    Statement,
    Variable,
    Zero,
)


def lower(
    mapping: Mapping, arch: Architecture, copied: Collection[str] | None = None, laid_out: bool = False
) -> LoopProgram:
    """The scalar program of a mapping. Buffers of memories that state a layout of what they keep are packed so.

    copied  what is copied into local buffers: "GLB", all tensors that this memory keeps, or "GLB.W", one of them; None:
            everything. What is left out is read and written where the next copy outwards has it, as caches do
    laid_out  whether the arrays of the caller lie as the outermost memory states it, too; else as tensors are written

    Raises MappingError when a node or loop stands where the architecture has no place for it, or `copied` names
    something else than memories.
    """
    orders = _stated_orders(mapping, arch)
    if not laid_out:
        orders = {node: order for node, order in orders.items() if node.memory != arch.memories[0].name}
    return Lowering(mapping, arch, _nodes_named(mapping, arch, copied), orders).program()


def _stated_orders(mapping: Mapping, arch: Architecture) -> dict[Node, tuple[int, ...]]:
    """The order of a tensor's ranks, slowest first, where a memory states its layout; ranks that have a block inside of
    the others last, as tiles have them that are no larger than a block."""
    found = {}
    for memory in arch.memories:
        for tensor in mapping.problem.tensors:
            stated = memory.layouts.get(tensor.name, memory.layouts.get(tensor.role))
            if stated is not None and stated != ANY:
                digits = layout_in(memory, tensor).digits(tensor)
                last = {rank: position for position, (rank, _) in enumerate(digits)}
                found[Node(memory.name, tensor.name)] = tuple(sorted(last, key=last.__getitem__))
    return found


def _nodes_named(mapping: Mapping, arch: Architecture, copied: Collection[str] | None) -> frozenset[Node]:
    """Every memory with every tensor that is to be copied into it."""
    pairs = [Node(memory.name, tensor.name) for memory in arch.memories for tensor in mapping.problem.tensors]
    if copied is None:
        return frozenset(pairs)
    known = {name for node in pairs for name in (node.memory, f"{node.memory}.{node.tensor}")}
    for name in copied:
        if name not in known:
            hint = did_you_mean(name, sorted(known))
            raise MappingError(f"cannot copy into {name!r}, which is no memory", where=arch.name, hint=hint)
    return frozenset(n for n in pairs if n.memory in copied or f"{n.memory}.{n.tensor}" in copied)


Orders = MappingABC[Node, tuple[int, ...]]
"""By storage node, axes of a tensor from the slowest to the fastest."""


@dataclass(frozen=True)
class Home:
    """A buffer, and the position in the nest just before which its tile is exchanged."""

    array: Array
    place: int


class Lowering:
    """Loops, arrays and copies of one mapping; `copied`: the nodes that are; `orders`: of their axes, where stated."""

    def __init__(
        self,
        mapping: Mapping,
        arch: Architecture,
        copied: frozenset[Node],
        orders: Orders = MappingProxyType({}),
    ) -> None:
        self.problem: Problem = mapping.problem
        boundaries_of(mapping, arch)  # which says where a node or loop has no place
        self.steps = steps_of(mapping)
        self.nest = mapping.nest
        self.copied = copied
        self.orders = orders

    # ---- loops ---------------------------------------------------------------------------------------------

    @cached_property
    def variables(self) -> dict[Step, Variable]:
        found: dict[Step, Variable] = {}
        for step in self.steps:
            found[step] = Variable(step.dim, sum(v.dim == step.dim for v in found.values()))
        return found

    def above(self, dim: str, place: int) -> Step | None:
        """The innermost loop over a dimension above a position."""
        return next((s for s in reversed(self.steps) if s.dim == dim and s.position < place), None)

    def start(self, dim: str, place: int) -> Affine:
        """First index of a dimension inside the loops above a position."""
        step = self.above(dim, place)
        return Affine.of(self.variables[step]) if step else Affine()

    def count(self, dim: str, place: int) -> Affine:
        """Elements of a dimension in the tile of all loops from a position on."""
        step = self.above(dim, place)
        if step is None:
            return Affine.of(self.problem.sizes[dim])
        ragged = self.count_variable(step)
        return Affine.of(ragged or step.tile)

    def count_variable(self, step: Step) -> Variable | None:
        variable = self.variables[step]
        if self.problem.sizes[step.dim] % step.tile:
            return Variable(variable.dim, variable.number, "count")
        return None

    def loop(self, step: Step, body: tuple[Statement, ...]) -> For:
        item = self.nest.items[step.position]
        assert isinstance(item, Loop)
        start = self.start(step.dim, step.position)
        return For(
            variable=self.variables[step],
            start=start,
            stop=start + self.count(step.dim, step.position),
            step=step.tile,
            trips=step.trips,
            size=self.problem.sizes[step.dim],
            count=self.count_variable(step),
            axis=item.axis,
            body=body,
        )

    # ---- arrays --------------------------------------------------------------------------------------------

    @cached_property
    def chains(self) -> dict[str, tuple[Home, ...]]:
        """Of each tensor: the caller's array, and the buffers that it passes through, outermost first."""
        return {tensor.name: tuple(self._chain(tensor)) for tensor in self.problem.tensors}

    def _chain(self, tensor: Tensor) -> list[Home]:
        outermost, *inner = self.nest.node_positions(tensor.name)
        found = [Home(self.array(tensor, outermost, None), 0)]
        for position in inner:
            if self.nest.items[position] in self.copied:
                place = self.home(tensor, position)
                found.append(Home(self.array(tensor, position, place), place))
        return found

    def home(self, tensor: Tensor, position: int) -> int:
        """Where the tile of a node changes: a position above it."""
        moving = [s.position for s in self.steps if s.position < position and not s.spatial and s.dim in tensor.dims]
        return 1 + max(moving, default=-1)

    def array(self, tensor: Tensor, position: int, place: int | None) -> Array:
        """The buffer of a node, filled before `place`; None: the array of the caller."""
        node = self.nest.items[position]
        assert isinstance(node, Node)
        most = self.most(place or 0)
        steps = tuple(1 if place is None else _step(rank, most) for rank in tensor.ranks)
        shape = tuple(1 + (span(rank, most) - 1) // step for rank, step in zip(tensor.ranks, steps, strict=True))
        order: Iterable[int] = range(len(shape))
        if node in self.orders:
            order = self.orders[node]
        elif place is not None:
            order = sorted(order, key=self._last_moved(tensor, place))
        return Array(tensor, node.memory, shape, steps, position, place is not None, tuple(order))

    def _last_moved(self, tensor: Tensor, place: int) -> Callable[[int], int]:
        """Of an axis of a tensor, where the innermost loop stands that moves it, if it does from a position on."""

        def position(axis: int) -> int:
            dims = {dim for dim, _ in tensor.ranks[axis]}
            return max((s.position for s in self.steps if s.position >= place and s.dim in dims), default=-1)

        return position

    def most(self, place: int) -> dict[str, int]:
        """Elements of each dimension in the tile of all loops from a position on, at most."""
        return {
            dim: min(size, math.prod(s.trips for s in self.steps if s.dim == dim and s.position >= place))
            for dim, size in self.problem.dims
        }

    def access(self, home: Home, place: int) -> Access:
        """Where a tile, or an element, that begins inside the loops above a position is found in an array."""
        tensor = home.array.tensor
        offsets = (self._offset(rank, home, place) for rank in tensor.ranks)
        return Access(home.array, tuple(o.divided(s) for o, s in zip(offsets, home.array.steps, strict=True)))

    def _offset(self, rank: Rank, home: Home, place: int) -> Affine:
        found = Affine()
        for dim, coefficient in rank:
            found += (self.start(dim, place) - self.start(dim, home.place)).times(coefficient)
        return found

    def extents(self, array: Array, place: int) -> Index:
        """Elements of each axis of an array that the tile of all loops from a position on spans."""
        found = []
        for rank, step in zip(array.tensor.ranks, array.steps, strict=True):
            last = Affine()
            for dim, coefficient in rank:
                last += (self.count(dim, place) - Affine.of(1)).times(coefficient)
            found.append(last.divided(step) + Affine.of(1))
        return tuple(found)

    # ---- the program ---------------------------------------------------------------------------------------

    def program(self) -> LoopProgram:
        """From the inside out: the multiply-accumulate, and around it buffers and loops in turn."""
        loops = {step.position: step for step in self.steps}
        body: tuple[Statement, ...] = (self.multiply_accumulate(),)
        for place in range(len(self.nest), -1, -1):
            body = self.with_buffers(place, body)
            if place - 1 in loops:
                body = (self.loop(loops[place - 1], body),)
        arrays = tuple(self.chains[t.name][0].array for t in (*self.problem.operands, self.problem.output))
        buffers = [home.array for chain in self.chains.values() for home in chain[1:]]
        return LoopProgram(
            problem=self.problem,
            arrays=arrays,
            buffers=tuple(sorted(buffers, key=lambda b: b.position)),
            body=(Zero(arrays[-1], self.extents(arrays[-1], 0)), *body),
        )

    def multiply_accumulate(self) -> MultiplyAccumulate:
        end = len(self.nest)
        factors = tuple(self.access(self.chains[t.name][-1], end) for t in self.problem.operands)
        return MultiplyAccumulate(self.access(self.chains[self.problem.output.name][-1], end), factors)

    def with_buffers(self, place: int, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """A body with the buffers whose tiles change before a position: filled before it, drained after it."""
        links = [(o, i) for chain in self.chains.values() for o, i in itertools.pairwise(chain)]
        here = sorted((link for link in links if link[1].place == place), key=lambda link: link[1].array.position)
        before: list[Statement] = []
        after: list[Statement] = []
        for outer, inner in here:
            at, extents = self.access(outer, place).index, self.extents(inner.array, place)
            before.append(Allocate(inner.array))
            if inner.array.tensor.is_output:
                before.append(Zero(inner.array, extents))
                after.insert(0, Drain(inner.array, outer.array, at, extents))
            else:
                pairs = zip(inner.array.steps, outer.array.steps, strict=True)
                steps = tuple(max(i // o, 1) for i, o in pairs)
                before.append(Fill(inner.array, outer.array, at, extents, steps))
        return (*before, *body, *after)


def _step(rank: Rank, most: dict[str, int]) -> int:
    """Distance of the elements of a tile along an axis: what the coefficients that matter in it have in common."""
    return math.gcd(*(coefficient for dim, coefficient in rank if most[dim] > 1)) or 1
