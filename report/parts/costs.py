"""What a mapping costs, as rows and tables: of one operation, or of several one after the other."""

from __future__ import annotations

from math import isfinite, prod
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...arch import Architecture
from ...cost_models import Cost, roofline
from ...cost_models.cascades.cost import occupied_bits
from ...cost_models.cost import MemoryUse
from ...ir import Mapping
from ...ir.units import clock, count, energy, joule_seconds, percent, seconds, significant, size
from .leaves import leaves_of
from .sparse import ZERO_COLUMNS, zero_table_rows
from .text import columns, section

if TYPE_CHECKING:
    from collections.abc import Iterable

_EDP_UNIT = "pJ x cycles"


def cost_page(cost: Cost) -> Group:
    """What a cost says by itself."""
    return Group(Text(str(cost)), *table_parts(cost))


def cost_rows(cost: Cost, arch: Architecture) -> list[tuple[str, str]]:
    """Energy, latency, their product, utilization; of one operation, what the latency waits for."""
    point = "point" if cost.operations else "MAC"
    peak = arch.mac_instances * arch.mac.per_cycle
    edp, arrays = joule_seconds(cost.energy_pj, cost.latency_s), cost.array_cycles
    return [
        ("Energy", f"{energy(cost.energy_pj)}, {energy(cost.energy_pj / cost.macs)} per {point}"),
        ("Latency", f"{count(cost.latency_cycles)} cycles, {seconds(cost.latency_s)} at {clock(cost.clock_hz)}"),
        *([("", f"{count(cost.fill_cycles)} of them add to fill and to drain")] if cost.fill_cycles else []),
        *([("", f"{count(arrays)} of them, {percent(arrays, cost.latency_cycles)}, fill arrays")] if arrays else []),
        ("EDP", f"{significant(cost.edp)} {_EDP_UNIT}, {significant(edp)} J s"),
        ("Utilization", f"{percent(cost.utilization, 1)} of {significant(peak)} MACs per cycle"),
        *(("Bound by", bound_text(part)) for part in cost.parts.values() if len(cost.parts) == 1),
    ]


def _cycles_of(memory: MemoryUse) -> float:
    return memory.cycles


def bound_text(cost: Cost) -> str:
    """What the latency waits for, beside what the computation alone would take."""
    compute = f"{count(cost.compute_cycles)} cycles"
    serial = [memory for memory in cost.memories if not memory.overlaps and memory.cycles]
    waits = "".join(f", then {memory.name}, whose {count(memory.cycles)} cycles add" for memory in serial)
    if cost.limited_by == "compute":
        nearest = max((one for one in cost.memories if one.overlaps and one.cycles), key=_cycles_of, default=None)
        beside = f"; the busiest memory, {nearest.name}, needs {count(nearest.cycles)}" if nearest else ""
        return f"compute, {compute}{beside}{waits}"
    memory = next(memory for memory in cost.memories if memory.name == cost.limited_by)
    if not memory.overlaps:
        return f"{memory.name}, whose {count(memory.cycles)} cycles add to the {compute} of compute"
    return f"bandwidth of {memory.name}, {count(memory.cycles)} cycles; compute alone needs {compute}{waits}"


def table_parts(cost: Cost) -> list[RenderableType]:
    """Words moved and memories; of several operations, what each costs and what is held while it works; of operands
    with zeros, how they are held and what is left out."""
    parts = cost.parts
    several = "operation, " if len(parts) > 1 else ""
    by = "by memory, operation and tensor" if several else "by memory and tensor"
    found: list[RenderableType] = []
    if several:
        found.append(section("Operations, one after the other", operation_table(cost)))
        found.append(section("In use while an operation works", occupancy_table(cost)))
    found.append(section(f"Words moved, {by}", traffic_table(cost)))
    zeros = by_operation(ZERO_COLUMNS, ((name, zero_table_rows(part)) for name, part in parts.items()))
    if zeros.row_count:
        found.append(section(f"Zeros, {by}", zeros))
    return [*found, section("Memories, with the fullest tiles" if zeros.row_count else "Memories", memory_table(cost))]


def by_operation(
    titles: tuple[tuple[str, ...], tuple[str, ...]], found: Iterable[tuple[str, Iterable[tuple[str, ...]]]]
) -> Table:
    """A table of the rows of each operation, with its name before the first of them where there are several.

    titles  of the columns: of texts, and of numbers
    """
    by_name = [(name, list(rows)) for name, rows in found]
    texts, figures = titles
    several = len(by_name) > 1
    table = columns(("operation", *texts) if several else texts, figures)
    for name, rows in by_name:
        for i, row in enumerate(rows):
            table.add_row(*([""] if i else [name]) * several, *row)
    return table


