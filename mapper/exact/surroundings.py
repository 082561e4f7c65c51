"""What stands around a mapping that is a branch of a tree of several operations: the visits of one tile.

An ordinary search has none of it: every tensor comes from the outermost memory, and all that happens is its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True)
class Surroundings:
    """What a branch finds, as means over its visits.

    homes  by tensor, the memory that it comes from and goes to, where that is not the outermost one
    again  visits that add to one output tile, one after the other. In the first of them alone no sum comes in, and in
           the last of them alone its words are finished
    busy   bits that each memory reads and writes for other reasons, in one instance: they take cycles of its ports
    """

    homes: dict[str, str] = field(default_factory=dict)
    again: int = 1
    busy: dict[str, tuple[float, float]] = field(default_factory=dict)


ALONE: Final = Surroundings()
"""An operation on its own."""
