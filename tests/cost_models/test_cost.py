"""Energy, latency, occupancy and fit of one small mapping, against figures worked out by hand.

    DRAM keeps A W O        A[m,k] 12 words, W[k,n] 6 words, O[m,n] 8 words; 24 products
    for N in 2
      L1 keeps A W O
      for M in 4
        for K in 3

Words moved. A: 12 into L1 once. W: 3 into L1, twice. O: 4 out of L1, twice, each word finished at one go.

    DRAM  A 12 reads              W 6 reads              O 8 writes
    L1    A 24 reads, 12 writes   W 24 reads, 6 writes   O 16 + 8 reads (8 of the 24 updates are first), 24 writes
"""

from __future__ import annotations

import dataclasses
import random
import re
from typing import Any

import pytest

import longer
from generators import memory, random_architecture, random_mapping, random_problem, tensor
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from tilewright.cost_models import Cost, cost_of, count_words, evaluate, simulate
from tilewright.ir import ArchitectureError, LoopNest, Mapping, MappingError, Problem

MAY = Keeps(input="may", weight="may", output="may")
GEMM = Problem(
    "gemm",
    (("M", 4), ("N", 2), ("K", 3)),
    (tensor("A", "input", "M", "K"), tensor("W", "weight", "K", "N"), tensor("O", "output", "M", "N")),
)
NEST = """
    DRAM keeps A W O
    for N in 2
      L1 keeps A W O
      for M in 4
        for K in 3
"""


def machine(*levels: Memory | Fanout, mac: Mac | None = None, **fields: Any) -> Architecture:
    fields = {"name": "hand", "clock_hz": 1e9, "word_bits": 8, "mac": mac or Mac(energy_pj=2.0)} | fields
    return Architecture.model_validate(fields | {"levels": levels})


def dram(**fields: object) -> Memory:
    """10 pJ per word read, 20 per word written."""
    return memory("DRAM", access_bits=64, read_energy_pj=80.0, write_energy_pj=160.0, **fields)


def l1(**fields: object) -> Memory:
    """1.5 pJ per word read, 2.5 per word written."""
    return memory("L1", access_bits=16, read_energy_pj=3.0, write_energy_pj=5.0, keeps=MAY, **fields)


def cost(*levels: Memory | Fanout, nest: str = NEST, problem: Problem = GEMM, **fields: Any) -> Cost:
    return evaluate(Mapping(problem, LoopNest.parse(nest)), machine(*levels, **fields))


def memory_cycles(found: Cost) -> dict[str, float]:
    return {m.name: m.cycles for m in found.memories}


class TestEnergy:
    def test_by_memory_and_tensor(self) -> None:
        found = cost(dram(), l1())
        assert {(t.memory, t.tensor): t.energy_pj for t in found.traffic} == {
            ("DRAM", "A"): 12 * 10,
            ("DRAM", "W"): 6 * 10,
            ("DRAM", "O"): 8 * 20,
            ("L1", "A"): 24 * 1.5 + 12 * 2.5,
            ("L1", "W"): 24 * 1.5 + 6 * 2.5,
            ("L1", "O"): 24 * 1.5 + 24 * 2.5,
        }
        assert {m.name: m.energy_pj for m in found.memories} == {"DRAM": 340, "L1": 66 + 51 + 96}
        assert (found.macs, found.mac_energy_pj) == (24, 48)
        assert found.energy_pj == 340 + 213 + 48

    def test_partial_sums_are_wide_and_finished_sums_are_not(self) -> None:
        # L1 accumulates for the MAC: it never knows that a sum is finished, so all its words are 4 bytes wide.
        found = cost(dram(), l1(), partial_sum_bits=32)
        energies = {(t.memory, t.tensor): t.energy_pj for t in found.traffic}
        assert energies["DRAM", "O"] == 8 * 20
        assert energies["L1", "O"] == 4 * (24 * 1.5 + 24 * 2.5)

    def test_a_memory_between_tells_finished_sums_from_partial_ones(self) -> None:
        # O[m] visits L2 three times: L1 takes 6 words and gives 4 back. The last 2 words in are finished, and these
        # are the ones that L1 passes on: 4 wide and 2 narrow words, both ways.
        nest = """
            DRAM keeps A W O
            L1 keeps O
            for K in 3
              for M in 2
                L2 keeps O
        """
        problem = dataclasses.replace(GEMM, dims=(("M", 2), ("N", 1), ("K", 3)))
        levels = (dram(), memory("L1", keeps=MAY), memory("L2", keeps=MAY))
        found = cost(*levels, nest=nest, problem=problem, partial_sum_bits=32)
        (traffic,) = (t for t in found.traffic if t.memory == "L1")
        assert (traffic.reads, traffic.writes) == (6, 6)
        assert traffic.energy_pj == 2 * (4 * 4 + 2 * 1)

    def test_width_of_a_tensor_of_its_own(self) -> None:
        wide = dataclasses.replace(GEMM.tensors[0], bits=16)
        found = cost(dram(), l1(), problem=dataclasses.replace(GEMM, tensors=(wide, *GEMM.tensors[1:])))
        assert {t.tensor: t.energy_pj for t in found.traffic if t.memory == "DRAM"} == {"A": 240, "W": 60, "O": 160}


