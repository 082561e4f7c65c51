"""The search on machines with lines against brute force: with stated layouts, and with open ones."""

from __future__ import annotations

import itertools
import math
import operator
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from lined_cases import banked, case_of, different_layouts, orders, stated

import brute_force
import longer
from tilewright.arch import Architecture, Memory, load_arch
from tilewright.cost_models import OBJECTIVES, evaluate, evaluate_open
from tilewright.ir import InfeasibleError, MappingError, Problem
from tilewright.mapper.exact.counting.line_ranks import lines_of_tiles, lines_of_windows
from tilewright.mapper.exact.search import search_exact
from tilewright.mapper.tilings import Tiling
from tilewright.workloads import gemm

SEEDS = 20
BLOCK = 5
MOST_MACHINES = 16
"""Ways to choose layouts for two tensors that it tries, else for one."""


def values(mappings: Iterator[tuple[object, Architecture]]) -> dict[object, float]:
    best = dict.fromkeys(OBJECTIVES, float("inf"))
    for mapping, arch in mappings:
        try:
            cost = evaluate(mapping, arch)  # type: ignore[arg-type]
        except MappingError:
            continue
        best = {objective: min(value, cost.objective(objective)) for objective, value in best.items()}
    return best


def searched(problem: Problem, arch: Architecture, objective: object, ragged: bool) -> float:
    tiling: Tiling = "ragged" if ragged else "perfect"
    try:
        mapping, cost, certificate = search_exact(problem, arch, objective, tiling)  # type: ignore[arg-type]
    except InfeasibleError:
        return float("inf")
    assert certificate.proven
    again, closed = evaluate_open(mapping, arch, objective)  # type: ignore[arg-type]
    assert again == cost == evaluate(mapping, closed)
    return certificate.value


