"""Words moved, in closed form: the same integers as the simulator, for problems of any size.

The words that cross a boundary are those wanted at every place where a loop may have moved the tile, less those that
are held there already. When loop `l` steps, loops outside it stand still, loops inside it wrap from their last value
to 0, and each dimension moves on its own. A tile is a product over ranks, so sums over places and over moves are
products over ranks and dimensions:

    words = (prod over ranks of wanted) x (prod over other dimensions of places)
            - sum over l of (prod over ranks of held(l)) x (prod over other dimensions of steps(l))

where `wanted` and `held` add up the distinct elements along a rank that a group of instances wants, and those that
all of them hold already (`sets.moved_along_rank`). A ragged edge makes a few kinds of moves per dimension instead of
one (`moves.py`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from ..arch import Architecture
from ..ir import Digit, Loop, Problem, Rank, Tensor, digits_by_dimension
from ..ir import Mapping as LoopMapping
from .boundaries import Boundary, boundaries_of
from .counts import Accesses, AccessTable, Counts, FirstTile
from .filling import empties_array
from .hops import hops_along, legs_of
from .moves import (
    ALL,
    EVERY,
    FIRST,
    Kind,
    Place,
    Ranges,
    Steps,
    kinds_of_move,
    ranges_of_tiles,
    relative_steps,
    words_along_rank,
)
from .padding import counted_mapping
from .passing import sums_drained, sums_inwards

NOTHING: frozenset[int] = frozenset()

LineBox = tuple[int, ...]
"""Neighbouring words along each rank of a tensor that a line of a memory holds."""
Periods = Sequence[Collection[int]]
"""Per rank of a tensor, words after which tiles lie in lines as before; there may be several."""


@dataclass(frozen=True)
class Nest:
    """A mapping, prepared: loops as digits per dimension.

    starts  positions at which branches begin, where it is the way of an operation through a tree (`cascades/`)
    """

    problem: Problem
    arch: Architecture
    digits: Mapping[str, tuple[Digit, ...]]
    spatial: tuple[int, ...]
    temporal: tuple[int, ...]
    loops: Mapping[int, Loop]
    accumulator: int
    starts: tuple[int, ...] = (0,)
    split: dict[tuple[str, int], tuple[tuple[Digit, ...], int, frozenset[int]]] = field(default_factory=dict)
    counted: dict[tuple[str, Steps, Group], tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, mapping: LoopMapping, arch: Architecture, starts: tuple[int, ...] = (0,)) -> Nest:
        mapping = counted_mapping(mapping, arch)
        items = mapping.nest.items
        loops = {i: item for i, item in enumerate(items) if isinstance(item, Loop) and item.trips > 1}
        return cls(
            problem=mapping.problem,
            arch=arch,
            digits={
                dim: tuple(d for d in digits if d.trips > 1)
                for dim, digits in digits_by_dimension(mapping.problem, mapping.nest).items()
            },
            spatial=tuple(i for i, loop in loops.items() if loop.is_spatial),
            temporal=tuple(i for i, loop in loops.items() if not loop.is_spatial),
            loops=loops,
            accumulator=mapping.nest.node_positions(mapping.problem.output.name)[-1],
            starts=starts,
        )

    def above(self, dim: str, position: int) -> tuple[tuple[Digit, ...], int, frozenset[int]]:
        """The loops of a dimension above a position, the tile below them, and where these loops stand."""
        found = self.split.get((dim, position))
        if found is None:
            digits = tuple(d for d in self.digits[dim] if d.position < position)
            tile = math.prod(d.trips for d in self.digits[dim] if d.position >= position)
            positions = frozenset(d.position for d in digits)
            found = self.split[dim, position] = digits, min(tile, self.problem.sizes[dim]), positions
        return found

    def spatial_above(self, position: int) -> frozenset[int]:
        return frozenset(i for i in self.spatial if i < position)

    def start(self, position: int) -> int:
        """Return the position at which the branch of a node begins: the node holds its tile for one visit of that
        branch."""
        return max(start for start in self.starts if start <= position)

    def innermost_serving(self, tensor: Tensor, position: int) -> int:
        """The innermost temporal loop that makes a node at `position` be served; that of FIRST if none does.

        Every loop above the node's branch does."""
        start = self.start(position)
        above = (i for i in self.temporal if i < position)
        serving = (i for i in above if i < start or self.arch.loop_moves(self.loops[i].dim, tensor))
        return max(serving, default=FIRST.last)


