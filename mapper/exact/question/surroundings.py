"""What stands around a mapping that is a branch of a tree of several operations: the visits of one tile.

An ordinary search has none of it: every tensor comes from the outermost memory, and all that happens is its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ....cost_models.cascades import VisitSizes
from ....cost_models.ports import Busy
from ....ir import Mapping


@dataclass(frozen=True)
class Surroundings:
    """What a branch finds, as means over its visits.

    homes  by tensor, the memory that it comes from and goes to, where that is not the outermost one
    again  visits that add to one output tile, one after the other. In the first of them alone no sum comes in, and in
           the last of them alone its words are finished
    busy   bits that each memory reads and writes for other reasons, by role, in one instance: they take cycles of its
           ports
    cut    by dimension that loops outside cut, the elements of the tile of one visit: tiles inside divide it. Where it
           does not divide the dimension, the last visit is shorter, and costs are those of all visits together
    made   by dimension along which visits are uneven, how many of them make so many positions; costs are those of all
           together, and of short ones
    short  the same of those that make so little that loops may come down to one trip (`tiles/visits.py`)
    short_least  what these cost together at least, in the objective of the search
    """

    homes: dict[str, str] = field(default_factory=dict)
    again: int = 1
    busy: Busy = field(default_factory=dict)
    cut: dict[str, int] = field(default_factory=dict)
    made: dict[str, VisitSizes] = field(default_factory=dict)
    short: dict[str, VisitSizes] = field(default_factory=dict)
    short_least: float = 0.0

    @property
    def every_visit(self) -> dict[str, VisitSizes]:
        """By dimension along which visits are uneven, what all of them make."""
        return {dim: (*sizes, *self.short.get(dim, ())) for dim, sizes in self.made.items()}

    def start(self, mapping: Mapping) -> int:
        """Where the branch begins in a mapping: below the nodes of all homes, and loops over visits of which the last
        one is shorter."""
        sizes = mapping.problem.sizes
        return len(mapping.problem.tensors) + sum(tile < sizes[dim] for dim, tile in self.cut.items())


ALONE: Final = Surroundings()
"""An operation on its own."""
