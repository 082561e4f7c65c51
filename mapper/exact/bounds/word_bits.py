"""What words of operands with zeros take at least, by the tile: over all tiles that a memory may yet come to hold.

Which bits a word takes follows from the tile of the memory that holds it (`counting/zeros.py`). A boundary is charged
at a tile that lies between those of its two memories: the inner one's is no larger, the outer one's no smaller, and
both have to fit.
"""

from __future__ import annotations

import numpy as np

from ..counting.zeros import ZeroBounds
from ..lattice import Lattice
from ..rows import Floats


class WordBits:
    """Bits of words over one lattice, as multiples of the least that they take in any tile."""

    def __init__(self, zeros: ZeroBounds, lattice: Lattice) -> None:
        self.zeros = zeros
        self.lattice = lattice
        self._known: dict[tuple[int, int, bool], Floats] = {}

    def of_larger(self, memory: int, tensor: int) -> Floats:
        """(lattice) for every cell, the least over tiles that are no smaller."""
        return self._table(memory, tensor, larger=True)

    def of_smaller(self, memory: int, tensor: int) -> Floats:
        """(lattice) for every cell, the least over tiles that are no larger."""
        return self._table(memory, tensor, larger=False)

    def _table(self, memory: int, tensor: int, larger: bool) -> Floats:
        key = memory, tensor, larger
        if key not in self._known:
            bits = self._by_cell(memory, tensor)
            around = self.lattice.around(bits, range(len(self.lattice.sizes))) if larger else self.lattice.within(bits)
            # Where nothing fits, any number would do; that nothing fits is for others to say.
            times = np.where(np.isinf(around), 1.0, around / self.zeros.least_bits(memory, tensor))
            self._known[key] = np.maximum(times, 1.0)
        return self._known[key]

    def _by_cell(self, memory: int, tensor: int) -> Floats:
        """(lattice) the least over the tiles of each cell; infinite where the memory has no room for any of them."""
        least, most = (
            np.stack([axis.ravel() for axis in np.meshgrid(*ends, indexing="ij")], axis=1)
            for ends in (self.lattice.least, self.lattice.most)
        )
        bits = self.zeros.bits_between(memory, tensor, least, most)
        fits = self.zeros.fits_alone(memory, tensor, least)
        return np.where(fits, bits, np.inf).reshape(self.lattice.shape)