class Group(NamedTuple):
    """A choice of the instances at `position` that are counted, and of those that are counted as one.

    joined    spatial loops whose instances are counted once together (multicast, or reduced)
    only      the one instance, or group of joined ones, that is counted
    """

    position: int
    joined: frozenset[int] = NOTHING
    only: Place = ALL


def count_words(mapping: LoopMapping, arch: Architecture) -> Counts:
    """Words that every memory reads and writes, and the compute steps; equal to `simulate(mapping, arch)`.

    Raises MappingError when a node or loop stands where the architecture has no place for it.
    """
    return count_boundaries(Nest.of(mapping, arch), mapping, boundaries_of(mapping, arch))


def count_boundaries(nest: Nest, mapping: LoopMapping, boundaries: Sequence[Boundary]) -> Counts:
    """The compute steps of a nest, and the words that cross some of its boundaries."""
    arch = nest.arch
    counts = Counts(steps=_steps(nest), visits=_settings(nest, nest.starts[-1]))
    for boundary in boundaries:
        outer, inner = (
            candidates(nest, boundary.tensor, p) for p in (boundary.outer_position, boundary.inner_position)
        )
        count = _count_partial_sums if boundary.tensor.is_output else _count_operand
        count(nest, boundary, counts.total, [ALL], [ALL])
        count(nest, boundary, counts.busiest, outer, inner)
        counts.in_use[boundary.outer.name, boundary.tensor.name] = _in_use(nest, boundary.outer_position)
        for fanout, hops in hops_along(legs_of(boundary, mapping, arch), partial(_passing, nest, boundary)):
            if fanout.hop_pj_per_bit:
                counts.add_hops(fanout.name, boundary.tensor.name, hops)
        if boundary.inner is not None and empties_array(boundary, arch):
            counts.add_refills(boundary.outer.name, boundary.inner.name, _refills(nest, boundary))
    if arch.latency == "with_fill":
        counts.first_tiles = [first_tile(nest, b, b.inner.name) for b in boundaries if b.inner is not None]
    return counts


def first_tile(nest: Nest, boundary: Boundary, inner: str) -> FirstTile:
    """The first tile of a boundary at its largest instances."""
    tensor, position = boundary.tensor, boundary.inner_position
    joined = boundary.reduced if tensor.is_output else boundary.multicast

    def first(joined: frozenset[int], at: int) -> int:
        places = candidates(nest, tensor, at) if tensor.stored else [frozenset((i, 0) for i in nest.spatial_above(at))]
        return max(words_in(nest, tensor, FIRST, Group(position, joined, place))[0] for place in places)

    return FirstTile(
        tensor=tensor.name,
        outer=boundary.outer.name,
        inner=inner,
        outer_words=first(joined, boundary.outer_position),
        inner_words=first(NOTHING, position),
        outer_finishes=tensor.is_output and may_finish(nest, boundary.outer_position),
        inner_finishes=tensor.is_output and may_finish(nest, position),
        steps=0 if tensor.is_output else steps_of_first(nest, nest.innermost_serving(tensor, position)),
    )


