"""Sparse traffic by the conventions of Timeloop's sparse model (Sparseloop, commit 4cf6d4cd), from our dense counts.

Where they differ from ours, which docs/sparse.md lists: whole accesses are left out (floors and ceilings of means); a
tile's chances know its words alone, not its place; tiles that are empty are never sent from a memory with a format; a
coordinate has the width that the memory states; gating at a memory saves cycles. Its defects are not copied.
"""

from __future__ import annotations

import math
from collections.abc import Mapping as MappingABC
from collections.abc import Sequence
from dataclasses import dataclass, field

from occupancies import Occupancy, brief, empty, mean
from sparseloop_nest import SparseMachine, SparseNest
from sparseloop_ranks import Units, tile_units
from sparseloop_savings import Useless, own_savings

from tilewright.arch import Architecture
from tilewright.cost_models.boundaries import Boundary
from tilewright.cost_models.closed_form import count_words
from tilewright.cost_models.counts import Accesses, AccessTable
from tilewright.cost_models.sparse.densities import Density, Measured, Shape, TileWords, Uniform
from tilewright.ir import Loop, Mapping, Tensor, TilewrightError


@dataclass(frozen=True)
class Even:
    """Every tile holds its share of the nonzero words, rounded down or up: Sparseloop's "fixed structured".

    fraction  of nonzero words
    """

    fraction: float

    def nonzeros(self, tile: Shape, tensor: Shape) -> Occupancy:
        del tensor  # a tile knows its share whatever it is a part of
        share = math.prod(tile) * self.fraction
        below = math.floor(share)
        return {below: 1.0 - (share - below)} | ({below + 1: share - below} if share > below else {})

    def words(self, tile: Shape, tensor: Shape) -> TileWords:
        return brief(self.nonzeros(tile, tensor))


Moves = dict[str, int]
"""Words, or units of metadata, by `reads`, `fills` and `updates`."""


@dataclass
class SparseloopTraffic:
    """One tensor at one memory, per instance.

    tile_words       of the box that it keeps
    expected, most   nonzero words of a tile on average, and at most; all of them where they are not compressed
    shapes           of the format's ranks, innermost first
    units, most_units  metadata of a tile, by rank, innermost first
    instances        that have a tile on average
    actual, gated, skipped  words
    format_actual, format_gated, format_skipped  units by rank, innermost first, metadata and payload
    width            bits of a unit of metadata and of payload, by rank, innermost first
    """

    tile_words: int
    expected: float
    most: int
    instances: float
    shapes: list[int] = field(default_factory=list)
    units: list[Units] = field(default_factory=list)
    most_units: list[Units] = field(default_factory=list)
    actual: Moves = field(default_factory=dict)
    gated: Moves = field(default_factory=dict)
    skipped: Moves = field(default_factory=dict)
    format_actual: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    format_gated: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    format_skipped: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    width: list[tuple[int, int]] = field(default_factory=list)

    @property
    def unit_bits(self) -> int:
        """Bits of the metadata of a tile on average, rounded up."""
        return _ceil(sum(u.metadata * wm + u.payload * wp for u, (wm, wp) in zip(self.units, self.width, strict=True)))


@dataclass(frozen=True)
class SparseloopCounts:
    """All traffic, and the multiply-accumulates of all instances: done, gated, skipped."""

    traffic: MappingABC[tuple[str, str], SparseloopTraffic]
    done: int
    gated: int
    skipped: int
    cycles: int


def count_sparseloop(
    mapping: Mapping,
    arch: Architecture,
    machine: SparseMachine,
    densities: MappingABC[str, Density],
    dense: AccessTable | None = None,
) -> SparseloopCounts:
    """Traffic and operations; `arch` has the switches under which dense counts are Timeloop's.

    dense  what an instance of each memory reads and writes of each tensor without zeros; by default our counts

    Raises TilewrightError for a format with too few ranks, or with other ranks than the memory inside it.
    """
    return _Model(SparseNest(mapping, arch, machine, densities), dense or count_words(mapping, arch).busiest).finish()


