"""Counts, energies and cycles that Timeloop's model printed for given mappings, figure by figure.

Its rules under switches of ours: no read at the inner memory when partial sums leave (`inner_drain_read: false`), tiles
as boxes (`footprint: box`), halos kept along the innermost moving loop (`halo: innermost`), energies of whole blocks
(`block`). Cycles are rounded up, which is redone here, so nothing is compared with a margin but the last printed digits
of published outputs.

Where one of its approximations touches a count (`timeloop_rules.py` decides that from the mapping alone), the relation
that must hold is asserted instead, and `test_how_far_apart` sums up how often that is and how far it goes.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import pytest
from timeloop_rules import PHANTOM_STAY, REPEATED_MOVE, SEPARATE_HALOS, Rules, touched

from tilewright.arch import Architecture, Fanout, Halo, Memory
from tilewright.cost_models import Cost, Counts, count_words, evaluate, simulate
from tilewright.ir import Loop, Mapping
from tilewright.mapper.emit import emit_timeloop
from tilewright.mapper.timeloop import read_timeloop
from timeloop_cases import Case, Traffic, published_cases, run_cases

RUNS = {case.name: case for case in run_cases()}
PUBLISHED = {case.name: case for case in published_cases()}
CASES = RUNS | PUBLISHED
every_case = pytest.mark.parametrize("name", CASES)


def with_halo(arch: Architecture, halo: Halo, *memories: str) -> Architecture:
    """The architecture with another halo in some memories; without names in all."""
    levels = tuple(
        level.model_copy(update={"halo": halo})
        if isinstance(level, Memory) and (not memories or level.name in memories)
        else level
        for level in arch.levels
    )
    return arch.model_copy(update={"levels": levels})


@cache
def machine(name: str) -> Architecture:
    """The case's machine; the published outputs come from versions that keep a halo only where the innermost of all
    loops above slides the tile, so the other memories keep none."""
    case = CASES[name]
    if name in RUNS:
        return case.arch
    stale = [memory.name for memory in case.arch.memories if not slides_innermost(case.mapping, memory.name)]
    return with_halo(case.arch, "none", *stale) if stale else case.arch


def slides_innermost(mapping: Mapping, memory: str) -> bool:
    """Whether the innermost temporal loop above a memory's Inputs moves them."""
    items = mapping.nest.items
    position = next((i for i in mapping.nest.node_positions("Inputs") if getattr(items[i], "memory", "") == memory), 0)
    above = [item for item in items[:position] if isinstance(item, Loop) and not item.is_spatial and item.trips > 1]
    return bool(above) and above[-1].dim in mapping.problem.tensor("Inputs").dims


@cache
def counts_of(name: str) -> Counts:
    return count_words(CASES[name].mapping, machine(name))


@cache
def cost_of(name: str) -> Cost:
    return evaluate(CASES[name].mapping, machine(name))


@dataclass(frozen=True)
class Pair:
    """One count in our figures and in theirs, per instance, and the rules of theirs that touch it."""

    traffic: Traffic
    kind: str
    ours: int
    theirs: int
    rules: Rules


def pairs(name: str) -> Iterator[Pair]:
    case = CASES[name]
    rules = touched(case.mapping, case.arch)
    for traffic in case.traffic:
        key = (traffic.level, traffic.tensor)
        writes_from = first_fills(name) if case.from_2022 else counts_of(name)
        reads, writes = counts_of(name).busiest[key].reads, writes_from.busiest[key].writes
        yield Pair(traffic, "reads", reads, traffic.reads, rules.get((*key, "reads"), frozenset()))
        both = traffic.fills + traffic.updates
        yield Pair(traffic, "writes", writes, both, rules.get((*key, "writes"), frozenset()))


@cache
def first_fills(name: str) -> Counts:
    """The first fill of a partial sum counts, too: the Timeloop of 2022 elided the read of it alone."""
    arch = machine(name).model_copy(update={"first_read_elision": False})
    return count_words(CASES[name].mapping, arch)


@cache
def with_exact_halos(name: str) -> Counts:
    return count_words(CASES[name].mapping, with_halo(machine(name), "exact"))


