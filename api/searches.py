"""Searches of one layer, as a user calls them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping as MappingABC
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, overload

from .arguments import (
    ArchitectureLike,
    ConstraintsLike,
    LayoutLike,
    SizeLike,
    StoreLike,
    as_store,
    cascade_question_of,
    check_choice,
    constrained,
    laid_out,
    limits_of,
    question_of,
    tiling_or_default,
    tilings_of,
    with_zeros,
)
from .cost_models import EDP, ENERGY, Objective, ObjectiveLike
from .inputs import checks
from .ir import Cascade, Problem, TilewrightError
from .mapper.certificate import Points
from .mapper.means import DEFAULT_MEMORY_LIMIT
from .mapper.question import Question
from .mapper.several import search_best, search_front
from .mapper.space import Space
from .mapper.strategies import STRATEGIES, strategy_named
from .mapper.tilings import TILINGS, Tiling
from .results import NestResult, SearchResult, TreeResult

if TYPE_CHECKING:
    from .cost_models.sparse import DensityLike
    from .mapper.cascades import CascadeQuestion, Fuse


@overload
def search(
    problem: Cascade,
    arch: ArchitectureLike,
    objective: ObjectiveLike = "edp",
    tiling: Tiling | None = None,
    space: Space = "even",
    *,
    time_limit: float | None = None,
    memory_limit: SizeLike = DEFAULT_MEMORY_LIMIT,
    store: StoreLike | None = None,
    fuse: Fuse = "all",
    constraints: str | Sequence[str] | None = None,
    layout: LayoutLike = None,
) -> TreeResult: ...
@overload
def search(
    problem: Problem | str,
    arch: ArchitectureLike,
    objective: ObjectiveLike = "edp",
    tiling: Tiling | None = None,
    space: Space = "even",
    constraints: ConstraintsLike = None,
    strategy: str = "exact",
    time_limit: float | None = None,
    seed: int | None = None,
    *,
    memory_limit: SizeLike = DEFAULT_MEMORY_LIMIT,
    store: StoreLike | None = None,
    density: MappingABC[str, DensityLike] | None = None,
    layout: LayoutLike = None,
) -> NestResult: ...
def search(
    problem: Problem | Cascade | str,
    arch: ArchitectureLike,
    objective: ObjectiveLike = "edp",
    tiling: Tiling | None = None,
    space: Space = "even",
    constraints: ConstraintsLike = None,
    strategy: str = "exact",
    time_limit: float | None = None,
    seed: int | None = None,
    *,
    memory_limit: SizeLike = DEFAULT_MEMORY_LIMIT,
    store: StoreLike | None = None,
    fuse: Fuse = "all",
    density: MappingABC[str, DensityLike] | None = None,
    layout: LayoutLike = None,
) -> NestResult | TreeResult:
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
    strategy   "exact"; "cpsat", an independent exact model; "random", "anneal", "genetic": to compare with, no proof
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
    check_choice("strategy", strategy, STRATEGIES)
    if isinstance(problem, Cascade):
        _refuse_of("cascades", strategy=strategy if strategy != "exact" else None, seed=seed, density=density)
        limits = limits_of(time_limit, memory_limit)
        every_tree = cascade_question_of(problem, arch, objective, tiling, space, fuse, limits)
        every_tree = replace(every_tree, arch=laid_out(every_tree.arch, problem, layout))
        return _cascade_result(constrained(every_tree, constraints), store)
    _check_not_fused(fuse)
    if density is not None:
        _refuse_of("densities", layout=layout)
    chosen = strategy_named(strategy, seed=None if seed is None else checks.whole(seed, "the seed", 0))
    layer, limits = with_zeros(problem, density), limits_of(time_limit, memory_limit)
    kind = tiling_or_default(tiling, tilings_of(layer, chosen.tilings) if tiling is None else chosen.tilings)
    question = question_of(layer, arch, objective, kind, space, constraints, limits)
    question = replace(question, arch=laid_out(question.arch, question.problem, layout))
    if as_store(store) is None:
        return SearchResult.of(question, chosen.search(question))
    if strategy != "exact":
        raise TilewrightError(f"a store keeps what the strategy exact finds, found strategy {strategy}", where="store")
    from .stored import search_stored

    return search_stored(question, store, warn).result


@overload
def search_top(
    problem: Cascade,
    arch: ArchitectureLike,
    count: int,
    objective: ObjectiveLike = "edp",
    tiling: Tiling | None = None,
    space: Space = "even",
    constraints: str | Sequence[str] | None = None,
    time_limit: float | None = None,
    *,
    memory_limit: SizeLike = DEFAULT_MEMORY_LIMIT,
    fuse: Fuse = "all",
) -> Points[TreeResult]: ...
@overload
def search_top(
    problem: Problem | str,
    arch: ArchitectureLike,
    count: int,
    objective: ObjectiveLike = "edp",
    tiling: Tiling | None = None,
    space: Space = "even",
    constraints: ConstraintsLike = None,
    time_limit: float | None = None,
    *,
    memory_limit: SizeLike = DEFAULT_MEMORY_LIMIT,
    density: MappingABC[str, DensityLike] | None = None,
) -> Points[NestResult]: ...
def search_top(
    problem: Problem | Cascade | str,
    arch: ArchitectureLike,
    count: int,
    objective: ObjectiveLike = "edp",
    tiling: Tiling | None = None,
    space: Space = "even",
    constraints: ConstraintsLike = None,
    time_limit: float | None = None,
    *,
    memory_limit: SizeLike = DEFAULT_MEMORY_LIMIT,
    fuse: Fuse = "all",
    density: MappingABC[str, DensityLike] | None = None,
) -> Points[NestResult] | Points[TreeResult]:
    """The best `count` mappings that differ in energy or latency, best first, each with its proof; arguments as those
    of `search`. Fewer where there are no more, or where means run out: `complete` says whether these are the best.

    Of a cascade, the best trees that are fused in different ways: an intermediate passes in another memory, or in parts
    that are cut along other dimensions. The time limit is for all of them.

    Raises TilewrightError as `search` does, for a count below 1, and for a lexicographic objective.
    """
    limits = limits_of(time_limit, memory_limit)
    if isinstance(problem, Cascade):
        _refuse_of("cascades", density=density)
        every_tree = cascade_question_of(problem, arch, objective, tiling, space, fuse, limits)
        return best_fusings(constrained(every_tree, constraints), count)
    _check_not_fused(fuse)
    layer = with_zeros(problem, density)
    kind = tiling_or_default(tiling, tilings_of(layer) if tiling is None else TILINGS)
    return best_few(question_of(layer, arch, objective, kind, space, constraints, limits), count)


def best_fusings(question: CascadeQuestion, count: int) -> Points[TreeResult]:
    """As `search_top`, of a question about a cascade."""
    from .mapper.fusings import answer_fusings

    number = _number_of_few(question.objective, count)
    return answer_fusings(question, number).each(lambda one: SearchResult.of(question, one))


def best_few(question: Question, count: int) -> Points[NestResult]:
    """As `search_top`, of a question."""
    number = _number_of_few(question.objective, count)
    return search_best(question, number).each(lambda answer: SearchResult.of(question, answer))


def _number_of_few(objective: Objective, count: int) -> int:
    """How many mappings are asked for; both checked."""
    number = checks.whole(count, "the number of mappings")
    if objective.is_lexicographic:
        hint = 'give one value, such as "latency", or ask for the Pareto front'
        raise TilewrightError("the best few need one value each", where=f"objective {objective}", hint=hint)
    return number


@overload
def search_pareto(
    problem: Cascade,
    arch: ArchitectureLike,
    tiling: Tiling | None = None,
    space: Space = "even",
    *,
    time_limit: float | None = None,
    memory_limit: SizeLike = DEFAULT_MEMORY_LIMIT,
    fuse: Fuse = "all",
    constraints: str | Sequence[str] | None = None,
) -> Points[TreeResult]: ...
@overload
def search_pareto(
    problem: Problem | str,
    arch: ArchitectureLike,
    tiling: Tiling | None = None,
    space: Space = "even",
    constraints: ConstraintsLike = None,
    time_limit: float | None = None,
    *,
    memory_limit: SizeLike = DEFAULT_MEMORY_LIMIT,
    store: StoreLike | None = None,
    density: MappingABC[str, DensityLike] | None = None,
) -> Points[NestResult]: ...
def search_pareto(
    problem: Problem | Cascade | str,
    arch: ArchitectureLike,
    tiling: Tiling | None = None,
    space: Space = "even",
    constraints: ConstraintsLike = None,
    time_limit: float | None = None,
    *,
    memory_limit: SizeLike = DEFAULT_MEMORY_LIMIT,
    store: StoreLike | None = None,
    fuse: Fuse = "all",
    density: MappingABC[str, DensityLike] | None = None,
) -> Points[NestResult] | Points[TreeResult]:
    """The exact Pareto front of energy and latency, from the least energy to the least latency, each point proven;
    arguments as those of `search`, the limits for each of the two searches that a point takes. A store keeps all of
    these searches. Where means run out, points may be missing: `complete` says so, and `gap` how far they could be.

    Of a cascade the limits are for the whole front, and the store keeps none.

    Raises TilewrightError as `search` does.
    """
    limits = limits_of(time_limit, memory_limit)
    if isinstance(problem, Cascade):
        _refuse_of("cascades", store=store, density=density)
        every_tree = cascade_question_of(problem, arch, EDP, tiling, space, fuse, limits)
        return cascade_front(constrained(every_tree, constraints))
    _check_not_fused(fuse)
    layer = with_zeros(problem, density)
    kind = tiling_or_default(tiling, tilings_of(layer) if tiling is None else TILINGS)
    question = question_of(layer, arch, ENERGY, kind, space, constraints, limits)
    if as_store(store) is None:
        return search_front(question).each(lambda answer: SearchResult.of(question, answer))
    from .stored import front_stored

    return front_stored(question, store, warn)


def cascade_front(question: CascadeQuestion) -> Points[TreeResult]:
    """As `search_pareto`, of a question about a cascade."""
    from .mapper.fusing import answer_front

    return answer_front(question).each(lambda answer: SearchResult.of(question, answer))


def _cascade_result(question: CascadeQuestion, store: StoreLike | None) -> TreeResult:
    from .mapper.fusing import answer_cascade

    if as_store(store) is None:
        return SearchResult.of(question, answer_cascade(question))
    from .stored import search_stored

    return search_stored(question, store, warn).result


def _refuse_of(what: str, **given: object) -> None:
    """TilewrightError for the first argument that is given and that something does not know."""
    for name, value in given.items():
        if value is not None:
            raise TilewrightError(f"{name} is not known for {what} yet", where=name, hint="leave it out")


def _check_not_fused(fuse: Fuse) -> None:
    """TilewrightError for a way to fuse, where there is one layer."""
    if not isinstance(fuse, str) or fuse != "all":
        raise TilewrightError("one layer has nothing to fuse", where="fuse", hint="give a cascade: tw.cascade([...])")


def warn(text: str) -> None:
    """A warning for those that call from Python."""
    warnings.warn(text, RuntimeWarning, stacklevel=2)
