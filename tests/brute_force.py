"""Every mapping of the even and of the uneven space, one by one: the oracle that the search is compared with.

It shares the cost model with the search, and nothing else: no orders left out, no factors left out, no bounds.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass
from functools import cache, partial
from typing import TypeVar

import pytest

from tilewright.arch import Architecture, Fanout, Keep, Memory
from tilewright.cost_models import Objective, evaluate
from tilewright.ir import Axis, Loop, LoopNest, Mapping, MappingError, Node, Problem, Tensor, ceil_div
from tilewright.mapper.constraints import Constraints
from tilewright.mapper.constraints.violations import violations
from tilewright.mapper.tilings import Tiling

Slot = tuple[str, Axis | None]
"""A place for one loop of each dimension: ("time", None) in a gap, or an axis of a fanout."""

Point = tuple[float, float]
"""Energy and latency."""

KeepRule = Callable[[Memory, Tensor], Keep]
"""Whether a memory must, may or must not keep a tensor."""


def by_role(memory: Memory, tensor: Tensor) -> Keep:
    """What the architecture says."""
    return memory.keeps[tensor.role]


def placements(
    problem: Problem, arch: Architecture, keep: KeepRule = by_role
) -> Iterator[list[tuple[Memory, list[str]]]]:
    """Which memory keeps which tensors, outermost first; memories that keep nothing are left out."""
    options = []
    for memory in arch.memories:
        per_tensor = [
            {"must": [True], "may": [True, False], "never": [False]}[keep(memory, t)] for t in problem.tensors
        ]
        options.append(
            [
                [t.name for t, k in zip(problem.tensors, kept, strict=True) if k]
                for kept in itertools.product(*per_tensor)
            ]
        )
    for chosen in itertools.product(*options):
        yield [(m, names) for m, names in zip(arch.memories, chosen, strict=True) if names]


def structure(arch: Architecture, placement: list[tuple[Memory, list[str]]]) -> list[list[Node] | Axis | str]:
    """The nest's skeleton, outermost first: nodes of a memory, "time" for its temporal loops, then fanout axes."""
    keeping = {m.name: names for m, names in placement}
    parts: list[list[Node] | Axis | str] = []
    for level in arch.levels:
        if isinstance(level, Fanout):
            parts += [Axis(level.name, i) for i in reversed(range(len(level.axes)))]
        elif level.name in keeping:
            parts += [[Node(level.name, t) for t in keeping[level.name]], "time"]
    return parts


@cache
def chains(size: int, slots: int, ragged: bool) -> tuple[tuple[int, ...], ...]:
    """Trip counts of one dimension over some slots, innermost first, that cover its size."""
    if slots == 0:
        return ((),) if size == 1 else ()
    return tuple(
        (trips, *rest)
        for trips in range(1, size + 1)
        if ragged or size % trips == 0
        for rest in chains(ceil_div(size, trips), slots - 1, ragged)
    )


def all_mappings(problem: Problem, arch: Architecture, ragged: bool, keep: KeepRule = by_role) -> Iterator[Mapping]:
    """All placements, factorizations, spatial assignments and permutations; capacities and axes unchecked."""
    for placement in placements(problem, arch, keep):
        parts = structure(arch, placement)
        slots = [i for i, part in enumerate(parts) if not isinstance(part, list)][::-1]
        per_dim = [chains(size, len(slots), ragged) for _, size in problem.dims]
        for chosen in itertools.product(*per_dim):
            yield from _nests(problem, parts, slots, chosen)


def _nests(
    problem: Problem, parts: list[list[Node] | Axis | str], slots: list[int], chosen: tuple[tuple[int, ...], ...]
) -> Iterator[Mapping]:
    ways: list[list[tuple[Loop | Node, ...]]] = []
    for i, part in enumerate(parts):
        if isinstance(part, list):
            ways.append([tuple(part)])
            continue
        axis = part if isinstance(part, Axis) else None
        trips = [chain[slots.index(i)] for chain in chosen]
        loops = [Loop(d, t, axis) for d, t in zip(problem.dim_names, trips, strict=True) if t > 1]
        ways.append([tuple(loops)] if axis else list(itertools.permutations(loops)))
    for nest in itertools.product(*ways):
        yield Mapping(problem, LoopNest(tuple(itertools.chain.from_iterable(nest))))


