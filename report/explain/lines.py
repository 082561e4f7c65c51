"""What it costs where words lie: lines that are not full, other layouts, and waiting for banks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple

from ...arch import Architecture, Memory
from ...cost_models import Cost, TensorTraffic
from ...cost_models.cost import held_width_bits
from ...cost_models.layouts import has_lines, layout_in
from ...ir import Mapping
from ...ir.units import count, energy, plural
from ..parts.lines import other_layout_rows


def line_sentences(mapping: Mapping, arch: Architecture, cost: Cost) -> list[str]:
    """Of a machine with lines, what costs most first; none of other machines."""
    if not has_lines(arch):
        return []
    found = sorted(_lost(mapping, arch, cost), reverse=True)
    sentences = [text for _, text in found] or ["All lines that pass are full."]
    sentences += _banks(arch, cost)
    _, full, *others = other_layout_rows(mapping, arch, cost)
    return [*sentences, *(f"{name}, this mapping takes {figures}." for name, figures in (full, *others))]


def _lost(mapping: Mapping, arch: Architecture, cost: Cost) -> Iterator[tuple[float, str]]:
    """Per tensor in a memory with lines: pJ of what is not wanted of them, and a sentence."""
    for memory, traffic in _lined(arch, cost):
        assert traffic.lines is not None
        assert memory.line_bits is not None
        tensor = mapping.problem.tensor(traffic.tensor)
        lines = sum(astuple(traffic.lines))
        wanted = (traffic.reads + traffic.writes) * held_width_bits(arch, memory, tensor)
        passed = lines * memory.line_bits
        if wanted >= passed:
            continue
        lost = traffic.energy_pj * (1 - wanted / passed)
        text = layout_in(memory, tensor).text(tensor)
        what = (
            f"{traffic.tensor} in {memory.name} lies {text}: {plural(lines, 'line')} pass, {wanted / passed:.1%} full"
        )
        yield lost, f"{what}; the rest of them costs {energy(lost)}, {lost / cost.energy_pj:.1%} of all."


def _banks(arch: Architecture, cost: Cost) -> Iterator[str]:
    uses = {use.name: use for use in cost.memories}
    for memory, traffic in _lined(arch, cost):
        if traffic.bank_cycles is not None and memory.banks is not None:
            cycles = sum(astuple(traffic.bank_cycles))
            part = f"{cycles / uses[memory.name].cycles:.1%} of its time" if cycles else "no time"
            most = plural(memory.banks * memory.bank_ports, "line")
            busy = f"{traffic.tensor} keeps a bank of {memory.name} busy for {count(cycles)} cycles, {part}"
            yield f"{busy}; its banks move {most} a cycle at most."


def _lined(arch: Architecture, cost: Cost) -> Iterator[tuple[Memory, TensorTraffic]]:
    memories = {memory.name: memory for memory in arch.memories}
    for traffic in cost.traffic:
        if traffic.lines is not None:
            yield memories[traffic.memory], traffic
