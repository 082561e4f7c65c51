"""Formats as ranks of a fibertree, and the units of metadata that they take on average: Sparseloop's rules.

Of a rank, `fibers` is how many fibers it can have (the coordinates of all ranks outside it), `shape` the coordinates of
one. `unfilled` is the chance that a fiber is empty, `missing` that a coordinate is. Sources: Sparseloop (MICRO 2022)
and its `FormatModel::GetOccupancy`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from occupancies import empty, nonzeros

from tilewright.cost_models.sparse.densities import Density

RankKind = Literal["UOP", "UB", "CP", "RLE", "B"]
COMPRESSED: frozenset[RankKind] = frozenset(("CP", "RLE", "B"))


@dataclass(frozen=True)
class RankFormat:
    """One rank of a format.

    kind   uncompressed offset pairs, uncompressed bitmask, coordinate-payload, run length, bitmask
    dims   dimensions whose loops it may take together; None: one loop
    bits   of one unit of metadata, if the format states it
    payload_bits  of one unit of payload, if it does
    """

    kind: RankKind
    dims: frozenset[str] | None = None
    bits: int | None = None
    payload_bits: int | None = None


@dataclass(frozen=True)
class Units:
    """Units of one rank: coordinates, runs or bits, and what points from it to the next rank inwards."""

    metadata: float
    payload: float


def rank_units(kind: RankKind, fibers: int, shape: int, unfilled: float, missing: float) -> Units:
    """Expected units of a rank."""
    filled = fibers * (1.0 - unfilled)
    present = shape * (1.0 - missing)
    if kind == "CP":
        return Units(filled * math.ceil(present), filled * math.ceil(present))
    if kind == "RLE":
        return Units(filled * present, filled * present)
    if kind == "B":
        return Units(filled * shape, filled * math.ceil(present))
    if kind == "UB":
        return Units(fibers * shape, fibers * shape)
    return Units(0.0, filled * (shape + 1))


def tile_units(kinds: Sequence[RankKind | None], shapes: Sequence[int], density: Density) -> list[Units]:
    """Expected units of every rank of a tile, ranks and their shapes outermost first; None is an idle rank.

    density  of the tile itself, whose words are those of all shapes together
    """
    words = math.prod(shapes)
    found = []
    busy = [
        kind is not None and (shape > 1 or i == 0) for i, (kind, shape) in enumerate(zip(kinds, shapes, strict=True))
    ]
    innermost = max((i for i, works in enumerate(busy) if works), default=0)
    fibers = 1
    for i, (kind, shape) in enumerate(zip(kinds, shapes, strict=True)):
        if kind is None or not busy[i]:
            found.append(Units(0.0, 0.0))
            continue
        below = math.prod(shapes[i + 1 :])
        unfilled, missing = (empty(nonzeros(density, (n,), (words,))) for n in (shape * below, below))
        units = rank_units(kind, fibers, shape, unfilled, missing)
        found.append(Units(units.metadata, 0.0) if i == innermost else units)
        fibers *= shape
    return found
