"""Which part of the dense traffic of a mapping is left, where operands have zeros.

Every figure is a mean over all masks of the stated densities, which know nothing of each other. For an operand at the
boundary between two of its holders,

    moved   = 1 - max(p of this boundary and of those further out)         of the words that the dense count has
    gated   = (what comes here) - moved, where the memory gates            they take their time and no energy
    density = nonzero words / words, at a memory that compresses it        of what is moved, or gated

with p the chance that the condition tile (`savings.py`) is empty. Tiles further in lie inside those further out, so the
most effective saving on the way decides. At the MAC, the words of one operand that come as zeros, or meet no word of
the other, are left out as well: operations, and with skipping their cycles.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from functools import cached_property

from ...arch import Architecture, Mac, Memory
from ...ir import Loop, Mapping, MappingError, Problem, Role, Tensor, TilewrightError
from ..boundaries import Boundary, boundaries_of
from .densities import Density, Structured, TileWords
from .savings import Kind, box, extents_of, stay


@dataclass(frozen=True)
class Share:
    """Of the dense words across a boundary: moved, and gated (they take time, and no energy)."""

    moved: float = 1.0
    gated: float = 0.0


@dataclass(frozen=True)
class Operations:
    """Of all multiply-accumulates: done, gated, skipped."""

    done: float
    gated: float
    skipped: float


@dataclass(frozen=True)
class SparseMapping:
    """A mapping of a problem whose operands have zeros, on a machine; operands without a density are dense.

    Raises TilewrightError where a mean would not be exact, or the machine has what is not known to zeros yet.
    """

    mapping: Mapping
    arch: Architecture
    densities: MappingABC[str, Density]

    def __post_init__(self) -> None:
        problem = self.mapping.problem
        check_known(problem, self.arch)
        extents = extents_of(self.mapping, range(len(self.mapping.nest)))
        ragged = [dim for dim in problem.dim_names if extents[dim] != problem.sizes[dim]]
        if ragged:
            raise MappingError(
                f"tiles along {', '.join(ragged)} are ragged, and zeros are known of equal tiles only",
                where="density",
                hint="search with --tiling perfect",
            )

    @cached_property
    def chains(self) -> dict[str, list[Boundary]]:
        """The boundaries of every tensor, from the outside in."""
        found: dict[str, list[Boundary]] = {}
        for boundary in boundaries_of(self.mapping, self.arch):
            found.setdefault(boundary.tensor.name, []).append(boundary)
        return found

    def shape(self, tensor: Tensor) -> tuple[int, ...]:
        """How many places of each rank the problem touches."""
        return box(tensor, self.mapping.problem.sizes, self.arch.footprint)

    def tile(self, tensor: Tensor, position: int) -> tuple[int, ...]:
        """The same, of a node's tile."""
        return box(tensor, extents_of(self.mapping, range(position, len(self.mapping.nest))), self.arch.footprint)

    def nonzeros(self, tensor: Tensor, tile: tuple[int, ...]) -> TileWords:
        """What is known of the nonzero words of a tile; the tensor has a density."""
        return self.densities[tensor.name].words(tile, self.shape(tensor))

    def density(self, tensor: Tensor) -> float:
        """Nonzero words of all words."""
        if tensor.name not in self.densities:
            return 1.0
        shape = self.shape(tensor)
        return self.nonzeros(tensor, shape).mean / math.prod(shape)

    def is_compressed(self, memory: Memory, tensor: Tensor) -> bool:
        """Whether a memory holds the nonzero words of a tensor alone."""
        return tensor.name in self.densities and tensor.role in memory.formats

    def stored_share(self, memory: Memory, tensor: Tensor) -> float:
        """Words that a memory holds of the words of a tile."""
        return self.density(tensor) if self.is_compressed(memory, tensor) else 1.0

    def saved(self, boundary: Boundary) -> tuple[Kind, float] | None:
        """What the outer memory leaves out of its accesses across a boundary, and the chance of it; the better of
        gating and skipping, and skipping of equals."""
        memory, role = boundary.outer, boundary.tensor.role
        found: list[tuple[float, Kind]] = []
        pairs: tuple[tuple[Kind, dict[Role, tuple[Role, ...]]], ...]
        pairs = (("gating", memory.gates), ("skipping", memory.skips))
        for kind, by_role in pairs:
            if role in by_role:
                found.append((self._useless(boundary, by_role[role]), kind))
        best = max(found, default=None, key=lambda each: (each[0], each[1] == "skipping"))
        return (best[1], best[0]) if best is not None and best[0] else None

    def _useless(self, boundary: Boundary, roles: tuple[str, ...]) -> float:
        useful = 1.0
        for condition in self.mapping.problem.operands:
            if condition is not boundary.tensor and condition.role in roles and condition.name in self.densities:
                served = stay(self.mapping, self.arch, boundary)
                self._check_neighbours(condition, served)
                tile = box(condition, extents_of(self.mapping, served), self.arch.footprint)
                useful *= 1.0 - self.nonzeros(condition, tile).empty
        return 1.0 - useful

    def _check_neighbours(self, condition: Tensor, served: tuple[int, ...]) -> None:
        """Blocks of N:M are of neighbours, so the words of a tile must be; where any words are alike, none must."""
        density = self.densities[condition.name]
        if not isinstance(density, Structured):
            return
        dim = condition.ranks[density.rank][0][0]
        loops = [
            i
            for i, item in enumerate(self.mapping.nest.items)
            if isinstance(item, Loop) and item.dim == dim and item.trips > 1
        ]
        inside = [i for i in loops if i in served]
        if inside != loops[len(loops) - len(inside) :]:
            raise MappingError(
                f"words of {condition.name} that are used together are no neighbours along {dim}",
                where="density",
                hint=f"let no loop in time over {dim} stand inside the array that spreads it",
            )

    def share(self, tensor: Tensor, index: int) -> Share:
        """Of the dense words across the boundary of that place in the tensor's chain."""
        chain = self.chains[tensor.name]
        if tensor.is_output and index < len(chain) - 1:
            return Share()
        before = max((s[1] for b in chain[:index] if not tensor.is_output and (s := self.saved(b))), default=0.0)
        own = self.saved(chain[index])
        if own is None or own[1] <= before:
            return Share(1.0 - before)
        kind, chance = own
        return Share(1.0 - chance, chance - before if kind == "gating" else 0.0)

    @cached_property
    def operations(self) -> Operations:
        """Multiply-accumulates by what becomes of them: a zero of each operand, found at the MAC or on the way of the
        other operand, leaves one out."""
        every = self.mapping.problem.macs
        effective = timed = 1.0
        for operand in self.mapping.problem.operands:
            if operand.name in self.densities:
                gated, skipped = self._left_out(operand)
                effective *= 1.0 - max(gated, skipped)
                timed *= 1.0 - skipped
        return Operations(every * effective, every * (timed - effective), every * (1.0 - timed))

    def _left_out(self, operand: Tensor) -> tuple[float, float]:
        """The chance that an operation is gated, and that it is skipped, for the zeros of an operand."""
        gated, skipped = zeros_at_mac(self.arch.mac, operand, self.densities[operand.name], self.density(operand))
        for other in self.mapping.problem.operands:
            if other is operand:
                continue
            for boundary in self.chains[other.name]:
                saved = self.saved(boundary)
                if saved is not None and saved[0] == "gating":
                    gated = max(gated, saved[1])
                elif saved is not None:
                    skipped = max(skipped, saved[1])
        return gated, skipped


