"""Why no mapping keeps the limits of an objective: how low energy and latency can get."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from ..cost_models import ENERGY, LATENCY, Capped, Objective
from ..ir import InfeasibleError


def unmet_limits(objective: Capped, least: Callable[[Objective], tuple[float, bool]]) -> InfeasibleError:
    """The error that says so.

    least  what no mapping of the same space is below by an objective without limits, and whether one is as low; an
           InfeasibleError that it raises says what else is in the way, and is passed on
    """
    figures = []
    for limit, one in ((objective.max_energy_pj, ENERGY), (objective.max_latency_cycles, LATENCY)):
        if limit < inf:
            bound, is_known = least(one)
            least_words = f"the least {one.name} is {'' if is_known else 'at least '}{bound:.10g} {one.unit}"
            unknown = f"how low {one.name} can get was not found in time"
            figures.append(least_words if is_known or bound > limit else unknown)
    both = "both limits" if len(figures) > 1 else "the limit"
    return InfeasibleError(
        f"no mapping keeps {both}: {', '.join(figures)}", where=f"objective {objective}", hint="raise the limit"
    )
