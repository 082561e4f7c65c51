"""Counts, energies and cycles that Timeloop's model printed for given mappings, figure by figure.

Timeloop charges no read at the inner memory when partial sums leave (`inner_drain_read=False`) and reuses a halo
along the innermost moving loop only (`halo: innermost`); everything else is the same machine. It rounds the blocks of
each kind of access and the cycles up, which is undone or redone here exactly, so nothing is compared with a margin
but the last printed digit of the exercises.
"""

from __future__ import annotations

import math
from functools import cache

import pytest

from tilewright.arch import Memory
from tilewright.cost_models import Cost, Counts, count_words, evaluate, simulate
from timeloop_cases import Case, Traffic, exercise_cases, gemm_cases

GEMMS = gemm_cases()
EXERCISES = exercise_cases()
every_case = pytest.mark.parametrize("case", [*EXERCISES, *GEMMS], ids=lambda case: case.name)


@cache
def cost_of_case(name: str) -> Cost:
    case = next(c for c in (*EXERCISES, *GEMMS) if c.name == name)
    return evaluate(case.mapping, case.arch)


def check_counts(case: Case, counts: Counts) -> None:
    """Timeloop prints words per instance; with perfect factors every instance in use is the busiest one."""
    for traffic in case.traffic:
        key = (traffic.level, traffic.tensor)
        busiest, total = counts.busiest[key], counts.total[key]
        assert busiest.reads == traffic.reads, key
        assert busiest.writes == traffic.fills + traffic.updates, key
        assert total.reads == traffic.reads * traffic.instances, key
        assert total.writes == (traffic.fills + traffic.updates) * traffic.instances, key
    assert set(counts.total) == {(t.level, t.tensor) for t in case.traffic}


def block_rounding_pj(case: Case, traffic: Traffic) -> float:
    """Energy that Timeloop adds by rounding the blocks of every kind of access up; 0 for whole blocks."""
    level = case.arch.level(traffic.level)
    assert isinstance(level, Memory)
    words = case.block_words[traffic.level]
    missing_words = [-count % words for count in (traffic.reads, traffic.fills, traffic.updates)]
    energies = (level.read_energy_pj, level.write_energy_pj, level.write_energy_pj)
    return traffic.instances * sum(n / words * pj for n, pj in zip(missing_words, energies, strict=True))


def test_all_cases_are_there() -> None:
    assert len(GEMMS) == 74
    assert len(EXERCISES) == 7
    # Of the GEMM cases, some bypass, some spread a reduction, and some bring partial sums back.
    assert any(len(case.traffic) < 3 * len(case.arch.memories) for case in GEMMS)
    assert any(loop.is_spatial and loop.dim == "K" for case in GEMMS for loop in case.mapping.nest.loops)
    assert any(traffic.fills and traffic.updates for case in GEMMS for traffic in case.traffic)
    assert any(case.level_cycles["DRAM"] == case.cycles > case.macs / case.arch.mac_instances for case in GEMMS)


@every_case
def test_words_moved(case: Case) -> None:
    check_counts(case, count_words(case.mapping, case.arch))


@pytest.mark.parametrize("case", [c for c in EXERCISES if c.macs < 2000], ids=lambda case: case.name)
def test_words_moved_step_by_step(case: Case) -> None:
    check_counts(case, simulate(case.mapping, case.arch))


@every_case
def test_tiles_held(case: Case) -> None:
    found = {(t.memory, t.tensor): t.tile_words for t in cost_of_case(case.name).traffic}
    assert found == {(t.level, t.tensor): t.tile_words for t in case.traffic}


@every_case
def test_energy(case: Case) -> None:
    cost = cost_of_case(case.name)
    found = {(t.memory, t.tensor): t.energy_pj for t in cost.traffic}
    total_pj = cost.energy_pj + case.leakage_pj
    for traffic in case.traffic:
        added = block_rounding_pj(case, traffic)
        ours = found[traffic.level, traffic.tensor] + added
        assert ours == pytest.approx(traffic.energy_pj, rel=1e-12, abs=case.rounding_pj), traffic
        total_pj += added
    assert cost.mac_energy_pj == pytest.approx(case.mac_energy_pj, rel=1e-12)
    assert total_pj == pytest.approx(case.total_pj, rel=1e-12, abs=case.total_rounding_pj)


@every_case
def test_cycles_and_utilization(case: Case) -> None:
    cost = cost_of_case(case.name)
    assert cost.macs == case.macs
    assert math.ceil(cost.latency_cycles) == case.cycles
    assert cost.utilization == pytest.approx(case.utilization, rel=1e-12)
    level_cycles = {m.name: math.ceil(max(m.cycles, cost.compute_cycles)) for m in cost.memories}
    assert {name: level_cycles[name] for name in case.level_cycles} == case.level_cycles
