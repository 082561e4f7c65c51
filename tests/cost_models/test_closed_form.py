"""The closed forms against the simulator on random triples, and both against counts worked out by hand."""

from __future__ import annotations

import math
import random
from collections import Counter
from functools import cache

import pytest

import longer
from generators import memory, random_architecture, random_mapping, random_problem, tensor, with_extras, with_pads
from tilewright.arch import Architecture, ArrayAxis, Fanout, Halo, Keeps, Mac, Memory, Reuse
from tilewright.cost_models import Accesses, Counts, count_words, simulate
from tilewright.cost_models.boundaries import boundaries_of
from tilewright.ir import Loop, LoopNest, Mapping, Node, Problem

TRIPLES = 1200
MAY = Keeps(input="may", weight="may", output="may")


@cache
def random_triple(seed: int) -> tuple[Mapping, Architecture]:
    """A random mapping and its machine; odd seeds draw until a fanout is in use, every third reuses at nodes only."""
    rng = random.Random(seed)
    while True:
        problem, arch = random_problem(rng), random_architecture(rng, reuse="across_levels" if seed % 3 else "at_node")
        mapping = random_mapping(rng, problem, arch, ragged=rng.random() < 0.8)
        if seed % 2 == 0 or any(loop.is_spatial and loop.trips > 1 for loop in mapping.nest.loops):
            switches = {"inner_drain_read": rng.random() < 0.7, "first_read_elision": rng.random() < 0.8}
            return mapping, arch.model_copy(update=switches)


@pytest.mark.parametrize("seeds", longer.blocks(TRIPLES, 80))
def test_closed_form_equals_simulator(seeds: range) -> None:
    for seed in seeds:
        mapping, arch = random_triple(seed)
        expected, found = simulate(mapping, arch), count_words(mapping, arch)
        assert found.total == expected.total, f"seed {seed}\n{mapping}"
        assert found.busiest == expected.busiest, f"seed {seed}\n{mapping}"
        assert found.in_use == expected.in_use, f"seed {seed}\n{mapping}"
        assert found.steps == expected.steps, f"seed {seed}\n{mapping}"


@pytest.mark.parametrize("seeds", longer.blocks(400, 50))
def test_closed_form_equals_simulator_without_zeros_of_padding(seeds: range) -> None:
    free = 0
    for seed in seeds:
        mapping, arch = random_triple(seed)
        rng = random.Random(seed)
        boxed = {"padding": "free", "footprint": rng.choice(["exact", "exact", "box"])}
        arch = with_extras(rng, arch, *rng.choice([("fill", "hop", "arrays"), ()])).model_copy(update=boxed)
        mapping = Mapping(with_pads(mapping.problem, rng), mapping.nest)
        expected, found = simulate(mapping, arch), count_words(mapping, arch)
        assert found == expected, f"seed {seed}\n{mapping}"
        free += found.total != count_words(mapping, arch.model_copy(update={"padding": "read"})).total
    assert longer.occurs(free > 30)


# ---- what the random triples cover ------------------------------------------------------------------------------


def features(mapping: Mapping, arch: Architecture) -> set[str]:
    """The kinds of trouble that a triple holds for a counter."""
    found = layer_features(mapping.problem) | fanout_features(mapping, arch) | halo_features(mapping, arch)
    for dim, size in mapping.problem.dims:
        loops = [loop for loop in mapping.nest.loops if loop.dim == dim and loop.trips > 1]
        if math.prod(loop.trips for loop in loops) > size:
            found |= {"ragged", "ragged in space" if loops[0].is_spatial else "ragged in time"}
    kept = Counter(node.memory for node in mapping.nest.nodes)
    if any(kept[level.name] < len(mapping.problem.tensors) for level in arch.memories):
        found.add("bypass")
    if any(is_uneven(mapping.nest, level.name) for level in arch.memories):
        found.add("uneven")
    if arch.reuse == "at_node":
        found |= {f"{case} at a node" for case in served_again(mapping, arch)}
    return found


def served_again(mapping: Mapping, arch: Architecture) -> set[str]:
    """Whether an operand, or the output, is transferred at steps of a loop that does not move it."""
    found = set()
    for boundary in boundaries_of(mapping, arch):
        above = [i for i in mapping.nest.items[: boundary.inner_position] if isinstance(i, Loop)]
        innermost = next((loop for loop in above[::-1] if loop.trips > 1 and not loop.is_spatial), None)
        if boundary.inner is not None and innermost is not None and innermost.dim not in boundary.tensor.dims:
            found |= {"output"} if boundary.tensor.is_output else {"operand", f"halo {boundary.inner.halo}"}
    return found


