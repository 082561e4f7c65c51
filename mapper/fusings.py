"""The best few trees of a cascade that are fused in different ways.

A *fusing* says of every intermediate in which memory it passes, and over which of its dimensions shared loops above
step. Trees of one fusing differ in tiles, orders and nodes alone; the best of them stands for all.

The best tree is found first. All other fusings differ from its own in a first choice: those that do so in the first
one, those that agree in it and differ in the second, and so on, are searches of their own, by constraints. The best
answer of all open searches is the next one, and what it answered is divided in the same way (Lawler's procedure). So
every fusing is searched or stands behind a search that has found nothing better.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ..ir import InfeasibleError, Loop, Mapping, TilewrightError, UndecidedError, loop_of
from .answer import Answer
from .cascades import forms_with_bounds, iterates
from .certificate import Points
from .constraints.trees import read_tree_constraints
from .fusing import answer_alone, answer_undiagnosed
from .kernel.best_first import BestFirst
from .kernel.incumbents import BestAnswers
from .kernel.states import Closed, OpenState
from .kernel.tolerance import or_value
from .means import ENOUGH, Means, one_call
from .question import TreeQuestion
from .several import ranking, with_time_left


class Passing(NamedTuple):
    """Where an intermediate passes, and the dimensions of its producer that shared loops above step over."""

    tensor: str
    memory: str
    along: frozenset[str]

    def __str__(self) -> str:
        along = f" along {', '.join(sorted(self.along))}" if self.along else ""
        return f"{self.tensor} in {self.memory}{along}"


def fusing_of(mapping: Mapping) -> tuple[Passing, ...]:
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


def answer_fusings(question: TreeQuestion, count: int) -> Points[Answer]:
    """The best trees of the `count` best fusings, best first, each with its proof: no tree that is fused otherwise than
    those listed before it is better. Fewer where there are no more, or where means run out. The time limit is for all.

    Of a cascade with several forms, trees of two forms are fused in different ways.

    Raises TilewrightError as `answer_cascade` does.
    """
    with one_call(question.limits.time_s, question.limits.memory_bytes):
        return _Fusings(question, count).best()


@dataclass
class _FormFusings:
    """The fusings of one form of the cascade.

    bound         no tree of it has less
    is_cut_short  whether some of its fusings were not searched to an answer
    """

    question: TreeQuestion
    bound: float
    is_cut_short: bool = False


@dataclass
class _Fusings:
    """One search for the best few.

    told  the constraints on all trees, in words
    """

    question: TreeQuestion
    count: int
    told: tuple[str, ...] = ()
    _started: float = field(default_factory=time.perf_counter)
    _error: TilewrightError | None = None
    _iterating_until: float | None = None

    def __post_init__(self) -> None:
        self._forms = [_FormFusings(*each) for each in forms_with_bounds(self.question)]
        self._listed = BestAnswers[Answer](self.count)
        self._search = BestFirst(self._listed, [_OpenForm(form.bound, self, form) for form in self._forms])

    def best(self) -> Points[Answer]:
        self._search.run()
        if not len(self._listed):
            assert self._error is not None
            raise self._error
        are_all = len(self._listed) == self.count or not any(form.is_cut_short for form in self._forms)
        return ranking(list(self._listed), are_all)

    @property
    def _open(self) -> Iterator[_OpenForm | _OpenFusings]:
        """What is not listed yet."""
        return (one for one in self._search.frontier.states if isinstance(one, _OpenForm | _OpenFusings))

    def search_form(self, form: _FormFusings) -> Iterator[_OpenFusings]:
        """The fusings of a form, of which the best one is known."""
        has_answer = len(self._listed) or any(isinstance(one, _OpenFusings) for one in self._open)
        if has_answer and Means.from_now(None).expired:
            form.is_cut_short = True
            return
        try:
            answer = answer_alone(self._in_time(form))
        except InfeasibleError as error:
            self._error = error
            return
        except UndecidedError as error:
            form.is_cut_short, self._error = True, error
            return
        self.told = answer.certificate.constraints
        form.bound = max(form.bound, answer.certificate.lower_bound)
        yield self._answered(form, (), answer)

    def _answered(self, form: _FormFusings, lines: tuple[str, ...], answer: Answer) -> _OpenFusings:
        form.is_cut_short |= answer.certificate.interrupted
        return _OpenFusings(answer.certificate.value, self, form, lines, answer)

    def _in_time(self, form: _FormFusings) -> TreeQuestion:
        """The question about a form with the time that is left: as `cascades/forms.py` says of those that iterate."""
        question = with_time_left(form.question, self._started)
        is_bounded = question.limits.time_s is not None or all(iterates(one.question.cascade) for one in self._forms)
        if is_bounded or not iterates(question.cascade):
            return question
        now = time.perf_counter()
        if self._iterating_until is None:
            self._iterating_until = now + max(now - self._started, ENOUGH)
        return replace(question, limits=replace(question.limits, time_s=max(self._iterating_until - now, 0.0)))

    def _proven(self, answer: Answer) -> Answer:
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

    def list_and_divide(self, best: _OpenFusings) -> Iterator[_OpenFusings | Closed[Answer]]:
        """List the best tree of some fusings; then search all of these but its own, if more are to be listed."""
        yield Closed(best.bound, self._proven(best.answer))
        agreed = best.lines
        for same, other in self._choices(best.answer.mapping):
            if same in agreed:
                continue
            best.form.is_cut_short |= Means.from_now(None).expired
            if best.form.is_cut_short or len(self._listed) == self.count:
                return
            yield from self._fusings(best.form, (*agreed, other))
            agreed = (*agreed, same)

    def _choices(self, mapping: Mapping) -> Iterator[tuple[str, str]]:
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

    def _fusings(self, form: _FormFusings, lines: tuple[str, ...]) -> Iterator[_OpenFusings]:
        """The fusings that some constraints leave, of which the best one is known, if there are any."""
        question = self._in_time(form)
        lines_of_all = (*question.constraints.lines, *lines)
        constraints = read_tree_constraints(lines_of_all, question.cascade, question.arch, question.fuse)
        try:
            answer = answer_undiagnosed(replace(question, constraints=constraints))
        except InfeasibleError:
            return
        except (UndecidedError, KeyboardInterrupt):
            form.is_cut_short = True
            return
        yield self._answered(form, lines, answer)


@dataclass
class _OpenForm(OpenState[Answer]):
    """All fusings of a form that has not been searched.

    bound, least  no tree of it has less
    """

    bound: float
    fusings: _Fusings
    form: _FormFusings

    @property
    def least(self) -> float:
        return self.bound

    def advance(self) -> Iterator[_OpenFusings]:
        return self.fusings.search_form(self.form)


@dataclass
class _OpenFusings(OpenState[Answer]):
    """Fusings of which the best tree is known, and not listed yet.

    bound  its value
    lines  the constraints that tell these fusings from others
    """

    bound: float
    fusings: _Fusings
    form: _FormFusings
    lines: tuple[str, ...]
    answer: Answer

    @property
    def least(self) -> float:
        """No tree of these fusings has less, as far as that is proven."""
        return self.answer.certificate.lower_bound

    def advance(self) -> Iterator[_OpenFusings | Closed[Answer]]:
        return self.fusings.list_and_divide(self)