class TestLatency:
    def test_compute_bound(self) -> None:
        found = cost(dram(), l1())
        assert (found.steps, found.compute_cycles, found.latency_cycles) == (24, 24, 24)
        assert memory_cycles(found) == {"DRAM": 0, "L1": 0}
        assert (found.limited_by, found.utilization) == ("compute", 1.0)

    def test_a_shared_port_adds_reads_and_writes(self) -> None:
        # 18 words in and 8 out, one word a cycle.
        found = cost(dram(shared_bits_per_cycle=8.0), l1())
        assert memory_cycles(found)["DRAM"] == 18 + 8
        assert (found.limited_by, found.latency_cycles) == ("DRAM", 26)
        assert found.utilization == pytest.approx(24 / 26)

    def test_separate_ports_work_at_the_same_time(self) -> None:
        # 18 words read in 18 cycles while 8 words are written in 16.
        found = cost(dram(read_bits_per_cycle=8.0, write_bits_per_cycle=4.0), l1())
        assert memory_cycles(found)["DRAM"] == 18
        assert (found.limited_by, found.latency_cycles) == ("compute", 24)

    def test_one_port_bounded_and_the_other_not(self) -> None:
        assert memory_cycles(cost(dram(write_bits_per_cycle=2.0), l1()))["DRAM"] == 32
        assert memory_cycles(cost(dram(read_bits_per_cycle=2.0), l1()))["DRAM"] == 72

    def test_ports_carry_bits_not_words(self) -> None:
        # L1 writes 12 + 6 words of a byte, and 24 partial sums of 4 bytes.
        found = cost(dram(), l1(write_bits_per_cycle=8.0), partial_sum_bits=32)
        assert memory_cycles(found)["L1"] == 18 + 4 * 24

    def test_the_busiest_instance_counts(self) -> None:
        # 24 MACs, one row of A per instance; 3 instances have 2 rows between them and the edge: 2, 2, 1 of 5.
        nest = """
            DRAM keeps A W O
            parallel M in 3 on array.x
              L1 keeps A
              for N in 2
                for M in 2
                  for K in 3
        """
        problem = dataclasses.replace(GEMM, dims=(("M", 5), ("N", 2), ("K", 3)))
        array = Fanout(name="array", axes=(ArrayAxis(size=4),))
        found = cost(dram(), array, l1(read_bits_per_cycle=4.0), nest=nest, problem=problem)
        assert {m.name: m.instances for m in found.memories} == {"DRAM": 1, "L1": 4}
        assert (found.steps, memory_cycles(found)["L1"]) == (12, 2 * 12)
        assert found.utilization == pytest.approx(30 / (4 * 24))

    def test_a_memory_that_does_not_overlap_adds_its_time(self) -> None:
        # L1: 72 reads and 42 writes, 8 words a cycle: 14.25 cycles after the 24 of compute.
        found = cost(dram(), l1(shared_bits_per_cycle=64.0, overlaps=False))
        assert memory_cycles(found)["L1"] == 14.25
        assert found.latency_cycles == 24 + 14.25
        assert found.limited_by == "compute"

    def test_the_slowest_part_is_named_even_if_it_does_not_overlap(self) -> None:
        found = cost(dram(), l1(shared_bits_per_cycle=8.0, overlaps=False))
        assert (found.limited_by, found.latency_cycles) == ("L1", 24 + 114)

    def test_macs_per_cycle(self) -> None:
        found = cost(dram(shared_bits_per_cycle=8.0), l1(), mac=Mac(energy_pj=2.0, per_cycle=2.0))
        assert (found.compute_cycles, found.latency_cycles) == (12, 26)
        assert found.utilization == pytest.approx(24 / (2 * 26))

    def test_seconds_and_products(self) -> None:
        found = cost(dram(), l1())
        assert found.latency_s == pytest.approx(24e-9)
        assert found.edp == found.energy_pj * 24
        assert found.objective("energy") == found.energy_pj
        assert found.objective("latency") == 24
        assert found.objective("edp") == found.edp