def is_uneven(nest: LoopNest, name: str) -> bool:
    """Whether a loop that does something stands between two nodes of the same memory."""
    positions = [i for i, item in enumerate(nest) if isinstance(item, Node) and item.memory == name]
    between = nest.items[positions[0] : positions[-1]] if positions else ()
    return any(isinstance(item, Loop) and item.trips > 1 for item in between)


def layer_features(problem: Problem) -> set[str]:
    found = set()
    for operand in problem.operands:
        for rank in operand.ranks:
            for dim, coefficient in rank:
                if len(rank) > 1 and coefficient > 1 and problem.sizes[dim] > 1:
                    found.add("stride" if dim in problem.output.dims else "dilation")
    if problem.sizes.get("G", 1) > 1:
        found.add("groups")
    return found


def fanout_features(mapping: Mapping, arch: Architecture) -> set[str]:
    found = set()
    for loop in mapping.nest.loops:
        if loop.axis is None or loop.trips == 1:
            continue
        fanout = arch.level(loop.axis.fanout)
        assert isinstance(fanout, Fanout)
        found.add("spatial")
        if any(loop.dim not in operand.dims for operand in mapping.problem.operands):
            found.add("multicast on" if fanout.multicast else "multicast off")
        if loop.dim not in mapping.problem.output.dims:
            found.add("spatial reduction on" if fanout.spatial_reduction else "spatial reduction off")
    return found


def halo_features(mapping: Mapping, arch: Architecture) -> set[str]:
    """Modes of memories that hold a tile which slides along a rank of two or more dimensions."""
    found = set()
    for boundary in boundaries_of(mapping, arch):
        sliding = {dim for rank in boundary.tensor.ranks if len(rank) > 1 for dim, _ in rank}
        above = mapping.nest.items[: boundary.inner_position]
        slides = any(isinstance(i, Loop) and not i.is_spatial and i.trips > 1 and i.dim in sliding for i in above)
        if boundary.inner is not None and slides:
            found.add(f"halo {boundary.inner.halo}")
    return found


@pytest.mark.long
def test_random_triples_cover_everything() -> None:
    seen: Counter[str] = Counter()
    for seed in range(TRIPLES):
        seen.update(features(*random_triple(seed)))
    minimum = {
        "ragged": 500,
        "ragged in time": 400,
        "ragged in space": 150,
        "halo none": 120,
        "halo innermost": 120,
        "halo exact": 120,
        "bypass": 800,
        "uneven": 500,
        "spatial": 600,
        "multicast on": 250,
        "multicast off": 120,
        "spatial reduction on": 170,
        "spatial reduction off": 80,
        "stride": 280,
        "dilation": 200,
        "groups": 80,
        "output at a node": 100,
        "operand at a node": 150,
        "halo none at a node": 60,
        "halo innermost at a node": 60,
        "halo exact at a node": 60,
    }
    assert {name: seen[name] for name in minimum if seen[name] < minimum[name]} == {}


@pytest.mark.long
def test_halo_modes_matter_on_the_random_triples() -> None:
    """Were the three modes always equal, the property test would say nothing about them."""
    strictly_fewer = Counter[str]()
    for seed in range(400):
        mapping, arch = random_triple(seed)
        words = {
            mode: words_moved(count_words(mapping, with_halo(arch, mode))) for mode in ("none", "innermost", "exact")
        }
        assert words["exact"] <= words["innermost"] <= words["none"], seed
        strictly_fewer["exact"] += words["exact"] < words["innermost"]
        strictly_fewer["innermost"] += words["innermost"] < words["none"]
    assert strictly_fewer["exact"] >= 30
    assert strictly_fewer["innermost"] >= 30


def with_halo(arch: Architecture, mode: Halo) -> Architecture:
    levels = [lv.model_copy(update={"halo": mode}) if isinstance(lv, Memory) else lv for lv in arch.levels]
    return arch.model_copy(update={"levels": tuple(levels)})


def words_moved(counts: Counts) -> int:
    return sum(accesses.reads + accesses.writes for accesses in counts.total.values())


# ---- small nests, counted by hand ---------------------------------------------------------------------------------


def machine(*below: Memory | Fanout, inner_drain_read: bool = True, reuse: Reuse = "across_levels") -> Architecture:
    return Architecture(
        name="hand",
        clock_hz=1e9,
        word_bits=8,
        inner_drain_read=inner_drain_read,
        reuse=reuse,
        levels=(memory("DRAM"), *below),
        mac=Mac(energy_pj=1.0),
    )


