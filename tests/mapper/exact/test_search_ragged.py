"""Ragged tiles over arrays whose memories have slow ports, against brute force: some instances have less to do than
others there, and which have the most decides."""

from __future__ import annotations

import random

import pytest

import brute_force
import longer
from generators import memory, random_problem
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from tilewright.cost_models import OBJECTIVES
from tilewright.ir import InfeasibleError, Problem
from tilewright.mapper.exact.search import search_exact
from tilewright.workloads import gemm

MOST_MAPPINGS = 1_500


def case_of(seed: int) -> tuple[Problem, Architecture]:
    """Any operation, on an array of registers below DRAM, and now and then a buffer between them."""
    rng = random.Random(seed)
    may, must = (Keeps(input=keep, weight=keep, output=keep) for keep in ("may", "must"))
    energies = {f"{way}_energy_pj": float(rng.randint(1, 20)) for way in ("read", "write")}
    levels: list[Memory | Fanout] = [
        memory("DRAM", **energies, shared_bits_per_cycle=float(rng.choice([16, 64, 1000])))
    ]
    if rng.random() < 0.4:
        levels.append(memory("GLB", rng, keeps=may, halo="none", size_bits=8 * rng.randint(6, 20)))
    axes = tuple(ArrayAxis(size=rng.randint(2, 3)) for _ in range(rng.randint(1, 2)))
    multicast, spatial_reduction = rng.random() < 0.7, rng.random() < 0.6
    levels.append(Fanout(name="array", axes=axes, multicast=multicast, spatial_reduction=spatial_reduction))
    keeps, size = rng.choice([may, must]), 8 * rng.randint(3, 14)
    port = float(rng.choice([4, 8, 16]))
    levels.append(memory("RF", rng, keeps=keeps, halo="none", size_bits=size, shared_bits_per_cycle=port))
    arch = Architecture(name="ports", clock_hz=1e9, word_bits=8, levels=tuple(levels), mac=Mac(energy_pj=0.0))
    return random_problem(rng, 5), arch


def check(seed: int, most: int = MOST_MAPPINGS) -> bool:
    """Whether the space is small enough to be compared."""
    return check_case(*case_of(seed), most)


def check_case(problem: Problem, arch: Architecture, most: int) -> bool:
    if problem.macs > 150 or brute_force.count(problem, arch, True, most) >= most:
        return False
    expected = brute_force.best(problem, arch, True, OBJECTIVES)
    for objective in OBJECTIVES:
        try:
            value = search_exact(problem, arch, objective, "ragged")[2].value
        except InfeasibleError:
            value = float("inf")
        assert value == pytest.approx(expected[objective], rel=1e-9), (problem, objective)
    return True


@pytest.mark.parametrize("seeds", longer.blocks(40, 20))
def test_optimum_of_brute_force(seeds: range) -> None:
    assert longer.occurs(sum(map(check, seeds)) > 2)


@pytest.mark.long
def test_the_busiest_instance_decides() -> None:
    """One row cannot stand for another because its instances have less to do on average."""
    for seed in (1608, 2225):
        assert check(seed, most=40_000)


@pytest.mark.long
def test_more_instances_than_the_rounds_need() -> None:
    """Three instances for four terms of a sum leave two of them idle in the second round: their parts stay."""
    assert check(2249, most=80_000)


@pytest.mark.some(2)
@pytest.mark.parametrize("sizes", [(3, 1, 1), (1, 7, 1), (5, 1, 2), (1, 3, 3)])
@pytest.mark.parametrize("inner", [2, 3])
def test_nested_arrays_with_idle_instances(sizes: tuple[int, int, int], inner: int) -> None:
    """Three tiles on two times two instances: the last instance of the outer array has work for one of its two."""
    ports = {"shared_bits_per_cycle": 16.0}
    levels = (
        memory("DRAM", **ports, read_energy_pj=9.0),
        Fanout(name="outer", axes=(ArrayAxis(size=2),), multicast=True),
        memory("GLB", **ports, size_bits=8 * 64),
        Fanout(name="inner", axes=(ArrayAxis(size=inner),), multicast=True, spatial_reduction=True),
        memory("RF", **ports, size_bits=8 * 8),
    )
    arch = Architecture(name="nested", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))
    assert check_case(gemm(*sizes), arch, most=200_000)