def traffic_table(cost: Cost) -> Table:
    """Words and energy of every memory, operation and tensor, and of all else; shares are of the total energy."""
    parts = cost.parts
    several = len(parts) > 1
    texts = ("memory", "operation", "tensor") if several else ("memory", "tensor")
    table = columns(texts, ("words read", "words written", "energy", "share"))

    def add(place: str, name: str, tensor: str, words: tuple[str, str], picojoules: float, style: str = "") -> None:
        figures = *words, energy(picojoules), percent(picojoules, cost.energy_pj)
        table.add_row(place, *[name] * several, tensor, *figures, style=style or None)

    for use in cost.memories:
        place = use.name
        for name, part in parts.items():
            shown = name
            for traffic in (traffic for traffic in part.traffic if traffic.memory == use.name):
                words = count(traffic.reads), count(traffic.writes)
                add(place, shown, traffic.tensor, words, traffic.energy_pj)
                place = shown = ""
    for name, part in parts.items():
        for network in part.networks:
            add(f"{network.fanout} hops", name, network.tensor, ("", ""), network.energy_pj)
    for i, (name, part) in enumerate(parts.items()):
        add("" if i else "MAC", name, "", ("", ""), part.mac_energy_pj)
    if cost.leakage_pj:
        add("leakage", "", "", ("", ""), cost.leakage_pj)
    add("total", "", "", ("", ""), cost.energy_pj, "bold")
    return table


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


def operation_table(cost: Cost) -> Table:
    """What each operation does, costs and waits for."""
    table = columns(("operation", "bound by"), ("points", "cycles", "energy", "share"))
    for name, part in cost.operations.items():
        share = percent(part.energy_pj, cost.energy_pj)
        figures = count(part.macs), count(part.latency_cycles), energy(part.energy_pj), share
        table.add_row(name, part.limited_by, *figures)
    return table


def occupancy_table(cost: Cost) -> Table:
    """Of each bounded memory, what is in use in each branch, and of which tensors."""
    table = columns(("memory", "operation", "tensors"), ("in use", "capacity", "share"))
    for use in cost.memories:
        if use.capacity_bits is None:
            continue
        for i, (name, tiles) in enumerate(cost.occupancy.items()):
            bits = occupied_bits(tiles, use.name)
            tensors = " ".join(tile.tensor for tile in tiles if tile.memory == use.name)
            figures = size(bits), size(use.capacity_bits), percent(bits, use.capacity_bits)
            table.add_row("" if i else use.name, name, tensors, *figures)
    return table


def intermediate_table(fused: Mapping, cost: Cost) -> Table:
    """Where each intermediate passes from one operation to the next, and how much of it is there at a time."""
    table = columns(("tensor", "in", "while"), ("words at a time", "size", "of all its words"))
    outermost = cost.memories[0].name
    for tensor in fused.cascade.intermediates:
        whole = prod(fused.cascade.extents(tensor))
        tiles: dict[str, dict[str, tuple[int, int]]] = {}
        for name, held in cost.occupancy.items():
            for tile in held:
                if tile.tensor == tensor and tile.is_intermediate:
                    tiles.setdefault(tile.memory, {})[name] = (tile.words, tile.bits)
        for memory, by_name in tiles.items():
            words, bits = max(by_name.values())
            during = f"{next(iter(by_name))} to {list(by_name)[-1]}"
            if memory == outermost:  # all of it, whatever zeros a consumer reads around it
                words, bits, during = whole, bits * whole // words, ""
            table.add_row(tensor, memory, during, count(words), size(bits), percent(words, whole))
    return table


ROOF_COLUMNS = ("port",), ("MACs per byte", "ridge", "machine", "mapping", "")
"""Of `roof_rows`: texts, and numbers."""


def roofline_table(mapping: Mapping, arch: Architecture, cost: Cost) -> Table:
    """The roofs of every operation."""
    leaves = leaves_of(mapping, arch, cost)
    return by_operation(ROOF_COLUMNS, ((leaf.name, roof_rows(leaf.cost, leaf.arch)) for leaf in leaves))


def roof_rows(cost: Cost, arch: Architecture) -> list[tuple[str, ...]]:
    """MACs per byte at every port, the rate that its bandwidth allows at that, on all instances and on those that the
    mapping uses; the roof that binds is marked."""
    found = roofline(cost, arch)
    binds = found.binding
    rows: list[tuple[str, ...]] = []
    for roof in found.roofs:
        rows.append(
            (
                roof.name,
                significant(roof.intensity) if isfinite(roof.intensity) else "-",
                significant(found.ridge(roof)) if roof.bytes_per_cycle is not None else "-",
                significant(roof.attainable),
                significant(roof.reachable) if isfinite(roof.reachable) else "-",
                "binds" if roof is binds else "",
            )
        )
    compute = significant(found.peak), significant(found.compute), "" if binds else "binds"
    return [*rows, ("compute", "", "", *compute)]