def steps_of_first(nest: Nest, serving: int) -> int:
    """Count the compute steps of the first instance before the loop at `serving` steps for the first time."""
    first, steps = frozenset((i, 0) for i in nest.spatial if i > serving), 1
    for dim, digits in nest.digits.items():
        inside = tuple(digit for digit in digits if digit.position > serving)
        size = min(nest.problem.sizes[dim], math.prod(digit.trips for digit in inside))
        place = first & {(digit.position, 0) for digit in inside}
        steps *= sum(kind.count for kind in kinds_of_move(size, inside, 1, EVERY, NOTHING, place))
    return steps


def _refills(nest: Nest, boundary: Boundary) -> int:
    """Count the tiles that come to an inner node after the first one of each visit of its branch."""
    position = boundary.inner_position
    tiles = _settings(nest, nest.innermost_serving(boundary.tensor, position) + 1)
    return tiles - _settings(nest, nest.start(position))


def _settings(nest: Nest, position: int) -> int:
    """Count the settings of the temporal loops above a position in which the first instance has work."""
    outside = Steps(max((i for i in nest.temporal if i < position), default=FIRST.last))
    first = Group(position, only=frozenset((i, 0) for i in nest.spatial if i < position))
    return math.prod(sum(kind.count for kind in _kinds(nest, dim, outside, first)) for dim in nest.problem.dim_names)


def _passing(nest: Nest, boundary: Boundary, joined: frozenset[int]) -> int:
    """Words that pass between the holders in both directions, those of `joined` instances together."""
    tensor, group = boundary.tensor, Group(boundary.inner_position, joined)
    if boundary.inner is None:
        return words_in(nest, tensor, EVERY, group)[0]
    if not tensor.is_output:
        return moved_words(nest, tensor, boundary.inner.halo, group)
    visits = moved_words(nest, tensor, "none", group)
    return visits + sums_inwards(nest.arch, visits, _distinct(nest, tensor, group))


def _in_use(nest: Nest, position: int) -> int:
    """Count the instances above a position that ever have work: those that have some when all temporal loops stand at
    0."""
    dims = {nest.loops[i].dim for i in nest.spatial_above(position)}
    return math.prod(sum(kind.count for kind in _kinds(nest, dim, FIRST, Group(position))) for dim in dims)


