"""Every tree of a tiny cascade, and what each costs: the oracle that the search over trees is compared with.

Written from docs/cascades.md. It shares the tree and its cost with the search, and nothing else: no bounds, no depths
left out, no choice that another one makes needless.

A tree is a skeleton, sites of nodes above its splits for every tensor, and the loops and nodes of every branch
(`cascade_skeletons.py`, `brute_force.py`). There are too many for each to be counted as a whole. But words are counted
for each tensor on its own, what stands inside a branch is filled anew at every visit, and a branch shares nothing but
room with its neighbours. So the figures of an operation are a sum of three:

    those of the skeleton, when the outermost memory alone keeps everything, and branches only what they must
    for every tensor, what its sites change in these
    what the branch's own loops and nodes change; equal in all trees with equal visits and equal innermost nodes above

each the difference of two trees as the cost model counts them. `Trees.sample` makes whole trees of random choices, with
their composed figures, for a test to compare.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

import brute_force
from cascade_skeletons import STATED, Fuse, Items, Sites, Skeleton, Skeletons, Wider, sites
from tilewright.arch import Architecture, Keep, Memory
from tilewright.cost_models.cascades import FusedCost, Held, cost_of_counts, count_way, occupancy, ways_of
from tilewright.cost_models.cost import capacity_parts
from tilewright.ir import FusedMapping, Loop, MappingError, Node, Operation, Problem, Tensor
from tilewright.mapper.space import Space
from tilewright.mapper.tilings import Tiling

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Homes = tuple[tuple[str, str], ...]
"""By tensor of an operation, the memory of the innermost node above its branch."""

OBJECTIVES = ("energy", "latency", "edp")


@dataclass(frozen=True)
class Placed:
    """Sites of one tensor, and what they change.

    sites    outermost first
    stored   whether the outermost memory keeps the tensor
    homes    by operation that uses it
    changes  by operation, of its figures
    held     by operation, (parts,) bits of all sites
    drained  of the operation that writes it, bits of the innermost site
    """

    sites: Sites
    stored: bool
    homes: dict[str, str]
    changes: dict[str, Floats]
    held: dict[str, Ints]
    drained: Ints


@dataclass(frozen=True)
class Insides:
    """All mappings of a branch.

    items    loops and nodes
    changes  (mappings, figures) against the least that it must have
    held     (mappings, parts) bits of its own nodes
    widened  (mappings,) how much wider words of the output arrive at its innermost site than in that
    """

    items: list[Items]
    changes: Floats
    held: Ints
    widened: Floats


@dataclass(frozen=True)
class Choice:
    """A tree, and its value."""

    value: float
    skeleton: Skeleton
    placed: dict[str, Placed]
    leaves: dict[str, Items]


@dataclass
class Trees:
    """All trees of one cascade on one machine.

    tried  how many there are, of those that were looked at
    """

    cascade: Cascade
    arch: Architecture
    tiling: Tiling
    space: Space
    fuse: Fuse = "all"
    wider: Wider = STATED
    tried: int = 0
    _mappings: dict[tuple[object, ...], list[Items]] = field(default_factory=dict)
    _insides: dict[tuple[object, ...], Insides] = field(default_factory=dict)

    # ---- the machine ---------------------------------------------------------------------------------------

    @cached_property
    def upper(self) -> list[Memory]:
        """The memories outside all arrays, outermost first: splits stand above all others."""
        levels = itertools.takewhile(lambda level: isinstance(level, Memory), self.arch.levels)
        return [level for level in levels if isinstance(level, Memory)]

    @cached_property
    def depth(self) -> dict[str, int]:
        return {memory.name: i for i, memory in enumerate(self.arch.memories)}

    @cached_property
    def room(self) -> dict[tuple[str, str], int]:
        """Bits by memory and role, or "" for the part that roles share."""
        return {
            (memory.name, next(iter(part.roles)) if len(part.roles) == 1 else ""): part.bits
            for memory in self.arch.memories
            for part in capacity_parts(memory)
        }

    def bits(self, tiles: Sequence[Held]) -> Ints:
        """(parts,) bits that tiles take of all bounded memories."""
        found = dict.fromkeys(self.room, 0)
        for tile in tiles:
            for key in ((tile.memory, tile.role), (tile.memory, "")):
                if key in found:
                    found[key] += tile.bits
                    break
        return np.array(list(found.values()), dtype=np.int64)

    # ---- figures of a tree ---------------------------------------------------------------------------------

    def count(self, fused: FusedMapping) -> FusedCost:
        """What a tree costs on the machine with endless room."""
        ways = ways_of(fused, self.arch)
        counts = {name: count_way(way, self.arch) for name, way in ways.items()}
        return cost_of_counts(fused, self.arch, ways, counts, occupancy(fused, self.arch, ways))

    def figures(self, cost: FusedCost, operation: str) -> Floats:
        """Energy without leakage, compute cycles, and cycles of reads and of writes of every memory."""
        own = cost.operations[operation]
        cycles = [direction for use in own.memories for direction in (use.read_cycles, use.write_cycles)]
        return np.array([own.energy_pj - own.leakage_pj, own.compute_cycles, *cycles])

    def latency(self, figures: Floats) -> Floats:
        """(...,) cycles of operations with some figures (..., figures)."""
        ports = figures[..., 2:].reshape(*figures.shape[:-1], -1, 2).max(axis=-1)
        overlapping = np.array([memory.overlaps for memory in self.arch.memories])
        slowest = np.maximum(figures[..., 1], (ports * overlapping).max(axis=-1))
        return slowest + (ports * ~overlapping).sum(axis=-1)

    # ---- branches ------------------------------------------------------------------------------------------

    def least_inside(self, skeleton: Skeleton, operation: Operation, homes: dict[str, str]) -> Items:
        """All loops of a branch, and below them what memories must keep."""
        tile = self.tile(skeleton, operation)
        nodes = [
            Node(memory.name, tensor.name)
            for memory in self.arch.memories
            for tensor in operation.problem.tensors
            if self.keep(memory, tensor, homes) == "must"
        ]
        return (*(Loop(dim, size) for dim, size in tile if size > 1), *nodes)

    def keep(self, memory: Memory, tensor: Tensor, homes: dict[str, str]) -> Keep:
        """Whether a memory keeps a tensor inside a branch."""
        inside = self.depth[memory.name] > self.depth[homes[tensor.name]]
        return memory.keeps[tensor.role] if inside else "never"

    @staticmethod
    def tile(skeleton: Skeleton, operation: Operation) -> tuple[tuple[str, int], ...]:
        return tuple((dim, size // skeleton.trips(operation.name, dim)) for dim, size in operation.problem.dims)

    def mappings(self, skeleton: Skeleton, operation: Operation, homes: dict[str, str]) -> list[Items]:
        """All loops and nodes of a branch."""
        tile = self.tile(skeleton, operation)
        cut = {dim for dim, _ in tile if skeleton.trips(operation.name, dim) > 1}
        key = operation.name, tile, tuple(sorted(cut)), tuple(sorted(homes.items()))
        if key not in self._mappings:
            self._mappings[key] = list(self._all_mappings(Problem("tile", tile, operation.problem.tensors), cut, homes))
        return self._mappings[key]

    def _all_mappings(self, problem: Problem, cut: set[str], homes: dict[str, str]) -> Iterator[Items]:
        def keep(memory: Memory, tensor: Tensor) -> Keep:
            return "must" if memory is self.arch.memories[0] else self.keep(memory, tensor, homes)

        if self.space == "even":
            found = brute_force.all_mappings(problem, self.arch, self.tiling == "ragged", keep)
        else:
            found = brute_force.uneven_mappings(problem, self.arch, self.tiling, keep)
        for mapping in found:
            items = mapping.nest.items[len(problem.tensors) :]
            trips = {dim: math.prod(loop.trips for loop in mapping.nest.loops if loop.dim == dim) for dim in cut}
            if all(trips[dim] == problem.sizes[dim] for dim in cut):
                yield items

    def insides(self, skeleton: Skeleton, operation: Operation, placed: dict[str, Placed]) -> Insides:
        """All mappings of an operation's branch, that do not ask for more than there is."""
        homes = {t.name: placed[t.name].homes[operation.name] for t in operation.problem.tensors}
        visits = tuple(skeleton.trips(operation.name, dim) for dim in operation.problem.dim_names)
        key = operation.name, visits, tuple(sorted(homes.items()))
        if key not in self._insides:
            self._insides[key] = self._count_insides(skeleton, operation, placed, homes)
        return self._insides[key]

    def _count_insides(
        self, skeleton: Skeleton, operation: Operation, placed: dict[str, Placed], homes: dict[str, str]
    ) -> Insides:
        leaves = self.least_leaves(skeleton, placed)
        least, least_width = self._inside(skeleton, operation, placed, leaves)
        items, changes, held, widened = [], [], [], []
        room = np.array(list(self.room.values()), dtype=np.int64)
        for inside in self.mappings(skeleton, operation, homes):
            try:
                cost, width = self._inside(skeleton, operation, placed, leaves | {operation.name: inside})
            except MappingError:
                continue
            own = self.bits([tile for tile in cost.occupancy[operation.name] if not tile.is_shared])
            if (own > room).any():
                continue
            items.append(inside)
            changes.append(self.figures(cost, operation.name) - self.figures(least, operation.name))
            held.append(own)
            widened.append(width / least_width)
        count = len(items)
        return Insides(
            items,
            np.array(changes).reshape(count, -1),
            np.array(held, dtype=np.int64).reshape(count, len(self.room)),
            np.array(widened),
        )

    def _inside(
        self, skeleton: Skeleton, operation: Operation, placed: dict[str, Placed], leaves: dict[str, Items]
    ) -> tuple[FusedCost, float]:
        """A tree's cost, and the width of words of an operation's output at their innermost site."""
        cost = self.count(self.fused(skeleton, placed, leaves))
        shared = [t for t in cost.occupancy[operation.name] if t.tensor == operation.output.name and t.is_shared]
        return cost, shared[-1].bits / shared[-1].words

    # ---- nodes above splits --------------------------------------------------------------------------------

    def least_leaves(self, skeleton: Skeleton, placed: dict[str, Placed]) -> dict[str, Items]:
        """For every branch the least that it must have."""
        return {
            op.name: self.least_inside(
                skeleton, op, {t.name: placed[t.name].homes[op.name] for t in op.problem.tensors}
            )
            for op in self.cascade
        }

    def fused(self, skeleton: Skeleton, placed: dict[str, Placed], leaves: dict[str, Items]) -> FusedMapping:
        """The whole tree; MappingError if there is none."""
        outermost = ((), 0, self.upper[0].name)
        all_sites = {t: ((outermost,) if one.stored else ()) + one.sites for t, one in placed.items()}
        return FusedMapping(self.cascade, skeleton.tree(all_sites, leaves, self.depth))

    def _far(self, tensor: str) -> Placed:
        """A tensor that the outermost memory alone keeps."""
        users = [op.name for op in self.cascade if tensor in {t.name for t in op.problem.tensors}]
        none = np.zeros(len(self.room), dtype=np.int64)
        return Placed((), True, dict.fromkeys(users, self.upper[0].name), {}, {}, none)

    def placements(self, skeleton: Skeleton, tensor: str) -> list[Placed]:
        """All sites of a tensor, whatever the others do."""
        far = {t: self._far(t) for t in self.cascade.tensors}
        least = self.count(self.fused(skeleton, far, self.least_leaves(skeleton, far)))
        memories = tuple(memory.name for memory in self.upper[1:]) if self.fuse != "none" else ()
        found = []
        for chosen in sites(self.cascade, skeleton, tensor, memories):
            for stored in (True, False) if tensor in self.cascade.intermediates else (True,):
                try:
                    found.append(self._placed(skeleton, far, least, tensor, chosen, stored))
                except MappingError:
                    continue
        return [one for one in found if one is not None]

    def _placed(
        self, skeleton: Skeleton, far: dict[str, Placed], least: FusedCost, tensor: str, chosen: Sites, stored: bool
    ) -> Placed | None:
        homes = {}
        for address, below in skeleton.walk():
            if not below.branches and below.names[0] in far[tensor].homes:
                above = [memory for where, _, memory in chosen if address[: len(where)] == where]
                homes[below.names[0]] = above[-1] if above else self.upper[0].name
        here = Placed(chosen, stored, homes, {}, {}, np.zeros(len(self.room), dtype=np.int64))
        trial = far | {tensor: here}
        fused = self.fused(skeleton, trial, self.least_leaves(skeleton, trial))
        cost = self.count(fused)
        if not (self.wider.higher or self._is_stated(fused, skeleton, tensor)):
            return None
        for name in skeleton.names:
            here.changes[name] = self.figures(cost, name) - self.figures(least, name)
            tiles = [tile for tile in cost.occupancy[name] if tile.tensor == tensor and tile.is_shared]
            here.held[name] = self.bits(tiles)
            if tensor == self.cascade.operation(name).output.name:
                here.drained[:] = self.bits(tiles[-1:])
        return here

    def _is_stated(self, fused: FusedMapping, skeleton: Skeleton, tensor: str) -> bool:
        """Whether exchange nodes stand directly above their split, or in the outermost memory."""
        if tensor not in self.cascade.intermediates:
            return True
        for consumer in self.cascade.consumers[tensor]:
            place = fused.exchange(tensor, consumer.name)
            split = fused.split_of(self.cascade.producers[tensor].name, consumer.name)
            node = fused.item(place)
            assert isinstance(node, Node)
            if node.memory == self.upper[0].name:
                continue
            after = fused.tree.at(place[0]).items[place[1] :]
            if place[0] != split or any(isinstance(item, Loop) for item in after):
                return False
        return True

    # ---- all of them ---------------------------------------------------------------------------------------

    def best(self) -> dict[str, Choice]:
        """The best tree for each objective; none where nothing fits."""
        best: dict[str, Choice] = {}
        for skeleton in Skeletons(self.cascade, self.upper[0].name, self.fuse, self.wider):
            for choice, objective in self._best_of(skeleton, {o: c.value for o, c in best.items()}):
                best[objective] = choice
        return best

    def _best_of(self, skeleton: Skeleton, known: dict[str, float]) -> Iterator[tuple[Choice, str]]:
        base = self._base(skeleton)
        options = [self.placements(skeleton, tensor) for tensor in self.cascade.tensors]
        room = np.array(list(self.room.values()), dtype=np.int64)
        inside: dict[tuple[object, ...], _Sums] = {}
        for chosen in itertools.product(*options):
            placed = dict(zip(self.cascade.tensors, chosen, strict=True))
            fronts = []
            for op in self.cascade:
                key = op.name, *(id(placed[t.name]) for t in op.problem.tensors)
                if key not in inside:
                    inside[key] = self._sums(skeleton, base, op, placed)
                own = inside[key]
                others = sum((p.held[op.name] for t, p in placed.items() if t != op.output.name), np.zeros_like(room))
                front = own.within(room - others)
                if not front:
                    break
                fronts.append(front)
                self.tried += 1
            else:
                for objective, value, each in _least(fronts, self.arch.total_leakage_pj_per_cycle):
                    if value < known.get(objective, math.inf):
                        known[objective] = value
                        leaves = {op.name: one[2] for op, one in zip(self.cascade, each, strict=True)}
                        yield Choice(value, skeleton, placed, leaves), objective

    def _base(self, skeleton: Skeleton) -> dict[str, Floats]:
        far = {t: self._far(t) for t in self.cascade.tensors}
        cost = self.count(self.fused(skeleton, far, self.least_leaves(skeleton, far)))
        return {name: self.figures(cost, name) for name in skeleton.names}

    def _sums(
        self, skeleton: Skeleton, base: dict[str, Floats], operation: Operation, placed: dict[str, Placed]
    ) -> _Sums:
        """Energy, latency and bits of all mappings of an operation's branch, in one place of its tensors."""
        insides = self.insides(skeleton, operation, placed)
        figures = base[operation.name] + insides.changes
        for tensor in self.cascade.tensors:
            # A node above a split is filled by the first who reads it, whoever else does.
            if operation.name in placed[tensor].homes:
                figures = figures + placed[tensor].changes[operation.name]
        written = placed[operation.output.name]
        drained = np.round(written.drained[None, :] * (insides.widened[:, None] - 1)).astype(np.int64)
        bits = insides.held + written.held[operation.name] + drained
        return _Sums(figures[:, 0], self.latency(figures), bits, insides.items)

    def sample(self, rng: random.Random) -> tuple[FusedMapping, float, float, bool] | None:
        """A random tree, its composed energy and latency, and whether it fits; none where a branch has no mapping."""
        skeleton = rng.choice(list(Skeletons(self.cascade, self.upper[0].name, self.fuse, self.wider)))
        placed = {t: rng.choice(self.placements(skeleton, t)) for t in self.cascade.tensors}
        base, room = self._base(skeleton), np.array(list(self.room.values()), dtype=np.int64)
        leaves, energy, latency, fits = {}, 0.0, 0.0, True
        for op in self.cascade:
            sums = self._sums(skeleton, base, op, placed)
            if not sums.items:
                return None
            i = rng.randrange(len(sums.items))
            leaves[op.name] = sums.items[i]
            energy += float(sums.energy[i])
            latency += float(sums.latency[i])
            others = sum((p.held[op.name] for t, p in placed.items() if t != op.output.name), np.zeros_like(room))
            fits &= bool((sums.bits[i] + others <= room).all())
        energy += self.arch.total_leakage_pj_per_cycle * latency
        return self.fused(skeleton, placed, leaves), energy, latency, fits


