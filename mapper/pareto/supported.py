"""Supported points: those that are the least of some weighted sum of energy and latency.

They are the corners of the convex hull of all points. Take the weighted sum in which two known
corners are equal. Its minimum is either on the line between them, and then no point lies below that line; or it is a
new corner between the two. Points of the front that are not on the hull lie in the triangles between neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic

from ...cost_models import Capped, Objective
from ...cost_models.objective import LIMIT_TOLERANCE
from ..kernel.tolerance import cutoff_of
from .front import Each, Point
from .regions import Line, Opening, least_value, line_across
from .weights import Weights, weights_between, weights_of

PRODUCTS = {"edp": 1, "ed2p": 2}
"""Objectives that are least at a supported point, where there are no limits, and the power of latency in them."""

ALIKE = 1e-4
"""Weighted sums this close to each other, and bounds that gain no more than this part, tell the same."""


@dataclass(frozen=True)
class Neighbours(Generic[Each]):
    """Two supported points, the second with less latency, of which nothing between is supported that matters.

    weights  the sum that both weigh the same in
    least    what nothing weighs less than
    """

    left: Each
    right: Each
    weights: Weights
    least: float


def supported_between(
    left: Each,
    right: Each,
    point: Callable[[Each], Point],
    least_of: Callable[[Weights], Each | None],
    matters: Callable[[float, float], bool],
) -> list[Neighbours[Each]]:
    """Find all supported points between two of them that may matter; neighbours, from the least energy on.

    point     energy and latency of one
    least_of  the least of a weighted sum, that notes what it finds
    matters   whether something of no less energy and latency than these could be wanted; else it is not looked for
    """
    weights = weights_between(point(left), point(right))
    if weights is None or not matters(point(left)[0], point(right)[1]):
        return []
    found = least_of(weights)
    on_line = cutoff_of(weights.of(*point(left)))
    if found is None or weights.of(*point(found)) >= on_line:
        return [Neighbours(left, right, weights, on_line)]
    first = supported_between(left, found, point, least_of, matters)
    return first + supported_between(found, right, point, least_of, matters)


def sums_into(
    opening: Opening, points: Iterable[Point], lines: Sequence[Line], objective: Objective
) -> Iterator[Weights]:
    """Weighted sums that may say more of what is open below some lines, and have not been searched: of the line that
    leaves most below, and of the one along which a product is least at the corner of the opening."""
    known = [weights for weights, _ in lines]
    for weights in (line_across(opening, points), in_balance(objective, *opening.corner)):
        if weights is not None and not any(_are_alike(weights, one) for one in known):
            known.append(weights)
            yield weights


def _are_alike(one: Weights, other: Weights) -> bool:
    return one.energy == other.energy and math.isclose(one.latency, other.latency, rel_tol=ALIKE)


def in_balance(objective: Objective, energy: float, latency: float) -> Weights:
    """The weighted sum along which a product changes least at some energy and latency: as much of energy as of latency,
    for EDP."""
    return Weights(1.0, PRODUCTS.get(objective.name, 1) * energy / max(latency, 1.0))


def limits_of(objective: Objective) -> tuple[float, float]:
    """The most energy and latency that are asked for, with a little more for the rounding of floats."""
    if not isinstance(objective, Capped):
        return math.inf, math.inf
    slack = 1 + LIMIT_TOLERANCE
    return objective.max_energy_pj * slack, objective.max_latency_cycles * slack


def least_on_lines(objective: Objective, lines: Sequence[Line], value: float) -> float:
    """What nothing that lies below no line has less of an objective than; infinite where nothing keeps its limits.

    value  of interest is what is less than this
    """
    base = objective.base if isinstance(objective, Capped) else objective
    is_least_at_corners = base.name in PRODUCTS or weights_of(base) is not None
    return least_value(lines, base.value, *limits_of(objective), *([] if is_least_at_corners else [value]))