class _Model:
    """The count of one mapping, tensor by tensor."""

    def __init__(self, nest: SparseNest, dense: AccessTable) -> None:
        self.nest, self.dense = nest, dense
        self.savings = {name: own_savings(nest, chain[0].tensor) for name, chain in nest.chains.items()}
        self.traffic: dict[tuple[str, str], SparseloopTraffic] = {}

    def count(self, tensor: Tensor) -> None:
        """The traffic of a tensor at all memories that keep it, from the outside in."""
        above = None
        entering: list[float] = []
        past = 0.0
        for index, (boundary, own) in enumerate(
            zip(self.nest.chains[tensor.name], self.savings[tensor.name], strict=True)
        ):
            memory = boundary.outer.name
            traffic, share = self._tile_traffic(tensor, index, above)
            dense = _by_move(self.dense[memory, tensor.name])
            has = self.nest.has_format(memory, tensor.name)
            moved = {move: n - _floor(n * (1.0 - share)) for move, n in dense.items()} if has else dense
            before = tuple(entering)
            moved = {move: _passed(n, before) for move, n in moved.items()}
            useless = _compose(past, own.chance) if own else 0.0
            left = _left_out(tensor, moved, useless)
            traffic.actual = {move: moved[move] - left[move] for move in moved}
            for kind, words in (("gating", traffic.gated), ("skipping", traffic.skipped)):
                words |= left if own and own.kind == kind else dict.fromkeys(moved, 0)
            if own is not None:
                entering.append(useless)
                past = max(past, own.chance)
            if has:
                self._format_traffic(traffic, dense, before, own, useless, index, tensor)
            self.traffic[memory, tensor.name] = traffic
            above = boundary

    def _tile_traffic(self, tensor: Tensor, index: int, above: Boundary | None) -> tuple[SparseloopTraffic, float]:
        boundary = self.nest.chains[tensor.name][index]
        tile = self.nest.tile(tensor, boundary.outer_position)
        words = math.prod(tile)
        known = self.nest.occupancy(tensor, tile)
        instances = float(
            math.prod(
                loop.trips
                for loop in self.nest.mapping.nest.items[: boundary.outer_position]
                if isinstance(loop, Loop) and loop.is_spatial
            )
        )
        never = empty(known)
        if above is not None and self.nest.has_format(above.outer.name, tensor.name) and 0.0 < never < 1.0:
            instances *= 1.0 - never
            known = {k: p / (1.0 - never) for k, p in known.items() if k}
        has = self.nest.has_format(boundary.outer.name, tensor.name)
        traffic = SparseloopTraffic(
            words, mean(known), max(k for k, p in known.items() if p) if has else words, instances
        )
        if has:
            shapes, ranks = self.nest.shapes(tensor, index)
            density = self.nest.densities.get(tensor.name)
            traffic.width = self.nest.widths(boundary.outer.name, ranks)[::-1]
            traffic.shapes = shapes[::-1]
            kinds = [rank.kind if rank else None for rank in ranks]
            by_count = {k: tile_units(kinds, shapes, _inside(density, words, k)) for k, p in known.items() if p}
            traffic.units = [
                Units(
                    math.fsum(known[k] * units[i].metadata for k, units in by_count.items()),
                    math.fsum(known[k] * units[i].payload for k, units in by_count.items()),
                )
                for i in range(len(shapes))
            ][::-1]
            traffic.most_units = by_count[max(by_count)][::-1]
        return traffic, mean(known) / words

    def _format_traffic(
        self,
        traffic: SparseloopTraffic,
        dense: Moves,
        before: Sequence[float],
        own: Useless | None,
        useless: float,
        index: int,
        tensor: Tensor,
    ) -> None:
        chain = self.nest.chains[tensor.name]
        child = math.prod(self.nest.tile(tensor, chain[index].inner_position))
        shared = len(traffic.units)
        if index + 1 < len(chain) and child > 1:
            inside = chain[index + 1].outer.name
            shared = len(self.nest.shapes(tensor, index + 1)[0]) if self.nest.has_format(inside, tensor.name) else 0
        for move, n in dense.items():
            if not n:
                continue
            useless_here = useless if move != "fills" else 0.0
            every = [
                [_passed(_ceil(part * n / traffic.tile_words), before) for part in (u.metadata, u.payload)]
                for u in traffic.units
            ]
            left = [[_floor(part * useless_here * (i < shared)) for part in both] for i, both in enumerate(every)]
            traffic.format_actual[move] = [(a - c, b - d) for (a, b), (c, d) in zip(every, left, strict=True)]
            if own is not None and move != "fills":
                which = traffic.format_gated if own.kind == "gating" else traffic.format_skipped
                which[move] = [(a, b) for a, b in left]

    def finish(self) -> SparseloopCounts:
        """All tensors, and the operations that are left."""
        problem = self.nest.mapping.problem
        for tensor in problem.tensors:
            self.count(tensor)
        done = problem.macs
        for tensor in problem.operands:
            last = self.innermost_chance(tensor)
            done -= _floor(done * last)
        operations = self._states(done)
        instances = math.prod(loop.trips for loop in self.nest.mapping.nest.loops if loop.is_spatial)
        return SparseloopCounts(
            traffic=self.traffic,
            done=operations["done"],
            gated=operations["gated"],
            skipped=operations["skipped"],
            cycles=_ceil((operations["done"] + operations["gated"]) / instances),
        )

    def innermost_chance(self, tensor: Tensor) -> float:
        return next((own.chance for own in reversed(self.savings[tensor.name]) if own is not None), 0.0)

    def _states(self, every: int) -> dict[str, int]:
        """Operations by what the MAC gets: a word, a zero, or nothing."""
        operands = self.nest.mapping.problem.operands
        states = []
        for tensor in operands:
            nonzero = mean(self.nest.occupancy(tensor, (1,)))
            for other in operands:
                conditions = [s for s in self.nest.machine.savings if s.target == other.name and tensor.name in s.on]
                if other is not tensor and conditions:
                    nonzero = min(1.0, nonzero / (1.0 - self.innermost_chance(other)))
            nonzero = round(nonzero, 6)
            last = self.nest.chains[tensor.name][-1].outer.name
            states.append(
                {"word": nonzero, "gone" if self.nest.has_format(last, tensor.name) else "zero": 1.0 - nonzero}
            )
        found = {"done": 0.0, "gated": 0.0, "skipped": 0.0, "nothing": 0.0}
        first, second = states
        for a, p in first.items():
            for b, q in second.items():
                found[self._effect({a, b})] += every * p * q
        gated, skipped, nothing = (_floor(found[name]) for name in ("gated", "skipped", "nothing"))
        return {"done": every - gated - skipped - nothing, "gated": gated, "skipped": skipped}

    def _effect(self, pair: set[str]) -> str:
        if pair == {"word"}:
            return "done"
        if pair == {"gone"}:
            return "nothing"
        if "gone" in pair and self.nest.machine.mac_skips:
            return "skipped"
        return "gated" if self.nest.machine.mac_gates else "done"