class TestOccupancy:
    def test_bits_in_use(self) -> None:
        # L1: 12 + 3 + 4 words. DRAM: 12 + 6 + 8 words.
        found = cost(dram(), l1(size_bits=19 * 8))
        assert {m.name: (m.occupied_bits, m.capacity_bits) for m in found.memories} == {
            "DRAM": (26 * 8, None),
            "L1": (19 * 8, 19 * 8),
        }

    def test_partial_sums_take_their_width_but_for_the_outermost_memory(self) -> None:
        found = cost(dram(), l1(), partial_sum_bits=32)
        assert {m.name: m.occupied_bits for m in found.memories} == {"DRAM": 26 * 8, "L1": 15 * 8 + 4 * 32}

    def test_double_buffering_takes_two_copies(self) -> None:
        found = cost(dram(), l1(double_buffered=True, size_bits=38 * 8))
        assert found.memories[1].occupied_bits == 38 * 8

    def test_strided_windows_count_what_they_touch(self) -> None:
        operands = (tensor("I", "input", {"P": 2, "R": 1}), tensor("W", "weight", "R"))
        problem = Problem("conv", (("P", 4), ("R", 1)), (*operands, tensor("O", "output", "P")))
        nest = "DRAM keeps I W O\nL1 keeps I\nfor P in 4"
        found = cost(dram(), l1(), nest=nest, problem=problem)
        assert {t.tensor: t.tile_words for t in found.traffic if t.memory == "L1"} == {"I": 4}


class TestFit:
    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            (
                {"size_bits": 16 * 8},
                "L1: tiles of A, W, O need 19 B, capacity is 16 B\n"
                "hint: A takes 12 B: tile it smaller, or keep it further out",
            ),
            (
                {"size_bits": 37 * 8, "double_buffered": True},
                "L1: tiles of A, W, O need 38 B, capacity is 37 B\n"
                "hint: A takes 24 B: tile it smaller, or keep it further out",
            ),
            (
                {"partition_bits": {"weight": 2 * 8}},
                "L1: tiles of W need 3 B, capacity is 2 B\nhint: W takes 3 B: tile it smaller, or keep it further out",
            ),
            (
                {"partition_bits": {"input": 12 * 8}, "size_bits": 6 * 8},
                "L1: tiles of W, O need 7 B, capacity is 6 B\n"
                "hint: O takes 4 B: tile it smaller, or keep it further out",
            ),
        ],
    )
    def test_tiles_that_do_not_fit(self, fields: dict[str, object], message: str) -> None:
        with pytest.raises(MappingError, match=f"^{re.escape(message)}$"):
            cost(dram(), l1(**fields))

    def test_partitions_that_just_fit(self) -> None:
        cost(dram(), l1(partition_bits={"input": 12 * 8, "weight": 3 * 8}, size_bits=4 * 8))

    @pytest.mark.parametrize(
        ("axis", "message"),
        [
            (ArrayAxis(size=3), "parallel loops over array.x need 4 instances, it has 3"),
            (ArrayAxis(size=4, dims=("N", "K")), "array: array.x does not allow dimension M"),
            (ArrayAxis(size=4, reuse="output"), "array: array.x does not allow dimension M"),
            (ArrayAxis(size=4, dims=("M",), reuse="output"), "array: array.x does not allow dimension M"),
        ],
    )
    def test_axes(self, axis: ArrayAxis, message: str) -> None:
        nest = """
            DRAM keeps A W O
            for N in 2
              for K in 3
                parallel M in 2 on array.x
                  parallel M in 2 on array.x
        """
        with pytest.raises(MappingError, match=f"^{re.escape(message)}$"):
            cost(dram(), Fanout(name="array", axes=(axis,)), nest=nest)

    @pytest.mark.parametrize(("dim", "allowed"), [("N", True), ("K", False)])
    def test_an_axis_without_reduction_takes_dimensions_of_the_output(self, dim: str, allowed: bool) -> None:
        axis = ArrayAxis(size=3, reduce=False)
        assert axis.allows(GEMM, dim) is allowed
        assert ArrayAxis(size=3).allows(GEMM, dim)

    def test_an_axis_for_weight_reuse_takes_loops_that_share_weights(self) -> None:
        nest = """
            DRAM keeps A W O
            for N in 2
              for K in 3
                parallel M in 4 on array.x
        """
        axis = ArrayAxis(size=4, reuse="weight")
        assert cost(dram(), Fanout(name="array", axes=(axis,)), nest=nest).steps == 6


