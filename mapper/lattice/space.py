"""What the states of one search share: counts, bounds, leaders, the incumbent; and what complete mappings cost."""

from __future__ import annotations

from collections import Counter, defaultdict

from ...cost_models import evaluate
from ..kernel.incumbents import BestAnswers
from ..means import Means
from .answers import Found
from .arrays import Arrays
from .bounds import TileBounds
from .columns import Columns, Floats, Ints
from .counting import Counting
from .exact_halo import ExactHalo
from .halo import Halo
from .late import Lateness
from .lattice import NumberedTiles
from .nest import NestBuilder
from .placement import Placement
from .plain_question import PlainQuestion
from .standing import Standing
from .walks import Walks

VECTOR = 8000
"""Pairs of partial mappings and tiles that are worth growing together."""

MOST_AT_ONCE = 128
"""Partial mappings that grow together at most."""


class Space:
    """All that the states of one search share.

    best     what is found; its cutoff prunes
    pruned   partial mappings left aside, by rule
    evaluated  complete mappings whose cost was computed
    """

    def __init__(self, q: PlainQuestion, means: Means, best: BestAnswers[Found], pruned: Counter[str]) -> None:
        self.q, self.means, self.best, self.pruned = q, means, best, pruned
        self.lattice = NumberedTiles(q, means)
        self.arrays = Arrays(q, self.lattice, means)
        self.counting = Counting(q, self.lattice, self.arrays, means)
        self.halo = Halo(self.counting)
        self.exact = ExactHalo(self.counting, self.halo)
        self.bounds = TileBounds(self.counting, self.halo, self.exact)
        self.late, self.walks = Lateness(self.counting, self.halo), Walks(self.counting, self.halo, self.exact)
        self.standing = Standing(self.bounds)
        self.nests = NestBuilder(self.counting, self.exact)
        self.evaluated = 0
        self.at_once: defaultdict[int, int] = defaultdict(lambda: 4)

    def value(self, rows: Ints, costs: Floats) -> Floats:
        """The objective of rows, from their columns."""
        return self.q.value(self.arrays.compute[rows], costs)

    def told(self, placement: Placement, row: Columns) -> Found:
        """A complete mapping, and what the cost model says of it."""
        self.means.check()
        self.evaluated += 1
        mapping = self.nests.mapping(placement, row)
        cost = evaluate(mapping, self.q.arch)
        return Found(cost.objective(self.q.objective), mapping, cost)

    def adapt(self, depth: int, pairs: int) -> None:
        """How many partial mappings grow together: few at first, for an early incumbent; then as vectors are worth."""
        now = self.at_once[depth]
        if pairs < VECTOR / 2:
            self.at_once[depth] = min(2 * now, MOST_AT_ONCE)
        elif pairs > VECTOR * 2:
            self.at_once[depth] = max(now // 2, 1)
