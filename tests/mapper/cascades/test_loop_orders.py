"""Orders of shared loops that are left aside: none of them has a better tree."""

from __future__ import annotations

import math

import pytest

from tilewright.arch import parse_arch
from tilewright.cost_models import ENERGY
from tilewright.ir import InfeasibleError
from tilewright.mapper.cascades import CascadeQuestion, search_cascade
from tilewright.mapper.cascades.objectives.weighted_sums import WeightedSums
from tilewright.mapper.cascades.relaxations.loop_orders import LoopOrders
from tilewright.mapper.cascades.terms.weights import ENERGY_ALONE
from tilewright.mapper.means import Means
from tilewright.workloads import cascade

PAIR = ["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"]
CASES = [
    (["T[h,m,n] = A[h,m] * B[h,n]", "O[h,m,n] = T[h,m,n] * C[m] * D[n]"], {"h": 2, "m": 4, "n": 4}, [6, 10]),
    (["T[m,n] = A[m] * B[n]", "O[m,n] = T[m,n] * C[n]"], {"m": 8, "n": 4}, [8]),
    (["T[m,n] = A[m] * B[n]", "O[m,p] += T[m,p+r] * D[r] pad T[0,1:1]"], {"m": 4, "n": 4, "p": 4, "r": 3}, [8]),
]
"""Operations, sizes, and bytes of room; in one order alone the first and the second would cost more."""

MACHINE = """
name: small
clock: 1 GHz
word: 8 bit
reuse: at_node
levels:
  - {memory: DRAM, access: 8 bit, read: 200 pJ, write: 200 pJ}
  - {memory: GLB, size: 64 B, access: 8 bit, read: 6 pJ, write: 6 pJ}
mac: {energy: 0.5 pJ}
"""


def least(question: CascadeQuestion) -> float:
    try:
        return search_cascade(question).certificate.lower_bound
    except InfeasibleError:
        return math.inf


@pytest.mark.parametrize("reuse", ["at_node", "across_levels"])
@pytest.mark.parametrize(("lines", "sizes", "rooms"), CASES)
def test_all_orders_together_have_no_better_tree(
    lines: list[str], sizes: dict[str, int], rooms: list[int], reuse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for room in rooms:
        arch = parse_arch(MACHINE.replace("at_node", reuse).replace("64 B", f"{room} B"))
        question = CascadeQuestion(cascade(lines, sizes), arch, ENERGY, "perfect", "uneven")
        found = least(question)
        with monkeypatch.context() as every:
            every.setattr(LoopOrders, "_swappable", lambda *_: [])
            assert found == pytest.approx(least(question), rel=1e-9), room


@pytest.mark.parametrize(("reuse", "fewer"), [("at_node", 2), ("across_levels", 0)])
def test_loops_with_no_node_between_them_stand_in_one_order(reuse: str, fewer: int) -> None:
    """O may stand above a loop over N, and with it between the two; B and C above one over M. Where nodes are filled
    anew at every step it does not matter how the loops above them both stand."""
    text = MACHINE.replace("at_node", reuse)
    question = CascadeQuestion(cascade(PAIR, m=4, n=4, k=4, p=4), parse_arch(text), ENERGY, "perfect", "uneven")
    search = WeightedSums(question, Means()).tree_search(ENERGY_ALONE)
    part = search._root(["T", "O"])
    loops = {tuple(loop.dim.of("T") for loop in each) for _, each in search.loops.choices(part, math.inf)}
    assert loops == {("M",), ("N",), ("M", "N"), ("N", "M")}
    for _, each in search.loops.choices(part, math.inf):
        if [loop.dim.of("T") for loop in each] == ["N", "M"]:
            depths = [
                {at for _, chain in one.chains for _, at in chain} for one in search.above.choices(part, each, math.inf)
            ]
            assert depths
            assert all(1 in at if fewer else at for at in depths)
