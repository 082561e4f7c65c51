"""From the rows of the search to a mapping: tiles, arrays and orders written out as loops and nodes."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir import Axis, Loop, LoopNest, Mapping, Node, Problem, ceil_div
from ..question.hierarchy import Path
from ..tiles.instances import AxisSpans, split_over_axes
from ..tiles.visits import VisitTiles
from .batch import Order


def build_mapping(
    path: Path,
    visit: VisitTiles,
    even: Sequence[bool],
    tiles: Sequence[Sequence[int]],
    arrays: Sequence[Sequence[int]],
    orders: Sequence[Order],
    spans: Sequence[Sequence[AxisSpans]],
) -> Mapping:
    """Build the nest of one complete row.

    tiles   per node group, innermost first, elements per dimension
    arrays  per fanout, innermost first, instances per dimension
    visit   which tiles the mapping is made of; loops over visits stand directly below the outermost nodes
    orders  per band, innermost first, the dimensions of its temporal loops, innermost loop first
    spans   per fanout, per dimension, the least and the most trips on each axis
    """
    hierarchy, problem = path.hierarchy, path.hierarchy.problem
    sizes = [size for _, size in problem.dims]
    below = [1] * len(sizes)
    parts: list[list[Loop | Node]] = []
    for band, node_group in enumerate(path.node_groups):
        inner: list[Loop | Node] = []
        for fanout in (f for f, place in enumerate(path.bands) if place == band):
            level = hierarchy.fanouts[fanout]
            lefts = [ceil_div(size, tile) for size, tile in zip(visit.sizes, below, strict=True)]
            pairs = split_over_axes(problem, level, lefts, arrays[fanout], visit.tilings, even, spans[fanout])
            inner = [*_spatial_loops(problem.dim_names, level.name, lefts, pairs), *inner]
            below = [min(t * n, s) for t, n, s in zip(below, arrays[fanout], sizes, strict=True)]
        counts = [ceil_div(tile, covered) for tile, covered in zip(tiles[band], below, strict=True)]
        trips = dict(zip(problem.dim_names, counts, strict=True))
        temporal = [Loop(dim, trips[dim]) for dim in reversed(orders[band]) if trips[dim] > 1]
        kept_in = [hierarchy.memories[hierarchy.node_memory(node_group, t)].name for t in node_group.tensors]
        nodes = [Node(memory, problem.tensors[t].name) for memory, t in zip(kept_in, node_group.tensors, strict=True)]
        outside = _visits(problem, visit) if band == len(path.node_groups) - 1 else []
        parts.append([*nodes, *outside, *temporal, *inner])
        below = list(tiles[band])
    return Mapping(problem, LoopNest(tuple(item for part in reversed(parts) for item in part)))


def _visits(problem: Problem, visit: VisitTiles) -> list[Loop]:
    """Return the loops over the visits of a branch, where the last visit is shorter."""
    pairs = zip(problem.dims, visit.sizes, strict=True)
    return [Loop(dim, ceil_div(size, tile)) for (dim, size), tile in pairs if tile < size]


def _spatial_loops(
    dims: Sequence[str], fanout: str, lefts: Sequence[int], pairs: Sequence[tuple[int, int]]
) -> list[Loop | Node]:
    """Return the loops over axis y outside those over axis x; where they cover all that is left, y has just enough
    trips."""
    outer = [
        Loop(dim, min(y, ceil_div(left, x)), Axis(fanout, 1))
        for dim, left, (x, y) in zip(dims, lefts, pairs, strict=True)
        if min(y, ceil_div(left, x)) > 1
    ]
    inner = [Loop(dim, x, Axis(fanout, 0)) for dim, (x, _) in zip(dims, pairs, strict=True) if x > 1]
    return [*outer, *inner]
