"""Where words lie in memories with lines, and what that costs."""

from __future__ import annotations

from ..arch import Architecture, Memory
from ..cost_models import Cost, evaluate
from ..cost_models.cost import held_width_bits
from ..cost_models.layouts import layout_in, line_box, packed, rank_names
from ..cost_models.layouts.choices import with_layouts
from ..ir import Mapping, MappingError, Tensor
from .units import energy, plural, significant

LINE_COLUMNS = ("memory", "tensor", "layout", "a line holds"), ("lines read", "lines written", "full")
"""Titles of `line_rows`: texts, and numbers."""


def line_rows(mapping: Mapping, arch: Architecture, cost: Cost) -> list[tuple[str, ...]]:
    """Every tensor in every memory with lines: its layout, what a line holds, lines that pass, how full they are."""
    rows: list[tuple[str, ...]] = []
    words = {(traffic.memory, traffic.tensor): traffic for traffic in cost.traffic}
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
    layout = layout_in(memory, tensor)
    box = line_box(memory, mapping.problem, tensor, layout, held_width_bits(arch, memory, tensor))
    names = [min(rank, key=len) for rank in rank_names(tensor)]
    parts = [f"{count} {name}" for count, name in zip(box, names, strict=True) if count > 1]
    return " x ".join(parts) or "1 word"


def other_layout_rows(mapping: Mapping, arch: Architecture, cost: Cost) -> list[tuple[str, str]]:
    """The same mapping with every line full, which is the least that there could be, and with plain layouts."""
    rows = [("As they lie", _figures(cost, cost)), ("Lines all full", _figures(evaluate(mapping, packed(arch)), cost))]
    for name in ("row-major", "column-major"):
        try:
            other = evaluate(mapping, with_layouts(arch, mapping.problem, {"all": name}))
        except MappingError as error:
            rows.append((f"All {name}", f"does not fit {error.where}: whole lines take more room than words"))
            continue
        rows.append((f"All {name}", _figures(other, cost)))
    return rows


def _figures(found: Cost, cost: Cost) -> str:
    times = "" if found is cost else f", {significant(found.edp / cost.edp)} times the EDP"
    return f"{energy(found.energy_pj)}, {plural(round(found.latency_cycles), 'cycle')}{times}"