def count(problem: Problem, arch: Architecture, ragged: bool, limit: int) -> int:
    """How many mappings `all_mappings` yields, counting stopped at a limit."""
    total = 0
    for placement in placements(problem, arch):
        parts = structure(arch, placement)
        slots = [part for part in reversed(parts) if not isinstance(part, list)]
        sizes = tuple(size for _, size in problem.dims)
        if math.prod(len(chains(size, len(slots), ragged)) for size in sizes) > limit:
            return limit
        in_time = [i for i, slot in enumerate(slots) if isinstance(slot, str)]
        for loops, ways in loop_counts(sizes, len(slots), ragged).items():
            total += ways * math.prod(math.factorial(loops[i]) for i in in_time)
        if total >= limit:
            return limit
    return total


@cache
def loop_counts(sizes: tuple[int, ...], slots: int, ragged: bool) -> Counter[tuple[int, ...]]:
    """How many choices of chains, one for each size, have so many loops of more than one trip in each slot."""
    if not sizes:
        return Counter({(0,) * slots: 1})
    first = Counter(tuple(trips > 1 for trips in chain) for chain in chains(sizes[0], slots, ragged))
    found: Counter[tuple[int, ...]] = Counter()
    for (loops, ways), (others, more) in itertools.product(
        first.items(), loop_counts(sizes[1:], slots, ragged).items()
    ):
        found[tuple(map(sum, zip(loops, others, strict=True)))] += ways * more
    return found


def best(
    problem: Problem, arch: Architecture, ragged: bool, objectives: tuple[Objective, ...]
) -> dict[Objective, float]:
    """The least value of each objective over all mappings that fit; infinite if none does."""
    return best_of(all_mappings(problem, arch, ragged), arch, objectives)


def best_of(
    mappings: Iterable[Mapping],
    arch: Architecture,
    objectives: tuple[Objective, ...],
    constraints: Constraints | None = None,
) -> dict[Objective, float]:
    """The least value of each objective over those of some mappings that fit and satisfy constraints; infinite if none
    does."""
    values = {o: float("inf") for o in objectives}
    for mapping in mappings:
        try:
            cost = evaluate(mapping, arch)
        except MappingError:
            continue
        if constraints is not None and violations(mapping, arch, constraints):
            continue
        for o in objectives:
            values[o] = min(values[o], cost.objective(o))
    return values


# ---- the uneven space --------------------------------------------------------------------------------------
#
# The hierarchy falls into regions: the memories above the outermost fanout, those between two fanouts, those below the
# innermost. A region is its fanout's spatial loops; then its nodes in any order that keeps each tensor's memories in
# the hierarchy's order, with temporal loops below every node. The outermost memory's nodes stand on top, without a loop
# between them.
#
# Two nests are the same mapping when they are equal once loops of one trip are dropped and nodes that stand next to
# each other are sorted. So a region is listed as blocks of nodes: every block but the last is followed by at least one
# loop, and no mapping comes twice.

Blocks = tuple[tuple[Node, ...], ...]
"""The nodes of a region, outermost first: each inner tuple stands together, and loops come between."""

Loops = tuple[Loop, ...]

Choices = TypeVar("Choices", bound=Sized)
"""All blocks of a region, or only how many there are."""


@dataclass(frozen=True)
class Region:
    """The axes of the fanouts directly above some memories, outermost first, and the memories."""

    axes: tuple[Axis, ...] = ()
    memories: tuple[Memory, ...] = ()


