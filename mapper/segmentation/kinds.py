"""Groups that differ in names alone, with what is known of their cost, for any room that other tensors leave them.

Less room never makes a group cheaper. So what is proven with some room is proven with less; and a mapping that takes so
much is one with less room too, as long as that much is left. Where both meet, nothing has to be searched.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ...cost_models import Cost
from ...ir import Cascade, TilewrightError
from ..answer import Answer
from ..kernel.tolerance import is_better, reaches
from .residency import Residency, Taken

NamedStays = tuple[tuple[str, str], ...]
"""Tensors of a cascade that stay, with the memory."""


@dataclass(frozen=True)
class Finding:
    """The result of one search of a group with some room.

    taken    bits of memories that other tensors had
    below    what was looked for had to weigh less
    bound    no mapping weighs less
    value    what the best one weighs; infinite where none was found
    answer   that mapping
    used     bits of memories that it takes at most
    is_over  whether nothing more will be found out with so much room: it is proven, or time ran out
    is_all   whether nothing more would be in more time
    seconds  that there were for the search; 0: there was none
    """

    taken: Taken
    below: float
    bound: float
    value: float = math.inf
    answer: Answer | None = None
    used: Taken = ()
    is_over: bool = True
    is_all: bool = False
    seconds: float = math.inf


@dataclass
class GroupKind:
    """Groups that differ in names alone, and in how much room they have.

    cascade   the first of them
    stays     of its tensors
    least     none of its mappings weighs less, with any room
    is_bounded  whether that is by relaxations, beyond what is known from the start
    energies  that its operations take at least in any of its trees, in their order; None: not known
    findings  of searches
    refused   why there is no mapping, where a search has said so
    """

    cascade: Cascade
    stays: NamedStays
    least: float = 0.0
    is_bounded: bool = False
    energies: tuple[float, ...] | None = None
    findings: list[Finding] = field(default_factory=list)
    refused: TilewrightError | None = None

    @property
    def is_searched(self) -> bool:
        """Whether there has been a search."""
        return any(one.seconds for one in self.findings)

    def bound(self, taken: Taken) -> float:
        """Return a lower bound on the weighted sum of all mappings within the room that is left."""
        return max([self.least, *(one.bound for one in self.findings if at_most(one.taken, taken))])

    def best(self, taken: Taken, residency: Residency) -> Finding | None:
        """The best known mapping that has room."""
        return min(self._fitting(taken, residency), key=lambda one: one.value, default=None)

    def value(self, taken: Taken, residency: Residency) -> float:
        """Return the least known weighted sum."""
        found = self.best(taken, residency)
        return math.inf if found is None else found.value

    def is_known(self, taken: Taken, residency: Residency) -> bool:
        """Whether nothing more will be found out with the room that is left."""
        value = self.value(taken, residency)
        if value < math.inf and reaches(self.bound(taken), value):
            return True
        return self.bound(taken) == math.inf or any(one.is_over and one.taken == taken for one in self.findings)

    def finds_no_more(self, found: Finding) -> bool:
        """Whether a search raised its bound no further than a search with less time did, though above the bound known
        without a search."""
        if found.value == math.inf or reaches(self.least, found.bound):
            return False
        return any(one.seconds < found.seconds for one in self._as_good_as(found))

    def repeats(self, found: Finding) -> bool:
        """Whether a search had no more time than an earlier search and raised its bound no further."""
        return any(one.seconds >= found.seconds for one in self._as_good_as(found))

    def _as_good_as(self, found: Finding) -> Iterator[Finding]:
        """Return an earlier finding with the same room that is at least as good."""
        before = (one for one in self.findings if one.taken == found.taken)
        return (one for one in before if reaches(one.bound, found.bound) and reaches(found.value, one.value))

    def reopen(self) -> int:
        """Let searches be made again, and longer, that have not come to their end; how many there are."""
        found = 0
        for number, one in enumerate(self.findings):
            if one.is_over and not one.is_all and is_better(one.bound, min(one.value, one.below)):
                self.findings[number] = replace(one, is_over=False)
                found += 1
        return found

    def _fitting(self, taken: Taken, residency: Residency) -> Iterator[Finding]:
        for one in self.findings:
            if one.answer is not None:
                both = tuple(used + bits for used, bits in zip(one.used, taken, strict=True))
                if residency.fits(both):
                    yield one


def at_most(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether no number is larger than the other's."""
    return all(a <= b for a, b in zip(one, other, strict=True))


def used_by(cost: Cost, residency: Residency) -> Taken:
    """Bits of each memory in which tensors may stay that a mapping takes at most."""
    return tuple(
        max(sum(tile.bits for tile in tiles if tile.memory == memory) for tiles in cost.occupancy.values())
        for memory in residency.memories
    )
