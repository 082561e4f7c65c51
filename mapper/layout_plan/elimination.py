"""The least sum of terms that depend on a few variables each: variables are eliminated one after the other.

To eliminate a variable, the terms that have it are added up, and the least over its values becomes one new term of the
others. That is exact, whatever the graph; it takes as many numbers as there are values of the variables that meet in
one term, which are few where a network is a row of layers with residuals around some of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...ir import TilewrightError
from ..means import MOST_NUMBERS

Costs = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CostTerm:
    """Costs by the values of some variables: one axis for each."""

    variables: tuple[str, ...]
    costs: Costs


def least_sum(terms: Sequence[CostTerm], values: Mapping[str, int]) -> tuple[float, dict[str, int]]:
    """The least sum, and a value for each variable that has it.

    values  how many values each variable has

    Raises TilewrightError where too many variables meet.
    """
    left, constant = list(terms), 0.0
    chosen_by: list[tuple[str, tuple[str, ...], npt.NDArray[np.int64]]] = []
    remaining = set(values)
    while remaining:
        variable = min(sorted(remaining), key=lambda name: _numbers(_met(left, name), values))
        remaining.discard(variable)
        mine = [term for term in left if variable in term.variables]
        left = [term for term in left if variable not in term.variables]
        together = _added(mine, variable, values)
        rest = together.variables[1:]
        chosen_by.append((variable, rest, np.argmin(together.costs, axis=0)))
        left.append(CostTerm(rest, together.costs.min(axis=0)))
    constant = sum(float(term.costs) for term in left)
    found: dict[str, int] = {}
    for variable, rest, best in reversed(chosen_by):
        found[variable] = int(best[tuple(found[name] for name in rest)])
    return constant, found


def _met(terms: Sequence[CostTerm], variable: str) -> set[str]:
    return {name for term in terms if variable in term.variables for name in term.variables}


def _numbers(variables: set[str], values: Mapping[str, int]) -> int:
    return int(np.prod([float(values[name]) for name in variables], dtype=np.float64))


def _added(terms: Sequence[CostTerm], first: str, values: Mapping[str, int]) -> CostTerm:
    """The sum of some terms, with the axis of one variable first."""
    names = (first, *sorted(_met(terms, first) - {first}))
    shape = tuple(values[name] for name in names)
    if _numbers(set(names), values) > MOST_NUMBERS:
        raise TilewrightError(
            f"{len(names)} tensors meet, with {' x '.join(map(str, shape))} choices",
            where="layouts of a network",
            hint="try fewer layouts",
        )
    total = np.zeros(shape)
    for term in terms:
        order = sorted(range(len(term.variables)), key=lambda axis: names.index(term.variables[axis]))
        shown = term.costs.transpose(order)
        index = iter(shown.shape)
        total = total + shown.reshape([next(index) if name in term.variables else 1 for name in names])
    return CostTerm(names, total)