@pytest.mark.long
def test_a_last_round_for_one_instance() -> None:
    """Seven elements in tiles of two: on three instances the first one has a whole tile and the last, half one; on two,
    which take as many rounds, it has two whole ones."""
    must = Keeps(input="must", weight="must", output="must")
    levels = (
        memory("DRAM", read_energy_pj=3.0, write_energy_pj=8.0, shared_bits_per_cycle=16.0),
        Fanout(name="outer", axes=(ArrayAxis(size=3),), multicast=True),
        memory("L1", keeps=must, size_bits=128, read_energy_pj=6.0, write_energy_pj=2.0, shared_bits_per_cycle=4.0),
        memory("L2", keeps=must, size_bits=72, read_energy_pj=12.0, write_energy_pj=9.0, write_bits_per_cycle=4.0),
        Fanout(name="inner", axes=(ArrayAxis(size=2), ArrayAxis(size=4)), multicast=True),
    )
    arch = Architecture(name="lonely", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=0.0))
    assert check_case(gemm(7, 2, 1), arch, most=200_000)


@pytest.mark.long
def test_the_order_of_loops_decides_which_instance_is_busiest() -> None:
    """Of two orders with the same tiles, one has fewer words in a register file on average, and the other at the
    busiest one of them: in the last round of K one has work."""
    levels = (
        memory("DRAM", read_energy_pj=3.0, write_energy_pj=7.0, shared_bits_per_cycle=1000.0),
        Fanout(name="outer", axes=(ArrayAxis(size=4),), multicast=True, spatial_reduction=True),
        memory("RF", size_bits=40, read_energy_pj=6.0, write_energy_pj=3.0, shared_bits_per_cycle=4.0),
        Fanout(name="inner", axes=(ArrayAxis(size=2),), multicast=True, spatial_reduction=True),
    )
    arch = Architecture(name="orders", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=0.0))
    assert check_case(gemm(1, 3, 17), arch, most=200_000)


def weights_of(seed: int) -> tuple[Problem, Architecture]:
    """An operation with a window, on cells that are loaded slowly with weights alone, below a buffer: few mappings."""
    rng = random.Random(seed)
    may, weights = Keeps(input="may", weight="may", output="may"), Keeps(input="never", output="never")
    while True:
        problem = random_problem(rng, 4)
        fanout = Fanout(name="array", axes=(ArrayAxis(size=rng.randint(2, 3)),), multicast=rng.random() < 0.7)
        slow = {"size_bits": 8 * rng.randint(1, 3), "write_bits_per_cycle": float(rng.choice([1, 2, 4]))}
        levels = (
            memory("DRAM", rng, shared_bits_per_cycle=float(rng.choice([16, 64]))),
            memory("GLB", rng, keeps=may, size_bits=8 * rng.randint(6, 20)),
            fanout,
            memory("RF", rng, keeps=weights, **slow),
        )
        arch = Architecture(name="weights", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))
        windows = any(len(rank) > 1 for tensor in problem.tensors for rank in tensor.ranks)
        if windows and brute_force.count_uneven(problem, arch, "ragged", 2_000) < 2_000:
            return problem, arch


@pytest.mark.parametrize("seed", longer.seeds(60))
def test_registers_of_weights_beside_windows(seed: int) -> None:
    """One row may stand for another in the uneven space: no window passes the port whose busiest instance counts."""
    problem, arch = weights_of(seed)
    expected = brute_force.best_of(brute_force.uneven_mappings(problem, arch, "ragged"), arch, OBJECTIVES)
    for objective in OBJECTIVES:
        try:
            value = search_exact(problem, arch, objective, "ragged", "uneven")[2].value
        except InfeasibleError:
            value = float("inf")
        assert value == pytest.approx(expected[objective], rel=1e-9), objective
