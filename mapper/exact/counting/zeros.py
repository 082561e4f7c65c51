"""Operands with zeros, as the search sees them: what is left, at least, of the words that it counts, and how many bits
they take, at least. The cost model has the last word on complete mappings.

What is left of the words across a boundary depends on what is used with one access (`cost_models/sparse/`). With
perfect tiles that is known when the boundary is charged: what the loops inside touch, and the instances that share the
access. A memory further out that leaves out accesses has larger tiles, which are empty less often; so of all memories
out to the outermost, the chance that they leave out an access is no more than it would be for these tiles. Before the
charge, and with ragged tiles, whose last ones are smaller, a single word of the operand that decides has the largest
chance.

How bits depend on tiles is known as soon as both tiles of a boundary are: until then the least bits count, and the
words are kept beside the costs (`cost_columns.py`), so that of two rows the better one is better whatever follows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ....arch import Memory
from ....arch.spec import SparseFormat
from ....cost_models.cost import capacity_parts, held_width_bits
from ....cost_models.sets import distinct_sums
from ....cost_models.sparse import Banded, Density, Measured, Structured, Uniform
from ....cost_models.sparse.densities import TileWords
from ....cost_models.sparse.formats import bits_for, metadata_bits
from ....cost_models.sparse.shares import tile_words
from ....ir import Tensor
from ..hierarchy import MAC, Hierarchy, MemoryBoundary
from ..rows import Floats, Ints, Rows, distinct, row_codes
from .fill_point import FillPoint
from .traffic import TrafficModel
from .zero_rules import ZeroRules

Figure = Callable[[tuple[int, ...]], float]
"""Of the extents of a tile along a tensor's ranks."""


class Left(NamedTuple):
    """Of the dense words across a boundary, those that cost energy, and those that take time; at least."""

    moved: Floats | float = 1.0
    timed: Floats | float = 1.0


EVERYTHING = Left()


