"""Objectives in joules and seconds, by which machines are compared: their cycles are not equally long."""

from __future__ import annotations

from collections.abc import Iterable

from ...arch import Architecture
from ...cost_models import EDP, ENERGY, LATENCY, Capped, Objective
from ...cost_models.objective import ED2P

_POWERS = {ENERGY.name: (1, 0), LATENCY.name: (0, 1), EDP.name: (1, 1), ED2P.name: (1, 2)}
"""Of energy and latency in what is minimized; a formula has its own numbers, of pJ and cycles."""
_UNITS = {(1, 0): "J", (0, 1): "s", (1, 1): "J s", (1, 2): "J s^2"}


def network_objective(objective: Objective) -> Objective:
    """What stands for a whole network: limits are of single layers; of several objectives, the first counts."""
    if isinstance(objective, Capped):
        objective = objective.base
    return objective.parts[0] if objective.is_lexicographic else objective


def si_unit(objective: Objective) -> str:
    """The unit of an objective in joules and seconds; "formula" for one in pJ and cycles."""
    name = network_objective(objective).name
    return _UNITS[_POWERS[name]] if name in _POWERS else "formula"


def unit_name(objective: Objective) -> str:
    """The unit as a part of a column's name: J_s; `value` for a formula."""
    return si_unit(objective).replace(" ", "_").replace("^", "").replace("formula", "value")


def in_si(objective: Objective, value: float, clock_hz: float) -> float:
    """A value in the objective's own unit, on a machine of that clock, in joules and seconds; of a formula as it is."""
    energies, times = _POWERS.get(network_objective(objective).name, (0, 0))
    return float(value * 1e-12**energies / clock_hz**times)


def machines_compare(objective: Objective, machines: Iterable[Architecture]) -> bool:
    """Whether values on these machines say which is better: in joules and seconds, or in cycles of one clock."""
    return si_unit(objective) != "formula" or len({machine.clock_hz for machine in machines}) < 2


def least_of_sums(objective: Objective, bounds: Iterable[tuple[int, float]]) -> float | None:
    """What the objective of summed energies and latencies is not below, where parts have bounds of their own, each with
    how often it occurs; None for a formula.

    By the inequalities of Cauchy and Hölder: of parts with least products p, the product of n sums is at least the sum
    of p^(1/n), to the power of n.
    """
    powers = _POWERS.get(network_objective(objective).name)
    if powers is None or objective.is_lexicographic:
        return None
    factors = sum(powers)
    return float(sum(repeat * bound ** (1 / factors) for repeat, bound in bounds) ** factors)
