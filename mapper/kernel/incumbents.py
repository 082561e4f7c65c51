"""The best answers found so far, and the cutoff that they set."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Generic, Protocol

from .states import AnswerT, Closed
from .tolerance import cutoff_of


class Incumbents(Protocol[AnswerT]):
    """What judges the answers that a search comes to."""

    @property
    def cutoff(self) -> float:
        """Bounds from here on lead to nothing that is wanted."""

    def offer(self, found: Closed[AnswerT]) -> None:
        """Keep an answer if it is one of the best."""


@dataclass
class BestAnswers(Generic[AnswerT]):
    """The `count` lowest answers, the lowest first; of equal ones those that came first.

    ceiling  answers from this value on are not wanted
    """

    count: int = 1
    ceiling: float = inf
    _kept: list[Closed[AnswerT]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[AnswerT]:
        return (one.answer for one in self._kept if one.answer is not None)

    @property
    def value(self) -> float:
        """Of the best one; infinite where there is none."""
        return self._kept[0].bound if self._kept else inf

    @property
    def cutoff(self) -> float:
        if len(self._kept) < self.count:
            return self.ceiling
        return min(self.ceiling, cutoff_of(self._kept[-1].bound))

    def offer(self, found: Closed[AnswerT]) -> None:
        if found.bound < self.cutoff:
            insort(self._kept, found, key=_value)
            del self._kept[self.count :]


def _value(found: Closed[AnswerT]) -> float:
    return found.bound
