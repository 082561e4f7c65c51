"""How a search over segmentations goes about its work: what decides how long it takes, and what it does when time is
short."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class PlanEffort:
    """Settings of all searches over segmentations."""

    first_share: float = 0.02
    """Of all the time, at most, for a group at first, and for the bound of one: where many groups take long, a good way
    is known sooner."""
    share: float = 0.2
    """Of the time, at most, for bounds of groups before any is searched; for ways of smaller groups than there may be;
    and for what the best is told beside: operations on their own, and the best where nothing stays between groups."""
    longer: int = 4
    """By how much longer a group is searched in the next round, and by how much less in ways of smaller groups."""
    least: float = 0.1
    """Seconds that a bound, or the search of a group, has at least."""
    plan: float = 5.0
    """Seconds for the addresses of one group's tiles, or of those of groups between which something stays, in one
    memory; a tenth of them where time is up, or where all of some groups have none."""
    many: int = 200_000
    """Steps of a graph, where one of a network that is nearly a chain has some thousands; ways to all of its states."""
    steps_a_second: int = 500
    """Steps for each second that there is for the whole: each path through more would take much of it."""


EFFORT: Final = PlanEffort()
