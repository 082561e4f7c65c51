"""Whole networks from their layers, repeats counted; and which dataflow suits which kind of layer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...cost_models import Cost, Objective
from ..parts.si import in_si, least_of_sums, network_objective
from .choice import rows_of_choice
from .compared import Summary
from .rows import FREE, ComparisonRows, Row


@dataclass(frozen=True)
class Winner:
    """How a fixed dataflow fares with one kind of layer on one architecture, over all networks.

    arch, kind, dataflow  their names
    layers         occurrences of the kind
    mapped         of them, those that have a mapping under this dataflow
    wins           occurrences for which no other fixed dataflow is better (ties count for all of them)
    layer_penalty  geometric mean of the factors against the free optimum, over those that have a mapping
    """

    arch: str
    kind: str
    dataflow: str
    layers: int
    mapped: int
    wins: int
    layer_penalty: float | None


NOTABLE = 1.005
"""Factors below this are called equal, in sentences and in tables."""

_TIE = 1e-9


def summaries(comparison: ComparisonRows) -> tuple[Summary, ...]:
    """As `Comparison.summaries`."""
    found = []
    for network, arch in itertools.product(comparison.networks, comparison.archs):
        chosen = free_rows(comparison, network, arch)
        free = totals_of(comparison, chosen) if chosen else None
        for dataflow in comparison.dataflows:
            rows = comparison.of(network, arch, dataflow)
            total = free if dataflow == FREE else totals_of(comparison, rows)
            found.append(_summary(comparison, rows, total, free))
    return tuple(found)


def free_rows(comparison: ComparisonRows, network: str, arch: str) -> Sequence[Row]:
    """The best choice of mappings for a network on a machine, of all that were found; nothing where no free choice was
    asked for, or a layer has no mapping."""
    if FREE not in comparison.dataflows:
        return ()
    return rows_of_choice(comparison, network, arch, comparison.dataflows) or ()


def winners(comparison: ComparisonRows) -> tuple[Winner, ...]:
    """As `Comparison.winners`."""
    fixed = [dataflow for dataflow in comparison.dataflows if dataflow != FREE]
    best = _best_values(row for row in comparison.rows if row.dataflow != FREE)
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in comparison.rows:
        groups.setdefault((row.arch, row.kind, row.dataflow), []).append(row)
    kinds = sorted({row.kind for row in comparison.rows})
    return tuple(
        _winner(comparison, groups[arch, kind, dataflow], best)
        for arch, kind, dataflow in itertools.product(comparison.archs, kinds, fixed)
        if (arch, kind, dataflow) in groups
    )


def tied_best(candidates: Iterable[tuple[str, float]]) -> tuple[str, ...]:
    """The names whose values are least, with all that are not notably more; in the order given."""
    pairs = list(candidates)
    least = min((value for _, value in pairs), default=0.0)
    return tuple(name for name, value in pairs if value <= least * NOTABLE)


def geometric_mean(factors: Iterable[tuple[float, int]]) -> float | None:
    """Of factors with how often each of them counts; None of nothing."""
    pairs = list(factors)
    count = sum(repeat for _, repeat in pairs)
    return math.exp(math.fsum(math.log(factor) * repeat for factor, repeat in pairs) / count) if count else None


@dataclass(frozen=True)
class Totals:
    """Sums over the layers of a network; the value is in joules and seconds."""

    energy_pj: float
    latency_cycles: float
    value: float


def totals(objective: Objective, layers: Iterable[tuple[int, Cost]]) -> Totals:
    """Sums over layers on one machine, each with its number of occurrences; and the objective of the sums."""
    pairs = list(layers)
    energy = math.fsum(repeat * cost.energy_pj for repeat, cost in pairs)
    latency = math.fsum(repeat * cost.latency_cycles for repeat, cost in pairs)
    value = network_objective(objective).value(energy, latency)
    return Totals(energy, latency, in_si(objective, value, pairs[0][1].clock_hz) if pairs else value)


def totals_of(comparison: ComparisonRows, rows: Sequence[Row]) -> Totals | None:
    """Sums over the layers of a network; None where one has no mapping."""
    pairs = [(row.repeat, row.cost) for row in rows if row.cost is not None]
    return totals(comparison.settings.objective, pairs) if len(pairs) == len(rows) else None


def _summary(comparison: ComparisonRows, rows: Sequence[Row], total: Totals | None, free: Totals | None) -> Summary:
    first, machine = rows[0], rows[0].machine
    penalties = ((comparison.penalty(row), row.repeat) for row in rows)
    peak = machine.mac_instances * machine.mac.per_cycle
    macs = sum(row.repeat * row.problem.macs for row in rows)
    bounds = [(row.repeat, row.lower_bound) for row in rows if row.lower_bound is not None]
    return Summary(
        network=first.network,
        arch=first.arch,
        dataflow=first.dataflow,
        layers=sum(row.repeat for row in rows),
        missing=tuple(row.layer for row in rows if row.cost is None),
        proven=all(row.status == "proven" for row in rows),
        energy_pj=total.energy_pj if total else None,
        latency_cycles=total.latency_cycles if total else None,
        latency_s=total.latency_cycles / machine.clock_hz if total else None,
        value=total.value if total else None,
        utilization=macs / (peak * total.latency_cycles) if total else None,
        penalty=total.value / free.value if total and free and free.value else None,
        layer_penalty=geometric_mean((factor, repeat) for factor, repeat in penalties if factor is not None),
        lower_bound=least_of_sums(comparison.settings.objective, bounds) if total else None,
    )


def _best_values(rows: Iterable[Row]) -> dict[tuple[str, str, str], float]:
    best: dict[tuple[str, str, str], float] = {}
    for row in rows:
        if row.value is not None:
            place = (row.network, row.arch, row.layer)
            best[place] = min(best.get(place, math.inf), row.value)
    return best


def _winner(comparison: ComparisonRows, rows: Sequence[Row], best: dict[tuple[str, str, str], float]) -> Winner:
    mapped = [(row, row.value) for row in rows if row.value is not None]
    penalties = ((comparison.penalty(row), row.repeat) for row in rows)
    return Winner(
        arch=rows[0].arch,
        kind=rows[0].kind,
        dataflow=rows[0].dataflow,
        layers=sum(row.repeat for row in rows),
        mapped=sum(row.repeat for row, _ in mapped),
        wins=sum(row.repeat for row, value in mapped if value <= best[row.network, row.arch, row.layer] * (1 + _TIE)),
        layer_penalty=geometric_mean((factor, repeat) for factor, repeat in penalties if factor is not None),
    )