def check_known(problem: Problem, arch: Architecture) -> None:
    """TilewrightError for a problem, or a switch of a machine, that zeros are not known to."""
    if len(problem.operands) != 2:
        raise TilewrightError(f"{len(problem.operands)} operands, zeros are known of two", where=problem.name)
    unknown = [("latency: with_fill", arch.latency == "with_fill")]
    unknown += [(f"{m.name}.block", m.block_bits is not None) for m in arch.memories]
    unknown += [(f"{m.name}.line", m.line_bits is not None) for m in arch.memories]
    unknown += [(f"{f.name}.hop", f.hop_pj_per_bit > 0) for f in arch.fanouts]
    for name, there in unknown:
        if there:
            raise TilewrightError(f"zeros are not known to {name}", where=arch.name, hint="leave it out")


def zeros_at_mac(mac: Mac, operand: Tensor, density: Density, nonzero: float) -> tuple[float, float]:
    """Which part of the operations a MAC gates, and which it skips, for the zeros of an operand.

    nonzero  words of all words of the operand
    """
    gated = 1.0 - nonzero if operand.role in mac.gates else 0.0
    skipped = 1.0 - nonzero if operand.role in mac.skips else 0.0
    if skipped and mac.structure is not None:
        kept, block = mac.structure
        fits = isinstance(density, Structured) and _fits(density, kept, block)
        skipped = 1.0 - kept / block if fits else 0.0
    return gated, skipped


def _fits(density: Structured, kept: int, block: int) -> bool:
    """Whether no block that a unit takes has more nonzero words than it can take, wherever blocks of the density, which
    may be of another length, have theirs."""
    for start in range(0, math.lcm(block, density.block), block):
        overlaps = Counter(place // density.block for place in range(start, start + block))
        if sum(min(density.kept, words) for words in overlaps.values()) > kept:
            return False
    return True
