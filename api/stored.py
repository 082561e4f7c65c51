"""Searches that are answered from the result store where they can be, and kept there where they cannot."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .cost_models import Objective
from .ir import StoreError
from .mapper.certificate import Certificate
from .mapper.several import Answer as Found
from .mapper.several import search_front
from .report.batch.job import Job, run_job
from .report.store import Answer, NoMapping, Question, Record, Store
from .report.store.opening import not_kept, opened
from .results import SearchResult, asked_for

if TYPE_CHECKING:
    from .arch import Architecture
    from .ir import Problem
    from .mapper.space import Space
    from .mapper.tilings import Tiling
    from .results import ArchitectureLike, ConstraintsLike


@dataclass(frozen=True)
class Stored:
    """A result, and the record that it was taken from; None where it has just been found."""

    result: SearchResult
    record: Record | None


def search_stored(
    problem: Problem,
    arch: Architecture,
    objective: Objective,
    tiling: Tiling = "perfect",
    space: Space = "even",
    constraints: ConstraintsLike = None,
    time_limit: float | None = None,
    store: str | os.PathLike[str] | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> Stored:
    """As an exact `search`, answered from the store if it can be.

    store  path of the store; None: `TILEWRIGHT_STORE`, or the cache folder of the user
    note   called with what is worth knowing, such as that nothing can be kept

    Raises StoreError for a store that is damaged or of another version, and for one that was chosen and cannot be
    written. Where nobody chose a store, that is a note: the search does not need it.
    """
    asked = asked_for(problem, arch, tiling, space, constraints, time_limit)
    with opened(store, note) as keeper:
        question = Question(asked.problem, asked.arch, objective, tiling, space, asked.constraints)
        return _answered(question, time_limit, keeper, note)


def front_stored(
    problem: Problem | str,
    arch: ArchitectureLike,
    tiling: Tiling = "perfect",
    space: Space = "even",
    constraints: ConstraintsLike = None,
    time_limit: float | None = None,
    store: str | os.PathLike[str] | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> list[SearchResult]:
    """As `search_pareto`; each of the searches that a point of the front takes is answered from the store if it can be.

    store, note, errors  as of `search_stored`
    """
    asked = asked_for(problem, arch, tiling, space, constraints, time_limit)
    with opened(store, note) as keeper:

        def search(*question: Any) -> Found:
            *parts, limit = question
            found = _answered(Question(*parts), limit, keeper, note).result
            return found.mapping, found.cost, found.certificate

        front = search_front(asked.problem, asked.arch, tiling, space, asked.constraints, time_limit, search)
        return [SearchResult(asked.problem, asked.arch, *point) for point in front]


def _answered(
    question: Question, time_limit: float | None, keeper: Store | None, note: Callable[[str], None]
) -> Stored:
    recalled = keeper.recall(question, time_limit) if keeper else None
    if recalled is not None:
        return Stored(_result(question, recalled.answer), recalled.record)
    done = run_job(Job(question, time_limit))
    if keeper and (isinstance(done.answer, NoMapping) or _may_be_kept(done.answer.certificate)):
        try:
            keeper.keep(question, done.answer, time_limit, done.seconds)
        except StoreError as error:  # the result is there, and must not be lost with it
            note(not_kept(error))
    return Stored(_result(question, done.answer), None)


def _may_be_kept(certificate: Certificate) -> bool:
    """Whether the same search would come to the same result: not when it was interrupted before the proof."""
    return certificate.proven or not certificate.interrupted


def _result(question: Question, answer: Answer) -> SearchResult:
    """The result that an answer stands for; raises the InfeasibleError of one that there is no mapping."""
    if isinstance(answer, NoMapping):
        raise answer.error
    return SearchResult(question.problem, question.arch, answer.mapping, answer.cost, answer.certificate)
