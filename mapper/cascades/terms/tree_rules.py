"""What every rule of a search over trees is given: which loops, nodes, exchanges and splits there may be."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from ....ir import Cascade
from ...constraints.trees import TreeConstraints
from ...means import Means
from ...question import Fuse
from .placing import Placing
from .sums import Sums
from .upper_memories import UpperMemories


@dataclass(frozen=True, eq=False)
class TreeRules:
    """Rules of the trees of one cascade on one machine; all but the first three as of `TreeSearch`.

    placing  of nodes above splits
    means    are asked for each choice
    pruned   counts choices that are left aside, by rule
    """

    placing: Placing
    means: Means
    pruned: Counter[str]
    sums: Sums
    constraints: TreeConstraints
    fuse: Fuse
    flat: bool
    beam: int | None
    is_ragged: bool

    @cached_property
    def cascade(self) -> Cascade:
        return self.placing.cascade

    @cached_property
    def memories(self) -> UpperMemories:
        return self.placing.memories

    @property
    def fuses(self) -> bool:
        """Whether intermediates pass anywhere but through the outermost memory."""
        return self.fuse != "none"

    @property
    def shares_loops(self) -> bool:
        """Whether trees have shared loops."""
        return self.fuse in ("all", "plain")
