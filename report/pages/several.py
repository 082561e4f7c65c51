"""More than one result on one page: the best few mappings, or a Pareto front."""

from __future__ import annotations

from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from ...arch import Architecture
from ...ir.units import count, energy, percent, significant
from ...mapper.certificate import Points
from ...mapper.question import Answer
from ..parts.proofs import verdict_of
from ..parts.text import architecture_rows, columns, layer_rows, pairs, section


def several_page(results: Points[Answer], arch: Architecture, told: str, out: Path | None = None) -> Group:
    """A line for each result, best first, and where its files are.

    told  whether any is missing
    """
    table = columns(["#"], ["energy", "cycles", "EDP (pJ x cycles)", "utilization", "objective", "proof"])
    for number, answer in enumerate(results, 1):
        cost, certificate = answer.cost, answer.certificate
        table.add_row(
            str(number),
            energy(cost.energy_pj),
            count(cost.latency_cycles),
            significant(cost.edp, 6),
            percent(cost.utilization, 1),
            certificate.objective,
            verdict_of(certificate),
        )
    parts: list[RenderableType] = [
        pairs([*layer_rows(results[0].mapping.problem), *architecture_rows(arch)]),
        section("Mappings", Group(table, *([Text("\n" + told)] if told else []))),
    ]
    if out is not None:
        parts.append(section("Files", f"{out}/1 to {out}/{len(results)}"))
    return Group(*parts)
