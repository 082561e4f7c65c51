"""What a mapping costs where tensors have layouts: the page, and the same as data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from rich.console import Group
from rich.table import Table

from ..arch import Architecture
from ..cost_models.layouts import LayoutCost, LineTraffic
from ..ir import Mapping
from ..mapper.certificate import Certificate
from .text import columns, pairs, result_page, section
from .units import count, energy, percent


def layout_page(
    mapping: Mapping, arch: Architecture, cost: LayoutCost, certificate: Certificate | None = None
) -> Group:
    """The page of a result, whose figures are those with lines, and the lines."""
    return Group(
        result_page(mapping, arch, cost.cost, certificate),
        section("Lines, of tensors with a layout", _line_table(cost.lines)),
        section("With lines, and with every word by itself", pairs(_comparison_rows(cost))),
    )


def layout_data(
    mapping: Mapping, arch: Architecture, cost: LayoutCost, certificate: Certificate | None = None
) -> dict[str, Any]:
    """The figures of the page; energies in pJ, times in cycles."""
    return {
        "problem": mapping.problem.name,
        "architecture": arch.name,
        "nest": str(mapping.nest),
        "layouts": {f"{each.memory}.{each.tensor}": each.layout for each in cost.lines},
        **{name: asdict(part) for name, part in (("cost", cost.cost), ("packed", cost.packed))},
        "lines": [asdict(each) for each in cost.lines],
        **({"certificate": asdict(certificate)} if certificate is not None else {}),
    }


def _line_table(lines: Iterable[LineTraffic]) -> Table:
    table = columns(("memory", "tensor", "layout"), ("line", "lines read", "written", "words used of each", "energy"))
    last = ""
    for each in lines:
        passed, asked = each.reads + each.writes, each.words_read + each.words_written
        table.add_row(
            "" if each.memory == last else each.memory,
            each.tensor,
            each.layout,
            count(each.line_words),
            count(each.reads) if each.reads else "-",
            count(each.writes) if each.writes else "-",
            f"{asked / passed:,.1f}" if passed else "-",
            energy(each.energy_pj),
        )
        last = each.memory
    return table


def _comparison_rows(cost: LayoutCost) -> list[tuple[str, str]]:
    lined, packed = cost.cost, cost.packed
    return [
        (
            "Energy",
            f"{energy(lined.energy_pj)}, {percent(lined.energy_pj, packed.energy_pj)} of {energy(packed.energy_pj)}",
        ),
        (
            "Latency",
            f"{count(lined.latency_cycles)} cycles, {percent(lined.latency_cycles, packed.latency_cycles)} of "
            f"{count(packed.latency_cycles)}",
        ),
    ]
