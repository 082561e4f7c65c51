"""Searches of one layer or one cascade, as a user calls them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from .arguments import (
    ArchitectureLike,
    ConstraintsLike,
    StoreLike,
    as_store,
    laid_out,
    limits_of,
    question_of,
    tiling_or_default,
    tilings_of,
    with_zeros,
)
from .cost_models import EDP, Objective, ObjectiveLike
from .inputs import checks
from .ir import Cascade, TilewrightError, Work
from .mapper.answer import Answer
from .mapper.certificate import Points
from .mapper.question import AnyQuestion, is_about_cascade
from .mapper.several import search_best, search_front
from .mapper.space import Space
from .mapper.strategies import Exact, Strategy, strategy_named
from .mapper.tilings import TILINGS, Tiling
from .options import OPTIONS, FewKeywords, FrontKeywords, SearchKeywords, takes
from .results import SearchResult

if TYPE_CHECKING:
    from .run.store import Record

EXACT = Exact()


@takes(SearchKeywords)
def search(
    problem: Work | str,
    arch: ArchitectureLike,
    objective: ObjectiveLike = "edp",
    tiling: Tiling | None = None,
    space: Space = "even",
    constraints: ConstraintsLike = None,
    **options: Unpack[SearchKeywords],
) -> SearchResult:
    """The mapping with the least energy, latency or other objective, and the proof that none is better.

    problem    a problem, or a layer by name: "resnet50:layer1.0.conv2"; or a cascade (docs/cascades.md), whose mapping
               is a tree. Strategies and seeds do not know cascades
    arch       an architecture, or one of the library by name, or the path of an architecture file
    objective  "energy", "latency", "edp", "ed2p", or a formula such as "energy * latency ** 0.5"; "latency,energy" is
               the least energy of the fastest; "energy where latency <= 20000" has a limit (docs/cost-model.md)
    tiling     "ragged" lets the last tile of a dimension be smaller, "perfect" allows divisors only; None: the default
               (`mapper.tilings.DEFAULT_TILING`), or what the strategy knows in its place, and "perfect" where operands
               have zeros; the certificate says which
    space      "even": one tile boundary for each memory; "uneven": one for each memory and tensor
    constraints  only mappings that satisfy them: the name of a dataflow, the path of a constraints file, a dict of the
               same form, one line such as "GLB.temporal.K<=16", or a list of these; of a cascade one line such as
               "T in GLB", or a list of them (docs/cascades.md)
    strategy   "exact"; "cpsat", an independent exact model;
               "random", "anneal", "genetic": to compare with, no proof
    time_limit seconds after which the best mapping so far is returned, with the bound proven by then; None: no limit.
               Ctrl-C does the same
    seed       of the strategies that draw lots; None: 0
    memory_limit  bytes that the search may take for its tables and open mappings, or a text such as "2 GiB"; what does
               not fit is bounded more coarsely (strategy "exact")
    store      path of a result store that is asked first, and keeps what is found (strategy "exact"); None: none is
    fuse       of a cascade: "all"; "plain", no shared loops along which readers see windows; "whole", intermediates
               whole on chip and no shared loops; "none", every intermediate in the outermost memory
    density    of operands that have zeros, by tensor: a fraction, a text such as "2:4@K", or a numpy array whose zeros
               count (docs/sparse.md), in place of those that the problem has; all figures are means then
    layout     where words lie in memories that have lines, by tensor or by memory and tensor: {"O": "NHWC",
               "GLB.I": "any"}; or one for all tensors, such as "any", the best (docs/layouts.md). Trees of
               cascades are searched as if lines were full, and with open layouts of the tree found: the certificate has
               the gap

    Raises TilewrightError: ProblemError, ArchitectureError or ConstraintError for what cannot be understood,
    InfeasibleError, with a diagnosis, when no mapping fits, StoreError for a store that cannot be used.
    """
    chosen = strategy_named(options["strategy"])
    _refuse_unknown(problem, options)
    if options["density"] is not None and options["layout"] is not None:
        raise _unknown("layout", "densities")
    seed, store = options["seed"], as_store(options["store"])
    chosen = strategy_named(chosen.name, seed=None if seed is None else checks.whole(seed, "the seed", 0))
    asked = _question(problem, arch, objective, tiling, space, constraints, options, chosen.tilings)
    question = replace(asked, arch=laid_out(asked.arch, asked.work, options["layout"]))
    if store is not None and chosen.name != "exact":
        message = f"a store keeps what the strategy exact finds, found strategy {chosen.name}"
        raise TilewrightError(message, where="store")
    return find_best(question, store, warn, cached=store is not None, strategy=chosen)[0]


def find_best(
    question: AnyQuestion,
    store: StoreLike | None,
    note: Callable[[str], None],
    *,
    cached: bool,
    strategy: Strategy = EXACT,
) -> tuple[SearchResult, Record | None]:
    """The best mapping, and the record that it is from; None where it has just been found.

    store, note  as of `search_stored`
    cached    whether a store is asked at all
    strategy  of questions about one operation
    """
    if cached:
        from .stored import search_stored

        return search_stored(question, store, note)
    return SearchResult.of(question, _answer(question, strategy)), None


def _answer(question: AnyQuestion, strategy: Strategy) -> Answer:
    if not is_about_cascade(question):
        return strategy.search(question)
    from .mapper.fusing import answer_cascade

    return answer_cascade(question)


@takes(FewKeywords)
def search_top(
    problem: Work | str,
    arch: ArchitectureLike,
    count: int,
    objective: ObjectiveLike = "edp",
    tiling: Tiling | None = None,
    space: Space = "even",
    constraints: ConstraintsLike = None,
    **options: Unpack[FewKeywords],
) -> Points[SearchResult]:
    """The best `count` mappings that differ in energy or latency, best first, each with its proof; arguments as those
    of `search`. Fewer where there are no more, or where means run out: `complete` says whether these are the best.

    Of a cascade, the best trees that are fused in different ways: an intermediate passes in another memory, or in parts
    that are cut along other dimensions. The time limit is for all of them.

    Raises TilewrightError as `search` does, for a count below 1, and for a lexicographic objective.
    """
    _refuse_unknown(problem, options)
    return find_few(_question(problem, arch, objective, tiling, space, constraints, options), count)


def find_few(question: AnyQuestion, count: int) -> Points[SearchResult]:
    """As `search_top`, of a question."""
    number = _number_of_few(question.objective, count)
    if not is_about_cascade(question):
        return search_best(question, number).each(lambda answer: SearchResult.of(question, answer))
    from .mapper.fusings import answer_fusings

    return answer_fusings(question, number).each(lambda answer: SearchResult.of(question, answer))


def _number_of_few(objective: Objective, count: int) -> int:
    """How many mappings are asked for; both checked."""
    number = checks.whole(count, "the number of mappings")
    if objective.is_lexicographic:
        hint = 'give one value, such as "latency", or ask for the Pareto front'
        raise TilewrightError("the best few need one value each", where=f"objective {objective}", hint=hint)
    return number


@takes(FrontKeywords)
def search_pareto(
    problem: Work | str,
    arch: ArchitectureLike,
    tiling: Tiling | None = None,
    space: Space = "even",
    constraints: ConstraintsLike = None,
    **options: Unpack[FrontKeywords],
) -> Points[SearchResult]:
    """The exact Pareto front of energy and latency, from the least energy to the least latency, each point proven;
    arguments as those of `search`, the limits for each of the two searches that a point takes. A store keeps all of
    these searches. Where means run out, points may be missing: `complete` says so, and `gap` how far they could be.

    Of a cascade the limits are for the whole front, and the store keeps none.

    Raises TilewrightError as `search` does.
    """
    _refuse_unknown(problem, options)
    store = as_store(options["store"])
    if isinstance(problem, Cascade) and store is not None:
        raise _unknown("store", "cascades")
    question = _question(problem, arch, EDP, tiling, space, constraints, options)
    return find_front(question, store, warn, cached=store is not None)


def find_front(
    question: AnyQuestion, store: StoreLike | None, note: Callable[[str], None], *, cached: bool
) -> Points[SearchResult]:
    """As `search_pareto`, of a question; store, note and cached as of `find_best`. Fronts of cascades are not kept."""
    if is_about_cascade(question):
        from .mapper.fusing import answer_front

        return answer_front(question).each(lambda answer: SearchResult.of(question, answer))
    if cached:
        from .stored import front_stored

        return front_stored(question, store, note)
    return search_front(question).each(lambda answer: SearchResult.of(question, answer))


def _question(
    problem: Work | str,
    arch: ArchitectureLike,
    objective: ObjectiveLike,
    tiling: Tiling | None,
    space: Space,
    constraints: Any,
    options: Mapping[str, Any],
    known: Sequence[Tiling] = TILINGS,
) -> AnyQuestion:
    """The question that the arguments of a search ask.

    known  tilings that the strategy knows
    """
    limits = limits_of(options["time_limit"], options["memory_limit"])
    if isinstance(problem, Cascade):
        return question_of(problem, arch, objective, tiling, space, constraints, limits, options["fuse"])
    layer = with_zeros(problem, options["density"])
    kind = tiling_or_default(tiling, tilings_of(layer, known) if tiling is None else known)
    return question_of(layer, arch, objective, kind, space, constraints, limits)


_UNKNOWN_TO_CASCADES = ("strategy", "seed", "density")


def _refuse_unknown(work: object, options: Mapping[str, Any]) -> None:
    """TilewrightError for the first option that is given and that cascades, or layers, do not know."""
    if isinstance(work, Cascade):
        for name in _UNKNOWN_TO_CASCADES:
            if name in options and not _is_default(name, options[name]):
                raise _unknown(name, "cascades")
    elif not _is_default("fuse", options["fuse"]):
        hint = "give a cascade: tw.cascade([...])"
        raise TilewrightError("one layer has nothing to fuse", where="fuse", hint=hint)


def _is_default(name: str, value: object) -> bool:
    """Whether an option has its default; what callers give may be an array, which equals nothing as a whole."""
    default = OPTIONS[name].default
    return value is default or (isinstance(value, type(default)) and bool(value == default))


def _unknown(name: str, what: str) -> TilewrightError:
    return TilewrightError(f"{name} is not known for {what} yet", where=name, hint="leave it out")


def warn(text: str) -> None:
    """A warning for those that call from Python."""
    warnings.warn(text, RuntimeWarning, stacklevel=2)
