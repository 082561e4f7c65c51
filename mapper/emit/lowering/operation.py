"""One operation of a mapping as loops and arrays: its way through the tree is a nest of its own.

What stands inside a branch changes at every visit of the branch; all else where a loop moves its tile. And where
readers see its output through a window that a shared loop moves, visits are not all alike: from where and how much one
makes is looked up by the step of that loop.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from collections.abc import Mapping as MappingABC
from typing import Literal

from ....cost_models.cascades import Way
from ....ir import Loop, Node, Operation, Place, Rank, Tensor
from ..parts.steps import Step, span, steps_of
from .loop_program import Affine, Array, For, Index, Statement, Variable

Orders = MappingABC[Node, tuple[int, ...]]
"""By storage node, axes of a tensor from the slowest to the fastest."""

LookedUp = Literal["asked", "first", "made", "shift"]
"""Of a visit: the first position that readers ask for, the first that is made, how many are, and by how many rows what
is kept has moved since the visit before."""


class OperationLowering:
    """One operation along its way through the tree.

    variables  of the loops that are known by now, by their places; those of this way are added
    numbers    of variables of each dimension so far
    orders     of axes, where they are stated
    """

    def __init__(self, way: Way, variables: dict[Place, Variable], numbers: Counter[str], orders: Orders) -> None:
        self.way = way
        self.problem = way.mapping.problem
        self.nest = way.mapping.nest
        self.steps = steps_of(way.mapping)
        self.orders = orders
        self._bases: dict[tuple[str, int], Index] = {}
        self.variables: dict[Step, Variable] = {}
        for step in self.steps:
            place = way.place(step.position)
            if self.is_visit(step):
                self.variables[step] = self._new_variable(step.dim, numbers)
                continue
            if place not in variables:
                variables[place] = self._new_variable(step.dim, numbers)
            self.variables[step] = variables[place]

    @staticmethod
    def _new_variable(dim: str, numbers: Counter[str]) -> Variable:
        numbers[dim] += 1
        return Variable(dim, numbers[dim] - 1)

    @property
    def operation(self) -> Operation:
        return self.way.operation

    def position(self, place: Place) -> int:
        """How many items of the way stand above a place of the tree that it passes."""
        address, number = place
        return sum((len(above), i) < (len(address), number) for above, i in self.way.path.places)

    # ---- loops ---------------------------------------------------------------------------------------------

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
            return Affine.of(self.operation.problem.sizes[dim])
        ragged = self.count_variable(step)
        return Affine.of(ragged or step.tile)

    def count_variable(self, step: Step) -> Variable | None:
        made, variable = self.way.made.get(step.dim), self.variables[step]
        if made is None:
            ragged = self.problem.sizes[step.dim] % step.tile != 0
        else:
            ragged = self.is_visit(step) or any(len(new) % step.tile for new in made.new)
        return Variable(variable.dim, variable.number, "count") if ragged else None

    def loop(self, step: Step, body: tuple[Statement, ...]) -> For:
        item = self.nest.items[step.position]
        assert isinstance(item, Loop)
        start = self.start(step.dim, step.position)
        visit = next((one for one in self.visits if one.dim == step.dim), None)
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
            end=None if visit is None else self._visited(visit),
        )

    def _visited(self, visit: Step) -> Affine:
        """Where a visit ends."""
        return Affine.of(self.looked_up(visit, "first")) + Affine.of(self.looked_up(visit, "made"))

    # ---- arrays --------------------------------------------------------------------------------------------

    def home(self, tensor: Tensor, position: int) -> int:
        """Where the tile of a node changes, or the visit of a branch begins."""
        moving = [s.position for s in self.steps if s.position < position and not s.spatial and s.dim in tensor.dims]
        return max(self.way.path.start(position), 1 + max(moving, default=-1))

    def array(self, tensor: Tensor, position: int, place: int | None, strided: bool = False) -> Array:
        """The buffer of a node, filled before `place`; None: the array of the caller.

        strided  whether it leaves out what lies between the elements that the operation asks for
        """
        node = self.nest.items[position]
        assert isinstance(node, Node)
        most = self.most(place or 0)
        steps = tuple(_step(rank, most) if strided else 1 for rank in tensor.ranks)
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
        found = {
            dim: min(size, math.prod(s.trips for s in self.steps if s.dim == dim and s.position >= place))
            for dim, size in self.problem.dims
        }
        for step in self.visits:
            made, dim = self.way.made[step.dim], step.dim
            own = math.prod(s.trips for s in self.steps if s.dim == dim and s.position >= max(place, step.position + 1))
            size = self.operation.problem.sizes[dim]
            found[dim] = size if place <= step.position else min(made.most, own)
        return found

    def spans(self, tensor: Tensor, place: int) -> tuple[int, ...]:
        """Positions per rank, from the first to the last that the operation asks for inside the loops above a place."""
        most = self.most(place)
        return tuple(span(rank, most) for rank in tensor.ranks)

    def base(self, tensor: Tensor, place: int) -> Index:
        """Per rank the first position in the tensor of the tile inside the loops above a place."""
        key = tensor.name, place
        if key not in self._bases:
            every = enumerate(tensor.ranks)
            before = (0 if tensor.is_output else self.operation.pad(tensor.name, i)[0] for i, _ in every)
            starts = {dim: self.start(dim, place) for dim in tensor.dims}
            self._bases[key] = tuple(
                sum((starts[dim].times(c) for dim, c in rank), Affine.of(-zeros))
                for rank, zeros in zip(tensor.ranks, before, strict=True)
            )
        return self._bases[key]

    def extents(self, array: Array, place: int) -> Index:
        """Elements of each axis of an array that the tile of all loops from a position on spans."""
        found = []
        for rank, step in zip(self.problem.tensor(array.tensor.name).ranks, array.steps, strict=True):
            last = Affine()
            for dim, coefficient in rank:
                last += (self.count(dim, place) - Affine.of(1)).times(coefficient)
            found.append(last.divided(step) + Affine.of(1))
        return tuple(found)

    # ---- windows -------------------------------------------------------------------------------------------

    def is_visit(self, step: Step) -> bool:
        """Whether a step is that of a shared loop along which readers see the output through a window. What is made of
        it in a visit is a loop of its own inside the branch, which runs once: from the first position on."""
        return step.dim in self.way.made and step.position < self.way.path.starts[-1]

    def looked_up(self, step: Step, kind: LookedUp) -> Variable:
        """What is known of a visit by the step of the shared loop that it belongs to."""
        return Variable(step.dim, self.variables[step].number, kind)

    @property
    def visits(self) -> list[Step]:
        """The steps that are visits."""
        return [step for step in self.steps if self.is_visit(step)]

    def visit(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """The loops of a visit around a body."""
        for step in self.visits:
            start, stop = Affine.of(self.looked_up(step, "first")), self._visited(step)
            most = self.way.made[step.dim].most
            count = self.count_variable(step)
            body = (For(self.variables[step], start, stop, most, 1, most, count, None, body, end=stop),)
        return body


def _step(rank: Rank, most: dict[str, int]) -> int:
    """Distance of the elements of a tile along an axis: what the coefficients that matter in it have in common."""
    return math.gcd(*(coefficient for dim, coefficient in rank if most[dim] > 1)) or 1
