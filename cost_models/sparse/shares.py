"""Which part of the dense traffic of a mapping is left, where operands have zeros.

Every figure is a mean over all masks of the stated densities, which know nothing of each other. For an operand at the
boundary between two of its holders,

    moved   = 1 - max(p of this boundary and of those further out)         of the words that the dense count has
    gated   = (what comes here) - moved, where the memory gates            they take their time and no energy
    density = nonzero words / words, at a memory that compresses it        of what is moved, or gated

with p the chance that the condition tile (`savings.py`) is empty. Tiles further in lie inside those further out, so the
most effective saving on the way decides. Where tiles are ragged, p is the mean over all accesses, each by its words. At
the MAC, the words of one operand that come as zeros, or meet no word of the other, are left out as well: operations,
and with skipping their cycles.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ...arch import Architecture, Mac, Memory
from ...arch.spec import SparseFormat
from ...ir import Mapping, MappingError, Problem, Role, Tensor, TilewrightError
from ..boundaries import Boundary, boundaries_of
from ..zeros import Operations
from .densities import Density, Structured, TileWords, Uniform
from .formats import nonzero_share, possible_formats
from .positions import Extents, Positions, TileLoops
from .savings import Kind, box, stay


@dataclass(frozen=True)
class Share:
    """Of the dense words across a boundary: moved, and gated (they take time, and no energy)."""

    moved: float = 1.0
    gated: float = 0.0


@dataclass(frozen=True)
class AccessSaving:
    """What leaves out accesses across a boundary, where all that is used with them of an operand of some roles is
    zero."""

    boundary: Boundary
    roles: tuple[Role, ...]


@dataclass(frozen=True)
class Causes:
    """What leaves out operations for the zeros of one operand.

    gated, skipped  by the MAC, of all operations
    savings         on the way of the other operand
    """

    gated: float
    skipped: float
    savings: tuple[tuple[Kind, AccessSaving], ...]


@dataclass(frozen=True)
class SparseMapping:
    """A mapping of a problem whose operands have zeros, on a machine; operands without a density are dense.

    Raises TilewrightError where a mean would not be exact, or the machine has what is not known to zeros yet.
    """

    mapping: Mapping
    arch: Architecture
    densities: MappingABC[str, Density]

    def __post_init__(self) -> None:
        check_known(self.mapping.problem, self.arch)

    @cached_property
    def positions(self) -> Positions:
        """Where its accesses stand."""
        return Positions(self.mapping)

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
        """The same, of a node's largest tile."""
        return box(tensor, self.positions.full(self._below(position)), self.arch.footprint)

    def _below(self, position: int) -> TileLoops:
        """The loops below a place in the nest."""
        return frozenset(range(position, len(self.mapping.nest)))

    def nonzeros(self, tensor: Tensor, tile: tuple[int, ...]) -> TileWords:
        """What is known of the nonzero words of a tile; the tensor has a density."""
        return tile_words(self.densities[tensor.name], tile, self.shape(tensor))

    def density(self, tensor: Tensor) -> float:
        """Nonzero words of all words."""
        if tensor.name not in self.densities:
            return 1.0
        return nonzero_share(self.densities[tensor.name], self.shape(tensor))

    def format(self, memory: Memory, tensor: Tensor) -> SparseFormat:
        """How a memory holds a tensor: the first of the formats that it may have."""
        if tensor.name not in self.densities:
            return "uncompressed"
        return possible_formats(memory, tensor, self.densities[tensor.name])[0]

    def saved(self, boundary: Boundary) -> tuple[Kind, float] | None:
        """What the outer memory leaves out of its accesses across a boundary, and the chance of it; the better of
        gating and skipping, and skipping of equals."""
        memory, role = boundary.outer, boundary.tensor.role
        found: list[tuple[float, Kind]] = []
        pairs: tuple[tuple[Kind, dict[Role, tuple[Role, ...]]], ...]
        pairs = (("gating", memory.gates), ("skipping", memory.skips))
        for kind, by_role in pairs:
            if role in by_role:
                found.append((self._useless(boundary, by_role[role], boundary), kind))
        best = max(found, default=None, key=lambda each: (each[0], each[1] == "skipping"))
        return (best[1], best[0]) if best is not None and best[0] else None

    def _left_out(self, boundary: Boundary, crossed: Boundary, given: bool) -> float:
        """The chance that an access across a boundary is left out already across the same, or another one further
        out."""
        saved = self.saved(boundary)
        if saved is None:
            return 0.0
        return self._useless(boundary, self._roles(boundary, saved[0]), crossed, given)

    def _roles(self, boundary: Boundary, kind: Kind) -> tuple[Role, ...]:
        by_role = boundary.outer.gates if kind == "gating" else boundary.outer.skips
        return by_role[boundary.tensor.role]

    @cached_property
    def _known(self) -> dict[object, float]:
        return {}

    def _useless(self, boundary: Boundary, roles: tuple[Role, ...], crossed: Boundary, given: bool = False) -> float:
        """The chance that what is used with an access across a saving boundary is all zero, for accesses across another
        boundary of the tensor, the same or further in, each by its words, or by those that it gives (`share`)."""
        key = (boundary.tensor.name, boundary.inner_position, roles, crossed.inner_position, given)
        if key in self._known:
            return self._known[key]
        saving, tensor, words = AccessSaving(boundary, roles), boundary.tensor, self._below(crossed.inner_position)
        tiles = [words, *self._used(saving)]

        def weight(tile: Extents, *_: Extents) -> float:
            return math.prod(box(tensor, tile, self.arch.footprint))

        def useless(tile: Extents, *used: Extents) -> float:
            return weight(tile) * self._chance(saving, used)

        if self.positions.ragged:
            access = frozenset(stay(self.mapping, self.arch, crossed))
            if given:  # with one access to every instance
                access -= {i for i in self.positions.spatial if i < crossed.inner_position}
            found = self.positions.total(access, useless, tiles) / self.positions.total(access, weight, [words])
        else:
            found = self._chance(saving, [self.positions.full(tile) for tile in tiles[1:]])
        self._known[key] = found
        return found

    def _used(self, saving: AccessSaving) -> list[TileLoops]:
        """The tile of each operand that decides about a saving."""
        served = frozenset(stay(self.mapping, self.arch, saving.boundary))
        conditions = self._conditions(saving)
        for condition in conditions:
            self._check_neighbours(condition, served)
        return [served] * len(conditions)

    def _chance(self, saving: AccessSaving, used: Sequence[Extents]) -> float:
        """The chance that what is used with an access is all zero, where tiles have some extents."""
        useful = 1.0
        for condition, extents in zip(self._conditions(saving), used, strict=True):
            useful *= 1.0 - self.nonzeros(condition, box(condition, extents, self.arch.footprint)).empty
        return 1.0 - useful

    def _conditions(self, saving: AccessSaving) -> list[Tensor]:
        """The operands with zeros that decide about a saving."""
        return [
            tensor
            for tensor in self.mapping.problem.operands
            if tensor is not saving.boundary.tensor and tensor.role in saving.roles and tensor.name in self.densities
        ]

    def _check_neighbours(self, condition: Tensor, served: TileLoops) -> None:
        """Where any words are alike, any tile is; of others, tiles are known that are equal, and whose words are
        neighbours."""
        density = self.densities[condition.name]
        for dim in sorted(patterned_dims(condition, density)):
            if dim in self.positions.ragged:
                raise MappingError(
                    f"tiles of {condition.name} along {dim} are ragged; what its zeros save is known of equal tiles",
                    where="density",
                    hint="search with --tiling perfect, or give a fraction",
                )
            loops = [place for place, _ in self.positions.loops[dim]]
            inside = [place for place in loops if place in served]
            if inside != loops[len(loops) - len(inside) :]:
                raise MappingError(
                    f"words of {condition.name} that are used together are no neighbours along {dim}",
                    where="density",
                    hint=f"let no loop in time over {dim} stand inside the array that spreads it",
                )

    def share(self, tensor: Tensor, index: int, *, given: bool = False) -> Share:
        """Of the dense words across the boundary of that place in the tensor's chain.

        given  of those that the instances inside take, and not of those that the memory outside serves: where tiles
               are ragged, accesses that fewer instances share are left out more often
        """
        chain = self.chains[tensor.name]
        if tensor.is_output and index < len(chain) - 1:
            return Share()
        crossed = chain[index]
        outer = chain[:index] if not tensor.is_output else []
        before = max((self._left_out(boundary, crossed, given) for boundary in outer), default=0.0)
        own, saved = self._left_out(crossed, crossed, given), self.saved(crossed)
        if saved is None or own <= before:
            return Share(1.0 - before)
        return Share(1.0 - own, own - before if saved[0] == "gating" else 0.0)

    @cached_property
    def operations(self) -> Operations:
        """Multiply-accumulates by what becomes of them: a zero of each operand, found at the MAC or on the way of the
        other operand, leaves one out."""
        every = self.mapping.problem.macs
        causes = [self._causes(operand) for operand in self.mapping.problem.operands if operand.name in self.densities]
        tiles = [tile for cause in causes for _, saving in cause.savings for tile in self._used(saving)]

        def left(of: Callable[[float, float], float]) -> float:
            def figure(*used: Extents) -> float:
                product, tiles_of = 1.0, iter(used)
                for cause in causes:
                    product *= 1.0 - of(*self._chances(cause, tiles_of))
                return product

            if self.positions.ragged:
                return self.positions.total(frozenset(), figure, tiles)
            return every * figure(*map(self.positions.full, tiles))

        done, timed = left(max), left(lambda _, skipped: skipped)
        return Operations(done, timed - done, every - timed)

    def _causes(self, operand: Tensor) -> Causes:
        """All that leaves operations out for the zeros of an operand."""
        gated, skipped = zeros_at_mac(self.arch.mac, operand, self.densities[operand.name], self.density(operand))
        savings = []
        for other in self.mapping.problem.operands:
            for boundary in self.chains[other.name] if other is not operand else []:
                saved = self.saved(boundary)
                if saved is not None:
                    savings.append((saved[0], AccessSaving(boundary, self._roles(boundary, saved[0]))))
        return Causes(gated, skipped, tuple(savings))

    def _chances(self, causes: Causes, tiles: Iterator[Extents]) -> tuple[float, float]:
        """The chances that an operation is gated, and that it is skipped, for the zeros of an operand, at the next
        tiles."""
        gated, skipped = causes.gated, causes.skipped
        for kind, saving in causes.savings:
            chance = self._chance(saving, list(itertools.islice(tiles, len(self._conditions(saving)))))
            if kind == "gating":
                gated = max(gated, chance)
            else:
                skipped = max(skipped, chance)
        return gated, skipped


