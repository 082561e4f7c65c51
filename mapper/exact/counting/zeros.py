"""Lower bounds for operands with zeros: which share of the counted words still passes, and how many bits these take.
The cost model has the last word on complete mappings.

Whether an access is left out depends on the words of other operands that are used with it (`cost_models/sparse/`). With
perfect tiles these are known when the boundary is charged: what the loops inside touch, in all instances that share the
access. Memories further out have larger tiles, which are empty less often; so none of them leaves out an access with a
higher probability than these tiles give. Before the charge, and with ragged tiles, whose last ones are smaller, the
bound is that of a single word, which is empty most often.

Bits per word depend on the tiles on both sides of a boundary. Until both are known the least bits are charged, and the
words are kept beside the costs (`cost_columns.py`), so that a row that dominates another one does so whatever follows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from ....arch import Memory
from ....arch.spec import SparseFormat
from ....cost_models.cost import capacity_parts, held_width_bits
from ....cost_models.sets import distinct_sums_of
from ....cost_models.sparse import Banded, Density, Measured, Structured, Uniform
from ....cost_models.sparse.densities import TileWords
from ....cost_models.sparse.formats import bits_for, metadata_bits
from ....cost_models.sparse.shares import tile_words
from ....ir import Tensor
from ...effort import AT_ONCE
from ..question.hierarchy import MAC, Hierarchy, MemoryBoundary
from ..question.zero_rules import ALIKE, ZeroRules
from ..rows import Floats, Ints, Rows, distinct, row_codes
from .fill_point import FillPoint
from .traffic import TrafficModel

MOST_LISTED = AT_ONCE
"""Words of a tensor up to which figures of its tiles are kept in a list of all extents: 2 MB each."""

Figure = Callable[[tuple[int, ...]], float]
"""Works out a number from the extents of a tile along a tensor's ranks."""


class Left(NamedTuple):
    """Lower bounds on the share of the dense words across a boundary that costs energy, and on the share that takes
    time."""

    moved: Floats | float = 1.0
    timed: Floats | float = 1.0


EVERYTHING = Left()


class FurtherIn(NamedTuple):
    """What remains at the MACs beyond what has been counted, once it is known which share of an operand's words its
    only saver lets pass.

    boundary  between the operand's innermost memory and the MAC
    moved     further words, as a share of the dense words across it
    done      further operations, as a share of those that have been counted
    """

    boundary: MemoryBoundary
    moved: Floats
    done: Floats


