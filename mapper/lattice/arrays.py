"""Choices of parallel loops: for every fanout the products of dimensions that its axes can hold."""

from __future__ import annotations

import numpy as np

from ..means import Means
from .columns import Ints
from .lattice import NumberedTiles
from .plain_question import PlainFanout, PlainQuestion


class Arrays:
    """All choices for all fanouts together; one row each. `between(a, b)` is what runs in parallel between two
    levels."""

    def __init__(self, question: PlainQuestion, lattice: NumberedTiles, means: Means) -> None:
        self.question, self.lattice = question, lattice
        chosen = np.zeros((1, 0), np.int64)
        total = np.zeros(1, np.int64)
        for fanout in question.fanouts:
            own = _along(fanout, question, lattice)
            means.check_numbers(len(total) * len(own))
            ok = np.stack([lattice.divides(total, np.full(len(total), o)) for o in own], 1)
            a, b = np.nonzero(ok)
            chosen, total = np.column_stack([chosen[a], own[b]]), total[a] + own[b]
        self.chosen, self.total = chosen, total
        self.instances = np.column_stack([lattice.count[self.between(-1, m.level)] for m in question.memories])
        self.compute = question.macs / lattice.count[total] / question.per_cycle
        ones = np.ones((len(total), 1))
        self.shares = np.hstack(
            [ones, *(self.instances[:, [m]] for m, _ in question.columns)]
        )  # of every column of a price

    def between(self, outer: float, inner: float) -> Ints:
        """Numbers of the parallel loops between two levels (-1: the top)."""
        inside = [i for i, f in enumerate(self.question.fanouts) if outer < f.level < inner]
        return self.chosen[:, inside].sum(1) if inside else np.zeros(len(self.chosen), np.int64)


def _along(fanout: PlainFanout, question: PlainQuestion, lattice: NumberedTiles) -> Ints:
    axes = []
    for size, dims in fanout.axes:
        rows = np.ones((1, len(question.sizes)), np.int64)
        for d in sorted(dims):
            n = question.sizes[d]
            divisors = np.array([k for k in range(1, min(n, size) + 1) if n % k == 0])
            wide = np.repeat(rows, len(divisors), 0)
            wide[:, d] = np.tile(divisors, len(rows))
            rows = wide[wide.prod(1) <= size]
        axes.append(rows)
    rows = axes[0]
    for other in axes[1:]:
        rows = (rows[:, None] * other[None]).reshape(-1, rows.shape[1])
        rows = rows[(np.array(question.sizes) % rows == 0).all(1)]
    return np.unique(lattice.numbers(rows))
