"""A network on several devices as an HTML page: the finding, a timeline, the mesh with its bytes, and every step."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from ...ir.units import count, energy, percent, seconds, significant
from ...mapper.sharding import DeviceWork, Pipeline, Resharding, ShardedAnswer
from ...run.documents.sharded_plans import ShardedPlanDocument, StepPart
from ..explain.dialog import mapping_parts
from ..parts.proofs import verdict_of
from ..web import (
    Column,
    Detail,
    Details,
    Page,
    Part,
    TableCell,
    drawn,
    page_html,
    pairs_part,
    rendered,
    rows_part,
    section,
    sorting_table,
    timeline,
)
from .mesh_picture import mesh_svg
from .sharded_plan import folded, pipeline_rows, plan_parts, speedup, stages_shown, step_texts


def sharded_plan_html(
    answer: ShardedAnswer, plan: ShardedPlanDocument, command: str, pipeline: Pipeline | None = None
) -> Markup:
    """The page as the text of one HTML file, complete in itself."""
    question, system, proof = answer.question, answer.question.system, answer.certificate
    details = Details()
    steps = _steps(answer, plan, details)
    told = "proven optimal" if proof.proven else f"{verdict_of(proof)}, not proven optimal"
    page = Page(
        title=f"{question.graph.network} on {system.name}",
        asked=[
            ("Objective", f"{proof.objective}: {told}"),
            ("Devices", f"{count(system.devices)} of {system.device.name}"),
            *([] if pipeline is None else pipeline_rows(pipeline)),
            ("Latency", seconds(answer.seconds)),
            ("Energy", "not known" if answer.energy_pj is None else energy(answer.energy_pj)),
        ],
        findings=findings(answer),
        picture=section(
            "Timeline",
            timeline("plan"),
            note="What all devices do at once, and what moves along the axes of the mesh. Select a step to see it.",
        ),
        sections=[
            *([] if pipeline is None else [section("Stages", rendered(stages_shown(answer, pipeline)))]),
            section("Mesh", drawn(*mesh_svg(answer)), note="Bytes over each link in the whole run, by axis."),
            section(
                "Steps", steps, note="In the order in which they take place; equal blocks stand once. Select a step."
            ),
            *(rendered(part) for part in plan_parts(answer)),
        ],
        command=command,
        data={"timelines": {"plan": _timeline(plan, _shown_as(answer))}, **details.data()},
    )
    return page_html(page)


def findings(answer: ShardedAnswer) -> list[str]:
    """What a reader wants to know first, in a sentence or a few."""
    proof, system = answer.certificate, answer.question.system
    told = "proven optimal" if proof.proven else f"{verdict_of(proof)}, not proven optimal"
    waits = sum(step.seconds for step in answer.steps if isinstance(step, Resharding))
    gained = speedup(answer)
    more = "" if gained is None else f" It is {significant(gained)} times as fast as one device."
    found = [f"A run on {count(system.devices)} devices takes {seconds(answer.seconds)}, {told}.{more}"]
    found.append(f"Devices wait for collectives {percent(waits, answer.seconds)} of the time.")
    others = [one for one in answer.compared if one.seconds is not None and one.name != "one device"]
    if others:
        best = min(others, key=lambda one: one.seconds or 0.0)
        assert best.seconds is not None
        found.append(f"{best.name} takes {significant(best.seconds / answer.seconds)} times as long.")
    return found


def _shown_as(answer: ShardedAnswer) -> dict[int, int]:
    """Of every step the place of the first one like it in an earlier block, or its own."""
    found: dict[int, int] = {}
    for start, length, times in folded(answer):
        found |= {start + i: start + i % length for i in range(length * times)}
    return found


def _timeline(plan: ShardedPlanDocument, like: dict[int, int]) -> dict[str, Any]:
    """Steps that take time, and which part of the system works meanwhile."""
    timed = [(number, step) for number, step in enumerate(plan.steps) if step.seconds]
    lanes = ["devices", *(axis.name for axis in plan.axes)]
    return {
        "total": plan.seconds,
        "each": "step",
        "operations": [
            [
                step.name if step.kind == "work" else f"{step.move} {step.name}",
                like[number] + 1,
                step.start_s,
                step.start_s + step.seconds,
                "its devices" if step.kind == "work" else f"links of {step.axis}",
            ]
            for number, step in timed
        ],
        "kinds": [],
        "busy": [[lane, [float(_works(step) == lane) for _, step in timed]] for lane in lanes],
        "memories": [],
    }


def _works(step: StepPart) -> str:
    return "devices" if step.kind == "work" else str(step.axis)


def _steps(answer: ShardedAnswer, plan: ShardedPlanDocument, details: Details) -> Markup:
    rows: list[list[TableCell | str]] = []
    names: list[str] = []
    for start, length, times in folded(answer):
        for number in range(start, start + length):
            step, part = answer.steps[number], plan.steps[number]
            name, done, made = step_texts(answer, step)
            spent = times * step.seconds
            rows.append(
                [
                    TableCell(str(number + 1), number),
                    name or part.name,
                    done,
                    made,
                    TableCell(str(times), times),
                    TableCell(seconds(step.seconds), step.seconds),
                    percent(spent, answer.seconds),
                    TableCell("" if part.bytes_a_link is None else count(part.bytes_a_link), part.bytes_a_link or 0),
                ]
            )
            parts = _work_parts(answer, step, details) if isinstance(step, DeviceWork) else _move_parts(part)
            title = f"Step {number + 1}: {name or f'{part.move} of {part.name}'}"
            names.append(details.add(f"step-{number + 1}", Detail(title, f"{done}, {seconds(step.seconds)}.", parts)))
    columns = [Column("step"), Column("operation", True), Column("split, or what moves", True), Column("makes", True)]
    numbers = [Column(title) for title in ("times", "time", "share", "bytes a link")]
    return sorting_table("steps", [*columns, *numbers], rows, names)


def _work_parts(answer: ShardedAnswer, step: DeviceWork, details: Details) -> list[Part]:
    if step.answer is None:
        return [pairs_part("Work", [("Seconds", significant(step.seconds)), ("Energy", energy(step.energy_pj))])]
    found, arch = step.answer, answer.question.system.device
    return mapping_parts(details, found.mapping, arch, found.cost, found.certificate, [("Of", "the largest block")])


def _move_parts(part: StepPart) -> list[Part]:
    pairs = [("From", str(part.before)), ("To", str(part.after))]
    pairs += [] if part.schedule is None else [("Schedule", part.schedule), ("Hops", str(part.hops))]
    links = [[_device(one.source), _device(one.to), count(one.bytes)] for one in part.links or ()]
    return [
        pairs_part("What moves", pairs),
        *([rows_part("Links of the busiest line", [("from", True), ("to", True), ("bytes", False)], links)]),
    ]


def _device(number: int) -> str:
    return "the switch" if number < 0 else f"device {number}"