def candidates(nest: Nest, tensor: Tensor, position: int, periods: Periods = ()) -> list[Place]:
    """Return instances above `position` that include the busiest instance.

    That is the first, all of whose blocks are full; but where a tile's words grow unevenly (2p + 3r), a smaller one
    at a ragged edge may have less overlap to keep, so then all places along that dimension are looked at; and along
    padded ranks, where the first has zeros that are not stored. Of lines, tiles touch the more the further into one
    they begin: one instance is looked at for every such place.
    """
    padded = {dim for rank, stored in tensor.stored_ranks if stored is not None for dim, _ in rank}
    above = [i for i in nest.spatial if i < position]
    ranges: list[Sequence[int]] = []
    for i in above:
        dim, trips = nest.loops[i].dim, nest.loops[i].trips
        steps = [c for rank in tensor.ranks if any(d == dim for d, _ in rank) for d, c in rank if d != dim]
        ragged = math.prod(d.trips for d in nest.digits[dim]) != nest.problem.sizes[dim]
        along = _periods_along(tensor, dim, periods)
        if dim in padded or (ragged and (max(along) > 1 or any(c > 1 for c in steps))):
            ranges.append(range(trips))
            continue
        tile = next(digit.tile for digit in nest.digits[dim] if digit.position == i)
        ranges.append(range(min(trips, max(period // math.gcd(period, tile) for period in along))))
    return [frozenset(zip(above, values, strict=True)) for values in itertools.product(*ranges)]


def _periods_along(tensor: Tensor, dim: str, periods: Periods) -> set[int]:
    """Indices of a dimension after which tiles lie in their lines as before."""
    for rank, each in zip(tensor.ranks, periods, strict=False):
        for name, coefficient in rank:
            if name == dim:
                return {words // math.gcd(words, coefficient) for words in each}
    return {1}


def _account(table: AccessTable, memory: str, tensor: str) -> Accesses:
    return table.setdefault((memory, tensor), Accesses())


def _count_operand(nest: Nest, boundary: Boundary, table: AccessTable, outer: list[Place], inner: list[Place]) -> None:
    """Count an operand's words: one read of the outer memory for each multicast, one write for each inner instance."""
    position, tensor = boundary.inner_position, boundary.tensor
    groups = [Group(position, boundary.multicast, place) for place in outer]
    account = _account(table, boundary.outer.name, tensor.name)
    if boundary.inner is None:
        account.reads += max(words_in(nest, tensor, EVERY, group)[0] for group in groups)
        return
    halo = boundary.inner.halo
    account.reads += max(moved_words(nest, tensor, halo, group) for group in groups)
    account = _account(table, boundary.inner.name, tensor.name)
    filled = max(moved_words(nest, tensor, halo, Group(position, NOTHING, place)) for place in inner)
    account.writes += filled
    account.fills += filled


def _count_partial_sums(
    nest: Nest, boundary: Boundary, table: AccessTable, outers: list[Place], inners: list[Place]
) -> None:
    """Count an output's words: every arrival is a write of the outer memory, and every arrival of a word after its
    first is also a read."""
    position, tensor = boundary.inner_position, boundary.tensor
    arrivals, first_arrivals = arriving_sums(nest, boundary, outers[0])
    outer = _account(table, boundary.outer.name, tensor.name)
    if boundary.inner is not None:
        leaving = Group(position, NOTHING, inners[0])
        visits = moved_words(nest, tensor, "none", leaving)
        first_visits = _distinct(nest, tensor, leaving)
        inner = _account(table, boundary.inner.name, tensor.name)
        returning, drained = sums_inwards(nest.arch, visits, first_visits), sums_drained(nest.arch, visits)
        inner.writes += returning
        inner.fills += returning
        inner.reads += drained
        inner.drains += drained
        if may_finish(nest, position):
            inner.finished_reads += sums_drained(nest.arch, first_visits)
        if may_finish(nest, boundary.outer_position):
            outer.finished_writes += first_arrivals
    outer.writes += arrivals
    outer.reads += sums_inwards(nest.arch, arrivals, first_arrivals)


def arriving_sums(nest: Nest, boundary: Boundary, outer: Place = ALL) -> tuple[int, int]:
    """Return the partial sums that arrive at the outer memory of a boundary, and how many of them are the first of
    their word."""
    tensor, arriving = boundary.tensor, Group(boundary.inner_position, boundary.reduced, outer)
    first = _distinct(nest, tensor, Group(boundary.outer_position, only=outer))
    if boundary.inner is None:
        return words_in(nest, tensor, EVERY, arriving)[0], first
    return moved_words(nest, tensor, "none", arriving), first


def may_finish(nest: Nest, position: int) -> bool:
    """Whether words of this output node are finished at their last arrival.

    Not in the accumulator next to the MAC, and not while several instances each hold a part of the sum.
    """
    shares = any(nest.loops[i].dim not in nest.problem.output.dims for i in nest.spatial_above(position))
    return position != nest.accumulator and not shares


def _steps(nest: Nest) -> int:
    """Count the settings of the temporal loops in which the first instance has work: no other instance has work when
    the first has none."""
    everything = Group(max(nest.loops, default=0) + 1, only=frozenset((i, 0) for i in nest.spatial))
    return math.prod(sum(kind.count for kind in _kinds(nest, dim, EVERY, everything)) for dim in nest.problem.dim_names)


def _distinct(nest: Nest, tensor: Tensor, group: Group) -> int:
    """Count the distinct words of an output that the counted instances ever hold, each instance separately."""
    words = 1
    for dim in nest.problem.dim_names:
        if dim in tensor.dims:
            words *= sum(k.count * sum(m.extent for m in k.moves) for k in _kinds(nest, dim, EVERY, group))
        else:
            words *= sum(k.count for k in _kinds(nest, dim, FIRST, group))
    return words


def moved_words(nest: Nest, tensor: Tensor, halo: str, group: Group) -> int:
    """Count the words that the instances at a node receive over the whole run: all words that they want, less those
    that they hold already."""
    innermost = nest.innermost_serving(tensor, group.position)
    words, _ = words_in(nest, tensor, Steps(innermost), group)
    return words - sum(
        words_in(nest, tensor, Steps(loop, moving=True), group)[1]
        for loop in sliding_loops(nest, tensor, halo, innermost, nest.start(group.position))
    )


def sliding_loops(nest: Nest, tensor: Tensor, halo: str, innermost: int, start: int = 0) -> list[int]:
    """Return the temporal loops at whose steps a node keeps the part of its tile that it still wants; loops above its
    branch, which begins at `start`, are not among them."""
    if halo == "exact":
        return [loop for loop in nest.temporal if start <= loop <= innermost]
    slides = innermost >= start and nest.loops[innermost].dim in tensor.dims
    return [innermost] if halo == "innermost" and slides else []


def words_in(nest: Nest, tensor: Tensor, steps: Steps, group: Group) -> tuple[int, int]:
    """Return the words wanted in some steps, and how many of them are held already."""
    known = nest.counted.get((tensor.name, steps, group))
    if known is None:
        known = nest.counted[tensor.name, steps, group] = _count_words_in(nest, tensor, steps, group)
    return known


def _count_words_in(nest: Nest, tensor: Tensor, steps: Steps, group: Group) -> tuple[int, int]:
    wanted = held = 1
    for rank, stored in tensor.stored_ranks:
        if stored is None:
            kinds = kinds_along_rank(nest, rank, steps, group)
        else:
            kinds = [_kinds(nest, dim, steps, group, nest.problem.sizes[dim]) for dim, _ in rank]
        new, kept = words_along_rank(tuple(c for _, c in rank), kinds, nest.arch.footprint, stored=stored)
        wanted *= new
        held *= kept
    times = times_moved(nest, tensor, steps, group)
    return wanted * times, held * times


def kinds_along_rank(nest: Nest, rank: Rank, steps: Steps, group: Group, period: int = 1) -> list[tuple[Kind, ...]]:
    """Return the moves of every dimension of a rank; the places where they begin are distinguished modulo a period of
    words."""
    return [_kinds(nest, dim, steps, group, period // math.gcd(period, c)) for dim, c in rank]


def ranges_along_rank(nest: Nest, rank: Rank, steps: Steps, group: Group) -> list[Ranges] | None:
    """Return the ranges of the tiles along every dimension of a rank, step by step; None where some of the steps move
    them."""
    found = []
    for dim, _ in rank:
        digits, tile, positions = nest.above(dim, group.position)
        only = frozenset(place for place in group.only if place[0] in positions)
        each = ranges_of_tiles(nest.problem.sizes[dim], digits, tile, steps, group.joined & positions, only)
        if each is None:
            return None
        found.append(each)
    return found


def times_moved(nest: Nest, tensor: Tensor, steps: Steps, group: Group) -> int:
    """Count the moves of the dimensions that do not index a tensor."""
    others = (dim for dim in nest.problem.dim_names if dim not in tensor.dims)
    return math.prod(sum(kind.count for kind in _kinds(nest, dim, steps, group)) for dim in others)


def _kinds(nest: Nest, dim: str, steps: Steps, group: Group, period: int = 1) -> tuple[Kind, ...]:
    digits, tile, positions = nest.above(dim, group.position)
    if not digits:
        return kinds_of_move(tile, (), tile, EVERY, NOTHING, ALL)
    joined = group.joined & positions
    only = frozenset(place for place in group.only if place[0] in positions) if group.only else ALL
    return kinds_of_move(nest.problem.sizes[dim], digits, tile, relative_steps(digits, steps), joined, only, period)