@dataclass(frozen=True, eq=False)
class ZeroBounds:
    """What the rules mean in the numbers of a hierarchy, which may have fewer dimensions, for many partial mappings."""

    rules: ZeroRules
    hierarchy: Hierarchy
    _known: dict[object, float] = field(default_factory=dict, repr=False)
    _figures: dict[object, dict[tuple[int, ...], float]] = field(default_factory=dict, repr=False)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {dim: i for i, dim in enumerate(self.hierarchy.problem.dim_names)}

    def _tensor(self, tensor: int) -> Tensor:
        return self.rules.problem.tensors[tensor]

    def _memory(self, memory: int) -> Memory:
        return self.rules.arch.memories[-1 - memory]

    # ---- bits of a word ------------------------------------------------------------------------------------

    def least_bits(self, memory: int, tensor: int) -> float:
        """Bits that a word of an operand takes with its metadata in a memory, at least, on average."""
        key = ("least", memory, tensor)
        if key not in self._known:
            which, kinds = self._tensor(tensor), self.rules.formats(self._memory(memory), self._tensor(tensor))
            shape = self.rules.shape(which)
            if memory == self.hierarchy.outermost:  # its tile is all of the tensor
                self._known[key] = self._bits_of(which, kinds, shape)
            else:
                words = self._most_words(self._memory(memory), which)
                self._known[key] = min(self._least_of(which, kind, words) for kind in kinds)
        return self._known[key]

    def _least_of(self, tensor: Tensor, kind: SparseFormat, words: int) -> float:
        """The least bits of a word in a format, over all tiles of so many words at most: indices are no shorter in
        larger tiles."""
        width, nonzero = self.rules.arch.width_bits(tensor), self.rules.nonzero(tensor)
        density = self.rules.densities.get(tensor.name)
        if kind == "uncompressed":
            return float(width)
        if kind == "bitmask":
            return nonzero * width + 1.0
        if kind == "blocks" and isinstance(density, Structured):
            return nonzero * (width + bits_for(density.block))
        if kind == "coordinate":
            return nonzero * (width + bits_for(1))
        if kind == "runs":
            known = self._known_of(tensor, 1)
            return nonzero * (width + (bits_for(2 - known.least) if known else 0))
        rows = range(1, min(self.rules.shape(tensor)[-1], words) + 1)
        return nonzero * width + min(self._csr_bits(tensor, row, words) for row in rows)

    def _csr_bits(self, tensor: Tensor, row: int, words: int) -> float:
        """The least bits of metadata for a word, in rows of a length, of tiles of so many words at most: of all whose
        pointers are as long, the largest has the fewest."""
        least, most = (self._most_nonzero(tensor, max(row, count)).bit_length() for count in (1, words))
        found = math.inf
        for pointer in range(least, most + 1):
            largest = words if pointer == most else 2**pointer - 1
            found = min(found, (1.0 / row + 1.0 / largest) * pointer)
        return found + self.rules.nonzero(tensor) * bits_for(row)

    def _known_of(self, tensor: Tensor, words: int) -> TileWords | None:
        """What is known of a tile of so many words, where that depends on nothing else."""
        density, one = self.rules.densities[tensor.name], tuple(1 for _ in tensor.ranks[1:])
        if not isinstance(density, Uniform):
            return None
        return tile_words(density, (words, *one), (math.prod(self.rules.shape(tensor)), *one))

    def _most_nonzero(self, tensor: Tensor, words: int) -> int:
        """Nonzero words in the fullest tile of so many words or more, at least; 1 where that depends on the tile."""
        known = self._known_of(tensor, words)
        return known.most if known else 1

    def _most_words(self, memory: Memory, tensor: Tensor) -> int:
        """Words of the largest tile that a memory has room for, at most: where any words may be nonzero, as many may
        be as there are."""
        words, density = math.prod(self.rules.shape(tensor)), self.rules.densities.get(tensor.name)
        width = held_width_bits(self.rules.arch, memory, tensor)
        for part in capacity_parts(memory):
            fits = part.bits // width // (2 if memory.double_buffered else 1)
            if tensor.role in part.roles and isinstance(density, Uniform) and self._most_nonzero(tensor, words) > fits:
                words = min(words, max(1, fits))
        return words

    def depend_on_tiles(self, memory: int, tensor: int) -> bool:
        """Whether the bits of a word depend on the tile that a memory holds."""
        return memory != self.hierarchy.outermost and not self.rules.is_alike(
            self._memory(memory), self._tensor(tensor)
        )

    def bits(self, memory: int, tensor: int, tiles: Ints) -> Floats:
        """(rows,) bits of a word in a memory that holds tiles (rows, dims) of a tensor."""
        which, where = self._tensor(tensor), self._memory(memory)
        kinds = self.rules.formats(where, which)
        if not self.depend_on_tiles(memory, tensor):
            return np.full(len(tiles), self.least_bits(memory, tensor))
        return self._of_tiles(("bits", memory, tensor), which, tiles, lambda tile: self._bits_of(which, kinds, tile))

    def _bits_of(self, tensor: Tensor, kinds: Sequence[SparseFormat], tile: tuple[int, ...]) -> float:
        width, words, shape = self.rules.arch.width_bits(tensor), math.prod(tile), self.rules.shape(tensor)
        density, nonzero = self.rules.densities.get(tensor.name), self.rules.nonzero(tensor)
        return min(
            float(width)
            if kind == "uncompressed" or density is None
            else nonzero * width + metadata_bits(kind, density, tile, shape) / words
            for kind in kinds
        )

    # ---- room ----------------------------------------------------------------------------------------------

    def room(self, memory: int, tensor: int, tiles: Ints, exactly: bool) -> Ints:
        """(rows,) bits of the fullest tiles (rows, dims) in a memory, in the format that takes the fewest; at least,
        and never less in larger tiles, unless `exactly`."""
        which, where = self._tensor(tensor), self._memory(memory)
        kinds = self.rules.formats(where, which)
        width = held_width_bits(self.rules.arch, self.rules.arch.memories[-1 - memory], which)
        found = self._of_tiles(
            ("room", memory, tensor, exactly),
            which,
            tiles,
            lambda tile: float(min(self._room_of(which, kind, width, tile, exactly) for kind in kinds)),
        )
        return found.astype(np.int64)

    def _room_of(self, tensor: Tensor, kind: SparseFormat, width: int, tile: tuple[int, ...], exactly: bool) -> int:
        words = math.prod(tile)
        if kind == "uncompressed":
            return words * width
        density, shape = self.rules.densities[tensor.name], self.rules.shape(tensor)
        if exactly or isinstance(density, Uniform):
            most = tile_words(density, tile, shape).most
            return most * width + math.ceil(metadata_bits(kind, density, tile, shape, at_most=True))
        most = fewest_in_fullest(density, tile, shape)
        return most * width + (words if kind == "bitmask" else 0)

    # ---- what is left --------------------------------------------------------------------------------------

    def least_left(self, boundary: MemoryBoundary) -> Left:
        """Of the words across a boundary, at least, whatever the tiles."""
        ones = np.ones((1, len(self._index)), dtype=np.int64)
        key = ("left", boundary)
        if (key, "moved") not in self._known:
            moved, timed = self._left(boundary, ones)
            self._known[key, "moved"], self._known[key, "timed"] = (float(np.min(part)) for part in (moved, timed))
        return Left(self._known[key, "moved"], self._known[key, "timed"])

    def left(self, model: TrafficModel, rows: Rows, boundary: MemoryBoundary, fill_point: FillPoint | None) -> Left:
        """(rows,) of the words across a boundary that is charged there, at least."""
        if self.rules.tiling == "ragged" or not self._outwards(boundary):
            return self.least_left(boundary)
        return self._left(boundary, self._used_together(model, rows, boundary, fill_point))

    def _outwards(self, boundary: MemoryBoundary) -> list[tuple[int, Memory]]:
        """Memories from the outer one of a boundary outwards that may leave out words that pass it."""
        tensor = self._tensor(boundary.tensor)
        if tensor.is_output:
            outwards = range(boundary.outer, boundary.outer + 1) if boundary.inner == MAC else range(0)
        else:
            outwards = range(boundary.outer, len(self.rules.arch.memories))
        return [
            (memory, self._memory(memory))
            for memory in outwards
            if self._memory(memory).keeps[tensor.role] != "never" and self.rules.saves(self._memory(memory), tensor)
        ]

    def _left(self, boundary: MemoryBoundary, tiles: Ints) -> Left:
        """What is left where what is used together are tiles (rows, dims), of any memory further out as well."""
        tensor = self._tensor(boundary.tensor)
        moved = timed = np.ones(len(tiles))
        for number, memory in self._outwards(boundary):
            for by_role, skips in ((memory.gates, False), (memory.skips, True)):
                others = self.rules.deciding(tensor, by_role.get(tensor.role, ()))
                if not others:
                    continue
                useful = np.prod([1.0 - self._empty(other, tiles) for other in others], axis=0)
                moved = np.minimum(moved, useful)
                if skips or number > boundary.outer:
                    timed = np.minimum(timed, useful)
        return Left(moved, timed)

    def _empty(self, tensor: Tensor, tiles: Ints) -> Floats:
        density, shape = self.rules.densities[tensor.name], self.rules.shape(tensor)
        return self._of_tiles(
            ("empty", tensor.name), tensor, tiles, lambda tile: tile_words(density, tile, shape).empty
        )

    def _used_together(
        self, model: TrafficModel, rows: Rows, boundary: MemoryBoundary, fill_point: FillPoint | None
    ) -> Ints:
        """(rows, dims) what the loops touch while one access serves: those inside the charge but for instances that are
        served apart, and instances that share it."""
        tensor, path = self.hierarchy.problem.tensors[boundary.tensor], model.path
        if fill_point is None:
            tiles = np.ones((len(rows), len(self._index)), dtype=np.int64)
        else:
            tiles, inner = fill_point.tile.copy(), path.node_group_of(boundary.inner, boundary.tensor)
            for fanout, band in enumerate(path.bands):
                if inner < band <= fill_point.band:
                    tiles = tiles // rows.arrays[fanout]
        shared = [f for f in range(len(self.hierarchy.fanouts)) if self.hierarchy.joins(f, boundary)]
        others = [d for dim, d in self._index.items() if dim not in tensor.dims]
        for fanout in shared:
            tiles[:, others] *= rows.arrays[fanout][:, others]
        return tiles

    # ---- tiles ---------------------------------------------------------------------------------------------

    def _of_tiles(self, key: object, tensor: Tensor, tiles: Ints, figure: Figure) -> Floats:
        """(rows,) a figure of the extents of tiles (rows, dims) along a tensor's ranks, asked for each of them once."""
        columns = self._extents(tensor, tiles) or [np.ones(len(tiles), np.int64)]
        first, which = distinct(row_codes(columns))
        known = self._figures.setdefault(key, {})
        found = []
        for extents in zip(*(column[first].tolist() for column in columns), strict=True):
            value = known.get(extents)
            if value is None:
                value = known[extents] = figure(extents)
            found.append(value)
        return np.array(found, dtype=np.float64)[which]

    def _extents(self, tensor: Tensor, tiles: Ints) -> list[Ints]:
        """(rows,) per rank."""
        if self._is_joined(tensor):
            return self._joined(tensor, tiles)
        found = []
        for rank in tensor.ranks:
            kept = [(self._index[dim], c) for dim, c in rank if dim in self._index]
            if not kept:
                found.append(np.ones(len(tiles), dtype=np.int64))
            elif len(kept) == 1 and self.rules.arch.footprint == "exact":
                found.append(tiles[:, kept[0][0]])
            else:
                found.append(self._sums(tuple(c for _, c in kept), tiles[:, [d for d, _ in kept]]))
        return found

    def _is_joined(self, tensor: Tensor) -> bool:
        """Whether some of a tensor's dimensions are searched as one; those of a single element are left out."""
        left_out = (dim for dim in tensor.dims if dim not in self._index)
        return any(self.rules.problem.sizes[dim] > 1 for dim in left_out)

    def _joined(self, tensor: Tensor, tiles: Ints) -> list[Ints]:
        """The extents of a tensor some of whose dimensions are searched as one: which of its ranks has which part of
        them says nothing where any words are alike."""
        which = next(t for t in self.hierarchy.problem.tensors if t.name == tensor.name)
        words = np.ones(len(tiles), dtype=np.int64)
        for rank in which.ranks:
            dims = [self._index[dim] for dim, _ in rank]
            words = words * self._sums(tuple(c for _, c in rank), tiles[:, dims])
        return [words, *(np.ones_like(words) for _ in tensor.ranks[1:])]

    def _sums(self, coefficients: tuple[int, ...], tiles: Ints) -> Ints:
        """(rows,) distinct sums."""
        if len(coefficients) == 1 and self.rules.arch.footprint == "exact":
            column: Ints = tiles[:, 0]
            return column
        first, which = distinct(row_codes(list(tiles.T)))
        counts = [distinct_sums(coefficients, tuple(tile), self.rules.arch.footprint) for tile in tiles[first].tolist()]
        return np.array(counts, dtype=np.int64)[which]


def fewest_in_fullest(density: Density, tile: tuple[int, ...], tensor: tuple[int, ...]) -> int:
    """Nonzero words in the fullest tile, at least: those of the first one, which are never fewer in a larger tile."""
    if isinstance(density, Structured):
        extent = tile[density.rank]
        whole, rest = divmod(extent, density.block)
        return math.prod(tile) // extent * (density.kept * whole + min(density.kept, rest))
    if isinstance(density, Uniform):
        return density.words(tile, tensor).most
    assert isinstance(density, Measured | Banded)
    values = density.values != 0 if isinstance(density, Measured) else density.mask(tensor)
    return int(np.count_nonzero(values[tuple(slice(0, extent) for extent in tile)]))
