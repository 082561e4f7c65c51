"""Random problems, architectures and mappings, small enough for the simulator and for brute force."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tilewright.arch import Architecture, ArrayAxis, Fanout, Keep, Keeps, Mac, Memory, Reuse
from tilewright.ir import Axis, Loop, LoopNest, Mapping, Node, Problem, Rank, Tensor, ceil_div
from tilewright.ir.problem import ROLES


def tensor(name: str, role: str, *ranks: object) -> Tensor:
    """`tensor("I", "input", "N", {"P": 2, "R": 1})`: a rank is a dimension, or coefficients by dimension."""
    spelled = tuple(((r, 1),) if isinstance(r, str) else tuple(r.items()) for r in ranks)  # type: ignore[attr-defined]
    return Tensor(name, spelled, role)  # type: ignore[arg-type]


Sizes = dict[str, int]
Draw = Callable[..., int]
"""A random dimension from 1 to the given limit; without one, to the largest that the caller asked for."""


def _gemm(size: Draw, _: random.Random) -> tuple[Sizes, tuple[Tensor, ...]]:
    dims = {"M": size(7), "N": size(7), "K": size(7)}
    return dims, (
        tensor("A", "input", "M", "K"),
        tensor("W", "weight", "K", "N"),
        tensor("O", "output", "M", "N"),
    )


def _batched(size: Draw, _: random.Random) -> tuple[Sizes, tuple[Tensor, ...]]:
    dims = {"B": size(3), "M": size(), "N": size(), "K": size()}
    return dims, (
        tensor("A", "input", "B", "M", "K"),
        tensor("W", "weight", "B", "K", "N"),
        tensor("O", "output", "B", "M", "N"),
    )


def _conv1d(size: Draw, rng: random.Random) -> tuple[Sizes, tuple[Tensor, ...]]:
    dims = {"K": size(3), "C": size(3), "P": size(7), "R": size(4)}
    window = {"P": rng.randint(1, 3), "R": rng.randint(1, 3)}
    return dims, (
        tensor("I", "input", "C", window),
        tensor("W", "weight", "K", "C", "R"),
        tensor("O", "output", "K", "P"),
    )


def _conv2d(size: Draw, rng: random.Random) -> tuple[Sizes, tuple[Tensor, ...]]:
    dims = {"K": size(2), "C": size(2), "P": size(4), "Q": size(4), "R": size(2), "S": size(3)}
    rows = {"P": rng.randint(1, 2), "R": rng.randint(1, 2)}
    columns = {"Q": rng.randint(1, 2), "S": rng.randint(1, 2)}
    return dims, (
        tensor("I", "input", "C", rows, columns),
        tensor("W", "weight", "K", "C", "R", "S"),
        tensor("O", "output", "K", "P", "Q"),
    )


def _grouped(size: Draw, rng: random.Random) -> tuple[Sizes, tuple[Tensor, ...]]:
    dims = {"G": size(3), "K": size(2), "C": size(2), "P": size(5), "R": size(3)}
    window = {"P": rng.randint(1, 2), "R": 1}
    return dims, (
        tensor("I", "input", "G", "C", window),
        tensor("W", "weight", "G", "K", "C", "R"),
        tensor("O", "output", "G", "K", "P"),
    )


def _three_operands(size: Draw, _: random.Random) -> tuple[Sizes, tuple[Tensor, ...]]:
    dims = {"I": size(4), "J": size(4), "L": size(4)}
    return dims, (
        tensor("A", "input", "I", "L"),
        tensor("B", "weight", "L", "J"),
        tensor("C", "weight", "J"),
        tensor("O", "output", "I"),
    )


def _three_way_sum(size: Draw, rng: random.Random) -> tuple[Sizes, tuple[Tensor, ...]]:
    dims = {"P": size(4), "R": size(3), "S": size(3), "K": size(2)}
    window = {"P": rng.randint(1, 2), "R": 1, "S": rng.randint(1, 3)}
    return dims, (
        tensor("I", "input", window),
        tensor("W", "weight", "K", "R", "S"),
        tensor("O", "output", "K", "P"),
    )


# The order of the kinds is part of every seed's meaning.
PROBLEM_KINDS: dict[str, Callable[[Draw, random.Random], tuple[Sizes, tuple[Tensor, ...]]]] = {
    "gemm": _gemm,
    "batched": _batched,
    "conv1d": _conv1d,
    "conv2d": _conv2d,
    "grouped": _grouped,
    "three operands": _three_operands,
    "three-way sum": _three_way_sum,
}


def with_pads(problem: Problem, rng: random.Random) -> Problem:
    """The problem with zeros around its first operand, a few along each rank."""

    def points(problem: Problem, rank: Rank) -> itertools.product[tuple[int, ...]]:
        return itertools.product(*(range(problem.sizes[dim]) for dim, _ in rank))

    first, pads = problem.operands[0], []
    for rank in first.ranks:
        reach = 1 + sum(c * (problem.sizes[dim] - 1) for dim, c in rank)
        before = rng.randint(0, min(3, reach - 1)) if rng.random() < 0.8 else 0
        pad = before, rng.randint(0, min(3, reach - 1 - before))
        reached = {sum(c * x for (_, c), x in zip(rank, at, strict=True)) for at in points(problem, rank)}
        pads.append(pad if any(pad[0] <= x < reach - pad[1] for x in reached) else (0, 0))
    return replace(problem, pads=((first.name, tuple(pads)),))


def random_problem(rng: random.Random, largest: int = 5) -> Problem:
    """One of a few kinds of operation, in sizes of at most 7 along a dimension."""

    def size(limit: int = largest) -> int:
        return rng.randint(1, limit)

    kind = rng.choice(list(PROBLEM_KINDS))
    dims, tensors = PROBLEM_KINDS[kind](size, rng)
    return Problem(kind, tuple(dims.items()), tensors)


def memory(name: str, rng: random.Random | None = None, **changes: object) -> Memory:
    """A memory in plain numbers; with `rng`, random energies, halo and keeping."""
    fields: dict[str, object] = {"name": name, "access_bits": 8, "read_energy_pj": 1.0, "write_energy_pj": 1.0}
    if rng is not None:
        fields |= {
            "read_energy_pj": float(rng.randint(1, 9)),
            "write_energy_pj": float(rng.randint(1, 9)),
            "halo": rng.choice(["none", "innermost", "exact"]),
        }
    return Memory.model_validate(fields | changes)


def random_architecture(
    rng: random.Random, memories: int | None = None, capacity: int | None = None, reuse: Reuse = "across_levels"
) -> Architecture:
    """DRAM, up to three more memories, up to two fanouts anywhere below DRAM; all keep what they like."""
    levels: list[Memory | Fanout] = [memory("DRAM", rng, shared_bits_per_cycle=float(rng.choice([8, 16, 64])))]
    may = Keeps(input="may", weight="may", output="may")
    count = memories if memories is not None else rng.randint(1, 3)
    for i in range(count):
        size = None if capacity is None else 8 * rng.randint(max(3, capacity // 2 ** (i + 1)), max(4, capacity // 2**i))
        port = rng.choice(["shared_bits_per_cycle", "read_bits_per_cycle", "write_bits_per_cycle"])
        levels.append(
            memory(f"L{i + 1}", rng, keeps=may, size_bits=size, **{port: float(rng.choice([8, 16, 32, 128]))})
        )
    for i in range(rng.randint(0, 2)):
        axes = tuple(ArrayAxis(size=rng.randint(2, 4)) for _ in range(rng.randint(1, 2)))
        fanout = Fanout(
            name=f"array{i + 1}",
            axes=axes,
            multicast=rng.random() < 0.7,
            spatial_reduction=rng.random() < 0.7,
        )
        levels.insert(rng.randint(1, len(levels)), fanout)
    mac = Mac(energy_pj=float(rng.randint(0, 3)))
    return Architecture(name="random", clock_hz=1e9, word_bits=8, reuse=reuse, levels=tuple(levels), mac=mac)


def with_wide_sums(arch: Architecture, next_to_macs: Keep | None = None) -> Architecture:
    """The machine with partial sums of twice the width.

    next_to_macs  whether the innermost memory keeps them; None: as before
    """
    innermost = arch.memories[-1]
    keeps = innermost.keeps.model_copy(update={"output": next_to_macs or innermost.keeps.output})
    levels = tuple(level.model_copy(update={"keeps": keeps}) if level is innermost else level for level in arch.levels)
    return arch.model_copy(update={"partial_sum_bits": 2 * arch.word_bits, "levels": levels})


def windows_below_arrays(rng: random.Random, most: int = 9) -> tuple[Problem, Architecture]:
    """Convolutions on machines whose tensors are charged below arrays: two memories in a region; dimensions up to
    `most`."""
    may = Keeps(input="may", weight="may", output="may")
    levels: list[Memory | Fanout] = [memory("DRAM", shared_bits_per_cycle=8.0)]
    for name in ("L1", "L2"):
        axes = (ArrayAxis(size=rng.randint(2, 4)), ArrayAxis(size=rng.randint(2, 4)))
        if name == "L1" or rng.random() < 0.3:
            levels.append(Fanout(name=f"array{name}", axes=axes, multicast=rng.random() < 0.8))
        levels.append(memory(name, rng, keeps=may, write_bits_per_cycle=8.0))
    arch = Architecture(name="arrays", clock_hz=1e9, word_bits=8, levels=tuple(levels), mac=Mac(energy_pj=0.0))
    while True:
        problem = random_problem(rng, most)
        if any(len(rank) > 1 for t in problem.tensors for rank in t.ranks):
            return problem, arch


def with_extras(rng: random.Random, arch: Architecture, *extras: str) -> Architecture:
    """The architecture with random figures for some of: leakage, block, hop, fill, ports (a port for each direction at
    some memories), roles (ports of one role, beside others), serial (some memories that do not overlap), widths
    (partial sums are wider), arrays (a hop along an axis takes time)."""
    levels: list[Memory | Fanout] = []
    for level in arch.levels:
        changes: dict[str, object] = {}
        if isinstance(level, Fanout):
            changes = {"hop_pj_per_bit": rng.choice([0.125, 0.5, 2.0])} if "hop" in extras else {}
            if "arrays" in extras:
                hops = (axis.model_copy(update={"latency_cycles": rng.choice([0.5, 1.0, 3.0])}) for axis in level.axes)
                changes["axes"] = tuple(hops)
        else:
            changes = _memory_extras(rng, extras)
        levels.append(level.model_copy(update=changes))
    whole: dict[str, object] = {"levels": tuple(levels)}
    if "leakage" in extras:
        whole |= {"leakage_pj_per_cycle": 1.5, "mac": arch.mac.model_copy(update={"leakage_pj_per_cycle": 0.25})}
    if "fill" in extras:
        whole["latency"] = "with_fill"
    if "widths" in extras:
        whole["partial_sum_bits"] = rng.choice([16, 24])
    return arch.model_copy(update=whole)


def _memory_extras(rng: random.Random, extras: tuple[str, ...]) -> dict[str, object]:
    changes: dict[str, object] = {}
    if "leakage" in extras:
        changes["leakage_pj_per_cycle"] = rng.choice([0.0, 0.5, 3.0])
    if "block" in extras:
        changes["block_bits"] = rng.choice([None, 16, 24, 64])
    if "ports" in extras and rng.random() < 0.5:
        changes |= {"read_bits_per_cycle": 16.0, "write_bits_per_cycle": 8.0, "shared_bits_per_cycle": None}
    if "roles" in extras:
        changes |= {f"{role}_bits_per_cycle": rng.choice([None, 4.0, 8.0, 12.0]) for role in ROLES}
    if "serial" in extras:
        changes["overlaps"] = rng.random() < 0.5
    return changes


def random_trips(rng: random.Random, size: int, ragged: bool) -> list[int]:
    """Trip counts of one dimension, outermost first, that cover `size`."""
    left, trips = size, []
    while left > 1:
        factor = rng.choice([f for f in range(1, left + 1) if ragged or left % f == 0])
        trips.append(factor)
        left = ceil_div(left, factor)
    return [t for t in reversed(trips) if t > 1]


def random_mapping(rng: random.Random, problem: Problem, arch: Architecture, ragged: bool = True) -> Mapping:
    """Any nest that the hierarchy allows: nodes at their own depths, loops of a dimension anywhere, no capacity.

    Places for loops are the gaps between nodes, and each fanout; a loop at a fanout is spatial if the axis has room.
    """
    outermost, *rest = _places(rng, problem, arch)
    free = {Axis(f.name, i): axis.size for f in arch.fanouts for i, axis in enumerate(f.axes)}
    loops: list[list[Loop]] = [[] for _ in rest]
    for dim, size in problem.dims:
        trips = random_trips(rng, size, ragged)
        for count, place in zip(trips, sorted(rng.choices(range(len(rest)), k=len(trips))), strict=True):
            fanout = rest[place]
            axis = Axis(fanout.name, rng.randrange(len(fanout.axes))) if isinstance(fanout, Fanout) else None
            if axis is not None and free[axis] >= count:
                free[axis] //= count
                loops[place].append(Loop(dim, count, axis))
            else:
                loops[place].append(Loop(dim, count))
    items: list[Loop | Node] = list(outermost)
    for place, here in zip(rest, loops, strict=True):
        items += _mixed(rng, here, key=lambda loop: loop.dim)
        items += place if isinstance(place, list) else []
    return Mapping(problem, LoopNest(tuple(items)))


def _places(rng: random.Random, problem: Problem, arch: Architecture) -> list[list[Node] | Fanout]:
    """The hierarchy as a list: the outermost memory's nodes, then nodes one by one (empty gaps too) and fanouts."""
    places: list[list[Node] | Fanout] = [[Node(arch.memories[0].name, t.name) for t in problem.tensors]]
    nodes: list[Node] = []
    for level in (*arch.levels[1:], None):
        if isinstance(level, Memory):
            nodes += [Node(level.name, t.name) for t in problem.tensors if rng.random() < 0.7]
            continue
        places += [[node] for node in _mixed(rng, nodes, key=lambda node: node.tensor)]
        places += [[], level, []] if level is not None else [[]]
        nodes = []
    return places


