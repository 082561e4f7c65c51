"""What a cost is made of: its energy by memory and tensor, its latency by what it could wait for, bytes moved."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..cost_models import Cost

MAC = "MAC"
OTHER = "other"
_ROUNDING = 1e-9


@dataclass(frozen=True)
class EnergyPart:
    """A part of an energy: of one tensor at one memory; of the MACs, or of anything else, where no tensor is named."""

    place: str
    tensor: str
    energy_pj: float


def energy_parts(cost: Cost) -> tuple[EnergyPart, ...]:
    """The energy by memory and tensor, outermost first, then that of the MACs; together all of it."""
    parts = [EnergyPart(traffic.memory, traffic.tensor, traffic.energy_pj) for traffic in cost.traffic]
    parts.append(EnergyPart(MAC, "", cost.mac_energy_pj))
    rest = cost.energy_pj - math.fsum(part.energy_pj for part in parts)
    if rest > _ROUNDING * cost.energy_pj:
        parts.append(EnergyPart(OTHER, "", rest))
    return tuple(parts)


def latency_parts(cost: Cost) -> dict[str, float]:
    """Cycles by what the latency could wait for: `compute`, and the ports of every memory, outermost first."""
    return {"compute": cost.compute_cycles} | {memory.name: memory.cycles for memory in cost.memories}


def outer_bytes(cost: Cost) -> float:
    """Bytes that the outermost memory reads and writes."""
    outermost = cost.memories[0]
    return (outermost.read_bits + outermost.write_bits) / 8
