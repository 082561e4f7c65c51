"""What a best-first search is made of: sets of answers, each with a bound."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True)
class Closed(Generic[AnswerT]):
    """What a state comes to: an answer, whose bound is its value; or, without one, a set of answers of which nothing
    more will be known than their bound."""

    bound: float
    answer: AnswerT | None = None


class OpenState(Generic[AnswerT]):
    """A set of answers, of which something is still to be decided.

    bound   no answer in it is lower
    depth   how much is decided: of equal bounds the deepest goes on first
    nbytes  memory that it takes, for the limit of the frontier
    group   what it has in common with states that are best looked at together
    rule    the name under which it is counted where it is pruned; "": it is not counted
    """

    bound: float
    depth: float = 0.0
    nbytes: int = 0
    group: object | None = None
    rule: str = ""

    def advance(self) -> Iterable[OpenState[AnswerT] | Closed[AnswerT]]:
        """States that together stand for the same answers, less those known to reach the cutoff: the same set with a
        closer bound, or several that are decided further. Each is queued before the next one is asked for."""
        raise NotImplementedError

    def count_below(self, value: float) -> int:
        """How many sets of answers, of those that it is made of, have bounds below a value."""
        return int(self.bound < value)

    def lowest_part(self) -> OpenState[AnswerT]:
        """What is told of it where it ends up open: a part of it with the same bound."""
        return self
