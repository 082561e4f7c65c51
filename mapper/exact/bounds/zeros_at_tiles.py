"""What tables know of operands with zeros, tile by tile: bits of a word beyond the least that any tile takes, and what
memories that gate or skip leave of the words across a boundary at least.


Of any tile, a memory may leave out as many accesses as meet a single zero. But an access serves for as long as nothing
charges it, and by then its words have met all that the loops inside have touched.

Lemma. Let a boundary of a tensor be charged at tile T of a perfect tiling, and let a_d be the instances along dimension
d of the arrays that stand between its inner node and the charge. While one access serves, the loops inside touch
T_d / a_d elements along d; and instances that share the access, T_d along dimensions that the tensor does not have, if
all these arrays share. With no fewer words of an operand in use, where any of them may be nonzero, the chance that all
are zero is no higher. So what is left for u_d <= T_d / a_d elements along each dimension (T_d where instances share) is
no more than what is left.

Of an operand's only saver, the part of its words that passes at the MACs, and part of the operations, follows from that
(`counting/charges.py`, `_book_further_in`): bounds add at the charge what rows have not been charged for these, at
least, since of a larger part that is left here no smaller one is left there.
"""

from __future__ import annotations

import math

import numpy as np

from ..counting.footprints import Footprints
from ..counting.zeros import Left, ZeroBounds
from ..question.hierarchy import Hierarchy, MemoryBoundary
from ..rows import Floats, Ints
from ..tiles.instances import axis_limits
from ..tiles.lattice import Lattice
from .array_groups import ArrayGroup


class TileBits:
    """Tile bits are the bits per word of operands with zeros, by tile, over a lattice in which every tile has its own
    cell."""

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


class LeftAtTiles:
    """Bounds on the part of a boundary's words that memories with savings let pass, by tile, for groups of arrays over
    one lattice."""

    def __init__(self, hierarchy: Hierarchy, lattice: Lattice, arrays: ArrayGroup, zeros: ZeroBounds) -> None:
        self.hierarchy = hierarchy
        self.lattice = lattice
        self.arrays = arrays
        self.zeros = zeros

    def of(self, boundary: MemoryBoundary, passed: int) -> Left | None:
        """(groups, cells) of the words across a boundary that is charged at each tile, inside fanout `passed`; None: as
        much as of any tile."""
        if self.lattice.tiling != "perfect" or not self.zeros.vary_with_use(boundary):
            return None
        cells = np.stack([g.ravel() for g in np.meshgrid(*self.lattice.least, indexing="ij")], axis=1)
        used = np.stack([-(-cells // apart) for apart in self._served_apart(boundary, passed)])
        left = self.zeros.left_of(boundary, used.reshape(-1, len(self.lattice.sizes)))
        return Left(*(np.reshape(part, used.shape[:2]) for part in left))

    def _served_apart(self, boundary: MemoryBoundary, passed: int) -> Ints:
        """(groups, dims) instances that an access does not serve together, at most: of the fanouts between the inner
        node and the charge."""
        hierarchy, tensor = self.hierarchy, self.hierarchy.problem.tensors[boundary.tensor]
        found = np.ones((self.arrays.stacked, len(self.lattice.sizes)), dtype=np.int64)
        for fanout in (f for f in range(passed) if hierarchy.inside[f] > boundary.inner):
            shares = hierarchy.joins(fanout, boundary)
            own = [d for d, dim in enumerate(hierarchy.problem.dim_names) if dim in tensor.dims or not shares]
            found[:, own] *= self._most_instances(fanout)[:, own]
        return found

    def _most_instances(self, fanout: int) -> Ints:
        """(groups, dims) along each dimension."""
        problem, level = self.hierarchy.problem, self.hierarchy.fanouts[fanout]
        limits = [math.prod(axis_limits(problem, level, dim)) for dim in problem.dim_names]
        return np.array([limits if known is None else known.max(axis=0) for known in self.arrays.arrays[fanout]])
