"""The steps of a network, with what each costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .kinds import GroupKind
from .lazy_path import Edge
from .question import FREE, RunCost
from .residency import Taken
from .resident_weights import OwnWeights
from .states import GroupStep


@dataclass(eq=False)
class GroupEdge(Edge):
    """A step with what it costs.

    step     which group it does, and what stays
    kind     of its group; None: no operation
    taken    bits of each memory that other tensors take meanwhile, weights and zeros around its own included
    weights  of its group that lie on chip all the time
    times    how often its group is done: bound and value are of all of them
    moves    what no operation costs
    whole    tensors of its kind, by number, that its trees hold whole from the start: weights that may all come ahead.
             The kind is bounded and searched as if they were there; the value is with their words
    """

    step: GroupStep
    kind: GroupKind | None
    taken: Taken
    weights: OwnWeights
    times: int = 1
    moves: RunCost = FREE
    whole: frozenset[int] = frozenset()

    @cached_property
    def weight_names(self) -> frozenset[str]:
        """The names of its resident weights."""
        return frozenset(weight.name for weight in self.weights.values())

    @property
    def keeps_nothing(self) -> bool:
        """Whether no tensor stays on chip before, in or after it, but for weights."""
        return not self.step.stays and not any(self.step.passing)
