"""The meaning of a fused mapping: walk its tree step by step, remember what every instance holds, count words moved.

Every operation walks its own way through the tree, as `cost_models/simulator.py` walks a nest; the tree says whose turn
it is, and nodes above a split are one holder for all of them. When a visit of a branch ends, its partial sums leave and
what it held is forgotten. A consumer that reads a word of an intermediate before all points have been added to it, or
after the word has gone, is found out (`SimulationError`).
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence

from ...arch import Architecture, Memory
from ...ir import Address, FusedMapping, Loop, Mapping, Node, Place, Renews, Tensor, Tree
from ..boundaries import Boundary, chains_of
from ..counts import Accesses, Counts
from ..simulator import FIRST_STEP, Coordinates, Element, Holder, SimulationError, Tile, Walk
from .asks import readers_of
from .closed_form import above_the_split
from .ways import Way, ways_of
from .windows import exchange_of, visit_mapping, whole_mapping

Values = dict[Place, int]
"""Where the temporal loops of the tree stand."""


class TreeWalk:
    """One walk over one tree."""

    def __init__(self, fused: FusedMapping, arch: Architecture) -> None:
        self.fused = fused
        self.ways = ways_of(fused, arch)
        self.holders: dict[tuple[str, Place], Holder] = defaultdict(Holder)
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
            here = values | dict(zip(loops, setting, strict=True))
            self._plan(tree, here)
            for number, branch in enumerate(tree.branches):
                self._visit(branch, (*address, number), here)
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
        self.home = way.mapping.nest.node_positions(self.problem.output.name)[0]
        self.done: dict[Element, int] = {}
        intermediates = tree.fused.cascade.intermediates
        self.read_at = {
            way.path.places.index(tree.fused.exchange(t.name, way.operation.name)): t.name
            for t in self.problem.operands
            if t.name in intermediates
        }
        self.leaves_home = self.problem.output.name in intermediates

    def take_step(self, values: Values) -> None:
        """One setting of all loops above the operation; nothing, where it lies beyond a ragged edge."""
        time = {i: values[self.way.place(i)] for i in self.temporal}
        first = self.offsets(time, len(self.items))
        if any(first[d] >= self.problem.sizes[d] for d in first):
            return
        setting = tuple(time.values())
        self.moved_loop = FIRST_STEP if self.previous is None else self.outermost_change(self.previous, setting)
        self.previous = setting
        if self.leaves_home and self.moved_loop < self.home:
            self._retire()
        self.step(time)

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
        return self.moved_loop < self.way.path.start(boundary.inner_position) or super().is_served(boundary)

    def elements(self, tensor: Tensor, offset: dict[str, int], extent: dict[str, int]) -> Tile:
        """Positions as the tensor has them: zeros before its first are negative."""
        found = super().elements(tensor, offset, extent)
        if tensor.is_output:
            return found
        before = [self.way.operation.pad(tensor.name, i)[0] for i in range(len(tensor.ranks))]
        if not any(before):
            return found
        return frozenset(tuple(x - b for x, b in zip(element, before, strict=True)) for element in found)

    def tile_at(self, boundary: Boundary, offset: dict[str, int], values: dict[int, int]) -> Tile:
        """What all that read a node in common ask it for."""
        place = self.way.place(boundary.inner_position)
        at = {self.way.place(i): value for i, value in values.items()}
        asked: Tile = frozenset()
        for walk in self.tree.readers(place):
            assert isinstance(walk, OperationWalk)
            asked |= walk.asks(boundary.tensor.name, walk.way.path.places.index(place), at)
        return asked

    def asks(self, tensor: str, position: int, at: Values) -> Tile:
        """What this operation asks for below a position, where the loops above it stand so."""
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
        sums = self.holders[boundary.outer_position].products[outer]
        extents = self.tree.fused.cascade.extents(tensor)
        real = [e for e in elements if all(0 <= x < extent for x, extent in zip(e, extents, strict=True))]
        if not all(element in sums and producer.finished(sums[element]) for element in real):
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


class _Part(Walk):
    """A walk that is about some boundaries of a nest alone."""

    def __init__(self, mapping: Mapping, arch: Architecture, boundaries: Sequence[Boundary]) -> None:
        super().__init__(mapping, arch, boundaries)
        self.holders |= {b.inner_position: Holder() for b in boundaries}

    def check_result(self) -> None:
        return


class WindowedWalk:
    """The visits of an operation whose consumers read through windows: each makes what they ask for and the node where
    they exchange it does not hold. A visit is a walk of its own, over as many positions as it makes."""

    def __init__(self, way: Way, arch: Architecture, tree: TreeWalk) -> None:
        self.way, self.arch, self.tree = way, arch, tree
        self.problem = way.operation.problem
        self.output = self.problem.output
        self.exchange = exchange_of(tree.fused, way.path)
        self.position = way.path.places.index(self.exchange)
        self.temporal = [
            i
            for i, item in enumerate(way.mapping.nest.items[: way.path.starts[-1]])
            if isinstance(item, Loop) and item.trips > 1
        ]
        self.previous: Coordinates | None = None
        self.held: set[Element] = set()
        self.new: Tile = frozenset()
        self.done: set[Element] = set()
        self.accesses: dict[tuple[str, str, Coordinates], Accesses] = defaultdict(Accesses)
        self.total = Counts()

    def finished(self, products: int) -> bool:
        return products == 1

    def leave(self, address: Address) -> None:
        """Visits leave nothing behind but what stands above the split."""

    # ---- what a visit makes --------------------------------------------------------------------------------

    def plan(self, values: Values) -> None:
        """Find out what this visit makes, from what all consumers ask for in it."""
        setting = tuple(values[self.way.place(i)] for i in self.temporal)
        asked = frozenset(element for element in self._asked(values) if self._is_real(element))
        self._forget(setting, values)
        self.previous = setting
        self.new = frozenset(asked - self.held)
        sides = [sorted(set(axis)) for axis in zip(*self.new, strict=True)]
        if len(self.new) != math.prod(map(len, sides)) * bool(self.new):
            raise SimulationError(f"a visit makes {self.output.name} in no box")
        if any(side[-1] - side[0] + 1 != len(side) for side in sides):
            raise SimulationError(f"a visit makes positions of {self.output.name} with gaps")

    def _asked(self, values: Values) -> Tile:
        asked: Tile = frozenset()
        for consumer in self.tree.fused.cascade.consumers[self.output.name]:
            walk = self.tree.walks[consumer.name]
            start = walk.way.path.starts[-1]
            if isinstance(walk, OperationWalk):
                asked |= walk.asks(self.output.name, start, values)
            else:
                asked |= walk.reads(self.output.name, values)
        return asked

    def _forget(self, setting: Coordinates, values: Values) -> None:
        """A step of a loop above the node changes its tile: what the memory does not keep is gone."""
        node = self.tree.fused.item(self.exchange)
        assert isinstance(node, Node)
        memory = self.arch.level(node.memory)
        assert isinstance(memory, Memory)
        if self.previous is None or isinstance(node, Renews):
            self.held = set()
            return
        changed = (i for i, old, new in zip(self.temporal, self.previous, setting, strict=True) if old != new)
        moved = next(changed, self.position)
        above = [i for i in self.temporal if i < self.position]
        if moved >= self.position:
            return
        slides = memory.halo == "exact" or (memory.halo == "innermost" and moved == above[-1])
        if moved < self.way.path.start(self.position) or not slides:
            self.held = set()
        else:
            self.held &= self._tile(values, above[-1] == self.temporal[-1])

    def _tile(self, values: Values, is_one_visit: bool) -> Tile | set[Element]:
        """All that the node is asked for while the loops above it stand."""
        tile: Tile | set[Element] = frozenset()
        for consumer in self.tree.fused.cascade.consumers[self.output.name]:
            walk = self.tree.walks[consumer.name]
            if isinstance(walk, OperationWalk):
                tile |= walk.asks(self.output.name, walk.way.path.places.index(self.exchange), values)
            elif is_one_visit:
                tile |= walk.reads(self.output.name, values)
            else:
                return self.held  # what it will make is not known yet
        return tile

    def _is_real(self, element: Element) -> bool:
        extents = self.tree.fused.cascade.extents(self.output.name)
        return all(0 <= x < extent for x, extent in zip(element, extents, strict=True))

    # ---- a visit -------------------------------------------------------------------------------------------

    def make(self, values: Values) -> None:
        """One visit: walk it, and hold what it made."""
        if not self.new:
            return
        sizes = {dim: len(self._positions(values)[dim]) for dim in self._shared()}
        mapping = visit_mapping(self.way.path, sizes)
        for tensor in self.problem.operands:
            if tensor.name in self.tree.fused.cascade.intermediates:
                self._check_held(tensor.name, values)
        walk = Walk(mapping, self.arch, tuple(chains_of(mapping, self.arch)))
        walk.run()
        self._add(walk)
        self.held |= self.new
        self.done |= self.new
        holder = self.tree.holders[self.output.name, self.exchange]
        holder.products[()] = dict.fromkeys(self.held, 1)

    def _shared(self) -> list[str]:
        return sorted({loop.dim for loop in self.way.path.shared_loops if loop.trips > 1})

    def _positions(self, values: Values) -> dict[str, list[int]]:
        """The positions of every dimension that this visit works on: of the output's, those that it makes."""
        axes = [sorted(set(axis)) for axis in zip(*self.new, strict=True)]
        found = {rank[0][0]: axis for rank, axis in zip(self.output.ranks, axes, strict=True)}
        return {dim: found.get(dim, list(range(size))) for dim, size in self.problem.dims}

    def reads(self, tensor: str, values: Values) -> Tile:
        """What this visit reads of an operand; positions as the tensor has them."""
        if not self.new:
            return frozenset()
        positions = self._positions(values)
        axes = []
        for i, rank in enumerate(self.problem.tensor(tensor).ranks):
            before = self.way.operation.pad(tensor, i)[0]
            points = itertools.product(*([c * x for x in positions[dim]] for dim, c in rank))
            axes.append({sum(point) - before for point in points})
        return frozenset(itertools.product(*axes))

    def _check_held(self, tensor: str, values: Values) -> None:
        """What the visit reads of another intermediate is finished, and there."""
        fused = self.tree.fused
        place = fused.exchange(tensor, self.way.operation.name)
        producer = self.tree.walks[fused.cascade.producers[tensor].name]
        extents = fused.cascade.extents(tensor)
        sums = self.tree.holders[tensor, place].products[()]
        for element in self.reads(tensor, values):
            is_real = all(0 <= x < extent for x, extent in zip(element, extents, strict=True))
            if is_real and not (element in sums and producer.finished(sums[element])):
                raise SimulationError(f"{self.problem.name} reads {tensor}, and it is not finished")

    def _add(self, walk: Walk) -> None:
        self.total.steps += walk.steps
        for key, accesses in walk.instance_accesses.items():
            for name, words in vars(accesses).items():
                setattr(self.accesses[key], name, getattr(self.accesses[key], name) + words)
        for (fanout, tensor), hops in walk.hops.items():
            self.total.add_hops(fanout, tensor, hops)

    # ---- results -------------------------------------------------------------------------------------------

    def check_result(self) -> None:
        extents = self.tree.fused.cascade.extents(self.output.name)
        if self.done != set(itertools.product(*map(range, extents))):
            raise SimulationError(f"{self.problem.name} did not make every word")

    def counts(self) -> Counts:
        for boundary in above_the_split(self.way):
            mapping = whole_mapping(self.way.path, boundary.tensor.name)
            same = [b for b in chains_of(mapping, self.arch) if b.inner_position == boundary.inner_position]
            walk = _Part(mapping, self.arch, same)
            walk.run()
            walk.steps = 0
            self._add(walk)
        counted = Walk(self.way.mapping, self.arch, self.way.boundaries)
        counted.instance_accesses, counted.steps, counted.hops = self.accesses, self.total.steps, self.total.hops
        return counted.counts()


def simulate_tree(fused: FusedMapping, arch: Architecture) -> dict[str, Counts]:
    """Walk a fused mapping, tile by tile, and count the words that every memory reads and writes for each operation.

    Raises MappingError when a node or loop stands where the architecture has no place for it.
    """
    return TreeWalk(fused, arch).run()
