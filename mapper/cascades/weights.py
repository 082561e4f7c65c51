"""What a search over trees adds up: energy and latency, each with a weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...cost_models import Objective
from ...cost_models.formula import weights_in


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


ENERGY_ALONE: Final = Weights(1.0, 0.0)
LATENCY_ALONE: Final = Weights(0.0, 1.0)
