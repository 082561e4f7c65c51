"""Stored results for people: as a table, as a page, as files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from rich.console import Group

from ...ir.units import count, energy, percent, plural, seconds, significant
from ...run.store import NoMapping, Record, Searches
from ..parts.tables import Table, Value
from ..parts.text import columns, pairs
from .result import result_page

SHORT_KEY = 12
"""Digits of a key that are shown, and enough to name a result."""

_COLUMNS = (
    *("key", "layer", "arch", "dataflow", "objective", "tiling", "space", "status", "energy_pJ", "latency_cycles"),
    *(
        "utilization_fraction",
        "objective_value",
        "gap_fraction",
        "search_s",
        "time_limit_s",
        "memory_limit_B",
        "created_utc",
    ),
    *("model_version", "written_by"),
)


def recalled_text(record: Record) -> str:
    """Where a recalled result is from: `from the store, found 2026-11-21 19:52 UTC by tilewright 0.1.0`."""
    return f"from the store, found {_created(record)} UTC by {record.written_by}"


def list_page(records: Sequence[Record], path: object) -> Group:
    """One line for each record, and how many there are."""
    table = columns(
        ("key", "layer", "architecture", "dataflow", "objective", "result"),
        ("energy", "cycles", "utilization", "search", "found (UTC)"),
    )
    for r in records:
        names = (r.key[:SHORT_KEY], r.layer, r.arch, r.dataflow, _objective(r), _status(r))
        table.add_row(*names, *_figures(r), seconds(r.seconds), _created(r))
    return Group(table, f"{plural(len(records), 'result')} in {path}")


def record_page(record: Record) -> Group:
    """The page of one stored result: that of its search, or the reason why there is no mapping."""
    found = record.result()
    if isinstance(found, NoMapping):
        return Group(pairs(_record_rows(record)), f"\n{found.error}")
    if isinstance(found, Searches):
        bound = f"no mapping of it has less {record.objective} than {found.bound:,.10g}"
        return Group(pairs(_record_rows(record)), f"\nwhat searches for whole networks found out of it: {bound}")
    head = pairs([("Key", record.key), ("Dataflow", record.dataflow)])
    from ...run.documents.mappings import parse_mapping

    arch = parse_mapping(record.text, record.key).arch
    return Group(head, result_page(found, arch, origin=recalled_text(record)))


def records_table(records: Iterable[Record]) -> Table:
    """All figures of the records, with units in the names of the columns."""
    return Table("results", _COLUMNS, [_values(record) for record in records])


def _values(r: Record) -> tuple[Value, ...]:
    asked = (r.key, r.layer, r.arch, r.dataflow, r.objective, r.tiling, r.space, r.status)
    figures = (
        r.energy_pj,
        r.latency_cycles,
        r.utilization,
        r.value,
        r.gap,
        r.seconds,
        r.time_limit_s,
        r.memory_limit_bytes,
    )
    created = datetime.fromtimestamp(r.created_s, UTC).isoformat(timespec="seconds")
    return (*asked, *figures, created, r.model_version, r.written_by)


def _record_rows(r: Record) -> list[tuple[str, str]]:
    return [
        ("Key", r.key),
        ("Layer", r.layer),
        ("Architecture", r.arch),
        ("Dataflow", r.dataflow),
        ("Objective", _objective(r)),
        ("Recalled", recalled_text(r)),
    ]


def _created(record: Record) -> str:
    return datetime.fromtimestamp(record.created_s, UTC).strftime("%Y-%m-%d %H:%M")


def _objective(r: Record) -> str:
    return ", ".join([r.objective, r.tiling, *([r.space] if r.space != "even" else [])])


def _status(r: Record) -> str:
    old = "" if r.is_current else ", outdated"
    if r.status == "unproven" and r.gap is not None:
        return f"gap {percent(r.gap, 1)}{old}"
    if r.status == "unproven" and not r.has_mapping:
        return f"bound{old}"
    return f"{'no mapping' if r.status == 'infeasible' else r.status}{old}"


def _figures(r: Record) -> tuple[str, str, str]:
    if r.energy_pj is None or r.latency_cycles is None or r.utilization is None:
        return "-", "-", "-"
    latency = count(r.latency_cycles) if r.latency_cycles < 1e12 else significant(r.latency_cycles)
    return energy(r.energy_pj), latency, percent(r.utilization, 1)
