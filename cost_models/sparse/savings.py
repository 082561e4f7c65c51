"""What gating and skipping save: the chance that an access, or a multiply-accumulate, has no effect.

An access of a tensor (the target) at a memory has no effect when the words of another tensor (the condition) that are
used with it are all zero. These words are the *condition tile*: what the loops touch during the stay of the target's
words in the next holder inwards, in all instances that the access serves. The next holder of the innermost memory is
the MAC, which holds nothing: there it is one word, or that of every instance which shares the access.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from typing import Literal

from ...ir import Loop, Mapping, Tensor
from ..boundaries import Boundary
from ..sets import distinct_sums

Kind = Literal["gating", "skipping"]


@dataclass(frozen=True)
class Saving:
    """A memory leaves out accesses of a tensor where those of others make them useless.

    memory  that is read, or written; if it bypasses the target, the next memory outwards that keeps it
    kind    gating: the access takes its cycle and no energy; skipping: it takes neither
    target  tensor whose accesses are left out
    on      tensors; one of them that is all zero suffices
    """

    memory: str
    kind: Kind
    target: str
    on: tuple[str, ...]


def stay(mapping: Mapping, boundary: Boundary) -> dict[str, int]:
    """Extents by dimension of what is touched while one access across a boundary serves."""
    target = boundary.tensor
    items = mapping.nest.items
    loops = [(i, loop) for i, loop in enumerate(items) if isinstance(loop, Loop) and loop.trips > 1]
    between = [(i, loop) for i, loop in loops if boundary.outer_position <= i < boundary.inner_position]
    movers = [i for i, loop in between if not loop.is_spatial and loop.dim in target.dims]
    last = max(movers, default=boundary.outer_position)
    shared = boundary.reduced if target.is_output else boundary.multicast
    extents = dict.fromkeys(mapping.problem.dim_names, 1)
    for i, loop in loops:
        if i >= boundary.inner_position:
            inside = True
        elif i < boundary.outer_position:
            inside = False
        elif loop.is_spatial:
            inside = loop.dim not in target.dims and i in shared
        else:
            inside = boundary.inner is not None and i > last
        extents[loop.dim] *= loop.trips if inside else 1
    return extents


def box(tensor: Tensor, extents: MappingABC[str, int]) -> tuple[int, ...]:
    """Extents of the box that a tile touches, by rank."""
    return tuple(
        distinct_sums(tuple(c for _, c in rank), tuple(extents[dim] for dim, _ in rank), "box") for rank in tensor.ranks
    )


def compose(outer: float, inner: float) -> float:
    """The chance that a saving further in leaves out what one further out has not: tiles inside an empty one are empty
    as well."""
    return 0.0 if inner <= outer else 1.0 - (1.0 - inner) / (1.0 - outer)
