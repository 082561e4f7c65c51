"""What is proven of a cascade holds for all orders of its operations."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright.cost_models import ENERGY
from tilewright.mapper.cascades import CascadeQuestion, bound_cascade
from tilewright.mapper.cascades.search import CascadeSearch
from tilewright.mapper.cascades.weights import ENERGY_ALONE
from tilewright.mapper.means import Means, OutOfMeans

FEW_FIRST = ("G[p] = X[2*p] * B[p]", "U[m] = X[m] * C[m]")
"""Two readers of an input, of which one reads every second word."""


def asked(*operations: str) -> CascadeQuestion:
    return CascadeQuestion(tw.cascade(operations, m=8, p=4), tw.load_arch("three_level"), ENERGY, "perfect")


def test_the_bound_is_that_of_the_order_that_may_be_cheapest() -> None:
    found = CascadeSearch(asked(*FEW_FIRST), Means())
    search = found.tree_search(ENERGY_ALONE)
    of_orders = [search.bound_of_whole(names) for names in found.orders()]
    assert len(of_orders) == 2
    assert bound_cascade(asked(*FEW_FIRST)) == min(of_orders)
    assert bound_cascade(asked(*reversed(FEW_FIRST))) == pytest.approx(min(of_orders))


def test_orders_that_time_leaves_out_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    found = CascadeSearch(asked(*FEW_FIRST), Means())
    search = found.tree_search(ENERGY_ALONE)
    later = [search.bound_of_whole(names) for names in found.orders()][1]
    search.open_bound = 10 * later

    def out_of_time(*_: object) -> None:
        raise OutOfMeans

    monkeypatch.setattr(search, "whole", out_of_time)
    monkeypatch.setattr(found, "tree_search", lambda *_, **__: search)
    bound, _ = found._least(ENERGY_ALONE, float("inf"))
    assert found.out_of_means
    assert bound == later
