"""What a part weighs at least that takes something more than its operations do, for many shared loops at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...pareto.weights import Weights, Yardstick
from ..terms.parts import VisitedPart
from ..terms.upper_memories import Floats
from .loop_choices import Least
from .part_bounds import OwnLeast, PartBounds


@dataclass(frozen=True, eq=False)
class LoopWeights:
    """Weights of one part.

    own      what its operations take
    measure  what weights are of
    """

    bounds: PartBounds
    own: OwnLeast
    measure: Yardstick

    def __call__(self, more: Least) -> Floats:
        """(n,) what the part weighs at least that takes more than its operations do by themselves."""
        return self.of(more.energy, more.cycles)

    def of(self, energy_pj: Floats, cycles: Floats) -> Floats:
        """(n,) the same.

        energy_pj, cycles  (n,) and (operations, ports, n) that it takes more

        With all tensors near, an operation weighs `both_pj` more than its least energy and its least latency together.
        Where ports make it wait, it has that least energy, and weighs what it waits for more, or it weighs `both_pj`
        more: a mapping that takes its time may be best in energy. So of these two the larger counts, not both."""
        bounds, own, measure = self.bounds, self.own, self.measure
        if not bounds.timed and isinstance(measure, Weights):
            found: Floats = measure.energy * (own.energy_pj + energy_pj)
            return found
        fits = energy_pj < np.inf
        energy = np.where(fits, own.energy_pj + own.both_pj.sum() + energy_pj, 0.0)  # whatever energy weighs
        latency = np.zeros_like(energy)
        if bounds.timed:
            ports = (own.busy[:, :, None] + cycles).max(axis=1, initial=0.0)
            latency = np.maximum(own.cycles[:, None], ports).sum(axis=0)
            if own.both_pj.any():
                per_cycle = bounds.leakage + bounds.weights.latency / bounds.weights.energy
                waits = np.maximum(ports - own.cycles[:, None], 0.0)
                energy = energy - np.minimum(own.both_pj[:, None], per_cycle * waits).sum(axis=0)
            energy = energy + (bounds.leakage * latency if bounds.leakage else 0.0)
        return np.where(fits, measure.of_each(energy, latency), np.inf)


def loop_weights(bounds: PartBounds, part: VisitedPart, measure: Yardstick | None = None) -> LoopWeights:
    """Weights of a part.

    measure  what they are of, with all that operations take counted apart; None: of what the part weighs, by choices
             for tensors that know what an operation weighs more with all of them near (`TensorBounds`)
    """
    own = bounds.own(part)
    if measure is None:
        return LoopWeights(bounds, own, bounds.weights)
    return LoopWeights(bounds, replace(own, both_pj=0.0 * own.both_pj), measure)