Point = tuple[float, float, Items]


@dataclass(frozen=True)
class _Sums:
    """Of all mappings of one branch: energy without leakage, latency, (mappings, parts) bits, and the items."""

    energy: Floats
    latency: Floats
    bits: Ints
    items: list[Items]

    @cached_property
    def _front(self) -> list[int]:
        """Those that no other one beats in everything."""
        order = sorted(range(len(self.items)), key=lambda i: (self.energy[i], self.latency[i], *self.bits[i]))
        found: list[int] = []
        for i in order:
            if not any(self.latency[k] <= self.latency[i] and (self.bits[k] <= self.bits[i]).all() for k in found):
                found.append(i)
        return found

    def within(self, room: Ints) -> list[Point]:
        """Those on the front of energy and latency that fit in some room."""
        points: list[Point] = []
        for i in self._front:
            if (self.bits[i] <= room).all() and (not points or self.latency[i] < points[-1][1]):
                points.append((float(self.energy[i]), float(self.latency[i]), self.items[i]))
        return points


def _least(fronts: list[list[Point]], leakage: float) -> Iterator[tuple[str, float, tuple[Point, ...]]]:
    """The least of each objective over all choices of one point for every operation."""
    by_energy = tuple(min(front, key=lambda p: p[0] + leakage * p[1]) for front in fronts)
    yield "energy", sum(p[0] + leakage * p[1] for p in by_energy), by_energy
    fastest = tuple(front[-1] for front in fronts)
    yield "latency", sum(p[1] for p in fastest), fastest
    best = (math.inf, fastest)
    for each in itertools.product(*fronts):
        cycles = sum(p[1] for p in each)
        edp = (sum(p[0] for p in each) + leakage * cycles) * cycles
        if edp < best[0]:
            best = edp, each
    yield "edp", *best
