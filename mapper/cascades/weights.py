"""What a search over trees adds up: energy and latency, each with a weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...cost_models import Objective
from ...cost_models.formula import weights_in
from ..certificate import RELATIVE_TOLERANCE


@dataclass(frozen=True)
class Weights:
    """A weighted sum of energy (pJ) and latency (cycles), neither weight below 0."""

    energy: float
    latency: float

    def of(self, energy_pj: float, latency_cycles: float) -> float:
        """The sum."""
        return self.energy * energy_pj + self.latency * latency_cycles

    @property
    def energy_only(self) -> bool:
        """Whether latency counts for nothing."""
        return not self.latency


def weights_of(objective: Objective) -> Weights | None:
    """The weights of an objective that is a sum of energy and latency, without limits; None for all others."""
    if type(objective) is not Objective:
        return None
    found = weights_in(objective.formula)
    return None if found is None else Weights(*found)


def weights_between(left: tuple[float, float], right: tuple[float, float]) -> Weights | None:
    """The weighted sum that two points of (energy, latency) weigh the same in, where the second costs more energy and
    is faster; None where it does not, or is not."""
    costs_more = right[0] > left[0] * (1 + RELATIVE_TOLERANCE)
    is_faster = right[1] < left[1] * (1 - RELATIVE_TOLERANCE)
    return Weights(1.0, (right[0] - left[0]) / (left[1] - right[1])) if costs_more and is_faster else None


ENERGY_ALONE: Final = Weights(1.0, 0.0)
LATENCY_ALONE: Final = Weights(0.0, 1.0)
