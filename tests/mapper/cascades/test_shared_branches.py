"""What searches of several cascades learn together: they find the same, with fewer searches of branches."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from cascade_cases import Case, random_case
from longer import blocks
from tilewright.arch import Architecture, Memory, load_arch
from tilewright.cost_models import ENERGY
from tilewright.ir import Cascade, InfeasibleError
from tilewright.mapper.cascades import SharedBranches, search_cascade, search_cascade_front, sharing
from tilewright.mapper.cascades.space.fewer_steps import Chances
from tilewright.mapper.effort import TREE_EFFORT
from tilewright.mapper.exact.search import ExactSearch
from tilewright.mapper.question import Question, TreeQuestion
from tilewright.workloads import cascade

PAIR = cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"], m=16, k=8, n=16, p=8)
OTHER = cascade(["S[i,j] += X[i,l] * Y[l,j]", "U[i,j] = exp(S[i,j])"], i=16, j=16, l=8)
"""Its first operation is that of the pair, under other names."""
TINY = cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,n] = exp(T[m,n])"], m=4, k=2, n=4)
TINY_OTHER = cascade(["S[i,j] += X[i,l] * Y[l,j]", "U[i,j] = exp(S[i,j])"], i=4, j=4, l=2)


def _parts(case: Case) -> list[Cascade]:
    """A cascade, and each of its operations alone but for those that need others."""
    alone = [Cascade(operation.name, (operation,)) for operation in case.cascade if not operation.generations]
    return [*alone, case.cascade]


def _halved(arch: Architecture, name: str) -> Architecture:
    """The machine with half the room in one memory."""
    levels = [
        level.model_copy(update={"size_bits": max(1, (level.size_bits or 0) // 2)})
        if isinstance(level, Memory) and level.name == name
        else level
        for level in arch.levels
    ]
    return arch.model_copy(update={"levels": tuple(levels)})


def _value(asked: TreeQuestion) -> float | None:
    try:
        proof = search_cascade(asked).certificate
    except InfeasibleError:
        return None
    assert proof.proven
    return proof.value


@pytest.mark.parametrize("seeds", blocks(24, 6))
def test_searches_that_share_find_the_same(seeds: range) -> None:
    for seed in seeds:
        rng, case = random.Random(seed), random_case(seed)
        sized = [memory.name for memory in case.arch.memories if memory.size_bits]
        machines = [case.arch, *(_halved(case.arch, name) for name in rng.sample(sized, min(1, len(sized))))]
        every = [Question(part, arch, ENERGY, case.tiling, case.space) for part in _parts(case) for arch in machines]
        rng.shuffle(every)
        apart = [_value(asked) for asked in every]
        with sharing(SharedBranches()):
            together = [_value(asked) for asked in every]
        for one, other in zip(together, apart, strict=True):
            assert (one is None) == (other is None), seed
            assert one is None or one == pytest.approx(other, rel=1e-9), seed


def test_a_cascade_is_searched_with_what_another_has_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    solved: list[str] = []
    solve = ExactSearch.solve

    def counted(search: ExactSearch, proof: bool = True) -> bool:
        solved.append(search.original.name)
        return solve(search, proof)

    monkeypatch.setattr(ExactSearch, "solve", counted)
    arch = load_arch("three_level")
    first, second = (Question(one, arch, ENERGY, "perfect") for one in (PAIR, OTHER))
    with sharing(SharedBranches()):
        value = search_cascade(first).certificate.value
        assert len(solved) > 0
        solved.clear()
        assert search_cascade(replace(first, below=2 * value)).certificate.value == value
        again = len(solved)
        solved.clear()
        search_cascade(second)
        shared = len(solved)
    solved.clear()
    search_cascade(first)
    assert len(solved) > again
    solved.clear()
    search_cascade(second)
    assert len(solved) > shared


@pytest.mark.long
def test_fronts_are_those_of_searches_of_their_own() -> None:
    """Under the names of each cascade. (A front asked for what it knew under the names of another one.)"""
    arch = load_arch("eyeriss")
    every = [Question(one, arch, ENERGY, "perfect") for one in (TINY, TINY_OTHER)]
    apart = [[(one.cost.energy_pj, one.cost.latency_cycles) for one in search_cascade_front(each)] for each in every]
    with sharing(SharedBranches()):
        together = [
            [(one.cost.energy_pj, one.cost.latency_cycles) for one in search_cascade_front(each)] for each in every
        ]
    assert together == apart
    assert any(len(front) > 1 for front in apart)


def test_room_outside_arrays_is_no_part_of_a_machine() -> None:
    shared, arch = SharedBranches(), load_arch("three_level")
    smaller = _halved(arch, arch.memories[1].name)
    known = shared.of(arch, "even", "perfect")
    assert shared.of(smaller, "even", "perfect") is known
    assert shared.of(arch, "uneven", "perfect") is not known
    assert shared.of(load_arch("simba"), "even", "perfect") is not known


def test_what_is_known_is_forgotten_where_it_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    shared, arch = SharedBranches(), load_arch("three_level")
    known = shared.of(arch, "even", "perfect")
    known.known.count = TREE_EFFORT.at_once
    assert shared.of(arch, "even", "perfect") is known
    known.known.count += 1
    assert shared.of(arch, "even", "perfect") is not known


def test_chances_in_vain_are_fewer_and_fewer() -> None:
    chances, taken = Chances(), []
    for chance in range(40):
        if chances.is_taken():
            taken.append(chance)
            chances.note(in_vain=True)
    assert taken == [0, 2, 5, 10, 19, 36]
    while not chances.is_taken():
        pass
    chances.note(in_vain=False)
    assert chances.is_taken()