@pytest.mark.parametrize("seeds", longer.blocks(SEEDS, BLOCK))
def test_optimum_with_stated_layouts(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    # Rules for ragged trips count in small problems too.
    monkeypatch.setattr("tilewright.mapper.exact.growing.preparing.has_few_tiles", lambda problem: False)
    for seed in seeds:
        (problem, arch, ragged), rng = case_of(seed), random.Random(seed)
        arch = stated(
            banked(rng, arch) if seed % 2 else arch,
            {(m.name, t.name): rng.choice(orders(problem, t.name)) for m in arch.memories for t in problem.tensors},
        )
        mappings = brute_force.all_mappings(problem, arch, ragged)
        expected = values((mapping, arch) for mapping in mappings)
        found = {objective: searched(problem, arch, objective, ragged) for objective in OBJECTIVES}
        assert found == pytest.approx(expected, rel=1e-9, abs=0), f"seed {seed}"


@pytest.mark.parametrize("seed", [291, 414])
def test_mappings_alike_in_words_may_differ_in_lines(seed: int) -> None:
    """Complete mappings with equal columns were taken to cost the same."""
    (problem, arch, ragged), rng = case_of(seed), random.Random(seed)
    layouts = {(m.name, t.name): rng.choice(orders(problem, t.name)) for m in arch.memories for t in problem.tensors}
    arch = stated(arch, layouts)
    expected = values((mapping, arch) for mapping in brute_force.all_mappings(problem, arch, ragged))
    assert searched(problem, arch, "latency", ragged) == pytest.approx(expected["latency"], rel=1e-9)


def test_optimum_with_the_time_of_first_tiles() -> None:
    for seed in longer.seeds(4):
        (problem, arch, ragged), rng = case_of(seed), random.Random(seed)
        layouts = {
            (m.name, t.name): rng.choice(orders(problem, t.name)) for m in arch.memories for t in problem.tensors
        }
        arch = stated(arch, layouts).model_copy(update={"latency": "with_fill"})
        expected = values((mapping, arch) for mapping in brute_force.all_mappings(problem, arch, ragged))
        assert searched(problem, arch, "latency", ragged) == pytest.approx(expected["latency"], rel=1e-9), seed


def test_a_layout_that_fills_all_lines_is_proven_without_a_long_search() -> None:
    """Its cost is that of packed words, below which there is none."""
    arch = load_arch("three_level", {"DRAM.line": "16 B"})
    problem, free = gemm(16, 32, 16), stated(arch, dict.fromkeys((("DRAM", t) for t in ("A", "W", "O")), "any"))
    _, packed_cost, _ = search_exact(problem, load_arch("three_level"), "energy")
    _, cost, certificate = search_exact(problem, free, "energy")
    assert certificate.proven
    assert certificate.evaluated == 1
    assert cost.energy_pj == packed_cost.energy_pj


@pytest.mark.some(2)
@pytest.mark.parametrize("seed", [2, 6, 14, 19, 20])
def test_optimum_where_a_layer_states_wide_sums(seed: int) -> None:
    """The outermost memory lays outputs out in their own width once they are finished, which the layer may state."""
    problem, arch, ragged = case_of(seed)
    tensors = tuple(replace(t, bits=8, partial_bits=32) if t.is_output else t for t in problem.tensors)
    problem = replace(problem, tensors=tensors)
    levels = [
        level.model_copy(update={"line_bits": max(32, level.line_bits)})
        if isinstance(level, Memory) and level.line_bits
        else level
        for level in arch.levels
    ]
    arch = arch.model_copy(update={"levels": tuple(levels)})
    expected = values((mapping, arch) for mapping in brute_force.all_mappings(problem, arch, ragged))
    found = {objective: searched(problem, arch, objective, ragged) for objective in OBJECTIVES}
    assert found == pytest.approx(expected, rel=1e-9, abs=0)


@pytest.mark.parametrize("seeds", longer.blocks(SEEDS // 2, BLOCK))
def test_optimum_with_open_layouts(seeds: range) -> None:
    """One or two tensors in one or two memories are left open; the oracle tries all orders of their ranks, with all
    blocks inside of them."""
    for seed in seeds:
        (problem, arch, ragged), rng = case_of(seed), random.Random(seed)
        arch = banked(rng, arch) if seed % 3 == 0 else arch
        memories = {m.name: m for m in arch.memories if m.line_bits}
        places = [(name, t.name) for name in memories for t in problem.tensors]
        chosen = rng.sample(places, min(len(places), rng.randint(1, 2)))
        options = [different_layouts(problem, arch, memories[name], tensor) for name, tensor in chosen]
        if math.prod(map(len, options)) > MOST_MACHINES:
            chosen, options = chosen[1:], options[1:]
        machines = [stated(arch, dict(zip(chosen, texts, strict=True))) for texts in itertools.product(*options)]
        mappings = brute_force.all_mappings(problem, arch, ragged)
        expected = values((mapping, machine) for mapping in mappings for machine in machines)
        free = stated(arch, dict.fromkeys(chosen, "any"))
        found = {objective: searched(problem, free, objective, ragged) for objective in OBJECTIVES}
        assert found == pytest.approx(expected, rel=1e-9, abs=0), f"seed {seed}"


@pytest.mark.parametrize("size", [1, 5, 12, 13])
def test_lines_of_tiles_are_those_of_a_walk(size: int) -> None:
    for coefficient, per_line in itertools.product((1, 2, 3), (1, 2, 3, 4, 16)):
        found = lines_of_tiles(size, coefficient, per_line)
        for tile in range(1, size + 1):
            starts = range(0, size, tile)
            lines = [{x * coefficient // per_line for x in range(s, min(s + tile, size))} for s in starts]
            assert found[tile] * size == pytest.approx(sum(map(len, lines)))


@pytest.mark.parametrize("sizes", [(1, 3), (5, 3), (6, 2), (7, 4)])
def test_lines_of_windows_are_those_of_a_walk(sizes: tuple[int, int]) -> None:
    """Windows of two dimensions, each taken whole, or sliding along one of them; ragged ones at the ends."""
    for steps, per_line in itertools.product(((1, 1), (2, 1), (1, 2), (2, 2)), (2, 3, 5, 16)):
        for tiles in itertools.product(*(range(1, size + 1) for size in sizes)):
            for slid, ends in [(None, tiles)] + [
                (i, tuple(end if d == i else t for d, t in enumerate(tiles)))
                for i in range(2)
                for end in range(2 * tiles[i], sizes[i] + tiles[i], tiles[i])
            ]:
                lines = words = 0
                for starts in itertools.product(*(range(0, n, t) for n, t in zip(sizes, tiles, strict=True))):
                    wanted = _window(sizes, steps, tiles, starts)
                    if slid is not None and starts[slid] % ends[slid]:
                        back = tuple(s - tiles[d] * (d == slid) for d, s in enumerate(starts))
                        wanted -= _window(sizes, steps, tiles, back)
                    words += len(wanted)
                    lines += len({word // per_line for word in wanted})
                (found,) = lines_of_windows(sizes, steps, False, tiles, ends, (per_line,))
                assert found * words <= lines * (1 + 1e-9), (steps, per_line, tiles, ends)
                if slid is None or (
                    1 in steps and min(tiles) >= max(steps) and not any(map(operator.mod, sizes, tiles))
                ):
                    assert found * words == pytest.approx(lines), (steps, per_line, tiles, ends)


def _window(
    sizes: tuple[int, ...], steps: tuple[int, ...], tiles: tuple[int, ...], starts: tuple[int, ...]
) -> set[int]:
    ranges = (range(s, min(s + t, n)) for n, t, s in zip(sizes, tiles, starts, strict=True))
    return {sum(map(math.prod, zip(steps, point, strict=True))) for point in itertools.product(*ranges)}