@dataclass(frozen=True, eq=False)
class ZeroBounds:
    """Bounds by the rules for zeros (`question/zero_rules.py`) for many partial mappings at once; the hierarchy may
    have fewer dimensions than the problem of the rules."""

    rules: ZeroRules
    hierarchy: Hierarchy
    _known: dict[object, float] = field(default_factory=dict, repr=False)
    _figures: dict[object, dict[tuple[int, ...], float]] = field(default_factory=dict, repr=False)
    _listed: dict[object, Floats] = field(default_factory=dict, repr=False)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {dim: i for i, dim in enumerate(self.hierarchy.problem.dim_names)}

    def _tensor(self, tensor: int) -> Tensor:
        return self.rules.problem.tensors[tensor]

    def _memory(self, memory: int) -> Memory:
        return self.rules.arch.memories[-1 - memory]

    # ---- bits of a word ------------------------------------------------------------------------------------

    def least_bits(self, memory: int, tensor: int) -> float:
        """Return the least bits, on average, that a word of an operand takes in a memory, with its metadata."""
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
        """Return the least bits of a word in a format, over all tiles of at most `words` words; indices are no shorter
        in larger tiles."""
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
        """Return the least bits of CSR metadata per word, with rows of `row` words, over all tiles of at most `words`
        words: among tiles whose pointers are equally long, the largest has the fewest."""
        least, most = (self._most_nonzero(tensor, max(row, count)).bit_length() for count in (1, words))
        found = math.inf
        for pointer in range(least, most + 1):
            largest = words if pointer == most else 2**pointer - 1
            found = min(found, (1.0 / row + 1.0 / largest) * pointer)
        return found + self.rules.nonzero(tensor) * bits_for(row)

    def _known_of(self, tensor: Tensor, words: int) -> TileWords | None:
        """Return what is known of every tile of so many words, or None where it depends on more than their number."""
        density, one = self.rules.densities[tensor.name], tuple(1 for _ in tensor.ranks[1:])
        if not isinstance(density, Uniform):
            return None
        return tile_words(density, (words, *one), (math.prod(self.rules.shape(tensor)), *one))

    def _most_nonzero(self, tensor: Tensor, words: int) -> int:
        """Bound from below the nonzero words in the fullest tile of at least `words` words; 1 where they depend on the
        tile's shape."""
        known = self._known_of(tensor, words)
        return known.most if known else 1

    def _most_words(self, memory: Memory, tensor: Tensor) -> int:
        """Bound from above the words of a tile that fits a memory. With a uniform density any words of a tile may be
        the nonzero ones, so it needs room for all of its words, up to as many as the tensor has nonzero ones."""
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
        figure, by_words = partial(self._bits_of, which, kinds), "csr" not in kinds
        return self._of_tiles(("bits", memory, tensor), which, tiles, figure, by_words)

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
        """Bound from below (rows,) the bits of the fullest tiles (rows, dims) in a memory, in the format that takes the
        fewest, by a bound that never falls as tiles grow; `exactly`: the bits themselves, which may."""
        which, where = self._tensor(tensor), self._memory(memory)
        kinds = self.rules.formats(where, which)
        width = held_width_bits(self.rules.arch, self.rules.arch.memories[-1 - memory], which)
        columns, density = self._extents(which, tiles), self.rules.densities.get(which.name)
        if kinds == ("uncompressed",):
            return width * _product(columns)
        lines = np.ones(len(tiles), dtype=np.int64)
        if isinstance(density, Structured) and ALIKE.issuperset(kinds):  # each line of blocks takes as much
            along = columns[density.rank]
            lines, columns = _product(columns) // along, [np.ones_like(along) for _ in columns]
            columns[density.rank] = along
        found = self._of_extents(
            ("room", memory, tensor, exactly),
            which,
            columns,
            lambda tile: float(min(self._room_of(which, kind, width, tile, exactly) for kind in kinds)),
            by_words="csr" not in kinds,
        )
        return lines * found.astype(np.int64)

    def _room_of(self, tensor: Tensor, kind: SparseFormat, width: int, tile: tuple[int, ...], exactly: bool) -> int:
        words = math.prod(tile)
        if kind == "uncompressed":
            return words * width
        density, shape = self.rules.densities[tensor.name], self.rules.shape(tensor)
        if exactly or isinstance(density, Uniform):
            most = tile_words(density, tile, shape).most
            return most * width + math.ceil(metadata_bits(kind, density, tile, shape, at_most=True))
        most = fewest_in_fullest(density, tile, shape)
        return most * width + _least_metadata(kind, density, most, tile)

    # ---- what is left --------------------------------------------------------------------------------------

    def least_left(self, boundary: MemoryBoundary) -> Left:
        """Return the least share of the words across a boundary that passes, whatever the tiles."""
        ones = np.ones((1, len(self._index)), dtype=np.int64)
        key = ("left", boundary)
        if (key, "moved") not in self._known:
            moved, timed = self.left_of(boundary, ones)
            self._known[key, "moved"], self._known[key, "timed"] = (float(np.min(part)) for part in (moved, timed))
        return Left(self._known[key, "moved"], self._known[key, "timed"])

    def left(self, model: TrafficModel, rows: Rows, boundary: MemoryBoundary, fill_point: FillPoint | None) -> Left:
        """Return (rows,) the least share of the words that passes a boundary charged at a fill point."""
        if self.rules.tiling == "ragged" or not self._outwards(boundary):
            return self.least_left(boundary)
        return self.left_of(boundary, self._used_together(model, rows, boundary, fill_point))

    def vary_with_use(self, boundary: MemoryBoundary) -> bool:
        """Whether a smaller share of the words across a boundary is left out, the more words are used with one
        access."""
        tensor, decide = self._tensor(boundary.tensor), set()
        for _, memory in self._outwards(boundary):
            decide |= {*memory.gates.get(tensor.role, ()), *memory.skips.get(tensor.role, ())}
        others = self.rules.deciding(tensor, tuple(decide))
        alike = all(isinstance(self.rules.densities[other.name], Uniform) for other in others)
        return self.rules.tiling == "perfect" and bool(others) and alike

    def further_in(
        self, model: TrafficModel, rows: Rows, boundary: MemoryBoundary, moved: Floats | float
    ) -> FurtherIn | None:
        """Return what remains at the MACs beyond what has been counted, given the share of words that passes the
        boundary of an operand's only saver; None where the boundary is not that of an only saver."""
        if not self.decides_further_in(boundary):
            return None
        at_mac = MemoryBoundary(boundary.tensor, MAC, model.path.placement[boundary.tensor][0])
        return self._further_in(at_mac, self.left(model, rows, at_mac, None).moved, moved)

    def further_in_of_any(self, boundary: MemoryBoundary, moved: Floats) -> FurtherIn | None:
        """Bound from below what `further_in` finds in any mapping in which a share `moved` passes the boundary; None
        where other memories may stand further in, or instances share what they read there."""
        at_mac = MemoryBoundary(boundary.tensor, MAC, boundary.inner)
        shared = any(self.hierarchy.joins(f, at_mac) for f in range(len(self.hierarchy.fanouts)))
        innermost = self.hierarchy.fullest_placement[boundary.tensor][0] == boundary.inner
        if shared or not innermost or not self.decides_further_in(boundary):
            return None
        return self._further_in(at_mac, self.least_left(at_mac).moved, moved)

    def decides_further_in(self, boundary: MemoryBoundary) -> bool:
        """Whether the outer memory of a boundary is the only saver of an operand, which is held further in."""
        tensor = self._tensor(boundary.tensor)
        if boundary.inner == MAC or self.rules.tiling == "ragged" or tensor.is_output:
            return False
        return self.rules.only_saver(tensor) is self._memory(boundary.outer)

    def _further_in(self, at_mac: MemoryBoundary, counted: Floats | float, moved: Floats | float) -> FurtherIn:
        kept, most = self.rules.least_done(self._tensor(at_mac.tensor))
        done = np.maximum(np.minimum(moved, most) / kept - 1.0, 0.0)
        return FurtherIn(at_mac, np.maximum(moved - counted, 0.0), done)

    def _outwards(self, boundary: MemoryBoundary) -> list[tuple[int, Memory]]:
        """Return the memories, from the outer one of a boundary outwards, that may leave out words that pass it."""
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

    def left_of(self, boundary: MemoryBoundary, tiles: Ints) -> Left:
        """Return the share of the words across a boundary that the outer memory and all further out let pass, if one
        access is used with tiles (rows, dims)."""
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
        """Return (rows, dims) the tile that one access serves: that of the loops inside the charge, without instances
        that are served apart, and with those that share the access."""
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

    def _of_tiles(self, key: object, tensor: Tensor, tiles: Ints, figure: Figure, by_words: bool = True) -> Floats:
        """Return (rows,) a figure of tiles (rows, dims), worked out once for equal extents along a tensor's ranks.

        by_words  whether it depends on the number of words alone where the density is uniform
        """
        return self._of_extents(key, tensor, self._extents(tensor, tiles), figure, by_words)

    def _of_extents(
        self, key: object, tensor: Tensor, columns: Sequence[Ints], figure: Figure, by_words: bool
    ) -> Floats:
        """Return (rows,) the same figure from the extents (rows,) along each rank."""
        shape = self.rules.shape(tensor) or (1,)
        if self._is_joined(tensor) or (by_words and isinstance(self.rules.densities.get(tensor.name), Uniform)):
            ones = [np.ones_like(columns[0]) for _ in shape[1:]]
            columns, shape = [_product(columns), *ones], (math.prod(shape), *(1 for _ in ones))
        if math.prod(shape) > MOST_LISTED:
            first, which = distinct(row_codes(columns))
            known = self._figures.setdefault(key, {})
            found = [_known(known, each, figure) for each in _rows_of(columns, first)]
            return np.array(found, dtype=np.float64)[which]
        if key not in self._listed:
            self._listed[key] = np.full(math.prod(shape), np.nan)
        listed, codes = self._listed[key], np.zeros_like(columns[0])
        for column, size in zip(columns, shape, strict=True):
            codes = codes * size + (column - 1)
        missing = np.flatnonzero(np.isnan(listed[codes]))
        if len(missing):
            new, first = np.unique(codes[missing], return_index=True)
            listed[new] = [figure(each) for each in _rows_of(columns, missing[first])]
        values: Floats = listed[codes]
        return values

    def _extents(self, tensor: Tensor, tiles: Ints) -> list[Ints]:
        """Return (rows,) the extents of tiles along each rank of a tensor, in the dimensions that are searched."""
        which = (
            next(t for t in self.hierarchy.problem.tensors if t.name == tensor.name)
            if self._is_joined(tensor)
            else tensor
        )
        found = []
        for rank in which.ranks:
            kept = [(self._index[dim], c) for dim, c in rank if dim in self._index]
            if not kept:
                found.append(np.ones(len(tiles), dtype=np.int64))
            elif len(kept) == 1 and self.rules.arch.footprint == "exact":
                found.append(tiles[:, kept[0][0]])
            else:
                found.append(self._sums(tuple(c for _, c in kept), tiles[:, [d for d, _ in kept]]))
        return found or [np.ones(len(tiles), dtype=np.int64)]

    def _is_joined(self, tensor: Tensor) -> bool:
        """Whether the search joins some of a tensor's dimensions into one; which rank has which part of it does not
        matter then, since the density is uniform. Dimensions of one element are left out of the search, and do not
        count."""
        left_out = (dim for dim in tensor.dims if dim not in self._index)
        return any(self.rules.problem.sizes[dim] > 1 for dim in left_out)

    def _sums(self, coefficients: tuple[int, ...], tiles: Ints) -> Ints:
        """Return (rows,) the number of distinct places along a rank that tiles of its dimensions touch."""
        return distinct_sums_of(coefficients, list(tiles.T), self.rules.arch.footprint)


