"""How tensors between groups lie on a machine with caches: in the order of axes that is best for the lanes of who makes
them; what is done between groups reads them as they lie."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from .....workloads.graph import ApartOperation, ApartRead
from ...lowering.loop_program import PerfectNest, Statement
from ...lowering.register_tiles import Given, Registers, lane_of

Order = tuple[int, ...]
"""Axes of a tensor, the slowest first."""


def order_of(body: Sequence[Statement], tensor: str, registers: Registers, given: Given) -> Order | None:
    """The order that is best for who makes a tensor; None where the axes stand so already, or nothing is known."""
    nests = [one for one in body if isinstance(one, PerfectNest) and one.target.array.tensor.name == tensor]
    if len(nests) != 1:
        return None
    nest = nests[0]
    lane, price = lane_of(nest, registers, given, is_free=True)
    if lane is None or price == math.inf:
        return None
    axes = [axis for axis, part in enumerate(nest.target.index) if (nest.variables[lane], 1) in part.terms]
    order = (*(axis for axis in range(len(nest.target.index)) if axis not in axes), *axes)
    return order if len(axes) == 1 and order != tuple(range(len(order))) else None


def relaid(operation: ApartOperation, shapes: Mapping[str, tuple[Sequence[int], Order]]) -> ApartOperation | None:
    """The operation with its tensors read as they lie; None where a place is no sum of places along axes.

    shapes  of tensors that lie in another order, by who makes them: extents, and the order
    """
    if operation.computed is not None and any(read.source in shapes for read in operation.reads):
        return None
    reads = []
    for read in operation.reads:
        lies = shapes.get(read.source or "")
        found = read if lies is None else _relaid(read, *lies)
        if found is None:
            return None
        reads.append(found)
    return replace(operation, reads=tuple(reads))


def _relaid(read: ApartRead, extents: Sequence[int], order: Order) -> ApartRead | None:
    strides = dict(zip(order, _strides([extents[axis] for axis in order]), strict=True))
    most = np.zeros(len(extents), np.int64)
    offsets = []
    for each in read.offsets:
        if each.size == 0 or (each < 0).any():
            return None
        if int(each.max()) >= math.prod(extents):
            return None
        places = np.unravel_index(each, tuple(extents))
        most += [int(place.max()) for place in places]
        found = np.zeros_like(each)
        for axis, place in enumerate(places):
            found += place * strides[axis]
        offsets.append(found)
    if (most >= np.array(extents)).any():
        return None
    return replace(read, offsets=tuple(offsets))


def _strides(extents: Sequence[int]) -> list[int]:
    return [math.prod(extents[axis + 1 :]) for axis in range(len(extents))]