@dataclass(frozen=True)
class Place:
    """A place for loops: an axis, or time (None). At least one loop is there if `needed`."""

    axis: Axis | None = None
    needed: bool = False


def uneven_mappings(
    problem: Problem, arch: Architecture, tiling: Tiling, keep: KeepRule = by_role
) -> Iterator[Mapping]:
    """All placements, node orders, chains of tiles, loop orders, and spatial loops that fit the axes; each once.

    Capacities are not looked at.
    """
    top = tuple(Node(arch.memories[0].name, t.name) for t in problem.tensors)
    for regions, choices, fillings in _families(problem, arch, tiling, partial(region_blocks, keep=keep)):
        filled = list(fillings)
        for blocks in itertools.product(*choices) if filled else ():
            for loops in filled:
                yield Mapping(problem, LoopNest(_uneven_nest(top, regions, blocks, loops)))


def count_uneven(problem: Problem, arch: Architecture, tiling: Tiling, limit: float = math.inf) -> float:
    """How many mappings `uneven_mappings` yields, counting stopped at a limit."""
    total = 0
    for _, choices, filled in _families(problem, arch, tiling, count_region_blocks):
        ways = math.prod(map(len, choices))
        for _ in filled:
            total += ways
            if total >= limit:
                return limit
    return total


def canonical(nest: LoopNest) -> tuple[object, ...]:
    """Equal for nests that are the same mapping: unit loops dropped, runs of nodes and of loops on an axis sorted."""
    items = [item for item in nest if isinstance(item, Node) or item.trips > 1]
    runs = itertools.groupby(items, key=lambda item: item.axis if isinstance(item, Loop) else "nodes")
    ordered = (list(run) if kind is None else sorted(run, key=str) for kind, run in runs)
    return tuple(itertools.chain.from_iterable(ordered))


def regions_of(arch: Architecture) -> tuple[Region, ...]:
    """The regions of an architecture, outermost first, without the outermost memory."""
    found = [Region()]
    for level in arch.levels[1:]:
        last = found[-1]
        if isinstance(level, Memory):
            found[-1] = Region(last.axes, (*last.memories, level))
        else:
            found.append(Region(tuple(Axis(level.name, i) for i in reversed(range(len(level.axes))))))
    return tuple(found)


def region_blocks(
    problem: Problem, memories: tuple[Memory, ...], most: int, keep: KeepRule = by_role
) -> dict[int, list[Blocks]]:
    """All placements and node orders of a region with at most `most` blocks, by the number of blocks."""
    found: dict[int, list[Blocks]] = {}
    for chain_of in _kept_nodes(problem, memories, keep):
        kept = [Node(m.name, t.name) for m in memories for t in problem.tensors]
        kept = [node for node in kept if any(node in chain for chain in chain_of)]
        for count in range(min(1, len(kept)), min(len(kept), most) + 1):
            depths = [itertools.combinations_with_replacement(range(count), len(chain)) for chain in chain_of]
            for chosen in itertools.product(*depths):
                if len(set().union(*chosen)) == count:
                    at = dict(zip(itertools.chain(*chain_of), itertools.chain(*chosen), strict=True))
                    blocks = tuple(tuple(node for node in kept if at[node] == i) for i in range(count))
                    found.setdefault(count, []).append(blocks)
    return found


def count_region_blocks(problem: Problem, memories: tuple[Memory, ...], most: int) -> dict[int, range]:
    """How many `region_blocks` there are, without listing them: a range of that length."""
    found: Counter[int] = Counter()
    for chain_of in _kept_nodes(problem, memories):
        lengths = [len(chain) for chain in chain_of]
        for count in range(min(1, sum(lengths)), min(sum(lengths), most) + 1):
            # Tensor by tensor, the depths of its nodes, in order; of these, those that leave no block empty.
            found[count] += sum(
                (-1) ** empty
                * math.comb(count, empty)
                * math.prod(math.comb(count - empty + n - 1, n) for n in lengths if n)
                for empty in range(count + (count == 0))
            )
    return {count: range(ways) for count, ways in found.items() if ways}


