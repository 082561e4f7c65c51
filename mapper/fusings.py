"""The best few trees of a cascade that are fused in different ways.

A *fusing* says of every intermediate in which memory it passes, and over which of its dimensions shared loops above
step. Trees of one fusing differ in tiles, orders and nodes alone; the best of them stands for all.

The best tree is found first. All other fusings differ from its own in a first choice: those that do so in the first
one, those that agree in it and differ in the second, and so on, are searches of their own, by constraints. The best
answer of all open searches is the next one, and what it answered is divided in the same way (Lawler's procedure). So
every fusing is searched or stands behind a search that has found nothing better.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ..ir import FusedMapping, InfeasibleError, Loop, UndecidedError, loop_of
from .cascades import CascadeQuestion
from .cascades.tree_constraints import read_tree_constraints
from .certificate import RELATIVE_TOLERANCE
from .fusing import FusedAnswer, answer_alone, answer_undiagnosed, refuse_forms
from .several import with_time_left


class Passing(NamedTuple):
    """Where an intermediate passes, and the dimensions of its producer that shared loops above step over."""

    tensor: str
    memory: str
    along: frozenset[str]

    def __str__(self) -> str:
        along = f" along {', '.join(sorted(self.along))}" if self.along else ""
        return f"{self.tensor} in {self.memory}{along}"


def fusing_of(mapping: FusedMapping) -> tuple[Passing, ...]:
    """How a tree is fused: for every intermediate, at the outermost split that parts its producer from a reader."""
    found = []
    for tensor in mapping.cascade.intermediates:
        producer = mapping.cascade.producers[tensor].name
        splits = (mapping.split_of(producer, reader.name) for reader in mapping.cascade.consumers[tensor])
        above = mapping.above(min(splits, key=len))
        loops = (loop_of(item, producer) for _, item in above if isinstance(item, Loop) and item.trips > 1)
        nodes = [item.memory for _, item in above if not isinstance(item, Loop) and item.tensor == tensor]
        found.append(Passing(tensor, nodes[-1], frozenset(loop.dim for loop in loops)))
    return tuple(found)


def answer_fusings(question: CascadeQuestion, count: int) -> list[FusedAnswer]:
    """The best trees of the `count` best fusings, best first, each with its proof: no tree that is fused otherwise than
    those listed before it is better. Fewer where there are no more. The time limit is for all of them.

    Raises TilewrightError as `answer_cascade` does.
    """
    refuse_forms(question, "the best few trees")
    return _Fusings(question).best(count)


class _Open(NamedTuple):
    """The best tree of some fusings that is not listed yet.

    lines  the constraints that tell these fusings from others
    """

    value: float
    number: int
    lines: tuple[str, ...]
    answer: FusedAnswer


@dataclass
class _Fusings:
    """One search for the best few.

    is_cut_short  whether some fusings were not searched to an answer
    """

    question: CascadeQuestion
    is_cut_short: bool = False
    _started: float = field(default_factory=time.perf_counter)
    _open: list[_Open] = field(default_factory=list)
    _searches: int = 0

    def best(self, count: int) -> list[FusedAnswer]:
        self._first = answer_alone(self.question)
        self._add(self._first, ())
        found: list[FusedAnswer] = []
        while self._open and len(found) < count:
            best = heapq.heappop(self._open)
            if len(found) + 1 < count:
                self._divide(best)
            found.append(self._proven(best.answer))
        return found

    def _add(self, answer: FusedAnswer, lines: tuple[str, ...]) -> None:
        self._searches += 1
        heapq.heappush(self._open, _Open(answer.certificate.value, self._searches, lines, answer))
        self.is_cut_short |= answer.certificate.interrupted

    def _proven(self, answer: FusedAnswer) -> FusedAnswer:
        """The answer as the best of all fusings that are not listed yet."""
        proof, first = answer.certificate, self._first.certificate
        bounds = [proof.lower_bound, *(one.answer.certificate.lower_bound for one in self._open)]
        bound = min([*bounds, first.lower_bound]) if self.is_cut_short else min(bounds)
        is_least = bound >= proof.value * (1 - RELATIVE_TOLERANCE)
        proof = replace(
            proof,
            lower_bound=proof.value if is_least else bound,
            constraints=first.constraints,
            seconds=time.perf_counter() - self._started,
        )
        return replace(answer, certificate=proof)

    def _divide(self, best: _Open) -> None:
        """Search all fusings that a search was about but the one that it found."""
        agreed = best.lines
        for same, other in self._choices(best.answer.mapping):
            if same in agreed:
                continue
            if self.is_cut_short:
                return
            self._search((*agreed, other))
            agreed = (*agreed, same)

    def _choices(self, mapping: FusedMapping) -> Iterator[tuple[str, str]]:
        """What a tree has chosen, as constraints, with their opposites."""
        cascade, fuse = self.question.cascade, self.question.fuse
        if fuse == "none":
            return
        for one in fusing_of(mapping):
            yield f"{one.tensor} in {one.memory}", f"{one.tensor} not in {one.memory}"
            producer = cascade.producers[one.tensor]
            for dim in sorted(producer.output.dims) if fuse != "whole" else ():
                if producer.problem.sizes[dim] > 1:
                    lines = f"{one.tensor} along {dim}", f"{one.tensor} not along {dim}"
                    yield lines if dim in one.along else lines[::-1]

    def _search(self, lines: tuple[str, ...]) -> None:
        """The best of the fusings that some constraints leave, if there is any."""
        question = self.question
        lines_of_all = (*question.constraints.lines, *lines)
        constraints = read_tree_constraints(lines_of_all, question.cascade, question.arch, question.fuse)
        asked = replace(with_time_left(question, self._started), constraints=constraints)
        try:
            self._add(answer_undiagnosed(asked), lines)
        except InfeasibleError:
            return
        except (UndecidedError, KeyboardInterrupt):
            self.is_cut_short = True
