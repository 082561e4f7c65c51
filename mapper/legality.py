"""Whether a mapping is a legal schedule of its problem, proven with integer sets: for all points, without running any.

Legal means that

    every point     of the iteration space is visited, and nothing else
    once            no point is visited by two settings of the loops
    order           two points depend on each other only where they update the same word of the output, by additions,
                    which may come in any order
    parallel        instances that update the same word of the output in the same step differ only in reduction
                    loops, whose sums are added up on the way out, or where they arrive
    held            what an instance works on is in its tile of the last transfer, and that tile lay in the tile of the
                    next memory outwards: loops that a transfer passes over need nothing new
    tiles           have as many distinct words as the cost model charges
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..arch import Architecture
from ..cost_models.boundaries import Boundary, boundaries_of
from ..cost_models.cost import tile_words
from ..cost_models.integer_sets import Schedule, count, lifted, loop_at, loops_above, serving_loops
from ..ir import Loop, Mapping

if TYPE_CHECKING:
    import islpy as isl


@dataclass(frozen=True)
class Claim:
    """One thing that was looked at: `name` as in the module's text, `proven`, and what was found in words."""

    name: str
    proven: bool
    text: str


@dataclass(frozen=True)
class TileSet:
    """The first tile of a storage node, and what its second brings.

    words        distinct words of the first tile
    next_words   of the second tile, those that the first did not hold; None where there is no second
    next_loop    the loop whose step brings it
    """

    memory: str
    tensor: str
    words: int
    next_words: int | None
    next_loop: str


def prove_schedule(schedule: Schedule) -> list[Claim]:
    """Every point once: proven, or refuted with a point that is missing or visited twice."""
    missing = schedule.points.subtract(schedule.visits.range())
    dims = schedule.problem.dim_names
    if missing.is_empty():
        every = Claim("every point", True, f"{len(schedule.loops)} loops visit all {schedule.problem.macs:,} points")
    else:
        every = Claim("every point", False, f"the point {_named(dims, _first(missing))} is never visited")
    if schedule.visits.is_injective():
        return [every, Claim("once", True, "no two settings of the loops visit the same point")]
    point, one, other = _visited_twice(schedule)
    loops = [f"{dim} in steps of {digit.tile}" for dim, digit in schedule.loops]
    settings = f"{_named(loops, one)}, and {_named(loops, other)}"
    return [every, Claim("once", False, f"the point {_named(dims, point)} is visited twice: by {settings}")]


def prove(mapping: Mapping, arch: Architecture) -> list[Claim]:
    """All claims about a mapping, in the order of the module's text.

    Raises MappingError when a node or loop stands where the architecture has no place for it, TilewrightError when
    islpy is missing.
    """
    schedule = Schedule.of(mapping.problem, mapping.nest)
    boundaries = boundaries_of(mapping, arch)
    return [
        *prove_schedule(schedule),
        _order(schedule),
        _parallel(schedule, mapping, boundaries),
        _held(schedule, mapping, arch, boundaries),
        _tiles(schedule, mapping),
    ]


# ---- order -----------------------------------------------------------------------------------------------------


def _order(schedule: Schedule) -> Claim:
    """Pairs of points that touch a word which one of them writes: the output's, and only along reductions."""
    problem = schedule.problem
    writes = schedule.access(problem.output.ranks).intersect_domain(schedule.points)
    pairs = writes.apply_range(writes.reverse())
    free = [dim for i, dim in enumerate(problem.dim_names) if not _is_fixed(pairs, i)]
    unexpected = [dim for dim in free if dim in problem.output.dims]
    if unexpected:
        return Claim("order", False, f"points that differ in {', '.join(unexpected)} update the same word")
    if not free:
        return Claim("order", True, f"no two points update the same word of {problem.output.name}")
    along = ", ".join(free)
    return Claim("order", True, f"points depend on each other only by additions to {problem.output.name} along {along}")


def _is_fixed(pairs: isl.Map, axis: int) -> bool:
    """Whether related points always agree along an axis."""
    return bool(pairs.deltas().dim_max_val(axis).is_zero())


# ---- parallel --------------------------------------------------------------------------------------------------


def _parallel(schedule: Schedule, mapping: Mapping, boundaries: Sequence[Boundary]) -> Claim:
    """Which parallel loops make instances update the same word in the same step, and who adds up."""
    output = mapping.problem.output
    time, space = loops_above(mapping.nest, len(mapping.nest))
    updates = schedule.tiles(output.ranks, len(mapping.nest), time, space)
    sharing = _sharing(updates, time, space)
    chain = [boundary for boundary in boundaries if boundary.tensor is output]
    wrong = [i for i in sharing if loop_at(mapping.nest, i).dim in output.dims]
    if wrong:
        return Claim("parallel", False, f"instances of '{loop_at(mapping.nest, wrong[0])}' update the same word")
    if not sharing:
        return Claim("parallel", True, f"no two instances update the same word of {output.name} in a step")
    return Claim("parallel", True, "; ".join(_added(mapping, chain, i) for i in sharing))


def _sharing(updates: isl.Map, time: Sequence[int], space: Sequence[int]) -> list[int]:
    """The parallel loops along which instances that update the same word in the same step ever differ."""
    import islpy as isl

    pairs = updates.apply_range(updates.reverse())
    for axis in range(len(time)):
        pairs = pairs.equate(isl.dim_type.in_, axis, isl.dim_type.out, axis)
    return [i for axis, i in enumerate(space, len(time)) if not _is_fixed(pairs, axis)]


