"""What is said of a mapping is so: shares add up, factors multiply, loops move what the simulator sees."""

from __future__ import annotations

import math
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_recorder import Recorder, random_case
from tilewright.arch import load_arch
from tilewright.cost_models import cost_of, count_words
from tilewright.cost_models.boundaries import Boundary
from tilewright.cost_models.intensity import compulsory_words
from tilewright.ir import Loop, LoopNest, Mapping
from tilewright.report.explain.energy import energy_sentences
from tilewright.report.explain.explanation import Explanation, explain_mapping
from tilewright.report.explain.latency import latency_sentences
from tilewright.report.explain.loops import LoopRole, loop_sentence
from tilewright.report.explain.utilization import utilization_sentences
from tilewright.workloads import conv2d, gemm

SEEDS = st.integers(0, 10**9)


def explained(mapping: Mapping, arch: object) -> Explanation:
    return explain_mapping(mapping, arch, cost_of(mapping, arch, count_words(mapping, arch)))  # type: ignore[arg-type]


@given(SEEDS)
def test_shares_and_factors_add_up(seed: int) -> None:
    mapping, arch = random_case(seed, "leakage", "hop", "ports", "roles", "serial", "widths", *["fill"] * (seed % 2))
    e = explained(mapping, arch)
    cost = e.cost
    assert sum(part.energy_pj for part in e.energy) == pytest.approx(cost.energy_pj)
    assert sum(part.share for part in e.energy) == pytest.approx(1.0)
    assert [part.energy_pj for part in e.energy] == sorted((part.energy_pj for part in e.energy), reverse=True)
    adding = sum(limit.cycles for limit in e.latency.limits if not limit.overlaps)
    assert e.latency.binding.cycles + adding + e.latency.fill_cycles == pytest.approx(cost.latency_cycles)
    u = e.utilization
    assert u.in_use * u.full_steps * u.computing == pytest.approx(cost.utilization)
    assert math.prod(axis.used for axis in u.axes) == pytest.approx(u.in_use * arch.mac_instances)
    assert all(1 <= axis.used <= axis.size and 1 <= axis.fullest <= axis.size for axis in u.axes)
    for tensor, words in compulsory_words(mapping.problem).items():
        chain = [r for r in e.reuse if r.tensor == tensor]
        assert math.prod(r.factor * r.network for r in chain) == pytest.approx(mapping.problem.macs / words)
        assert [r.memory for r in chain] == [node.memory for node in mapping.nest.nodes if node.tensor == tensor]
    d = e.distance
    assert d.words >= d.least_words * (1 - 1e-9)
    assert d.cycles >= d.least_cycles * (1 - 1e-9)
    assert d.energy_pj >= d.least_energy_pj * (1 - 1e-9)
    assert all(tensor.words >= tensor.least for tensor in d.tensors)


@given(SEEDS)
def test_fills_times_reuse_are_the_reads_of_the_model(seed: int) -> None:
    mapping, arch = random_case(seed)
    counts = count_words(mapping, arch).total
    for r in explained(mapping, arch).reuse:
        accesses = counts[r.memory, r.tensor]
        outermost = r.memory == arch.memories[0].name
        if r.is_output:
            assert r.filled * r.factor == pytest.approx(accesses.writes - accesses.fills)
            assert outermost or r.filled == accesses.drains
        else:
            assert r.filled * r.factor == pytest.approx(accesses.reads)
            assert outermost or r.filled == accesses.fills
            assert r.halo >= 1


class TileRecorder(Recorder):
    """Also remembers which loops brought tiles back that their instance had before, and which brought new ones."""

    def __init__(self, mapping: Mapping, arch: object) -> None:
        super().__init__(mapping, arch)  # type: ignore[arg-type]
        self.seen: dict[tuple[object, ...], set[frozenset[object]]] = defaultdict(set)
        self.fresh: set[tuple[str, int, int]] = set()

    def fill(self, boundary: Boundary, time: dict[int, int]) -> None:
        before = dict(self.holders[boundary.inner_position].tile)
        super().fill(boundary, time)
        self._note(boundary, before)

    def admit(self, boundary: Boundary, time: dict[int, int]) -> None:
        before = dict(self.holders[boundary.inner_position].tile)
        super().admit(boundary, time)
        self._note(boundary, before)

    def _note(self, boundary: Boundary, before: dict[tuple[int, ...], frozenset[tuple[int, ...]]]) -> None:
        for place, tile in self.holders[boundary.inner_position].tile.items():
            key = (boundary.tensor.name, boundary.inner_position, place)
            if before.get(place) != tile and tile not in self.seen[key]:
                self.fresh.add(self._key(boundary))
            self.seen[key].add(tile)  # type: ignore[arg-type]