def array(size: int, *, multicast: bool = True, spatial_reduction: bool = True) -> Fanout:
    axis = ArrayAxis(size=size)
    return Fanout(name="array", axes=(axis,), multicast=multicast, spatial_reduction=spatial_reduction)


def gemm(m: int, n: int, k: int) -> Problem:
    operands = (tensor("A", "input", "M", "K"), tensor("W", "weight", "K", "N"))
    return Problem("gemm", (("M", m), ("N", n), ("K", k)), (*operands, tensor("O", "output", "M", "N")))


def conv1d(k: int, p: int, r: int, stride: int = 1) -> Problem:
    operands = (tensor("I", "input", {"P": stride, "R": 1}), tensor("W", "weight", "K", "R"))
    return Problem("conv1d", (("K", k), ("P", p), ("R", r)), (*operands, tensor("O", "output", "K", "P")))


def counted(problem: Problem, arch: Architecture, nest: str) -> Counts:
    """The counts on which the simulator and the closed forms agree."""
    mapping = Mapping(problem, LoopNest.parse(nest))
    counts = simulate(mapping, arch)
    assert count_words(mapping, arch) == counts
    return counts


def reads_and_writes(counts: Counts) -> dict[tuple[str, str], tuple[int, int]]:
    return {key: (accesses.reads, accesses.writes) for key, accesses in counts.total.items()}


def test_stationarity_passes_spatial_loops_and_other_nodes() -> None:
    # 8 x 3 x 5 = 120 products in 3 x 4 x 5 = 60 steps on 2 instances.
    # W: its tile in L2 is 5 words of one column n. Only N moves it: neither the M loops nor L1's nodes between do.
    #    So 3 fills of 5 words in each of 2 instances (30 writes), and 15 reads of DRAM with multicast.
    # A: its 8 x 5 tile in L1 is all of A, filled once; A bypasses L2, and both instances want different words.
    # O: 3 tiles of 8 words in L1, each finished at one go: 120 updates of which 24 are first ones and read nothing,
    #    then 24 words drained: 96 + 24 reads.
    nest = """
        DRAM keeps A W O
        for N in 3
          L1 keeps A O
          for M in 4
            parallel M in 2 on array.x
              L2 keeps W
              for K in 5
    """
    arch = machine(memory("L1", keeps=MAY), array(2), memory("L2", keeps=MAY))
    counts = counted(gemm(8, 3, 5), arch, nest)
    assert reads_and_writes(counts) == {
        ("DRAM", "A"): (40, 0),
        ("L1", "A"): (120, 40),
        ("DRAM", "W"): (15, 0),
        ("L2", "W"): (120, 30),
        ("DRAM", "O"): (0, 24),
        ("L1", "O"): (96 + 24, 120),
    }
    assert counts.busiest["L2", "W"] == Accesses(reads=60, writes=15, fills=15)
    assert counts.steps == 60


def test_reuse_at_nodes_passes_nothing() -> None:
    # As above, but every loop above a node counts. W: the tile in L2 is filled again at each of 4 steps of M, so
    #    12 fills of 5 words in 2 instances. A: its tile in L1, which N leaves as it is, is filled 3 times.
    # O: only N stands above its node, and moves it.
    nest = """
        DRAM keeps A W O
        for N in 3
          L1 keeps A O
          for M in 4
            parallel M in 2 on array.x
              L2 keeps W
              for K in 5
    """
    arch = machine(memory("L1", keeps=MAY), array(2), memory("L2", keeps=MAY), reuse="at_node")
    counts = counted(gemm(8, 3, 5), arch, nest)
    assert reads_and_writes(counts) == {
        ("DRAM", "A"): (120, 0),
        ("L1", "A"): (120, 120),
        ("DRAM", "W"): (60, 0),
        ("L2", "W"): (120, 120),
        ("DRAM", "O"): (0, 24),
        ("L1", "O"): (96 + 24, 120),
    }


@pytest.mark.parametrize(("halo", "fills"), [("exact", 5), ("innermost", 18), ("none", 18)])
def test_halo_of_a_tile_that_stands_still(halo: Halo, fills: int) -> None:
    # A window of 3 over 5 inputs, each of its 3 tiles wanted in both steps of K, which is innermost and moves nothing.
    # none, innermost: 6 tiles of 3 words. exact: nothing twice, 3 + 1 + 1.
    nest = """
        DRAM keeps I W O
        for P in 3
          for K in 2
            L1 keeps I
            for R in 3
    """
    arch = machine(memory("L1", keeps=MAY, halo=halo), reuse="at_node")
    counts = counted(conv1d(2, 3, 3), arch, nest)
    assert counts.total["DRAM", "I"] == Accesses(reads=fills)
    assert counts.total["L1", "I"] == Accesses(reads=18, writes=fills, fills=fills)


