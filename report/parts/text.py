"""A search result as a page of text: what was mapped, how, what it costs, what limits it, and the proof."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import IO, TYPE_CHECKING

from rich import box
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ...arch import Architecture
from ...ir import Mapping, Problem
from ...ir.units import clock, count, energy, joule_seconds, percent, plural, power_of_ten, seconds, significant, size
from ...mapper.certificate import Certificate
from .proofs import proof_rows, pruned_row

if TYPE_CHECKING:  # numpy comes with them, and not every page is about a mapping
    from ...cost_models import Cost, Roofline
    from ...cost_models.cost import MemoryUse, TensorTraffic

_EDP_UNIT = "pJ x cycles"
_TEXT_WIDTH = 64  # columns of running text: with what stands before it, a page of 80
_WIDEST = 10_000  # columns; no table comes near


def write(renderable: RenderableType, file: IO[str] | None = None) -> None:
    """Print on a terminal or into a pipe; what is wider than the terminal stays whole, for numbers must not be cut."""
    console = Console(file=file or sys.stdout, highlight=False, emoji=False, markup=False)
    console.file.write(_rendered(console, renderable))


def plain_text(renderable: RenderableType, width: int = 80) -> str:
    """The page as a text without colours, `width` columns wide or as wide as its widest row."""
    return _rendered(Console(width=width, color_system=None, highlight=False, emoji=False, markup=False), renderable)


def _rendered(console: Console, renderable: RenderableType) -> str:
    options = console.options.update(max_width=_WIDEST)
    console.width = max(console.width, Measurement.get(console, options, renderable).maximum)
    with console.capture() as capture:
        console.print(renderable)
    return "\n".join(line.rstrip() for line in capture.get().split("\n"))


def result_page(
    mapping: Mapping,
    arch: Architecture,
    cost: Cost,
    certificate: Certificate | None = None,
    files: Iterable[object] = (),
    origin: str = "",
) -> Group:
    """The whole page; without a certificate, that of a mapping that was evaluated and not searched for.

    origin  where the result is from, if it was not found just now
    """
    from ...cost_models import roofline
    from .nest import nest_lines
    from .sparse import MEANS, density_rows, zero_rows

    has_zeros = cost.zeros is not None
    parts: list[RenderableType] = [
        pairs([*layer_rows(mapping.problem), *density_rows(mapping.problem), *architecture_rows(arch)]),
        section("Loop nest", Text("\n".join(nest_lines(mapping, arch)), no_wrap=True)),
        section(MEANS if has_zeros else "Cost", pairs([*cost_rows(cost, arch), *zero_rows(cost)])),
        *table_parts(cost),
        *_line_parts(mapping, arch, cost),
        section("Roofline, in MACs per cycle", roofline_table(roofline(cost, arch))),
    ]
    if certificate is not None:
        rows = [*certificate_rows(certificate, origin), *beyond_rows(certificate, cost, mapping.problem, arch)]
        parts.append(section("Certificate", pairs(rows)))
    written = [str(path) for path in files]
    if written:
        parts.append(section("Files", Text("\n".join(written), no_wrap=True)))
    return Group(*parts)


def table_parts(cost: Cost) -> list[RenderableType]:
    """Words moved and memories; and, of operands with zeros, how they are held, and what is left out."""
    from .sparse import ZERO_COLUMNS, zero_table_rows

    moved = section("Words moved, by memory and tensor", traffic_table(cost))
    if cost.zeros is None:
        return [moved, section("Memories", memory_table(cost))]
    table = columns(*ZERO_COLUMNS)
    for row in zero_table_rows(cost):
        table.add_row(*row)
    return [
        moved,
        section("Zeros, by memory and tensor", table),
        section("Memories, with the fullest tiles", memory_table(cost)),
    ]


def _line_parts(mapping: Mapping, arch: Architecture, cost: Cost) -> list[RenderableType]:
    """Of a machine with lines: which of them pass, and what the same mapping costs with other layouts."""
    from ...cost_models.layouts import has_lines
    from .lines import BANK_COLUMNS, LINE_COLUMNS, bank_rows, line_rows, other_layout_rows

    if not has_lines(arch):
        return []
    table = columns(*LINE_COLUMNS)
    for row in line_rows(mapping, arch, cost):
        table.add_row(*row)
    banks = columns(*BANK_COLUMNS)
    for row in (of_banks := bank_rows(mapping, arch)):
        banks.add_row(*row)
    return [
        section("Lines, by layout", table),
        *([section("Banks, at the busiest instance", banks)] if of_banks else []),
        section("The same mapping with other layouts", pairs(other_layout_rows(mapping, arch, cost))),
    ]


def section(title: str, body: RenderableType) -> Group:
    """A title, and under it the body, indented."""
    return Group(Text(""), Text(title, style="bold"), Padding(body, (0, 0, 0, 2), expand=False))


def pairs(rows: Sequence[tuple[str, str]]) -> Table:
    """Two columns: what, and how much."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(no_wrap=True)
    for what, value in rows:
        table.add_row(what, textwrap.fill(value, _TEXT_WIDTH, break_long_words=False, break_on_hyphens=False))
    return table


