"""Every tree of a tiny cascade, and what each costs: the oracle that the search over trees is compared with.

Written from docs/cascades.md. It shares the tree and its cost with the search, and nothing else: no bounds, no depths
left out, no choice that another one makes needless.

A tree is a skeleton, sites of nodes above its splits for every tensor, and the loops and nodes of every branch
(`cascade_skeletons.py`, `brute_force.py`). There are too many for each to be counted as a whole. But words are counted
for each tensor on its own, what stands inside a branch is filled anew at every visit, and a branch shares nothing but
room with its neighbours. So the words of a tensor in an operation are those of its sites, with as little as there can
be in the branch, and what the branch's own loops and nodes of the tensor change; which is equal in all trees with equal
visits and an equal memory at the innermost site. Both are taken from trees that the cost model counts.
`Trees.sample` makes whole trees of random choices, with their composed figures, for a test to compare.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

import brute_force
from cascade_skeletons import STATED, Items, Sites, Skeleton, Skeletons, Wider, sites
from tilewright.arch import Architecture, Keep, Memory
from tilewright.cost_models.cascades import Held, Way, count_way, occupancy, ways_of
from tilewright.cost_models.cost import capacity_parts, cost_of
from tilewright.cost_models.fill import tile_cycles
from tilewright.cost_models.ports import access_bits, ports_of
from tilewright.ir import Cascade, Loop, Mapping, MappingError, Node, Operation, Problem, Role, Tensor, ceil_div
from tilewright.ir.problem import ROLES
from tilewright.mapper.question import Fuse
from tilewright.mapper.space import Space
from tilewright.mapper.tilings import Tiling

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Homes = dict[str, str]
"""By tensor of an operation, the memory of the innermost node above its branch."""

OBJECTIVES = ("energy", "latency", "edp")

_WAYS = 2 * len(ROLES)
"""Figures of a memory that its ports are timed by: bits read and written of each role."""


def _place(memory: int, role: Role) -> int:
    """The place of the bits of a role that a memory reads; those that it writes come next."""
    return 1 + _WAYS * memory + 2 * ROLES.index(role)


@dataclass(frozen=True)
class Counted:
    """An operation in a tree.

    words  by tensor: energy, then bits read and written of every memory, by role, then cycles that its first tiles take
           of each
    steps  in cycles
    held   what is held while it works
    """

    words: dict[str, Floats]
    steps: float
    held: tuple[Held, ...]


@dataclass(frozen=True)
class Placed:
    """Sites of one tensor.

    sites    outermost first
    stored   whether the outermost memory keeps the tensor
    homes    by operation that uses it, the memory of the innermost site
    words    by operation that uses it, with as little as there can be in its branch
    held     by operation, (parts,) bits of all sites
    drained  of the operation that writes it, bits of the innermost site
    """

    sites: Sites
    stored: bool
    homes: Homes
    words: dict[str, Floats] = field(default_factory=dict)
    held: dict[str, Ints] = field(default_factory=dict)
    drained: list[Ints] = field(default_factory=list)


@dataclass(frozen=True)
class Own:
    """A branch's own nodes of a tensor among its loops: what they change, their bits, and how much wider than with as
    little as there can be words of an output leave the branch."""

    change: Floats
    held: Ints
    widened: float


@dataclass(frozen=True)
class Insides:
    """All mappings of a branch.

    items    loops and nodes
    steps    (mappings,) in cycles
    changes  (mappings, figures) of words of all tensors
    held     (mappings, parts) bits of its own nodes
    widened  (mappings,) how much wider words of the output leave it
    """

    items: list[Items]
    steps: Floats
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

    tried  how many choices of skeletons and sites were looked at
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
    _own: dict[tuple[object, ...], Own] = field(default_factory=dict)
    _steps: dict[tuple[object, ...], float] = field(default_factory=dict)

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

    @cached_property
    def capacity(self) -> Ints:
        """(parts,) bits."""
        return np.array(list(self.room.values()), dtype=np.int64)

    # ---- figures of a tree ---------------------------------------------------------------------------------

    def count(self, fused: Mapping, *only: str) -> dict[str, Counted]:
        """Operations of a tree, by default all, on the machine with endless room."""
        ways = ways_of(fused, self.arch)
        held = occupancy(fused, self.arch, ways)
        return {name: self._counted(ways[name], held[name]) for name in only or ways}

    def _counted(self, way: Way, held: tuple[Held, ...]) -> Counted:
        counts = count_way(way, self.arch)
        machine = self.arch.model_copy(update={"mac": self.arch.mac.of(way.operation.kind)})
        cost = cost_of(way.mapping, machine, counts)
        words = {t.name: np.zeros(1 + (_WAYS + 1) * len(self.arch.memories)) for t in way.operation.problem.tensors}
        for moved in (*cost.traffic, *cost.networks):
            words[moved.tensor][0] += moved.energy_pj
        for (memory, tensor), accesses in counts.busiest.items():
            one = way.operation.problem.tensor(tensor)
            bits, at = access_bits(self.arch, one, accesses), _place(self.depth[memory], one.role)
            words[tensor][at : at + 2] = bits.read, bits.write
        for first in counts.first_tiles:
            at = self.depth[first.outer]
            if self.arch.memories[at].overlaps and self.arch.memories[self.depth[first.inner]].overlaps:
                cycles = tile_cycles(self.arch, way.operation.problem.tensor(first.tensor), first)
                words[first.tensor][1 + _WAYS * len(self.arch.memories) + at] += first.times * max(cycles)
                inner = self.arch.memories[self.depth[first.inner]]
                assert inner.keeps_sums or inner.write_bits_per_cycle is None, "its port is at work as the tile comes"
        return Counted(words, cost.compute_cycles, held)

    def latency(self, steps: Floats, words: Floats) -> Floats:
        """(mappings,) cycles of an operation with so many steps and words (mappings, figures)."""
        count = len(self.arch.memories)
        ports = np.zeros((len(words), count))
        for at, memory in enumerate(self.arch.memories):
            for port in ports_of(memory):
                places = [(role, _place(at, role)) for role in ROLES]
                cycles = sum(port.cycles(role, words[:, place], words[:, place + 1]) for role, place in places)
                ports[:, at] = np.maximum(ports[:, at], cycles)
        overlapping = np.array([memory.overlaps for memory in self.arch.memories])
        # Whatever is further in waits for the first tiles, and for the last ones.
        passing = np.cumsum(words[:, 1 + _WAYS * count :], axis=-1)
        steps, waiting = steps + passing[:, -1], ports.copy()
        waiting[:, 1:] += passing[:, :-1]
        return np.maximum(steps, (waiting * overlapping).max(axis=-1)) + (ports * ~overlapping).sum(axis=-1)

    def points_pj(self, operation: Operation) -> float:
        """Energy of all points of an operation."""
        return operation.problem.macs * self.arch.mac.of(operation.kind).energy_pj

    # ---- branches ------------------------------------------------------------------------------------------

    def least_inside(self, skeleton: Skeleton, operation: Operation, homes: Homes) -> Items:
        """All loops of a branch, and below them what memories must keep."""
        nodes = [
            Node(memory.name, tensor.name)
            for memory in self.arch.memories
            for tensor in operation.problem.tensors
            if self.keep(memory, tensor, homes) == "must"
        ]
        return (*(Loop(dim, size) for dim, size in self.tile(skeleton, operation) if size > 1), *nodes)

    def keep(self, memory: Memory, tensor: Tensor, homes: dict[str, str]) -> Keep:
        """Whether a memory keeps a tensor inside a branch."""
        inside = self.depth[memory.name] > self.depth[homes[tensor.name]]
        return memory.keeps[tensor.role] if inside else "never"

    @staticmethod
    def tile(skeleton: Skeleton, operation: Operation) -> tuple[tuple[str, int], ...]:
        return tuple((dim, skeleton.tile(operation.name, dim, size)) for dim, size in operation.problem.dims)

    def mappings(self, skeleton: Skeleton, operation: Operation, homes: dict[str, str]) -> list[Items]:
        """All loops and nodes of a branch."""
        tile = self.tile(skeleton, operation)
        cut = {dim for dim, size in tile if size < operation.problem.sizes[dim]}
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
        visits = operation.name, self.tile(skeleton, operation)
        key = visits, tuple(sorted(homes.items()))
        if key not in self._insides:
            leaves = self.least_leaves(skeleton, placed)
            least = self.count(self.fused(skeleton, placed, leaves), operation.name)[operation.name]
            found = []
            for items in self.mappings(skeleton, operation, homes):
                own = self._own_of(visits, operation, homes, items)
                if own is None:
                    try:
                        fused = self.fused(skeleton, placed, leaves | {operation.name: items})
                        self._learn(visits, operation, homes, items, self.count(fused, operation.name), least)
                    except MappingError:
                        continue
                    own = self._own_of(visits, operation, homes, items)
                assert own is not None
                if (sum(one.held for one in own) <= self.capacity).all():
                    found.append((items, self._steps[visits, _loops(items)], own))
            self._insides[key] = self._collected(operation, found)
        return self._insides[key]

    def _own_of(self, visits: tuple[object, ...], operation: Operation, homes: Homes, items: Items) -> list[Own] | None:
        """What is known of the tensors of a branch."""
        found = [
            self._own.get((visits, t.name, homes[t.name], _loops(items, t.name))) for t in operation.problem.tensors
        ]
        own = [one for one in found if one is not None]
        return own if len(own) == len(found) else None

    def _learn(
        self,
        visits: tuple[object, ...],
        operation: Operation,
        homes: Homes,
        items: Items,
        counted: dict[str, Counted],
        least: Counted,
    ) -> None:
        here = counted[operation.name]
        self._steps[visits, _loops(items)] = here.steps
        for tensor in operation.problem.tensors:
            name = tensor.name
            widened = _width_above(here, name) / _width_above(least, name)
            held = self.bits([tile for tile in here.held if tile.tensor == name and not tile.is_shared])
            own = Own(here.words[name] - least.words[name], held, widened if tensor.is_output else 1.0)
            self._own[visits, name, homes[name], _loops(items, name)] = own

    def _collected(self, operation: Operation, found: list[tuple[Items, float, list[Own]]]) -> Insides:
        count, figures = len(found), 1 + (_WAYS + 1) * len(self.arch.memories)
        return Insides(
            [items for items, _, _ in found],
            np.array([steps for _, steps, _ in found]),
            np.array([sum(one.change for one in own) for _, _, own in found]).reshape(count, figures),
            np.array([sum(one.held for one in own) for _, _, own in found], dtype=np.int64).reshape(
                count, len(self.room)
            ),
            np.array([math.prod(one.widened for one in own) for _, _, own in found]),
        )

    # ---- nodes above splits --------------------------------------------------------------------------------

    def least_leaves(self, skeleton: Skeleton, placed: dict[str, Placed]) -> dict[str, Items]:
        """For every branch the least that it must have."""
        return {
            op.name: self.least_inside(
                skeleton, op, {t.name: placed[t.name].homes[op.name] for t in op.problem.tensors}
            )
            for op in self.cascade
        }

    def fused(self, skeleton: Skeleton, placed: dict[str, Placed], leaves: dict[str, Items]) -> Mapping:
        """The whole tree; MappingError if there is none."""
        outermost = ((), 0, self.upper[0].name)
        all_sites = {t: ((outermost,) if one.stored else ()) + one.sites for t, one in placed.items()}
        return Mapping(self.cascade, skeleton.tree(all_sites, leaves, self.depth))

    def _far(self, tensor: str) -> Placed:
        """A tensor that the outermost memory alone keeps."""
        users = [op.name for op in self.cascade if tensor in {t.name for t in op.problem.tensors}]
        none = np.zeros(len(self.room), dtype=np.int64)
        return Placed((), True, dict.fromkeys(users, self.upper[0].name), {}, {}, none)

    def placements(self, skeleton: Skeleton, tensor: str) -> list[Placed]:
        """All sites of a tensor, whatever the others do."""
        memories = tuple(memory.name for memory in self.upper[1:]) if self.fuse != "none" else ()
        found = []
        for chosen in sites(self.cascade, skeleton, tensor, memories):
            for stored in (True, False) if tensor in self.cascade.intermediates else (True,):
                try:
                    found.append(self._placed(skeleton, tensor, chosen, stored))
                except MappingError:
                    continue
        return [one for one in found if one is not None]

    def _placed(self, skeleton: Skeleton, tensor: str, chosen: Sites, stored: bool) -> Placed | None:
        placed = {t: self._far(t) for t in self.cascade.tensors}
        homes = {}
        for address, below in skeleton.walk():
            if not below.branches and below.names[0] in placed[tensor].homes:
                above = [memory for where, _, memory in chosen if address[: len(where)] == where]
                homes[below.names[0]] = above[-1] if above else self.upper[0].name
        here = placed[tensor] = Placed(chosen, stored, homes)
        fused = self.fused(skeleton, placed, self.least_leaves(skeleton, placed))
        if not (self.wider.higher or self._is_stated(fused, tensor)):
            return None
        for name, counted in self.count(fused).items():
            tiles = [tile for tile in counted.held if tile.tensor == tensor and tile.is_shared]
            here.held[name] = self.bits(tiles)
            if name in homes:
                here.words[name] = counted.words[tensor]
            if tensor == self.cascade.operation(name).output.name:
                here.drained.append(self.bits(tiles[-1:]))
        return here

    def _is_stated(self, fused: Mapping, tensor: str) -> bool:
        """Whether exchange nodes stand directly above their split, or in the outermost memory; those of generations
        anywhere, but for the last ones."""
        if tensor not in self.cascade.intermediates:
            return True
        for consumer in self.cascade.consumers[tensor]:
            generation = consumer.generation(tensor)
            if generation is not None and generation.dim is not None:
                continue
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
        for skeleton in Skeletons(self.cascade, self.upper[0].name, self.fuse, self.wider, self.tiling):
            for choice, objective in self.best_of(skeleton, {o: c.value for o, c in best.items()}):
                best[objective] = choice
        return best

    def front(self) -> list[tuple[float, float]]:
        """Energy and latency of all trees that no other one beats in both, from the least energy on."""
        leakage = self.arch.total_leakage_pj_per_cycle
        found: list[tuple[float, float]] = []
        for skeleton in Skeletons(self.cascade, self.upper[0].name, self.fuse, self.wider, self.tiling):
            for _, fronts in self.fronts_of(skeleton):
                sums = [(0.0, 0.0)]
                for front in fronts:
                    sums = _beaten_by_none((e + p[0], c + p[1]) for e, c in sums for p in front)
                found = _beaten_by_none([*found, *((e + leakage * c, c) for e, c in sums)])
        return found

    def best_of(self, skeleton: Skeleton, known: dict[str, float]) -> Iterator[tuple[Choice, str]]:
        for placed, fronts in self.fronts_of(skeleton):
            for objective, value, each in _least(fronts, self.arch.total_leakage_pj_per_cycle):
                if value < known.get(objective, math.inf):
                    known[objective] = value
                    leaves = {op.name: one[2] for op, one in zip(self.cascade, each, strict=True)}
                    yield Choice(value, skeleton, placed, leaves), objective

    def fronts_of(self, skeleton: Skeleton) -> Iterator[tuple[dict[str, Placed], list[list[Point]]]]:
        """All choices of sites, with the mappings that are worth having of every branch."""
        options = [self.placements(skeleton, tensor) for tensor in self.cascade.tensors]
        inside: dict[tuple[object, ...], _Sums] = {}
        for chosen in itertools.product(*options):
            placed = dict(zip(self.cascade.tensors, chosen, strict=True))
            fronts = []
            for op in self.cascade:
                key = op.name, *(id(placed[t.name]) for t in op.problem.tensors)
                if key not in inside:
                    inside[key] = self._sums(skeleton, op, placed)
                own = inside[key]
                front = own.within(self.capacity - _held_by_others(op, placed))
                if not front:
                    break
                fronts.append(front)
                self.tried += 1
            else:
                yield placed, fronts

    def _sums(self, skeleton: Skeleton, operation: Operation, placed: dict[str, Placed]) -> _Sums:
        """All mappings of an operation's branch, with its tensors in some places."""
        insides = self.insides(skeleton, operation, placed)
        words = insides.changes + sum(placed[t.name].words[operation.name] for t in operation.problem.tensors)
        written = placed[operation.output.name]
        drained = np.round(written.drained[0] * (insides.widened[:, None] - 1)).astype(np.int64)
        bits = insides.held + written.held[operation.name] + drained
        energy = words[:, 0] + self.points_pj(operation)
        latency = self.latency(insides.steps, words) + self.filling(skeleton, operation)
        return _Sums(energy, latency, bits, insides.items)

    def filling(self, skeleton: Skeleton, operation: Operation) -> float:
        """Cycles in which arrays fill, in every visit."""
        cut = zip(self.tile(skeleton, operation), operation.problem.dims, strict=True)
        visits = math.prod(ceil_div(size, tile) for (_, tile), (_, size) in cut)
        links = [(axis.size - 1) * axis.latency_cycles for fanout in self.arch.fanouts for axis in fanout.axes]
        return visits * sum(links)

    def sample(self, rng: random.Random) -> tuple[Mapping, float, float, bool] | None:
        """A random tree, its composed energy and latency, and whether it fits; none where a branch has no mapping."""
        skeleton = rng.choice(list(Skeletons(self.cascade, self.upper[0].name, self.fuse, self.wider, self.tiling)))
        placed = {t: rng.choice(self.placements(skeleton, t)) for t in self.cascade.tensors}
        leaves, energy, latency, fits = {}, 0.0, 0.0, True
        for op in self.cascade:
            sums = self._sums(skeleton, op, placed)
            if not sums.items:
                return None
            i = rng.randrange(len(sums.items))
            leaves[op.name] = sums.items[i]
            energy += float(sums.energy[i])
            latency += float(sums.latency[i])
            fits &= bool((sums.bits[i] + _held_by_others(op, placed) <= self.capacity).all())
        energy += self.arch.total_leakage_pj_per_cycle * latency
        return self.fused(skeleton, placed, leaves), energy, latency, fits


def _loops(items: Items, *tensors: str) -> Items:
    """The loops among some items, and nodes of some tensors."""
    return tuple(item for item in items if isinstance(item, Loop) or item.tensor in tensors)


def _width_above(counted: Counted, tensor: str) -> float:
    """Bits of a word of a tensor at its innermost site."""
    site = [tile for tile in counted.held if tile.tensor == tensor and tile.is_shared][-1]
    return site.bits / site.words


def _held_by_others(operation: Operation, placed: dict[str, Placed]) -> Ints:
    """(parts,) bits of all sites, but for those of the operation's output, while it works."""
    held = [one.held[operation.name] for tensor, one in placed.items() if tensor != operation.output.name]
    return np.array(sum(held))


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


def _beaten_by_none(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """From the least energy on."""
    found: list[tuple[float, float]] = []
    for energy, latency in sorted(points):
        if not found or latency < found[-1][1]:
            found.append((energy, latency))
    return found
