"""The workers that search groups: this process, one search after the other, or other processes, several at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol, TypeAlias

from ...ir import InfeasibleError, UndecidedError
from ..answer import Answer
from ..cascades import NothingBelow
from ..question import TreeQuestion

Solve: TypeAlias = Callable[[TreeQuestion], "Answer | NothingBelow"]
"""Answers a question about one group. Raises InfeasibleError and UndecidedError where there is no answer."""


class GroupLost(UndecidedError):
    """The process that searched a group has died, more than once."""


GroupOutcome: TypeAlias = "Answer | NothingBelow | InfeasibleError | UndecidedError"


def outcome_of(solve: Solve, question: TreeQuestion) -> GroupOutcome:
    """Return the answer to a question, or its error, in a form that can be sent between processes."""
    try:
        return solve(question)
    except (InfeasibleError, UndecidedError) as error:
        return error


class GroupSolvers(Protocol):
    """Whoever searches groups."""

    def at_once(self) -> int:
        """The number of searches that may run at once at the moment."""
        ...

    def begin(self, question: TreeQuestion) -> Future[GroupOutcome]:
        """Begin a search. Ctrl-C may end it early with the best that it has, or raise KeyboardInterrupt."""
        ...

    def drop(self) -> None:
        """Give up whatever is running."""
        ...


class OneAfterTheOther:
    """Searches in this process: each is over when it has begun."""

    def __init__(self, solve: Solve) -> None:
        self.solve = solve

    def at_once(self) -> int:
        return 1

    def begin(self, question: TreeQuestion) -> Future[GroupOutcome]:
        future: Future[GroupOutcome] = Future()
        future.set_result(outcome_of(self.solve, question))
        return future

    def drop(self) -> None:
        """Nothing is running."""