def _mixed(rng: random.Random, things: list[Any], key: Callable[[Any], str]) -> list[Any]:
    """Shuffled, but things with equal keys stay in their order."""
    keys = [key(thing) for thing in things]
    rng.shuffle(keys)
    left = {k: [thing for thing in things if key(thing) == k] for k in keys}
    return [left[k].pop(0) for k in keys]


POISONS = [
    '"""\nraise SystemExit(3)\n"""',
    "coding: utf-7\n\nimport this",
    "x\rraise SystemExit(3)",
    "x\x0c\x00\u2028raise SystemExit(3)",
    "'); raise SystemExit(3) #",
    "\\",
    "{0} %s",
    "naïve ☃ \ud800",
    "import",
    "np",
    "run",
    "",
]
"""Names that break out of texts which do not spell them with care."""


def hostile_mapping(names: list[str]) -> tuple[Mapping, Architecture]:
    """A matrix product whose every name is chosen by an enemy."""
    problem = Problem(
        names[0],
        ((names[1], 4), (names[2], 3), (names[3], 2)),
        (
            tensor(names[4], "input", names[1], names[3]),
            tensor(names[5], "weight", names[3], names[2]),
            tensor(names[6], "output", names[1], names[2]),
        ),
    )
    arch = Architecture(
        name=names[7],
        description=names[8],
        clock_hz=1e9,
        word_bits=8,
        levels=(
            memory(names[9]),
            Fanout(name=names[10], axes=(ArrayAxis(size=4),)),
            memory(names[11], keeps=Keeps(input="may", weight="may", output="may")),
        ),
        mac=Mac(energy_pj=1.0),
    )
    nest = LoopNest(
        (
            *(Node(names[9], name) for name in names[4:7]),
            Loop(names[2], 3),
            Loop(names[1], 2, Axis(names[10])),
            *(Node(names[11], name) for name in names[4:7]),
            Loop(names[1], 2),
            Loop(names[3], 2),
        )
    )
    return Mapping(problem, nest), arch
