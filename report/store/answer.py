"""What an exact search came to: a mapping with its cost and certificate, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ...cost_models import Cost
from ...ir import InfeasibleError, Mapping, Problem
from ...mapper.certificate import Certificate


@dataclass(frozen=True)
class Solution:
    """The best mapping that was found.

    mapping, cost, certificate  as of a `SearchResult`
    """

    mapping: Mapping
    cost: Cost
    certificate: Certificate

    def of(self, problem: Problem) -> Solution:
        """The same for a problem that differs in its name alone."""
        if problem.name == self.mapping.problem.name:
            return self
        return Solution(Mapping(problem, self.mapping.nest), self.cost, self.certificate)


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

    def of(self, problem: Problem) -> NoMapping:
        """The same for a problem that differs in its name alone."""
        return NoMapping(problem.name, self.message.replace(self.layer, problem.name), self.where, self.hint)

    @property
    def error(self) -> InfeasibleError:
        """The error that `search` raises in its place."""
        return InfeasibleError(self.message, where=self.where, hint=self.hint)


Answer: TypeAlias = Solution | NoMapping
