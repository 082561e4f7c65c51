"""Partial sums that are wider than words: no tree is ruled out that has room for finished words, and none is taken that
has no room for its sums."""

from __future__ import annotations

import random

import pytest

from cascade_cases import Case
from longer import blocks
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from tilewright.cost_models import ENERGY, evaluate
from tilewright.ir import InfeasibleError, Mapping
from tilewright.mapper.cascades import search_cascade
from tilewright.mapper.constraints.trees import read_tree_constraints
from tilewright.mapper.question import Question, TreeQuestion
from tilewright.workloads import cascade

PAIR = cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"], m=2, n=2, k=2, p=2)
FINISHED_BELOW = """DRAM keeps A B C O
GLB keeps T
branch T
  for M in 2
    for N in 2
      RF keeps T
      for K in 2
branch O
  for M in 2
    for P in 2
      for N in 2
"""


def machine(words: int, register: int = 2, array: bool = False) -> Architecture:
    """Sums of two words each: a buffer of so many words, and a register that is dear."""
    may = Keeps(input="may", weight="may", output="may")
    outputs = Keeps(input="never", weight="never", output="may")
    dram = Memory(name="DRAM", access_bits=8, read_energy_pj=200.0, write_energy_pj=200.0)
    glb = Memory(name="GLB", access_bits=8, read_energy_pj=6.0, write_energy_pj=6.0, size_bits=8 * words, keeps=may)
    registers = {"access_bits": 8, "size_bits": 8 * register, "keeps": outputs}
    rf = Memory(name="RF", read_energy_pj=100.0, write_energy_pj=100.0, **registers)
    fanout = (Fanout(name="array", axes=(ArrayAxis(size=2),)),) if array else ()
    mac = Mac(energy_pj=1.0)
    levels = (dram, glb, *fanout, rf)
    return Architecture(name="wide", clock_hz=1e9, word_bits=8, partial_sum_bits=16, levels=levels, mac=mac)


def question(arch: Architecture, *lines: str) -> TreeQuestion:
    constraints = read_tree_constraints(lines, PAIR, arch)
    return Question(PAIR, arch, ENERGY, "perfect", constraints=constraints)


@pytest.mark.parametrize("array", [False, True])
def test_sums_that_are_finished_in_a_register_have_room(array: bool) -> None:
    """The cheapest mapping of T adds up in GLB, which has no room for that: another one has. (It was called
    infeasible.)"""
    arch = machine(4, array=array)
    by_hand = evaluate(Mapping.parse(PAIR, FINISHED_BELOW), arch)
    answer = search_cascade(question(arch, "T in GLB", "no loops over M, N, K, P"))
    assert answer.certificate.proven
    assert answer.cost.energy_pj <= by_hand.energy_pj
    assert answer.certificate.value == pytest.approx(evaluate(answer.mapping, arch).energy_pj)


def random_pair(seed: int) -> Case:
    """A pair, and a machine on which T has room as finished words, and perhaps not as sums."""
    rng = random.Random(seed)
    lines = ["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"]
    sizes = {"m": 2, "n": rng.choice([1, 2]), "k": rng.choice([2, 2, 4]), "p": 1}
    machine_ = machine(rng.randint(2, 8), rng.choice([2, 3, 4]))
    levels = list(machine_.levels)
    if rng.random() < 0.5:
        reduces = rng.random() < 0.5
        levels.insert(2, Fanout(name="array", axes=(ArrayAxis(size=2),), spatial_reduction=reduces))
    keeps = Keeps(**{role: rng.choice(["may", "never"]) for role in ("input", "weight")}, output="may")
    energies = {"read_energy_pj": rng.choice([1.0, 7.0, 100.0]), "write_energy_pj": rng.choice([1.0, 7.0, 100.0])}
    levels[-1] = levels[-1].model_copy(update={"keeps": keeps, **energies})
    more = {"levels": tuple(levels), "reuse": rng.choice(["at_node", "across_levels"])}
    arch = machine_.model_copy(update=more)
    return Case(
        "chain", cascade(lines, sizes), arch, "perfect", rng.choice(["even", "uneven"]), rng.choice(["all", "whole"])
    )


@pytest.mark.parametrize("seeds", blocks(4, 2))
def test_the_best_of_all_trees_is_found(seeds: range) -> None:
    """And proven, in the even space, where visits do not add to each other's sums."""
    for seed in seeds:
        case = random_pair(seed)
        whole = case.cascade, case.arch, ENERGY, case.tiling, case.space
        proof = search_cascade(Question(*whole, fuse=case.fuse)).certificate
        best = case.trees.best()
        assert best is not None
        expected = best["energy"].value
        assert proof.lower_bound <= expected * (1 + 1e-9) <= proof.value * (1 + 2e-9), f"{seed}\n{case}"
        assert proof.proven or (case.space, case.fuse) != ("even", "whole"), f"{seed}\n{case}"


