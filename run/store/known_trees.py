"""What is known of the trees of a group of a network, from all searches of it.

A network asks for the same group again and again, each time for what weighs less, and for longer; and whoever compiles
it again, with more time, asks for it once more. A search says of what it did not look for that nothing weighs less
than a bound; so what searches found out adds up, whatever each of them looked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ...mapper.answer import Answer
from ...mapper.cascades import NothingBelow
from ...mapper.kernel.tolerance import reaches
from ...mapper.question import TreeQuestion
from .result import PastSearch, Searches


@dataclass(frozen=True)
class KnownTrees:
    """What is known of the trees of one group.

    searches  what no tree weighs less than, and how it was looked for them
    answer    the best tree, with the same bound in its certificate; None: none was found
    """

    searches: Searches = Searches(0.0)
    answer: Answer | None = None

    @property
    def bound(self) -> float:
        """No tree weighs less."""
        return self.searches.bound

    @property
    def value(self) -> float:
        """What the best tree weighs; infinite where none is known."""
        return math.inf if self.answer is None else self.answer.certificate.value

    def outcome(self, question: TreeQuestion) -> Answer | NothingBelow | None:
        """What a search would come to; None where it could find out more than is known."""
        asked = PastSearch(min(self.value, question.below), question.limits)
        is_proven = reaches(self.bound, asked.below)
        past = next((one for one in self.searches.tried if one.covers(asked)), None)
        if past is None and not is_proven:
            return None
        seconds = math.inf if past is None else past.took
        if self.answer is None or self.value >= question.below:
            return NothingBelow(min(self.bound, question.below), seconds)
        proof = self.answer.certificate
        return replace(self.answer, certificate=replace(proof, seconds=seconds) if seconds < math.inf else proof)

    def narrowed(self, question: TreeQuestion) -> TreeQuestion:
        """The question, only for what is better than what is known."""
        return replace(question, below=min(self.value, question.below), floor=max(self.bound, question.floor))

    def with_outcome(self, question: TreeQuestion, found: Answer | NothingBelow) -> KnownTrees:
        """What is known with what a search of the question has found; one that was interrupted counts as not made."""
        if isinstance(found, NothingBelow):
            bound, best, seconds = found.bound, self.answer, found.seconds
        else:
            seconds = found.certificate.seconds
            bound, best = found.certificate.lower_bound, found if found.certificate.value < self.value else self.answer
        bound = max(bound, self.bound)
        if best is not None:  # whoever recalls it has not been interrupted
            best = replace(best, certificate=replace(best.certificate.with_bound(bound), interrupted=False))
        made = PastSearch(question.below, question.limits, seconds if seconds < math.inf else None)
        others = tuple(one for one in self.searches.tried if not made.covers(one))
        return KnownTrees(Searches(bound, self.searches.tried if was_interrupted(found) else (*others, made)), best)

    def with_others(self, other: KnownTrees) -> KnownTrees:
        """What is known here and in another place together."""
        best, bound = self.answer if self.value <= other.value else other.answer, max(self.bound, other.bound)
        mine = self.searches.tried
        more = (one for one in other.searches.tried if not any(own.covers(one) for own in mine))
        kept = tuple(own for own in mine if not any(one.covers(own) and one != own for one in other.searches.tried))
        best = best and replace(best, certificate=best.certificate.with_bound(bound))
        return KnownTrees(Searches(bound, (*kept, *more)), best)


def was_interrupted(found: Answer | NothingBelow) -> bool:
    """Whether someone ended the search that came to this."""
    return found.interrupted if isinstance(found, NothingBelow) else found.certificate.interrupted
