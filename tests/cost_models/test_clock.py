"""Time by the clock: by hand, and how far the closed-form latencies are from it."""

from __future__ import annotations

import random
from statistics import median

import pytest
from event_clock import clocked_cycles

import longer
from generators import memory, random_architecture, random_mapping, random_problem, with_extras
from tilewright.arch import Architecture, Keeps, Mac, Memory
from tilewright.cost_models import evaluate
from tilewright.ir import LoopNest, Mapping
from tilewright.workloads import gemm

MAY = Keeps(input="may", weight="may", output="may")


def machine(*levels: Memory, **fields: object) -> Architecture:
    base = {"name": "hand", "clock_hz": 1e9, "word_bits": 8, "mac": Mac(energy_pj=0.0), "levels": levels}
    return Architecture.model_validate(base | fields)


def times(problem: tuple[int, int, int], nest: str, *levels: Memory) -> tuple[float, float, float]:
    """By the clock, with fill, steady."""
    mapping = Mapping(gemm(*problem), LoopNest.parse(nest))
    steady, filling = (machine(*levels, latency=latency) for latency in ("steady", "with_fill"))
    return (
        clocked_cycles(mapping, steady),
        evaluate(mapping, filling).latency_cycles,
        evaluate(mapping, steady).latency_cycles,
    )


def test_compute_waits_for_the_first_tiles_and_the_last_output_for_compute() -> None:
    # 3 words of A arrive, then 3 of W; 6 MACs, while A's other row arrives and the first sum leaves; then the second.
    nest = """
        DRAM keeps A W O
        L1 keeps W
        for M in 2
          L1 keeps A O
          for K in 3
    """
    dram = memory("DRAM", read_bits_per_cycle=8.0, write_bits_per_cycle=8.0)
    assert times((2, 1, 3), nest, dram, memory("L1", keeps=MAY)) == (13, 13, 9)


def test_a_port_that_never_pauses() -> None:
    # 4 words of A, 1 of W and 4 sums over one port; the last one leaves as soon as it can.
    nest = """
        DRAM keeps A W O
        L1 keeps W
        for M in 4
          L1 keeps A O
    """
    dram = memory("DRAM", shared_bits_per_cycle=8.0)
    assert times((4, 1, 1), nest, dram, memory("L1", keeps=MAY)) == (9, 9, 9)


def test_a_memory_without_overlap_stops_the_macs() -> None:
    # 3 words in, 3 MACs that read L1 for nothing, 3 words in, ...: 6 MACs and 6 + 3 + 2 words, one after the other.
    nest = """
        DRAM keeps A W O
        L1 keeps W
        for M in 2
          L1 keeps A O
          for K in 3
    """
    dram = memory("DRAM", shared_bits_per_cycle=8.0, overlaps=False)
    assert times((2, 1, 3), nest, dram, memory("L1", keeps=MAY)) == (17, 17, 17)


def test_without_bandwidths_only_compute_takes_time() -> None:
    nest = "DRAM keeps A W O\nfor M in 4\n  for K in 3"
    assert times((4, 1, 3), nest, memory("DRAM")) == (12, 12, 12)


def drawn(seed: int, *extras: str) -> tuple[Mapping, Architecture]:
    """A random mapping; every other machine has ports for each direction as well, or other extras."""
    rng = random.Random(seed)
    more = extras or ["ports"] * (seed % 2)
    problem, arch = random_problem(rng), with_extras(rng, random_architecture(rng), *more)
    return random_mapping(rng, problem, arch, ragged=rng.random() < 0.5), arch


def by_the_clock(mapping: Mapping, arch: Architecture) -> tuple[float, float]:
    """The two closed-form latencies, steady and with fill, over that of the clock."""
    clock = clocked_cycles(mapping, arch)
    with_fill = arch.model_copy(update={"latency": "with_fill"})
    return evaluate(mapping, arch).latency_cycles / clock, evaluate(mapping, with_fill).latency_cycles / clock


def test_random_mappings() -> None:
    """The bounds are those of results/clock, with some room: 300 mappings there, 150 of them here."""
    steady, filling = zip(*(by_the_clock(*drawn(seed)) for seed in longer.seeds(150)), strict=True)
    assert max(steady) <= 1 + 1e-9  # no port can carry its words in less time
    assert longer.occurs(0.8 < median(steady) < 0.95)
    assert longer.occurs(0.97 < median(filling) < 1.03)
    assert min(filling) > 0.6
    assert max(filling) < 1.6


def test_random_mappings_on_machines_with_ports_by_role() -> None:
    """Three ports are awaited one beside the other, which `steady` does not see: it is further from the clock."""
    steady, filling = zip(*(by_the_clock(*drawn(seed, "roles")) for seed in longer.seeds(100)), strict=True)
    assert max(steady) <= 1 + 1e-9
    assert longer.occurs(0.75 < median(steady) < 0.95)
    assert longer.occurs(0.97 < median(filling) < 1.03)
    assert min(filling) > 0.65
    assert max(filling) < 1.7


@pytest.mark.parametrize("seed", longer.seeds(30))
def test_memories_without_overlap_take_their_time_beside_compute(seed: int) -> None:
    rng = random.Random(seed)
    mapping, arch = drawn(seed)
    serial = [m.model_copy(update={"overlaps": rng.random() < 0.5}) for m in arch.memories]
    by_name = {m.name: m for m in serial}
    arch = arch.model_copy(update={"levels": tuple(by_name.get(level.name, level) for level in arch.levels)})
    cost = evaluate(mapping, arch)
    alone = sum(m.cycles for m in cost.memories if not m.overlaps)
    clock = clocked_cycles(mapping, arch)
    assert clock >= (cost.compute_cycles + alone) * (1 - 1e-9)
    assert clock >= max(m.cycles for m in cost.memories) * (1 - 1e-9)
