"""Bits of words of operands with zeros, tile by tile: what tables know beyond the least that any tile takes."""

from __future__ import annotations

import numpy as np

from ..counting.footprints import Footprints
from ..counting.zeros import ZeroBounds
from ..question.hierarchy import Hierarchy
from ..rows import Floats
from ..tiles.lattice import Lattice


class TileBits:
    """Over a lattice every tile of which has a cell of its own."""

    def __init__(self, hierarchy: Hierarchy, footprints: Footprints, lattice: Lattice, zeros: ZeroBounds) -> None:
        self.hierarchy = hierarchy
        self.footprints = footprints
        self.lattice = lattice
        self.zeros = zeros
        self._known: dict[tuple[str, int, int], Floats] = {}

    def at(self, memory: int, tensor: int) -> Floats | None:
        """(lattice) bits of a word of a tensor in a memory that holds each tile; infinite where it has no room. None:
        they do not depend on the tile."""
        if not self.zeros.depend_on_tiles(memory, tensor):
            return None
        key = ("at", memory, tensor)
        if key not in self._known:
            tiles = np.stack([g.ravel() for g in np.meshgrid(*self.lattice.least, indexing="ij")], axis=1)
            fits = self.footprints.fits(memory, [(tensor, tiles)])
            bits = np.full(len(tiles), np.inf)
            bits[fits] = self.zeros.bits(memory, tensor, tiles[fits])
            self._known[key] = bits.reshape(self.lattice.shape)
        return self._known[key]

    def within(self, memory: int, tensor: int) -> Floats | float:
        """The least of a memory whose tile lies inside each one."""
        return self._least("within", memory, tensor)

    def around(self, memory: int, tensor: int) -> Floats | float:
        """The least of a memory whose tile lies around each one."""
        return self._least("around", memory, tensor)

    def _least(self, kind: str, memory: int, tensor: int) -> Floats | float:
        """(lattice) or one for all; where no such tile has room, nothing comes to it."""
        bits, least = self.at(memory, tensor), self.zeros.least_bits(memory, tensor)
        if bits is None:
            return least
        key = (kind, memory, tensor)
        if key not in self._known:
            lattice = self.lattice
            found = lattice.within(bits) if kind == "within" else lattice.around(bits, range(bits.ndim))
            self._known[key] = np.where(np.isfinite(found), found, least)
        return self._known[key]

    def more_at_macs(self, memory: int, tensor: int) -> Floats | None:
        """(lattice) bits that a word takes beyond the least, where the memory is sure to be the one nearest to the
        MACs; None: it may not be, or there are none."""
        if self.hierarchy.fullest_placement[tensor][0] != memory:
            return None
        bits = self.at(memory, tensor)
        if bits is None:
            return None
        return np.where(np.isfinite(bits), bits - self.zeros.least_bits(memory, tensor), 0.0)
