"""A mapping as Sparseloop's rules look at it: chains of holders, tiles, chances of their words, ranks of formats."""

from __future__ import annotations

import math
from collections.abc import Mapping as MappingABC
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from occupancies import Occupancy, nonzeros
from sparseloop_ranks import COMPRESSED, RankFormat

from tilewright.arch import Architecture
from tilewright.cost_models.boundaries import Boundary, boundaries_of
from tilewright.cost_models.sparse.densities import Density
from tilewright.cost_models.sparse.savings import Kind, box
from tilewright.ir import Loop, Mapping, Tensor, TilewrightError


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


@dataclass(frozen=True)
class SparseMachine:
    """What a machine does about zeros, in Timeloop's terms.

    formats    by memory and tensor, ranks outermost first
    savings    at memories
    mac_gates, mac_skips  the MAC leaves out operations with a zero that it gets, or that it does not get
    unit_bits  bits of one unit of metadata, by memory
    unit_access_bits  bits of one access to metadata, by memory; widths of units are raised to its next divisor
    block_words       words of one access, by memory
    """

    formats: MappingABC[tuple[str, str], tuple[RankFormat, ...]] = field(default_factory=dict)
    savings: tuple[Saving, ...] = ()
    mac_gates: bool = False
    mac_skips: bool = False
    unit_bits: MappingABC[str, int] = field(default_factory=dict)
    unit_access_bits: MappingABC[str, int] = field(default_factory=dict)
    block_words: MappingABC[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class SparseNest:
    """A mapping on a machine that knows zeros; tensors without a density are dense."""

    mapping: Mapping
    arch: Architecture
    machine: SparseMachine
    densities: MappingABC[str, Density]

    @cached_property
    def chains(self) -> dict[str, list[Boundary]]:
        """The boundaries of every tensor, from the outside in."""
        found: dict[str, list[Boundary]] = {}
        for boundary in boundaries_of(self.mapping, self.arch):
            found.setdefault(boundary.tensor.name, []).append(boundary)
        return found

    def below(self, position: int) -> dict[str, int]:
        """Extents by dimension of what the loops from a position inwards touch."""
        extents = dict.fromkeys(self.mapping.problem.dim_names, 1)
        for item in self.mapping.nest.items[position:]:
            if isinstance(item, Loop):
                extents[item.dim] *= item.trips
        return extents

    def tile(self, tensor: Tensor, position: int) -> tuple[int, ...]:
        """The box of a tensor that the loops from a position inwards touch."""
        return box(tensor, self.below(position))

    def between(self, boundary: Boundary) -> list[tuple[int, Loop]]:
        """Loops of several trips between two holders, and where they stand."""
        return [
            (i, loop)
            for i, loop in enumerate(self.mapping.nest.items)
            if boundary.outer_position <= i < boundary.inner_position and isinstance(loop, Loop) and loop.trips > 1
        ]

    def occupancy(self, tensor: Tensor, tile: Sequence[int]) -> Occupancy:
        """Chances of the nonzero words of a tile."""
        density = self.densities.get(tensor.name)
        words = math.prod(tile)
        if density is None:
            return {words: 1.0}
        whole = box(tensor, self.mapping.problem.sizes)
        return nonzeros(density, (words,), (math.prod(whole),))

    def has_format(self, memory: str, tensor: str) -> bool:
        """Whether a memory compresses a tensor, or at least says where its words are."""
        return (memory, tensor) in self.machine.formats

    def shapes(self, tensor: Tensor, index: int) -> tuple[list[int], list[RankFormat | None]]:
        """Shapes and formats of the ranks of a tile, outermost first."""
        chain = self.chains[tensor.name]
        boundary = chain[index]
        words = math.prod(self.tile(tensor, boundary.outer_position))
        ranks = self.machine.formats.get((boundary.outer.name, tensor.name))
        if ranks is None:
            return [words], [None]
        compressed = any(rank.kind in COMPRESSED for rank in ranks)
        child = math.prod(self.tile(tensor, boundary.inner_position))
        inner_shapes: list[int] = []
        inner_ranks: list[RankFormat | None] = []
        until = len(self.mapping.nest)
        if compressed and child > 1:
            inner_shapes, inner_ranks = self.shapes(tensor, index + 1)
            until = boundary.inner_position
        loops = [
            item
            for item in self.mapping.nest.items[boundary.outer_position : boundary.inner_position]
            if isinstance(item, Loop) and item.trips > 1 and item.dim in tensor.dims
        ]
        room = len(ranks) - len(inner_shapes)
        own = _own_shapes(self, loops, ranks[: max(0, room)], boundary, until)
        if own is None or room < len(own):
            raise TilewrightError(
                f"{len(ranks)} ranks for {len(loops) + len(inner_shapes)} loops of {tensor.name}",
                where=f"format of {tensor.name} in {boundary.outer.name}",
                hint="give a rank for each, or let one take several dimensions together",
            )
        idle = room - len(own)
        kinds: list[RankFormat | None] = [*ranks[: len(own)], *[None] * idle]
        for rank, inner in zip(ranks[room:], inner_ranks, strict=True):
            if inner is not None and inner.kind != rank.kind:
                raise TilewrightError(
                    f"rank {rank.kind} outside {inner.kind} of the next memory inwards, expected the same",
                    where=f"format of {tensor.name} in {boundary.outer.name}",
                )
            kinds.append(rank)
        return [*own, *[1] * idle, *inner_shapes], kinds

    def widths(self, memory: str, ranks: Sequence[RankFormat | None]) -> list[tuple[int, int]]:
        """Bits of a unit of metadata and of payload of every rank; a bit of a bitmask takes one, unless stated."""
        usual = self.machine.unit_bits.get(memory, 0)
        return [
            (
                self._width(memory, rank.bits, 1 if rank.kind == "B" else usual),
                self._width(memory, rank.payload_bits, usual),
            )
            if rank is not None
            else (0, 0)
            for rank in ranks
        ]

    def _width(self, memory: str, stated: int | None, usual: int) -> int:
        return usual if stated is None else self._divisor(memory, stated)

    def _divisor(self, memory: str, bits: int) -> int:
        """The width that is stated, raised to the next one of which whole units fill an access."""
        access = self.machine.unit_access_bits.get(memory, 0)
        return next((b for b in range(bits, access + 1) if access % b == 0), bits)


def _own_shapes(
    nest: SparseNest, loops: Sequence[Loop], ranks: Sequence[RankFormat], boundary: Boundary, until: int
) -> list[int] | None:
    """Shapes of the ranks that the loops of a memory get, outermost first; None if there are too few ranks.

    Loops further in, up to `until`, are taken in by the innermost rank that has a loop over their dimension.
    """
    left = list(loops)
    found: list[int] = []
    groups: list[list[str]] = []
    for rank in ranks:
        if not left:
            break
        taken = 1
        if rank.dims is not None:
            taken = next((i for i, loop in enumerate(left) if loop.dim not in rank.dims), len(left)) or 1
        found.append(math.prod(loop.trips for loop in left[:taken]))
        groups.append([loop.dim for loop in left[:taken]])
        left = left[taken:]
    if left:
        return None
    for item in nest.mapping.nest.items[boundary.inner_position : until]:
        if isinstance(item, Loop) and item.trips > 1 and item.dim in boundary.tensor.dims:
            at = max((i for i, dims in enumerate(groups) if item.dim in dims), default=len(groups) - 1)
            if at >= 0:
                found[at] *= item.trips
    if not found:
        found = [
            math.prod(nest.tile(boundary.tensor, boundary.inner_position)) if until > boundary.inner_position else 1
        ]
    return found
