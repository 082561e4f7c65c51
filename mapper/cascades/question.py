"""Which questions the search over trees takes, and what it answers where nothing is of interest."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ...cost_models import ENERGY
from ...cost_models.layouts import refuse_lines
from ...ir import TilewrightError
from ..question import TreeQuestion


@dataclass(frozen=True)
class NothingBelow:
    """No mapping was found that is of interest.

    bound        no mapping has less of the objective; less than what was asked for, where time or memory ran out
    seconds      that the search took; infinite where that is not known
    interrupted  whether someone ended it
    """

    bound: float
    seconds: float = field(default=math.inf, compare=False)
    interrupted: bool = field(default=False, compare=False)


def overlaps(question: TreeQuestion) -> bool:
    """Whether latency counts, or what leaks, on a machine on which operations overlap."""
    is_timed = question.objective != ENERGY or question.arch.total_leakage_pj_per_cycle > 0
    return question.arch.overlap == "across_operations" and is_timed and len(question.cascade.operations) > 1


def check_searchable(question: TreeQuestion) -> None:
    """TilewrightError for what the search over trees does not know."""
    arch = question.arch
    if arch.fills and arch.overlap == "across_operations" and len(question.cascade.operations) > 1:
        message = f"with 'overlap: across_operations' no operation waits for another: {arch.what_fills} says otherwise"
        raise TilewrightError(message, where=arch.name, hint="leave one of them out")
    hint = "ask for the best tree of one cascade, or leave the line of that memory out"
    refuse_lines(arch, "fronts, rankings and groups of cascades", hint)
    _check_iterations(question)


def _check_iterations(question: TreeQuestion) -> None:
    """TilewrightError for iterations that no tree of the question makes."""
    several = len(question.cascade.operations) > 1
    for operation in (one for one in question.cascade if one.iterates is not None):
        shown, where = f"{operation.name} writes {operation.access(operation.output.name)}", question.cascade.name
        if question.fuse in ("none", "whole") or not several:
            asked = f"fuse '{question.fuse}' has none" if several else "there is one operation"
            message = f"{shown}: a loop over {operation.iterates} is shared by several operations, and {asked}"
            hint = "ask for fuse 'all'" if several else "give the cascade its readers"
            raise TilewrightError(message, where=where, hint=hint)
        if operation.problem.sizes[operation.iterates or ""] == 1:
            hint = f"write {operation.output.name} without the index {(operation.iterates or '').lower()}"
            raise TilewrightError(f"{shown}, and makes one step", where=where, hint=hint)
