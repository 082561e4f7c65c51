"""What an exact search came to: an answer, or the reason why there is no mapping."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeAlias

from ...ir import InfeasibleError, Work
from ...mapper.answer import Answer
from ...mapper.question import Limits


@dataclass(frozen=True)
class NoMapping:
    """No mapping of the space fits; the parts of the `InfeasibleError` that says why.

    layer  the name of the layer that was searched, as it stands in the message
    message, where, hint  of the error
    """

    layer: str
    message: str
    where: str | None
    hint: str | None

    def of(self, problem: Work) -> NoMapping:
        """The same for a problem or a cascade that differs in its name alone."""
        return NoMapping(problem.name, self.message.replace(self.layer, problem.name), self.where, self.hint)

    @property
    def error(self) -> InfeasibleError:
        """The error that `search` raises in its place."""
        return InfeasibleError(self.message, where=self.where, hint=self.hint)


Result: TypeAlias = Answer | NoMapping
"""What a search came to."""


@dataclass(frozen=True)
class PastSearch:
    """A search of a group of a network.

    below   that trees had to weigh less than
    limits  of its time and memory
    seconds  that it took; None: that is not known
    """

    below: float
    limits: Limits
    seconds: float | None = field(default=None, compare=False)

    @property
    def took(self) -> float:
        """Seconds that it took: all that it had, where that is not known."""
        at_most = math.inf if self.limits.time_s is None else self.limits.time_s
        return at_most if self.seconds is None else self.seconds

    def covers(self, other: PastSearch) -> bool:
        """Whether another one looks for nothing more, and has no more time and no more memory for it."""
        mine, others = self.limits, other.limits
        has_time = mine.time_s is None or (others.time_s is not None and others.time_s <= mine.time_s)
        return has_time and other.below <= self.below and others.memory_bytes <= mine.memory_bytes


@dataclass(frozen=True)
class Searches:
    """What searches of a group of a network came to, beside the best tree.

    bound  no tree weighs less
    tried  the searches; none is covered by another one
    """

    bound: float
    tried: tuple[PastSearch, ...] = ()

    def of(self, _: Work) -> Searches:
        """The same for a cascade that differs in its name alone."""
        return self


Kept: TypeAlias = Answer | NoMapping | Searches
"""What is stored of a layer or a cascade."""