def truncated(name: str, pair: Pair) -> bool:
    """Fills are a sum of shares in floats, cut off: an array whose size is no power of two may lose one word."""
    levels = machine(name).levels
    above = levels[: machine(name).depth[pair.traffic.level]]
    odd = any(level.instances & (level.instances - 1) for level in above if isinstance(level, Fanout))
    return odd and pair.kind == "writes" and pair.traffic.updates == 0 and pair.ours - pair.theirs == 1


def test_all_cases_are_there() -> None:
    assert (len(RUNS), len(PUBLISHED)) == (290, 15)
    gemms = [
        case for name, case in RUNS.items() if all(len(r) == 1 for t in case.mapping.problem.tensors for r in t.ranks)
    ]
    assert len(gemms) == 74
    assert not any(touched(case.mapping, case.arch) for case in gemms)
    # Of the GEMM cases, some bypass, some spread a reduction, and some bring partial sums back.
    assert any(len(case.traffic) < 3 * len(case.arch.memories) for case in gemms)
    assert any(loop.is_spatial and loop.dim == "K" for case in gemms for loop in case.mapping.nest.loops)
    assert any(traffic.fills and traffic.updates for case in gemms for traffic in case.traffic)
    assert any(case.level_cycles["DRAM"] == case.cycles > case.macs / case.arch.mac_instances for case in gemms)


@pytest.mark.some(25)
@every_case
def test_words_moved(name: str) -> None:
    """With perfect factors every instance in use is the busiest one, and Timeloop prints words per instance."""
    case, counts = CASES[name], counts_of(name)
    assert set(counts.total) == {(t.level, t.tensor) for t in case.traffic}
    for pair in pairs(name):
        if not pair.rules:
            assert pair.ours == pair.theirs or truncated(name, pair), pair
        elif PHANTOM_STAY in pair.rules:
            assert pair.theirs < exact_halo_count(name, pair), pair
        elif REPEATED_MOVE in pair.rules:
            assert exact_halo_count(name, pair) <= pair.theirs, pair
        else:
            assert pair.ours <= pair.theirs, pair
    for traffic in case.traffic:
        busiest, total = (table[traffic.level, traffic.tensor] for table in (counts.busiest, counts.total))
        assert (total.reads, total.writes) == (busiest.reads * traffic.instances, busiest.writes * traffic.instances)


def exact_halo_count(name: str, pair: Pair) -> int:
    """What a memory that keeps all it holds must still be given."""
    return int(getattr(with_exact_halos(name).busiest[pair.traffic.level, pair.traffic.tensor], pair.kind))


@pytest.mark.some(5)
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.macs < 2000])
def test_words_moved_step_by_step(name: str) -> None:
    assert simulate(CASES[name].mapping, machine(name)) == counts_of(name)


@pytest.mark.some(25)
@every_case
def test_tiles_held(name: str) -> None:
    found = {(t.memory, t.tensor): t.tile_words for t in cost_of(name).traffic}
    assert found == {(t.level, t.tensor): t.tile_words for t in CASES[name].traffic}


def theirs_pj(case: Case, traffic: Traffic) -> float:
    """Energy of their counts at our prices, blocks of every kind of access rounded up."""
    level = case.arch.level(traffic.level)
    assert isinstance(level, Memory)
    reads, fills, updates = (
        math.ceil(words / case.block_words[traffic.level]) for words in (traffic.reads, traffic.fills, traffic.updates)
    )
    return traffic.instances * (reads * level.read_energy_pj + (fills + updates) * level.write_energy_pj)


