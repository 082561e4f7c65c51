"""Whole blocks and leakage, by hand and against the simulator.

DRAM keeps A W O        A[m,k] 12 words, W[k,n] 6 words, O[m,n] 8 words; 24 products, words of 8 bit
for N in 2
  L1 keeps A W O
  for M in 4
    for K in 3
"""

from __future__ import annotations

import random
from typing import Any

import pytest

import longer
from generators import memory, random_architecture, random_mapping, random_problem, with_extras
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from tilewright.cost_models import Accesses, Cost, cost_of, count_words, evaluate, simulate
from tilewright.ir import LoopNest, Mapping, ceil_div
from tilewright.workloads import gemm

NEST = """
    DRAM keeps A W O
    for N in 2
      L1 keeps A W O
      for M in 4
        for K in 3
"""
MAY = Keeps(input="may", weight="may", output="may")


def cost(*levels: Memory | Fanout, nest: str = NEST, **fields: Any) -> Cost:
    fields = {"name": "hand", "clock_hz": 1e9, "word_bits": 8, "mac": Mac(energy_pj=0.0)} | fields
    arch = Architecture.model_validate(fields | {"levels": levels})
    return evaluate(Mapping(gemm(4, 2, 3), LoopNest.parse(nest)), arch)


def energies(found: Cost) -> dict[tuple[str, str], float]:
    return {(t.memory, t.tensor): t.energy_pj for t in found.traffic}


class TestBlocks:
    def test_every_kind_of_access_comes_in_whole_blocks(self) -> None:
        # Blocks of 5 words at 1 pJ a word. DRAM: 12 reads of A are 3 blocks, 6 of W 2, 8 writes of O 2.
        # L1: 24 reads are 5 blocks, 12 and 6 words in 3 and 2; O: 16 updates that read 4, 8 drains 2, 24 writes 5.
        found = cost(memory("DRAM", block_bits=40), memory("L1", block_bits=40, keeps=MAY))
        assert energies(found) == {
            ("DRAM", "A"): 5 * 3,
            ("DRAM", "W"): 5 * 2,
            ("DRAM", "O"): 5 * 2,
            ("L1", "A"): 5 * (5 + 3),
            ("L1", "W"): 5 * (5 + 2),
            ("L1", "O"): 5 * (4 + 2 + 5),
        }

    def test_at_every_instance(self) -> None:
        # Two instances with one column each: both take 3 words of W and 12 of A, 1 and 3 blocks each.
        nest = NEST.replace("for N in 2", "parallel N in 2 on array.x")
        array = Fanout(name="array", axes=(ArrayAxis(size=4),))
        found = energies(cost(memory("DRAM"), array, memory("L1", block_bits=40, keeps=MAY), nest=nest))
        assert found["L1", "W"] == 2 * 5 * (ceil_div(12, 5) + 1)
        assert found["L1", "A"] == 2 * 5 * (ceil_div(12, 5) + 3)

    def test_time_is_as_without(self) -> None:
        with_blocks, without = (
            cost(memory("DRAM", block_bits=block, shared_bits_per_cycle=8.0), memory("L1", keeps=MAY))
            for block in (40, None)
        )
        assert with_blocks.latency_cycles == without.latency_cycles == 26

    def test_finished_words_fill_blocks_at_their_own_width(self) -> None:
        found = cost(memory("DRAM", block_bits=40), memory("L1", keeps=MAY), partial_sum_bits=32)
        assert energies(found)["DRAM", "O"] == 10


@pytest.mark.parametrize("seed", longer.seeds(150))
def test_with_perfect_tiles_all_instances_move_as_many_words(seed: int) -> None:
    """So that blocks of the mean instance are those of each."""
    rng = random.Random(seed)
    problem, arch = random_problem(rng), random_architecture(rng)
    counts = simulate(random_mapping(rng, problem, arch, ragged=False), arch)
    for key, accesses in counts.total.items():
        each = {name: words * counts.in_use[key] for name, words in vars(counts.busiest[key]).items()}
        assert vars(accesses) == each


