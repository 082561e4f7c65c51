"""What the page of a comparison shows, as one document of plain values.

Energies are in pJ, latencies in cycles and seconds, rates in MACs per second.
"""

from __future__ import annotations

from typing import Any

from ....arch import Architecture
from ....arch.ports import bits_per_cycle
from ....ir.units import energy, percent, plural, seconds
from ...explain.dialog import mapping_parts
from ...parts.si import machines_compare, network_objective, si_unit
from ...web import Detail, Details, text_part
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
    details = Details()
    rows = [_row(comparison, row, details) for row in comparison.rows]
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
        **details.data(),
    }


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


def _row(comparison: Comparison, row: Row, details: Details) -> Document:
    found: Document = {
        "network": row.network,
        "layer": row.layer,
        "kind": row.kind,
        "repeat": row.repeat,
        "arch": row.arch,
        "dataflow": row.dataflow,
        "status": row.status,
        "macs": row.problem.macs,
        "detail": _add_detail(comparison, row, details),
    }
    cost = row.cost
    if cost is None:
        return found | {"why": row.diagnosis.partition("\n")[0]}
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
    }


def _add_detail(comparison: Comparison, row: Row, details: Details) -> str:
    """The dialog of a row."""
    name = f"row-{len(details.found)}"
    title = f"{row.layer} of {row.network} on {row.arch}, {row.dataflow}"
    cost, proof, mapping = row.cost, row.certificate, row.mapping
    if cost is None or proof is None or mapping is None:
        told = "The search could not be run to its end." if row.status == "failed" else "There is no mapping."
        return details.add(name, Detail(title, told, [text_part("Why", row.diagnosis)], row.command))
    penalty = comparison.penalty(row)
    told = f"{energy(cost.energy_pj)}, {seconds(cost.latency_s)}, {percent(cost.utilization, 1)} of the MACs busy, "
    told += f"limited by {cost.limited_by}" + (f", {penalty:.3f} times the free choice" if penalty else "")
    told += f"; it occurs {plural(row.repeat, 'time')}." if row.repeat > 1 else "."
    return details.add(
        name, Detail(title, told, mapping_parts(details, mapping, row.machine, cost, proof), row.command)
    )
