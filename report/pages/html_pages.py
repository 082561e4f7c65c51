"""Pages in a browser of single answers: a search, a slope of traffic, a roofline, a layout plan, a memory plan."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from rich.console import RenderableType

from ...arch import Architecture
from ...ir import Cascade, Work
from ...ir.units import count, energy, percent, plural, seconds, significant
from ...mapper.answer import Answer
from ...mapper.layout_plan import LayoutPlan
from ...mapper.memory_plan import MemoryPlan
from ...mapper.ski_slope import SlopePoint
from ..explain.dialog import mapping_parts
from ..explain.explanation import explain_mapping
from ..networks.layout_plan import layout_findings, layout_picture, layout_sections
from ..networks.memory_picture import memory_svg
from ..parts.proofs import verdict
from ..web import Detail, Details, Page, drawn, page_html, pairs_part, plot, rendered, text_part
from .roofline import RooflineChart, rate

_MOST_NAMED = 12
"""Dots of a plot that have their names beside them."""


def search_html(answer: Answer, arch: Architecture, page: RenderableType, command: str) -> str:
    """The page of a search, with the picture of its mapping."""
    mapping, cost, proof = answer.mapping, answer.cost, answer.certificate
    explanation = explain_mapping(mapping, arch, cost)
    told = "proven optimal" if proof.proven else f"{verdict(proof.value, proof.lower_bound)}, not proven optimal"
    figures = f"{energy(cost.energy_pj)} and {seconds(cost.latency_s)}, {told} for {proof.objective}."
    return page_html(
        Page(
            title=f"{mapping.work.name} on {arch.name}",
            asked=[("Objective", proof.objective), ("Space", f"{proof.space}, {proof.tiling} tilings")],
            findings=[f"The best mapping takes {figures}"],
            picture=drawn(explanation.svg(), explanation.caption),
            sections=[rendered(page)],
            command=command,
        )
    )


def bound_html(
    work: Work, points: Sequence[SlopePoint], kind: str, page: RenderableType, command: str, one: str
) -> str:
    """The page of the least traffic for sizes of a buffer; every size has its mapping in a dialog, with the command
    that finds it again, which is `one` and the size."""
    details = Details()
    found = [point for point in points if point.traffic is not None]
    dots = [
        {
            "x": point.words,
            "y": point.traffic,
            "r": 5,
            "series": 0,
            "label": f"{count(point.words)} words of buffer: {significant(point.traffic or 0.0)} words moved",
            "detail": details.add(f"size-{point.words}", _slope_detail(work, point, one)),
        }
        for point in found
    ]
    beside = _beside(work, found)
    lines = [{"kind": "front", "series": 3, "name": beside[0], "points": beside[1]}] if beside[1] else []
    compulsory = min((point.traffic or 0.0 for point in found), default=0.0)
    series = [
        {"name": "least traffic", "number": 0},
        *([{"name": beside[0], "number": 3, "line": True}] if lines else []),
    ]
    chart = {
        "label": "Least traffic against the size of the buffer",
        "x": {"title": "buffer (words)", "unit": "count", "log": True},
        "y": {"title": "words moved", "unit": "count", "log": True},
        "series": series,
        "lines": lines,
        "dots": dots,
        "dodge": False,
    }
    proven = sum(point.proven for point in points)
    findings = []
    if found:
        first = next(point for point in found if (point.traffic or 0.0) <= 1.01 * compulsory)
        least = f"within 1% of the least, {significant(compulsory)} words"
        findings = [f"With a buffer of {plural(first.words, 'word')} or more, traffic is {least}."]
    return page_html(
        Page(
            title=f"Least traffic of {work.name}",
            asked=[("Space", kind), ("Proof", f"{proven} of {plural(len(points), 'size')} proven")],
            findings=findings,
            picture=plot("slope"),
            sections=[rendered(page, {count(point.words): f"size-{point.words}" for point in found})],
            command=command,
            data={"plots": {"slope": chart}, **details.data()},
        )
    )


def _beside(work: Work, found: Sequence[SlopePoint]) -> tuple[str, list[list[float]]]:
    """What the curve is compared with: of a cascade nothing fused, of a layer what no schedule goes below."""
    if isinstance(work, Cascade):
        return "nothing fused", [[p.words, p.unfused] for p in found if p.unfused is not None]
    return "no schedule moves fewer", [[p.words, p.bound] for p in found if p.bound is not None]


def _slope_detail(work: Work, point: SlopePoint, command: str) -> Detail:
    proof = "no mapping of the space moves fewer" if point.proven else f"at least {significant(point.least)}"
    parts = [pairs_part("Certificate", [("Words moved", significant(point.traffic or 0.0)), ("Proof", proof)])]
    if point.mapping is not None:
        parts.append(text_part("Mapping", str(point.mapping)))
    return Detail(f"{work.name}, {count(point.words)} words of buffer", "", parts, f"{command} --sizes {point.words}")


def roofline_html(
    chart: RooflineChart,
    arch: Architecture,
    answers: Sequence[Answer],
    page: RenderableType,
    command: str,
    commands: Sequence[str],
) -> str:
    """The page of a roofline; every dot has its answer in a dialog, with the command that finds it again."""
    details = Details()
    names = []
    for number, (dot, answer, again) in enumerate(zip(chart.dots, answers, commands, strict=True)):
        parts = mapping_parts(details, answer.mapping, arch, answer.cost, answer.certificate)
        reached = f"{percent(dot.attained, dot.limit)} of its limit, bound by {dot.bound}."
        figures = f"{energy(answer.cost.energy_pj)}, {seconds(answer.cost.latency_s)}, {reached}"
        names.append(details.add(f"dot-{number}", Detail(dot.name, figures, parts, again)))
    drawn_dots = [(dot, name) for dot, name in zip(chart.dots, names, strict=True) if isfinite(dot.intensity)]
    values = [value for dot, _ in drawn_dots for value in (dot.intensity, dot.compulsory)]
    low, high = min([*values, chart.ridge or 1.0]), max([*values, chart.ridge or 1.0])
    roof = [[low, chart.peak], [high, chart.peak]]
    if chart.ridge is not None and chart.bandwidth is not None:
        roof = [[low, low * chart.bandwidth], [chart.ridge, chart.peak], [max(high, chart.ridge * 2), chart.peak]]
    dots = [
        {
            "x": dot.intensity,
            "y": dot.attained,
            "r": 5,
            "series": 0 if dot.bound == "compute" else 1,
            "name": dot.name if len(drawn_dots) <= _MOST_NAMED else "",
            "label": f"{dot.name}: {significant(dot.intensity)} FLOP per byte, {rate(dot.attained)}FLOP/s",
            "detail": name,
        }
        for dot, name in drawn_dots
    ]
    plan = {
        "label": chart.title,
        "x": {"title": f"FLOP per byte of {chart.memory}", "unit": "plain", "log": True},
        "y": {"title": "FLOP per second", "unit": "FLOP/s", "log": True},
        "series": [{"name": "bound by compute", "number": 0}, {"name": "bound by a memory", "number": 1}],
        "lines": [{"kind": "roof", "name": f"peak {rate(chart.peak)}FLOP/s", "points": roof}],
        "dots": dots,
        "dodge": False,
    }
    bound = sum(dot.bound == "compute" for dot in chart.dots)
    told = f"{bound} of {plural(len(chart.dots), 'layer is', 'layers are')} bound by compute, the others by memories."
    return page_html(
        Page(
            title=chart.title,
            asked=[("Roofs", f"{rate(chart.peak)}FLOP/s, bytes of {chart.memory}")],
            findings=[told],
            picture=plot("roofline"),
            sections=[rendered(page, {dot.name: name for dot, name in zip(chart.dots, names, strict=True)})],
            command=command,
            data={"plots": {"roofline": plan}, **details.data()},
        )
    )


def layouts_html(plan: LayoutPlan, network: str, arch: Architecture, objective: str, command: str) -> str:
    """The page of a layout plan, with what it is worth as bars."""
    return page_html(
        Page(
            title=f"Layouts of {network} on {arch.name}",
            asked=[("Objective", objective)],
            findings=layout_findings(plan),
            picture=drawn(layout_picture(plan), "What the plan and others cost"),
            sections=[rendered(layout_sections(plan, arch, objective))],
            command=command,
        )
    )


def memory_html(plan: MemoryPlan, name: str, page: RenderableType, command: str) -> str:
    """The page of a memory plan, with its picture."""
    proof = "no plan is lower" if plan.proven else f"no plan is lower than {count(plan.lower_bound)} bytes"
    found = f"{plural(len(plan.buffers.buffers), 'buffer')} in {count(plan.height)} bytes; {proof}."
    picture = drawn(memory_svg(plan), "Addresses against time")
    title = f"Addresses of {name}"
    return page_html(Page(title, findings=[found], picture=picture, sections=[rendered(page)], command=command))
