"""The search over trees that iterate: against all trees of tiny cascades, and over all sizes of blocks."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from cascade_cases import CHEAP, DEAR, ITERATED, Case, random_case
from longer import TIMES, blocks
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from tilewright.cost_models import ENERGY, parse_objective
from tilewright.ir import Cascade, InfeasibleError, TilewrightError
from tilewright.mapper.cascades import search_cascade
from tilewright.mapper.emit import verify_numpy
from tilewright.mapper.question import Question
from tilewright.workloads import cascade

MOST = CHEAP if TIMES == 1 else DEAR
OBJECTIVES = ("energy", "latency", "edp")
MAY = Keeps(input="may", weight="may", output="may")
RUNNING = [
    "L[m,i] max= S[m,i,j]",
    "C[m,i] = R[m,i] - max(R[m,i], L[m,i])",
    "R[m,i+1] = max(R[m,i], L[m,i]) start -3",
    "D[m,i+1] = D[m,i] * C[m,i] + L[m,i] start 1",
    "O[m] = D[m,-1] - R[m,-1]",
]


def searched(case: Case, objective: str, best: float) -> float:
    """The optimum that the search proves; infinite where nothing fits, the best where it is right about a gap."""
    question = Question(case.cascade, case.arch, parse_objective(objective), case.tiling, case.space)
    try:
        answer = search_cascade(question)
    except InfeasibleError:
        return math.inf
    value, proven = answer.cost.objective(objective), answer.certificate
    if proven.gap > 0.0:
        assert case.arch.partial_sum_bits is not None
        assert proven.lower_bound <= best * (1 + 1e-9) <= value * (1 + 2e-9)
        return best
    return value


@pytest.mark.parametrize("seeds", blocks(15, 5))
def test_the_search_finds_the_best_of_all_trees_that_iterate(seeds: range) -> None:
    for seed in seeds:
        case, objective = random_case(seed, MOST, iterates=True), OBJECTIVES[seed % 3]
        best = case.trees.best()
        expected = best[objective].value if best else math.inf
        assert searched(case, objective, expected) == pytest.approx(expected, rel=1e-9), f"{seed}, {objective}\n{case}"


def test_all_kinds_of_iterations_occur() -> None:
    found = Counter(random_case(seed, CHEAP, iterates=True).kind for seed in range(15))
    assert found.keys() == set(ITERATED)


def machine(words: int, keeps: Keeps = MAY) -> Architecture:
    """One buffer of so many words."""
    memory = {"access_bits": 8, "read_energy_pj": 100.0, "write_energy_pj": 100.0}
    buffer = {"access_bits": 8, "read_energy_pj": 1.0, "write_energy_pj": 1.0, "size_bits": 8 * words, "keeps": keeps}
    levels = (Memory(name="DRAM", **memory), Memory(name="GLB", **buffer))
    return Architecture(name="one", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=0.5))


def best_of(whole: Cascade, words: int) -> float:
    return search_cascade(Question(whole, machine(words), ENERGY, "perfect", "uneven")).cost.energy_pj


@pytest.mark.parametrize("words", [6, 12])
def test_the_size_of_a_block_is_chosen(words: int) -> None:
    """The best of all sizes, proven, as if each had been searched by itself; its program runs."""
    whole = cascade(RUNNING, {"m": 2, "i:j": 8})
    assert [form.form for form in whole.forms] == ["i=8, j=1", "i=4, j=2", "i=2, j=4"]
    answer = search_cascade(Question(whole, machine(words), ENERGY, "perfect", "uneven"))
    assert answer.certificate.proven
    assert answer.cost.energy_pj == min(best_of(form, words) for form in whole.forms)
    assert answer.mapping.cascade in whole.forms
    assert [one.form for one in answer.forms] == [form.form for form in whole.forms]
    assert verify_numpy(answer.mapping, machine(words), 1)


def test_what_must_be_kept_may_stand_above_the_split() -> None:
    """Words of three operands and a wide sum have no room below a split: not even the fastest mapping is bounded so."""
    levels = (
        Memory(name="DRAM", access_bits=8, read_energy_pj=20.0, write_energy_pj=20.0, shared_bits_per_cycle=8.0),
        Memory(name="GLB", access_bits=8, read_energy_pj=7.0, write_energy_pj=9.0, size_bits=32, keeps=Keeps()),
        Memory(name="L0", access_bits=8, read_energy_pj=1.0, write_energy_pj=1.0, size_bits=24, keeps=MAY),
        Fanout(name="array", axes=(ArrayAxis(size=2),)),
    )
    arch = Architecture(
        name="tiny", clock_hz=1e9, word_bits=8, partial_sum_bits=24, levels=levels, mac=Mac(energy_pj=1)
    )
    fed_back = cascade(["Y[k,i] += W[k,n] * X[n,i]", "X[k,i+1] = X[k,i] + Y[k,i] start 1"], k=1, n=1, i=2)
    answer = search_cascade(Question(fed_back, arch, parse_objective("latency"), "perfect"))
    assert answer.certificate.proven


@pytest.mark.parametrize(
    ("lines", "sizes", "fuse", "message"),
    [
        (RUNNING, {"m": 2, "i": 4, "j": 2}, "none", "is shared by several operations, and fuse 'none' has none"),
        (RUNNING, {"m": 2, "i": 1, "j": 2}, "all", "makes one step"),
        (["R[m,i+1] = R[m,i] - S[m,i] start 0"], {"m": 2, "i": 2}, "all", "and there is one operation"),
    ],
)
def test_what_cannot_be_searched_is_said(lines: list[str], sizes: dict[str, int], fuse: str, message: str) -> None:
    question = Question(cascade(lines, sizes), machine(12), ENERGY, "perfect", fuse=fuse)  # type: ignore[arg-type]
    with pytest.raises(TilewrightError) as caught:
        search_cascade(question)
    assert message in str(caught.value)
