"""The trees of a group of which none costs as little energy and latency as another: as many as are of interest.

What is known of a group are trees, and what none of its trees weighs less than by several weighted sums. The least
energy within a limit on its latency is one search more, which says that no tree as fast takes less. So trees become
known from the slowest to the fastest of interest, and what is *open* is always one box: faster than all trees that are
known to be best, with no less energy than the last of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...cost_models.objective import LIMIT_TOLERANCE
from ..answer import Answer
from ..kernel.tolerance import reaches
from ..pareto.front import front_of
from ..pareto.regions import Line, least_weight
from ..pareto.weights import ENERGY_ALONE, LATENCY_ALONE, AtLeast, Weights
from .kinds import GroupKind, at_most
from .residency import Residency, Taken

FASTER = 3 * LIMIT_TOLERANCE
"""By which part a tree has to be faster than another to be of interest beside it: more than limits are kept to."""


class KnownTree(NamedTuple):
    """A tree that was found, and the bits of memories that it takes at most."""

    energy: float
    latency: float
    used: Taken
    answer: Answer


class Fact(NamedTuple):
    """No tree within a latency has less energy, where other tensors take so many bits, or more; infinite: there is
    none."""

    taken: Taken
    latency: float
    energy: float


class OpenBox(NamedTuple):
    """Trees that are not known: each costs at least so much, and takes no longer than so many cycles."""

    least: AtLeast
    latency: float


@dataclass(eq=False)
class GroupFront:
    """Groups that differ in names alone.

    kinds  the same groups by each weighted sum that was searched
    by     these sums
    trees  that are known
    facts  of searches within limits
    over   (bits that others take, cycles) of searches that left something open, and would again
    """

    kinds: Sequence[GroupKind]
    by: Sequence[Weights]
    trees: list[KnownTree] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    over: set[tuple[Taken, float]] = field(default_factory=set)

    def __post_init__(self) -> None:
        findings = [one for kind in self.kinds for one in kind.findings]
        self.trees += [known_tree(one.answer, one.used) for one in findings if one.answer is not None]

    def lines(self, taken: Taken) -> list[Line]:
        """The weighted sums that no tree goes below, by weights."""
        return [(weights, kind.bound(taken)) for weights, kind in zip(self.by, self.kinds, strict=True)]

    def least(self, taken: Taken, weights: Weights) -> AtLeast:
        """Return a lower bound on energy and latency of all trees within the room that is left."""
        lines = self.lines(taken)
        return AtLeast(*(least_weight(lines, one) for one in (ENERGY_ALONE, LATENCY_ALONE, weights)))

    def best(self, taken: Taken, residency: Residency) -> list[KnownTree]:
        """Return, by rising energy, the trees that fit and that no other tree equals or dominates."""
        return front_of(self._fitting(taken, residency), lambda one: (one.energy, one.latency), FASTER)

    def open_box(self, taken: Taken, residency: Residency, weights: Weights, most: AtLeast) -> OpenBox | None:
        """Return the box within some limits that may hold a tree that no known tree equals or dominates; None where it
        holds none.

        A tree in it keeps `most.latency` at first, and has the energy of no line less. Whatever is known to be no
        slower than the slowest of it says how much energy all of it takes; a known tree with as little as that beats
        all that are no faster.
        """
        lines, trees = self.lines(taken), self.best(taken, residency)
        if any(bound == math.inf for _, bound in lines):
            return None
        facts = [one for one in self.facts if at_most(one.taken, taken)]
        energy, latency = 0.0, most.latency
        for _ in range(100):  # what is known of energy says something of latency, and the other way round
            before = energy, latency
            if weights.latency:
                latency = min(latency, (most.weight - weights.energy * energy) / weights.latency)
            by_lines = ((bound - w.latency * latency) / w.energy for w, bound in lines if w.energy)
            by_facts = (one.energy for one in facts if one.latency >= latency)
            energy = max([energy, *by_lines, *by_facts])
            if energy > most.energy:
                return None
            within = (tree for tree in trees if tree.latency <= latency * (1 + 2 * LIMIT_TOLERANCE))
            as_little = [tree.latency for tree in within if reaches(energy, tree.energy)]
            latency = min([latency, *(one * (1 - FASTER) for one in as_little)])
            if (energy, latency) == before:
                break
        fastest = max([0.0, *((bound - w.energy * most.energy) / w.latency for w, bound in lines if w.latency)])
        weight = max(least_weight(lines, weights), weights.of(energy, fastest))
        least = AtLeast(energy, fastest, weight)
        return None if fastest > latency or weight > most.weight else OpenBox(least, latency)

    def _fitting(self, taken: Taken, residency: Residency) -> Iterator[KnownTree]:
        for tree in self.trees:
            if residency.fits(tuple(map(sum, zip(tree.used, taken, strict=True)))):
                yield tree


def known_tree(answer: Answer, used: Taken) -> KnownTree:
    """A tree that a search has found."""
    return KnownTree(answer.cost.energy_pj, answer.cost.latency_cycles, used, answer)
