"""What shared loops along windows add to the scalar program of a tree: tables of visits, and rows that are kept."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from collections.abc import Mapping as MappingABC

from ....arch import Architecture
from ....cost_models.cascades.windows import exchange_of, keeps_rows, table_of_visits
from ....ir import Mapping, Place
from ..parts.steps import Step
from .loop_program import Array, LookUp, MoveUp, Statement, Variable
from .operation import OperationLowering


class TreeWindows:
    """The windows of a tree.

    operations  of the tree, by name
    """

    def __init__(self, fused: Mapping, arch: Architecture, operations: MappingABC[str, OperationLowering]) -> None:
        self.fused, self.arch, self.operations = fused, arch, operations

    def are_seen(self, place: Place, owner: OperationLowering) -> bool:
        """Whether readers see what visits of an operation make at a node, through windows."""
        return bool(owner.way.made) and place == exchange_of(self.fused, owner.way.path)

    def sliding(self, place: Place, owner: OperationLowering) -> dict[int, Step]:
        """The ranks of an operation's output along which a node has just what readers ask for in one step of a shared
        loop above it, with that loop."""
        if not self.are_seen(place, owner):
            return {}
        slide = (step for step in owner.visits if owner.way.made[step.dim].place < place)
        return {self._rank(owner, step): step for step in slide}

    def kept(self, place: Place, owner: OperationLowering) -> Step | None:
        """The shared loop from whose last step a node keeps rows, if it does."""
        steps = self.sliding(place, owner).values()
        path = owner.way.path
        return next((s for s in steps if keeps_rows(self.fused, self.arch, path, owner.way.made[s.dim].place)), None)

    def moved_up(self, array: Array, owner: OperationLowering, step: Step) -> tuple[LookUp, MoveUp]:
        """What becomes of the rows that are kept, at each step of the loop: at the first one nothing is."""
        axis = self._rank(owner, step)
        asked = [row[0] for row in self._table(owner, step)]
        shifts = (array.shape[axis], *(after - before for before, after in itertools.pairwise(asked)))
        shift, rows = owner.looked_up(step, "shift"), tuple((each,) for each in shifts)
        table = LookUp((shift,), rows, *self._shared(owner.way.place(step.position)))
        return table, MoveUp(array, axis, shift)

    def looked_up(self, place: Place) -> Iterator[Statement]:
        """What is known of visits by the step of a loop."""
        for owner in self.operations.values():
            for step in owner.visits:
                if owner.way.place(step.position) == place:
                    names = tuple(owner.looked_up(step, kind) for kind in ("asked", "first", "made"))
                    yield LookUp(names, tuple(self._table(owner, step)), *self._shared(place))

    def stepping(self, place: Place) -> tuple[OperationLowering, Step]:
        """An operation that a loop cuts into tiles, and the loop as its own."""
        every = ((owner, step) for owner in self.operations.values() for step in owner.steps)
        here = ((owner, step) for owner, step in every if owner.way.place(step.position) == place)
        return next((owner, step) for owner, step in here if not owner.is_visit(step))

    def _shared(self, place: Place) -> tuple[Variable, int]:
        """The variable of a loop, and by how much it steps."""
        owner, step = self.stepping(place)
        return owner.variables[step], step.tile

    def _rank(self, owner: OperationLowering, step: Step) -> int:
        return next(i for i, rank in enumerate(owner.operation.output.ranks) if rank[0][0] == step.dim)

    def _table(self, owner: OperationLowering, step: Step) -> list[tuple[int, int, int]]:
        made = {name: one.way.made for name, one in self.operations.items()}
        return table_of_visits(self.fused, owner.operation, step.dim, made)
