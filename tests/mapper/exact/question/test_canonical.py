from __future__ import annotations

import random

import pytest

import longer
from generators import memory, random_architecture, random_mapping, random_problem, tensor
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, load_arch
from tilewright.cost_models import evaluate
from tilewright.ir import MappingError, Problem
from tilewright.mapper.exact.question.canonical import canonical_problem
from tilewright.mapper.tilings import Tiling
from tilewright.workloads import conv2d, gemm

BATCHED = Problem(
    "batched",
    (("B", 6), ("H", 4), ("M", 8), ("N", 3), ("K", 5)),
    (
        tensor("A", "input", "B", "H", "M", "K"),
        tensor("W", "weight", "B", "H", "K", "N"),
        tensor("O", "output", "B", "H", "M", "N"),
    ),
)


def machine(*axes: ArrayAxis) -> Architecture:
    may = Keeps(input="may", weight="may", output="may")
    levels = (memory("DRAM"), memory("L1", keeps=may), Fanout(name="array", axes=axes), memory("L2", keeps=may))
    return Architecture(name="machine", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))


@pytest.mark.parametrize("seeds", longer.blocks(1500, 250))
def test_restored_mappings_cost_the_same(seeds: range) -> None:
    """Random perfect mappings of the smaller problem, on random machines."""
    compared = joined = 0
    for seed in seeds:
        rng = random.Random(seed)
        problem = random_problem(rng, 6) if rng.random() < 0.7 else BATCHED
        arch = random_architecture(rng, memories=rng.randint(0, 2))
        canonical = canonical_problem(problem, arch, "perfect")
        reduced = random_mapping(rng, canonical.problem, canonical.arch, ragged=False)
        try:
            expected = evaluate(reduced, canonical.arch)
        except MappingError:
            continue
        found = evaluate(canonical.restore(reduced), arch)
        compared += 1
        joined += any(len(group) > 1 for group in canonical.members.values())
        assert (found.steps, found.macs) == (expected.steps, expected.macs), seed
        assert found.traffic == expected.traffic, seed
        assert found.energy_pj == pytest.approx(expected.energy_pj, rel=1e-12), seed
        assert found.latency_cycles == pytest.approx(expected.latency_cycles, rel=1e-12), seed
        assert found.memories == expected.memories, seed
    assert longer.occurs(compared >= 100)
    assert longer.occurs(joined >= 20)


def test_restored_ragged_mappings_cost_the_same() -> None:
    """Nothing is joined then: only dimensions of size 1 are left out."""
    for seed in longer.seeds(200):
        rng = random.Random(seed)
        problem, arch = random_problem(rng), random_architecture(rng)
        canonical = canonical_problem(problem, arch, "ragged")
        assert all(len(group) == 1 for group in canonical.members.values())
        reduced = random_mapping(rng, canonical.problem, canonical.arch)
        try:
            expected = evaluate(reduced, canonical.arch)
        except MappingError:
            continue
        assert evaluate(canonical.restore(reduced), arch) == expected


def members(problem: Problem, arch: Architecture, tiling: Tiling = "perfect") -> set[tuple[str, ...]]:
    return set(canonical_problem(problem, arch, tiling).members.values())


def test_dimensions_that_cost_alike_are_joined() -> None:
    assert members(BATCHED, machine(ArrayAxis(size=4))) == {("B", "H"), ("M",), ("N",), ("K",)}


def test_ragged_tiles_keep_dimensions_apart() -> None:
    assert members(BATCHED, machine(ArrayAxis(size=4)), "ragged") == {("B",), ("H",), ("M",), ("N",), ("K",)}


def test_axis_permissions_keep_dimensions_apart() -> None:
    arch = machine(ArrayAxis(size=4, dims=("B", "M")))
    assert members(BATCHED, arch) == {("B",), ("H",), ("M",), ("N",), ("K",)}


def test_windows_keep_dimensions_apart() -> None:
    problem = conv2d(K=4, C=4, P=6, Q=6, R=3, S=3)
    assert members(problem, load_arch("eyeriss")) == {("K",), ("C",), ("P",), ("Q",), ("R",), ("S",)}


def test_windows_of_one_element_are_no_windows() -> None:
    problem = conv2d(K=4, C=4, P=6, Q=6, R=1, S=1, stride=2)
    canonical = canonical_problem(problem, load_arch("eyeriss"), "perfect")
    assert set(canonical.members.values()) == {("K",), ("C",), ("P", "Q")}
    assert canonical.problem.sizes["P+Q"] == 36


def test_sizes_of_one_are_left_out() -> None:
    assert members(gemm(8, 1, 4), load_arch("eyeriss")) == {("M",), ("K",)}


def test_nothing_but_ones() -> None:
    """One dimension stays, so that there is a problem."""
    canonical = canonical_problem(gemm(1, 1, 1), load_arch("eyeriss"), "perfect")
    assert canonical.problem.macs == 1
    assert len(canonical.members) == 1