def _kept_nodes(problem: Problem, memories: tuple[Memory, ...], keep: KeepRule = by_role) -> Iterator[list[list[Node]]]:
    """All placements in some memories: per tensor the nodes that keep it, outermost first."""
    options = {"must": [True], "may": [True, False], "never": [False]}
    nodes = [[Node(m.name, t.name) for m in memories] for t in problem.tensors]
    ways = [options[keep(m, t)] for t in problem.tensors for m in memories]
    for chosen in itertools.product(*ways):
        kept = iter(chosen)
        yield [[node for node in chain if next(kept)] for chain in nodes]


def _families(
    problem: Problem,
    arch: Architecture,
    tiling: Tiling,
    blocks_of: Callable[[Problem, tuple[Memory, ...], int], dict[int, Choices]],
) -> Iterator[tuple[tuple[Region, ...], list[Choices], Iterator[tuple[Loops, ...]]]]:
    """Mappings with the same numbers of blocks: per region all its blocks, and all fillings of the places for loops."""
    regions = regions_of(arch)
    most = 1 + sum((size - 1).bit_length() for _, size in problem.dims)
    found = [blocks_of(problem, region.memories, most) for region in regions]
    for shape in itertools.product(*map(sorted, found)):
        places = [Place()]
        for region, count in zip(regions, shape, strict=True):
            places += [Place(axis) for axis in region.axes]
            places += [Place(needed=i < count - 1) for i in range(count)]
        filled = _filled(problem, arch, places, tiling)
        yield regions, [blocks[count] for blocks, count in zip(found, shape, strict=True)], filled


def _filled(problem: Problem, arch: Architecture, places: list[Place], tiling: Tiling) -> Iterator[tuple[Loops, ...]]:
    """All loops of all dimensions over some places, in all orders."""
    axes = {Axis(fanout.name, i): axis for fanout in arch.fanouts for i, axis in enumerate(fanout.axes)}
    per_dim = []
    for dim, size in problem.dims:
        usable = [place.axis is None or axes[place.axis].allows(problem, dim) for place in places]
        ways = (chain[::-1] for chain in chains(size, len(places), tiling == "ragged"))
        per_dim.append([way for way in ways if all(u or t == 1 for u, t in zip(usable, way, strict=True))])
    for chosen in itertools.product(*per_dim):
        fillings: list[list[Loops]] = []
        for place, trips in zip(places, zip(*chosen, strict=True), strict=True):
            loops = tuple(Loop(d, t, place.axis) for d, t in zip(problem.dim_names, trips, strict=True) if t > 1)
            if place.axis is not None:
                fillings.append([loops] if math.prod(trips) <= axes[place.axis].size else [])
                continue
            fillings.append([] if place.needed and not loops else list(itertools.permutations(loops)))
        yield from itertools.product(*fillings)


def _uneven_nest(
    top: tuple[Node, ...], regions: tuple[Region, ...], blocks: tuple[Blocks, ...], loops: tuple[Loops, ...]
) -> tuple[Loop | Node, ...]:
    rest = iter(loops)
    items: list[Loop | Node] = [*top, *next(rest)]
    for region, here in zip(regions, blocks, strict=True):
        for _ in region.axes:
            items += next(rest)
        for block in here:
            items += (*block, *next(rest))
    return tuple(items)


def distinct(points: list[Point]) -> list[Point]:
    """Points that differ by more than the rounding of floats."""
    kept: list[Point] = []
    for point in sorted(points):
        if not any(point == pytest.approx(other, rel=1e-9, abs=0) for other in kept):
            kept.append(point)
    return kept


def front(points: list[Point]) -> list[Point]:
    """Points that no other one beats, from the least energy on."""
    kept: list[Point] = []
    for point in distinct(points):
        if not kept or point[1] < kept[-1][1] * (1 - 1e-9):
            kept.append(point)
    return kept
