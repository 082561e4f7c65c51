"""What a mapping costs where operands have zeros: the page, and the same as data."""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import asdict
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from ..arch import Architecture
from ..cost_models.sparse import Density, SparseCost, density_text
from ..ir import Mapping
from ..mapper.certificate import Certificate
from .nest import nest_lines
from .text import architecture_rows, certificate_rows, columns, layer_rows, pairs, section
from .units import count, energy, percent, seconds, significant, size


def sparse_page(
    mapping: Mapping,
    arch: Architecture,
    densities: MappingABC[str, Density],
    cost: SparseCost,
    certificate: Certificate | None = None,
) -> Group:
    """The whole page; without a certificate, that of a mapping that was evaluated and not searched for."""
    proof = [section("Certificate", pairs(certificate_rows(certificate)))] if certificate is not None else []
    return Group(
        pairs([*layer_rows(mapping.problem), *_density_rows(mapping, densities), *architecture_rows(arch)]),
        section("Loop nest", Text("\n".join(nest_lines(mapping, arch)), no_wrap=True)),
        section("Cost, a mean over all places of the zeros", pairs(_cost_rows(mapping, arch, cost))),
        section("Words moved, by memory and tensor", _traffic_table(cost)),
        section("Memories, with the fullest tiles", _memory_table(cost)),
        *proof,
    )


def sparse_data(
    mapping: Mapping,
    arch: Architecture,
    densities: MappingABC[str, Density],
    cost: SparseCost,
    certificate: Certificate | None = None,
) -> dict[str, Any]:
    """The figures of the page; energies in pJ, times in cycles."""
    figures = asdict(cost)
    dense = figures.pop("dense")
    return {
        "problem": mapping.problem.name,
        "architecture": arch.name,
        "nest": str(mapping.nest),
        "densities": {name: density_text(d, mapping.problem.tensor(name)) for name, d in densities.items()},
        **figures,
        "dense": {key: dense[key] for key in ("energy_pj", "latency_cycles", "limited_by")},
        **({"certificate": asdict(certificate)} if certificate is not None else {}),
    }


def sparse_cost_page(cost: SparseCost) -> Group:
    """What a cost says by itself."""
    return Group(
        Text(f"{cost}, a mean over all places of the zeros"),
        section("Words moved, by memory and tensor", _traffic_table(cost)),
        section("Memories, with the fullest tiles", _memory_table(cost)),
    )


def _density_rows(mapping: Mapping, densities: MappingABC[str, Density]) -> list[tuple[str, str]]:
    texts = [f"{name} {density_text(density, mapping.problem.tensor(name))}" for name, density in densities.items()]
    return [("Density", ", ".join(texts))]


def _cost_rows(mapping: Mapping, arch: Architecture, cost: SparseCost) -> list[tuple[str, str]]:
    operations, macs = cost.operations, mapping.problem.macs
    dense = cost.dense
    return [
        (
            "Energy",
            f"{energy(cost.energy_pj)}, {percent(cost.energy_pj, dense.energy_pj)} of {energy(dense.energy_pj)}",
        ),
        (
            "Latency",
            f"{count(cost.latency_cycles)} cycles, {seconds(cost.latency_cycles / arch.clock_hz)}, "
            f"{percent(cost.latency_cycles, dense.latency_cycles)} of {count(dense.latency_cycles)}",
        ),
        ("EDP", f"{significant(cost.edp)} pJ x cycles"),
        ("Bound by", f"{cost.limited_by}; compute needs {count(cost.compute_cycles)} cycles"),
        (
            "MACs",
            f"{percent(operations.done, macs)} of {count(macs)} done, {percent(operations.gated, macs)} gated, "
            f"{percent(operations.skipped, macs)} skipped",
        ),
    ]


def _traffic_table(cost: SparseCost) -> Table:
    table = columns(
        ("memory", "tensor", "held as"), ("words read", "written", "gated", "skipped", "metadata", "energy")
    )
    last = ""
    for each in cost.traffic:
        table.add_row(
            "" if each.memory == last else each.memory,
            each.tensor,
            each.format or "words",
            *(count(words) if words else "-" for words in (each.reads, each.writes, each.gated, each.skipped)),
            size(round(each.metadata_bits)) if each.metadata_bits else "-",
            energy(each.energy_pj),
        )
        last = each.memory
    return table


def _memory_table(cost: SparseCost) -> Table:
    table = columns(("memory",), ("cycles", "in use", "capacity", "energy"))
    for memory in cost.memories:
        table.add_row(
            memory.name,
            count(memory.cycles) if memory.cycles else "-",
            size(memory.occupied_bits),
            "unbounded" if memory.capacity_bits is None else size(memory.capacity_bits),
            energy(memory.energy_pj),
        )
    return table
