"""The page of a fused mapping: its tree, what is held while each operation works, and what it costs."""

from __future__ import annotations

from math import prod
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..arch import Architecture
from ..cost_models.cascades import FusedCost
from ..cost_models.cascades.cost import occupied_bits
from ..ir import Cascade, FusedMapping
from .text import architecture_rows, columns, pairs, section
from .tree import tree_lines
from .units import clock, count, energy, percent, plural, seconds, significant, size


def fused_page(fused: FusedMapping, arch: Architecture, cost: FusedCost) -> Group:
    """The whole page of a fused mapping that was evaluated."""
    parts: list[RenderableType] = [
        pairs([*cascade_rows(fused.cascade), *architecture_rows(arch)]),
        section("Tree", Text("\n".join(tree_lines(fused, arch, cost.occupancy)), no_wrap=True)),
        section("Cost", pairs(fused_cost_rows(cost, arch))),
        section("Operations, one after the other", operation_table(cost)),
        section("In use while an operation works", occupancy_table(cost)),
        section("Words moved, by memory, operation and tensor", fused_traffic_table(cost)),
    ]
    return Group(*parts)


def cascade_page(cascade: Cascade) -> Group:
    """The page of a cascade: its operations, and its tensors in words."""
    table = columns(("tensor", "written by", "read by"), ("words", "shape"))
    for tensor in cascade.tensors:
        extents = cascade.extents(tensor)
        writer = cascade.producers[tensor].name if tensor in cascade.producers else "-"
        readers = " ".join(operation.name for operation in cascade.consumers[tensor]) or "-"
        table.add_row(tensor, writer, readers, count(prod(extents)), " x ".join(map(str, extents)) or "1")
    return Group(pairs(cascade_rows(cascade)), section("Tensors", table))


def cascade_document(cascade: Cascade) -> dict[str, Any]:
    """The same for programs: what its YAML file says."""
    *operations, _ = str(cascade).splitlines()
    sizes = dict(pair for operation in cascade for pair in operation.problem.dims)
    return {
        "name": cascade.name,
        "operations": operations,
        "sizes": {dim.lower(): size for dim, size in sizes.items()},
        "points": cascade.macs,
    }


def cascade_rows(cascade: Cascade) -> list[tuple[str, str]]:
    """The cascade: its name, its operations, its sizes."""
    *operations, sizes = str(cascade).splitlines()
    rows = [("", line) for line in (*operations, sizes, plural(cascade.macs, "point"))]
    return [("Cascade", cascade.name), *rows]


def fused_cost_rows(cost: FusedCost, arch: Architecture) -> list[tuple[str, str]]:
    """Energy, latency, their product and utilization."""
    peak = arch.mac_instances * arch.mac.per_cycle
    return [
        ("Energy", f"{energy(cost.energy_pj)}, {energy(cost.energy_pj / cost.macs)} per point"),
        ("Latency", f"{count(cost.latency_cycles)} cycles, {seconds(cost.latency_s)} at {clock(cost.clock_hz)}"),
        ("EDP", f"{significant(cost.edp)} pJ x cycles, {significant(cost.edp * 1e-12 / cost.clock_hz)} J s"),
        ("Utilization", f"{percent(cost.utilization, 1)} of {significant(peak)} MACs per cycle"),
    ]


def operation_table(cost: FusedCost) -> Table:
    """What each operation does, costs and waits for."""
    table = columns(("operation", "bound by"), ("points", "cycles", "energy", "share"))
    for name, part in cost.operations.items():
        share = percent(part.energy_pj, cost.energy_pj)
        figures = count(part.macs), count(part.latency_cycles), energy(part.energy_pj), share
        table.add_row(name, part.limited_by, *figures)
    return table


def occupancy_table(cost: FusedCost) -> Table:
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


def fused_traffic_table(cost: FusedCost) -> Table:
    """Words and energy of every memory, operation and tensor, and of all else; shares are of the total energy."""
    table = columns(("memory", "operation", "tensor"), ("words read", "words written", "energy", "share"))
    for use in cost.memories:
        shown = False
        for name, part in cost.operations.items():
            rows = [traffic for traffic in part.traffic if traffic.memory == use.name]
            for i, traffic in enumerate(rows):
                figures = count(traffic.reads), count(traffic.writes), energy(traffic.energy_pj)
                share = percent(traffic.energy_pj, cost.energy_pj)
                table.add_row("" if shown else use.name, "" if i else name, traffic.tensor, *figures, share)
                shown = True
    for name, part in cost.operations.items():
        for network in part.networks:
            share = percent(network.energy_pj, cost.energy_pj)
            row = f"{network.fanout} hops", name, network.tensor, "", "", energy(network.energy_pj), share
            table.add_row(*row)
    for i, (name, part) in enumerate(cost.operations.items()):
        share = percent(part.mac_energy_pj, cost.energy_pj)
        table.add_row("" if i else "MAC", name, "", "", "", energy(part.mac_energy_pj), share)
    if cost.leakage_pj:
        table.add_row("leakage", "", "", "", "", energy(cost.leakage_pj), percent(cost.leakage_pj, cost.energy_pj))
    whole = energy(cost.energy_pj), percent(cost.energy_pj, cost.energy_pj)
    table.add_row("total", "", "", "", "", *whole, style="bold")
    return table
