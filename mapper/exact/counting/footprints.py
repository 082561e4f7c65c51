"""How many words a tile of each tensor has, and whether a memory has room for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....cost_models.cost import capacity_parts, held_width_bits
from ....cost_models.sets import distinct_sums_of
from ....ir import Tensor
from ..question.hierarchy import Hierarchy, NodeGroup
from ..rows import Flags, Ints
from .zeros import ZeroBounds


class Footprints:
    """Footprints on one problem and machine; `zeros` are those of its operands."""

    def __init__(self, hierarchy: Hierarchy, zeros: ZeroBounds | None = None) -> None:
        self.hierarchy = hierarchy
        self.zeros = zeros
        self.problem = hierarchy.problem
        self.index = {dim: i for i, dim in enumerate(self.problem.dim_names)}
        self.sizes = np.array([size for _, size in self.problem.dims], dtype=np.int64)
        self._largest: dict[tuple[tuple[NodeGroup, tuple[int, ...]], ...], tuple[int, ...]] = {}

    def tile_words(self, tensor: Tensor, tiles: Ints) -> Ints:
        """Count (rows,) the words of a tensor in each tile (rows, dims): its distinct words, or all words of its
        bounding box; along padded ranks no more than are stored."""
        words = np.ones(len(tiles), dtype=np.int64)
        for rank, stored in tensor.stored_ranks:
            if rank:
                columns = [tiles[:, self.index[dim]] for dim, _ in rank]
                footprint = self.hierarchy.arch.footprint
                along = distinct_sums_of(tuple(c for _, c in rank), columns, footprint)
                most = None if stored is None else stored.most(gaps=footprint == "box")
                words = words * (along if most is None else np.minimum(along, most))
        return words

    def used(self, memory: int, held: Sequence[tuple[int, Ints]], exactly: bool = False) -> list[Ints]:
        """Per bounded part of a memory, (rows,) bits that tiles take: pairs of tensor index and tiles (rows, dims).

        exactly  else at least, where operands have zeros: and no less in larger tiles. Where the memory has lines, as
                 many as hold so much are counted: at least, since a tile may touch more
        """
        level = self.hierarchy.memories[memory]
        copies = 2 if level.double_buffered else 1
        found = []
        for part in capacity_parts(level):
            bits = np.zeros(len(held[0][1]), dtype=np.int64)
            for t, tiles in held:
                tensor = self.problem.tensors[t]
                if tensor.role in part.roles and self.zeros is not None:
                    bits = bits + copies * self.zeros.room(memory, t, tiles, exactly)
                elif tensor.role in part.roles:
                    taken = held_width_bits(self.hierarchy.arch, level, tensor) * self.tile_words(tensor, tiles)
                    bits = bits + copies * (taken if level.line_bits is None else _in_lines(taken, level.line_bits))
            found.append(bits)
        return found

    def fits(self, memory: int, held: Sequence[tuple[int, Ints]], exactly: bool = False) -> Flags:
        """(rows,) whether one instance of a memory holds tiles: pairs of tensor index and tiles (rows, dims).

        exactly  as of `used`
        """
        fine, used = np.ones(len(held[0][1]), dtype=bool), self.used(memory, held, exactly)
        for part, bits in zip(capacity_parts(self.hierarchy.memories[memory]), used, strict=True):
            fine &= bits <= part.bits
        return fine

    def largest(self, ways: tuple[tuple[NodeGroup, tuple[int, ...]], ...]) -> tuple[int, ...]:
        """Per dimension, the largest tile, one element along all others, that some node group has room for beside
        nothing else; at least one element.

        ways  node groups, each with its residents (see `leaves_room`)
        """
        if ways not in self._largest:
            fine, most = np.ones_like(self.sizes), self.sizes.copy()
            while (fine < most).any():
                tried = (fine + most + 1) // 2
                tiles = np.ones((len(tried), len(tried)), dtype=np.int64)
                np.fill_diagonal(tiles, tried)
                fits = np.any(
                    [self.leaves_room(residents, node_group, [], tiles) for node_group, residents in ways], axis=0
                )
                fine, most = np.where(fits, tried, fine), np.where(fits, most, tried - 1)
            self._largest[ways] = tuple(fine.tolist())
        return self._largest[ways]

    def leaves_room(
        self, residents: Sequence[int], node_group: NodeGroup, earlier: Sequence[tuple[int, Ints]], tiles: Ints
    ) -> Flags:
        """(rows,) whether a node group with these tiles fits, if the residents' tiles are at least as large.

        earlier  tiles that other node groups of the same memory hold already
        """
        return self.fits(node_group.memory, [*((t, tiles) for t in residents), *earlier])


def _in_lines(bits: Ints, line_bits: int) -> Ints:
    """The bits of as many lines as hold so many bits."""
    lines: Ints = -(-bits // line_bits) * line_bits
    return lines
