"""What uneven visits cost, visit by visit in the cost model, against what is said of as many even ones."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from longer import blocks, occurs
from tilewright.arch import Architecture, load_arch
from tilewright.cost_models import Cost
from tilewright.cost_models.cascades.visit_cost import visit_cost
from tilewright.ir import Axis, Loop, LoopNest, Mapping, MappingError, Node, Operation, Problem
from tilewright.mapper.cascades.relaxations.uneven_shares import UnevenShare, finer_shares, single_shares, uneven_shares
from tilewright.mapper.cascades.terms.branch import BranchQuestion
from tilewright.mapper.cascades.terms.upper_memories import UpperMemories
from tilewright.mapper.cascades.terms.windowed import Uneven, _uneven, covering
from tilewright.workloads import cascade

MACHINE = """
name: side
clock: 1 GHz
word: 8 bit
levels:
  - {{memory: DRAM, access: 8 bit, read: 100 pJ, write: 100 pJ, bandwidth: {dram} words/cycle}}
  - {{memory: GLB, size: 4096 B, access: 8 bit, read: {glb} pJ, write: 7 pJ, keep: may, bandwidth: {port} words/cycle}}
  - {{fanout: outer, x: {outer}, y: {side}}}
  - {{memory: SPM, size: {spm} B, access: 8 bit, read: 3 pJ, write: {write} pJ, keep: may}}
  - {{fanout: inner, x: {inner}}}
  - {{memory: RF, size: 16 B, access: 8 bit, read: 1 pJ, write: 2 pJ, keep: may, bandwidth: 4 words/cycle}}
