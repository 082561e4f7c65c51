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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ..ir import FusedMapping, InfeasibleError, Loop, TilewrightError, UndecidedError, loop_of
from .answer import TreeAnswer
from .cascades import ITERATED_SECONDS, CascadeQuestion, forms_with_bounds, iterates
from .cascades.terms.tree_constraints import read_tree_constraints
from .certificate import Points
from .fusing import answer_alone, answer_undiagnosed
from .kernel.tolerance import or_value
from .means import Means, one_call
from .several import ranking, with_time_left


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


def answer_fusings(question: CascadeQuestion, count: int) -> Points[TreeAnswer]:
    """The best trees of the `count` best fusings, best first, each with its proof: no tree that is fused otherwise than
    those listed before it is better. Fewer where there are no more, or where means run out. The time limit is for all.

    Of a cascade with several forms, trees of two forms are fused in different ways.

    Raises TilewrightError as `answer_cascade` does.
    """
    with one_call(question.limits.time_s, question.limits.memory_bytes):
        return _Fusings(question).best(count)


@dataclass
class _FormFusings:
    """The fusings of one form of the cascade.

    bound         no tree of it has less
    is_cut_short  whether some of its fusings were not searched to an answer
    """

    question: CascadeQuestion
    bound: float
    is_cut_short: bool = False


class _Open(NamedTuple):
    """The best tree of some fusings that is not listed yet.

    value   of the tree; of a form that has not been searched its bound
    lines   the constraints that tell these fusings from others
    answer  None: of a form that has not been searched
    """

    value: float
    number: int
    form: _FormFusings
    lines: tuple[str, ...] = ()
    answer: TreeAnswer | None = None

    @property
    def least(self) -> float:
        """No tree of these fusings has less."""
        return self.value if self.answer is None else self.answer.certificate.lower_bound


@dataclass
class _Fusings:
    """One search for the best few.

    told  the constraints on all trees, in words
    """

    question: CascadeQuestion
    told: tuple[str, ...] = ()
    _started: float = field(default_factory=time.perf_counter)
    _open: list[_Open] = field(default_factory=list)
    _searches: int = 0
    _iterating_until: float | None = None

    def __post_init__(self) -> None:
        self._forms = [_FormFusings(*each) for each in forms_with_bounds(self.question)]
        for form in self._forms:
            self._push(form.bound, form)

    def best(self, count: int) -> Points[TreeAnswer]:
        found: list[TreeAnswer] = []
        error: TilewrightError | None = None
        while self._open and len(found) < count:
            best = heapq.heappop(self._open)
            if best.answer is None and Means.from_now(None).expired and self._has_answer(found):
                best.form.is_cut_short = True
                continue
            if best.answer is None:
                error = self._search_form(best.form) or error
                continue
            if len(found) + 1 < count:
                self._divide(best, best.answer)
            found.append(self._proven(best.answer))
        if not found:
            assert error is not None
            raise error
        are_all = len(found) == count or not any(form.is_cut_short for form in self._forms)
        return ranking(found, are_all)

    def _has_answer(self, found: Sequence[TreeAnswer]) -> bool:
        """Whether any tree is known."""
        return bool(found) or any(one.answer is not None for one in self._open)

    def _push(
        self, value: float, form: _FormFusings, lines: tuple[str, ...] = (), answer: TreeAnswer | None = None
    ) -> None:
        self._searches += 1
        heapq.heappush(self._open, _Open(value, self._searches, form, lines, answer))

    def _add(self, form: _FormFusings, answer: TreeAnswer, lines: tuple[str, ...]) -> None:
        self._push(answer.certificate.value, form, lines, answer)
        form.is_cut_short |= answer.certificate.interrupted

    def _search_form(self, form: _FormFusings) -> TilewrightError | None:
        """The best tree of a form, if it has any that is found in time; else why not."""
        try:
            answer = answer_alone(self._in_time(form))
        except InfeasibleError as error:
            return error
        except UndecidedError as error:
            form.is_cut_short = True
            return error
        self.told = answer.certificate.constraints
        form.bound = max(form.bound, answer.certificate.lower_bound)
        self._add(form, answer, ())
        return None

    def _in_time(self, form: _FormFusings) -> CascadeQuestion:
        """The question about a form with the time that is left: as `cascades/forms.py` says of those that iterate."""
        question = with_time_left(form.question, self._started)
        is_bounded = question.limits.time_s is not None or all(iterates(one.question.cascade) for one in self._forms)
        if is_bounded or not iterates(question.cascade):
            return question
        now = time.perf_counter()
        if self._iterating_until is None:
            self._iterating_until = now + max(now - self._started, ITERATED_SECONDS)
        return replace(question, limits=replace(question.limits, time_s=max(self._iterating_until - now, 0.0)))

    def _proven(self, answer: TreeAnswer) -> TreeAnswer:
        """The answer as the best of all fusings that are not listed yet."""
        proof = answer.certificate
        cut_short = (form.bound for form in self._forms if form.is_cut_short)
        bound = min([proof.lower_bound, *(one.least for one in self._open), *cut_short])
        proof = replace(
            proof,
            lower_bound=or_value(bound, proof.value),
            constraints=self.told,
            seconds=time.perf_counter() - self._started,
        )
        return replace(answer, certificate=proof)

    def _divide(self, best: _Open, answer: TreeAnswer) -> None:
        """Search all fusings that a search was about but the one that it found."""
        agreed = best.lines
        for same, other in self._choices(answer.mapping):
            if same in agreed:
                continue
            best.form.is_cut_short |= Means.from_now(None).expired
            if best.form.is_cut_short:
                return
            self._search(best.form, (*agreed, other))
            agreed = (*agreed, same)

    def _choices(self, mapping: FusedMapping) -> Iterator[tuple[str, str]]:
        """What a tree has chosen, as constraints, with their opposites."""
        cascade, fuse = mapping.cascade, self.question.fuse
        if fuse == "none":
            return
        for one in fusing_of(mapping):
            yield f"{one.tensor} in {one.memory}", f"{one.tensor} not in {one.memory}"
            producer = cascade.producers[one.tensor]
            for dim in sorted(producer.output.dims) if fuse != "whole" else ():
                if producer.problem.sizes[dim] > 1:
                    lines = f"{one.tensor} along {dim}", f"{one.tensor} not along {dim}"
                    yield lines if dim in one.along else lines[::-1]

    def _search(self, form: _FormFusings, lines: tuple[str, ...]) -> None:
        """The best of the fusings that some constraints leave, if there is any."""
        question = self._in_time(form)
        lines_of_all = (*question.constraints.lines, *lines)
        constraints = read_tree_constraints(lines_of_all, question.cascade, question.arch, question.fuse)
        asked = replace(question, constraints=constraints)
        try:
            self._add(form, answer_undiagnosed(asked), lines)
        except InfeasibleError:
            return
        except (UndecidedError, KeyboardInterrupt):
            form.is_cut_short = True
