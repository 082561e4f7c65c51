"""A comparison of whole networks as an HTML page: a table of colours, and every network on every machine behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from ....ir.units import count, energy, joule_seconds, percent, plural, seconds, significant
from ....mapper.segmentation import NetworkAnswer
from ...parts.html import joined
from ...parts.proofs import proof_rows, verdict, verdict_of
from ...web import (
    Column,
    Detail,
    Details,
    Page,
    TableCell,
    page_html,
    pairs_part,
    rows_part,
    section,
    sorting_table,
    text_part,
)
from .comparison import FusedComparison
from .findings import is_notable, saving_words
from .rows import FusedRow

_MOST_GROUPS = 12
_DARK = 0.88
"""From this share of the largest saving on, light words have more contrast on a tile than dark ones."""


def fused_html(comparison: FusedComparison) -> Markup:
    """The page as the text of an HTML file, complete in itself."""
    settings = comparison.settings
    details = Details()
    for row in comparison.rows:
        details.add(_name(row), _detail(row))
    page = Page(
        title=comparison.title,
        asked=[
            ("Objective", settings.objective.name),
            ("Space", f"{settings.space}, {settings.tiling} tilings"),
            ("Groups", f"of up to {plural(comparison.most, 'operation')}"),
        ],
        findings=comparison.findings,
        picture=_heat(comparison),
        sections=[
            section(
                "Whole networks, the best with fusing and without",
                _table(comparison),
                note="Select a network for its groups and its proof, a heading to sort.",
            )
        ],
        command=comparison.command,
        tool=comparison.written_by,
        data=details.data(),
    )
    return page_html(page)


def _name(row: FusedRow) -> str:
    return f"{row.network} on {row.arch}"


def _heat(comparison: FusedComparison) -> Markup:
    """A row for each network, a column for each machine, a tile as dark as what is saved."""
    most = max((row.saves or 0.0 for row in comparison.rows), default=0.0) or 1.0
    heads = joined(Markup('<th scope="col">{}</th>').format(arch) for arch in comparison.archs)
    rows = joined(
        Markup('<tr><th scope="row" class="text">{}</th>{}</tr>').format(
            network, joined(_tile(comparison.row(network, arch), most) for arch in comparison.archs)
        )
        for network in comparison.networks
    )
    name = comparison.settings.objective.name
    note = (
        f"Saved of {name} against the best with nothing fused, and by what: groups of several operations, tensors that "
        "stay on chip between groups. Select a tile for the reasons, the groups and the proof."
    )
    made = '<div class="wide heat"><table><thead><tr><td></td>{}</tr></thead><tbody>{}</tbody></table></div>'
    return Markup(made).format(heads, rows) + Markup('<p class="quiet">{}</p>').format(note)


def _tile(row: FusedRow, most: float) -> Markup:
    share = (row.saves or 0.0) / most
    words = "no mapping" if row.answer is None else "–" if row.saves is None else percent(row.saves, 1)
    ink = "#ffffff" if share > _DARK else "var(--ink)"
    style = f"background:color-mix(in srgb, var(--c0) {100 * share:.0f}%, var(--paper));color:{ink}"
    shown = Markup('<button type="button" data-detail="{}">{}<small>{}</small></button>').format(
        _name(row), words, row.saved_by_short if is_notable(row) else ""
    )
    return Markup('<td class="tile" data-of="{}" style="{}">{}</td>').format(_name(row), style, shown)


def _table(comparison: FusedComparison) -> Markup:
    titles = ("operations", "groups", "energy", "latency", "EDP (J s)", "outermost words", "proof", "saves")
    columns = [Column("network", True), Column("architecture", True), Column("plan", True), *map(Column, titles)]
    rows: list[Sequence[TableCell | str]] = []
    names = []
    for row in comparison.rows:
        for kind, cells in _plans(row):
            rows.append([row.network, row.arch, kind, *cells])
            names.append(_name(row))
    return sorting_table("whole networks", columns, rows, names)


def _plans(row: FusedRow) -> list[tuple[str, list[TableCell | str]]]:
    """The best plan and the one with nothing fused, with their figures."""
    answer = row.answer
    if answer is None:
        return [("no mapping" if row.status == "infeasible" else "failed", [""] * 8)]
    best = _figures(row, answer.energy_pj, answer.latency_cycles, answer.outer_words)
    saves = TableCell(saving_words(row), row.saves) if row.saves is not None else "-"
    found: list[tuple[str, list[TableCell | str]]] = [
        ("best", [count(row.operations), count(row.groups), *best, verdict_of(answer.certificate), saves])
    ]
    if answer.apart is not None:
        one = answer.apart
        apart = _figures(row, one.energy_pj, one.latency_cycles, one.outer_words)
        proof = verdict(one.value, one.lower_bound)
        found.append(("nothing fused", [count(row.operations), count(row.operations), *apart, proof, ""]))
    return found


def _figures(row: FusedRow, picojoules: float, cycles: float, words: int) -> list[TableCell | str]:
    time = cycles / row.machine.clock_hz
    product = joule_seconds(picojoules, time)
    return [
        TableCell(energy(picojoules), picojoules),
        TableCell(seconds(time), time),
        TableCell(significant(product), product),
        TableCell(count(words), words),
    ]


def _detail(row: FusedRow) -> Detail:
    answer = row.answer
    if answer is None:
        return Detail(_name(row), "There is no mapping.", [text_part("Why", row.diagnosis)], row.command)
    saved = f"Fusing saves {saving_words(row)}, by {row.saved_by}."
    figures = saved if is_notable(row) else f"Fusing saves nothing, since {row.why_nothing}."
    columns = [("plan", True), ("energy", False), ("latency", False), ("EDP (J s)", False), ("outermost words", False)]
    plans = [(kind, *(_words(cell) for cell in cells[2:6])) for kind, cells in _plans(row)]
    parts = [
        rows_part("With fusing and without", columns, plans),
        pairs_part("Certificate", list(proof_rows(answer.certificate))),
        _groups(row, answer),
    ]
    return Detail(_name(row), figures, parts, row.command)


def _words(cell: TableCell | str) -> str:
    return cell.text if isinstance(cell, TableCell) else cell


def _groups(row: FusedRow, answer: NetworkAnswer) -> Any:
    """The groups that take most energy."""
    found = [one for one in answer.segments if one.answer is not None]
    largest = sorted(found, key=lambda one: -one.totals.energy_pj)[:_MOST_GROUPS]
    rows = [
        (
            " + ".join(one.names) + (f" ({one.times:,} times)" if one.times > 1 else ""),
            ", ".join(f"{tensor} stays in {memory}" for tensor, memory in one.stays),
            energy(one.totals.energy_pj),
            percent(one.totals.energy_pj, answer.energy_pj),
            seconds(one.totals.latency_cycles / row.machine.clock_hz),
        )
        for one in largest
    ]
    columns = [("group", True), ("on chip", True), ("energy", False), ("share", False), ("latency", False)]
    return rows_part(f"Groups that take most energy ({len(rows)} of {len(found)})", columns, rows)
