"""One operation of a fused mapping as loops and copies: along its way through the tree it is a mapping of its own.

Three things differ from `lowering.py`. What stands inside a branch changes at every visit of the branch. Arrays are
indexed by the position in the tensor itself, not by the reader's. And where readers see its output through a window
that a shared loop moves, visits are not all alike: from where and how much one makes is looked up by the step of that
loop.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Literal

from ....cost_models.cascades import Way
from ....ir import Operation, Place, Tensor
from ..parts.steps import Step, steps_of
from .loop_program import Affine, For, Index, Statement, Variable
from .lowering import Lowering

LookedUp = Literal["asked", "first", "made", "shift"]
"""Of a visit: the first position that readers ask for, the first that is made, how many are, and by how many rows what
is kept has moved since the visit before."""


class OperationLowering(Lowering):
    """One operation along its way through the tree.

    variables  of the loops that are known by now, by their places; those of this way are added
    numbers    of variables of each dimension so far
    """

    def __init__(self, way: Way, variables: dict[Place, Variable], numbers: Counter[str]) -> None:
        self.way = way
        self.problem = way.mapping.problem
        self.nest = way.mapping.nest
        self.steps = steps_of(way.mapping)
        self.copied = frozenset()
        self.orders = {}
        self._variables: dict[Step, Variable] = {}
        for step in self.steps:
            place = way.place(step.position)
            if self.is_visit(step):
                self._variables[step] = self._new_variable(step.dim, numbers)
                continue
            if place not in variables:
                variables[place] = self._new_variable(step.dim, numbers)
            self._variables[step] = variables[place]

    @staticmethod
    def _new_variable(dim: str, numbers: Counter[str]) -> Variable:
        numbers[dim] += 1
        return Variable(dim, numbers[dim] - 1)

    @property
    def variables(self) -> dict[Step, Variable]:
        return self._variables

    @property
    def operation(self) -> Operation:
        return self.way.operation

    def home(self, tensor: Tensor, position: int) -> int:
        """Where the tile of a node changes, or the visit of a branch begins."""
        begun = max(start for start in self.way.path.starts if start <= position)
        return max(begun, super().home(tensor, position))

    def position(self, place: Place) -> int:
        """How many items of the way stand above a place of the tree that it passes."""
        address, number = place
        return sum((len(above), i) < (len(address), number) for above, i in self.way.path.places)

    def base(self, tensor: Tensor, place: int) -> Index:
        """Per rank the first position in the tensor of the tile inside the loops above a place."""
        found = []
        for i, rank in enumerate(tensor.ranks):
            before = 0 if tensor.is_output else self.operation.pad(tensor.name, i)[0]
            position = Affine.of(-before)
            for dim, coefficient in rank:
                position += self.start(dim, place).times(coefficient)
            found.append(position)
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
            start = Affine.of(self.looked_up(step, "first"))
            stop = start + Affine.of(self.looked_up(step, "made"))
            most = self.way.made[step.dim].most
            count = self.count_variable(step)
            body = (For(self.variables[step], start, stop, most, 1, most, count, None, body, end=stop),)
        return body

    def count_variable(self, step: Step) -> Variable | None:
        made = self.way.made.get(step.dim)
        if made is None:
            return super().count_variable(step)
        ragged = self.is_visit(step) or any(len(new) % step.tile for new in made.new)
        variable = self.variables[step]
        return Variable(variable.dim, variable.number, "count") if ragged else None

    def count(self, dim: str, place: int) -> Affine:
        if dim in self.way.made and self.above(dim, place) is None:
            return Affine.of(self.operation.problem.sizes[dim])
        return super().count(dim, place)

    def loop(self, step: Step, body: tuple[Statement, ...]) -> For:
        found = super().loop(step, body)
        visit = next((one for one in self.visits if one.dim == step.dim), None)
        if visit is None:
            return found
        ends = Affine.of(self.looked_up(visit, "first")) + Affine.of(self.looked_up(visit, "made"))
        return replace(found, end=ends)

    def most(self, place: int) -> dict[str, int]:
        found = super().most(place)
        for step in self.visits:
            made, dim = self.way.made[step.dim], step.dim
            own = math.prod(s.trips for s in self.steps if s.dim == dim and s.position >= max(place, step.position + 1))
            size = self.operation.problem.sizes[dim]
            found[dim] = size if place <= step.position else min(made.most, own)
        return found

    def spans(self, tensor: Tensor, place: int) -> tuple[int, ...]:
        """Positions per rank, from the first to the last that the operation asks for inside the loops above a place."""
        most = self.most(place)
        return tuple(1 + sum(c * (most[dim] - 1) for dim, c in rank) for rank in tensor.ranks)
