"""The page of a mapping space: its exact size by what it comes from, and what textbooks estimate."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from rich.console import Group

from ...arch import Architecture
from ...ir import Problem
from ...ir.units import power_of_ten, significant
from ...mapper.space.size import SpaceSize
from ...mapper.space.textbook import TextbookEstimate
from ..parts.sparse import density_rows, format_choices
from ..parts.text import architecture_rows, pairs, section
from ..parts.work import work_rows

_WRITTEN_OUT = 10**6
"""From here on, figures are written as powers of ten."""


def space_page(problem: Problem, arch: Architecture, kind: str, size: SpaceSize, estimate: TextbookEstimate) -> Group:
    """The four factors of a space and their product, over the estimates; `kind` says which space it is."""
    exact = [
        ("Placements", f"{_figure(size.placements):10} memories that keep each tensor"),
        ("Tilings", f"{_figure(size.tilings):10} for each placement, in time"),
        ("Spatial", f"{_figure(size.spatial):10} times as many with loops on arrays"),
        ("Orders", f"{_figure(size.orders):10} loop orders for each of these"),
        ("Total", f"{_figure(size.total):10} mappings, before capacities are looked at"),
    ]
    if problem.has_zeros:
        exact.append(
            ("Formats", f"{_figure(format_choices(problem, arch)):10} at most for each, the best of which counts")
        )
    estimates = [
        ("Timeloop", f"{_figure(estimate.timeloop):10} permutations x bypasses x co-factor sets"),
        ("Rule of thumb", f"{_figure(estimate.rule_of_thumb):10} (choices^components x orders)^memories"),
    ]
    return Group(
        pairs([*work_rows(problem), *density_rows(problem), *architecture_rows(arch), ("Space", kind)]),
        section("Exact count", pairs(exact)),
        section("Textbook estimates", pairs(estimates)),
    )


def space_data(problem: Problem, arch: Architecture, kind: str, size: SpaceSize, estimate: TextbookEstimate) -> Any:
    """The same for programs; factors that are averages are rounded to doubles."""
    formats = {"formats": format_choices(problem, arch)} if problem.has_zeros else {}
    return {
        "layer": problem.name,
        "architecture": arch.name,
        "space": kind,
        "placements": size.placements,
        "tilings": float(size.tilings),
        "spatial": float(size.spatial),
        "orders": float(size.orders),
        "total": size.total,
        **formats,
        "estimates": {"timeloop": estimate.timeloop, "rule_of_thumb": estimate.rule_of_thumb},
    }


def _figure(value: int | Fraction) -> str:
    """A whole number in full or as a power of ten, an average to a few digits."""
    if value >= _WRITTEN_OUT:
        return power_of_ten(round(value))
    return f"{int(value):,}" if value == int(value) else significant(float(value), 6)
