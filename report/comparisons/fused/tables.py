"""The tables of a comparison of whole networks: the networks, and the groups of each."""

from __future__ import annotations

from collections.abc import Sequence

from ....run.batch.plan import Settings
from ...networks.network_plan import SEGMENT_COLUMNS, segment_table
from ...parts.si import unit_name
from ...parts.tables import Table, Value
from .rows import FusedRow, value_in_si

_PLACE = ("network", "arch")


def fused_tables(rows: Sequence[FusedRow], settings: Settings) -> tuple[Table, ...]:
    """Every table, under the name of the file that it goes to."""
    return network_rows(rows, settings), group_rows(rows)


def network_rows(rows: Sequence[FusedRow], settings: Settings) -> Table:
    """One row for each network and architecture: the best, and the best with nothing fused."""
    unit = unit_name(settings.objective)
    columns = (
        *(*_PLACE, "objective", "tiling", "space", "status", "macs", "macs_not_counted", "not_counted"),
        *("operations", "groups", "fused_groups"),
        *("energy_pJ", "latency_cycles", "latency_s", "outer_words", f"objective_{unit}", f"lower_bound_{unit}"),
        *("gap_fraction", "apart_energy_pJ", "apart_latency_cycles", "apart_outer_words", f"apart_objective_{unit}"),
        *(f"apart_lower_bound_{unit}", "saves_fraction", "saves_at_least_fraction", "saves_at_most_fraction"),
        *("groups_searched", "diagnosis", "command"),
    )
    return Table("networks", columns, [_network_row(row, settings) for row in rows])


def group_rows(rows: Sequence[FusedRow]) -> Table:
    """One row for each group of each network on each architecture, in the order in which they run."""
    found: list[tuple[Value, ...]] = []
    for row in rows:
        if row.answer is not None:
            found += [(row.network, row.arch, *values) for values in segment_table(row.answer).rows]
    return Table("groups", (*_PLACE, *SEGMENT_COLUMNS), found)


def _network_row(row: FusedRow, settings: Settings) -> tuple[Value, ...]:
    answer = row.answer
    place = (row.network, row.arch, settings.objective.name, settings.tiling, settings.space, row.status)
    counts: tuple[Value, ...] = (None,) * 6
    best: tuple[Value, ...] = (None,) * 7
    apart: tuple[Value, ...] = (None,) * 5
    if answer is not None:
        proof, seconds = answer.certificate, answer.latency_cycles / row.machine.clock_hz
        rest = answer.question.uncounted
        counts = (answer.macs, rest.macs, " ".join(rest.names), row.operations, row.groups, row.fused_groups)
        best = (answer.energy_pj, answer.latency_cycles, seconds, answer.outer_words)
        best = (*best, value_in_si(row, proof.value), value_in_si(row, proof.lower_bound), proof.gap)
    if answer is not None and answer.apart is not None:
        one = answer.apart
        apart = (one.energy_pj, one.latency_cycles, one.outer_words)
        apart = (*apart, value_in_si(row, one.value), value_in_si(row, one.lower_bound))
    between = row.saves_between or (None, None)
    searched = answer.searched if answer else None
    return (*place, *counts, *best, *apart, row.saves, *between, searched, row.diagnosis, row.command)
