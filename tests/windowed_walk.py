"""Walks of operations whose consumers read through windows: what a visit makes is found out, and walked on its own."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping as Mapping_
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from tilewright.arch import Architecture, Memory
from tilewright.cost_models.boundaries import Boundary, chains_of
from tilewright.cost_models.cascades.closed_form import above_the_split
from tilewright.cost_models.cascades.visits import visit_mapping, whole_mapping
from tilewright.cost_models.cascades.ways import Way
from tilewright.cost_models.cascades.windows import exchange_of
from tilewright.cost_models.counts import Accesses, Counts
from tilewright.cost_models.simulator import Coordinates, Element, Holder, SimulationError, Tile, Walk
from tilewright.ir import Address, Loop, Mapping, Node, Place, Renews

Values = dict[Place, int]
"""Where the temporal loops of the tree stand."""


class Turn(Protocol):
    """The walk of any operation of the tree, as others see it."""

    def asks_in_visit(self, tensor: str, at: Values, /) -> Tile: ...
    def finished(self, products: int, /) -> bool: ...


class WalkedTree(Protocol):
    """The walk of the whole tree, as its operations see it."""

    @property
    def fused(self) -> Mapping: ...
    @property
    def holders(self) -> dict[tuple[str, Place], Holder]: ...
    @property
    def walks(self) -> Mapping_[str, Turn]: ...


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

    def __init__(self, way: Way, arch: Architecture, tree: WalkedTree) -> None:
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
        self.total = Counts(visits=0)

    def finished(self, products: int) -> bool:
        return products == 1

    def leave(self, address: Address) -> None:
        """Visits leave nothing behind but what stands above the split."""

    # ---- what a visit makes --------------------------------------------------------------------------------

    def plan(self, values: Values) -> None:
        """Find out what this visit makes, from what all consumers ask for in it."""
        setting = tuple(values[self.way.place(i)] for i in self.temporal)
        asked = self._asked(values)
        self._forget(setting, asked)
        self.previous = setting
        self.new = frozenset(element for element in asked - self.held if self._is_real(element))
        sides = [sorted(set(axis)) for axis in zip(*self.new, strict=True)]
        if len(self.new) != math.prod(map(len, sides)) * bool(self.new):
            raise SimulationError(f"a visit makes {self.output.name} in no box")
        if any(side[-1] - side[0] + 1 != len(side) for side in sides):
            raise SimulationError(f"a visit makes positions of {self.output.name} with gaps")

    def _asked(self, values: Values) -> Tile:
        asked: Tile = frozenset()
        for consumer in self.tree.fused.cascade.consumers[self.output.name]:
            asked |= self.tree.walks[consumer.name].asks_in_visit(self.output.name, values)
        return asked

    def _forget(self, setting: Coordinates, asked: Tile) -> None:
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
            self.held = {element for element in self.held if self._is_in_tile(element, asked)}

    def _is_in_tile(self, element: Element, asked: Tile) -> bool:
        """Whether a word is of the node's present tile: along ranks that no loop below the node steps over, the visits
        that begin now ask for no others. What they ask for has zeros around the tensor in it."""
        items = self.way.mapping.nest.items
        below = {items[i].dim for i in self.temporal if i > self.position}  # type: ignore[union-attr]
        fixed = [i for i, ((dim, _),) in enumerate(self.output.ranks) if dim not in below]
        return all(element[i] in {other[i] for other in asked} for i in fixed)

    def _is_real(self, element: Element) -> bool:
        extents = self.tree.fused.cascade.extents(self.output.name)
        return all(0 <= x < extent for x, extent in zip(element, extents, strict=True))

    # ---- a visit -------------------------------------------------------------------------------------------

    def make(self, values: Values) -> None:
        """One visit: walk it, and hold what it made."""
        if not self.new:
            return
        sizes = {dim: len(self._positions()[dim]) for dim in self._shared()}
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

    def _positions(self) -> dict[str, list[int]]:
        """The positions of every dimension that this visit works on: of the output's, those that it makes."""
        axes = [sorted(set(axis)) for axis in zip(*self.new, strict=True)]
        found = {rank[0][0]: axis for rank, axis in zip(self.output.ranks, axes, strict=True)}
        return {dim: found.get(dim, list(range(size))) for dim, size in self.problem.dims}

    def asks_in_visit(self, tensor: str, _at: Values) -> Tile:
        """What this visit reads of an operand; positions as the tensor has them."""
        if not self.new:
            return frozenset()
        positions = self._positions()
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
        for element in self.asks_in_visit(tensor, values):
            is_real = all(0 <= x < extent for x, extent in zip(element, extents, strict=True))
            if is_real and not (element in sums and producer.finished(sums[element])):
                raise SimulationError(f"{self.problem.name} reads {tensor}, and it is not finished")

    def _add(self, walk: Walk) -> None:
        self.total.steps += walk.steps
        self.total.visits += walk.visits
        self.total.first_tiles += walk.first_tiles
        for (outer, inner), times in walk.refills.items():
            self.total.add_refills(outer, inner, times)
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
            walk.steps = walk.visits = 0
            start = self.way.path.start(boundary.inner_position)
            visits = math.prod(loop.trips for loop in mapping.nest.items[:start] if isinstance(loop, Loop))
            walk.first_tiles = [replace(first, times=visits) for first in walk.first_tiles]
            walk.refills = {key: times - (visits - 1) for key, times in walk.refills.items()}
            self._add(walk)
        counted = Walk(self.way.mapping, self.arch, self.way.boundaries)
        counted.instance_accesses, counted.steps, counted.hops = self.accesses, self.total.steps, self.total.hops
        counted.first_tiles, counted.visits = self.total.first_tiles, self.total.visits
        counted.refills |= self.total.refills
        return counted.counts()
