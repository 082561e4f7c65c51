"""The least sum of terms that depend on a few variables each: variables are eliminated one after the other.

To eliminate a variable, the terms that have it are added up, and the least over its values becomes one new term of the
others. That is exact, whatever the graph; it takes as many numbers as there are values of the variables that meet in
one term, which are few where a network is a row of layers with residuals around some of them.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
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

    Where equal parts of a network have the same arrays, what is made of them is made once. Raises TilewrightError where
    too many variables meet.
    """
    place = {name: number for number, name in enumerate(values)}
    of_variable: dict[str, list[CostTerm]] = {name: [] for name in values}
    constant = 0.0
    for term in terms:
        for name in dict.fromkeys(term.variables):
            of_variable[name].append(term)
        constant += 0.0 if term.variables else float(term.costs)
    known: dict[object, tuple[Costs, npt.NDArray[np.int64]]] = {}  # keeps its arrays, so that none has another's id
    queue = [(_numbers(_met(own, name), values), place[name], name) for name, own in of_variable.items()]
    heapq.heapify(queue)
    chosen_by: list[tuple[str, tuple[str, ...], npt.NDArray[np.int64]]] = []
    while queue:
        size, _, variable = heapq.heappop(queue)
        mine = of_variable.get(variable)
        if mine is None or size != _numbers(_met(mine, variable), values):
            continue  # it has been queued again since
        del of_variable[variable]
        rest = tuple(sorted(_met(mine, variable) - {variable}, key=place.__getitem__))
        names = {name: axis for axis, name in enumerate((variable, *rest))}
        each = tuple((id(term.costs), tuple(names[name] for name in term.variables)) for term in mine)
        key = each, tuple(values[name] for name in names)
        if key not in known:
            together = _added(mine, names, values)
            known[key] = together.min(axis=0), np.argmin(together, axis=0)
        least, best = known[key]
        chosen_by.append((variable, rest, best))
        made = CostTerm(rest, least)
        constant += 0.0 if rest else float(least)
        for name in rest:
            of_variable[name] = [term for term in of_variable[name] if variable not in term.variables] + [made]
            heapq.heappush(queue, (_numbers(_met(of_variable[name], name), values), place[name], name))
    found: dict[str, int] = {}
    for variable, rest, best in reversed(chosen_by):
        found[variable] = int(best[tuple(found[name] for name in rest)])
    return constant, found


def _met(terms: Sequence[CostTerm], variable: str) -> set[str]:
    return {variable}.union(*(term.variables for term in terms))


def _numbers(variables: Iterable[str], values: Mapping[str, int]) -> int:
    return math.prod(values[name] for name in variables)


def _added(terms: Sequence[CostTerm], names: Mapping[str, int], values: Mapping[str, int]) -> Costs:
    """The sum of some terms, with an axis for each of these variables."""
    shape = tuple(values[name] for name in names)
    if math.prod(shape) > MOST_NUMBERS:
        raise TilewrightError(
            f"{len(names)} tensors meet, with {' x '.join(map(str, shape))} choices",
            where="layouts of a network",
            hint="try fewer layouts",
        )
    total = np.zeros(shape)
    for term in terms:
        order = sorted(range(len(term.variables)), key=lambda axis: names[term.variables[axis]])
        shown = iter(term.costs.transpose(order).shape)
        total += term.costs.transpose(order).reshape([next(shown) if one in term.variables else 1 for one in names])
    return total
