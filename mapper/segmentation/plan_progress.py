"""The progress of a search over segmentations, as whoever watches it is told."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class PlanProgress:
    """How far a search for the plan of a network has come.

    done       groups that have been searched
    left       groups that there may be to search, at most
    doing      what is being done
    objective  what is minimized at the moment
    value      of the best plan so far by it; infinite where there is none
    bound      no plan has less
    """

    done: int = 0
    left: int = 0
    doing: str = ""
    objective: str = ""
    value: float = math.inf
    bound: float = 0.0

    @property
    def gap(self) -> float:
        """How much better than the best plan so far another one could be at most, as a fraction of its value."""
        return max(0.0, 1 - self.bound / self.value) if self.value else 0.0


Progress = Callable[[PlanProgress], None]
"""Called with the progress."""
