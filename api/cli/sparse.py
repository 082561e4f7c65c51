"""`--density`: operands with zeros (docs/sparse.md)."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Problem, TilewrightError


def with_density(problem: Problem, given: Sequence[str] | None) -> Problem:
    """The problem with the densities of `--density`, in place of those that it has."""
    if not given:
        return problem
    from ..cost_models.sparse import with_densities

    try:
        return with_densities(problem, list(given))
    except TilewrightError as error:
        raise error.located("--density") from None
