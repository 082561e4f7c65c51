"""The tables of a comparison: layers, their energy and latency in parts, networks, kinds of layers, hybrids."""

from __future__ import annotations

from ...ir.units import joule_seconds
from ..parts.si import unit_name
from ..parts.tables import Table, Value
from .compared import Summary
from .hybrid import hybrids
from .rows import ComparisonRows, Row
from .summaries import summaries, winners

_PLACE = ("network", "layer", "arch", "dataflow")


def all_tables(comparison: ComparisonRows) -> tuple[Table, ...]:
    """Every table, under the name of the file that it goes to."""
    return (
        layer_table(comparison),
        energy_table(comparison),
        latency_table(comparison),
        network_table(comparison),
        kind_table(comparison),
        hybrid_table(comparison),
    )


def layer_table(comparison: ComparisonRows) -> Table:
    """One row for each layer, architecture and dataflow; figures are of one occurrence of the layer."""
    unit = unit_name(comparison.settings.objective)
    columns = (
        *("network", "layer", "kind", "repeat", "arch", "dataflow", "objective", "tiling", "space", "status"),
        *("macs", "energy_pJ", "latency_cycles", "latency_s", "edp_J_s", f"objective_{unit}"),
        *(f"lower_bound_{unit}", "gap_fraction", "penalty_factor", "utilization_fraction", "limited_by"),
        *("operational_intensity_MAC_per_B", "key", "diagnosis", "command"),
    )
    return Table("layers", columns, [_layer_row(comparison, row) for row in comparison.rows])


def energy_table(comparison: ComparisonRows) -> Table:
    """One row for each layer's energy at each memory and tensor, and that of its MACs; of one occurrence."""
    rows: list[tuple[Value, ...]] = [
        (row.network, row.layer, row.arch, row.dataflow, part.place, part.tensor, row.repeat, part.energy_pj)
        for row in comparison.rows
        for part in row.energy_parts
    ]
    return Table("energy", (*_PLACE, "place", "tensor", "repeat", "energy_pJ"), rows)


def latency_table(comparison: ComparisonRows) -> Table:
    """One row for each layer and whatever its latency could wait for, in cycles of one occurrence."""
    rows: list[tuple[Value, ...]] = [
        (row.network, row.layer, row.arch, row.dataflow, place, row.repeat, cycles, place == row.cost.limited_by)
        for row in comparison.rows
        if row.cost is not None
        for place, cycles in row.latency_parts.items()
    ]
    return Table("latency", (*_PLACE, "place", "repeat", "latency_cycles", "is_limit"), rows)


def network_table(comparison: ComparisonRows) -> Table:
    """One row for each network, architecture and dataflow; sums over all occurrences."""
    unit = unit_name(comparison.settings.objective)
    columns = (
        *("network", "arch", "dataflow", "layers", "missing_layers", "proven", "energy_pJ", "latency_cycles"),
        *("latency_s", f"objective_{unit}", "gap_fraction", "utilization_fraction", "penalty_factor"),
        "layer_penalty_geomean_factor",
    )
    rows = [_network_row(summary) for summary in summaries(comparison)]
    return Table("networks", columns, rows)


def kind_table(comparison: ComparisonRows) -> Table:
    """One row for each architecture, kind of layer and fixed dataflow, over all networks."""
    columns = ("arch", "kind", "dataflow", "layers", "mapped_layers", "won_layers", "layer_penalty_geomean_factor")
    rows: list[tuple[Value, ...]] = [
        (w.arch, w.kind, w.dataflow, w.layers, w.mapped, w.wins, w.layer_penalty) for w in winners(comparison)
    ]
    return Table("kinds", columns, rows)


def hybrid_table(comparison: ComparisonRows) -> Table:
    """One row for each network and architecture: one fixed dataflow for all layers, or the best for each."""
    unit = unit_name(comparison.settings.objective)
    columns = ("network", "arch", "single_dataflow", f"single_{unit}", f"hybrid_{unit}", f"free_{unit}", "gain_factor")
    rows: list[tuple[Value, ...]] = [
        (h.network, h.arch, h.single, h.single_value, h.hybrid_value, h.free_value, h.gain) for h in hybrids(comparison)
    ]
    return Table("hybrids", columns, rows)


def _layer_row(comparison: ComparisonRows, row: Row) -> tuple[Value, ...]:
    settings, cost, proof = comparison.settings, row.cost, row.certificate
    asked = (row.objective, settings.tiling, settings.space, row.status, row.problem.macs)
    figures: tuple[Value, ...] = (None,) * 9
    limits: tuple[Value, ...] = (None,) * 2
    if cost is not None and proof is not None:
        edp = joule_seconds(cost.energy_pj, cost.latency_s)
        figures = (cost.energy_pj, cost.latency_cycles, cost.latency_s, edp, row.value, row.lower_bound)
        figures += (proof.gap, comparison.penalty(row), cost.utilization)
        limits = (cost.limited_by, row.operational_intensity)
    place = (row.network, row.layer, row.kind, row.repeat, row.arch, row.dataflow)
    return (*place, *asked, *figures, *limits, row.key, row.diagnosis, row.command)


def _network_row(s: Summary) -> tuple[Value, ...]:
    place = (s.network, s.arch, s.dataflow, s.layers, " ".join(s.missing), s.proven)
    figures = (s.energy_pj, s.latency_cycles, s.latency_s, s.value, s.gap if s.value else None, s.utilization)
    return (*place, *figures, s.penalty, s.layer_penalty)