@pytest.mark.parametrize("seed", longer.seeds(60))
def test_energy_of_the_simulated_accesses(seed: int) -> None:
    """Energies put together again from what the simulator counts, a kind of access at a time."""
    rng = random.Random(seed)
    problem, arch = random_problem(rng), with_extras(rng, random_architecture(rng), "block", "leakage")
    mapping = random_mapping(rng, problem, arch)
    counts = simulate(mapping, arch)
    found = evaluate(mapping, arch)
    assert found == cost_of(mapping, arch, counts) == cost_of(mapping, arch, count_words(mapping, arch))
    for traffic in found.traffic:
        key = traffic.memory, traffic.tensor
        level = next(m for m in arch.memories if m.name == traffic.memory)
        reads, writes = _in_blocks(level, counts.total[key], counts.in_use[key])
        expected = (reads * level.read_energy_pj + writes * level.write_energy_pj) / level.access_bits
        assert traffic.energy_pj == pytest.approx(expected)
    parts = found.mac_energy_pj + sum(m.energy_pj for m in found.memories)
    assert found.energy_pj == pytest.approx(parts + found.leakage_pj)


def _in_blocks(level: Memory, accesses: Accesses, instances: int) -> tuple[int, int]:
    """Bits read and written, all words a byte wide."""
    block = level.block_bits or 1
    reads = (accesses.drains, accesses.reads - accesses.drains)
    writes = (accesses.fills, accesses.writes - accesses.fills)
    read, written = (
        sum(ceil_div(ceil_div(8 * words, instances) if level.block_bits else 8 * words, block) for words in kinds)
        for kinds in (reads, writes)
    )
    return (read * block * instances, written * block * instances) if level.block_bits else (read, written)


class TestLeakage:
    def test_all_instances_leak_all_the_time(self) -> None:
        # 24 cycles; 2 pJ of the chip, 1 of DRAM, 4 L1 with 0.5, 4 MACs with 0.25, though one is at work.
        array = Fanout(name="array", axes=(ArrayAxis(size=4),))
        found = cost(
            memory("DRAM", leakage_pj_per_cycle=1.0),
            array,
            memory("L1", keeps=MAY, leakage_pj_per_cycle=0.5),
            mac=Mac(energy_pj=0.0, leakage_pj_per_cycle=0.25),
            leakage_pj_per_cycle=2.0,
        )
        assert found.latency_cycles == 24
        assert found.leakage_pj == 24 * (2 + 1 + 2 + 1)
        assert found.energy_pj == found.leakage_pj + sum(m.energy_pj for m in found.memories)

    def test_none_by_default(self) -> None:
        assert cost(memory("DRAM"), memory("L1", keeps=MAY)).leakage_pj == 0


@pytest.mark.parametrize("seeds", longer.blocks(400, 50))
def test_hops_and_first_tiles_equal_those_of_the_simulator(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        problem, arch = random_problem(rng), with_extras(rng, random_architecture(rng), "hop", "fill")
        mapping = random_mapping(rng, problem, arch, ragged=rng.random() < 0.7)
        found, expected = count_words(mapping, arch), simulate(mapping, arch)
        assert found.hops == expected.hops, f"seed {seed}\n{mapping}"
        assert found.first_tiles == expected.first_tiles, f"seed {seed}\n{mapping}"


@pytest.mark.parametrize("seeds", longer.blocks(400, 50))
def test_refills_of_arrays_equal_those_of_the_simulator(seeds: range) -> None:
    refilled = 0
    for seed in seeds:
        rng = random.Random(seed)
        problem, arch = random_problem(rng), with_extras(rng, random_architecture(rng), "arrays", "serial")
        mapping = random_mapping(rng, problem, arch, ragged=rng.random() < 0.7)
        found, expected = count_words(mapping, arch), simulate(mapping, arch)
        assert (found.refills, found.visits) == (expected.refills, expected.visits), f"seed {seed}\n{mapping}"
        refilled += any(found.refills.values())
    assert longer.occurs(refilled > 3)
