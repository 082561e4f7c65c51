"""A memory plan as a page of text, and as plan.json."""

from __future__ import annotations

import json
from typing import Any

from rich import box
from rich.console import Group
from rich.table import Table

from ...ir.units import count, percent, plural
from ...mapper.memory_plan import LiveBuffer, MemoryPlan
from ..parts.text import pairs, section

PLAN_VERSION = 1
"""Of the form of plan.json."""

_ROWS = 20
"""Buffers that the page shows; plan.json has all."""


def plan_page(plan: MemoryPlan, name: str) -> Group:
    """What the plan takes, what is proven, and its largest buffers."""
    rows = [
        ("Buffers", f"{name}: {_number(plan)}, {_bytes(sum(b.size * b.copies for b in plan.buffers.buffers))} in all"),
        ("Height", _bytes(plan.height) + _capacity(plan)),
        ("Live at most", _bytes(plan.buffers.peak)),
        ("Proof", _proof(plan)),
    ]
    if plan.shared:
        rows.append(("In place", ", ".join(f"{pair.source} -> {pair.result}" for pair in plan.shared)))
    return Group(pairs(rows), section("Addresses", _table(plan)))


def plan_document(plan: MemoryPlan) -> dict[str, Any]:
    """plan.json: sizes and offsets in bytes, lifetimes half-open."""
    return {
        "plan_version": PLAN_VERSION,
        "height_bytes": plan.height,
        "lower_bound_bytes": plan.lower_bound,
        "proven": plan.proven,
        "capacity_bytes": plan.capacity,
        "fits": plan.fits,
        "decisions": plan.decisions,
        "in_place": [[pair.source, pair.result] for pair in plan.shared],
        "buffers": [buffer_document(plan, buffer) for buffer in plan.buffers.buffers],
    }


def buffer_document(plan: MemoryPlan, buffer: LiveBuffer) -> dict[str, Any]:
    """One buffer of a plan, and where its copies lie."""
    return {
        "id": buffer.name,
        "lower": buffer.lower,
        "upper": buffer.upper,
        "size_bytes": buffer.size,
        "alignment": buffer.alignment,
        **({"gaps": [list(gap) for gap in buffer.gaps]} if buffer.gaps else {}),
        "offsets": list(plan.offsets[buffer.name]),
    }


def plan_json(plan: MemoryPlan) -> str:
    """The text of plan.json."""
    return json.dumps(plan_document(plan), indent=1, ensure_ascii=False) + "\n"


def _number(plan: MemoryPlan) -> str:
    return plural(len(plan.buffers.buffers), "buffer")


def _bytes(number: int) -> str:
    return f"{count(number)} B"


def _capacity(plan: MemoryPlan) -> str:
    if plan.capacity is None:
        return ""
    found = f" of {_bytes(plan.capacity)}"
    return f"{found} ({percent(plan.height, plan.capacity)})" if plan.fits else f"{found}: does not fit"


def _proof(plan: MemoryPlan) -> str:
    how = f", {plural(plan.decisions, 'decision')}" if plan.decisions else ", without search"
    if plan.proven:
        return f"no plan is lower{how}"
    return f"no plan is lower than {_bytes(plan.lower_bound)}; gap {plan.gap:.1%}{how}"


def _table(plan: MemoryPlan) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("buffer", no_wrap=True)
    for name in ("live", "size", "offset", "up to"):
        table.add_column(name, justify="right", no_wrap=True)
    places = sorted(plan.places(), key=lambda place: (-place[0].size, place[0].name))
    for buffer, start, end in places[:_ROWS]:
        live = ", ".join(f"{begin} to {end}" for begin, end in buffer.lives)
        table.add_row(buffer.name, live, count(buffer.size), count(start), count(end))
    if len(places) > _ROWS:
        table.add_row(f"and {len(places) - _ROWS} smaller", "", "", "", "")
    return table