def _rows_of(columns: Sequence[Ints], index: Ints) -> Iterator[tuple[int, ...]]:
    """Iterate over chosen rows of some columns, as tuples."""
    return zip(*(column[index].tolist() for column in columns), strict=True)


def _known(known: dict[tuple[int, ...], float], extents: tuple[int, ...], figure: Figure) -> float:
    value = known.get(extents)
    if value is None:
        value = known[extents] = figure(extents)
    return value


def _product(columns: Sequence[Ints]) -> Ints:
    """Return (rows,) the product of columns."""
    found: Ints = np.prod(columns, axis=0)
    return found


def _least_metadata(kind: SparseFormat, density: Density, nonzeros: int, tile: tuple[int, ...]) -> int:
    """Bound from below the bits of metadata of a tile with at least `nonzeros` nonzero words. The bound never falls as
    tiles grow: a larger tile has no fewer rows, no shorter rows, and no fewer nonzero words
    (`cost_models/sparse/formats.py`)."""
    words = math.prod(tile)
    match kind:
        case "bitmask":
            return words
        case "coordinate":
            return nonzeros * bits_for(words)
        case "csr":
            return (words // tile[-1] + 1) * bits_for(nonzeros + 1) + nonzeros * bits_for(tile[-1])
        case "blocks" if isinstance(density, Structured):
            return nonzeros * bits_for(density.block)
    return 0


def fewest_in_fullest(density: Density, tile: tuple[int, ...], tensor: tuple[int, ...]) -> int:
    """Bound from below the nonzero words in the fullest tile by those of the first tile, which never decrease as tiles
    grow."""
    if isinstance(density, Structured):
        extent = tile[density.rank]
        whole, rest = divmod(extent, density.block)
        return math.prod(tile) // extent * (density.kept * whole + min(density.kept, rest))
    if isinstance(density, Uniform):
        return density.words(tile, tensor).most
    assert isinstance(density, Measured | Banded)
    values = density.values != 0 if isinstance(density, Measured) else density.mask(tensor)
    return int(np.count_nonzero(values[tuple(slice(0, extent) for extent in tile)]))
