"""Operands with zeros, as the search sees them: what is left, at least, of the words that it counts, and how many bits
they take, at least. The cost model has the last word on complete mappings.

What is left of the words across a boundary depends on what is used with one access (`cost_models/sparse/`). With perfect
tiles that is known when the boundary is charged: what the loops inside touch, and the instances that share the access.
A memory further out that leaves out accesses has larger tiles, which are empty less often; so of all memories out to
the outermost, the chance that they leave out an access is no more than it would be for these tiles. Before the charge,
and with ragged tiles, whose last ones are smaller, a single word of the operand that decides has the largest chance.

How bits depend on tiles is known as soon as both tiles of a boundary are: until then the least bits count, and the
words are kept beside the costs (`cost_columns.py`), so that of two rows the better one is better whatever follows.

Which rules of the search still hold:

- Loops that charge nothing stand best as far inside as they can. That is so without savings: tiles of nodes do not depend
  on the order between them. With savings it is so where, of a tensor, all memories out to some one skip alike: a loop
  of n trips further inside makes n accesses one, of what is used with it n times as much, which is in use no more
  often than one of the n parts is; and nothing that has been charged depends on it. (`orders_count`: it is not so.)
- Rows that cost no less in any column are left aside. That is so if columns say all: not where words pass that a memory
  further out may leave out, where units or memories leave out operations by what stands further in, nor where the
  format that takes the fewest bits may not be the one that fits. (`rows_count`)
- With ragged tiles, loops no longer than leaves as many tiles: so if a word takes no more bits in a smaller tile, and
  nothing is left out. (`trips_count`)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...arch import Architecture, Memory
from ...arch.spec import SparseFormat
from ...cost_models.cost import held_width_bits
from ...cost_models.sets import distinct_sums
from ...cost_models.sparse import Density, Measured, Structured, Uniform, densities_of
from ...cost_models.sparse.at_mac import zeros_at_mac
from ...cost_models.sparse.formats import bits_for, metadata_bits, possible_formats
from ...cost_models.sparse.savings import box
from ...cost_models.sparse.shares import check_known, patterned_dims, tile_words
from ...ir import Problem, Role, Tensor
from ..tilings import Tiling
from .fill_point import FillPoint
from .hierarchy import MAC, Hierarchy, MemoryBoundary
from .rows import Floats, Ints, Rows, distinct, row_codes
from .traffic import TrafficModel

class Left(NamedTuple):
    """Of the dense words across a boundary, those that cost energy, and those that take time; at least."""

    moved: Floats | float = 1.0
    timed: Floats | float = 1.0


EVERYTHING = Left()
ALIKE: frozenset[SparseFormat] = frozenset(("uncompressed", "bitmask", "blocks"))
"""Formats in which every word of a tensor has as many bits on average, whatever its tile."""


@dataclass(frozen=True)
class ZeroRules:
    """What zeros mean for a problem on a machine, before anything of a mapping is known.

    problem, arch  as they are given; the search may see smaller ones
    """

    problem: Problem
    arch: Architecture
    tiling: Tiling

    def __post_init__(self) -> None:
        check_known(self.problem, self.arch)

    @cached_property
    def densities(self) -> dict[str, Density]:
        """By tensor."""
        return densities_of(self.problem)

    def shape(self, tensor: Tensor) -> tuple[int, ...]:
        """Places along each rank."""
        return box(tensor, self.problem.sizes, self.arch.footprint)

    def nonzero(self, tensor: Tensor) -> float:
        """The chance that a word is not zero."""
        if tensor.name not in self.densities:
            return 1.0
        shape = self.shape(tensor)
        return tile_words(self.densities[tensor.name], shape, shape).mean / math.prod(shape)

    def formats(self, memory: Memory, tensor: Tensor) -> tuple[SparseFormat, ...]:
        """How a memory may hold a tensor."""
        if tensor.name not in self.densities:
            return ("uncompressed",)
        return possible_formats(memory, tensor, self.densities[tensor.name])

    def keeping(self, tensor: Tensor) -> list[Memory]:
        """The memories that may keep a tensor, outermost first."""
        return [memory for memory in self.arch.memories if memory.keeps[tensor.role] != "never"]

    def deciding(self, tensor: Tensor, roles: Sequence[Role]) -> list[Tensor]:
        """The operands with zeros of some roles, other than a tensor."""
        return [
            other
            for other in self.problem.operands
            if other is not tensor and other.role in roles and other.name in self.densities
        ]

    def saves(self, memory: Memory, tensor: Tensor) -> bool:
        """Whether a memory may leave out accesses of a tensor."""
        return any(self.deciding(tensor, by_role.get(tensor.role, ())) for by_role in (memory.gates, memory.skips))

    @cached_property
    def orders_count(self) -> bool:
        """Whether loops that charge nothing may pay elsewhere than as far inside as they can stand."""
        return not all(self._is_known(tensor) and self._mac_finds_all(tensor) for tensor in self._saving)

    @cached_property
    def rows_count(self) -> bool:
        """Whether a row may be wanted that costs no less than another one in every column."""
        choices = any(
            len(self.formats(memory, tensor)) > 1
            for tensor in self.problem.operands
            for memory in self.keeping(tensor)[1:]
        )
        return choices or self.orders_count or (self.tiling == "ragged" and bool(self._saving))

    @cached_property
    def trips_count(self) -> bool:
        """Whether loops may pay that are longer than leaves as many tiles."""
        return self.rows_count or bool(self.unsettled)

    @cached_property
    def unsettled(self) -> tuple[int, ...]:
        """Operands, as numbers, the bits of whose words depend on tiles, but for those of the outermost memory."""
        return tuple(
            t
            for t, tensor in enumerate(self.problem.tensors)
            if not all(self.is_alike(memory, tensor) for memory in self.keeping(tensor)[1:])
        )

    @cached_property
    def _saving(self) -> list[Tensor]:
        """Tensors of which some memory may leave out accesses."""
        tensors = self.problem.tensors
        return [tensor for tensor in tensors if any(self.saves(memory, tensor) for memory in self.keeping(tensor))]

    def is_alike(self, memory: Memory, tensor: Tensor) -> bool:
        """Whether a word takes as many bits in every tile."""
        kinds = self.formats(memory, tensor)
        return len(kinds) == 1 and kinds[0] in ALIKE

    def _is_known(self, tensor: Tensor) -> bool:
        """Whether what is left of a tensor's words follows from what lies inside: no memory leaves out more than those
        inside it do, by skipping, and words that decide are alike."""
        inwards = self.keeping(tensor)[::-1]
        if tensor.is_output:  # the innermost holder alone leaves anything out, whichever that is
            saving = [memory for memory in inwards if self.saves(memory, tensor)]
        else:
            saving = inwards[: 1 + max(i for i, memory in enumerate(inwards) if self.saves(memory, tensor))]
        skips = {memory.skips.get(tensor.role, ()) for memory in saving}
        gating = any(self.deciding(tensor, memory.gates.get(tensor.role, ())) for memory in saving)
        others = {*self.deciding(tensor, sum(skips, ()))}
        alike = all(isinstance(self.densities[other.name], Uniform) for other in others)
        return len(skips) == 1 and not gating and alike

    def _mac_finds_all(self, tensor: Tensor) -> bool:
        """Whether the units skip all that is left out of an operand on its way: they skip every zero of the other."""
        if tensor.is_output:
            return True  # what is left out of an output is no operation
        mac, others = self.arch.mac, self.deciding(tensor, ("input", "weight"))
        return all(
            zeros_at_mac(mac, other, self.densities[other.name], self.nonzero(other))[1] == 1.0 - self.nonzero(other)
            for other in others
        )

    @property
    def apart(self) -> frozenset[str]:
        """Dimensions that stay on their own in the problem that is searched: where not only the number of words in a
        tile counts."""
        found: set[str] = set()
        for tensor in self.problem.operands:
            density = self.densities.get(tensor.name)
            by_shape = any("csr" in self.formats(memory, tensor) for memory in self.keeping(tensor))
            if density is not None and (by_shape or not isinstance(density, Uniform)):
                found |= tensor.dims
        return frozenset(found)

    @property
    def patterned(self) -> frozenset[str]:
        """Dimensions along which it counts which words are used together, and not only how many: of operands that
        decide about others, and whose words are not all alike."""
        found: set[str] = set()
        for tensor in self.problem.tensors:
            for memory in self.keeping(tensor):
                for roles in (memory.gates.get(tensor.role, ()), memory.skips.get(tensor.role, ())):
                    for other in self.deciding(tensor, roles):
                        found |= patterned_dims(other, self.densities[other.name])
        return frozenset(found)

    @property
    def machine(self) -> Architecture:
        """The machine whose units leave out as many operations as any mapping may: of it, costs are bounds."""
        energy = cycles = 1.0
        for tensor in self.problem.operands:
            if tensor.name not in self.densities:
                continue
            density, zero = self.densities[tensor.name], 1.0 - self.nonzero(tensor)
            gated, skipped = zeros_at_mac(self.arch.mac, tensor, density, 1.0 - zero)
            for other in self.problem.operands:
                for memory in self.keeping(other) if other is not tensor else []:
                    gated = zero if tensor.role in memory.gates.get(other.role, ()) else gated
                    skipped = zero if tensor.role in memory.skips.get(other.role, ()) else skipped
            energy, cycles = energy * (1.0 - max(gated, skipped)), cycles * (1.0 - skipped)
        mac = self.arch.mac
        changed = mac.model_copy(update={"energy_pj": mac.energy_pj * energy, "per_cycle": mac.per_cycle / cycles})
        return self.arch.model_copy(update={"mac": changed})


@dataclass(frozen=True, eq=False)
class ZeroBounds:
    """The same in the numbers of a hierarchy, which may have fewer dimensions, and for many partial mappings at once."""

    rules: ZeroRules
    hierarchy: Hierarchy
    _known: dict[object, float] = field(default_factory=dict, repr=False)

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
                self._known[key] = min(self._least_of(which, kind, math.prod(shape)) for kind in kinds)
        return self._known[key]

    def _least_of(self, tensor: Tensor, kind: SparseFormat, words: int) -> float:
        """The least bits of a word in a format, over all tiles: indices are no longer in larger tiles; and of rows of
        so many words, at best of one tile that is all of the tensor, all are tried."""
        width, nonzero = self.rules.arch.width_bits(tensor), self.rules.nonzero(tensor)
        if kind == "uncompressed":
            return float(width)
        density = self.rules.densities[tensor.name]
        if kind == "bitmask":
            return nonzero * width + 1.0
        if kind == "blocks" and isinstance(density, Structured):
            return nonzero * (width + bits_for(density.block))
        if kind != "csr":
            return nonzero * width
        rows = range(1, self.rules.shape(tensor)[-1] + 1)
        fewest = min((1.0 / row + 1.0 / words) * 1.0 + nonzero * bits_for(row) for row in rows)
        return nonzero * width + fewest

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

    def _of_tiles(self, key: object, tensor: Tensor, tiles: Ints, figure: object) -> Floats:
        """(rows,) a figure of the extents of tiles (rows, dims) along a tensor's ranks."""
        columns = self._extents(tensor, tiles)
        if not columns:
            columns = [np.ones(len(tiles), dtype=np.int64)]
        first, which = distinct(row_codes(columns))
        found = np.empty(len(first))
        for i, extents in enumerate(np.stack([column[first] for column in columns], axis=1).tolist()):
            known = (key, *extents)
            if known not in self._known:
                self._known[known] = figure(tuple(extents))  # type: ignore[operator]
            found[i] = self._known[known]
        return found[which]

    def _extents(self, tensor: Tensor, tiles: Ints) -> list[Ints]:
        """(rows,) per rank."""
        if isinstance(self.rules.densities.get(tensor.name), Uniform) and not tensor.dims <= {*self._index}:
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
    values = density.values != 0 if isinstance(density, Measured) else density.mask(tensor)  # type: ignore[attr-defined]
    return int(np.count_nonzero(values[tuple(slice(0, extent) for extent in tile)]))
