"""A search that is answered from the result store where it can be, and kept there where it cannot."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .cost_models import Objective
from .ir import StoreError, UnwritableStoreError
from .mapper.certificate import Certificate
from .report.batch.job import Job, run_job
from .report.store import Answer, NoMapping, Question, Record, Store, store_path
from .report.store.location import is_default
from .results import SearchResult, asked_for

if TYPE_CHECKING:
    from .arch import Architecture
    from .ir import Problem
    from .mapper.hierarchy import Space
    from .mapper.tilings import Tiling
    from .results import ConstraintsLike


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
    question = Question(asked.problem, asked.arch, objective, tiling, space, asked.constraints)
    job = Job(question, time_limit)
    try:
        keeper = Store(store_path(store))
    except UnwritableStoreError as error:
        if not is_default(store):
            raise
        note(_not_kept(error))
        return Stored(_result(question, run_job(job).answer), None)
    with keeper:
        recalled = keeper.recall(question, time_limit)
        if recalled is not None:
            return Stored(_result(question, recalled.answer), recalled.record)
        done = run_job(job)
        if isinstance(done.answer, NoMapping) or _may_be_kept(done.answer.certificate):
            try:
                keeper.keep(question, done.answer, time_limit, done.seconds)
            except StoreError as error:  # the result is there, and must not be lost with it
                note(_not_kept(error))
    return Stored(_result(question, done.answer), None)


def _not_kept(error: StoreError) -> str:
    return f"note: {error.where}: {error.message}; the result is not kept"


def _may_be_kept(certificate: Certificate) -> bool:
    """Whether the same search would come to the same result: not when it was interrupted before the proof."""
    return certificate.proven or not certificate.interrupted


def _result(question: Question, answer: Answer) -> SearchResult:
    """The result that an answer stands for; raises the InfeasibleError of one that there is no mapping."""
    if isinstance(answer, NoMapping):
        raise answer.error
    return SearchResult(question.problem, question.arch, answer.mapping, answer.cost, answer.certificate)
