"""Hops over the axes of fanouts: how far words travel on their way into an array, and partial sums on their way out.

An axis is a chain of links that starts at its first instance. Of two axes, words go along y first, in the column of
the first instances, and then along x, in the rows that want them: dimension-ordered routing as in W. Dally, B. Towles,
"Principles and Practices of Interconnection Networks", 2004, ch. 8, from one corner. A word for several instances of a
chain passes every link up to the furthest of them once, and so do partial sums that are added up on their way out.

Sharers of a word are taken to stand side by side. With n instances in use, f neighbours that share a word are any f of
them alike, so the furthest is on average (n + f) / 2 - 1 links away: (n - 1) / 2 for one, n - 1 for all. Summed over
all words this takes two counts, the words that enter the axis' chains and those that leave them to its instances:

    hops = ((n - 2) * entering + leaving) / 2        and 0 where n = 1
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ..arch import Architecture, Fanout
from ..ir import Axis, Loop, Mapping
from .boundaries import Boundary

Figures = TypeVar("Figures", float, npt.NDArray[np.float64])

Route = tuple[str, str]
"""A fanout and a tensor."""


@dataclass(frozen=True)
class Leg:
    """One axis on the way between two holders.

    fanout     where the axis is
    instances  in use along it: the trips of its loops
    joined     positions of the spatial loops whose instances share what enters the axis: its own and those further in,
               on fanouts that share
    """

    fanout: Fanout
    instances: int
    joined: frozenset[int]


def legs_of(boundary: Boundary, mapping: Mapping, arch: Architecture) -> tuple[Leg, ...]:
    """The axes between the holders of a boundary, outermost first; none where no fanout between costs hops."""
    between = mapping.nest.items[boundary.outer_position : boundary.inner_position]
    loops = [
        (position, item.trips, item.axis)
        for position, item in enumerate(between, boundary.outer_position)
        if isinstance(item, Loop) and item.axis is not None
    ]
    if not any(_fanout(arch, axis).hop_pj_per_bit for _, _, axis in loops):
        return ()
    shared = boundary.reduced if boundary.tensor.is_output else boundary.multicast
    axes = sorted({axis for _, _, axis in loops}, key=lambda axis: _depth(arch, axis))
    legs = []
    for axis in axes:
        instances = 1
        for _, trips, other in loops:
            instances *= trips if other == axis else 1
        inside = {i for i, _, other in loops if _depth(arch, other) >= _depth(arch, axis)}
        legs.append(Leg(_fanout(arch, axis), instances, shared & inside))
    return tuple(legs)


def hops_along(legs: tuple[Leg, ...], words: Callable[[frozenset[int]], int]) -> Iterator[tuple[Fanout, float]]:
    """Hops of every leg; `words` counts those that pass if the instances of some spatial loops share them."""
    passing = [words(leg.joined) for leg in legs] + [words(frozenset())] if legs else []
    for leg, entering, leaving in zip(legs, passing, passing[1:], strict=False):
        yield leg.fanout, hops(leg.instances, entering, leaving) if leg.instances > 1 else 0.0


def hops(instances: Figures, entering: Figures, leaving: Figures) -> Figures:
    """Return the hops along an axis of which two or more instances are in use."""
    return ((instances - 2) * entering + leaving) / 2


def _fanout(arch: Architecture, axis: Axis) -> Fanout:
    level = arch.level(axis.fanout)
    assert isinstance(level, Fanout)
    return level


def _depth(arch: Architecture, axis: Axis) -> tuple[int, int]:
    """Outer axes first, and of two axes of a fanout y."""
    return arch.depth[axis.fanout], -axis.index
