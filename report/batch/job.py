"""One search of a batch, as a worker runs it: everything that it needs goes in, everything that it finds comes out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TypeAlias

from ...ir import InfeasibleError
from ...mapper.model_version import MODEL_VERSION
from ...mapper.strategies import search_by
from ..store import Answer, NoMapping, Question, Solution


@dataclass(frozen=True)
class Job:
    """A search to run.

    time_limit  seconds after which the best mapping so far is taken; None: no limit
    """

    question: Question
    time_limit: float | None = None


@dataclass(frozen=True)
class Done:
    """What came of a job.

    seconds        that the search took
    model_version  of the worker, which on a cluster may have another tilewright
    """

    answer: Answer
    seconds: float
    model_version: int


@dataclass(frozen=True)
class Failure:
    """A search that could not be run to its end: the worker died, or something is wrong with the program.

    message  what happened
    """

    message: str


Outcome: TypeAlias = Answer | Failure
"""What a batch knows of a search in the end."""


def run_job(job: Job) -> Done:
    """Search. No mapping is an answer; any other TilewrightError is raised."""
    asked, started = job.question, time.perf_counter()
    try:
        found = search_by(
            "exact",
            asked.problem,
            asked.arch,
            asked.objective,
            asked.tiling,
            asked.space,
            asked.constraints,
            job.time_limit,
        )
        answer: Answer = Solution(*found)
    except InfeasibleError as error:
        answer = NoMapping(asked.problem.name, error.message, error.where, error.hint)
    return Done(answer, time.perf_counter() - started, MODEL_VERSION)
