"""Shared loops of which others have fewer steps: what these rule out.

Of a part of two operations with endless room, loops of fewer steps never cost more: what a visit of a larger tile
stands for can be done in it, one smaller visit after the other. Both branches have a loop more then, around what they
did before; what they exchange lasts for all of these visits, for which there is room. Every word comes as often as
before at most, and ports that are waited for one visit after the other are waited for no longer together. So where
loops with some trips weigh too much whatever room there is, all loops do whose trips are multiples of these. Of more
operations that may not be so: a branch that is split again has one loop for each dimension, and may have no place for
another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from .shared_loops import Loops

Trips = tuple[int, ...]


@dataclass
class FewerSteps:
    """Choices of loops above one part, and which of them are ruled out by others."""

    _choices: dict[object, set[Trips]] = field(default_factory=lambda: defaultdict(set))
    _ruled_out: dict[object, list[Trips]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, choices: Iterable[Loops]) -> FewerSteps:
        """Collect choices of loops, none of which is ruled out yet."""
        found = cls()
        for loops in choices:
            if _may_be_compared(loops):
                found._choices[_form(loops)].add(_trips(loops))
        return found

    def stand_for_others(self, loops: Loops) -> bool:
        """Whether some choices have multiples of the trips of others."""
        own = _trips(loops)
        others = self._choices.get(_form(loops), ())
        return own in others and any(trips != own and _are_multiples(trips, own) for trips in others)

    def rule_out(self, loops: Loops) -> None:
        """Loops weigh too much whatever room there is, and all with multiples of their trips."""
        self._ruled_out[_form(loops)].append(_trips(loops))

    def are_ruled_out(self, loops: Loops) -> bool:
        """Whether loops weigh too much since some with fewer steps do."""
        if not self._ruled_out or not _may_be_compared(loops):
            return False
        own = _trips(loops)
        return any(_are_multiples(own, trips) for trips in self._ruled_out.get(_form(loops), ()))


def _may_be_compared(loops: Loops) -> bool:
    """Whether all steps of some loops are alike, and none goes from one generation to the next."""
    return bool(loops) and all(loop.tile is None and not loop.generations for loop in loops)


def _form(loops: Loops) -> object:
    """All but the trips."""
    return tuple((loop.dim, loop.passes) for loop in loops)


def _trips(loops: Loops) -> Trips:
    return tuple(loop.trips for loop in loops)


def _are_multiples(trips: Trips, others: Trips) -> bool:
    return all(own % other == 0 for own, other in zip(trips, others, strict=True))


class Chances:
    """Chances to try what may be in vain: after each time in vain twice as many are let go by, and none after a
    success."""

    def __init__(self) -> None:
        self._pause, self._left = 1, 0

    def is_taken(self) -> bool:
        """Whether to try now."""
        self._left -= 1
        return self._left < 0

    def note(self, in_vain: bool) -> None:
        """Note what came of it."""
        self._left = self._pause if in_vain else 0
        self._pause = 2 * self._pause if in_vain else 1
