"""Loops longer than the number of tiles asks for: where they pay, they are tried."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator

import numpy as np
import pytest

import brute_force
from generators import memory, random_problem, tensor
from longer import TIMES, blocks, occurs
from paths import context_of, random_uneven
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory, load_arch
from tilewright.cost_models import OBJECTIVES, count_words
from tilewright.cost_models.cost import tile_words
from tilewright.ir import Axis, Loop, LoopNest, Mapping, Problem, ceil_div
from tilewright.mapper.constraints import Constraints
from tilewright.mapper.exact.rows import Ints
from tilewright.mapper.exact.search import search_exact
from tilewright.mapper.exact.tiles.instances import spreadings
from tilewright.mapper.exact.tiles.trip_rules import trip_rules
from tilewright.workloads import gemm, load_network

MOST_MAPPINGS = 150
MOST_TRIED = 10_000 if TIMES == 1 else 1_000_000
"""Mappings of one case that brute force tries."""

# ---- optima ------------------------------------------------------------------------------------------------


def case_of(seed: int) -> tuple[Problem, Architecture]:
    """A few rows of A and one word of W fit the registers; W streams by in every round over M."""
    rng = random.Random(seed)
    size, instances = rng.choice([(9, 2), (9, 2), (11, 2), (13, 2), (13, 3), (19, 3)])
    largest = max(tile for tile in range(3, size) if (ceil_div(size, tile) - 1) % instances == 0)
    problem = gemm(size, rng.choice([5, 7]), rng.choice([1, 1, 2]))
    must = Keeps(input="must", weight="must", output="never")
    ports = {"shared_bits_per_cycle": float(rng.choice([8, 12]))} if rng.random() < 0.2 else {}
    energies = [{f"{way}_energy_pj": float(rng.choice([0, 1, 5])) for way in ("read", "write")} for _ in range(2)]
    levels: list[Memory | Fanout] = [
        memory("DRAM", **energies[0] | {"read_energy_pj": 10.0}, shared_bits_per_cycle=float(rng.choice([64, 1000]))),
        Fanout(name="array", axes=(ArrayAxis(size=instances, dims=("M",)),), multicast=rng.random() < 0.8),
        memory(
            "RF", keeps=must, halo="none", size_bits=8 * (largest + rng.choice([1, 1, 1, 2])), **energies[1], **ports
        ),
    ]
    if rng.random() < 0.2:
        levels.append(Fanout(name="inner", axes=(ArrayAxis(size=2),), multicast=True, spatial_reduction=True))
    arch = Architecture(name="lonely", clock_hz=1e9, word_bits=8, levels=tuple(levels), mac=Mac(energy_pj=0.0))
    return problem, arch


@pytest.mark.parametrize("seeds", blocks(24, 8))
def test_optimum_of_brute_force(seeds: range) -> None:
    for seed in seeds:
        problem, arch = case_of(seed)
        if brute_force.count(problem, arch, True, MOST_TRIED) >= MOST_TRIED:
            continue
        expected = brute_force.best(problem, arch, True, OBJECTIVES)
        for objective in OBJECTIVES:
            value = search_exact(problem, arch, objective, "ragged")[2].value
            assert value == pytest.approx(expected[objective], rel=1e-9), (seed, objective)


@pytest.mark.long
def test_a_layer_that_gains_by_longer_loops() -> None:
    """0.02 % less than the best mapping whose loops are as short as the number of tiles allows."""
    (layer,) = (layer for layer in load_network("resnet50").layers if layer.name == "layer2.0.conv2")
    value = search_exact(layer.problem, load_arch("eyeriss"), "edp", "ragged")[2].value
    assert value == pytest.approx(659864426769066.8, rel=1e-9)


@pytest.mark.long
def test_a_share_of_macs_at_work() -> None:
    """Of the mappings with so many MACs at work, the best has longer loops than its number of tiles asks for."""
    problem, arch = case_of(4)
    wanted = Constraints(min_utilization=0.9)
    expected = brute_force.best_of(brute_force.all_mappings(problem, arch, True), arch, OBJECTIVES, wanted)
    for objective in OBJECTIVES:
        value = search_exact(problem, arch, objective, "ragged", constraints=wanted)[2].value
        assert value == pytest.approx(expected[objective], rel=1e-9), objective


# ---- any mapping -------------------------------------------------------------------------------------------


def below_arrays(rng: random.Random, window: bool) -> tuple[Mapping, Architecture]:
    """A random ragged mapping of a long dimension, with memories below, between and above arrays."""

    def keeps() -> Keeps:
        return Keeps(**{role: rng.choice(["must", "must", "may"]) for role in ("input", "weight", "output")})

    levels: list[Memory | Fanout] = [memory("DRAM")]
    for i in range(rng.randint(1, 3)):
        levels.append(memory(f"L{i}", halo=rng.choice(["none", "none", "innermost"]), keeps=keeps()))
    for i in range(rng.randint(1, 3)):
        axes = tuple(ArrayAxis(size=rng.randint(2, 9)) for _ in range(rng.choice([1, 1, 2])))
        sharing = {"multicast": rng.random() < 0.6, "spatial_reduction": rng.random() < 0.5}
        levels.insert(rng.randint(1, len(levels)), Fanout(name=f"a{i}", axes=axes, **sharing))
    arch = Architecture(
        name="arrays",
        clock_hz=1e9,
        word_bits=8,
        levels=tuple(levels),
        mac=Mac(energy_pj=0.0),
        first_read_elision=rng.random() < 0.7,
    )
    problem = sliding_rows(rng) if window else one_long(rng) if rng.random() < 0.7 else random_problem(rng, 14)
    return random_uneven(rng, problem, arch, ragged=True), arch


def one_long(rng: random.Random) -> Problem:
    sizes = [rng.randint(5, 60), rng.randint(1, 3), rng.choice([1, 1, 2])]
    return gemm(*rng.sample(sizes, 3))


def sliding_rows(rng: random.Random) -> Problem:
    dims = {"K": rng.choice([1, 1, 2]), "P": rng.randint(4, 24), "R": rng.randint(2, 6)}
    window = {"P": rng.choice([1, 1, 1, 2]), "R": 1}
    tensors = (tensor("I", "input", window), tensor("W", "weight", "K", "R"), tensor("O", "output", "K", "P"))
    return Problem("rows", tuple(dims.items()), tensors)


def trips_of(mapping: Mapping, arch: Architecture) -> list[tuple[Loop, list[int], list[int]]]:
    """Per loop, from the inside out: itself, all trips that leave as many tiles, and those of them that are tried."""
    problem, loops = mapping.problem, mapping.nest.loops[::-1]
    context = context_of(problem, arch, "ragged", "uneven")
    left, found = dict(problem.sizes), []
    for i, loop in enumerate(loops):
        tiles, left[loop.dim] = left[loop.dim], ceil_div(left[loop.dim], loop.trips)
        as_many = [f for f in range(1, tiles + 1) if ceil_div(tiles, f) == left[loop.dim]]
        d = problem.dim_names.index(loop.dim)
        if loop.axis is None:
            inside, outside = (instances(problem, arch, part) for part in (loops[:i], loops[i + 1 :]))
            known = trip_rules(problem, inside, outside, 1, adjacent=False)[0, d]
            tried = context.trips(d, tiles, tiles, *known.tolist())
        else:
            size = next(f for f in arch.fanouts if f.name == loop.axis.fanout).axes[loop.axis.index].size
            as_many = [f for f in as_many if f <= size]
            tried = tuple(way.instances for way in spreadings(tiles, (size, 1), "ragged", context.reduced_spread[d]))
        found.append((loop, as_many, [f for f in as_many if f in tried]))
    return found


def instances(problem: Problem, arch: Architecture, loops: tuple[Loop, ...]) -> list[Ints]:
    """Per fanout, (1, dims) the instances of some loops."""
    found = [np.ones((1, len(problem.dims)), dtype=np.int64) for _ in arch.fanouts]
    names = [fanout.name for fanout in arch.fanouts]
    for loop in loops:
        if loop.axis is not None:
            found[names.index(loop.axis.fanout)][0, problem.dim_names.index(loop.dim)] *= loop.trips
    return found


def combined(mapping: Mapping, arch: Architecture, options: list[list[Loop]]) -> Iterator[Mapping]:
    """The mapping with every choice of loops, innermost first, that the axes have room for."""
    room = {Axis(f.name, i): axis.size for f in arch.fanouts for i, axis in enumerate(f.axes)}
    for chosen in itertools.product(*options):
        used = {axis: math.prod(loop.trips for loop in chosen if loop.axis == axis) for axis in room}
        if all(used[axis] <= size for axis, size in room.items()):
            loops = iter(chosen[::-1])
            items = [next(loops) if isinstance(item, Loop) else item for item in mapping.nest.items]
            yield Mapping(mapping.problem, LoopNest(tuple(items)))


def costs(mapping: Mapping, arch: Architecture) -> tuple[int, ...]:
    """All that a mapping's cost grows with: time steps, words moved in all and by the busiest instance, and tiles."""
    counts, tiles = count_words(mapping, arch), tile_words(mapping, arch.footprint)
    tables = [table[key] for table in (counts.total, counts.busiest) for key in sorted(table)]
    return (counts.steps, *(n for x in tables for n in (x.reads, x.writes)), *(tiles[key] for key in sorted(tiles)))


