"""The oracle of the uneven space, compared with nests made the naive way."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

from brute_force import (
    all_mappings,
    canonical,
    chains,
    count,
    count_uneven,
    placements,
    regions_of,
    uneven_mappings,
)
from generators import memory, random_architecture, random_problem
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from tilewright.cost_models import evaluate
from tilewright.ir import Axis, Loop, LoopNest, Mapping, MappingError, Node, Problem
from tilewright.mapper.tilings import TILINGS, Tiling
from tilewright.workloads import gemm

Skeleton = list[Node | Axis | str]


def skeletons(problem: Problem, arch: Architecture) -> Iterator[Skeleton]:
    """Every order of the nodes of every placement, with "time" below every node, and axes in their places."""
    for placement in placements(problem, arch):
        keeping = {memory.name: names for memory, names in placement}
        top: Skeleton = [Node(arch.memories[0].name, t) for t in keeping[arch.memories[0].name]]
        orders = []
        for region in regions_of(arch):
            nodes = [Node(m.name, t) for m in region.memories for t in keeping.get(m.name, [])]
            depth = {m.name: i for i, m in enumerate(region.memories)}
            orders.append(
                [
                    [
                        *region.axes,
                        *itertools.chain(*((node, "time") for node in order)),
                    ]
                    for order in itertools.permutations(nodes)
                    if all(
                        a.tensor != b.tensor or depth[a.memory] < depth[b.memory]
                        for a, b in itertools.combinations(order, 2)
                    )
                ]
            )
        for chosen in itertools.product(*orders):
            yield [*top, "time", *itertools.chain(*chosen)]


def naive_nests(problem: Problem, arch: Architecture, ragged: bool) -> Iterator[LoopNest]:
    """Every nest of every skeleton, many of them the same mapping."""
    for skeleton in skeletons(problem, arch):
        slots = [i for i, part in enumerate(skeleton) if not isinstance(part, Node)]
        per_dim = [list(chains(size, len(slots), ragged)) for _, size in problem.dims]
        for chosen in itertools.product(*per_dim):
            ways: list[list[tuple[Loop | Node, ...]]] = []
            for i, part in enumerate(skeleton):
                if isinstance(part, Node):
                    ways.append([(part,)])
                    continue
                axis = part if isinstance(part, Axis) else None
                trips = [chain[::-1][slots.index(i)] for chain in chosen]
                loops = [Loop(d, t, axis) for d, t in zip(problem.dim_names, trips, strict=True) if t > 1]
                ways.append([tuple(loops)] if axis else list(itertools.permutations(loops)))
            yield from (LoopNest(tuple(itertools.chain(*nest))) for nest in itertools.product(*ways))


def is_legal(mapping: Mapping, arch: Architecture) -> bool:
    """Whether the cost model accepts it on a machine whose memories are large enough."""
    roomy = [
        level.model_copy(update={"size_bits": None, "partition_bits": {}}) if level in arch.memories else level
        for level in arch.levels
    ]
    try:
        evaluate(mapping, arch.model_copy(update={"levels": tuple(roomy)}))
    except MappingError:
        return False
    return True


def small_pairs(seeds: range, most: int) -> Iterator[tuple[Problem, Architecture, bool]]:
    """Pairs whose uneven spaces have at most so many mappings."""
    for seed in seeds:
        rng = random.Random(seed)
        problem = random_problem(rng, 3)
        arch = random_architecture(rng, memories=rng.randint(0, 2))
        ragged = rng.random() < 0.5
        if count(problem, arch, ragged, most) < most and count_uneven(problem, arch, TILINGS[ragged], most) < most:
            yield problem, arch, ragged


@pytest.mark.long
def test_every_uneven_mapping_is_legal_and_the_even_ones_are_among_them() -> None:
    pairs = larger = 0
    for problem, arch, ragged in small_pairs(range(110), 400):
        mappings = list(uneven_mappings(problem, arch, TILINGS[ragged]))
        assert all(is_legal(m, arch) for m in mappings)
        uneven = {canonical(m.nest) for m in mappings}
        assert len(uneven) == len(mappings) == count_uneven(problem, arch, TILINGS[ragged])
        even = {canonical(m.nest) for m in all_mappings(problem, arch, ragged) if is_legal(m, arch)}
        assert even <= uneven
        pairs += 1
        larger += even != uneven
    assert pairs > 15
    assert larger > 5


MAY = Keeps(input="may", weight="may", output="may")
ARRAY = Fanout(name="array", axes=(ArrayAxis(size=2), ArrayAxis(size=2, dims=("M",))))
TINY = [
    (gemm(1, 3, 1), (memory("L1", keeps=MAY), memory("L2", keeps=Keeps(weight="never", output="may")))),
    (gemm(4, 1, 1), (memory("L1", keeps=Keeps(input="may", output="never")), ARRAY, memory("L2"))),
    (gemm(2, 1, 2), (ARRAY, memory("L1", keeps=MAY))),
    (gemm(2, 2, 2), (memory("L1", keeps=Keeps(output="may")),)),
    (gemm(2, 1, 2), (memory("L1", keeps=Keeps(output="may")), memory("L2", keeps=Keeps(input="never")))),
]


@pytest.mark.some(3)
@pytest.mark.parametrize("tiling", TILINGS)
@pytest.mark.parametrize(("problem", "levels"), TINY)
def test_equals_the_naive_space(problem: Problem, levels: tuple[Memory | Fanout, ...], tiling: Tiling) -> None:
    """Every nest, the same mapping many times over, falls together with what the oracle lists."""
    arch = Architecture(
        name="tiny", clock_hz=1e9, word_bits=8, levels=(memory("DRAM"), *levels), mac=Mac(energy_pj=1.0)
    )
    naive = {canonical(nest): nest for nest in naive_nests(problem, arch, tiling == "ragged")}
    legal = {key for key, nest in naive.items() if is_legal(Mapping(problem, nest), arch)}
    assert legal == {canonical(m.nest) for m in uneven_mappings(problem, arch, tiling)}
