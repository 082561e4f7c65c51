"""Operational intensity and roofs: by hand, and against the latency of random mappings."""

from __future__ import annotations

import random
from math import inf

import pytest

import longer
from generators import memory, random_architecture, random_mapping, random_problem
from tilewright.arch import Architecture, ArrayAxis, Fanout, Mac
from tilewright.cost_models import evaluate, roofline
from tilewright.ir import LoopNest, Mapping
from tilewright.workloads import gemm

NEST = """
    DRAM keeps A W O
    for M in 4
      parallel N in 2 on array.x
        for K in 8
"""


def machine(**port: float) -> Architecture:
    levels = (memory("DRAM", **port), Fanout(name="array", axes=(ArrayAxis(size=4),)))
    return Architecture(name="roofs", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=1.0))


def test_by_hand() -> None:
    # 64 MACs on 2 of 4 units. Read: A[m,k] 32 words once for both units, W[k,n] 64 words, and 48 + 8 partial sums of
    # which the first of each output costs nothing; 64 sums written, and read back 56 times.
    mapping = Mapping(gemm(M=4, N=2, K=8), LoopNest.parse(NEST))
    arch = machine(read_bits_per_cycle=32.0)
    cost = evaluate(mapping, arch)
    found = roofline(cost, arch)
    read, write = found.roofs
    assert (found.peak, found.compute) == (4, 2)
    assert (read.name, read.bytes_moved, read.intensity) == ("DRAM read", 32 + 64 + 56, 64 / 152)
    assert (read.bytes_per_cycle, read.attainable, read.reachable) == (4, 64 / 38, 64 / 38)
    assert found.ridge(read) == 1
    assert (write.name, write.bytes_moved, write.bytes_per_cycle) == ("DRAM write", 64, None)
    assert (write.attainable, write.reachable, found.ridge(write)) == (4, inf, 0)
    assert found.binding is read
    assert found.attained == 64 / 38


def test_a_shared_port_has_one_roof_and_no_port_a_flat_one() -> None:
    mapping = Mapping(gemm(M=4, N=2, K=8), LoopNest.parse(NEST))
    for port, binds in (({"shared_bits_per_cycle": 8.0}, True), ({}, False)):
        arch = machine(**port)
        found = roofline(evaluate(mapping, arch), arch)
        (roof,) = found.roofs
        assert (roof.name, roof.bytes_moved) == ("DRAM", 152 + 64)
        assert (found.binding is roof) is binds


@pytest.mark.parametrize("seed", longer.seeds(60))
def test_the_lowest_roof_is_the_rate_of_the_mapping(seed: int) -> None:
    rng = random.Random(seed)
    problem, arch = random_problem(rng), random_architecture(rng)
    cost = evaluate(random_mapping(rng, problem, arch), arch)
    found = roofline(cost, arch)
    assert found.attained == pytest.approx(min(found.compute, *(roof.reachable for roof in found.roofs)))
    assert (found.binding.memory if found.binding else "compute") == cost.limited_by
    for roof in found.roofs:
        assert found.attained <= roof.attainable * (1 + 1e-12) <= found.peak * (1 + 1e-9)
