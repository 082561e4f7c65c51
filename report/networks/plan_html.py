"""A compiled network as an HTML page: totals and proof, a timeline, and groups that unfold to their trees."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from ...ir.units import count, energy, percent, seconds
from ...mapper.fusing import on_chip
from ...mapper.segmentation import NetworkAnswer, Segment
from ...run.documents.network_plans import NetworkPlanDocument
from ..explain.dialog import mapping_parts
from ..parts.proofs import verdict_of
from ..web import Column, Detail, Details, Page, TableCell, page_html, rendered, section, sorting_table, timeline
from .network_plan import ASSUMED, OUTSIDE_TEXT, ahead_verdict, fusing_verdict, outside_rows, plan_sections
from .schedule import Tile, memory_lanes, shifts_of

TILES = (
    ("stays on chip between groups", 1),
    ("passes from operation to operation", 2),
    ("weights", 3),
    ("read", 0),
    ("written", 4),
)
"""What tiles are, with the numbers of their colours."""


def network_plan_html(answer: NetworkAnswer, plan: NetworkPlanDocument, command: str) -> Markup:
    """The page as the text of one HTML file, complete in itself."""
    question, proof = answer.question, answer.certificate
    details = Details()
    groups = _groups(answer, details)
    clock = question.arch.clock_hz
    time = seconds(answer.latency_cycles / clock)
    told = "proven optimal" if proof.proven else f"{verdict_of(proof)}, not proven optimal"
    page = Page(
        title=f"{question.graph.network} on {question.arch.name}",
        asked=[
            ("Objective", f"{proof.objective}: {told}"),
            *([("Order", ASSUMED)] if question.graph.is_assumed else []),
            ("MACs", question.uncounted.beside(answer.macs)),
            *outside_rows(answer),
            ("Energy", energy(answer.energy_pj)),
            ("Latency", f"{time}, {count(answer.latency_cycles)} cycles"),
            (f"Words at {question.arch.memories[0].name}", count(answer.outer_words)),
        ],
        findings=[
            f"A run takes {energy(answer.energy_pj)} and {time}, {told} for {proof.objective}.",
            fusing_verdict(answer),
            *([told] if (told := ahead_verdict(answer)) else []),
        ],
        picture=section(
            "Timeline",
            timeline("plan"),
            note="Operations in time, how busy MACs and ports are meanwhile, and what lies at which address. Select a "
            "group to unfold it below. Operations that share loops take turns: each is drawn as long as all its turns.",
        ),
        sections=[
            section(
                "Groups",
                groups,
                note="In the order in which they run. Select one to unfold its tree and figures, a heading to sort.",
            ),
            *(rendered(part) for part in plan_sections(answer)),
        ],
        command=command,
        data={"timelines": {"plan": timeline_data(answer, plan)}, **details.data()},
    )
    return page_html(page)


def timeline_data(answer: NetworkAnswer, plan: NetworkPlanDocument) -> dict[str, Any]:
    """Operations, ports and memories along the time of a run, in seconds and bytes."""
    clock = answer.question.arch.clock_hz
    shifts = list(shifts_of(plan))
    lanes = list(dict.fromkeys(name for _, shift in shifts for name in shift.busy))
    return {
        "total": answer.latency_cycles / clock,
        "operations": [
            [shift.name, group, shift.start / clock, shift.stop / clock, shift.waits_for] for group, shift in shifts
        ],
        "kinds": TILES,
        "busy": [[lane, [round(shift.busy.get(lane, 0.0), 4) for _, shift in shifts]] for lane in lanes],
        "memories": [
            {
                "name": lane.name,
                "capacity": lane.capacity,
                "height": lane.height,
                "tiles": [
                    [
                        tile.name,
                        tile.start / clock,
                        tile.stop / clock,
                        tile.low,
                        tile.high,
                        _kind_of(answer, tile),
                    ]
                    for tile in lane.tiles
                ],
            }
            for lane in memory_lanes(plan)
        ],
    }


def _kind_of(answer: NetworkAnswer, tile: Tile) -> int:
    """The number of what a tile is, in `TILES`."""
    if tile.stays:
        return 0
    number, _, tensor = tile.name.partition(".")
    if tensor.endswith(" (next)"):
        return 2
    found = answer.segments[int(number) - 1].answer
    assert found is not None
    cascade = found.mapping.cascade
    if tensor in cascade.intermediates:
        return 1
    roles = [t.role for one in cascade.operations for t in one.problem.tensors if t.name == tensor]
    return 2 if "weight" in roles else 4 if "output" in roles else 3


def _groups(answer: NetworkAnswer, details: Details) -> Markup:
    """A row for each group, which unfolds."""
    rows = [_row(answer, number, segment) for number, segment in enumerate(answer.segments, 1)]
    names = [
        _add_detail(answer, number, segment, details) if segment.answer is not None else ""
        for number, segment in enumerate(answer.segments, 1)
    ]
    titles = ("energy", "share", "time", "share of time", f"words at {answer.question.arch.memories[0].name}")
    columns = [Column("group"), Column("operations", True), Column("on chip", True), *map(Column, titles)]
    return sorting_table("groups", [*columns, Column("proof", True)], rows, names, unfolds=True)


def _row(answer: NetworkAnswer, number: int, segment: Segment) -> list[TableCell | str]:
    totals, found = segment.totals, segment.answer
    names = " + ".join(segment.names) + (f" ({segment.times:,} times)" if segment.times > 1 else "")
    if found is None and not totals.outer_words:
        return [TableCell(str(number), number), names, OUTSIDE_TEXT, "", "", "", "", "", ""]
    return [
        TableCell(str(number), number),
        names,
        ", ".join(_kept(segment)) if found is not None else OUTSIDE_TEXT,
        TableCell(energy(totals.energy_pj), totals.energy_pj),
        percent(totals.energy_pj, answer.energy_pj),
        TableCell(seconds(totals.latency_cycles / answer.question.arch.clock_hz), totals.latency_cycles),
        percent(totals.latency_cycles, answer.latency_cycles),
        TableCell(count(totals.outer_words), totals.outer_words),
        verdict_of(found.certificate) if found is not None else "",
    ]


def _kept(segment: Segment) -> list[str]:
    """What stays on chip between groups, and within this one."""
    assert segment.answer is not None
    within = on_chip(segment.answer.mapping, segment.answer.cost)
    stays = [f"{tensor} stays in {memory}" for tensor, memory in segment.stays]
    return stays + [f"{tensor} in {memory}" for tensor, memory in within.items()]


def _add_detail(answer: NetworkAnswer, number: int, segment: Segment, details: Details) -> str:
    found, totals = segment.answer, segment.totals
    assert found is not None
    like = answer.segments[segment.alike].answer or found
    told = [("On chip", ", ".join(kept))] if (kept := _kept(segment)) else []
    told += [("As", f"group {segment.alike + 1}, but for names")] if segment.alike < number - 1 else []
    told += [("Files", f"groups/{segment.alike + 1}, in the folder of this page")]
    parts = mapping_parts(details, like.mapping, answer.question.arch, like.cost, found.certificate, told)
    time = seconds(totals.latency_cycles / answer.question.arch.clock_hz)
    figures = f"{energy(totals.energy_pj)}, {time}, {verdict_of(found.certificate)}."
    command = f"tilewright explain groups/{segment.alike + 1}/mapping.json"
    return details.add(
        f"group-{number}", Detail(f"Group {number}: {' + '.join(segment.names)}", figures, parts, command)
    )
