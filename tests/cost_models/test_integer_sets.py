"""Footprints and deltas by integer sets, against sets written out and against the closed forms."""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from functools import cache

import islpy as isl
import pytest

import longer
from generators import random_architecture, random_mapping, random_problem, tensor
from tilewright.arch import Architecture, Halo, Memory
from tilewright.cost_models import Accesses, AccessTable, count_words
from tilewright.cost_models.boundaries import Boundary, boundaries_of
from tilewright.cost_models.cost import tile_words
from tilewright.cost_models.integer_sets import Schedule, count, fresh, loop_at, loops_above, serving_loops
from tilewright.cost_models.sets import Move, moved_along_rank
from tilewright.ir import Digit, LoopNest, Mapping, Node, Problem, Rank, TilewrightError
from tilewright.workloads import conv2d, gemm

SEEDS = 60


@cache
def random_triple(seed: int) -> tuple[Mapping, Architecture]:
    """A random mapping and its machine; with odd seeds, one where the halo that memories keep makes a difference."""
    rng = random.Random(seed)
    while True:
        problem = random_problem(rng, 4)
        slides = any(len(rank) > 1 for operand in problem.operands for rank in operand.ranks)
        if problem.macs > 600 or (seed % 2 and not slides):
            continue
        arch = random_architecture(rng, reuse=rng.choice(["across_levels", "at_node"]))
        mapping = random_mapping(rng, problem, arch, ragged=rng.random() < 0.7)
        if len(mapping.nest.loops) > 12:
            continue
        if seed % 2 == 0 or with_halo(mapping, arch, "none") != count_words(mapping, arch).total:
            return mapping, arch


def with_halo(mapping: Mapping, arch: Architecture, halo: Halo) -> AccessTable:
    """What would be counted if all memories kept so much of a tile that slides."""
    levels = [x.model_copy(update={"halo": halo}) if isinstance(x, Memory) else x for x in arch.levels]
    return count_words(mapping, arch.model_copy(update={"levels": tuple(levels)})).total


@pytest.mark.long
def test_the_random_mappings_tell_halos_apart() -> None:
    """Each mode counts otherwise than each other one, often enough."""
    differing = Counter(
        (one, other)
        for mapping, arch in map(random_triple, range(SEEDS))
        for one, other in itertools.combinations(("none", "innermost", "exact"), 2)
        if with_halo(mapping, arch, one) != with_halo(mapping, arch, other)
    )
    assert min(differing.values()) >= SEEDS // 10, differing
    assert len(differing) == 3


# ---- the closed forms ------------------------------------------------------------------------------------------


class Words:
    """Words that cross the boundaries of a mapping, by sets and the rules of docs/cost-model.md."""

    def __init__(self, mapping: Mapping, arch: Architecture) -> None:
        self.arch, self.nest = arch, mapping.nest
        self.schedule = Schedule.of(mapping.problem, mapping.nest)
        self.found: dict[tuple[str, str], Accesses] = defaultdict(Accesses)
        for boundary in boundaries_of(mapping, arch):
            (self.partial_sums if boundary.tensor.is_output else self.operand)(boundary)

    def moved(self, boundary: Boundary, halo: str, joined: frozenset[int]) -> int:
        """Words given over the whole run, to instances that differ along `joined` loops only once."""
        time = serving_loops(self.nest, self.arch, boundary)
        space = loops_above(self.nest, boundary.inner_position)[1]
        tiles = self.schedule.tiles(boundary.tensor.ranks, boundary.inner_position, time, space)
        if halo == "exact":
            tiles = fresh(tiles, len(time))
        elif halo == "innermost" and time and loop_at(self.nest, time[-1]).dim in boundary.tensor.dims:
            steps = tiles.domain().lower_bound_val(isl.dim_type.set, len(time) - 1, 1)
            tiles = tiles.subtract_domain(steps).union(fresh(tiles, len(time)).intersect_domain(steps))
        return words(tiles, [len(time) + i for i, loop in enumerate(space) if loop in joined])

    def operand(self, boundary: Boundary) -> None:
        halo = boundary.inner.halo if boundary.inner else "none"
        name = boundary.tensor.name
        self.found[boundary.outer.name, name].reads += self.moved(boundary, halo, boundary.multicast)
        if boundary.inner:
            self.found[boundary.inner.name, name].writes += self.moved(boundary, halo, frozenset())

    def partial_sums(self, boundary: Boundary) -> None:
        name = boundary.tensor.name
        arrivals = self.moved(boundary, "none", boundary.reduced)
        outer = self.found[boundary.outer.name, name]
        outer.writes += arrivals
        outer.reads += arrivals - self.distinct(boundary, boundary.outer_position)
        if boundary.inner:
            visits = self.moved(boundary, "none", frozenset())
            inner = self.found[boundary.inner.name, name]
            inner.reads += visits
            inner.writes += visits - self.distinct(boundary, boundary.inner_position)

    def distinct(self, boundary: Boundary, position: int) -> int:
        """Words that the instances at a node ever hold, each instance on its own."""
        time, space = loops_above(self.nest, position)
        tiles = self.schedule.tiles(boundary.tensor.ranks, position, time, space)
        return words(tiles, list(range(len(time))))


def words(tiles: isl.Map, joined: list[int]) -> int:
    """Pairs of a relation, after the joined loops are projected out of its domain."""
    for axis in reversed(joined):
        tiles = tiles.project_out(isl.dim_type.in_, axis, 1)
    return int(tiles.wrap().flatten().count_val().to_python())


