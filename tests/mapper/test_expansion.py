from __future__ import annotations

import random

import numpy as np

from tilewright.mapper.expansion import undercut


def test_costs_that_another_undercuts() -> None:
    """Columns are rows of (energy, cycles): equal, worse in one, better in one."""
    costs = np.array([[5.0, 5.0, 5.0], [5.0, 5.0, 5.0]])
    other = np.array([[5.0, 4.0, 4.0], [5.0, 5.0, 6.0]])
    assert undercut(costs, [other]).tolist() == [True, True, False]
    assert undercut(costs, []).tolist() == [False, False, False]


def test_two_others_do_not_undercut_together() -> None:
    """(2, 2) has a lower product than (1, 10) and (10, 1), though each of its columns is undercut by one of them."""
    costs, others = np.array([[2.0], [2.0]]), [np.array([[1.0], [10.0]]), np.array([[10.0], [1.0]])]
    assert undercut(costs, others).tolist() == [False]
    assert undercut(costs, [*others, np.array([[2.0], [1.0]])]).tolist() == [True]


def test_undercut_row_by_row() -> None:
    rng = random.Random(1)
    for _ in range(200):
        tables = [np.array([[rng.randint(1, 4) for _ in range(6)] for _ in range(3)], dtype=float) for _ in range(4)]
        costs, *others = tables
        expected = [any(all(o[c, r] <= costs[c, r] for c in range(3)) for o in others) for r in range(6)]
        assert undercut(costs, others).tolist() == expected
