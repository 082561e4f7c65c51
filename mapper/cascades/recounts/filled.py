"""Latency with the time of first and last tiles (`latency: with_fill`), and of arrays that are filled again for what
registers keep: bounds without it, trees counted with it.

Every visit of a branch fills and empties, and so does every visit of a sub-tree for the nodes that stand in it. So a
node above a split is worth more than what it saves in words, and costs of parts do not add up as `tree_search.py` takes
them to. But no tree is faster than it would be if nothing had to be filled: what is proven of that machine is a bound
here. Trees are those of that machine, and those that are best if branches alone are filled; the cost model counts both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from ....arch import Architecture
from ...pareto.weights import Weights
from ..branches.oracle import ExactBranches
from ..objectives.search import CascadeSearch
from ..question import check_searchable
from ..tree_search import TreeSearch
from ..tree_searches import Aside, Corner


@dataclass
class FilledSearch(CascadeSearch):
    """One search on a machine on which first and last tiles take time."""

    _filled: Architecture = field(init=False)

    def __post_init__(self) -> None:
        check_searchable(self.question)
        self._filled = self.question.arch
        self.question = replace(self.question, arch=self._filled.without_fills())
        super().__post_init__()

    @property
    def counted_on(self) -> Architecture:
        return self._filled

    def solve(self, weights: Weights, most: float = math.inf) -> Corner | None:
        """The best known of one weighted sum, and a bound on all."""
        with self.within(self.means.share()):
            super().solve(weights, most)
        if weights.latency or self._filled.total_leakage_pj_per_cycle:
            self._fill_branches(weights)
        return self.best_by(weights)

    def _fill_branches(self, weights: Weights) -> None:
        """The best tree if branches alone are filled: one more that is known."""
        question = self.question
        solver = ExactBranches(question.cascade, self._filled, question.space, question.tiling, self.means)
        search: TreeSearch = self.tree_search(
            weights, fuse="plain" if question.fuse == "all" else None, aside=Aside(solver, self.means)
        )
        best, _ = self.in_all_orders(search, self._least_known(weights))
        if best is not None:
            self._keep(best)