def random_triple(seed: int) -> Case:
    """Three operations, of which the second adds up: its sums may go on in a shared loop, in one memory or another."""
    rng = random.Random(seed)
    lines = ["T[m,n] = exp(A[m,n])", "O[m] += T[m,n] * C[m,n]", "R[m] = exp(O[m])"]
    sizes = {"m": 2, "n": rng.choice([2, 4])}
    dram, glb, rf = (level for level in machine(rng.randint(3, 10), rng.choice([3, 4])).levels)
    may, outputs = Keeps(input="may", weight="may", output="may"), Keeps(input="never", weight="never", output="must")
    dear = [{"read_energy_pj": rng.choice([1.0, 7.0, 50.0]), "write_energy_pj": rng.choice([1.0, 7.0])} for _ in "123"]
    l2 = glb.model_copy(update={"name": "L2", "size_bits": 8 * rng.randint(3, 12), "keeps": may, **dear[0]})
    glb = glb.model_copy(update={"keeps": rng.choice([may, outputs.model_copy(update={"output": "may"})]), **dear[1]})
    rf = rf.model_copy(update={"keeps": outputs, **dear[2]})
    levels = (dram, *([l2] if rng.random() < 0.5 else []), glb, rf)
    if len(levels) == 4:  # or brute force takes minutes
        sizes = {"m": 1, "n": 2}
    more = {"levels": levels, "partial_sum_bits": rng.choice([16, 24])}
    arch = machine(2).model_copy(update={**more, "reuse": rng.choice(["at_node", "across_levels"])})
    return Case("chain", cascade(lines, sizes), arch, "perfect", rng.choice(["even", "uneven"]), "all")


@pytest.mark.long
@pytest.mark.parametrize("seeds", blocks(12, 3))
def test_sums_that_go_on_in_shared_loops_are_proven(seeds: range) -> None:
    """Wide in one memory, and finished in another: which is which is known for each node."""
    for seed in seeds:
        case = random_triple(seed)
        whole = case.cascade, case.arch, ENERGY, case.tiling, case.space
        best = case.trees.best()
        assert best is not None
        proof = search_cascade(Question(*whole, fuse=case.fuse)).certificate
        expected = pytest.approx(best["energy"].value, rel=1e-9)
        assert (proof.value, proof.lower_bound) == (expected, expected), f"{seed}\n{case}"


def random_accumulator(seed: int) -> Case:
    """Two products and an exponential. The second product's sums go on in a memory in which the first one's are made,
    while a loop that both share goes over them: beside what is wide, there is room for little else."""
    rng = random.Random(seed)
    lines = ["T[n] += A[n,k] * B[k]", "U[p] += T[n] * C[n,p]", "V[p] = exp(U[p])"]
    dram, glb, _ = machine(2).levels
    keeps = Keeps(input=rng.choice(["may", "never"]), weight="never", output="must")
    near = {"read_energy_pj": 1.0, "write_energy_pj": 1.0, "size_bits": 8 * rng.randint(5, 16)}
    inputs = Keeps(input="may", weight="never", output=rng.choice(["may", "never"]))
    far = {"read_energy_pj": rng.choice([2.0, 20.0]), "write_energy_pj": 3.0, "size_bits": 8 * rng.randint(1, 3)}
    accumulator = glb.model_copy(update={**near, "name": "ACC", "keeps": keeps})
    buffer = glb.model_copy(update={**far, "name": "UB", "keeps": inputs})
    levels = (dram, *([buffer] if rng.random() < 0.7 else []), accumulator)
    arch = machine(2).model_copy(update={"levels": levels, "partial_sum_bits": rng.choice([16, 24, 32])})
    return Case("chain", cascade(lines, n=4, k=2, p=2), arch, "perfect", "even", "all")


@pytest.mark.long
@pytest.mark.parametrize("seeds", blocks(24, 6))
def test_sums_have_room_while_other_operations_work(seeds: range) -> None:
    """A tree is not taken in which unfinished sums of one operation have no room beside the tiles of another one, that
    a loop over what is summed makes work in the meantime; and the best of all others is proven."""
    for seed in seeds:
        case = random_accumulator(seed)
        best = case.trees.best()
        try:
            proof = search_cascade(Question(case.cascade, case.arch, ENERGY, "perfect", "even")).certificate
        except InfeasibleError:
            assert best is None, f"{seed}\n{case}"
            continue
        assert best is not None
        expected = pytest.approx(best["energy"].value, rel=1e-9)
        assert (proof.value, proof.lower_bound) == (expected, expected), f"{seed}\n{case}"


def test_what_has_no_room_for_any_sum_is_infeasible() -> None:
    with pytest.raises(InfeasibleError):
        search_cascade(question(machine(4, register=1), "T in GLB", "no loops over M, N, K, P"))
    assert search_cascade(question(machine(8, register=1), "T in GLB", "no loops over M, N, K, P")).certificate.proven


def test_both_ways_are_compared() -> None:
    """With shared loops T may be wide in GLB, or whole and finished: the better of both is proven."""
    answer = search_cascade(question(machine(4), "T in GLB"))
    assert (answer.certificate.value, answer.certificate.lower_bound) == (6000.0, 6000.0)