def patterned_dims(tensor: Tensor, density: Density) -> frozenset[str]:
    """Dimensions along which it counts which words a tile has, and not only how many."""
    if isinstance(density, Uniform):
        return frozenset()
    if isinstance(density, Structured):
        return frozenset(dim for dim, _ in tensor.ranks[density.rank])
    return tensor.dims


@lru_cache(maxsize=65536)
def tile_words(density: Density, tile: tuple[int, ...], tensor: tuple[int, ...]) -> TileWords:
    """What is known of the nonzero words of a tile of a tensor, by extents."""
    return density.words(tile, tensor)


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
            hint = "leave it out, or the densities"
            raise TilewrightError(f"zeros are not known to {name}", where=arch.name, hint=hint)


def zeros_at_mac(mac: Mac, operand: Tensor, density: Density, nonzero: float) -> tuple[float, float]:
    """Which part of the operations a MAC gates, and which it skips, for the zeros of an operand.

    nonzero  words of all words of the operand
    """
    gated = 1.0 - nonzero if operand.role in mac.gates else 0.0
    skipped = 1.0 - nonzero if operand.role in mac.skips else 0.0
    if skipped and mac.structure is not None:
        kept, block = mac.structure
        fits = isinstance(density, Structured) and _fits(density, kept, block)
        skipped = min(skipped, 1.0 - kept / block) if fits else 0.0  # of a padded block, no word that is nonzero
    return gated, skipped


def _fits(density: Structured, kept: int, block: int) -> bool:
    """Whether no block that a unit takes has more nonzero words than it can take, wherever blocks of the density, which
    may be of another length, have theirs."""
    for start in range(0, math.lcm(block, density.block), block):
        overlaps = Counter(place // density.block for place in range(start, start + block))
        if sum(min(density.kept, words) for words in overlaps.values()) > kept:
            return False
    return True