def test_partial_sums_leave_at_every_step_above_their_node() -> None:
    # K, which does not move the sums, steps 3 times above L1: each of the 2 sums visits it three times, as if K stood
    # outside M. 4 of the 6 visits bring a sum back; the last arrival of each in DRAM is finished.
    nest = """
        DRAM keeps A W O
        for M in 2
          for K in 3
            L1 keeps O
    """
    counts = counted(gemm(2, 1, 3), machine(memory("L1", keeps=MAY), reuse="at_node"), nest)
    assert counts.total["DRAM", "O"] == Accesses(reads=4, writes=6, finished_writes=2)
    assert counts.total["L1", "O"] == Accesses(reads=4 + 6, writes=4 + 6, drains=6, fills=4)


@pytest.mark.parametrize(("halo", "fills"), [("exact", 9), ("innermost", 10), ("none", 18)])
def test_halo_of_a_sliding_tile(halo: Halo, fills: int) -> None:
    # A window of 3 over 5 inputs: tiles 012 123 234, walked twice because of K.
    # none: 6 tiles of 3 words. innermost: 3 + 1 + 1 along P, and everything again when P wraps: 10.
    # exact: at the wrap from 234 to 012, word 2 is still there: 3 + 1 + 1, then 2 + 1 + 1 = 9.
    nest = """
        DRAM keeps I W O
        for K in 2
          for P in 3
            L1 keeps I
            for R in 3
    """
    counts = counted(conv1d(2, 3, 3), machine(memory("L1", keeps=MAY, halo=halo)), nest)
    assert counts.total["DRAM", "I"] == Accesses(reads=fills)
    assert counts.total["L1", "I"] == Accesses(reads=18, writes=fills, fills=fills)


def test_halo_across_a_stride_that_leaves_gaps() -> None:
    # Windows of 2 at stride 3: 01 34 67: nothing overlaps, and inputs 2 and 5 are never read.
    nest = """
        DRAM keeps I W O
        for P in 3
          L1 keeps I
          for R in 2
    """
    counts = counted(conv1d(1, 3, 2, stride=3), machine(memory("L1", keeps=MAY, halo="exact")), nest)
    assert counts.total["DRAM", "I"] == Accesses(reads=6)


@pytest.mark.parametrize("inner_drain_read", [True, False])
def test_partial_sums_leave_and_come_back(inner_drain_read: bool) -> None:
    # K outside M: each of the 2 sums visits L1 three times: 6 visits, 4 of them with a sum that comes back.
    # DRAM: 6 arrivals are 6 writes, and the 4 that are not a word's first are read (for L1 to go on with).
    # L1:   4 returning words and 6 updates are written; 4 updates read what is there, 2 are first ones;
    #       6 drained words are read, where that is charged. The last arrival of each word in DRAM is finished.
    nest = """
        DRAM keeps A W O
        for K in 3
          for M in 2
            L1 keeps O
    """
    counts = counted(gemm(2, 1, 3), machine(memory("L1", keeps=MAY), inner_drain_read=inner_drain_read), nest)
    assert counts.total["DRAM", "O"] == Accesses(reads=4, writes=6, finished_writes=2)
    drains = 6 if inner_drain_read else 0
    assert counts.total["L1", "O"] == Accesses(reads=4 + drains, writes=4 + 6, drains=drains, fills=4)


@pytest.mark.parametrize(("reduces", "reads", "writes"), [(True, 0, 2), (False, 6, 8)])
def test_spatial_reduction(reduces: bool, reads: int, writes: int) -> None:
    # Four instances hold a quarter of each of 2 sums. Summed on the way out, 2 words arrive in DRAM;
    # otherwise 8 do, and the 6 that are not a word's first make DRAM read what it has.
    nest = """
        DRAM keeps A W O
        for M in 2
          parallel K in 4 on array.x
            L1 keeps O
    """
    arch = machine(array(4, spatial_reduction=reduces), memory("L1", keeps=MAY))
    counts = counted(gemm(2, 1, 4), arch, nest)
    assert counts.total["DRAM", "O"] == Accesses(reads=reads, writes=writes, finished_writes=2)
    assert counts.total["L1", "O"] == Accesses(reads=8, writes=8, drains=8)
    assert counts.busiest["L1", "O"] == Accesses(reads=2, writes=2, drains=2)