def _compose(outer: float, inner: float) -> float:
    """The chance that a saving further in leaves out what one further out has not: tiles inside an empty one are empty
    as well."""
    return 0.0 if inner <= outer else 1.0 - (1.0 - inner) / (1.0 - outer)


def _inside(density: Density | None, words: int, nonzeros: int) -> Density:
    """The density inside a tile of so many words that is known to hold so many nonzero ones."""
    if density is None:
        raise TilewrightError("a format for a tensor without a density", hint="give its density")
    return (Uniform if isinstance(density, Uniform | Measured) else Even)(nonzeros / words)


def _by_move(accesses: Accesses) -> Moves:
    return {"reads": accesses.reads, "fills": accesses.fills, "updates": accesses.writes - accesses.fills}


def _passed(accesses: int, before: Sequence[float]) -> int:
    """Accesses that savings further out have not left out, each of which leaves out a share of what comes to it."""
    for removed in before:
        accesses -= _floor(accesses * removed)
    return accesses


def _left_out(tensor: Tensor, moved: Moves, useless: float) -> Moves:
    """Words that a memory does not read, nor take from inside; what comes from outside has been decided there."""
    reads = moved["reads"] * useless
    return {
        "reads": _ceil(reads) if tensor.is_output else _floor(reads),
        "fills": 0,
        "updates": _floor(moved["updates"] * useless),
    }


def _floor(value: float) -> int:
    return math.floor(value + 1e-9)


def _ceil(value: float) -> int:
    return math.ceil(value - 1e-9)
