"""What gating and skipping save: the chance that an access, or a multiply-accumulate, has no effect.

An access of a tensor (the target) at a memory has no effect when the words of another tensor (the condition) that are
used with it are all zero. These words are the *condition tile*: what the loops touch during the stay of the target's
words in the next holder inwards, in all instances that the access serves. The next holder of the innermost memory is
the MAC, which holds nothing: there it is one word, or that of every instance which shares the access.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from typing import Literal

from ...arch import Architecture, Footprint
from ...ir import Loop, Mapping, Tensor
from ..boundaries import Boundary
from ..sets import distinct_sums

Kind = Literal["gating", "skipping"]


def stay(mapping: Mapping, arch: Architecture, boundary: Boundary) -> tuple[int, ...]:
    """Where the loops stand whose steps one access across a boundary serves.

    Those further in; the loops in time inside the innermost one that moves the target, wherever that stands (all of
    them pass the MAC, which holds nothing); and the loops over instances that share the access. A memory with an exact
    halo keeps the words of a tile that comes again, whatever the loop: there only loops over its dimensions move it.
    """
    target, inner = boundary.tensor, boundary.inner
    keeps = inner is not None and inner.halo == "exact" and not target.is_output
    loops = [(i, loop) for i, loop in enumerate(mapping.nest.items) if isinstance(loop, Loop) and loop.trips > 1]
    above = [(i, loop) for i, loop in loops if i < boundary.inner_position]
    moving = [loop.dim in target.dims if keeps else arch.loop_moves(loop.dim, target) for _, loop in above]
    last = max((i for (i, loop), moves in zip(above, moving, strict=True) if moves and not loop.is_spatial), default=-1)
    shared = boundary.reduced if target.is_output else boundary.multicast
    served = [i for i, _ in loops if i >= boundary.inner_position]
    for i, loop in above:
        serves = inner is not None and i > last
        if loop.is_spatial:
            serves = loop.dim not in target.dims and i in shared
        if serves:
            served.append(i)
    return tuple(sorted(served))


def box(tensor: Tensor, extents: MappingABC[str, int], footprint: Footprint = "box") -> tuple[int, ...]:
    """Extents of the box that a tile touches, by rank; or how many places of each it touches."""
    return tuple(
        distinct_sums(tuple(c for _, c in rank), tuple(extents[dim] for dim, _ in rank), footprint)
        for rank in tensor.ranks
    )
