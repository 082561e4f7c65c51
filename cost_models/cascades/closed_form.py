"""Words that a fused mapping moves, in closed form: per operation, the same integers as its simulator's.

The way of an operation through the tree is an ordinary nest, in which what stands inside a branch is filled anew at
every visit: every loop above the branch serves its nodes, whether or not it moves their tiles, and nothing that slides
is kept over such a step. Visits differ in their place alone, so the sum over visits is one more sum over steps, and the
formulas for one operation give it. The first visit of a partial sum stays the first of the whole run: loops above that
move the output make other words of it, and loops that do not add to what is there.
"""

from __future__ import annotations

from ...arch import Architecture
from ...ir import FusedMapping
from ..closed_form import Nest, count_boundaries
from ..counts import Accesses, AccessTable, Counts
from .ways import Way, ways_of


def count_tree(fused: FusedMapping, arch: Architecture) -> dict[str, Counts]:
    """Words that every memory reads and writes for each operation, and its compute steps; equal to `simulate_tree`.

    Raises MappingError when a node or loop stands where the architecture has no place for it.
    """
    return {name: count_way(way, arch) for name, way in ways_of(fused, arch).items()}


def count_way(way: Way, arch: Architecture) -> Counts:
    """The counts of one operation."""
    counts = count_boundaries(Nest.of(way.mapping, arch, way.path.starts), way.mapping, way.boundaries)
    for borrowed in way.borrowed:
        other = borrowed.path
        filled = count_boundaries(Nest.of(other.mapping, arch, other.starts), other.mapping, (borrowed.boundary,))
        _add(counts.total, filled.total)
        _add(counts.busiest, filled.busiest)
        counts.in_use |= filled.in_use
        for (fanout, tensor), hops in filled.hops.items():
            counts.add_hops(fanout, tensor, hops)
    return counts


def _add(table: AccessTable, more: AccessTable) -> None:
    for key, accesses in more.items():
        mine = table.setdefault(key, Accesses())
        for name, words in vars(accesses).items():
            setattr(mine, name, getattr(mine, name) + words)
