"""`footprint: box` counts the elements between those that a tile touches, `first_read_elision: false` the first reads
of partial sums; in the closed form, the simulator and the numpy program alike."""

from __future__ import annotations

import random

import pytest

import longer
from generators import memory, random_architecture, random_mapping, random_problem, tensor
from tilewright.arch import Architecture, Footprint, Keeps, Mac
from tilewright.cost_models import count_words, evaluate, simulate
from tilewright.cost_models.sets import distinct_sums
from tilewright.ir import LoopNest, Mapping, MappingError, Problem
from tilewright.mapper.emit import verify_numpy

MAY = Keeps(input="may", weight="may", output="may")
STRIDED = Problem(
    "strided",
    (("P", 4), ("C", 2)),
    (tensor("I", "input", "C", {"P": 2}), tensor("W", "weight", "C"), tensor("O", "output", "P")),
)
"""A stride with nothing to fill its gaps: one dimension in its rank."""


def has_gaps(problem: Problem) -> bool:
    return any(c > 1 for t in problem.operands for rank in t.ranks for _, c in rank)


def random_triple(seed: int) -> tuple[Mapping, Architecture]:
    """A random mapping of a layer with strides or dilations, on a machine whose tiles are boxes."""
    rng = random.Random(seed)
    while True:
        problem = STRIDED if rng.random() < 0.15 else random_problem(rng)
        if has_gaps(problem):
            arch = random_architecture(rng, reuse=rng.choice(["across_levels", "at_node"]))
            mapping = random_mapping(rng, problem, arch, ragged=rng.random() < 0.7)
            switches = {"first_read_elision": rng.random() < 0.5, "inner_drain_read": rng.random() < 0.5}
            return mapping, with_footprint(arch.model_copy(update=switches), "box")


def with_footprint(arch: Architecture, footprint: Footprint) -> Architecture:
    return arch.model_copy(update={"footprint": footprint})


@pytest.mark.parametrize("seeds", longer.blocks(360, 60))
def test_closed_form_equals_simulator(seeds: range) -> None:
    different = 0
    for seed in seeds:
        mapping, arch = random_triple(seed)
        expected, found = simulate(mapping, arch), count_words(mapping, arch)
        assert found == expected, f"seed {seed}\n{mapping}"
        different += found != count_words(mapping, with_footprint(arch, "exact"))
    assert longer.occurs(different >= 10)


def test_numpy_program_moves_boxes() -> None:
    different = 0
    for seed in range(12):
        mapping, arch = random_triple(seed)
        try:
            different += count_words(mapping, arch) != count_words(mapping, with_footprint(arch, "exact"))
            assert verify_numpy(mapping, arch), f"seed {seed}\n{mapping}"
        except MappingError:
            continue
    assert different >= 3


@pytest.mark.parametrize(("footprint", "tile", "fills"), [("exact", 2 * 4, 2 * 4), ("box", 2 * 7, 2 * 7)])
def test_a_stride_without_a_window(footprint: Footprint, tile: int, fills: int) -> None:
    """Four outputs at stride 2 lie on seven inputs, of which four are used."""
    arch = Architecture(
        name="machine",
        clock_hz=1e9,
        word_bits=8,
        footprint=footprint,
        levels=(memory("DRAM"), memory("L1", keeps=MAY)),
        mac=Mac(energy_pj=0.0),
    )
    mapping = Mapping(STRIDED, LoopNest.parse("DRAM keeps I W O\nL1 keeps I\nfor C in 2\nfor P in 4"))
    (held,) = (t for t in evaluate(mapping, arch).traffic if (t.memory, t.tensor) == ("L1", "I"))
    assert (held.tile_words, held.writes) == (tile, fills)


@pytest.mark.parametrize("elided", [True, False])
def test_first_reads_of_partial_sums(elided: bool) -> None:
    """Two visits of each of four sums, three updates in each; the first of either is read only if asked."""
    problem = Problem(
        "product",
        (("M", 4), ("K", 6)),
        (tensor("A", "input", "M", "K"), tensor("W", "weight", "K"), tensor("O", "output", "M")),
    )
    arch = Architecture(
        name="machine",
        clock_hz=1e9,
        word_bits=8,
        first_read_elision=elided,
        levels=(memory("DRAM"), memory("L1", keeps=MAY)),
        mac=Mac(energy_pj=0.0),
    )
    nest = LoopNest.parse("DRAM keeps A W O\nfor K in 2\nfor M in 4\nL1 keeps O\nfor K in 3")
    counts = count_words(Mapping(problem, nest), arch)
    first = 0 if elided else 4
    assert counts == simulate(Mapping(problem, nest), arch)
    assert (counts.total["DRAM", "O"].reads, counts.total["DRAM", "O"].writes) == (4 + first, 8)
    # 24 updates, 8 drains, and 4 visits after the first.
    assert (counts.total["L1", "O"].reads, counts.total["L1", "O"].writes) == (20 + first + 8, 24 + 4 + first)


def test_boxes_of_familiar_windows() -> None:
    assert distinct_sums((2, 1), (28, 1), "box") == 55, "1 + 2 * 27: a 1x1 window at stride 2, gaps included"
    assert distinct_sums((1, 2), (4, 3), "box") == distinct_sums((1, 2), (4, 3)) == 8, "no gaps to count"