mac: {{energy: 0.5 pJ}}
"""

OPERATIONS = ("T[k,y] += X[c,y] * A[k,c]", "T[k,y] += X[k,y+r] * A[k,r]", "T[k,y] += X[c,y+r] * A[k,c,r]")


def machine_of(rng: random.Random, folder: Path) -> Architecture:
    figures = {"dram": rng.choice((0.5, 4)), "glb": rng.choice((2, 20)), "port": rng.choice((0.5, 2, 16))}
    figures |= {
        "outer": rng.choice((1, 2)),
        "side": rng.choice((1, 2)),
        "inner": rng.choice((2, 4)),
        "spm": rng.choice((8, 64)),
    }
    path = folder / "side.yaml"
    path.write_text(MACHINE.format(**figures, write=rng.choice((1, 30))))
    return load_arch(str(path))


def made_by(rng: random.Random, step: int) -> list[int]:
    """Positions of every visit: mostly those of an even one, as many as that in the mean or fewer, perhaps."""
    every = [step] * rng.randint(1, 4)
    every += [rng.randint(0, 2 * step) for _ in range(rng.randint(1, 3))]
    return every


def split(rng: random.Random, size: int, parts: int) -> list[int]:
    """Numbers whose product is a size."""
    found, left = [1] * parts, size
    while left > 1:
        factor = next(n for n in range(2, left + 1) if left % n == 0)
        found[rng.randrange(parts)] *= factor
        left //= factor
    return found


def nest_of(rng: random.Random, operation: Operation, arch: Architecture, homes: dict[str, str]) -> list[Loop | Node]:
    """Loops and nodes of one visit, below those of the homes."""
    bands: list[list[Loop | Node]] = [[], [], []]
    arrays: list[list[Loop]] = [[], []]
    for dim, size in operation.problem.dims:
        is_side_by_side = dim == "Y" and rng.random() < 0.7
        *temporal, x, y, inside = [1, 1, 1, *split(rng, size, 3)] if is_side_by_side else split(rng, size, 6)
        for band, trips in zip(bands, temporal, strict=True):
            band.extend([Loop(dim, trips)] if trips > 1 else [])
        arrays[0].extend(Loop(dim, n, Axis("outer", axis)) for axis, n in enumerate((x, y)) if n > 1)
        arrays[1].extend([Loop(dim, inside, Axis("inner", 0))] if inside > 1 else [])
    for memory, band in zip(("GLB", "SPM", "RF"), bands, strict=True):
        kept = [t.name for t in operation.problem.tensors if homes[t.name] != memory and rng.random() < 0.3]
        rng.shuffle(band)
        if memory == "GLB":
            for tensor in kept:
                band.insert(rng.randint(0, len(band)), Node(memory, tensor))
        else:
            band[:0] = [Node(memory, tensor) for tensor in kept]
    return [*bands[0], *arrays[0], *bands[1], *arrays[1], *bands[2]]


def cost_of(problem: Problem, items: Sequence[Loop | Node], arch: Architecture, homes: dict[str, str]) -> Cost:
    nodes = [Node(home, tensor) for tensor, home in homes.items()]
    return visit_cost(Mapping(problem, LoopNest((*nodes, *items))), arch, 1, {}, len(nodes))


def resized(problem: Problem, size: int) -> Problem:
    return replace(problem, dims=tuple((dim, size if dim == "Y" else n) for dim, n in problem.dims))


def shares_with(
    items: Sequence[Loop | Node], uneven: Uneven, operation: Operation, homes: dict[str, str], arch: Architecture
) -> list[list[UnevenShare]]:
    """Those that say something of a mapping, each with the finer ones."""
    trips = {
        (name, axis, "Y"): math.prod(
            item.trips for item in items if isinstance(item, Loop) and item.dim == "Y" and item.axis == Axis(name, axis)
        )
        for name, axis in (("outer", 0), ("outer", 1), ("inner", 0))
    }
    kept = {(item.memory, item.tensor) for item in items if isinstance(item, Node)}
    sizes, memories = operation.problem.dims, UpperMemories(arch)
    asked = BranchQuestion(operation.name, sizes, tuple(homes.items()), memories.room)
    found = []
    for one in uneven_shares(uneven, operation, sizes, memories):
        if all(least <= trips[slot] <= most for slot, least, most in one.beside):
            every = [one, *finer_shares(one, uneven, asked, operation, memories)]
            found.append([each for each in every if all(((m, t) in kept) == keeps for m, t, keeps in each.keeps)])
    return found


def wide_and_slow(
    one: UnevenShare, operation: Operation, items: Sequence[Loop | Node], arch: Architecture, homes: dict[str, str]
) -> Cost:
    """What an even visit costs with words as wide, and units as slow, as a share says."""
    times = dict(one.wider)
    tensors = tuple(replace(t, bits=8 * times[t.name]) if t.name in times else t for t in operation.problem.tensors)
    mac = arch.mac.model_copy(update={"per_cycle": arch.mac.per_cycle / one.slower})
    problem = replace(operation.problem, tensors=tensors)
    return cost_of(problem, items, arch.model_copy(update={"mac": mac}), homes)


def cycles_of(cost: Cost, memory: str) -> float:
    """Cycles of the only port of a memory."""
    return next(use.cycles for use in cost.memories if use.name == memory)


@pytest.mark.parametrize("seeds", blocks(2000, 500))
def test_uneven_visits_take_what_is_said_or_more(seeds: range, tmp_path: Path) -> None:
    compared = finer = wider = 0
    for seed in seeds:
        rng = random.Random(seed)
        arch, step, statement = machine_of(rng, tmp_path), rng.choice((1, 2, 3, 4, 6)), rng.choice(OPERATIONS)
        sizes = {"k": rng.randint(1, 8), "c": rng.randint(1, 8), "r": rng.choice((1, 3)), "y": step}
        (operation,) = cascade([statement], {name: size for name, size in sizes.items() if name in statement})
        homes = {tensor.name: rng.choice(("DRAM", "GLB")) for tensor in operation.problem.tensors}
        made, items = made_by(rng, step), nest_of(rng, operation, arch, homes)
        uneven = _uneven("Y", step, made, 1)
        nests = {n: covering(tuple(items), [replace(uneven, most=n)]) for n in made if n}
        try:
            costs = [cost_of(resized(operation.problem, n), nests[n], arch, homes) for n in made if n]
        except MappingError:  # what it keeps has no room
            continue
        energy = sum(cost.energy_pj for cost in costs) / len(made) * (1 + 1e-9)
        latency = sum(cost.latency_cycles for cost in costs) / len(made) * (1 + 1e-9)
        for one in itertools.chain(*shares_with(items, uneven, operation, homes, arch)):
            is_told_apart = one.beside and all(least == most for _, least, most in one.beside)
            if is_told_apart and one.at_once == step:  # of all others, the best alone is bounded
                bound = wide_and_slow(one, operation, items, arch, homes)
                assert one.part * bound.energy_pj - one.less_pj <= energy, (seed, one)
                assert one.part * bound.latency_cycles <= latency, (seed, one)
                compared, finer, wider = compared + 1, finer + bool(one.keeps), wider + bool(one.wider)
    assert occurs(min(compared, finer, wider) > 0)


@pytest.mark.long
@pytest.mark.parametrize("seeds", blocks(2000, 500))
def test_single_positions_take_what_is_said_of_the_better_order_or_more(seeds: range, tmp_path: Path) -> None:
    """Either with the loop over two positions where it stands, or with it outside all others."""
    compared = 0
    for seed in seeds:
        rng = random.Random(seed)
        arch, statement = machine_of(rng, tmp_path), rng.choice((OPERATIONS[0], "T[k,y] += X[k,y] * A[k]"))
        sizes = {"k": rng.randint(1, 8), "c": rng.randint(1, 8), "y": 2}
        (operation,) = cascade([statement], {name: size for name, size in sizes.items() if name in statement})
        homes = {tensor.name: rng.choice(("DRAM", "GLB")) for tensor in operation.problem.tensors}
        made, items = made_by(rng, 2), nest_of(rng, operation, arch, homes)
        inside = [item for item in items if not (isinstance(item, Loop) and item.dim == "Y")]
        uneven, weight, memories = _uneven("Y", 2, made, 1), rng.choice((0.0, 1.0, 30.0, 1000.0)), UpperMemories(arch)
        alone = [one[0] for one in shares_with(items, uneven, operation, homes, arch) if one[0].at_once == 1]
        found = [each for one in alone for each in single_shares(one, uneven, operation, memories)]
        nests = {n: covering(tuple(items), [replace(uneven, most=n)]) for n in made if n}
        try:
            orders = [cost_of(operation.problem, nest, arch, homes) for nest in (items, [Loop("Y", 2), *inside])]
            costs = [cost_of(resized(operation.problem, n), nests[n], arch, homes) for n in made if n]
        except MappingError:  # what it keeps has no room
            continue
        for one in found:
            assert one.waits_for is not None
            weighed = [each.energy_pj + weight * cycles_of(each, one.waits_for[0]) for each in (*costs, *orders)]
            taken = sum(weighed[: len(costs)]) * (1 + 1e-9)
            assert one.part * len(made) * min(weighed[len(costs) :]) <= taken, seed
            compared += 1
    assert compared