@pytest.mark.parametrize("seeds", longer.blocks(SEEDS, 15))
def test_closed_forms_equal_sets(seeds: range) -> None:
    """First tiles and all that follow, in every halo mode, shared and reduced."""
    for seed in seeds:
        mapping, arch = random_triple(seed)
        expected = count_words(mapping, arch).total
        found = Words(mapping, arch).found
        for key, accesses in expected.items():
            assert (found[key].reads, found[key].writes) == (accesses.reads, accesses.writes), (
                f"seed {seed}, {key}\n{mapping}"
            )


def test_first_tiles_equal_the_cost_model() -> None:
    for seed in longer.seeds(40):
        mapping, _ = random_triple(seed)
        schedule, expected = Schedule.of(mapping.problem, mapping.nest), tile_words(mapping, "exact")
        for position, item in enumerate(mapping.nest):
            if isinstance(item, Node):
                tiles = schedule.tiles(mapping.problem.tensor(item.tensor).ranks, position, [], [])
                assert count(tiles.range()) == expected[item.memory, item.tensor], f"seed {seed}, {item}\n{mapping}"


@pytest.mark.parametrize("seed", longer.seeds(30))
def test_next_tile_along_a_rank(seed: int) -> None:
    """One move of one window: what is new by sets is what is wanted and not held by the closed form."""
    rng = random.Random(seed)
    dims = tuple((name, rng.randint(1, 3)) for name in ("P", "R", "S")[: rng.randint(1, 3)])
    moves = [Move(0, rng.randint(1, 6), rng.randint(-6, 6), rng.randint(1, 6)) for _ in dims]
    new, old = isl.Set(window(dims, moves, False)), isl.Set(window(dims, moves, True))
    expected = moved_along_rank(tuple(c for _, c in dims), tuple((move,) for move in moves))
    if len(dims) == 1 and moves[0].shift % moves[0].extent:
        return  # the closed form of a single dimension is told of whole tiles only
    held = count(new.intersect(old)) if len(dims) > 1 or not moves[0].shift else 0
    assert (count(new), held) == expected


def window(dims: Rank, moves: list[Move], old: bool) -> str:
    ranges = []
    for (name, _), move in zip(dims, moves, strict=True):
        start, extent = (move.offset - move.shift, move.old_extent) if old else (move.offset, move.extent)
        ranges.append(f"{start} <= {name} < {start + extent}")
    names = ", ".join(name for name, _ in dims)
    total = " + ".join(f"{c}*{name}" for name, c in dims)
    return f"{{ [x] : exists {names} : x = {total} and {' and '.join(ranges)} }}"


# ---- beyond what a problem can say -----------------------------------------------------------------------------

DIAGONAL: tuple[Rank, ...] = ((("I", 1), ("J", 2)), (("I", 3), ("K", 1)), (("J", 1),))
"""A[i + 2j, 3i + k, j]: dimensions in more than one rank, so the footprint is no product of its axes."""


@pytest.mark.parametrize("ranks", [DIAGONAL, DIAGONAL[:2], DIAGONAL[:1], ((("I", 1),), (("I", 1),))])
def test_footprints_and_deltas_of_general_affine_tensors(ranks: tuple[Rank, ...]) -> None:
    digits = {"I": (Digit(0, 3, 2, False), Digit(3, 2, 1, False)), "J": (Digit(4, 4, 1, False),)}
    schedule = Schedule(sized_ijk(6, 4, 6), {**digits, "K": (Digit(1, 2, 3, False), Digit(5, 3, 1, False))})
    tiles = schedule.tiles(ranks, 2, [0, 1], [])
    held = {
        (i, k): written_out(ranks, range(2 * i, 2 * i + 2), range(4), range(3 * k, 3 * k + 3))
        for i, k in itertools.product(range(3), range(2))
    }
    assert words(tiles, []) == sum(map(len, held.values()))
    assert count(tiles.range()) == len(set().union(*held.values()))
    order = sorted(held)
    new = [len(held[order[0]])] + [len(held[b] - held[a]) for a, b in itertools.pairwise(order)]
    assert words(fresh(tiles, 2), []) == sum(new)


def sized_ijk(i: int, j: int, k: int) -> Problem:
    operands = (tensor("A", "input", "I", "K"), tensor("W", "weight", "K", "J"))
    return Problem("sizes", (("I", i), ("J", j), ("K", k)), (*operands, tensor("O", "output", "I", "J")))


def written_out(ranks: tuple[Rank, ...], i: range, j: range, k: range) -> set[tuple[int, ...]]:
    points = ({"I": a, "J": b, "K": c} for a, b, c in itertools.product(i, j, k))
    return {tuple(sum(c * point[dim] for dim, c in rank) for rank in ranks) for point in points}


def test_large_sets_are_counted_axis_by_axis() -> None:
    layer = conv2d(K=512, C=512, P=112, Q=112, R=3, S=3)
    every = Schedule(layer, {dim: (Digit(i, n, 1, False),) for i, (dim, n) in enumerate(layer.dims)})
    assert count(every.points) == layer.macs
    assert count(every.access(layer.tensor("I").ranks).intersect_domain(every.points).range()) == 512 * 114 * 114


def test_without_islpy_the_hint_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.ir.errors.find_spec", lambda name: None)
    with pytest.raises(TilewrightError, match=r"islpy is not installed\nhint: pip install 'tilewright\[sets\]'"):
        Schedule.of(layer := gemm(1, 1, 1), LoopNest(tuple(Node("DRAM", t.name) for t in layer.tensors)))
