"""What is known of branches without a search: answers, and what follows from them.

Three things follow. A mapping that was best with more room is best as long as it fits. A smaller tile costs no less
than its part of a larger one. And what a mapping weighs at least is a concave function of the weights, so what is known
for some weights bounds what lies between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ....ir import Operation, ceil_div
from ...kernel.tolerance import reaches
from ...pareto.regions import Line, least_weight
from ...pareto.weights import ENERGY_ALONE, LATENCY_ALONE, UNKNOWN, LeastOfEach, Weights
from ..terms.branch import BranchAnswer, BranchMapping, BranchQuestion, Homes, Room

Answers = list[tuple[Room, BranchAnswer]]
"""Answers by the room that there was."""

Tiles = list[tuple[BranchQuestion, Room, BranchAnswer]]
"""Answers for tiles of one operation."""


class _LargerTiles(NamedTuple):
    """What the visits of one question weigh at least, by what is known of larger tiles.

    seen    tiles that have been looked at
    bounds  with the room that each has at most, the highest first: one for each room
    """

    seen: int
    bounds: list[tuple[float, Room]]


_NONE_LARGER = _LargerTiles(0, [])


class KnownBranches:
    """Answers for the branches of operations on one machine.

    operations  by name; there may be more of them later
    """

    def __init__(self, operations: Mapping[str, Operation]) -> None:
        self.operations = operations
        self.count = 0
        """How often something has been learned."""
        self._answers: dict[BranchQuestion, dict[Weights, Answers]] = {}
        self._seen: dict[BranchQuestion, list[BranchMapping]] = {}
        self._tiles: dict[tuple[str, Homes, bool, Weights], Tiles] = {}
        self._larger: dict[tuple[BranchQuestion, Weights], _LargerTiles] = {}

    def learn(self, question: BranchQuestion, weights: Weights, answer: BranchAnswer) -> None:
        """Keep an answer, or a bound."""
        self.count += 1
        self._of(question, weights).append((question.room, answer))
        self._alike(question, weights).append((question, question.room, answer))

    def see(self, question: BranchQuestion, mapping: BranchMapping) -> None:
        """Keep a mapping of which it is not known whether it is the best one."""
        self._seen.setdefault(question.roomless, []).append(mapping)

    def answer(
        self, question: BranchQuestion, weights: Weights, cutoff: float, apart: LeastOfEach = UNKNOWN
    ) -> BranchAnswer | None:
        """The mapping of least weight, or a bound at the cutoff or above; None where neither is known.

        apart  what every mapping takes at least
        """
        known = self._of(question, weights)
        found = _that_fits(known, question.room, cutoff)
        if found is None:
            more = self._between_weights(question, weights, cutoff, apart)
            if more is not None:
                known.append((question.room, more))
                found = _that_fits(known, question.room, cutoff)
        return found

    def mapping(self, question: BranchQuestion, weights: Weights) -> BranchAnswer | None:
        """The best of the mappings that are known for other weights, with what it weighs."""
        mappings = [
            answer.mapping
            for answers in self._answers.get(question.roomless, {}).values()
            for _, answer in answers
            if answer.mapping is not None and _holds(question.room, answer.mapping.used)
        ]
        mappings += [seen for seen in self._seen.get(question.roomless, ()) if _holds(question.room, seen.used)]
        best = min(mappings, key=lambda m: weights.of(m.energy_pj, m.latency_cycles), default=None)
        return None if best is None else BranchAnswer(weights.of(best.energy_pj, best.latency_cycles), best)

    def part_of_larger(self, question: BranchQuestion, weights: Weights) -> float:
        """What a mapping weighs at least, by what is known of larger tiles with as much room.

        All visits that one of a larger tile stands for can be done in it, one after the other: its loops around theirs.
        So each of them costs in the mean no less than its part of the larger one.
        """
        larger = self._larger_tiles(question, weights)
        return next((bound for bound, room in larger.bounds if _holds(room, question.room)), 0.0)

    def _larger_tiles(self, question: BranchQuestion, weights: Weights) -> _LargerTiles:
        """What is known of larger tiles, whatever room they have; only what is new has to be looked at."""
        known, key = self._alike(question, weights), (question.roomless, weights)
        found = self._larger.get(key, _NONE_LARGER)
        if found.seen < len(known):
            best, sums = {room: bound for bound, room in found.bounds}, self._sums(question)
            for larger, room, answer in known[found.seen :]:
                part = _part_of(question, larger, sums)
                if part is not None:
                    best[room] = max(part * answer.bound, best.get(room, 0.0))
            bounds = sorted(((bound, room) for room, bound in best.items()), reverse=True)
            found = self._larger[key] = _LargerTiles(len(known), bounds)
        return found

    def _of(self, question: BranchQuestion, weights: Weights) -> Answers:
        return self._answers.setdefault(question.roomless, {}).setdefault(weights, [])

    def _alike(self, question: BranchQuestion, weights: Weights) -> Tiles:
        """What is known of tiles of an operation whose tensors come from the same memories."""
        return self._tiles.setdefault((question.operation, question.homes, question.finished, weights), [])

    def _sums(self, question: BranchQuestion) -> frozenset[str]:
        """The dimensions over which an operation sums."""
        return frozenset(self.operations[question.operation].reduced_dims)

    # ---- other weights -------------------------------------------------------------------------------------

    def _between_weights(
        self, question: BranchQuestion, weights: Weights, cutoff: float, apart: LeastOfEach
    ) -> BranchAnswer | None:
        """Answer from what is known for other weights: with a mapping whose weight the lower bound reaches, or with a
        bound at the cutoff or above."""
        bound = self.between(question, weights, apart)
        known = self.mapping(question, weights)
        if known is not None and reaches(bound, known.bound):
            return known
        return BranchAnswer(bound) if bound >= cutoff else None

    def between(self, question: BranchQuestion, weights: Weights, apart: LeastOfEach) -> float:
        """What no mapping weighs less than, by what is known for other weights."""
        lines = [*self._lines(question), (ENERGY_ALONE, apart.energy), (LATENCY_ALONE, apart.latency)]
        return least_weight(lines, weights)

    def _lines(self, question: BranchQuestion) -> list[Line]:
        """What is known for other weights."""
        return [
            (other, max((answer.bound for room, answer in answers if _holds(room, question.room)), default=0.0))
            for key in {question.roomless, question.idle().roomless}  # what has no one else at its ports costs less
            for other, answers in self._answers.get(key, {}).items()
        ]


def _part_of(question: BranchQuestion, larger: BranchQuestion, sums: frozenset[str]) -> float | None:
    """Which part of the visits of a larger tile one visit is; None if it is no part of them, or more is at the ports
    while all of them are made, or more mappings may do it, or faster, than the larger tile's. Where the last visit
    is shorter, all of them together are a mapping of the dimension."""
    if larger.over or larger.made or question.made:
        return None
    if not larger.cut <= question.cut or larger.waits_for != question.waits_for:
        return None
    if larger.slower > question.slower or any(
        one and one != other for one, other in zip(larger.asks_less, question.asks_less, strict=True)
    ):
        return None
    visits, adding, over = 1, 1, dict(question.over)
    for (dim, size), (_, whole) in zip(question.sizes, larger.sizes, strict=True):
        if dim in over:
            if over[dim] != whole or dim in larger.cut:
                return None
            visits *= ceil_div(whole, size)
            continue
        if whole % size or (whole != size and dim not in question.cut):
            return None
        visits *= whole // size
        adding *= whole // size if dim in sums else 1
    if larger.again * adding > question.again or not _is_less_busy(larger, question, visits):
        return None
    return 1 / visits


def _is_less_busy(one: BranchQuestion, other: BranchQuestion, visits: float) -> bool:
    """Whether no more is at the ports in a visit than in so many visits of another question."""
    most = {(memory, role): (visits * read, visits * written) for memory, role, read, written in other.busy}
    return all(all(map(reaches, most.get((memory, role), (0.0, 0.0)), bits)) for memory, role, *bits in one.busy)


def _that_fits(known: Answers, room: Room, cutoff: float) -> BranchAnswer | None:
    """What is known already: a mapping that was best with more room, and still fits; or that with as much room or more,
    none weighs less than the cutoff."""
    for had, answer in known:
        if answer.mapping is None or answer.bound >= cutoff:
            if answer.bound >= cutoff and _holds(had, room):
                return BranchAnswer(answer.bound)
        elif _holds(had, room) and _holds(room, answer.mapping.used):
            return answer
    return None


def _holds(room: Room, used: Room) -> bool:
    """Whether all parts of some room have as many bits as of another."""
    left = {(memory, role): bits for memory, role, bits in room}
    return all(bits <= left[memory, role] for memory, role, bits in used if (memory, role) in left)