def _added(mapping: Mapping, chain: Sequence[Boundary], position: int) -> str:
    """Who adds up the sums of a parallel loop's instances."""
    loop = loop_at(mapping.nest, position)
    boundary = next(b for b in chain if b.outer_position < position < b.inner_position)
    where = (
        f"by {loop.axis.fanout}"
        if position in boundary.reduced and loop.axis
        else f"as they reach {boundary.outer.name}"
    )
    return f"the sums of '{loop}' are added up {where}"


# ---- held ------------------------------------------------------------------------------------------------------


def _held(schedule: Schedule, mapping: Mapping, arch: Architecture, boundaries: Sequence[Boundary]) -> Claim:
    for boundary in boundaries:
        problem = _not_held(schedule, mapping, arch, boundary)
        if problem:
            return Claim("held", False, problem)
    return Claim(
        "held", True, f"{len(boundaries)} transfers bring all that is used until the next one, from tiles that hold it"
    )


def _not_held(schedule: Schedule, mapping: Mapping, arch: Architecture, boundary: Boundary) -> str:
    """What is wrong at one boundary; an empty text if nothing is."""
    ranks, name = boundary.tensor.ranks, boundary.tensor.name
    time, space = loops_above(mapping.nest, boundary.inner_position)
    loops = [*time, *space]
    used = schedule.tiles(ranks, boundary.inner_position, time, space)
    served = serving_loops(mapping.nest, arch, boundary)
    given = schedule.tiles(ranks, boundary.inner_position, served, space)
    if not used.is_subset(lifted(given, [loops.index(i) for i in (*served, *space)], len(loops))):
        inner = boundary.inner.name if boundary.inner else "the MAC"
        return f"{inner} uses words of {name} that its last transfer did not bring"
    outer_time, outer_space = loops_above(mapping.nest, boundary.outer_position)
    outer = schedule.tiles(ranks, boundary.outer_position, outer_time, outer_space)
    kept = [loops.index(i) for i in (*outer_time, *outer_space)]
    if not used.is_subset(lifted(outer, kept, len(loops))):
        return f"{boundary.outer.name} does not hold words of {name} that are read from it"
    return ""


# ---- tiles -----------------------------------------------------------------------------------------------------


def _tiles(schedule: Schedule, mapping: Mapping) -> Claim:
    expected = tile_words(mapping, "exact")  # boxes would count words that no set has
    for position, memory, tensor in _nodes(mapping):
        ranks = mapping.problem.tensor(tensor).ranks
        found = count(schedule.tiles(ranks, position, [], []).range())
        if found != expected[memory, tensor]:
            text = f"the tile of {tensor} in {memory} has {found:,} words, the cost model {expected[memory, tensor]:,}"
            return Claim("tiles", False, text)
    return Claim("tiles", True, f"{len(expected)} tiles have the words that the cost model charges")


def tile_sets(mapping: Mapping, arch: Architecture) -> list[TileSet]:
    """Words of the first tile of every storage node, and of those that the step of the innermost mover brings."""
    schedule = Schedule.of(mapping.problem, mapping.nest)
    outer = {b.inner_position: b for b in boundaries_of(mapping, arch)}
    found = []
    for position, memory, tensor in _nodes(mapping):
        served = serving_loops(mapping.nest, arch, outer[position]) if position in outer else []
        tiles = schedule.tiles(mapping.problem.tensor(tensor).ranks, position, served, [])
        first = _at(tiles, [0] * len(served))
        if not served:
            found.append(TileSet(memory, tensor, count(first), None, ""))
            continue
        second = _at(tiles, [*[0] * (len(served) - 1), 1])
        new = count(second) - count(second.intersect(first))
        found.append(TileSet(memory, tensor, count(first), new, str(loop_at(mapping.nest, served[-1]))))
    return found


def _nodes(mapping: Mapping) -> Iterator[tuple[int, str, str]]:
    """(position, memory, tensor) of every storage node, outermost first."""
    for position, item in enumerate(mapping.nest):
        if not isinstance(item, Loop):
            yield position, item.memory, item.tensor


def _at(tiles: isl.Map, values: Sequence[int]) -> isl.Set:
    """The tile at one setting of the loops."""
    import islpy as isl

    for axis, value in enumerate(values):
        tiles = tiles.fix_val(isl.dim_type.in_, axis, value)
    return tiles.range()


# ---- witnesses -------------------------------------------------------------------------------------------------


def _visited_twice(schedule: Schedule) -> tuple[list[int], list[int], list[int]]:
    """A point, and two settings of the loops that visit it."""
    import islpy as isl

    visits = schedule.visits
    order = isl.Map.lex_lt(visits.get_space().domain())
    one = _first(visits.apply_range(visits.reverse()).intersect(order).domain())
    here = _at(visits, one)
    return _first(here), one, _first(visits.intersect_range(here).domain().subtract(_single(visits.domain(), one)))


def _single(among: isl.Set, values: Sequence[int]) -> isl.Set:
    import islpy as isl

    for axis, value in enumerate(values):
        among = among.fix_val(isl.dim_type.set, axis, value)
    return among


def _first(points: isl.Set) -> list[int]:
    """Coordinates of the lexicographically first point."""
    import islpy as isl

    point = points.lexmin().sample_point()
    return [int(point.get_coordinate_val(isl.dim_type.set, i).to_python()) for i in range(points.dim(isl.dim_type.set))]


def _named(names: Sequence[str], values: Sequence[int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