@pytest.mark.parametrize(("multicast", "reads"), [(True, 3), (False, 12)])
def test_multicast(multicast: bool, reads: int) -> None:
    # Four instances want the same weight, three times: 12 words written, read once each or once for all four.
    nest = """
        DRAM keeps A W O
        for N in 3
          parallel M in 4 on array.x
            L1 keeps W
    """
    arch = machine(array(4, multicast=multicast), memory("L1", keeps=MAY))
    counts = counted(gemm(4, 3, 1), arch, nest)
    assert counts.total["DRAM", "W"] == Accesses(reads=reads)
    assert counts.total["L1", "W"] == Accesses(reads=12, writes=12, fills=12)
    assert counts.steps == 3


@pytest.mark.parametrize(("multicast", "reads"), [(True, 5), (False, 9)])
def test_multicast_of_overlapping_halos(multicast: bool, reads: int) -> None:
    # Three instances hold windows 012 123 234: nine words, of which five are distinct.
    nest = """
        DRAM keeps I W O
        parallel P in 3 on array.x
          L1 keeps I
          for R in 3
    """
    arch = machine(array(3, multicast=multicast), memory("L1", keeps=MAY))
    counts = counted(conv1d(1, 3, 3), arch, nest)
    assert counts.total["DRAM", "I"] == Accesses(reads=reads)
    assert counts.total["L1", "I"] == Accesses(reads=9, writes=9, fills=9)


def test_ragged_edge_in_time() -> None:
    # Tiles of 2, 2 and 1 rows of A, each fetched anew for both columns n: 5 words twice.
    nest = """
        DRAM keeps A W O
        for N in 2
          for M in 3
            L1 keeps A
            for M in 2
    """
    counts = counted(gemm(5, 2, 1), machine(memory("L1", keeps=MAY)), nest)
    assert counts.total["DRAM", "A"] == Accesses(reads=10)
    assert counts.total["L1", "A"] == Accesses(reads=10, writes=10, fills=10)
    assert counts.steps == 10


def test_ragged_edge_in_space() -> None:
    # Instances 0 and 1 hold 2 rows of A, instance 2 holds one and idles in the second step of both n.
    nest = """
        DRAM keeps A W O
        parallel M in 3 on array.x
          L1 keeps A
          for N in 2
            for M in 2
    """
    counts = counted(gemm(5, 2, 1), machine(array(3), memory("L1", keeps=MAY)), nest)
    assert counts.total["DRAM", "A"] == Accesses(reads=5)
    assert counts.total["L1", "A"] == Accesses(reads=10, writes=5, fills=5)
    assert counts.busiest["L1", "A"] == Accesses(reads=4, writes=2, fills=2)
    assert counts.steps == 4


THREE_WAY = Problem(
    "three-way sum",
    (("P", 3), ("R", 3), ("S", 3)),
    (tensor("I", "input", {"P": 1, "R": 1, "S": 2}), tensor("W", "weight", "R", "S"), tensor("O", "output", "P")),
)
RAGGED_IS_BUSIER = """
    DRAM keeps I W O
    parallel R in 2 on array.x
      for P in 3
        L1 keeps I
        for S in 3
          for R in 2
"""


def test_a_ragged_instance_may_be_the_busiest() -> None:
    # Instance 0 has r = 0, 1 and a tile without gaps, 012345, of which one word is new when P steps: 6 + 1 + 1.
    # Instance 1 has r = 2 alone: 2 4 6, then 3 5 7 and 4 6 8, of which no word was there a step before: 3 + 3 + 3.
    mapping = Mapping(THREE_WAY, LoopNest.parse(RAGGED_IS_BUSIER))
    arch = machine(array(2), memory("L1", keeps=MAY))
    counts = simulate(mapping, arch)
    assert counts.total["L1", "I"].writes == 8 + 9
    assert counts.busiest["L1", "I"].writes == 9
    assert count_words(mapping, arch).total == counts.total


def test_closed_form_finds_a_busiest_instance_that_is_ragged() -> None:
    mapping = Mapping(THREE_WAY, LoopNest.parse(RAGGED_IS_BUSIER))
    arch = machine(array(2), memory("L1", keeps=MAY))
    assert count_words(mapping, arch).busiest == simulate(mapping, arch).busiest
