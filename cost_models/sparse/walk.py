"""What sparse traffic means: a walk over every access of a mapping, with masks of the operands in hand.

The definition that `shares.py` has the means of: no chances, no formulas, and time in proportion to the accesses. An
access across a boundary serves all instances that share it, for as long as its words stay inside.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...ir import Loop, Tensor
from ..boundaries import Boundary
from .savings import stay
from .shares import SparseMapping

Counts = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

Masks = Mapping[str, Flags]
"""Where the words of operands are nonzero, by tensor: several masks at once, the first axis says which."""


@dataclass
class Walked:
    """Words of one tensor that cross a boundary, by mask.

    moved, gated  words
    moved_nonzero, gated_nonzero  of them, nonzero ones
    """

    moved: Counts
    gated: Counts
    moved_nonzero: Counts
    gated_nonzero: Counts


def walk(sparse: SparseMapping, masks: Masks) -> dict[tuple[str, int], Walked]:
    """Every access, by tensor and place of the boundary in its chain.

    Tiles are counted whole: for tensors whose tiles keep nothing when they move.
    """
    found = {}
    for tensor in sparse.mapping.problem.tensors:
        chain = sparse.chains[tensor.name]
        for index in range(len(chain)) if not tensor.is_output else [len(chain) - 1]:
            found[tensor.name, index] = walk_boundary(sparse, masks, tensor, index)
    return found


def walk_boundary(sparse: SparseMapping, masks: Masks, tensor: Tensor, index: int) -> Walked:
    """Every access across one boundary of a tensor."""
    chain = sparse.chains[tensor.name][: index + 1]
    boundary, many = chain[-1], _many(masks)
    total = Walked(*(np.zeros(many, dtype=np.int64) for _ in range(4)))
    own = sparse.saved(boundary)
    for fixed in _accesses(sparse, boundary):
        words, nonzero = _words(sparse, boundary, tensor, fixed, masks)
        here = np.ones(many, dtype=bool)
        for each in chain[:-1] if not tensor.is_output else []:
            here &= ~_left_out(sparse, masks, each, fixed)
        left = here & _left_out(sparse, masks, boundary, fixed)
        moved, gated = here & ~left, left & (own is not None and own[0] == "gating")
        total.moved += moved * words
        total.gated += gated * words
        total.moved_nonzero += moved * nonzero
        total.gated_nonzero += gated * nonzero
    return total


def _many(masks: Masks) -> int:
    return max((len(each) for each in masks.values()), default=1)


def _loops(sparse: SparseMapping) -> list[tuple[int, Loop]]:
    return [(i, item) for i, item in enumerate(sparse.mapping.nest.items) if isinstance(item, Loop)]


def _accesses(sparse: SparseMapping, boundary: Boundary) -> Iterator[dict[int, int]]:
    """Settings of the loops outside what one access serves; temporal loops inside that do not move it stand at 0."""
    served = {*stay(sparse.mapping, sparse.arch, boundary)}
    fixed = [(i, loop) for i, loop in _loops(sparse) if i not in served and loop.trips > 1]
    for values in itertools.product(*(range(loop.trips) for _, loop in fixed)):
        setting = dict(zip((i for i, _ in fixed), values, strict=True))
        if all(_places(sparse, setting, served).values()):
            yield setting


def _places(sparse: SparseMapping, fixed: Mapping[int, int], free: set[int]) -> dict[str, list[int]]:
    """Indices by dimension that are touched while free loops run; all others stand where they are fixed, or at 0."""
    below = dict.fromkeys(sparse.mapping.problem.dim_names, 1)
    found = {dim: [0] for dim in below}
    for i, loop in reversed(_loops(sparse)):
        values: Sequence[int] = range(loop.trips) if i in free else [fixed.get(i, 0)]
        found[loop.dim] = [outer * below[loop.dim] + inner for outer in values for inner in found[loop.dim]]
        below[loop.dim] *= loop.trips
    sizes = sparse.mapping.problem.sizes
    return {dim: [place for place in places if place < sizes[dim]] for dim, places in found.items()}


def _tile(tensor: Tensor, places: Mapping[str, list[int]]) -> tuple[npt.NDArray[np.int64], ...]:
    """The index of every word that some places touch, by rank."""
    ranks = []
    for rank in tensor.ranks:
        sums = {0}
        for dim, coefficient in rank:
            sums = {total + coefficient * place for total in sums for place in places[dim]}
        ranks.append(np.array(sorted(sums)))
    return np.ix_(*ranks)


def _flags(masks: Flags, index: tuple[npt.NDArray[np.int64], ...]) -> Flags:
    """Of some words, whether each is nonzero: a row for each mask."""
    every: tuple[Any, ...] = (slice(None), *index)
    found: Flags = masks[every]
    return found.reshape(len(found), -1)


def _are_zero(masks: Flags, index: tuple[npt.NDArray[np.int64], ...]) -> Flags:
    """Whether all of some words are zero, by mask."""
    found: Flags = _flags(masks, index).sum(axis=1) == 0
    return found


def _words(
    sparse: SparseMapping, boundary: Boundary, tensor: Tensor, fixed: Mapping[int, int], masks: Masks
) -> tuple[int, Counts]:
    """Words of an access, and how many of them are nonzero, by mask."""
    inside = {i for i, _ in _loops(sparse) if i >= boundary.inner_position}
    index = _tile(tensor, _places(sparse, fixed, inside))
    words = math.prod(part.size for part in index)
    if tensor.name in masks:
        return words, _flags(masks[tensor.name], index).sum(axis=1)
    return words, np.full(_many(masks), words)


def _left_out(sparse: SparseMapping, masks: Masks, boundary: Boundary, fixed: Mapping[int, int]) -> Flags:
    """Whether the access across a boundary that stands at some setting is left out, by mask."""
    found = np.zeros(_many(masks), dtype=bool)
    saved = sparse.saved(boundary)
    if saved is None:
        return found
    by_role = boundary.outer.gates if saved[0] == "gating" else boundary.outer.skips
    free = {*stay(sparse.mapping, sparse.arch, boundary)}
    for condition in sparse.mapping.problem.operands:
        deciding = condition.role in by_role[boundary.tensor.role] and condition is not boundary.tensor
        if deciding and condition.name in masks:
            found |= _are_zero(masks[condition.name], _tile(condition, _places(sparse, fixed, free)))
    return found


def walk_operations(sparse: SparseMapping, masks: Masks) -> tuple[Counts, Counts, Counts]:
    """Multiply-accumulates that are done, gated and skipped, by mask, of a machine without a structure."""
    every = [np.zeros(_many(masks), dtype=np.int64) for _ in range(3)]
    loops = [(i, loop) for i, loop in _loops(sparse) if loop.trips > 1]
    for values in itertools.product(*(range(loop.trips) for _, loop in loops)):
        fixed = dict(zip((i for i, _ in loops), values, strict=True))
        if not all(_places(sparse, fixed, set()).values()):
            continue  # a ragged dimension has no such place
        gated, skipped = (np.zeros(_many(masks), dtype=bool) for _ in range(2))
        for operand in sparse.mapping.problem.operands:
            zero: Flags = np.zeros(_many(masks), dtype=bool)
            if operand.name in masks:
                zero = _are_zero(masks[operand.name], _tile(operand, _places(sparse, fixed, set())))
            gated |= zero & (operand.role in sparse.arch.mac.gates)
            skipped |= zero & (operand.role in sparse.arch.mac.skips)
            for boundary in sparse.chains[operand.name]:
                saved = sparse.saved(boundary)
                left = _left_out(sparse, masks, boundary, fixed)
                if saved is not None and saved[0] == "gating":
                    gated |= left
                else:
                    skipped |= left
        for total, flags in zip(every, (~gated & ~skipped, gated & ~skipped, skipped), strict=True):
            total += flags
    return every[0], every[1], every[2]
