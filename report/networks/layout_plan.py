"""The page of a layout plan: where each tensor of a network lies, what is converted, and what that is worth."""

from __future__ import annotations

from collections import Counter

from rich.console import Group, RenderableType
from rich.text import Text

from ...arch import Architecture
from ...ir.units import count, energy, percent, plural, significant
from ...mapper.layout_plan import LayoutPlan
from ..parts.palette import colour_classes
from ..parts.svg import label, rect, svg
from ..parts.text import columns, pairs, section


def layout_plan_page(plan: LayoutPlan, network: str, arch: Architecture, objective: str) -> RenderableType:
    """The plan as a page for people."""
    title = Text(f"Layouts of {network} on {arch.name}, {objective}", style="bold")
    return Group(title, layout_sections(plan, arch, objective))


def layout_sections(plan: LayoutPlan, arch: Architecture, objective: str) -> RenderableType:
    """The page below its title."""
    tensors = columns(("tensor", "layout", "chosen from"), ())
    for name, layout in plan.stored.items():
        tensors.add_row(name, layout, ", ".join(plan.choices[name]))
    converted = columns(("tensor", "from", "to", "for"), ("lines read", "lines written", "cost"))
    for each in plan.conversions:
        texts = each.tensor, each.old, each.new, f"{each.before} writes it" if each.before else "a copy to read"
        converted.add_row(*texts, f"{each.lines_read:,}", f"{each.lines_written:,}", _shown(each.value, plan.objective))
    used = ", ".join(f"{layout} {times}" for layout, times in Counter(plan.stored.values()).most_common())
    return Group(
        section("Tensors in " + arch.memories[0].name, tensors),
        section(
            "Conversions", converted if plan.conversions else Text("none: what a layer writes is what others read")
        ),
        section(_worth(plan), pairs(worth_rows(plan))),
        section(
            "Certificate",
            pairs(
                [
                    ("Objective", f"{objective}, {_proven(plan)}"),
                    *_product_rows(plan),
                    ("Tensors", f"{len(plan.stored)}: {used}"),
                    ("Searched", f"{plural((plan.product or plan).searched, 'choice')} of layouts of a layer"),
                ]
            ),
        ),
    )


def _worth(plan: LayoutPlan) -> str:
    return f"What layouts are worth, as {plan.objective}" if plan.product else "What layouts are worth"


def _product_rows(plan: LayoutPlan) -> list[tuple[str, str]]:
    """What a plan comes to that was asked for the least product."""
    if plan.product is None:
        return []
    both = f"{energy(plan.energy_pj)}, {count(plan.latency_cycles)} cycles"
    return [("Value", f"{plan.product.value:.9e}: {both}"), ("Lower bound", f"{plan.product.bound:.9e}")]


def layout_findings(plan: LayoutPlan) -> list[str]:
    """What the plan costs, how far that is from what no layouts can go below, and what conversions save."""
    shown, above = _shown(plan.value, plan.objective), plan.value / plan.full_lines - 1
    least = f"{percent(above, 1)} more than" if above >= _SHOWN_SHARE else "as much as"
    found = [f"The plan takes {shown}, {least} with full lines, below which no layouts go."]
    written = plan.as_written / plan.value - 1
    if written < _SHOWN_SHARE:
        found.append("Tensors as they are written cost as much.")
    else:
        found.append(f"Tensors as they are written would cost {percent(written, 1)} more.")
    if plan.conversions:
        spent = _shown(sum(each.value for each in plan.conversions), plan.objective)
        saved = _shown(plan.agreed - plan.value, plan.objective)
        found.append(f"{plural(len(plan.conversions), 'conversion')} for {spent} save {saved}.")
    else:
        found.append("Nothing is converted: what a layer writes is what others read.")
    return found


def layout_picture(plan: LayoutPlan) -> str:
    """Bars as long as what the plan costs, and what others do."""
    bars = [
        ("this plan", plan.value),
        ("without conversions", plan.agreed),
        ("tensors as written", plan.as_written),
        ("if all lines were full", plan.full_lines),
    ]
    shapes = []
    for number, (name, value) in enumerate(bars):
        y = 8 + 42 * number
        width = _BAR * value / max(value for _, value in bars)
        told = f"{name}: {_shown(value, plan.objective)}"
        shapes += [label(8, y + 12, told), rect(8, y + 18, width, 16, "b0" if number == 0 else "b7", 2)]
    title = f"{plan.objective} with other layouts"
    return svg(16 + _BAR, 12 + 42 * len(bars), title, title, colour_classes("b", "i"), shapes)


_BAR = 340  # as wide as a telephone
_SHOWN_SHARE = 0.0005  # less is no difference to readers


def worth_rows(plan: LayoutPlan) -> list[tuple[str, str]]:
    """What the plan costs, and what others do."""
    objective = plan.objective
    spent = sum(each.value for each in plan.conversions)
    saved = plan.agreed - plan.value
    return [
        ("This plan", f"{_shown(plan.value, objective)}, of which conversions {_shown(spent, objective)}"),
        ("Without conversions", f"{_times(plan.agreed, plan, objective)}: they save {_shown(saved, objective)}"),
        ("As tensors are written", _times(plan.as_written, plan, objective)),
        ("If all lines were full", f"{_times(plan.full_lines, plan, objective)}: no layouts cost less"),
    ]


def layout_plan_document(plan: LayoutPlan, network: str, arch: Architecture, objective: str) -> dict[str, object]:
    """The plan for programs."""
    product = plan.product
    asked = {} if product is None else {"product": {"value": product.value, "lower_bound": product.bound}}
    return {
        "network": network,
        "architecture": arch.name,
        "objective": objective,
        **asked,
        "energy_pj": plan.energy_pj,
        "latency_cycles": plan.latency_cycles,
        "minimized": plan.objective,
        "value": plan.value,
        "lower_bound": plan.bound,
        "without_conversions": plan.agreed,
        "as_written": plan.as_written,
        "full_lines": plan.full_lines,
        "stored": dict(plan.stored),
        "layers": [
            {"name": each.name, "reads": dict(each.reads), "writes": dict([each.writes]), "value": each.value}
            for each in plan.layers
        ],
        "conversions": [
            {
                "tensor": each.tensor,
                "from": each.old,
                "to": each.new,
                "written_by": each.before or None,
                "lines_read": each.lines_read,
                "lines_written": each.lines_written,
                "value": each.value,
            }
            for each in plan.conversions
        ],
    }


def _shown(value: float, objective: str) -> str:
    if objective == "energy":
        return energy(value)
    return f"{count(value)} cycles" if objective == "latency" else significant(value)


def _times(value: float, plan: LayoutPlan, objective: str) -> str:
    times = significant(value / plan.value)
    return f"{_shown(value, objective)}, {'as much' if times == '1' else f'{times} times as much'}"


def _proven(plan: LayoutPlan) -> str:
    if plan.proven:
        return "proven: no layouts, conversions and mappings of single layers cost less"
    return f"not proven: others may cost {plan.open_part:.2%} less"
