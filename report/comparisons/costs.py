"""What a cost is made of: its energy by memory and tensor, its latency by what it could wait for, bytes moved."""

from __future__ import annotations

from dataclasses import dataclass

from ...cost_models import Cost
from ..parts.tables import Table, Value

MAC = "MAC"
LEAKAGE = "leakage"


@dataclass(frozen=True)
class EnergyPart:
    """A part of an energy: of one tensor at one memory or on its way through one fanout; or, where no tensor is named,
    of the MACs, or what leaks.

    place      a memory or a fanout, "MAC" or "leakage"
    tensor     its name, or nothing
    energy_pj  of this part
    """

    place: str
    tensor: str
    energy_pj: float


def energy_parts(cost: Cost) -> tuple[EnergyPart, ...]:
    """The energy by memory and tensor, outermost first, by fanout and tensor, of the MACs, and leakage; together all of
    it. Hops and leakage are listed where the architecture states them."""
    parts = [EnergyPart(traffic.memory, traffic.tensor, traffic.energy_pj) for traffic in cost.traffic]
    parts += [EnergyPart(use.fanout, use.tensor, use.energy_pj) for use in cost.networks]
    parts.append(EnergyPart(MAC, "", cost.mac_energy_pj))
    return (*parts, EnergyPart(LEAKAGE, "", cost.leakage_pj)) if cost.leakage_pj else tuple(parts)


def cost_table(cost: Cost) -> Table:
    """One row for each memory and tensor, and one for each other part of the energy; of a cascade, of every operation,
    with leakage of the whole run at the end."""
    columns = ("place", "tensor", "words_read", "words_written", "energy_pJ")
    if not cost.operations:
        return Table("cost", columns, _cost_rows(cost))
    rows: list[tuple[Value, ...]] = []
    for name, part in cost.operations.items():
        rows += [(name, *row) for row in _cost_rows(part) if row[0] != LEAKAGE]
    rows += [("", LEAKAGE, "", None, None, cost.leakage_pj)] if cost.leakage_pj else []
    return Table("cost", ("operation", *columns), rows)


def _cost_rows(cost: Cost) -> list[tuple[Value, ...]]:
    words = {(traffic.memory, traffic.tensor): (traffic.reads, traffic.writes) for traffic in cost.traffic}
    return [
        (part.place, part.tensor, *words.get((part.place, part.tensor), (None, None)), part.energy_pj)
        for part in energy_parts(cost)
    ]


def latency_parts(cost: Cost) -> dict[str, float]:
    """Cycles by what the latency could wait for: `compute`, and the ports of every memory, outermost first; and, where
    the architecture has them, the `fill` by first and last tiles and the filling of `arrays`, which add to them."""
    parts = {"compute": cost.compute_cycles} | {memory.name: memory.cycles for memory in cost.memories}
    adding = {"fill": cost.fill_cycles, "arrays": cost.array_cycles}
    return parts | {name: cycles for name, cycles in adding.items() if cycles}


def outer_bytes(cost: Cost) -> float:
    """Bytes that the outermost memory reads and writes."""
    outermost = cost.memories[0]
    return (outermost.read_bits + outermost.write_bits) / 8
