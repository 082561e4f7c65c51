from __future__ import annotations

import random

import numpy as np

from generators import PROBLEM_KINDS, memory, random_problem, tensor
from tilewright.arch import Architecture, Mac, load_arch
from tilewright.cost_models.cost import check_fit, tensor_tile_words
from tilewright.ir import Loop, LoopNest, Mapping, MappingError, Node, Problem, ceil_div
from tilewright.mapper.exact.counting.footprints import Footprints
from tilewright.mapper.exact.question.hierarchy import Hierarchy, NodeGroup
from tilewright.workloads import conv2d

DRAM_ONLY = Architecture(name="memory", clock_hz=1e9, word_bits=8, levels=(memory("DRAM"),), mac=Mac(energy_pj=1.0))


def footprints_of(problem: Problem, arch: Architecture = DRAM_ONLY) -> Footprints:
    return Footprints(Hierarchy(problem, arch))


def test_words_of_tiles() -> None:
    kinds = set()
    for seed in range(150):
        rng = random.Random(seed)
        problem = random_problem(rng)
        kinds.add(problem.name)
        tiles = np.array([[rng.randint(1, size) for _, size in problem.dims] for _ in range(20)])
        model = footprints_of(problem)
        for t in problem.tensors:
            expected = [tensor_tile_words(t, dict(zip(problem.dim_names, row, strict=True))) for row in tiles.tolist()]
            assert model.tile_words(t, tiles).tolist() == expected
    assert kinds == set(PROBLEM_KINDS)


def test_words_of_a_strided_window() -> None:
    """Stride 3 and two filter columns leave holes: 2 of every 3 columns."""
    strided = Problem(
        "strided",
        (("P", 4), ("R", 2)),
        (tensor("I", "input", {"P": 3, "R": 1}), tensor("W", "weight", "R"), tensor("O", "output", "P")),
    )
    tiles = np.array([[1, 1], [1, 2], [4, 1], [4, 2]])
    assert footprints_of(strided).tile_words(strided.tensors[0], tiles).tolist() == [1, 2, 4, 8]


def test_tiles_that_fit() -> None:
    """Private parts, as in the cost model: what fits is what `check_fit` lets pass."""
    problem, arch = conv2d(K=8, C=6, P=5, Q=4, R=3, S=3), load_arch("eyeriss")
    footprints, rng = footprints_of(problem, arch), random.Random(3)
    tiles = [[rng.randint(1, size) for _, size in problem.dims] for _ in range(300)]
    nodes = [Node(m.name, t.name) for m in arch.memories for t in problem.tensors if m.keeps[t.role] != "never"]

    def fits(tile: list[int]) -> bool:
        outside = [Loop(d, n) for (d, s), t in zip(problem.dims, tile, strict=True) if (n := ceil_div(s, t)) > 1]
        inside = [Loop(d, t) for d, t in zip(problem.dim_names, tile, strict=True) if t > 1]
        kept_outside = [node for node in nodes if node.memory != "spad"]
        kept_inside = [node for node in nodes if node.memory == "spad"]
        nest = LoopNest((*kept_outside, *outside, *kept_inside, *inside))
        try:
            check_fit(Mapping(problem, nest), arch)
        except MappingError:
            return False
        return True

    expected = [fits(tile) for tile in tiles]
    assert 20 < sum(expected) < 280
    names = [m.name for m in footprints.hierarchy.memories]
    residents = [t for t, x in enumerate(problem.tensors) if Node("spad", x.name) in nodes]
    held = [(t, np.array(tiles)) for t in residents]
    assert footprints.fits(names.index("spad"), held).tolist() == expected


def test_the_largest_tile_along_each_dimension() -> None:
    """The largest of all sizes for which some node group leaves room."""
    for seed in range(60):
        rng = random.Random(seed)
        problem, size_bits = random_problem(rng, 9), 8 * rng.randint(3, 12)
        levels = (memory("DRAM"), memory("L1", size_bits=size_bits), memory("L0", size_bits=size_bits // 2))
        arch = Architecture(name="small", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=0.0))
        model, residents = footprints_of(problem, arch), tuple(range(len(problem.tensors)))
        ways = tuple((NodeGroup(m, (t,)), rng.choice([residents, (t,)])) for m in (0, 1) for t in residents[:2])
        for d, (_, size) in enumerate(problem.dims):
            tiles = np.ones((size, len(problem.dims)), dtype=np.int64)
            tiles[:, d] = np.arange(1, size + 1)
            fits = np.any([model.leaves_room(held, node_group, [], tiles) for node_group, held in ways], axis=0)
            assert model.largest(ways)[d] == max((n for n, fine in enumerate(fits.tolist(), 1) if fine), default=1)


def test_words_of_few_tiles_of_a_long_window() -> None:
    """A table of all 10^14 tiles would take no search with it that ends."""
    problem = conv2d(K=1, C=1, P=10**8, Q=1, R=10**6, S=1)
    (row,) = [t for t in problem.tensors if t.role == "input"]
    names = problem.dim_names
    tiles = [[{"P": p, "R": r}.get(dim, 1) for dim in names] for p, r in [(1, 1), (5, 3), (10**8, 10**6)]]
    assert footprints_of(problem).tile_words(row, np.array(tiles)).tolist() == [1, 7, 10**8 + 10**6 - 1]