def compare(seed: int, window: bool) -> bool:
    """Whether there was anything to compare: of all mappings with as many tiles below every loop, none is better in
    anything than one of the trips tried that is as good in everything else."""
    mapping, arch = below_arrays(random.Random(seed), window)
    trips = trips_of(mapping, arch)
    every, tried = ([[Loop(x[0].dim, f, x[0].axis) for f in x[i]] for x in trips] for i in (1, 2))
    count = math.prod(map(len, every))
    if count == math.prod(map(len, tried)) or count > MOST_MAPPINGS:
        return False
    found = [costs(m, arch) for m in combined(mapping, arch, tried)]
    for other in combined(mapping, arch, every):
        wanted = costs(other, arch)
        assert any(all(a <= b for a, b in zip(c, wanted, strict=True)) for c in found), seed
    return True


@pytest.mark.some(1)
@pytest.mark.parametrize("window", [False, True])
@pytest.mark.parametrize("seeds", blocks(600, 150))
def test_no_other_trips_pay(seeds: range, window: bool) -> None:
    assert occurs(sum(compare(seed, window) for seed in seeds) > 10)


def test_numbers_of_instances_that_seldom_pay() -> None:
    """More than the rounds need, where loops outside deal out the last of three rounds, and where windows are shared:
    of these mappings one gets worse where they are not tried."""
    for seed in (5612, 7997, 9817, 11295):
        compare(seed, window=False)
    for seed in (967, 1267, 8445, 10381):
        compare(seed, window=True)
