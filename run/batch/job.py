"""One search of a batch, as a worker runs it: everything that it needs goes in, everything that it finds comes out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TypeAlias

from ...ir import InfeasibleError
from ...mapper.model_version import MODEL_VERSION
from ...mapper.question import NestQuestion
from ...mapper.strategies import Exact
from ..store import NoMapping, Result


@dataclass(frozen=True)
class Done:
    """What came of a search.

    seconds        that the search took
    model_version  of the worker, which on a cluster may have another tilewright
    """

    result: Result
    seconds: float
    model_version: int


@dataclass(frozen=True)
class Failure:
    """A search that could not be run to its end: the worker died, or something is wrong with the program.

    message  what happened
    """

    message: str


Outcome: TypeAlias = Result | Failure
"""What a batch knows of a search in the end."""


def run_job(question: NestQuestion) -> Done:
    """Search. No mapping is a result; any other TilewrightError is raised."""
    started = time.perf_counter()
    try:
        result: Result = Exact().search(question)
    except InfeasibleError as error:
        result = NoMapping(question.problem.name, error.message, error.where, error.hint)
    return Done(result, time.perf_counter() - started, MODEL_VERSION)
