"""Cascades walked step by step, from what docs/cost-model.md and docs/cascades.md say alone: an oracle for the cost
model that shares nothing with it but trees and machines.

Words are tuples of positions, tiles are sets of them, and a step is one setting of all loops. Left out are iterations,
lines, zeros, `latency: with_fill` and hops.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from tilewright.arch import Architecture, Fanout, Memory
from tilewright.ir import Cascade, Loop, Mapping, Node, Operation, Place, Tree, loop_of
from tilewright.ir.tree import Renews

Setting = dict[Place, int]
"""Where loops stand; loops that it has not are not yet entered."""

Box = dict[str, tuple[int, ...]]
"""Positions along dimensions."""

Words = frozenset[tuple[int, ...]]


@dataclass
class Port:
    """What one operation does to one tensor in one memory: words by kind of access and instance."""

    words: dict[str, Counter[tuple[int, ...]]] = field(default_factory=lambda: defaultdict(Counter))
    finished: Counter[tuple[int, ...]] = field(default_factory=Counter)

    def total(self, *kinds: str) -> int:
        return sum(self.words[kind].total() for kind in kinds)


class Walker:
    """A fused mapping on a machine, walked.

    ports  by operation, memory and tensor; steps by operation
    """

    def __init__(self, fused: Mapping, arch: Architecture) -> None:
        self.tree: Tree = fused.tree
        self.cascade: Cascade = fused.cascade
        self.arch = arch
        self.fanouts = {level.name: level for level in arch.levels if isinstance(level, Fanout)}
        self.leaves = self.tree.leaves()
        self.order = [self.cascade.operation(name) for name in self.leaves]
        self.items = {op.name: self.tree.above(self.leaves[op.name]) for op in self.order}
        self.windows = {op.name: fused.windows(op.name) for op in self.order}
        self.ports: dict[tuple[str, str, str], Port] = defaultdict(Port)
        self.steps: Counter[str] = Counter()
        self.points: Counter[str] = Counter()
        self._made: dict[str, dict[tuple[int, ...], list[Box]]] = {}
        for op in reversed(self.order):
            if self.windows[op.name]:
                self._made[op.name] = self._makes(op)
        for op in self.order:
            self._compute(op)
            for tensor in op.problem.tensors:
                chain = self.chain(op, tensor.name)
                for outer, inner in itertools.pairwise(chain):
                    if op is self._first_user(inner, tensor.name, op):
                        (self._sums if tensor.is_output else self._operand)(op, tensor.name, outer, inner)
            self._finish(op)

    def words_moved(self, operation: str) -> dict[tuple[str, str], tuple[int, int]]:
        """Words read and written by memory and tensor."""
        moved = {
            (memory, tensor): (port.total("read", "drain", "accumulate"), port.total("fill", "update"))
            for (name, memory, tensor), port in self.ports.items()
            if name == operation
        }
        return {key: words for key, words in moved.items() if any(words)}

    # ---- where things stand ----

    def exchange(self, tensor: str, reader: str) -> Place:
        return self.tree.nodes_above(tensor, self.tree.split_of(self.cascade.producers[tensor].name, reader))[-1]

    def chain(self, op: Operation, tensor: str) -> list[Place]:
        """The nodes of a tensor that an operation uses, outermost first."""
        nodes = self.tree.nodes_above(tensor, self.leaves[op.name])
        if tensor in self.cascade.producers and op.output.name != tensor:
            nodes = [place for place in nodes if place >= self.exchange(tensor, op.name)]
        return nodes

    def _first_user(self, place: Place, tensor: str, op: Operation) -> Operation:
        """The first operation that fills a node: the producer of sums drains its own."""
        return op if op.output.name == tensor else self.readers(place, tensor)[0]

    def readers(self, place: Place, tensor: str) -> list[Operation]:
        """Operations below a node that are served from it as an operand."""
        return [
            op
            for op in self.order
            if self.leaves[op.name][: len(place[0])] == place[0]
            and tensor in {t.name for t in op.problem.operands}
            and place in self.chain(op, tensor)
        ]

    def loops(self, op: Operation, place: Place | None, *, spatial: bool) -> list[tuple[Place, Loop]]:
        """The loops of an operation above a place, as it calls them; None: all."""
        return [
            (at, loop_of(item, op.name))
            for at, item in self.items[op.name]
            if isinstance(item, Loop) and item.is_spatial == spatial and (place is None or at < place)
        ]

    # ---- which points, which words ----

    def _settings(self, loops: list[tuple[Place, Loop]]) -> Iterator[Setting]:
        for values in itertools.product(*(range(loop.trips) for _, loop in loops)):
            yield {place: value for (place, _), value in zip(loops, values, strict=True)}

    def boxes(self, op: Operation, setting: Setting) -> list[Box]:
        """The points that an operation does while the loops of a setting stand there, as boxes."""
        runs: list[Box] = [{}]
        if self.windows[op.name]:
            visits = [place for place, loop in self._visit_loops(op)]
            runs = [
                box
                for visit, made in self._made[op.name].items()
                if all(setting.get(place, value) == value for place, value in zip(visits, visit, strict=True))
                for box in made
            ]
        return self._runs_of(op, setting, runs)

    def _runs_of(self, op: Operation, setting: Setting, runs: list[Box]) -> list[Box]:
        return [box for run in runs if (box := self._box(op, setting, run)) is not None]

    def _box(self, op: Operation, setting: Setting, run: Box) -> Box | None:
        box: Box = {}
        for dim, size in op.problem.dims:
            whole = run.get(dim, tuple(range(size)))
            loops = [
                (place, loop)
                for place, item in self.items[op.name]
                if isinstance(item, Loop) and (loop := loop_of(item, op.name)).dim == dim
                if dim not in run or place[0] == self.leaves[op.name]
            ]
            chosen = range(len(whole))
            tile = math.prod(loop.trips for _, loop in loops)
            numbers = {0}
            for place, loop in loops:
                tile //= loop.trips
                steps = [setting[place]] if place in setting else range(loop.trips)
                numbers = {number + step * tile for number in numbers for step in steps}
            box[dim] = tuple(whole[number] for number in sorted(numbers) if number in chosen)
            if not box[dim]:
                return None
        return box

    def words(self, op: Operation, tensor: str, setting: Setting, *, above: bool = False) -> Words:
        """The words of a tensor that an operation touches while the loops of a setting stand there."""
        found: set[tuple[int, ...]] = set()
        boxes = self.boxes(op, setting)
        if not boxes and above and not op.problem.tensor(tensor).dims & self.windows[op.name]:
            boxes = self._runs_of(op, setting, [dict.fromkeys(self.windows[op.name], (0,))])
        for box in boxes:
            found |= self._words_of(op, tensor, box)
        return frozenset(found)

    def _words_of(self, op: Operation, tensor: str, box: Box) -> Words:
        return frozenset(itertools.product(*self._ranks_of(op, tensor, box)))

    def _ranks_of(self, op: Operation, tensor: str, box: Box) -> list[list[int]]:
        ranks = []
        for number, rank in enumerate(op.problem.tensor(tensor).ranks):
            before = op.pad(tensor, number)[0]
            terms = [[coefficient * x for x in box[dim]] for dim, coefficient in rank]
            sums = sorted({sum(values) - before for values in itertools.product(*terms)})
            ranks.append(list(range(sums[0], sums[-1] + 1)) if self.arch.footprint == "box" else sums)
        return ranks

    # ---- windows between operations ----

    def _visit_loops(self, op: Operation) -> list[tuple[Place, Loop]]:
        return self.loops(op, (self.leaves[op.name], 0), spatial=False)

    def _makes(self, op: Operation) -> dict[tuple[int, ...], list[Box]]:
        """By visit, what an operation makes: what its readers ask for and the node does not hold."""
        tensor = op.output.name
        loops = self._visit_loops(op)
        readers = self.cascade.consumers[tensor]
        place = self.exchange(tensor, readers[0].name)
        own = [at for at, _ in loops if at[0] == place[0] and at < place]
        outside = [at for at, _ in loops if at[0] < place[0]]
        halo, renews = self.memory(place).halo, isinstance(self.tree.item(place), Renews)
        extents = self.cascade.extents(tensor)
        made: dict[tuple[int, ...], list[Box]] = {}
        held: Words = frozenset()
        before: Setting | None = None
        for setting in self._settings(loops):
            asked = self._asked(readers, tensor, setting, extents)
            if renews or (before and any(setting[at] != before[at] for at in outside)):
                held = frozenset()
            elif before is not None and any(setting[at] != before[at] for at in own):
                steady = all(setting[at] == before[at] for at in own[:-1])
                kept = halo == "exact" or (halo == "innermost" and steady)
                tile = {at: setting[at] for at in [*outside, *own]}
                held = held & self._asked(readers, tensor, tile, extents) if kept else frozenset()
            before = setting
            dims = [rank[0][0] for rank in op.output.ranks]
            made[tuple(setting.values())] = [dict(zip(dims, ranks, strict=True)) for ranks in _as_boxes(asked - held)]
            held |= asked
        return made

    def _asked(self, readers: tuple[Operation, ...], tensor: str, setting: Setting, extents: tuple[int, ...]) -> Words:
        words = frozenset().union(*(self.words(reader, tensor, setting) for reader in readers))
        return frozenset(word for word in words if all(0 <= x < n for x, n in zip(word, extents, strict=True)))

    # ---- boundaries ----

    def _served(self, op: Operation, tensor: str, place: Place) -> list[tuple[Place, Loop]]:
        """Loops in time above a node at whose steps it is served: those of trees around its own, a barrier each, and of
        its own tree down to the innermost that moves the tensor."""
        loops = self.loops(op, place, spatial=False)
        moves = [
            number
            for number, (at, loop) in enumerate(loops)
            if loop.trips > 1
            if at[0] != place[0] or self.arch.reuse == "at_node" or loop.dim in op.problem.tensor(tensor).dims
        ]
        return loops[: moves[-1] + 1] if moves else []

    def _steps(
        self, op: Operation, tensor: str, place: Place, loops: list[tuple[Place, Loop]], setting: Setting
    ) -> bool:
        """Whether a node in a branch is served at a setting. A visit that makes a few rows is a nest of its own: loops
        that take a single step in it move nothing, and what stands inside its innermost mover costs nothing."""
        if not self.windows[op.name] or place[0] != self.leaves[op.name]:
            return True
        visit = tuple(setting[at] for at, _ in self._visit_loops(op))
        made = self._made[op.name][visit]
        sizes = dict(op.problem.dims) | {dim: len(made[0][dim]) for dim in made[0]} if made else {}
        still = []
        for at, loop in reversed([(at, loop) for at, loop in loops if at[0] == place[0]]):
            inside = math.prod(
                item.trips
                for other, item in ((o, loop_of(i, op.name)) for o, i in self.items[op.name] if isinstance(i, Loop))
                if other > at and item.dim == loop.dim
            )
            steps = min(loop.trips, math.ceil(sizes.get(loop.dim, 0) / inside))
            if steps > 1 and (self.arch.reuse == "at_node" or loop.dim in op.problem.tensor(tensor).dims):
                break
            still.append(at)
        return all(setting[at] == 0 for at in still)

    def _instances(self, op: Operation, place: Place | None) -> list[Setting]:
        return list(self._settings(self.loops(op, place, spatial=True)))

    def _group(self, op: Operation, instance: Setting, outer: Place, shares: str) -> tuple[int, ...]:
        """Instances that share what passes to an outer node have one group."""
        return tuple(
            instance[place]
            for place, loop in self.loops(op, None, spatial=True)
            if place in instance and (place < outer or not getattr(self._fanout(loop), shares))
        )

    def _fanout(self, loop: Loop) -> Fanout:
        assert loop.axis is not None
        return self.fanouts[loop.axis.fanout]

    def _above(self, op: Operation, instance: Setting, place: Place) -> tuple[int, ...]:
        return tuple(instance[at] for at, _ in self.loops(op, place, spatial=True))

    def _port(self, op: Operation, place: Place, tensor: str) -> Port:
        return self.ports[op.name, self.memory(place).name, tensor]

    def memory(self, place: Place) -> Memory:
        """The memory of a node."""
        node = self.tree.item(place)
        assert isinstance(node, Node)
        return next(memory for memory in self.arch.memories if memory.name == node.memory)

    def _operand(self, op: Operation, tensor: str, outer: Place, inner: Place) -> None:
        users = self.readers(inner, tensor) if len(inner[0]) < len(self.leaves[op.name]) else [op]
        above = len(inner[0]) < len(self.leaves[op.name])
        seer = self._widest(users, tensor, inner)
        loops = self._served(seer, tensor, inner)
        own = [(at, loop) for at, loop in loops if at[0] == inner[0]]
        moves = bool(own) and own[-1][1].dim in seer.problem.tensor(tensor).dims
        halo = self.memory(inner).halo
        instances = self._instances(op, inner)
        held: dict[tuple[int, ...], Words] = {}
        before: Setting = {}
        for setting in self._settings(loops):
            tiles = {
                tuple(i.values()): frozenset().union(*(self.words(u, tensor, setting | i, above=above) for u in users))
                for i in instances
            }
            if not any(tiles.values()) or not self._steps(op, tensor, inner, loops, setting):
                continue
            stepped = next((at for at, _ in loops if before.get(at) != setting[at]), None)
            kept = stepped is not None and stepped[0] == inner[0] and bool(before)
            if not kept or halo == "none" or (halo == "innermost" and (stepped != own[-1][0] or not moves)):
                held = {}
            new = {key: tile - held.get(key, frozenset()) for key, tile in tiles.items()}
            self._send(op, tensor, outer, instances, new)
            for key, words in new.items():
                self._port(op, inner, tensor).words["fill"][key] += len(words)
            held |= {key: tile for key, tile in tiles.items() if tile}  # who is idle keeps what it holds
            before = setting

    def _widest(self, users: list[Operation], tensor: str, place: Place) -> Operation:
        """The operation that asks for all that a shared node holds."""
        return max(users, key=lambda user: len(self.words(user, tensor, {})))

    def _send(
        self, op: Operation, tensor: str, outer: Place, instances: list[Setting], new: dict[tuple[int, ...], Words]
    ) -> None:
        groups: dict[tuple[int, ...], set[tuple[int, ...]]] = defaultdict(set)
        owner: dict[tuple[int, ...], tuple[int, ...]] = {}
        for instance in instances:
            group = self._group(op, instance, outer, "multicast")
            groups[group] |= new[tuple(instance.values())]
            owner[group] = self._above(op, instance, outer)
        for group, words in groups.items():
            self._port(op, outer, tensor).words["read"][owner[group]] += len(words)

    def _sums(self, op: Operation, tensor: str, outer: Place, inner: Place) -> None:
        loops = self._served(op, tensor, inner)
        instances = self._instances(op, inner)
        port = self._port(op, inner, tensor)
        here: set[object] = set()
        for setting in self._settings(loops):
            if not self._steps(op, tensor, inner, loops, setting):
                continue
            tiles = {tuple(i.values()): self.words(op, tensor, setting | i) for i in instances}
            for key, words in tiles.items():
                seen = {(key, word, self._run(op, setting)) for word in words}
                if self.arch.inner_drain_read:
                    port.words["drain"][key] += len(words)
                port.words["fill"][key] += len(words if not self.arch.first_read_elision else seen & here)
                here |= seen
            self._arrive(op, outer, instances, tiles, self._run(op, setting))

    def _run(self, op: Operation, setting: Setting) -> object:
        """Words that an operation computes again begin anew in every visit."""
        return tuple(setting[at] for at, _ in self._visit_loops(op)) if self.windows[op.name] else None

    def _arrive(
        self, op: Operation, outer: Place, instances: list[Setting], tiles: dict[tuple[int, ...], Words], run: object
    ) -> None:
        groups: dict[tuple[int, ...], set[tuple[int, ...]]] = defaultdict(set)
        owner: dict[tuple[int, ...], tuple[int, ...]] = {}
        for instance in instances:
            group = self._group(op, instance, outer, "spatial_reduction")
            groups[group] |= tiles[tuple(instance.values())]
            owner[group] = self._above(op, instance, outer)
        port = self._port(op, outer, op.output.name)
        for group, words in groups.items():
            key = owner[group]
            port.words["update"][key] += len(words)
            again = {word for word in words if (op.name, outer, key, word, run) in self._arrived}
            port.words["accumulate"][key] += len(again if self.arch.first_read_elision else words)
            self._arrived |= {(op.name, outer, key, word, run) for word in words}

    def _finish(self, op: Operation) -> None:
        """A word's last arrival is finished, but next to the MACs and where instances hold parts of sums."""
        for place in self.chain(op, op.output.name)[:-1]:
            spread = self.loops(op, place, spatial=True)
            if not any(loop.trips > 1 and loop.dim not in op.output.dims for _, loop in spread):
                owners = [key for name, at, key, _, _ in self._arrived if (name, at) == (op.name, place)]
                self._port(op, place, op.output.name).finished.update(owners)

    def unfinished(self, op: Operation, place: Place) -> bool:
        """Whether sums arrive at a node that are not the whole of a word."""
        words = sum((name, at) == (op.name, place) for name, at, *_ in self._arrived)
        return self._port(op, place, op.output.name).total("update") > words

    def tile_words(self, place: Place, tensor: str) -> int:
        """The most words of a tensor that an instance of a node holds."""
        below = [op for op in self.order if self.leaves[op.name][: len(place[0])] == place[0]]
        users = [
            op for op in below if tensor in {t.name for t in op.problem.operands} and place in self.chain(op, tensor)
        ]
        users = users or [op for op in below if op.output.name == tensor]
        times = self.loops(users[0], place, spatial=False), self.loops(users[0], place, spatial=True)
        return max(
            len(frozenset().union(*(self.words(user, tensor, setting) for user in users)))
            for setting in self._settings([*times[0], *times[1]])
        )

    @cached_property
    def _arrived(self) -> set[tuple[str, Place, tuple[int, ...], tuple[int, ...], object]]:
        return set()

    # ---- the MACs ----

    def _compute(self, op: Operation) -> None:
        loops, instances = self.loops(op, None, spatial=False), self._instances(op, None)
        for setting in self._settings(loops):
            active = [i for i in instances for _ in self.boxes(op, setting | i)]
            if not active:
                continue
            self.steps[op.name] += 1
            self.points[op.name] += len(active)
            for tensor in op.problem.tensors:
                tiles = {tuple(i.values()): self.words(op, tensor.name, setting | i) for i in active}
                outer = self.chain(op, tensor.name)[-1]
                if tensor.is_output:
                    self._arrive(op, outer, active, tiles, self._run(op, setting))
                else:
                    self._send(op, tensor.name, outer, active, tiles)


def _as_boxes(words: Words) -> list[list[tuple[int, ...]]]:
    if not words:
        return []
    ranks = [tuple(sorted(set(column))) for column in zip(*words, strict=True)]
    if math.prod(map(len, ranks)) != len(words):
        raise NotImplementedError("several boxes")
    return [ranks]
