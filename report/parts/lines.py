"""Where words lie in memories with lines, and what that costs."""

from __future__ import annotations

from dataclasses import astuple

from rich.console import RenderableType

from ...arch import Architecture, Memory
from ...cost_models import Cost, evaluate
from ...cost_models.cascades import with_work_layouts
from ...cost_models.closed_form import LineBox
from ...cost_models.cost import held_width_bits
from ...cost_models.layouts import Arrangement, LineCounts, arrangement, has_lines, layout_in, packed, rank_names
from ...ir import Mapping, MappingError, Tensor
from ...ir.units import energy, plural, significant
from .costs import by_operation
from .leaves import OperationNest, leaf_lines, leaves_of
from .text import pairs, section

LINE_COLUMNS = ("memory", "tensor", "layout", "a line holds"), ("lines read", "lines written", "full")
"""Titles of `line_rows`: texts, and numbers."""

BANK_COLUMNS = ("memory", "tensor", "in different banks"), ("lines", "cycles", "lines per cycle")
"""Titles of `bank_rows`: texts, and numbers."""


def line_parts(mapping: Mapping, arch: Architecture, cost: Cost) -> list[RenderableType]:
    """Of a machine with lines: which of them pass, and what the same mapping costs with other layouts."""
    if not has_lines(arch):
        return []
    leaves = leaves_of(mapping, arch, cost)
    counts = zip(leaves, leaf_lines(mapping, arch), strict=True)
    lines = by_operation(LINE_COLUMNS, ((leaf.name, line_rows(leaf)) for leaf in leaves))
    banks = by_operation(
        BANK_COLUMNS, ((leaf.name, bank_rows(leaf.mapping, leaf.arch, found)) for leaf, found in counts)
    )
    return [
        section("Lines, by layout", lines),
        *([section("Banks, at the busiest instance", banks)] if banks.row_count else []),
        section("The same mapping with other layouts", pairs(other_layout_rows(mapping, arch, cost))),
    ]


def bank_rows(mapping: Mapping, arch: Architecture, counts: LineCounts) -> list[tuple[str, ...]]:
    """Every tensor in every memory with banks, at the busiest instance: which lines lie in different banks, how many
    pass, and for how many cycles they keep their busiest bank busy."""
    rows: list[tuple[str, ...]] = []
    for memory in arch.memories:
        for tensor in mapping.problem.tensors:
            lines, cycles = (table.get((memory.name, tensor.name)) for table in (counts.busiest, counts.banks))
            if lines is None or cycles is None:
                continue
            passed, taken = sum(astuple(lines)), sum(astuple(cycles))
            spread = _box_text(tensor, _arrangement(mapping, arch, memory, tensor).banks, "1 line")
            per_cycle = significant(passed / taken) if taken else "-"
            rows.append((memory.name, tensor.name, spread, f"{passed:,}", f"{taken:,}", per_cycle))
    return rows


def line_rows(leaf: OperationNest) -> list[tuple[str, ...]]:
    """Every tensor in every memory with lines: its layout, what a line holds, lines that pass, how full they are."""
    rows: list[tuple[str, ...]] = []
    mapping, arch = leaf.mapping, leaf.arch
    words = {(traffic.memory, traffic.tensor): traffic for traffic in leaf.cost.traffic}
    for memory in arch.memories:
        for tensor in mapping.problem.tensors:
            traffic = words.get((memory.name, tensor.name))
            if memory.line_bits is None or traffic is None or traffic.lines is None:
                continue
            lines = traffic.lines
            read, written = lines.supplied + lines.drained, lines.collected + lines.filled
            wanted = (traffic.reads + traffic.writes) * held_width_bits(arch, memory, tensor)
            full = f"{wanted / ((read + written) * memory.line_bits):.1%}" if read + written else "-"
            layout = layout_in(memory, tensor).text(tensor)
            held = _held(mapping, arch, memory, tensor)
            rows.append((memory.name, tensor.name, layout, held, f"{read:,}", f"{written:,}", full))
    return rows


def _held(mapping: Mapping, arch: Architecture, memory: Memory, tensor: Tensor) -> str:
    """Indices of each rank in one line: `8 K x 4 Q`, the outermost first."""
    return _box_text(tensor, _arrangement(mapping, arch, memory, tensor).line, "1 word")


def _arrangement(mapping: Mapping, arch: Architecture, memory: Memory, tensor: Tensor) -> Arrangement:
    layout = layout_in(memory, tensor)
    return arrangement(memory, mapping.problem, tensor, layout, held_width_bits(arch, memory, tensor))


def _box_text(tensor: Tensor, box: LineBox, single: str) -> str:
    names = [min(rank, key=len) for rank in rank_names(tensor)]
    parts = [f"{count} {name}" for count, name in zip(box, names, strict=True) if count > 1]
    return " x ".join(parts) or single


def other_layout_rows(mapping: Mapping, arch: Architecture, cost: Cost) -> list[tuple[str, str]]:
    """The same mapping with every line full, which is the least that there could be, and with plain layouts."""
    full = _with_layouts(mapping, packed(arch))
    rows = [("As they lie", _figures(cost, cost)), ("Lines all full", _figures(full, cost))]
    for name in ("row-major", "column-major"):
        try:
            other = _with_layouts(mapping, arch, {"all": name})
        except MappingError as error:
            rows.append((f"All {name}", f"does not fit {error.where}: whole lines take more room than words"))
            continue
        rows.append((f"All {name}", _figures(other, cost)))
    return rows


def _with_layouts(mapping: Mapping, arch: Architecture, layouts: dict[str, str] | None = None) -> Cost:
    """What a mapping costs with some layouts stated."""
    return evaluate(mapping, with_work_layouts(arch, mapping.work, layouts or {}))


def _figures(found: Cost, cost: Cost) -> str:
    times = "" if found is cost else f", {significant(found.edp / cost.edp)} times the EDP"
    return f"{energy(found.energy_pj)}, {plural(round(found.latency_cycles), 'cycle')}{times}"