@given(SEEDS)
def test_loops_do_what_they_are_said_to_do(seed: int) -> None:
    mapping, arch = random_case(seed)
    walk = TileRecorder(mapping, arch)
    walk.run()
    loops = [i for i, item in enumerate(mapping.nest) if isinstance(item, Loop) and item.trips > 1]
    roles = explained(mapping, arch).loops
    assert [role.position for role in roles] == loops
    for role in roles:
        assert [effect.tensor for effect in role.effects] == [tensor.name for tensor in mapping.problem.tensors]
        for effect in role.effects:
            if effect.words is None:
                continue
            positions = mapping.nest.node_positions(effect.tensor)
            inner = next(position for position in positions if position > role.position)
            key = (effect.tensor, inner, role.position)
            assert effect.words == walk.delivered.get(key, 0)
            if effect.kind == "stays":
                assert effect.words == 0
            if effect.kind in ("stays", "again"):
                assert key not in walk.fresh  # whatever it moves has been there before


def roles_of(nest: str, arch: str = "eyeriss") -> dict[str, LoopRole]:
    mapping = Mapping(conv2d(K=8, C=4, P=8, Q=4, R=3, S=1), LoopNest.parse(nest))
    return {role.loop: role for role in explained(mapping, load_arch(arch)).loops}


CONV = """
DRAM keeps I W O
for P in 8
  for K in 2
    GLB keeps I O
    parallel Q in 4 on array.x
      spad keeps I W O
      for R in 3
        for C in 4
          for K in 4
"""


def test_sentences_of_a_convolution() -> None:
    said = {loop: loop_sentence(role) for loop, role in roles_of(CONV).items()}
    assert said["for P in 8"] == (
        "next I into GLB (112 words, 2 of 3 along p+r kept); W into spad again each time; next O in GLB (112 words)"
    )
    assert said["for K in 2"] == "I stays in GLB; next W into spad (1,536 words); next O in GLB (128 words)"
    assert said["parallel Q in 4 on array.x"] == "splits I; multicasts W to 4; splits O"
    assert said["for R in 3"] == "next I; next W; adds to the same O in spad"
    assert said["for K in 4"] == "same I from spad; next W; next O"


def test_an_output_that_comes_back() -> None:
    nest = """
        DRAM keeps A W O
        for K in 2
          for M in 4
            GLB keeps A O
            parallel K in 2 on array.y
              spad keeps A W O
              for N in 4
    """
    mapping = Mapping(gemm(4, 4, 4), LoopNest.parse(nest))
    said = {role.loop: loop_sentence(role) for role in explained(mapping, load_arch("eyeriss")).loops}
    assert said["for K in 2"].endswith("O back to GLB again each time")
    assert said["for M in 4"].endswith("next O in GLB (24 words)")
    assert said["parallel K in 2 on array.y"] == "splits A; splits W; adds up O of 2"


def test_utilization_says_why() -> None:
    nest = """
        DRAM keeps A W O
        for M in 7
          GLB keeps A O
          parallel N in 4 on array.x
            parallel K in 3 on array.y
              spad keeps A W O
              for N in 4
    """
    mapping = Mapping(gemm(7, 13, 3), LoopNest.parse(nest))
    e = explained(mapping, load_arch("eyeriss"))
    text = " ".join(utilization_sentences(e.utilization, e.latency))
    assert "array.x uses 4 of 14 (N in 4); loops that divide their dimensions could use 13" in text
    assert "array.y uses 3 of 12 (K in 3); loops that divide their dimensions could use 7" in text
    assert "N=13 does not fill the blocks that it is dealt out in: 18.8% of them is empty." in text
    assert "waiting for the port of DRAM" in text
    assert "The port of DRAM bounds the latency" in " ".join(latency_sentences(e.latency))
    assert next(energy_sentences(e.energy, e.cost.macs)).endswith("computes.")
