"""What the page of a comparison shows, as one document of plain values.

Texts that come again, such as loop nests of layers of one shape, stand once, in `texts`; rows refer to them by number.
Energies are in pJ, latencies in cycles and seconds, rates in MACs per second.
"""

from __future__ import annotations

from typing import Any

from ....arch import Architecture
from ....arch.ports import bits_per_cycle
from ....ir import Mapping
from ....ir.units import count, plural, significant
from ....mapper.certificate import Certificate
from ...explain.picture import mapping_svg
from ...parts.proofs import proof_rows, pruned_row
from ...parts.si import machines_compare, network_objective, si_unit
from ...web.details import packed
from ..compared import Summary
from ..comparison import Comparison
from ..hybrid import Hybrid
from ..page import best_text, proof_words
from ..rows import Row
from ..summaries import Winner

Document = dict[str, Any]


def page_title(comparison: Comparison) -> str:
    """The title of the page."""
    return f"{', '.join(comparison.networks)}: dataflows across architectures"


def asked(comparison: Comparison) -> tuple[tuple[str, str], ...]:
    """What was asked."""
    settings = comparison.settings
    unproven = sum(row.status == "unproven" for row in comparison.rows)
    return (
        ("Objective", settings.objective.name),
        ("Space", f"{settings.space}, {settings.tiling} tilings"),
        ("Architectures", ", ".join(comparison.archs)),
        ("Dataflows", ", ".join(comparison.dataflows)),
        ("Proof", f"{plural(unproven, 'mapping')} not proven" if unproven else "all mappings proven optimal"),
    )


def page_data(comparison: Comparison) -> Document:
    """The document of a comparison."""
    texts, pictures = Numbered(), Pictures()
    rows = [_row(comparison, row, texts, pictures) for row in comparison.rows]
    goal = network_objective(comparison.settings.objective)
    return {
        "objective": {
            "name": goal.name,
            "unit": si_unit(goal).replace("formula", "of pJ and cycles"),
            "compares": machines_compare(goal, comparison.machines.values()),
        },
        "networks": list(comparison.networks),
        "archs": [_machine(comparison.machines[name]) for name in comparison.archs],
        "dataflows": list(comparison.dataflows),
        "summaries": [_summary(comparison, s) for s in comparison.summaries()],
        "winners": [_winner(w) for w in comparison.winners()],
        "hybrids": [_hybrid(h) for h in comparison.hybrids()],
        "rows": rows,
        "texts": texts.found,
        "pictures": packed(pictures.found),
    }


class Numbered:
    """Texts by number, each once."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        if text not in self._numbers:
            self._numbers[text] = len(self.found)
            self.found.append(text)
        return self._numbers[text]


class Pictures:
    """The pictures of mappings by number, each drawn once: many dataflows come to one mapping."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._numbers: dict[tuple[Mapping, str], int] = {}

    def number(self, mapping: Mapping, arch: Architecture) -> int:
        key = mapping, arch.name
        if key not in self._numbers:
            self._numbers[key] = len(self.found)
            self.found.append(mapping_svg(mapping, arch))
        return self._numbers[key]


def _machine(arch: Architecture) -> Document:
    """An architecture, with its roofline: MACs per second, and bytes per second of the outermost memory."""
    outermost = arch.memories[0]
    bits = bits_per_cycle(outermost)
    return {
        "name": arch.name,
        "description": arch.description,
        "macs": arch.mac_instances,
        "peak": arch.mac_instances * arch.mac.per_cycle * arch.clock_hz,
        "bandwidth": bits / 8 * arch.clock_hz if bits else None,
        "outermost": outermost.name,
    }


def _summary(comparison: Comparison, s: Summary) -> Document:
    rows = comparison.of(s.network, s.arch, s.dataflow)
    return {
        "network": s.network,
        "arch": s.arch,
        "dataflow": s.dataflow,
        "missing": len(s.missing),
        "proof": proof_words(s),
        "energy": s.energy_pj,
        "seconds": s.latency_s,
        "value": s.value,
        "utilization": s.utilization,
        "penalty": s.penalty,
        "layerPenalty": s.layer_penalty,
        "limits": _limits(rows),
    }


def _limits(rows: tuple[Row, ...]) -> dict[str, float]:
    """Seconds of all occurrences by what they wait for."""
    found: dict[str, float] = {}
    for row in rows:
        if row.cost is not None:
            found[row.cost.limited_by] = found.get(row.cost.limited_by, 0.0) + row.repeat * row.cost.latency_s
    return found


def _winner(w: Winner) -> Document:
    return {
        "arch": w.arch,
        "kind": w.kind,
        "dataflow": w.dataflow,
        "layers": w.layers,
        "mapped": w.mapped,
        "wins": w.wins,
        "penalty": w.layer_penalty,
    }


def _hybrid(h: Hybrid) -> Document:
    return {
        "network": h.network,
        "arch": h.arch,
        "single": best_text(h.ties, h.compared) if h.single else None,
        "gain": h.gain,
        "overFree": h.hybrid_value / h.free_value if h.hybrid_value and h.free_value else None,
        "choice": _counted(h),
    }


def _counted(h: Hybrid) -> dict[str, int]:
    """How many layers take which dataflow."""
    chosen = list(h.choice.values())
    return {dataflow: chosen.count(dataflow) for dataflow in sorted(set(chosen))}


def _row(comparison: Comparison, row: Row, texts: Numbered, pictures: Pictures) -> Document:
    found: Document = {
        "network": row.network,
        "layer": row.layer,
        "kind": row.kind,
        "repeat": row.repeat,
        "arch": row.arch,
        "dataflow": row.dataflow,
        "status": row.status,
        "macs": row.problem.macs,
        "command": texts.number(row.command),
    }
    cost, proof, mapping = row.cost, row.certificate, row.mapping
    if cost is None or proof is None or mapping is None:
        return found | {"diagnosis": texts.number(row.diagnosis)}
    return found | {
        "energy": cost.energy_pj,
        "cycles": cost.latency_cycles,
        "seconds": cost.latency_s,
        "value": row.value,
        "utilization": cost.utilization,
        "limit": cost.limited_by,
        "penalty": comparison.penalty(row),
        "intensity": row.operational_intensity,
        "parts": [[part.place, part.tensor, part.energy_pj] for part in row.energy_parts if part.energy_pj],
        "waits": {name: cycles for name, cycles in row.latency_parts.items() if cycles},
        "nest": texts.number(row.nest),
        "picture": pictures.number(mapping, row.machine),
        "certificate": _certificate(proof),
    }


def _certificate(proof: Certificate) -> list[list[str]]:
    """The lines of a certificate: what, and how much."""
    size = "" if proof.space_size is None else f", {count(proof.space_size)} mappings"
    return [
        *map(list, proof_rows(proof)),
        ["Space", f"{proof.space}, {proof.tiling} tilings{size}"],
        ["Evaluated", count(proof.evaluated)],
        list(pruned_row(proof)),
        ["Seconds", significant(proof.seconds)],
    ]
