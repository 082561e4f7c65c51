"""Why no mapping keeps the limits of an objective: how low energy and latency can get."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from ...cost_models import ENERGY, LATENCY, Capped, Cost, Objective
from ...cost_models.cascades import FusedCost
from ...ir import InfeasibleError


def unmet_limits(objective: Capped, least: Callable[[Objective], Cost | FusedCost]) -> InfeasibleError:
    """The error that says so.

    least  the cost of the best mapping of the same space by an objective without limits; an InfeasibleError that it
           raises says what else is in the way, and is passed on
    """
    figures = []
    if objective.max_energy_pj < inf:
        figures.append(f"the least energy is {least(ENERGY).energy_pj:.10g} pJ")
    if objective.max_latency_cycles < inf:
        figures.append(f"the least latency is {least(LATENCY).latency_cycles:.10g} cycles")
    both = "both limits" if len(figures) > 1 else "the limit"
    return InfeasibleError(
        f"no mapping keeps {both}: {', '.join(figures)}", where=f"objective {objective}", hint="raise the limit"
    )
