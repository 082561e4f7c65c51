"""What an exact search came to: an answer, or the reason why there is no mapping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ...ir import Cascade, InfeasibleError, Problem
from ...mapper.cascades import NothingBelow
from ...mapper.fusing import FusedAnswer
from ...mapper.question import Answer


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

    def of(self, problem: Problem | Cascade) -> NoMapping:
        """The same for a problem or a cascade that differs in its name alone."""
        return NoMapping(problem.name, self.message.replace(self.layer, problem.name), self.where, self.hint)

    @property
    def error(self) -> InfeasibleError:
        """The error that `search` raises in its place."""
        return InfeasibleError(self.message, where=self.where, hint=self.hint)


Result: TypeAlias = Answer | NoMapping
"""What a search came to."""

CascadeOutcome: TypeAlias = FusedAnswer | NoMapping | NothingBelow
"""What a search of a cascade came to."""
