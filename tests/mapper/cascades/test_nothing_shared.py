"""Cascades whose operations have nothing in common on chip: no tree weighs less than what they do one by one, and where
one weighs as much no other is searched for."""

from __future__ import annotations

import pytest

from cascade_cases import CHEAP, Case, random_case
from longer import blocks
from tilewright.arch import Keeps, Memory, load_arch
from tilewright.cost_models import EDP
from tilewright.mapper.cascades import search_cascade
from tilewright.mapper.cascades.branches.oracle import ExactBranches
from tilewright.mapper.cascades.objectives.weighted_sums import WeightedSums
from tilewright.mapper.cascades.relaxations.nothing_shared import least_apart, shares_nothing
from tilewright.mapper.cascades.terms.upper_memories import UpperMemories, with_single_copies
from tilewright.mapper.means import Means
from tilewright.mapper.pareto.weights import ENERGY_ALONE, LATENCY_ALONE, Weights
from tilewright.mapper.question import Question
from tilewright.workloads import cascade

CHAIN = ["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"]


APART = Keeps(input="may", weight="may", output="never"), Keeps(input="never", weight="never", output="may")


def with_roles_apart(case: Case, kept: Keeps) -> Case:
    """A case on its machine where all memories but the outermost keep only what operations read, or what they write."""
    levels = [
        level.model_copy(update={"keeps": kept}) if isinstance(level, Memory) and place else level
        for place, level in enumerate(case.arch.levels)
    ]
    arch = case.arch.model_copy(update={"levels": tuple(levels)})
    return Case(case.kind, case.cascade, arch, case.tiling, case.space, case.fuse)


@pytest.mark.parametrize("seeds", blocks(30, 10))
def test_no_tree_of_a_brute_force_weighs_less(seeds: range) -> None:
    compared = tight = 0
    for seed in seeds:
        case = with_roles_apart(random_case(seed, CHEAP), APART[seed % 2])
        memories = UpperMemories(case.arch)
        best = case.trees.best()
        if not best or not shares_nothing(case.cascade, memories):
            continue
        alone = ExactBranches(case.cascade, with_single_copies(case.arch), "uneven", case.tiling, Means())
        for weights, objective in ((ENERGY_ALONE, "energy"), (LATENCY_ALONE, "latency")):
            least = least_apart(case.cascade, memories, alone, weights)
            assert 0 < least <= best[objective].value * (1 + 1e-9), f"{seed}, {objective}\n{case}"
            tight += least >= best[objective].value * (1 - 1e-9)
            compared += 1
    assert compared > 1
    assert tight > compared / 2


def test_what_operations_share_on_chip_is_seen() -> None:
    chain, gemmini, buffer = cascade(CHAIN, m=8, n=8, k=8, p=8), load_arch("gemmini"), load_arch("three_level")
    halves = cascade(["G[m,n] += X[m,k] * B[k,n]", "U[m,p] += X[m,k] * C[k,p]"], m=8, n=8, k=8, p=8)
    twice = cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m] += T[m,n] * C[n]", "U[n] max= T[m,n]"], m=8, n=8, k=8)
    running = cascade(["L[m,i] max= S[m,i]", "R[m,i+1] = max(R[m,i], L[m,i]) start 0"], m=8, i=8)
    assert shares_nothing(chain, UpperMemories(gemmini))
    assert not shares_nothing(chain, UpperMemories(buffer))
    assert not shares_nothing(halves, UpperMemories(gemmini))
    assert not shares_nothing(twice, UpperMemories(gemmini))
    assert not shares_nothing(running, UpperMemories(gemmini))


@pytest.mark.long
@pytest.mark.parametrize("tiling", ["perfect", "ragged"])
def test_no_tree_is_searched_where_nothing_can_be_fused(tiling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On gemmini what one operation writes goes out before another one reads it, and no tree is better than one without
    shared loops: with the bound no more than that one is looked at."""
    asked = Question(cascade(CHAIN, m=6, n=8, k=4, p=6), load_arch("gemmini"), EDP, tiling)
    found = []
    for least in (least_apart, lambda *_: 0.0):
        monkeypatch.setattr("tilewright.mapper.cascades.objectives.weighted_sums.least_apart", least)
        search = WeightedSums(asked, Means())
        corner = search.solve(Weights(1.0, 300.0))
        found.append((300.0 * corner.latency + corner.energy, search.solver.searches))
    (quick, few), (slow, many) = found
    assert quick == pytest.approx(slow, rel=1e-9)
    assert few < many
    assert search_cascade(asked).certificate.gap == 0.0
