"""The search for the best tree of a cascade with several forms: a search for each form, with a common incumbent.

A form may be one pass over blocks of keys, or two passes; the sizes of blocks make as many forms. First it is seen what
each costs at least, without a search over trees. Forms without iterations come first, since their searches are soon
done, then those that iterate, always the one of the lowest bound: what is found for one is a mapping to beat for those
after it, and a form whose bound is no better is never searched. No form has anything better than its own bound, so the
least of these holds for all.

Iterations have many operations, and to prove one may take long. Where there are forms without, and nobody has stated a
time limit, those that iterate are searched for as long as the others took, and for `ENOUGH` seconds at least; what is
not proven by then is a gap.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass, field, replace

from ...cost_models import LATENCY, Objective
from ...cost_models.least_cost import least_cost_of_cascade
from ...ir import Cascade, InfeasibleError, TilewrightError, UndecidedError
from ..answer import Answer, TriedForm
from ..certificate import Certificate, PartProof, Points
from ..constraints.trees import read_tree_constraints
from ..garbage import collecting_rarely
from ..kernel.tolerance import is_better
from ..means import ENOUGH, Means
from ..pareto.front import Point, front_of
from ..pareto.regions import front_gap
from ..pareto.weights import ENERGY_ALONE, LATENCY_ALONE
from ..question import TreeQuestion
from .answers import Seen, bound_alone, search_for, seen_of
from .objectives.search import CascadeSearch
from .question import NothingBelow, check_searchable
from .relaxations.operation_bounds import Nearest
from .tree_searches import Corner, point_of


@collecting_rarely
def search_cascade(question: TreeQuestion) -> Answer:
    """The proven best fused mapping, of any form of the cascade; where time or memory run out, the best found and its
    gap.

    Raises InfeasibleError when nothing fits, UndecidedError when time or memory run out before anything is found, and
    TilewrightError for what cannot be searched.
    """
    return (FormsSearch(question) if question.cascade.others else search_for(question)).run()


@collecting_rarely
def search_cascade_below(question: TreeQuestion) -> Answer | NothingBelow:
    """As `search_cascade`, only for what is less than `below`; of objectives that add up over operations.

    Raises TilewrightError for what cannot be searched.
    """
    best: Answer | NothingBelow = NothingBelow(question.below)
    started = time.perf_counter()
    least, below, interrupted = math.inf, question.below, False
    every, means = questions_of_forms(question), question.limits.means()
    for number, one in enumerate(every):
        if number and means.expired:
            stays = [tensor for tensor, _ in one.stays]
            least = min(least, least_cost_of_cascade(one.cascade, one.arch, stays).value(one.objective))
            continue
        share = means.share(1 / (len(every) - number))
        limits = one.limits
        if means.limits_time:
            limits = replace(limits, time_s=share.seconds_left, within_s=means.seconds_left)
        found = search_for(replace(one, below=below, limits=limits)).run_below()
        if isinstance(found, NothingBelow):
            least, interrupted = min(least, found.bound), interrupted or found.interrupted
        else:
            least, best, below = min(least, found.certificate.lower_bound), found, found.certificate.value
    if isinstance(best, NothingBelow):
        return NothingBelow(min(least, question.below), time.perf_counter() - started, interrupted)
    interrupted = interrupted or best.certificate.interrupted
    proof = replace(
        best.certificate, lower_bound=least, seconds=time.perf_counter() - started, interrupted=interrupted, parts=()
    )
    return replace(best, certificate=proof)


@collecting_rarely
def search_cascade_front(question: TreeQuestion) -> Points[Answer]:
    """The front of energy and latency over all forms, from the least energy to the least latency; what it is least of
    is not looked at."""
    if question.cascade.others:
        return FormsSearch(question, whole_front=True).front()
    search = search_for(question, whole_front=True)
    search.run()
    return search.front_answers()


def bound_cascade(question: TreeQuestion, nearest: Nearest | None = None) -> float:
    """Return a lower bound on all trees of the cascade by relaxations alone.

    nearest  what is known of single operations on the same machine, in the same space; more is noted there

    Raises TilewrightError for what cannot be searched, and for objectives that do not add up over operations.
    """
    return min(bound_alone(one, nearest) for one in questions_of_forms(question))


def questions_of_forms(question: TreeQuestion) -> list[TreeQuestion]:
    """The questions about each of the forms that can be searched; TilewrightError where none can."""
    if not question.cascade.others:
        return [question]
    found: list[TreeQuestion] = []
    refused: TilewrightError | None = None
    for form in question.cascade.forms:
        try:
            one = _about(question, form)
            check_searchable(one)
        except TilewrightError as error:
            refused = refused or error
            continue
        found.append(one)
    if not found:
        assert refused is not None
        raise refused
    return found


def _about(question: TreeQuestion, form: Cascade) -> TreeQuestion:
    """Return the question about one form; ConstraintError where the form lacks what the constraints name."""
    lines, arch = question.constraints.lines, question.arch
    constraints = read_tree_constraints(lines, form, arch, question.fuse) if lines else question.constraints
    return replace(question, work=form, constraints=constraints)


def iterates(cascade: Cascade) -> bool:
    """Whether any of its operations does."""
    return any(operation.iterates for operation in cascade)


def forms_with_bounds(question: TreeQuestion) -> list[tuple[TreeQuestion, float]]:
    """Return the questions about all forms that can be searched, each with a lower bound; the bound is not computed for
    a single form, or for a lexicographic objective."""
    questions = questions_of_forms(question)
    if len(questions) == 1 or question.objective.is_lexicographic:
        return [(one, 0.0) for one in questions]
    means = question.limits.means().share()
    nearest: Nearest = {}
    return [(one, seen_of(one, means, nearest).bound) for one in questions]


@dataclass
class _SearchedForm:
    """The state of the search of one form.

    seen    what it costs at least, without a search
    search  its search, if there was one
    error   what that raised
    """

    question: TreeQuestion
    seen: Seen
    search: CascadeSearch | None = None
    error: TilewrightError | None = None

    @property
    def fits(self) -> bool:
        """Whether it may have a mapping."""
        return self.seen.bound < math.inf and not isinstance(self.error, InfeasibleError)


@dataclass
class FormsSearch:
    """One search over the trees of all forms of a cascade.

    whole_front  as of `CascadeSearch`
    known        mappings that are found, of all forms
    """

    question: TreeQuestion
    whole_front: bool = False
    known: list[Corner] = field(default_factory=list)
    interrupted: bool = False

    def __post_init__(self) -> None:
        self._started = time.perf_counter()
        self._nearest: Nearest = {}
        self._means = self.question.limits.means()
        seeing = self._means.share()
        self._forms = [
            _SearchedForm(one, seen_of(one, seeing, self._nearest)) for one in questions_of_forms(self.question)
        ]

    def run(self) -> Answer:
        """The best mapping, its cost, and the proof."""
        self._search_all()
        best = min(self.known, key=self._value)
        if self._value(best) == math.inf:
            raise self._failed()
        return self._answer(best, self.question.objective)

    def front(self) -> Points[Answer]:
        """The front, each mapping with the proof that nothing of as little energy is faster, or how much faster it
        could be."""
        self._search_all()
        front = front_of(self.known, point_of)
        points = list(map(point_of, front))
        gap = max(self._gap_of_front(form, points) for form in self._forms)
        return Points(tuple(self._answer(one, LATENCY.capped(energy=one.energy)) for one in front), gap == 0.0, gap)

    def _gap_of_front(self, form: _SearchedForm, points: list[Point]) -> float:
        """Return how far below a front a missing tree of some form could lie."""
        if not form.fits:
            return 0.0
        seen = front_gap(points, [(ENERGY_ALONE, form.seen.energy), (LATENCY_ALONE, form.seen.latency)])
        return seen if form.search is None else min(seen, form.search.gap_of_front(points))

    # ---- which forms are searched, and for how long ---------------------------------------------------------

    def _search_all(self) -> None:
        """Search forms until none is open; raises where nothing is found."""
        order = sorted(self._forms, key=lambda form: (iterates(form.question.cascade), form.seen.bound))
        plain = [form for form in order if not iterates(form.question.cascade)]
        for number, form in enumerate(order):
            if number == len(plain) > 0 and not self._means.limits_time:
                taken = time.perf_counter() - self._started
                self._means = self._means.at_most(max(taken, ENOUGH))
            if self.interrupted or (self.known and self._means.expired) or not self._is_open(form):
                continue
            still = sum(map(self._is_open, order[number:]))
            self._search(
                form, self._means.share() if number < len(plain) and still > 1 else self._means.share(1 / still)
            )
        if not self.known:
            if all(form.error is None for form in order):  # bounds say that nothing fits: the search says why
                self._search(order[0], self._means)
            raise self._failed()

    def _is_open(self, form: _SearchedForm) -> bool:
        """Whether a form that has not been searched may have something better than what is known."""
        if not form.fits:
            return False
        if self.whole_front:
            energy, latency = form.seen.energy, form.seen.latency
            return not any(c.energy <= energy and c.latency <= latency for c in self.known)
        best = min(map(self._value, self.known), default=math.inf)
        return best == math.inf or is_better(form.seen.bound, best)

    def _search(self, form: _SearchedForm, means: Means) -> None:
        search = search_for(form.question, means, self.whole_front, self._nearest, self.known)
        form.search = search
        try:
            search.run()
        except (InfeasibleError, UndecidedError) as error:
            form.error = error
        except KeyboardInterrupt:
            if not self.known:
                raise
            self.interrupted = True
        self.interrupted |= search.interrupted
        self.known += [corner for corner in search.corners if corner.mapping.cascade is form.question.cascade]

    def _value(self, corner: Corner) -> float:
        return self.question.objective.value(corner.energy, corner.latency)

    def _failed(self) -> TilewrightError:
        """Return the error where there is no answer: running out of time says more than that one form does not fit."""
        errors = [form.error for form in self._forms if form.error is not None]
        return next((error for error in errors if isinstance(error, UndecidedError)), errors[0])

    # ---- what is proven -------------------------------------------------------------------------------------

    def _answer(self, best: Corner, objective: Objective) -> Answer:
        """Return a mapping with the certificate of all searches together."""
        value, proofs, tried = objective.value(best.energy, best.latency), list[Certificate](), list[TriedForm]()
        whole, by_form = value, list[tuple[float, Certificate | None]]()
        for form in self._forms:
            seen = form.seen.bound_of(objective, self.question.objective)
            least, proof = min(seen, value), None
            if form.search is not None and not isinstance(form.error, InfeasibleError):
                proof = form.search.answer_about(best, objective).certificate
                proofs.append(proof)
                least = max(least, min(proof.lower_bound, value))
            if form.fits:
                whole = min(whole, least)
                by_form.append((least, proof))
            tried.append(
                TriedForm(
                    form.question.cascade.form, self._least_of(form, objective), max(seen, least) if form.fits else None
                )
            )
        first = proofs[0]
        certificate = replace(
            first,
            lower_bound=whole,
            evaluated=sum(one.evaluated for one in proofs),
            pruned=_together(proofs),
            seconds=time.perf_counter() - self._started,
            constraints=tuple(dict.fromkeys(words for one in proofs for words in one.constraints)),
            interrupted=self.interrupted,
            parts=tuple(part for part in _parts_of_all(by_form) if part.lower_bound > whole),
        )
        return Answer(best.mapping, best.cost, certificate, forms=tuple(tried))

    def _least_of(self, form: _SearchedForm, objective: Objective) -> float | None:
        """The value of the best of a form's own mappings that are known."""
        own = (corner for corner in self.known if corner.mapping.cascade is form.question.cascade)
        least = min((objective.value(corner.energy, corner.latency) for corner in own), default=math.inf)
        return least if least < math.inf else None


def _parts_of_all(forms: list[tuple[float, Certificate | None]]) -> list[PartProof]:
    """Return the proofs about parts of the trees of all forms.

    forms  of each, what none of its trees has less than, and what its search proves
    """
    names = dict.fromkeys(part.among for _, proof in forms if proof is not None for part in proof.parts)
    known = [(least, {part.among: part.lower_bound for part in proof.parts} if proof else {}) for least, proof in forms]
    return [PartProof(name, min(max(least, parts.get(name, 0.0)) for least, parts in known)) for name in names]


def _together(proofs: list[Certificate]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for proof in proofs:
        total.update(proof.pruned)
    return dict(sorted(total.items()))
