"""Gating and skipping by Sparseloop's rules: the chance that an access of a tensor has no effect."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from occupancies import empty
from sparseloop_nest import SparseNest

from tilewright.cost_models.boundaries import Boundary
from tilewright.cost_models.sparse.savings import Kind, box
from tilewright.ir import Tensor


@dataclass(frozen=True)
class Useless:
    """An own saving of a tensor at a memory, and the chance that it leaves an access out."""

    kind: Kind
    chance: float


def own_savings(nest: SparseNest, tensor: Tensor) -> list[Useless | None]:
    """Own savings of a tensor, by boundary from the outside in; the more effective one stays."""
    chain = nest.chains[tensor.name]
    found: list[Useless | None] = [None] * len(chain)
    order = sorted(nest.machine.savings, key=lambda saving: saving.kind != "gating")
    for saving in order:
        if saving.target != tensor.name:
            continue
        depth = nest.arch.depth[saving.memory]
        index = max(i for i, b in enumerate(chain) if nest.arch.depth[b.outer.name] <= depth)
        useful = 1.0
        for name in saving.on:
            condition = nest.mapping.problem.tensor(name)
            if _is_spread(nest, chain[index], condition):
                continue
            useful *= 1.0 - empty(nest.occupancy(condition, condition_tile(nest, chain[index], condition)))
        known = found[index]
        if known is None or 1.0 - useful > known.chance:
            found[index] = Useless(saving.kind, 1.0 - useful)
    return found


def condition_tile(nest: SparseNest, boundary: Boundary, condition: Tensor) -> tuple[int, ...]:
    """The box of the condition that is used while one access of the target serves."""
    extents = _extents(nest, boundary)
    block = nest.machine.block_words.get(boundary.outer.name, 1)
    target = math.prod(nest.tile(boundary.tensor, boundary.inner_position))
    extents[_innermost_loop(nest, boundary)] *= -(-block // target)
    return box(condition, extents)


def _is_spread(nest: SparseNest, boundary: Boundary, condition: Tensor) -> bool:
    """Whether instances that share an access stand inside an array along which the condition is spread: nothing is left
    out then."""
    spatial = [loop.dim for _, loop in nest.between(boundary) if loop.is_spatial]
    return any(
        outer in condition.dims and inner not in boundary.tensor.dims
        for outer, inner in itertools.combinations(spatial, 2)
    )


def _start(nest: SparseNest, boundary: Boundary) -> int | None:
    """The innermost loop above the next holder that touches the target."""
    touching = [i for i, loop in nest.between(boundary) if loop.dim in boundary.tensor.dims]
    return max(touching, default=None)


def _innermost_loop(nest: SparseNest, boundary: Boundary) -> str:
    """The dimension of the innermost loop between the holders; loops of one trip stand inside all others, the first
    dimension of the problem innermost. A block of the target is taken along it."""
    loops = [loop.dim for _, loop in nest.between(boundary)]
    once = [dim for dim in nest.mapping.problem.dim_names if dim not in loops]
    return once[0] if once else loops[-1]


def _extents(nest: SparseNest, boundary: Boundary) -> dict[str, int]:
    """Extents by dimension: what is inside the innermost loop that touches the target, arrays above it together."""
    between = nest.between(boundary)
    start = _start(nest, boundary)
    if boundary.inner is None and (not between or not between[-1][1].is_spatial):
        return dict.fromkeys(nest.mapping.problem.dim_names, 1)
    if start is None:
        return nest.below(boundary.outer_position)
    extents = nest.below(start + 1)
    for i, loop in between:
        if i < start and loop.is_spatial:
            extents[loop.dim] *= loop.trips
    if boundary.inner is not None and dict(between)[start].is_spatial:
        for i, loop in reversed(between):
            if i >= start or loop.is_spatial:
                continue
            if loop.dim in boundary.tensor.dims:
                break
            extents[loop.dim] *= loop.trips
    return extents
