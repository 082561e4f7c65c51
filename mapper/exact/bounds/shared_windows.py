"""How many instances share a word of a window at most, tile by tile, where the arrays are known.

Lemma. Let instances with tiles of a perfect tiling be served together, n_d of them along each dimension d of a rank,
with tiles of t_d elements there. Wherever loops stand between the tile and the arrays, the tiles of different instances
along d have no element in common: n_d t_d elements in all. A sum A + B of two sets of integers has |A| + |B| - 1
elements at least. So together they want

    sum over d of n_d t_d, less one for every dimension but one

different words along the rank at least, where each of the instances wants the distinct sums of its own tile. Where a
tile slides along a loop, it counts as one with all that it comes to: over the steps of that loop no fewer words are
served than are wanted in any of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from ....cost_models.sets import distinct_sums
from ....ir import Rank
from ..hierarchy import Hierarchy, MemoryBoundary
from ..lattice import Lattice
from ..rows import Floats, Ints, distinct, row_codes
from .array_groups import MOST_KNOWN, ArrayGroup


class SharedWindows:
    """Over one lattice, for the arrays of some groups."""

    def __init__(self, hierarchy: Hierarchy, lattice: Lattice, arrays: ArrayGroup) -> None:
        self.hierarchy = hierarchy
        self.lattice = lattice
        self.arrays = arrays
        self.dims = hierarchy.problem.dim_names

    def shared_by(self, boundary: MemoryBoundary, passed: int) -> Floats | None:
        """(groups, cells) instances that may share a serving of an operand charged at each tile, inside fanout
        `passed`, at most; None: no more is known than for any tile."""
        tensor = self.hierarchy.problem.tensors[boundary.tensor]
        joined = [f for f in range(passed, len(self.hierarchy.fanouts)) if self.hierarchy.joins(f, boundary)]
        windows = [rank for rank in tensor.ranks if len(rank) > 1]
        if self.lattice.tiling != "perfect" or tensor.is_output or not joined or not windows:
            return None
        others = [d for d, dim in enumerate(self.dims) if dim not in tensor.dims]
        found = np.full((self.arrays.stacked, *self.lattice.shape), np.inf)
        for group, least in enumerate(found):
            spreads = self._spreads(group, joined)
            if spreads is not None:
                least[...] = 0.0
                for spread in spreads:
                    shared: Floats = np.full(self.lattice.shape, float(np.prod(spread[others])))
                    for rank in windows:
                        shared = shared * self._along(rank, spread)
                    np.maximum(least, shared, out=least)
        return found.reshape(len(found), -1)

    def _spreads(self, group: int, joined: Sequence[int]) -> Ints | None:
        """(choices, dims) instances of some fanouts together, for all their arrays in a group; None: any, or many."""
        known = [self.arrays.arrays[f][group] for f in joined]
        arrays = [array for array in known if array is not None]
        if len(arrays) < len(known) or np.prod([len(array) for array in arrays]) > MOST_KNOWN:
            return None
        spreads = np.array([np.prod(choice, axis=0) for choice in itertools.product(*arrays)])
        return spreads[distinct(row_codes(list(spreads.T)))[0]]

    def _along(self, rank: Rank, spread: Ints) -> Floats:
        """(lattice) instances that may share a word along a rank, at most."""
        dims = [self.dims.index(dim) for dim, _ in rank]
        tiles = np.meshgrid(*(self.lattice.tiles[d] for d in dims), indexing="ij")
        flat = np.stack([each.ravel() for each in tiles], axis=1)
        coefficients = tuple(c for _, c in rank)
        own = np.array([distinct_sums(coefficients, tuple(tile)) for tile in flat.tolist()])
        together = np.maximum((flat * spread[dims]).sum(axis=1) - (len(dims) - 1), own)
        shared = np.prod(spread[dims]) * own / together
        return self.lattice.along(dims, shared.reshape(tiles[0].shape))
