"""The segmentation of least product of powers of energy and latency, such as the EDP of a whole network.

It lies at a corner of the convex hull of all segmentations' (energy, latency), and corners are least weighted sums
(`corners.py`)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .corners import Corners
from .question import NetworkAnswer, NetworkQuestion
from .searching import GroupSolvers


@dataclass
class ProductSearch:
    """One search."""

    question: NetworkQuestion
    solvers: GroupSolvers

    def run(self) -> NetworkAnswer:
        """The best corner, and what is proven of it."""
        corners = Corners(self.question, self.solvers)
        corners.explore()
        return answer_at(corners, corners.best, corners.bound(corners.lines, corners.value(corners.best)))


def answer_at(corners: Corners, best: NetworkAnswer, bound: float) -> NetworkAnswer:
    """A corner as the answer to the question that corners were looked for.

    bound  nothing has less of the objective
    """
    searched = sum(corner.searched for corner in corners.found)
    return replace(
        best,
        question=corners.question,
        certificate=corners.certificate(corners.value(best), bound, searched),
        apart=corners.best_of(corners.apart),
        passing=None if best.passing is None else corners.best_of(corners.passing),
        searched=searched,
        in_order=any(one.in_order for one in corners.found),
        all_pass=any(one.all_pass for one in corners.found),
    )
