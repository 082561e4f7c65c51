"""`--density`: operands with zeros, in `tilewright evaluate` and `tilewright search` (docs/sparse.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ..ir import Problem, TilewrightError
from .terminal import noting_interrupts, say, show_document, show_page, status

if TYPE_CHECKING:
    from ..arch import Architecture
    from ..arguments import ConstraintsLike
    from ..cost_models.sparse import Density
    from ..mapper.space import Space
    from ..mapper.tilings import Tiling
    from ..mapping_sources import AnyMapping


def evaluate_densities(source: str, loaded: AnyMapping, given: list[str], json: bool) -> None:
    """What a mapping costs where operands have zeros, as a page or as data."""
    from ..cost_models.sparse import evaluate_sparse
    from ..report.sparse import sparse_data, sparse_page

    densities = _densities(given, loaded.mapping.problem)
    try:
        cost = evaluate_sparse(loaded.mapping, loaded.arch, densities)
    except TilewrightError as error:
        raise error.located(source) from None
    if json:
        show_document(sparse_data(loaded.mapping, loaded.arch, densities, cost))
    else:
        show_page(sparse_page(loaded.mapping, loaded.arch, densities, cost))


def search_densities(
    problem: Problem,
    arch: Architecture,
    given: list[str],
    asked: tuple[str, Space, ConstraintsLike],
    limits: tuple[str | None, float | None, str],
    json: bool,
) -> None:
    """The best mapping where operands have zeros, with its proof, as a page or as data.

    asked   objective, space and constraints
    limits  tiling, seconds and bytes
    """
    from ..arguments import limits_of, question_of
    from ..mapper.sparse_search import search_sparse
    from ..report.sparse import sparse_data, sparse_page

    (objective, space, constraints), (tiling, time_limit, memory_limit) = asked, limits
    densities = _densities(given, problem)
    kind = cast("Tiling", tiling or "perfect")
    question = question_of(problem, arch, objective, kind, space, constraints, limits_of(time_limit, memory_limit))
    with noting_interrupts() as interrupts, status(f"searching the best mapping of {problem.name} on {arch.name}"):
        answer = search_sparse(question, densities)
    if interrupts:
        say("interrupted: this is the best found so far; the same command searches to the end")
    if json:
        show_document(sparse_data(answer.mapping, arch, densities, answer.cost, answer.certificate))
    else:
        show_page(sparse_page(answer.mapping, arch, densities, answer.cost, answer.certificate))


def _densities(given: list[str], problem: Problem) -> dict[str, Density]:
    from ..cost_models.sparse import parse_densities

    try:
        return parse_densities(given, problem)
    except TilewrightError as error:
        raise error.located("--density") from None
