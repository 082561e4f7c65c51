"""The best tree of a cascade that can be computed in several ways: one search for each form, all against one best.

A form may be one pass over blocks of keys, or two passes; the sizes of blocks make as many forms. What is found for one
form is a mapping to beat for those after it, so most of these are left aside soon: they are searched in the order in
which the cascade has them, smaller blocks first. No form has anything better than what its own search proves, so the
least of these bounds holds for all.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace

from ...ir import Cascade, InfeasibleError, TilewrightError, UndecidedError
from ..certificate import Certificate
from ..means import Means
from .answers import bound_cascade, search_against, search_alone
from .question import CascadeAnswer, CascadeQuestion, TriedForm, check_searchable
from .tree_constraints import read_tree_constraints
from .weighted_sums import Corner


def search_cascade(question: CascadeQuestion) -> CascadeAnswer:
    """The proven best fused mapping, of any form of the cascade; where time or memory run out, the best found and its
    gap.

    Raises InfeasibleError when nothing fits, UndecidedError when time or memory run out before anything is found, and
    TilewrightError for what cannot be searched.
    """
    if not question.cascade.others:
        return search_alone(question)
    return FormsSearch(question).run()


@dataclass
class FormsSearch:
    """One search over the trees of all forms of a cascade.

    known  mappings that are found
    tried  what is known of the forms that have been searched
    unsearched  bounds of forms of which there is no more
    """

    question: CascadeQuestion
    known: list[Corner] = field(default_factory=list)
    tried: list[TriedForm] = field(default_factory=list)
    unsearched: list[float] = field(default_factory=list)
    answers: list[CascadeAnswer] = field(default_factory=list)

    def run(self) -> CascadeAnswer:
        """The best mapping, its cost, and the proof."""
        started = time.perf_counter()
        questions = self._questions()
        means = Means.from_now(self.question.limits.time_s, self.question.limits.memory_bytes)
        failed: TilewrightError | None = None
        interrupted = False
        for number, question in enumerate(questions):
            left = means.share(1 / (len(questions) - number))
            try:
                self._search(question, left)
            except (InfeasibleError, UndecidedError) as error:
                failed = error if isinstance(error, UndecidedError) or failed is None else failed
                least = None if isinstance(error, InfeasibleError) else _bound(question)
                self.tried.append(TriedForm(question.cascade.form, None, least))
                self.unsearched += [least] if least is not None else []
            if self.answers and self.answers[-1].certificate.interrupted:
                interrupted = True
                left_out = [TriedForm(one.cascade.form, None, _bound(one)) for one in questions[number + 1 :]]
                self.tried += left_out
                self.unsearched += [one.lower_bound or 0.0 for one in left_out]
                break
        if not self.answers:
            assert failed is not None
            raise failed
        return self._answer(time.perf_counter() - started, interrupted)

    def _questions(self) -> list[CascadeQuestion]:
        """The questions about the forms that can be searched."""
        found: list[CascadeQuestion] = []
        refused: TilewrightError | None = None
        for form in self.question.cascade.forms:
            try:
                question = self._about(form)
                check_searchable(question)
            except TilewrightError as error:
                refused = refused or error
                continue
            found.append(question)
        if not found:
            assert refused is not None
            raise refused
        return found

    def _about(self, form: Cascade) -> CascadeQuestion:
        """The question about one form; ConstraintError where it has not what the constraints name."""
        lines, arch = self.question.constraints.lines, self.question.arch
        constraints = (
            read_tree_constraints(lines, form, arch, self.question.fuse) if lines else self.question.constraints
        )
        return replace(self.question, cascade=form, constraints=constraints)

    def _search(self, question: CascadeQuestion, means: Means) -> None:
        search = search_against(question, means, list(self.known))
        answer = search.run()
        own = [corner for corner in search.corners if corner.mapping.cascade is question.cascade]
        objective = question.objective
        value = min((objective.value(c.energy, c.latency) for c in own), default=None)
        self.known = search.corners
        self.answers.append(answer)
        self.tried.append(TriedForm(question.cascade.form, value, answer.lower_bound))

    def _answer(self, seconds: float, interrupted: bool) -> CascadeAnswer:
        """What every search proves holds together."""
        best = min(reversed(self.answers), key=lambda answer: answer.certificate.value)
        value = best.certificate.value
        bound = min(value, *(one.lower_bound for one in self.tried if one.lower_bound is not None))
        proofs = [answer.certificate for answer in self.answers]
        told = tuple(dict.fromkeys(words for proof in proofs for words in proof.constraints))
        certificate = replace(
            best.certificate,
            lower_bound=min(value, *(proof.lower_bound for proof in proofs), *self.unsearched),
            evaluated=sum(proof.evaluated for proof in proofs),
            pruned=_together(proofs),
            seconds=seconds,
            constraints=told,
            interrupted=interrupted,
        )
        return replace(best, certificate=certificate, lower_bound=bound, forms=tuple(self.tried))


def _bound(question: CascadeQuestion) -> float:
    """What no tree of a form has less of, seen without a search; 0 where what is minimized is no sum."""
    try:
        return bound_cascade(question)
    except TilewrightError:
        return 0.0


def _together(proofs: list[Certificate]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for proof in proofs:
        total.update(proof.pruned)
    return dict(sorted(total.items()))