def wrapped(text: str, width: int = _TEXT_WIDTH) -> list[str]:
    """Running text in lines; words stay whole."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def columns(left: Iterable[str], right: Iterable[str]) -> Table:
    """A table with these columns of text and then of numbers, none of which is ever cut."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for title in left:
        table.add_column(title, no_wrap=True)
    for title in right:
        table.add_column(title, justify="right", no_wrap=True)
    return table


def layer_rows(problem: Problem) -> list[tuple[str, str]]:
    """The layer: its name, its einsum, its sizes."""
    operands = " * ".join(str(tensor) for tensor in problem.operands)
    sizes = " ".join(f"{name}={size}" for name, size in problem.dims)
    return [
        ("Layer", problem.name),
        ("", f"{problem.output} += {operands}"),
        ("", sizes),
        ("", plural(problem.macs, "MAC")),
    ]


def architecture_rows(arch: Architecture) -> list[tuple[str, str]]:
    """The architecture: its name, what it is, and how much of it there is."""
    rows = [("Architecture", arch.name)]
    if arch.description:
        rows.append(("", arch.description))
    if arch.settings:
        rows.append(("", "set " + ", ".join(f"{path}={value}" for path, value in arch.settings.items())))
    units = plural(arch.mac_instances, "MAC unit")
    rows.append(("", f"{units} at {clock(arch.clock_hz)}, words of {arch.word_bits} bit"))
    if arch.total_area_mm2 and "area of" not in arch.estimates:
        rows.append(("", f"{significant(arch.total_area_mm2)} mm2, as far as areas are stated"))
    return rows


def cost_rows(cost: Cost, arch: Architecture) -> list[tuple[str, str]]:
    """Energy, latency, their product, utilization, and what the latency waits for."""
    per_mac = energy(cost.energy_pj / cost.macs)
    peak = arch.mac_instances * arch.mac.per_cycle
    edp = joule_seconds(cost.energy_pj, cost.latency_s)
    return [
        ("Energy", f"{energy(cost.energy_pj)}, {per_mac} per MAC"),
        ("Latency", f"{count(cost.latency_cycles)} cycles, {seconds(cost.latency_s)} at {clock(cost.clock_hz)}"),
        *([("", f"{count(cost.fill_cycles)} of them add to fill and to drain")] if cost.fill_cycles else []),
        ("EDP", f"{significant(cost.edp)} {_EDP_UNIT}, {significant(edp)} J s"),
        ("Utilization", f"{percent(cost.utilization, 1)} of {significant(peak)} MACs per cycle"),
        ("Bound by", bound_text(cost)),
    ]


def bound_text(cost: Cost) -> str:
    """What the latency waits for, beside what the computation alone would take."""
    compute = f"{count(cost.compute_cycles)} cycles"
    serial = [memory for memory in cost.memories if not memory.overlaps and memory.cycles]
    waits = "".join(f", then {memory.name}, whose {count(memory.cycles)} cycles add" for memory in serial)
    if cost.limited_by == "compute":
        nearest = max(cost.memories, key=lambda memory: memory.cycles)
        beside = f"; the busiest memory, {nearest.name}, needs {count(nearest.cycles)}" if nearest.cycles else ""
        return f"compute, {compute}{beside}{waits}"
    memory = next(memory for memory in cost.memories if memory.name == cost.limited_by)
    if not memory.overlaps:
        return f"{memory.name}, whose {count(memory.cycles)} cycles add to the {compute} of compute"
    return f"bandwidth of {memory.name}, {count(memory.cycles)} cycles; compute alone needs {compute}{waits}"


def traffic_table(cost: Cost) -> Table:
    """Words and energy of every memory and tensor, and of all else; shares are of the total energy."""
    table = columns(("memory", "tensor"), ("words read", "words written", "energy", "share"))
    for memory in cost.memories:
        rows = [traffic for traffic in cost.traffic if traffic.memory == memory.name]
        for i, traffic in enumerate(rows):
            table.add_row("" if i else memory.name, *_traffic_cells(traffic, cost))
    for network in cost.networks:
        name = f"{network.fanout} hops"
        table.add_row(
            name, network.tensor, "", "", energy(network.energy_pj), percent(network.energy_pj, cost.energy_pj)
        )
    table.add_row("MAC", "", "", "", energy(cost.mac_energy_pj), percent(cost.mac_energy_pj, cost.energy_pj))
    if cost.leakage_pj:
        table.add_row("leakage", "", "", "", energy(cost.leakage_pj), percent(cost.leakage_pj, cost.energy_pj))
    table.add_row("total", "", "", "", energy(cost.energy_pj), percent(cost.energy_pj, cost.energy_pj), style="bold")
    return table


