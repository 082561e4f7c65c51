"""The meaning of a mapping: walk the nest step by step, remember what every instance holds, count words moved.

Nothing here is a formula. Elements are points, tiles are sets, and every partial sum carries the number of
products that it has accumulated, so that a wrong schedule is found out (`SimulationError`) instead of counted.
Meant for small problems; `closed_form.py` gives the same integers for problems of any size.

A step is one setting of all temporal loops. All instances move in lockstep. A node is served whenever the innermost
temporal loop above it that moves its tensor, or any loop outside that one, steps: loops inside it revisit the same
tile and cost nothing (stationarity). With `reuse: at_node` it is served whenever any temporal loop above it steps.
An instance whose tile lies beyond a ragged edge is idle: it wants nothing, and keeps the operands that it holds; its
partial sums leave with those of its neighbours.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace

from ..arch import Architecture, Memory
from ..ir import ArchitectureError, Loop, Mapping, MappingError, Tensor
from ..ir.errors import checked
from .boundaries import Boundary, boundaries_of
from .counts import Accesses, Counts, FirstTile
from .filling import empties_array
from .hops import Route, hops, legs_of
from .padding import counted_mapping

Element = tuple[int, ...]
Tile = frozenset[Element]
Coordinates = tuple[int, ...]

FIRST_STEP = -1
"""Instead of the position of the loop that stepped: the walk begins."""


class SimulationError(AssertionError):
    """The schedule computed something else than the problem: a defect of tilewright, never of its input."""


@dataclass
class Holder:
    """The tiles that the instances of one storage node hold at the moment, and a record of what has passed through
    them."""

    tile: dict[Coordinates, Tile] = field(default_factory=dict)
    products: dict[Coordinates, dict[Element, int]] = field(default_factory=lambda: defaultdict(dict))
    visited: set[tuple[Coordinates, Coordinates]] = field(default_factory=set)
    updated: set[tuple[Coordinates, Element]] = field(default_factory=set)


class Walk:
    """A walk over one mapping, step by step, that counts every word moved."""

    def __init__(self, mapping: Mapping, arch: Architecture, boundaries: Sequence[Boundary] | None = None) -> None:
        self.problem = mapping.problem
        self.arch = arch
        self.items = mapping.nest.items
        self.boundaries = boundaries_of(mapping, arch) if boundaries is None else boundaries
        self.legs = {(b.tensor.name, b.inner_position): legs_of(b, mapping, arch) for b in self.boundaries}
        self.hops: dict[Route, float] = defaultdict(float)
        self.first_tiles: list[FirstTile] = []
        self.refills: dict[tuple[str, str], int] = defaultdict(int)
        self.visits = 0
        self.first_in_use: dict[int, int] = {}
        self.tile_of_loop = self._tiles()
        self.temporal = [i for i, item in enumerate(self.items) if isinstance(item, Loop) and not item.is_spatial]
        self.spatial = [i for i, item in enumerate(self.items) if isinstance(item, Loop) and item.is_spatial]
        self.holders: dict[int, Holder] = {b.outer_position: Holder() for b in self.boundaries}
        self.instance_accesses: dict[tuple[str, str, Coordinates], Accesses] = defaultdict(Accesses)
        self.contributions = {dim: size for dim, size in self.problem.dims if dim not in self.problem.output.dims}
        self.arrived: set[tuple[int, Coordinates, frozenset[Element]]] = set()
        self.steps = 0
        self.moved_loop = FIRST_STEP

    def _tiles(self) -> dict[int, int]:
        below = dict.fromkeys(self.problem.dim_names, 1)
        tiles = {}
        for i in range(len(self.items) - 1, -1, -1):
            item = self.items[i]
            if isinstance(item, Loop):
                tiles[i] = below[item.dim]
                below[item.dim] *= item.trips
        return tiles

    # ---- where an instance is ------------------------------------------------------------------------------

    def offsets(self, values: dict[int, int], position: int) -> dict[str, int]:
        """Return the first index of every dimension, given the values of all loops above `position`."""
        offset = dict.fromkeys(self.problem.dim_names, 0)
        for i, value in values.items():
            item = self.items[i]
            if i < position and isinstance(item, Loop):
                offset[item.dim] += value * self.tile_of_loop[i]
        return offset

    def extents(self, offset: dict[str, int], position: int) -> dict[str, int]:
        extent = dict.fromkeys(self.problem.dim_names, 1)
        for item in self.items[position:]:
            if isinstance(item, Loop):
                extent[item.dim] *= item.trips
        return {d: min(extent[d], self.problem.sizes[d] - offset[d]) for d in extent}

    def elements(self, tensor: Tensor, offset: dict[str, int], extent: dict[str, int]) -> Tile:
        axes = []
        for rank, stored in tensor.stored_ranks:
            ranges = [[c * (offset[d] + x) for x in range(extent[d])] for d, c in rank]
            sums = {sum(point) for point in itertools.product(*ranges)}
            every = range(min(sums), max(sums) + 1) if self.arch.footprint == "box" else sorted(sums)
            axes.append([x for x in every if stored is None or stored.first <= x < stored.end])
        return frozenset(itertools.product(*axes))

    def instances(self, above: int) -> Iterator[dict[int, int]]:
        """Yield each instance above a position as the values of the spatial loops there."""
        loops = [i for i in self.spatial if i < above]
        for values in itertools.product(*(range(self.items[i].trips) for i in loops)):  # type: ignore[union-attr]
            yield dict(zip(loops, values, strict=True))

    def coordinates(self, values: dict[int, int], above: int) -> Coordinates:
        return tuple(values[i] for i in self.spatial if i < above)

    def account(self, boundary: Boundary, outer: Coordinates) -> Accesses:
        return self.instance_accesses[boundary.outer.name, boundary.tensor.name, outer]

    def account_inner(self, boundary: Boundary, inner: Coordinates) -> Accesses:
        assert boundary.inner is not None
        return self.instance_accesses[boundary.inner.name, boundary.tensor.name, inner]

    # ---- the walk ------------------------------------------------------------------------------------------

    def run(self) -> Counts:
        previous: Coordinates | None = None
        trips = [range(self.items[i].trips) for i in self.temporal]  # type: ignore[union-attr]
        for values in itertools.product(*trips):
            time = dict(zip(self.temporal, values, strict=True))
            first = self.offsets(time, len(self.items))
            if any(first[d] >= self.problem.sizes[d] for d in first):
                continue
            self.moved_loop = FIRST_STEP if previous is None else self.outermost_change(previous, values)
            previous = values
            self.step(time)
        for boundary in reversed(self.boundaries):
            if boundary.tensor.is_output and boundary.inner is not None:
                self.drain(boundary, sorted(self.holders[boundary.inner_position].tile))
        self.check_result()
        return self.counts()

    def outermost_change(self, previous: Coordinates, values: Coordinates) -> int:
        return next(i for i, old, new in zip(self.temporal, previous, values, strict=True) if old != new)

    def step(self, time: dict[int, int]) -> None:
        self.steps += 1
        self.visits += self.starts_branch()
        for boundary in reversed(self.boundaries):
            keeps_sums = boundary.tensor.is_output and boundary.inner is not None
            if keeps_sums and self.moved_loop != FIRST_STEP and self.is_served(boundary):
                self.drain(boundary, sorted(self.holders[boundary.inner_position].tile))
        for boundary in self.boundaries:
            if boundary.inner is None:
                self.compute(boundary, time)
            elif boundary.tensor.is_output:
                self.admit(boundary, time)
            else:
                self.fill(boundary, time)
            if self.arch.latency == "with_fill":
                self._note_first_tile(boundary)
            self.note_refill(boundary)

    def note_refill(self, boundary: Boundary) -> None:
        """Count the tile that comes with this step, if an array is empty meanwhile that had work before."""
        if boundary.inner is not None and empties_array(boundary, self.arch):
            again = self.is_served(boundary) and not self.starts_visit(boundary)
            self.refills[boundary.outer.name, boundary.inner.name] += again

    def starts_branch(self) -> bool:
        """Whether the first step is taken; in trees, the first one of a visit of the operation's branch."""
        return self.moved_loop == FIRST_STEP

    def starts_visit(self, boundary: Boundary) -> bool:  # noqa: ARG002 - in trees it depends on where a node stands
        """Whether a node gets its first tile with this step."""
        return self.moved_loop == FIRST_STEP

    def _note_first_tile(self, boundary: Boundary) -> None:
        """Record a tile that is the first of a visit, and the steps in which it is in use."""
        position = boundary.inner_position
        if boundary.inner is None:
            return
        if self.starts_visit(boundary):
            self.first_in_use[position] = len(self.first_tiles)
            self.first_tiles.append(self._first_tile(boundary, boundary.inner.name))
        elif self.is_served(boundary):
            self.first_in_use.pop(position, None)
        if position in self.first_in_use and not boundary.tensor.is_output:
            number = self.first_in_use[position]
            first = self.first_tiles[number]
            self.first_tiles[number] = replace(first, steps=first.steps + 1)

    def _first_tile(self, boundary: Boundary, inner: str) -> FirstTile:
        """Record the tile that the instances hold now, and the words of it that each outer instance sends or will
        receive."""
        tensor, together = boundary.tensor, self.first_groups(boundary)
        return FirstTile(
            tensor=tensor.name,
            outer=boundary.outer.name,
            inner=inner,
            outer_words=max(sum(map(len, groups.values())) for groups in together.values()),
            inner_words=max(map(len, self.holders[boundary.inner_position].tile.values())),
            outer_finishes=tensor.is_output and self.may_finish(boundary.outer_position),
            inner_finishes=tensor.is_output and self.may_finish(boundary.inner_position),
        )

    def first_groups(self, boundary: Boundary) -> dict[Coordinates, dict[Coordinates, set[Element]]]:
        """Return, by outer instance, the words that the inner instances hold now, merged where they share a
        transfer."""
        loops = [i for i in self.spatial if i < boundary.inner_position]
        joined = boundary.reduced if boundary.tensor.is_output else boundary.multicast
        together: dict[Coordinates, dict[Coordinates, set[Element]]] = defaultdict(lambda: defaultdict(set))
        for place, tile in self.holders[boundary.inner_position].tile.items():
            space = dict(zip(loops, place, strict=True))
            outer = self.coordinates(space, boundary.outer_position)
            together[outer][self.groups(boundary, joined, space)] |= tile
        return together

    def _places(self, boundary: Boundary, time: dict[int, int]) -> Iterator[tuple[dict[int, int], dict[str, int]]]:
        """Yield every inner instance with its first index of each dimension in this step."""
        for space in self.instances(boundary.inner_position):
            yield space, self.offsets({**time, **space}, boundary.inner_position)

    def _inside(self, offset: dict[str, int]) -> bool:
        return all(offset[d] < self.problem.sizes[d] for d in offset)

    def groups(self, boundary: Boundary, joined: frozenset[int], space: dict[int, int]) -> Coordinates:
        """Return the key of the transfer that an inner instance shares: instances that differ only along `joined` loops
        have the same key."""
        return tuple(v for i, v in sorted(space.items()) if i < boundary.inner_position and i not in joined)

    def travel(self, boundary: Boundary, taken: Sequence[tuple[dict[int, int], Set[Element]]]) -> None:
        """Count the hops of the words that inner instances receive, or send, in one step."""
        legs = self.legs[boundary.tensor.name, boundary.inner_position]
        passing = []
        for joined in (*(leg.joined for leg in legs), frozenset[int]()) if legs else ():
            together: dict[tuple[Coordinates, Coordinates], set[Element]] = defaultdict(set)
            for space, elements in taken:
                outer = self.coordinates(space, boundary.outer_position)
                together[outer, self.groups(boundary, joined, space)] |= elements
            passing.append(float(sum(map(len, together.values()))))
        for leg, entering, leaving in zip(legs, passing, passing[1:], strict=False):
            if leg.fanout.hop_pj_per_bit:
                passed = hops(leg.instances, entering, leaving) if leg.instances > 1 else 0.0
                self.hops[leg.fanout.name, boundary.tensor.name] += passed

    # ---- what passes together, for walks that look at more than words ---------------------------------------

    def transfer(
        self, kind: str, memory: Memory | None, instance: Coordinates, tensor: Tensor, words: Set[Element]
    ) -> None:
        """Called when words pass a port of a memory's instance together; `kind` as in `AccessBits`, or `finished` for
        words collected for the last time."""

    def arrival(
        self, boundary: Boundary, outer: Coordinates, words: frozenset[Element], finished: bool = False
    ) -> None:
        """Record partial sums that arrive together at an outer instance: they are written, and read first unless they
        arrive for the first time."""
        if (boundary.outer_position, outer, words) in self.arrived or not self.arch.first_read_elision:
            self.transfer("supplied", boundary.outer, outer, boundary.tensor, words)
        self.transfer("finished" if finished else "collected", boundary.outer, outer, boundary.tensor, words)
        self.arrived.add((boundary.outer_position, outer, words))

    # ---- operands ------------------------------------------------------------------------------------------

    def fill(self, boundary: Boundary, time: dict[int, int]) -> None:
        if not self.is_served(boundary):
            return
        holder = self.holders[boundary.inner_position]
        wanted: dict[tuple[Coordinates, Coordinates], set[Element]] = defaultdict(set)
        taken: list[tuple[dict[int, int], Set[Element]]] = []
        for space, offset in self._places(boundary, time):
            if not self._inside(offset):
                continue
            inner = self.coordinates(space, boundary.inner_position)
            tile = self.tile_at(boundary, {**time, **space})
            new = self._new_elements(boundary, holder.tile.get(inner), tile)
            holder.tile[inner] = tile
            account = self.account_inner(boundary, inner)
            account.writes += len(new)
            account.fills += len(new)
            self.transfer("filled", boundary.inner, inner, boundary.tensor, new)
            outer = self.coordinates(space, boundary.outer_position)
            wanted[outer, self.groups(boundary, boundary.multicast, space)] |= new
            taken.append((space, new))
        self.travel(boundary, taken)
        for (outer, _), elements in wanted.items():
            self.check_held(boundary, outer, elements)
            self.account(boundary, outer).reads += len(elements)
            self.transfer("supplied", boundary.outer, outer, boundary.tensor, elements)

    def tile_at(self, boundary: Boundary, values: dict[int, int]) -> Tile:
        """The tile of a boundary's inner node, given the values of all loops."""
        offset = self.offsets(values, boundary.inner_position)
        return self.elements(boundary.tensor, offset, self.extents(offset, boundary.inner_position))

    def _new_elements(self, boundary: Boundary, held: Tile | None, tile: Tile) -> Tile:
        assert boundary.inner is not None
        halo = boundary.inner.halo
        slides = halo == "innermost" and self.moved_loop == self._innermost_serving(boundary) and self._slides(boundary)
        return tile - held if held is not None and (halo == "exact" or slides) else tile

    def is_served(self, boundary: Boundary) -> bool:
        """Whether the loop that just stepped serves this node: it is the innermost loop that does, or stands outside
        it."""
        return self.moved_loop <= self._innermost_serving(boundary)

    def _slides(self, boundary: Boundary) -> bool:
        """Whether the loop that just stepped moves the tensor; with `reuse: at_node` a loop that does not move it
        serves the node as well."""
        item = self.items[self.moved_loop] if self.moved_loop != FIRST_STEP else None
        return isinstance(item, Loop) and item.dim in boundary.tensor.dims

    def _innermost_serving(self, boundary: Boundary) -> int:
        for i in reversed(self.temporal):
            item = self.items[i]
            if i >= boundary.inner_position or not isinstance(item, Loop) or item.trips == 1:
                continue
            if self.arch.loop_moves(item.dim, boundary.tensor):
                return i
        return FIRST_STEP

    def check_held(self, boundary: Boundary, outer: Coordinates, elements: set[Element]) -> None:
        held = self.holders[boundary.outer_position].tile.get(outer)
        if held is not None and not elements <= held:
            raise SimulationError(f"{boundary.outer.name} is read for {boundary.tensor.name} that it does not hold")

    # ---- partial sums --------------------------------------------------------------------------------------

    def _place(self, boundary: Boundary, offset: dict[str, int]) -> Coordinates:
        return tuple(offset[d] for d in self.problem.dim_names if d in boundary.tensor.dims)

    def admit(self, boundary: Boundary, time: dict[int, int]) -> None:
        """Give every instance that starts on a new tile its partial sums; nothing on the first visit, where elided."""
        holder, outer_holder = self.holders[boundary.inner_position], self.holders[boundary.outer_position]
        returned: dict[Coordinates, set[Element]] = defaultdict(set)
        taken: list[tuple[dict[int, int], Set[Element]]] = []
        for space, offset in self._places(boundary, time):
            inner = self.coordinates(space, boundary.inner_position)
            if inner in holder.tile or not self._inside(offset):
                continue
            tile = self.elements(boundary.tensor, offset, self.extents(offset, boundary.inner_position))
            place = self._place(boundary, offset)
            holder.tile[inner] = tile
            holder.products[inner] = dict.fromkeys(tile, 0)
            outer = self.coordinates(space, boundary.outer_position)
            if (inner, place) in holder.visited or not self.arch.first_read_elision:
                account = self.account_inner(boundary, inner)
                account.writes += len(tile)
                account.fills += len(tile)
                self.transfer("filled", boundary.inner, inner, boundary.tensor, tile)
                taken.append((space, tile))
                for element in tile - returned[outer]:
                    sums = outer_holder.products[outer]
                    holder.products[inner][element] = sums.get(element, 0)
                    sums[element] = 0
                returned[outer] |= tile
            holder.visited.add((inner, place))
        self.travel(boundary, taken)
        for outer, elements in returned.items():
            self.account(boundary, outer).reads += len(elements)

    def drain(self, boundary: Boundary, leaving: list[Coordinates]) -> None:
        """Partial-sum tiles go outwards, together: reduced on the way where the fanout can, accumulated otherwise."""
        holder = self.holders[boundary.inner_position]
        loops = [i for i in self.spatial if i < boundary.inner_position]
        given = [(dict(zip(loops, inner, strict=True)), holder.tile[inner]) for inner in leaving]
        self.travel(boundary, given)
        arriving: dict[tuple[Coordinates, Coordinates], dict[Element, int]] = defaultdict(lambda: defaultdict(int))
        for inner, (space, _) in zip(leaving, given, strict=True):
            outer = self.coordinates(space, boundary.outer_position)
            group = arriving[outer, self.groups(boundary, boundary.reduced, space)]
            account = self.account_inner(boundary, inner)
            if self.arch.inner_drain_read:
                self.transfer("drained", boundary.inner, inner, boundary.tensor, holder.tile[inner])
            for element in holder.tile.pop(inner):
                products = holder.products[inner].pop(element)
                group[element] += products
                if self.arch.inner_drain_read:
                    account.reads += 1
                    account.drains += 1
                    account.finished_reads += self.finished(products) and self.may_finish(boundary.inner_position)
        self._arrive(boundary, arriving)

    def may_finish(self, position: int) -> bool:
        """Whether a node can tell that a word is finished: it is not the accumulator next to the MAC, and its instances
        do not each hold a part of the same sum."""
        accumulator = any(
            b.tensor.is_output and b.inner is None and b.outer_position == position for b in self.boundaries
        )
        shares = any(i < position and self._reduces(i) for i in self.spatial)
        return not accumulator and not shares

    def _reduces(self, loop_position: int) -> bool:
        item = self.items[loop_position]
        return isinstance(item, Loop) and item.trips > 1 and item.dim in self.contributions

    def finished(self, products: int) -> bool:
        return products == math.prod(self.contributions.values())

    def _arrive(self, boundary: Boundary, arriving: dict[tuple[Coordinates, Coordinates], dict[Element, int]]) -> None:
        seen: set[tuple[Coordinates, Element]] = set()
        may_finish = self.may_finish(boundary.outer_position)
        for (outer, _), sums in arriving.items():
            account = self.account(boundary, outer)
            stored = self.holders[boundary.outer_position].products[outer]
            for element, products in sums.items():
                if (outer, element) in seen:
                    account.reads += 1
                seen.add((outer, element))
                stored[element] = stored.get(element, 0) + products
                account.writes += 1
                account.finished_writes += self.finished(stored[element]) and may_finish
            done = may_finish and all(self.finished(stored[element]) for element in sums)
            self.arrival(boundary, outer, frozenset(sums), done)

    # ---- the MAC -------------------------------------------------------------------------------------------

    def compute(self, boundary: Boundary, time: dict[int, int]) -> None:
        joined = boundary.reduced if boundary.tensor.is_output else boundary.multicast
        wanted: dict[tuple[Coordinates, Coordinates], dict[Element, int]] = defaultdict(lambda: defaultdict(int))
        taken: list[tuple[dict[int, int], Set[Element]]] = []
        for space, offset in self._places(boundary, time):
            if self._inside(offset):
                outer = self.coordinates(space, boundary.outer_position)
                word = self.elements(boundary.tensor, offset, dict.fromkeys(offset, 1))  # none, of padding
                together = wanted[outer, self.groups(boundary, joined, space)]
                for element in word:
                    together[element] += 1
                taken.append((space, word))
        self.travel(boundary, taken)
        for (outer, _), elements in wanted.items():
            self.check_held(boundary, outer, set(elements))
            account = self.account(boundary, outer)
            if boundary.tensor.is_output:
                self.arrival(boundary, outer, frozenset(elements))
                self._update(boundary, outer, elements)
            else:
                account.reads += len(elements)
                self.transfer("supplied", boundary.outer, outer, boundary.tensor, frozenset(elements))

    def _update(self, boundary: Boundary, outer: Coordinates, elements: dict[Element, int]) -> None:
        account, holder = self.account(boundary, outer), self.holders[boundary.outer_position]
        sums = holder.products[outer]
        for element, products in elements.items():
            account.reads += (outer, element) in holder.updated or not self.arch.first_read_elision
            account.writes += 1
            holder.updated.add((outer, element))
            sums[element] = sums.get(element, 0) + products

    # ---- results -------------------------------------------------------------------------------------------

    def check_result(self) -> None:
        position = next(b.outer_position for b in self.boundaries if b.tensor.is_output)
        sums = self.holders[position].products[()]
        zero = dict.fromkeys(self.problem.dim_names, 0)
        expected = self.elements(self.problem.output, zero, dict(self.problem.sizes))
        if set(sums) != expected or not all(self.finished(products) for products in sums.values()):
            raise SimulationError("the nest did not accumulate every product of every output exactly once")

    def counts(self) -> Counts:
        counts = Counts(
            steps=self.steps,
            hops=dict(self.hops),
            first_tiles=self.first_tiles,
            refills=dict(self.refills),
            visits=self.visits,
        )
        for (memory, tensor, _), accesses in self.instance_accesses.items():
            total = counts.total.setdefault((memory, tensor), Accesses())
            busiest = counts.busiest.setdefault((memory, tensor), Accesses())
            counts.in_use[memory, tensor] = counts.in_use.get((memory, tensor), 0) + 1
            for name, words in vars(accesses).items():
                setattr(total, name, getattr(total, name) + words)
                setattr(busiest, name, max(getattr(busiest, name), words))
        return counts


def simulate(mapping: Mapping, arch: Architecture) -> Counts:
    """Walk a mapping, tile by tile, and count the words that every memory reads and writes.

    mapping, arch  what runs, and on what

    Raises MappingError when a node or loop stands where the architecture has no place for it.
    """
    checked(mapping, Mapping, "the mapping", "a Mapping", MappingError)
    checked(arch, Architecture, "the architecture", "an Architecture, as load_arch gives one", ArchitectureError)
    return Walk(counted_mapping(mapping, arch), arch).run()
