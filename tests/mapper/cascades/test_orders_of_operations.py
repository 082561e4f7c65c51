"""What is proven of a cascade holds for all orders of its operations."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright.cost_models import ENERGY
from tilewright.mapper.cascades.objectives.search import CascadeSearch
from tilewright.mapper.means import Means
from tilewright.mapper.pareto.weights import ENERGY_ALONE
from tilewright.mapper.question import Question, TreeQuestion

FEW_FIRST = ("G[p] = X[2*p] * B[p]", "U[m] = X[m] * C[m]")
"""Two readers of an input, of which one reads every second word."""


def asked(*operations: str) -> TreeQuestion:
    return Question(tw.cascade(operations, m=8, p=4), tw.load_arch("three_level"), ENERGY, "perfect")


def test_the_bound_is_that_of_the_order_that_may_be_cheapest() -> None:
    found = CascadeSearch(asked(*FEW_FIRST), Means())
    search = found.tree_search(ENERGY_ALONE)
    of_orders = [search.bound_of_whole(names) for names in found.orders()]
    assert len(of_orders) == 2
    assert found.least_of(ENERGY_ALONE) == min(of_orders)
    turned = CascadeSearch(asked(*reversed(FEW_FIRST)), Means())
    assert turned.least_of(ENERGY_ALONE) == pytest.approx(min(of_orders))


def orders_of(question: TreeQuestion) -> list[tuple[str, ...]]:
    return list(CascadeSearch(question, Means()).orders())


HALVES = ("G[m,n] += X[m,k] * A[k,n]", "U[m,n] += X[m,k] * B[k,n]", "O[m,n] = relu(G[m,n]) * U[m,n]")
"""Two products of one input, that may change places."""


def test_orders_that_differ_in_names_alone_are_one() -> None:
    halves = Question(tw.cascade(HALVES, m=4, n=4, k=2), tw.load_arch("three_level"), ENERGY, "perfect")
    assert orders_of(halves) == [("G", "U", "O")]
    search = CascadeSearch(halves, Means()).tree_search(ENERGY_ALONE)
    found = [search.whole(names).bound for names in (("G", "U", "O"), ("U", "G", "O"))]
    assert found[0] == pytest.approx(found[1])


@pytest.mark.parametrize(
    ("operation", "sizes"),
    [("U[m,n] += X[m,k] * B[k]", {}), ("U[m,n] = X[m,j] * B[n]", {"j": 2}), ("U[m,n] max= X[m,k] * B[k,n]", {})],
)
def test_orders_of_operations_that_cost_otherwise_are_kept(operation: str, sizes: dict[str, int]) -> None:
    whole = tw.cascade((HALVES[0], operation.replace("= X[m,j]", "+= X[m,j]"), HALVES[2]), m=4, n=4, k=2, **sizes)
    assert len(orders_of(Question(whole, tw.load_arch("three_level"), ENERGY, "perfect"))) == 2


def test_orders_are_all_kept_where_tensors_stay_by_name() -> None:
    whole, arch = tw.cascade(HALVES, m=4, n=4, k=2), tw.load_arch("three_level")
    stays = (("G", arch.memories[1].name),)
    assert len(orders_of(Question(whole, arch, ENERGY, "perfect", stays=stays))) == 2