def _traffic_cells(traffic: TensorTraffic, cost: Cost) -> tuple[str, ...]:
    share = percent(traffic.energy_pj, cost.energy_pj)
    return traffic.tensor, count(traffic.reads), count(traffic.writes), energy(traffic.energy_pj), share


def memory_table(cost: Cost) -> Table:
    """Bandwidth, occupancy and energy of every memory; cycles are those of the busiest port, busy their share."""
    table = columns(("memory",), ("count", "cycles", "busy", "in use", "capacity", "energy", "share"))
    for memory in cost.memories:
        table.add_row(memory.name, *_memory_cells(memory, cost))
    return table


def _memory_cells(memory: MemoryUse, cost: Cost) -> tuple[str, ...]:
    busy = percent(memory.cycles, cost.latency_cycles) if memory.cycles else "-"
    return (
        count(memory.instances),
        count(memory.cycles) if memory.cycles else "-",
        busy,
        size(memory.occupied_bits),
        "unbounded" if memory.capacity_bits is None else size(memory.capacity_bits),
        energy(memory.energy_pj),
        percent(memory.energy_pj, cost.energy_pj),
    )


def roofline_table(found: Roofline) -> Table:
    """MACs per byte at every port, the rate that its bandwidth allows at that, on all instances and on those that the
    mapping uses; the roof that binds is marked."""
    table = columns(("port",), ("MACs per byte", "ridge", "machine", "mapping", ""))
    binds = found.binding
    for roof in found.roofs:
        bounded = roof.bytes_per_cycle is not None
        table.add_row(
            roof.name,
            significant(roof.intensity) if isfinite(roof.intensity) else "-",
            significant(found.ridge(roof)) if bounded else "-",
            significant(roof.attainable),
            significant(roof.reachable) if isfinite(roof.reachable) else "-",
            "binds" if roof is binds else "",
        )
    table.add_row("compute", "", "", significant(found.peak), significant(found.compute), "" if binds else "binds")
    return table


def certificate_rows(certificate: Certificate, origin: str = "") -> list[tuple[str, str]]:
    """What was minimized, what is proven, and what the proof took."""
    placements = plural(certificate.placements, "placement")
    return [
        *proof_rows(certificate),
        *([("Open", str(certificate.open_part))] if certificate.open_part else []),
        ("Space", f"{certificate.space}, {certificate.tiling} tilings, {_space(certificate.space_size)}, {placements}"),
        *([("Constraints", "; ".join(certificate.constraints))] if certificate.constraints else []),
        *([("Strategy", certificate.strategy)] if certificate.strategy != "exact" else []),
        ("Evaluated", plural(certificate.evaluated, "complete mapping")),
        pruned_row(certificate),
        ("Time", seconds(certificate.seconds)),
        *([("Recalled", origin)] if origin else []),
    ]


LOW_UTILIZATION = 0.6
"""Part of the MACs at work below which more of them are worth a hint."""

NOTABLY_MORE = 1.1
"""Times as many MACs are notably more of them."""


def beyond_rows(certificate: Certificate, cost: Cost, problem: Problem, arch: Architecture) -> list[tuple[str, str]]:
    """Where a space that was not searched is likely to hold something better: few of the MACs are at work, what is
    minimized would gain by more of them, no port is what the latency waits for, and perfect tiles are why they are
    idle, since few instances divide a dimension that is prime to the array."""
    from ...cost_models import parse_objective
    from ...cost_models.parallel import most_at_work, ragged_at_work

    if certificate.tiling != "perfect" or cost.utilization >= LOW_UTILIZATION or cost.limited_by != "compute":
        return []
    objective = parse_objective(certificate.objective)
    first = objective.parts[0] if objective.is_lexicographic else objective
    if first.value(cost.energy_pj, cost.latency_cycles / 2) >= first.value(cost.energy_pj, cost.latency_cycles):
        return []
    most, ragged = most_at_work(problem, arch), ragged_at_work(problem, arch)
    if ragged < NOTABLY_MORE * most:
        return []
    words = f"{percent(cost.utilization, 1)} of the MACs are at work, and perfect tiles can have {percent(most, 1)}"
    return [("Beyond", f"{words}: --tiling ragged may use more of them")]


def _space(mappings: int | None) -> str:
    if mappings is None:
        return "not counted"
    return f"{power_of_ten(mappings)} mappings" if mappings >= 10**6 else plural(mappings, "mapping")
