"""Loops directly inside arrays of machines with lines outside them: moved out, they touch no more lines."""

from __future__ import annotations

import random

from generators import memory, tensor
from tilewright.arch import Architecture, ArrayAxis, Fanout, Halo, Mac, Memory
from tilewright.cost_models import evaluate
from tilewright.ir import Axis, Loop, LoopNest, Mapping, MappingError, Node, Problem, ceil_div
from tilewright.mapper.exact.arrays.blocks import may_lie_apart

SEEDS = range(470, 670)
"""Random cases, of most of which there is no pair of mappings; in two of them, a loop inside gains."""
MOST_INSTANCES = 8


def machine(line: int, halo: Halo, *between: Memory) -> Architecture:
    """Words of `line` to a line in the outermost memory, an array, and a memory inside it."""
    levels = (
        memory("DRAM", read_energy_pj=1.0, write_energy_pj=1.0, line_bits=8 * line),
        *between,
        Fanout(name="array", axes=(ArrayAxis(size=MOST_INSTANCES),)),
        memory("RF", read_energy_pj=0.0, write_energy_pj=0.0, size_bits=10**6, halo=halo),
    )
    return Architecture(name="lined", clock_hz=1e9, word_bits=8, levels=levels, mac=Mac(energy_pj=0.0))


def window(sizes: dict[str, int], steps: dict[str, int]) -> Problem:
    """One rank of two dimensions."""
    tensors = (tensor("I", "input", steps), tensor("W", "weight", "E"), tensor("O", "output", "D"))
    return Problem("window", tuple(sizes.items()), tensors)


def energy(problem: Problem, arch: Architecture, loops: list[Loop], at: int) -> float:
    """With all tiles of the memory inside the array below the first `at` loops."""
    nodes = [Node("DRAM", t.name) for t in problem.tensors], [Node("RF", t.name) for t in problem.tensors]
    nest = LoopNest((*nodes[0], *loops[:at], *nodes[1], *loops[at:]))
    return evaluate(Mapping(problem, nest), arch).energy_pj


def chain(rng: random.Random, size: int, count: int) -> list[int]:
    """Trips of some loops from the inside out, and of one more that leaves a single tile."""
    trips = []
    for _ in range(count):
        trips.append(rng.randint(1, min(size, 4)))
        size = ceil_div(size, trips[-1])
    return [*trips, size]


def test_a_loop_moved_out_touches_no_more_lines() -> None:
    """Of two dimensions of a rank, the outermost loop directly inside the array has one, and no block has the other: it
    gains only where coefficients are above the words of a line. Tiles slide along the other one, or do not."""
    gained = compared = 0
    for seed in SEEDS:
        rng = random.Random(seed)
        sizes, line, on = {"D": rng.randint(4, 24), "E": rng.randint(1, 9)}, rng.randint(1, 8), Axis("array")
        steps = {"D": rng.randint(1, 5), "E": rng.randint(1, 5)}
        (tile, trips, count, *others), (inner, along, *more) = chain(rng, sizes["D"], 4), chain(rng, sizes["E"], 3)
        is_spread = rng.random() < 0.4
        if trips < 2 or count < 2 or (is_spread and count * along > MOST_INSTANCES):
            continue
        slides = not is_spread and along > 1
        problem, arch = window(sizes, steps), machine(line, "innermost" if slides else "none")
        block, arrays = Loop("D", trips), [Loop("D", count, on), *([Loop("E", along, on)] if is_spread else [])]
        outside = [*(Loop("D", n) for n in others), *(Loop("E", n) for n in more)]
        rng.shuffle(outside)
        first = len(outside) + len(arrays) + 1 + (not is_spread)
        rest = [*([] if is_spread else [Loop("E", along)]), Loop("E", inner), Loop("D", tile)]
        try:
            blocked, moved = (
                energy(problem, arch, [*outside, *order, *rest], first)
                for order in ([*arrays, block], [block, *arrays])
            )
        except MappingError:  # loops that a ragged tile does not need
            continue
        compared += 1
        if may_lie_apart((steps["D"], steps["E"]), 0, line):
            gained += blocked < moved
        else:
            assert moved <= blocked, seed
    assert compared > len(SEEDS) / 5
    assert gained
