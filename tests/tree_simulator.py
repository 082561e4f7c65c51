"""The meaning of a fused mapping: walk its tree step by step, remember what every instance holds, count words moved.

Every operation walks its own way through the tree, as `cost_models/simulator.py` walks a nest; the tree says whose turn
it is, and nodes above a split are one holder for all of them. When a visit of a branch ends, its partial sums leave and
what it held is forgotten. A consumer that reads a word of an intermediate before all points have been added to it, or
after the word has gone, is found out (`SimulationError`); of a tensor that is iterated, one that reads another
generation than it asks for.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Set

from line_walk import LinesSeen
from windowed_walk import Values, WindowedWalk

from tilewright.arch import Architecture, Memory
from tilewright.cost_models.boundaries import Boundary
from tilewright.cost_models.cascades.asks import readers_of
from tilewright.cost_models.cascades.tensor_layouts import laid_out_for
from tilewright.cost_models.cascades.ways import Way, ways_of
from tilewright.cost_models.counts import Counts
from tilewright.cost_models.layouts import LineCounts
from tilewright.cost_models.simulator import FIRST_STEP, Coordinates, Element, Holder, SimulationError, Tile, Walk
from tilewright.ir import Address, Loop, Mapping, Place, Tensor, Tree


class TreeWalk:
    """One walk over one tree."""

    def __init__(self, fused: Mapping, arch: Architecture) -> None:
        self.fused = fused
        self.ways = ways_of(fused, arch)
        self.holders: dict[tuple[str, Place], Holder] = defaultdict(Holder)
        self.values: Values = {}
        self.walks: dict[str, OperationWalk | WindowedWalk] = {
            name: WindowedWalk(way, arch, self) if way.made else OperationWalk(way, arch, self)
            for name, way in self.ways.items()
        }

    def _plan(self, tree: Tree, values: Values) -> None:
        """What windows ask for decides what their producers make: from the last branch to the first."""
        for branch in reversed(tree.branches):
            walk = self.walks.get(branch.operation)
            if isinstance(walk, WindowedWalk):
                walk.plan(values)

    def readers(self, place: Place) -> list[OperationWalk | WindowedWalk]:
        """The operations that read the tile of a node."""
        return [self.walks[path.operation.name] for path in readers_of(self.fused, place)]

    def run(self) -> dict[str, Counts]:
        self._visit(self.fused.tree, (), {})
        for walk in self.walks.values():
            walk.check_result()
        return {name: walk.counts() for name, walk in self.walks.items()}

    def bring(self, operation: str, place: Place) -> None:
        """What an operation keeps down to a node of its output is brought there, before its turn comes."""
        walk = self.walks[operation]
        assert isinstance(walk, OperationWalk)
        walk.bring(place, self.values)

    def _visit(self, tree: Tree, address: Address, values: Values) -> None:
        """One visit of a branch: all settings of its loops, and for each its operation, or its branches in order."""
        windowed = self.walks.get(tree.operation)
        if isinstance(windowed, WindowedWalk):
            windowed.make(values)
            return
        loops = {
            (address, i): range(item.trips)
            for i, item in enumerate(tree.items)
            if isinstance(item, Loop) and not item.is_spatial
        }
        for setting in itertools.product(*loops.values()):
            here = self.values = values | dict(zip(loops, setting, strict=True))
            self._plan(tree, here)
            for number, branch in enumerate(tree.branches):
                self._visit(branch, (*address, number), here)
                self.values = here
            if not tree.branches:
                walk = self.walks[tree.operation]
                assert isinstance(walk, OperationWalk)
                walk.take_step(here)
        for walk in self.walks.values():
            walk.leave(address)


class OperationWalk(Walk):
    """The steps of one operation, in the order in which the tree gives it its turns."""

    def __init__(self, way: Way, arch: Architecture, tree: TreeWalk) -> None:
        # Nodes are filled from the outside in, so what is shared comes first.
        super().__init__(way.mapping, arch, (*(borrowed.own for borrowed in way.borrowed), *way.boundaries))
        self.way = way
        self.tree = tree
        self.holders = {
            position: tree.holders[tensor.name, way.place(position)]
            for tensor in self.problem.tensors
            for position in way.mapping.nest.node_positions(tensor.name)
        }
        self.previous: Coordinates | None = None
        self.now = dict.fromkeys(self.problem.dim_names, 0)
        self.brought = FIRST_STEP
        self.home = way.mapping.nest.node_positions(self.problem.output.name)[0]
        self.done: dict[Element, int] = {}
        intermediates = tree.fused.cascade.intermediates
        self.read_at = {
            way.path.places.index(tree.fused.exchange(t.name, way.operation.name)): t.name
            for t in self.problem.operands
            if t.name in intermediates
        }
        self.leaves_home = self.problem.output.name in intermediates
        whole, problem = tree.fused.cascade, self.problem
        self.seen = LinesSeen.of(
            arch, problem.tensors, lambda memory, tensor: laid_out_for(whole, arch, memory, problem, tensor)
        )

    def transfer(
        self, kind: str, memory: Memory | None, instance: Coordinates, tensor: Tensor, words: Set[Element]
    ) -> None:
        """Some words pass a port of a memory's instance together."""
        self.seen.see(kind, memory, instance, tensor, words)

    def take_step(self, values: Values) -> None:
        """One setting of all loops above the operation; nothing, where it lies beyond a ragged edge."""
        time = {i: values[self.way.place(i)] for i in self.temporal}
        if not self._begin(time):
            return
        self.step(time)
        self.brought = FIRST_STEP
        self.previous = tuple(time.values())

    def _begin(self, time: dict[int, int]) -> bool:
        """Note which loop has stepped since this operation's last turn; false beyond a ragged edge."""
        self.now = self.offsets(time, len(self.items))
        if any(self.now[d] >= self.problem.sizes[d] for d in self.now):
            return False
        setting = tuple(time.values())
        self.moved_loop = FIRST_STEP if self.previous is None else self.outermost_change(self.previous, setting)
        if self.leaves_home and self.moved_loop < self.home and self.brought == FIRST_STEP:
            self._retire()
        return True

    def bring(self, place: Place, values: Values) -> None:
        """Before the operation's turn in a visit, bring what it has made so far to a node above its branch."""
        time = {i: values.get(self.way.place(i), 0) for i in self.temporal}
        position = self.way.path.places.index(place)
        if position <= self.brought or not self._begin(time):
            return
        to_come = [b for b in self.boundaries if b.tensor.is_output and self.brought < b.inner_position <= position]
        for boundary in reversed(to_come):
            if self.moved_loop != FIRST_STEP and self.is_served(boundary):
                self.drain(boundary, sorted(self.holders[boundary.inner_position].tile))
        for boundary in to_come:
            self.admit(boundary, time)
            self.note_refill(boundary)
        self.brought = position

    def leave(self, address: Address) -> None:
        """A visit of the branch at an address has ended: what it holds for this operation leaves."""
        for boundary in reversed(self.boundaries):
            if boundary.inner is None or self.way.place(boundary.inner_position)[0] != address:
                continue
            holder = self.holders[boundary.inner_position]
            if boundary.tensor.is_output:
                self.drain(boundary, sorted(holder.tile))
            else:
                holder.tile.clear()

    def is_served(self, boundary: Boundary) -> bool:
        if boundary.tensor.is_output and boundary.inner_position <= self.brought:
            return False
        return self.moved_loop < self.way.path.start(boundary.inner_position) or super().is_served(boundary)

    def starts_branch(self) -> bool:
        return self.moved_loop < self.way.path.starts[-1]

    def starts_visit(self, boundary: Boundary) -> bool:
        """Every visit of the branch that a node stands in fills on its own."""
        return self.moved_loop < self.way.path.start(boundary.inner_position)

    def elements(self, tensor: Tensor, offset: dict[str, int], extent: dict[str, int]) -> Tile:
        """Positions as the tensor has them: zeros before its first are negative."""
        found = super().elements(tensor, offset, extent)
        if tensor.is_output:
            return found
        before = [self.way.operation.pad(tensor.name, i)[0] for i in range(len(tensor.ranks))]
        if not any(before):
            return found
        return frozenset(tuple(x - b for x, b in zip(element, before, strict=True)) for element in found)

    def tile_at(self, boundary: Boundary, values: dict[int, int]) -> Tile:
        """What all that read a node in common ask it for."""
        place = self.way.place(boundary.inner_position)
        at = {self.way.place(i): value for i, value in values.items()}
        asked: Tile = frozenset()
        for walk in self.tree.readers(place):
            assert isinstance(walk, OperationWalk)  # others share no node that is filled
            asked |= walk.asks_at(boundary.tensor.name, place, at)
        return asked

    def asks_at(self, tensor: str, place: Place, at: Values) -> Tile:
        """What this operation asks a node for, where the loops above the node stand so."""
        return self._asks(tensor, self.way.path.places.index(place), at)

    def asks_in_visit(self, tensor: str, at: Values) -> Tile:
        """What this operation asks for in one visit of its branch."""
        return self._asks(tensor, self.way.path.starts[-1], at)

    def _asks(self, tensor: str, position: int, at: Values) -> Tile:
        values = {i: at[self.way.place(i)] for i in (*self.temporal, *self.spatial) if i < position}
        offset = self.offsets(values, position)
        extent = self.extents(offset, position)
        if min(extent.values()) <= 0:
            return frozenset()
        return self.elements(self.problem.tensor(tensor), offset, extent)

    def check_held(self, boundary: Boundary, outer: Coordinates, elements: set[Element]) -> None:
        tensor = self.read_at.get(boundary.outer_position)
        if tensor != boundary.tensor.name:
            super().check_held(boundary, outer, elements)
            return
        producer = self.tree.walks[self.tree.fused.cascade.producers[tensor].name]
        if self.way.operation.reads_before(tensor):
            self.tree.bring(producer.problem.name, self.way.place(boundary.outer_position))
        sums = self.holders[boundary.outer_position].products[outer]
        extents = self.tree.fused.cascade.extents(tensor)
        real = [e for e in elements if all(0 <= x < extent for x, extent in zip(e, extents, strict=True))]
        generation = self.way.operation.generation(tensor)
        if generation is not None and generation.dim is not None:
            steps = self.now[generation.dim] + generation.after
            is_right = all(sums.get(element, 0) == steps for element in real)
        else:
            is_right = all(element in sums and producer.finished(sums[element]) for element in real)
        if not is_right:
            raise SimulationError(
                f"{self.problem.name} reads {tensor} in {boundary.outer.name}, and it is not finished"
            )

    def _retire(self) -> None:
        """The tile of an intermediate gives way to the next one, at the outermost node that it has."""
        for sums in self.holders[self.home].products.values():
            for element, products in sums.items():
                if element in self.done:
                    raise SimulationError(f"{self.problem.output.name} is computed again")
                self.done[element] = products
            sums.clear()

    def check_result(self) -> None:
        self._retire()
        zero = dict.fromkeys(self.problem.dim_names, 0)
        expected = self.elements(self.problem.output, zero, dict(self.problem.sizes))
        if set(self.done) != expected or not all(map(self.finished, self.done.values())):
            raise SimulationError(f"{self.problem.name} did not add up every point of every word exactly once")


def walk_tree_lines(fused: Mapping, arch: Architecture) -> dict[str, LineCounts]:
    """Walk a fused mapping, and count the lines that pass memories which have lines for each operation."""
    walk = TreeWalk(fused, arch)
    walk.run()
    return {name: one.seen.counts() for name, one in walk.walks.items() if isinstance(one, OperationWalk)}


def simulate_tree(fused: Mapping, arch: Architecture) -> dict[str, Counts]:
    """Walk a fused mapping, tile by tile, and count the words that every memory reads and writes for each operation.

    Raises MappingError when a node or loop stands where the architecture has no place for it.
    """
    return TreeWalk(fused, arch).run()
