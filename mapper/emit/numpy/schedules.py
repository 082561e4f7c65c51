"""The schedules of a fused mapping: one for each operation, on buffers that they have in common.

A node is one array, as large as any operation below it asks for. Each operation sees its part of it under a name of its
own, so that the first element that it reads is at 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from ....arch import Architecture
from ....cost_models.cascades import Way, fillers_of, home_of, left_boundaries
from ....ir import Loop, Mapping, Node, Place
from ..parts.names import FreshNames, comment, quoted
from ..parts.steps import steps_of
from ..parts.trees import layer_of, ways_through
from .passes import chosen_depths
from .plan import Buffer, NestPlan
from .schedule import PartOfTree, ProgramText
from .uneven import UnevenText


@dataclass(frozen=True)
class NodeArray:
    """What the instances of one node hold, for all operations.

    name    in the program
    shape   instances, then the tile
    origin  per rank, where the tensor's first position lies in a tile that begins at its first one
    """

    name: str
    shape: tuple[int, ...]
    origin: tuple[int, ...]


class Schedules:
    """Names for everything in `run`, and the text of its buffers and views.

    stays   tensors that are on chip before the run, or are left there, in their second node
    fast    with passes (`passes.py`), of which equal ones are run step by step once; None: operations of many steps
    depths  of the passes, instead of those with which the fewest steps are run
    """

    def __init__(
        self,
        fused: Mapping,
        arch: Architecture,
        taken: Collection[str] = (),
        stays: Collection[str] = (),
        fast: bool | None = False,
        depths: Collection[int] | None = None,
    ) -> None:
        self.fused, self.arch, self.stays = fused, arch, frozenset(stays)
        self.layer = layer_of(fused.cascade)
        self.ways = ways_through(fused, arch, stays)
        self.names = FreshNames(taken)
        self._views: dict[tuple[str, Place], str] = {}
        self.loop = self._loop_names()
        self.uneven = {
            name: UnevenText(fused, self.ways, name, arch, self.loop, self.names, self.stays)
            for name, way in self.ways.items()
            if way.made
        }
        for text in self.uneven.values():
            text.others.update(self.uneven)
        self.plans = {name: self._plan(way) for name, way in self.ways.items() if name not in self.uneven}
        self._seen = {name: dict(plan.buffers) for name, plan in self.plans.items()}
        self._seen |= {name: self._seen_above(text) for name, text in self.uneven.items()}
        self.arrays = self._arrays()
        self.depths = {
            name: chosen_depths(plan, self.ways[name].operation, fast, depths) for name, plan in self.plans.items()
        }
        self.of = {name: self._schedule(name, plan) for name, plan in self.plans.items()}
        self.above = {name: self._above(name, text) for name, text in self.uneven.items()}
        self.filler = fillers_of(self.ways)

    def _loop_names(self) -> dict[Place, str]:
        """One name per loop in time above a split."""
        found: dict[Place, str] = {}
        for address, tree in self.fused.tree.walk():
            for i, item in enumerate(tree.items if tree.branches else ()):
                if isinstance(item, Loop) and not item.is_spatial and item.trips > 1:
                    found[address, i] = self.names.unique(f"{item.dim}{len(found)}")
        return found

    def _plan(self, way: Way) -> NestPlan:
        passed = [t.name for t in way.mapping.problem.tensors if t.name in self.fused.cascade.intermediates]
        homes = {self.home(way, tensor) for tensor in passed if tensor not in self.stays}
        exchanges = frozenset(p for p in homes if self._memory(way, p) != self.arch.memories[0].name)
        return NestPlan(
            mapping=way.mapping,
            arch=self.arch,
            steps=steps_of(way.mapping),
            boundaries=tuple(left_boundaries(way.mapping, self.arch, self.stays)),
            shared=way.path.starts[-1],
            exchanges=exchanges,
            edges=self.layer is None,
        )

    def home(self, way: Way, tensor: str) -> int:
        """The position of a tensor's outermost node that the program knows of, on an operation's way."""
        return home_of(way.mapping, tensor, self.stays)

    def _memory(self, way: Way, position: int) -> str:
        item = way.mapping.nest.items[position]
        assert isinstance(item, Node)
        return item.memory

    def _seen_above(self, text: UnevenText) -> dict[int, Buffer]:
        """What an operation with uneven visits has of nodes above its split, but for what slides in them."""
        sliding = {other.exchange for other in self.uneven.values()}
        found = {}
        for tensor in text.problem.operands:
            for position, buffer in text.plan_above(tensor.name).buffers.items():
                above = buffer.tensor.name == tensor.name and position < text.path.starts[-1]
                if above and text.way.place(position) not in sliding:
                    found[position] = buffer
        return found

    def _above(self, name: str, text: UnevenText) -> list[ProgramText]:
        """The texts that fill the nodes above the split of an operation with uneven visits."""
        tensors = dict.fromkeys(tensor for tensor, _ in text.filled.values())
        views = {position: self.view_name(name, position) for position in self._seen[name]}
        return [text.schedule_above(tensor, views, self.names) for tensor in tensors]

    def _arrays(self) -> dict[Place, NodeArray]:
        """One array per node: as long, along every axis, as the operation that needs most of it."""
        found: dict[Place, NodeArray] = {}
        for text in self.uneven.values():
            origin = self._origin(text.exchange, text.output.name)
            node = self.fused.item(text.exchange)
            assert isinstance(node, Node)
            array = self.names.unique(f"{node.memory}_{node.tensor}")
            found[text.exchange] = NodeArray(array, text.output_shape(origin), origin)
        for name, buffers in self._seen.items():
            way = self.ways[name]
            for position, buffer in buffers.items():
                place = way.place(position)
                origin = self._origin(place, buffer.tensor.name)
                before = [way.operation.pad(buffer.tensor.name, i)[0] for i in range(len(buffer.tile))]
                if buffer.tensor.is_output:
                    before = [0] * len(before)
                tile = [o - b + n for o, b, n in zip(origin, before, buffer.tile, strict=True)]
                known = found.get(place)
                array = known.name if known else self.names.unique(f"{buffer.memory}_{buffer.tensor.name}")
                shape = (*(step.trips for step in buffer.spatial), *tile)
                if known:
                    shape = tuple(map(max, shape, known.shape))
                found[place] = NodeArray(array, shape, origin)
        return found

    def _origin(self, place: Place, tensor: str) -> tuple[int, ...]:
        """Zeros before the first position, as many as any operation below a node reads."""
        users = [path for path in self.fused.paths.values() if place in path.places]
        count = len(users[0].operation.problem.tensor(tensor).ranks)
        readers = [path.operation for path in users if path.operation.output.name != tensor]
        return tuple(max((op.pad(tensor, i)[0] for op in readers), default=0) for i in range(count))

    def _schedule(self, name: str, plan: NestPlan) -> ProgramText:
        way = self.ways[name]
        shared = {i: self.loop[place] for i, place in enumerate(way.path.places) if place in self.loop}
        shared |= {position: self.view_name(name, position) for position in plan.buffers}
        mine = [b.inner_position for b in way.boundaries]
        for other in self.ways.values():
            mine += [b.boundary.inner_position for b in other.borrowed if b.path.operation.name == name]
        operation = way.operation
        maximum = operation.reduction == "max"
        part = PartOfTree(plan, self.names, shared, maximum, frozenset(mine), operation.start)
        return ProgramText(part, self.depths[name])

    def view_name(self, operation: str, position: int) -> str:
        """What an operation calls its part of a node's array: the array's own name, where it is alone with it."""
        place = self.ways[operation].place(position)
        if (operation, place) not in self._views:
            array = self.arrays[place].name
            users = [path for path in self.fused.paths.values() if place in path.places]
            self._views[operation, place] = array if len(users) == 1 else self.names.unique(f"{array}_of_{operation}")
        return self._views[operation, place]

    @cached_property
    def given(self) -> set[Place]:
        """Nodes that hold whole tensors, of the caller or between operations: those in the outermost memory, and those
        where tensors stay."""
        found = set()
        for way in self.ways.values():
            for tensor in way.mapping.problem.tensors:
                position = self.home(way, tensor.name)
                passes = tensor.name in self.fused.cascade.intermediates and tensor.name not in self.stays
                if not passes or self._memory(way, position) == self.arch.memories[0].name:
                    found.add(way.place(position))
        return found

    def homes(self, name: str) -> dict[str, tuple[str, Place, tuple[int, ...]]]:
        """By tensor of an operation with uneven visits: the array that it is in above the branch, the node, and where
        the tensor's first position lies in the array."""
        text, found = self.uneven[name], {}
        for tensor in text.problem.tensors:
            positions = text.path.mapping.nest.node_positions(tensor.name)
            place = text.way.place(max(p for p in positions if p < text.path.starts[-1]))
            array = self.arrays[place]
            found[tensor.name] = array.name, place, array.origin
        return found

    # ---- text ----------------------------------------------------------------------------------------------

    def array_lines(self) -> Iterator[str]:
        """One array per node; in the outermost memory, or where they stay, the cascade's inputs are there from the
        start."""
        cascade = self.fused.cascade
        for place, array in self.arrays.items():
            node = self.fused.item(place)
            assert isinstance(node, Node)
            yield from comment(str(node))
            if place in self.given and node.tensor not in cascade.producers:
                extents = cascade.extents(node.tensor)
                key = quoted(node.tensor)
                yield f"{array.name} = placed(operands[{key}], {extents}, {array.origin}, {array.shape}, kind)"
            else:
                yield f"{array.name} = np.zeros({array.shape}, kind)"

    def part_lines(self) -> Iterator[str]:
        """Each operation's part of the arrays that several have in common."""
        for name, buffers in self._seen.items():
            operation = self.ways[name].operation
            for position, buffer in buffers.items():
                array = self.arrays[self.ways[name].place(position)]
                view = self.view_name(name, position)
                before = [0] * len(buffer.tile)
                if not buffer.tensor.is_output:
                    before = [operation.pad(buffer.tensor.name, i)[0] for i in range(len(buffer.tile))]
                starts = [o - b for o, b in zip(array.origin, before, strict=True)]
                parts = [":"] * len(buffer.spatial) + [f"{o}:{o + n}" for o, n in zip(starts, buffer.tile, strict=True)]
                if view != array.name or buffer.shape != array.shape:
                    yield f"{view} = {array.name}[{', '.join(parts) or '...'}]"