@pytest.mark.some(25)
@every_case
def test_energy(name: str) -> None:
    """Ours is of whole blocks (`block`). Of the case of 2022, whose first fills we do not charge, theirs is checked."""
    case, cost = CASES[name], cost_of(name)
    ours = {(t.memory, t.tensor): t.energy_pj for t in cost.traffic}
    touched_here = {p.traffic for p in pairs(name) if p.rules or p.ours != p.theirs}
    total_pj = cost.mac_energy_pj + case.leakage_pj
    for traffic in case.traffic:
        printed = pytest.approx(traffic.energy_pj, rel=case.rounding, abs=case.rounding_pj)
        assert theirs_pj(case, traffic) == printed, traffic
        if traffic not in touched_here and not case.from_2022:
            assert ours[traffic.level, traffic.tensor] == printed, traffic
        total_pj += theirs_pj(case, traffic) if traffic in touched_here else ours[traffic.level, traffic.tensor]
    assert cost.mac_energy_pj == pytest.approx(case.mac_energy_pj, rel=1e-12, abs=case.rounding_pj)
    if case.total_pj is not None:
        assert total_pj == pytest.approx(case.total_pj, rel=1e-12, abs=case.total_rounding_pj)


def rounded_up(cycles: float, theirs: int) -> bool:
    """Their quotient of floats may lie beyond the whole number that ours is, and is then rounded up once more."""
    return cycles == round(cycles) and theirs == cycles + 1


@pytest.mark.some(25)
@every_case
def test_cycles_and_utilization(name: str) -> None:
    case, cost = CASES[name], cost_of(name)
    assert cost.macs == case.macs
    differing = {p.traffic.level for p in pairs(name) if p.rules or p.ours != p.theirs}
    level_cycles = {m.name: max(m.cycles, cost.compute_cycles) for m in cost.memories}
    for level, cycles in case.level_cycles.items():
        if level not in differing:
            assert math.ceil(level_cycles[level]) == cycles or rounded_up(level_cycles[level], cycles), level
    if not differing:
        assert math.ceil(cost.latency_cycles) == case.cycles or rounded_up(cost.latency_cycles, case.cycles)
        if case.utilization is not None:
            busy_cycles = cost.macs / case.arch.mac_instances
            assert busy_cycles == pytest.approx(case.utilization * case.cycles, rel=1e-12)
            assert busy_cycles == pytest.approx(cost.utilization * cost.latency_cycles, rel=1e-12)
    phantom = any(PHANTOM_STAY in p.rules for p in pairs(name))
    assert phantom or math.ceil(cost.latency_cycles) <= case.cycles


@pytest.mark.long
def test_how_far_apart() -> None:
    """The table of docs/other-tools.md: cases that each rule touches, and theirs over ours."""
    ratios: dict[str, dict[str, float]] = defaultdict(dict)
    for name in RUNS:
        for pair in pairs(name):
            for rule in pair.rules:
                ours = pair.ours if rule == SEPARATE_HALOS else exact_halo_count(name, pair)
                ratios[rule][name] = max(ratios[rule].get(name, 0.0), pair.theirs / ours)
    summary = {
        rule: (len(found), *(round(f(found.values()), 2) for f in (min, statistics.median, max)))
        for rule, found in ratios.items()
    }
    # Cases; the least, the median and the largest of theirs / ours.
    assert summary == {
        SEPARATE_HALOS: (41, 1.03, 2.0, 3.73),
        REPEATED_MOVE: (2, 1.0, 1.08, 1.17),
        PHANTOM_STAY: (3, 0.69, 0.81, 0.9),
    }
    assert sum(truncated(name, pair) for name in RUNS for pair in pairs(name)) == 1
    assert len(set.union(*(set(found) for found in ratios.values()))) == 46


@pytest.mark.some(25)
@pytest.mark.parametrize("name", RUNS)
def test_files_carry_a_case_over(name: str) -> None:
    """Written as Timeloop's files and read back, every case has the same counts and costs."""
    case = RUNS[name]
    back = read_timeloop(texts=[("case.yaml", emit_timeloop(case.mapping, case.arch))])
    assert count_words(back.mapping, back.arch) == counts_of(name)
    found, expected = evaluate(back.mapping, back.arch), cost_of(name)
    assert found.energy_pj == pytest.approx(expected.energy_pj, rel=1e-12)
    assert found.latency_cycles == pytest.approx(expected.latency_cycles, rel=1e-12)
    assert [m.capacity_bits for m in found.memories] == [m.capacity_bits for m in expected.memories]
