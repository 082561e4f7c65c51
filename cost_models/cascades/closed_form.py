"""Words that a fused mapping moves, in closed form: per operation, the same integers as its simulator's.

The way of an operation through the tree is an ordinary nest, in which what stands inside a branch is filled anew at
every visit: every loop above the branch serves its nodes, whether or not it moves their tiles, and nothing that slides
is kept over such a step. Visits differ in their place alone, so the sum over visits is one more sum over steps, and the
formulas for one operation give it. The first visit of a partial sum stays the first of the whole run: loops above that
move the output make other words of it, and loops that do not add to what is there.
"""

from __future__ import annotations

from dataclasses import replace

from ...arch import Architecture
from ...ir import Mapping, OperationPath
from ..boundaries import Boundary, chains_of
from ..closed_form import Nest, count_boundaries
from ..counts import Accesses, AccessTable, Counts, FirstTile
from .visits import first_tiles_of_visits, visits, whole_mapping
from .ways import Way, ways_of


def count_tree(fused: Mapping, arch: Architecture) -> dict[str, Counts]:
    """Words that every memory reads and writes for each operation, and its compute steps; equal to a walk step by step.

    Raises MappingError when a node or loop stands where the architecture has no place for it.
    """
    return {name: count_way(way, arch) for name, way in ways_of(fused, arch).items()}


def count_way(way: Way, arch: Architecture) -> Counts:
    """The counts of one operation."""
    if way.made:
        return _count_visits(way, arch)
    counts = count_boundaries(Nest.of(way.mapping, arch, way.path.starts), way.mapping, way.boundaries)
    for borrowed in way.borrowed:
        other = borrowed.path
        filled = count_boundaries(Nest.of(other.mapping, arch, other.starts), other.mapping, (borrowed.boundary,))
        _join(counts, filled, 1)
    if arch.latency == "with_fill":
        own = ((way.path, boundary) for boundary in way.boundaries)
        others = ((borrowed.path, borrowed.boundary) for borrowed in way.borrowed)
        counts.first_tiles = [one for path, at in (*own, *others) for one in _first_tiles(path, path.mapping, at, arch)]
    return counts


def _first_tiles(path: OperationPath, mapping: Mapping, boundary: Boundary, arch: Architecture) -> list[FirstTile]:
    """What a node gets first, in every visit of the branch that it stands in."""
    if boundary.inner is None:
        return []
    every = first_tiles_of_visits(mapping, arch, path.start(boundary.inner_position))
    return [one for one in every if (one.tensor, one.inner) == (boundary.tensor.name, boundary.inner.name)]


def _count_visits(way: Way, arch: Architecture) -> Counts:
    """The sum over visits that are not all alike, and the nodes above the split that only this operation fills."""
    counts = Counts(visits=0)
    for times, mapping in visits(way.path, way.made):
        visit = count_boundaries(Nest.of(mapping, arch), mapping, tuple(chains_of(mapping, arch)))
        counts.steps += times * visit.steps
        counts.visits += times * visit.visits
        _join(counts, visit, times)
        counts.first_tiles += [replace(first, times=times) for first in visit.first_tiles]
    for boundary in above_the_split(way):
        mapping = whole_mapping(way.path, boundary.tensor.name)
        same = tuple(b for b in chains_of(mapping, arch) if b.inner_position == boundary.inner_position)
        _join(counts, count_boundaries(Nest.of(mapping, arch, way.path.starts), mapping, same), 1)
        if arch.latency == "with_fill":
            counts.first_tiles += _first_tiles(way.path, mapping, boundary, arch)
    return counts


def above_the_split(way: Way) -> tuple[Boundary, ...]:
    """The boundaries of an operation into nodes above its split."""
    return tuple(b for b in way.boundaries if b.inner is not None and b.inner_position < way.path.starts[-1])


def _join(counts: Counts, more: Counts, times: int) -> None:
    _add(counts.total, more.total, times)
    _add(counts.busiest, more.busiest, times)
    for key, instances in more.in_use.items():
        counts.in_use[key] = max(counts.in_use.get(key, 0), instances)
    for (fanout, tensor), hops in more.hops.items():
        counts.add_hops(fanout, tensor, times * hops)
    for (outer, inner), refills in more.refills.items():
        counts.add_refills(outer, inner, times * refills)


def _add(table: AccessTable, more: AccessTable, times: int = 1) -> None:
    for key, accesses in more.items():
        mine = table.setdefault(key, Accesses())
        for name, words in vars(accesses).items():
            setattr(mine, name, getattr(mine, name) + times * words)
