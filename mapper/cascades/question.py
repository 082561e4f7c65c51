"""What a search over trees is asked, and what it answers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ...arch import Architecture
from ...cost_models import ENERGY, Objective
from ...cost_models.layouts import refuse_lines
from ...ir import Cascade, TilewrightError
from ..question import DEFAULT_LIMITS, Limits
from ..space import Space
from ..tilings import Tiling
from .terms.tree_constraints import ANY_TREE, TreeConstraints
from .tree_search import Fuse


@dataclass(frozen=True)
class CascadeQuestion:
    """One search over trees, with everything resolved.

    cascade, arch  what is to be mapped, and on which machine
    objective      to be minimized
    tiling, space  the mappings to choose from
    fuse           `all` of the space, `plain` without shared loops along windows, `whole` intermediates on chip but no
                   shared loops, or `none`
    constraints    that trees have to satisfy
    limits         after which the best mapping so far is taken, with the bound proven by then
    stays          (tensor, memory) of tensors from outside that lie there whole before the run, or are left there after
                   it: no word of them passes the outermost memory
    below          only mappings whose objective is less than this are of interest
    floor          none has less, as is known: of least energy alone. It ends a search that has found as much
    """

    cascade: Cascade
    arch: Architecture
    objective: Objective
    tiling: Tiling
    space: Space = "even"
    fuse: Fuse = "all"
    limits: Limits = DEFAULT_LIMITS
    constraints: TreeConstraints = ANY_TREE
    stays: tuple[tuple[str, str], ...] = ()
    below: float = math.inf
    floor: float = 0.0

    @property
    def work(self) -> Cascade:
        """What is to be mapped."""
        return self.cascade

    @property
    def overlaps(self) -> bool:
        """Whether latency counts, or what leaks, on a machine on which operations overlap."""
        is_timed = self.objective != ENERGY or self.arch.total_leakage_pj_per_cycle > 0
        return self.arch.overlap == "across_operations" and is_timed and len(self.cascade.operations) > 1


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


def check_searchable(question: CascadeQuestion) -> None:
    """TilewrightError for what the search over trees does not know."""
    arch = question.arch
    if arch.latency == "with_fill" and arch.overlap == "across_operations" and len(question.cascade.operations) > 1:
        message = "with 'overlap: across_operations' no operation waits for tiles: 'latency: with_fill' says otherwise"
        raise TilewrightError(message, where=arch.name, hint="leave one of them out")
    hint = "ask for the best tree of one cascade, or leave the line of that memory out"
    refuse_lines(arch, "fronts, rankings and groups of cascades", hint)
    _check_iterations(question)


def _check_iterations(question: CascadeQuestion) -> None:
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