class TestPlacement:
    """DRAM, L1, an array of one axis, L2: what stands where."""

    LOOPS = "for N in 2\nfor K in 3"

    def check(self, nest: str, l1_keeps: Keeps = MAY) -> None:
        levels = (
            dram(),
            memory("L1", keeps=l1_keeps),
            Fanout(name="array", axes=(ArrayAxis(size=4),)),
            memory("L2", keeps=MAY),
        )
        cost(*levels, nest=f"{nest}\n{self.LOOPS}")

    def test_a_sound_one(self) -> None:
        self.check("DRAM keeps A W O\nL1 keeps A\nparallel M in 4 on array.x\nL2 keeps A")

    @pytest.mark.parametrize(
        ("nest", "message"),
        [
            ("DRAM keeps A W\nL1 keeps O\nfor M in 4", "DRAM must keep O, and does not"),
            (
                "DRAM keeps A W O\nL2 keeps W\nparallel M in 4 on array.x",
                "array stands inside L2, which is below it in the hierarchy",
            ),
            (
                "DRAM keeps A W O\nparallel M in 4 on array.x\nL1 keeps W",
                "L1 stands inside array, which is below it in the hierarchy",
            ),
            (
                "DRAM keeps A W O\nL2 keeps W\nL1 keeps A\nfor M in 4",
                "L1 stands inside L2, which is below it in the hierarchy",
            ),
            (
                "DRAM keeps A W O\nparallel M in 4 on L1.x",
                "a parallel loop runs on L1, which is a memory, not a fanout",
            ),
            ("DRAM keeps A W O\nparallel M in 4 on array.y", "a parallel loop runs on array.y, but array has one axis"),
            ("DRAM keeps A W O\narray keeps W\nfor M in 4", "array keeps W, but array is a fanout, not a memory"),
        ],
    )
    def test_what_stands_wrong(self, nest: str, message: str) -> None:
        with pytest.raises(MappingError, match=re.escape(message)):
            self.check(nest)

    def test_a_level_that_does_not_exist(self) -> None:
        with pytest.raises(ArchitectureError, match=r"(?s)no level 'L3'.*known: DRAM, L1, array, L2"):
            self.check("DRAM keeps A W O\nL3 keeps A\nfor M in 4")
        with pytest.raises(ArchitectureError, match=r"(?s)no level 'arrays'.*did you mean 'array'\?"):
            self.check("DRAM keeps A W O\nparallel M in 4 on arrays.x")

    @pytest.mark.parametrize("inner", ["L2 keeps A\nL1 keeps A", "L1 keeps A\nDRAM keeps A"])
    def test_nodes_of_a_tensor_in_the_wrong_order(self, inner: str) -> None:
        """Nodes of memories without a fanout between may stand in any order, but not those of one tensor."""
        levels = (dram(), memory("L1", keeps=MAY), memory("L2", keeps=MAY))
        cost(*levels, nest=f"DRAM keeps A W O\nL2 keeps A\nL1 keeps W\nfor M in 4\n{self.LOOPS}")
        outermost = "DRAM keeps W O" if "DRAM" in inner else "DRAM keeps A W O"
        with pytest.raises(MappingError, match=r"^the nodes of A do not go from outer to inner memories$"):
            cost(*levels, nest=f"{outermost}\n{inner}\nfor M in 4\n{self.LOOPS}")

    def test_must_keep(self) -> None:
        with pytest.raises(MappingError, match=r"^L1 must keep W, and does not$"):
            self.check("DRAM keeps A W O\nL1 keeps A\nfor M in 4", Keeps(input="may", weight="must", output="may"))

    def test_never_keep(self) -> None:
        with pytest.raises(MappingError, match=r"^L1 keeps A, but it must not keep input tensors$"):
            self.check("DRAM keeps A W O\nL1 keeps A\nfor M in 4", Keeps(input="never", weight="may", output="may"))

    def test_the_outermost_memory_keeps_everything(self) -> None:
        with pytest.raises(MappingError, match=r"hint: the outermost memory, DRAM, keeps every tensor$"):
            self.check("DRAM keeps A W\nL1 keeps O\nfor M in 4")


def test_cost_from_simulated_counts_is_the_same() -> None:
    for seed in longer.seeds(100):
        rng = random.Random(seed)
        problem, arch = random_problem(rng), random_architecture(rng)
        mapping = random_mapping(rng, problem, arch)
        simulated = cost_of(mapping, arch, simulate(mapping, arch))
        assert simulated == cost_of(mapping, arch, count_words(mapping, arch)) == evaluate(mapping, arch)
        assert 0 < simulated.utilization <= 1
        assert simulated.energy_pj == pytest.approx(
            simulated.mac_energy_pj + sum(t.energy_pj for t in simulated.traffic)
        )
