"""What a part of a tree weighs at least, before it is searched.

An operation costs at least what it costs if all its tensors came from the innermost memory outside the arrays and that
had endless room, as often as its visits make it whole; and each word of a tile comes at least once a visit from its
home (`UpperMemories.further_pj`), which of an intermediate that passes inside the part is one that may exchange it.

Energy here is that of accesses and of computing. What a machine leaks is added last, over the latency that a part has
at least. A least energy with leakage in it would not do: from a home further out an operation may be so much sooner
done that it costs less than from the nearest memory, and then its words from there are in that least already.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ....cost_models.cost import tensor_tile_words
from ....cost_models.sets import tiles_overlap
from ....ir import Cascade, Operation, Tensor
from ...kernel.remembered import remembered, remembered_by
from ...pareto.weights import ENERGY_ALONE, LATENCY_ALONE, UNKNOWN, AtLeast, LeastOfEach, Weights
from ...space import Space
from ..terms.branch import BranchQuestion, BranchSolver, Homes, Sizes
from ..terms.parts import VisitedPart, less_room
from ..terms.placing import Placing
from ..terms.upper_memories import Floats, UpperMemories
from .operation_bounds import Nearest, OperationBounds


@dataclass(frozen=True, eq=False)
class OwnLeast:
    """What the operations of a part take at least by themselves.

    energy_pj  of all, without what leaks
    cycles     (operations,)
    busy       (operations, ports) cycles that nodes further out need
    both_pj    (operations,) what each weighs more, in pJ, if all its tensors come from the nearest memory: there no
               mapping is best in energy and in latency. Not so where it takes longer anyhow (`SharedLoops`)
    """

    energy_pj: float
    cycles: Floats
    busy: Floats
    both_pj: Floats


class Origin(NamedTuple):
    """A memory that a tensor may come from in a branch, and pJ that its words take to come there once."""

    memory: str
    energy_pj: float


@dataclass
class PartBounds:
    """Bounds of the parts of one cascade on one machine, by one weight.

    may_be_uneven  whether shared loops step over what readers see through windows (`terms/windowed.py`)
    nearest        what is known of single operations; more is noted here
    """

    cascade: Cascade
    memories: UpperMemories
    space: Space
    weights: Weights
    solver: BranchSolver
    placing: Placing
    may_be_uneven: bool = False
    nearest: Nearest = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.alone = OperationBounds(
            self.cascade, self.memories, self.weights, self.solver, self.may_be_uneven, self.nearest
        )
        self._closely: dict[VisitedPart, tuple[int, float]] = {}  # and what was known then
        self.leakage, self.timed = self.alone.leakage, self.alone.timed

    def of(self, part: VisitedPart) -> float:
        """What a part weighs at least."""
        return sum(self._weight_of_one(part, place) for place in range(len(part.names)))

    def apart(self, part: VisitedPart, place: int, asked: BranchQuestion) -> LeastOfEach:
        """Energy and latency of what is asked of one operation of a part at least."""
        if asked.waits_for:
            return UNKNOWN
        if not (part.uneven and part.uneven[place]):
            return LeastOfEach(*self._of_one(part, place))
        if asked.over or asked.made:
            return UNKNOWN
        return self.alone.apart(self.cascade.operation(asked.operation), asked.sizes, asked.homes)

    def _weight_of_one(self, part: VisitedPart, place: int) -> float:
        """What one operation of a part weighs at least: by energy and latency apart, and by both in one mapping."""
        return max(self.weights.of(*self._of_one(part, place)), self._of_one_mapping(part, place))

    def _around_one(self, part: VisitedPart, place: int) -> Hashable:
        """What the least of one operation of a part depends on: its tile, where it finds its tensors, and ports."""
        uneven, used = part.uneven[place] if part.uneven else (), self._used(part.names[place])
        homes = tuple(home for home in part.homes if home[0] in used)
        return part.names, place, part.sizes[place], homes, part.busy[place], uneven, part.over_of(place)

    @remembered
    def _used(self, name: str) -> set[str]:
        """The tensors of an operation."""
        return {tensor.name for tensor in self.cascade.operation(name).problem.tensors}

    @remembered_by(_around_one)
    def _of_one(self, part: VisitedPart, place: int) -> tuple[float, float]:
        """Energy and latency of one operation of a part at least.

        Of a tensor that several of them use, a node above their split may come between that and its home: then the
        first of them alone fills it."""
        name, homes = part.names[place], dict(part.homes)
        operation = self.cascade.operation(name)
        far = [t.name for t in operation.problem.tensors if t.name in homes]
        far = [tensor for tensor in far if self.placing.users(part, tensor)[0] is operation]
        passing = [t.name for t in operation.problem.tensors if t.name not in homes]
        passing = [tensor for tensor in passing if operation in self.placing.exchangers(part, tensor)]
        least = 0.0, 0.0
        for tiles in part.tiles(place, self.timed):
            energy, latency, cycles = 0.0, 0.0, self.memories.port_cycles(part.busy[place]) if self.timed else None
            for share, sizes in tiles:
                own, soonest = self.alone.least_of(name, sizes)
                energy, latency = energy + share * own, latency + share * soonest
                each = [self.alone.far(name, tensor, sizes, homes[tensor]) for tensor in far]
                each += [self._passed(name, tensor, sizes) for tensor in passing]
                for more, later in each:
                    energy += share * more
                    if cycles is not None:
                        cycles += share * later
            slowest = 0.0 if cycles is None else max(latency, cycles.max(initial=0.0))
            least = max(least[0], self.alone.with_leakage(energy, slowest)), max(least[1], slowest)
        return least

    def _of_one_mapping(self, part: VisitedPart, place: int) -> float:
        """What an operation weighs at least, as a part of what all of it weighs with endless room where no mapping is
        best in energy and in latency; 0 where that says no more than these do."""
        if self.solver.knows_all or not (self.weights.energy and self.weights.latency):
            return 0.0
        return self._share(part, place) * self._whole_weight(part, place)

    @remembered_by(lambda _, part, place: (part.names, place, part.homes))
    def _whole_weight(self, part: VisitedPart, place: int) -> float:
        """What a whole operation weighs at least, with its tensors from where those of a part may be."""
        name = part.names[place]
        homes = (tuple(self._homes_below(part, name, tensor)) for tensor in self.alone.tensors(name))
        return self._least_weight(name, tuple(homes))

    def _homes_below(self, part: VisitedPart, name: str, tensor: Tensor) -> Iterator[Origin]:
        """The memories from which an operation of a part may get a tensor in its branch: that of the part; where there
        are splits below, nearer ones, which the first operation that asks for it fills once; of what passes inside,
        those that may exchange it."""
        home, upper = dict(part.homes).get(tensor.name), self.memories.upper
        if home is None:
            yield from (Origin(memory, 0.0) for memory in self.memories.exchanging(self.cascade, tensor.name))
            return
        yield Origin(home, 0.0)
        fills = len(part.names) > 1 and self.placing.users(part, tensor.name)[0].name == name
        words = tensor_tile_words(tensor, self.cascade.operation(name).problem.sizes) if fills else 0
        for memory in upper[self.memories.depth[home] + 1 :] if len(part.names) > 1 else ():
            yield Origin(memory.name, words * self.memories.through_pj(tensor, home, memory.name))

    @remembered
    def _least_weight(self, name: str, homes: tuple[tuple[Origin, ...], ...]) -> float:
        """What a whole operation weighs at least, its tensors from any of some memories."""
        tensors, operation = self.alone.tensors(name), self.cascade.operation(name)
        near = self.alone.of_nearest(name)

        def apart(chosen: tuple[Origin, ...]) -> float:
            """By energy and latency apart."""
            more = 0.0
            for tensor, home in zip(tensors, chosen, strict=True):
                far, _ = self.alone.far(name, tensor.name, operation.problem.dims, home.memory)
                more += far + home.energy_pj
            return near + self.weights.energy * more

        least = math.inf
        for chosen in sorted(itertools.product(*homes), key=apart):
            if apart(chosen) >= least:
                break
            passing = self.weights.energy * sum(home.energy_pj for home in chosen)
            of_all = tuple((t.name, home.memory) for t, home in zip(tensors, chosen, strict=True))
            least = min(least, passing + self.alone.weight_from(name, of_all))
        return least

    @remembered
    def _passed(self, name: str, tensor: str, sizes: Sizes) -> tuple[float, Floats]:
        """The same as `far` says of a home, of the best of those in which an intermediate may be exchanged."""
        options = self.memories.exchanging(self.cascade, tensor)
        found = [self.alone.far(name, tensor, sizes, memory) for memory in options]
        return min(energy for energy, _ in found), np.minimum.reduce([cycles for _, cycles in found])

    def close(self, part: VisitedPart) -> float:
        """What a part weighs at least, by what its operations weigh as a whole from where their tensors come."""
        learned, found = self._closely.get(part, (-1, 0.0))
        if learned != self.solver.learned:
            found = self._close(part)  # may learn more itself
            self._closely[part] = self.solver.learned, found
        return found

    def _close(self, part: VisitedPart) -> float:
        found = 0.0
        for place in range(len(part.names)):
            (whole,) = self._by_whole(part, place, (self.weights,))
            found += max(self._weight_of_one(part, place), whole)
        return found

    def in_all(self, part: VisitedPart) -> AtLeast:
        """The same, of energy and latency alone too."""
        found = AtLeast(0.0, 0.0, 0.0)
        for place in range(len(part.names)):
            energy, latency = self._of_one(part, place)
            whole = self._by_whole(part, place, (ENERGY_ALONE, LATENCY_ALONE, self.weights))
            found += AtLeast(*map(max, (energy, latency, self.weights.of(energy, latency)), whole))
        return found

    def _by_whole(self, part: VisitedPart, place: int, chosen: tuple[Weights, ...]) -> list[float]:
        """What one operation of a part weighs at least, by what it weighs as a whole, by each of some weights."""
        name, own = part.names[place], self._asked_homes(part, place)
        if own is None:
            return [0.0] * len(chosen)
        if self.solver.knows_all:
            return self._in_tables(part, place, own, chosen)
        every = frozenset(self.cascade.operation(name).problem.dim_names)
        self._as_a_whole(name, own, every if bool(part.cut) and part.cut[place] == every else frozenset())
        if len(part.names) > 1:
            share, asked = self._even_part(name), part.question_of(place, own)
            return [share * self.solver.bound(asked, weights) for weights in chosen]
        ways = part.questions(self.timed, place, own)
        return [
            max(
                sum(share * self.solver.bound(asked, weights, self.apart(part, place, asked)) for share, asked in way)
                for way in ways
            )
            for weights in chosen
        ]

    @remembered_by(
        lambda _, part, place, own, chosen: (
            (part.names[place], part.sizes[place], own, part.room[place], part.busy[place], part.again[place], chosen)
        )
    )
    def _in_tables(self, part: VisitedPart, place: int, own: Homes, chosen: tuple[Weights, ...]) -> list[float]:
        """What one operation weighs at least by tables, by each of some weights."""
        question = part.question_of(place, own)
        return [self.solver.bound(question, weights) for weights in chosen]

    @remembered_by(lambda _, part, place: (part.names, place, part.homes))
    def _asked_homes(self, part: VisitedPart, place: int) -> Homes | None:
        """Where one operation of a part finds its tensors for sure; None where that is not known of all of them."""
        name, known = part.names[place], dict(part.homes)
        if len(part.names) > 1 and self.space == "even":  # nodes above splits stand at depths of their own
            return None
        nearest, homes = self.memories.upper[-1], {}
        for tensor in self.cascade.operation(name).problem.tensors:
            if tensor.name in known and self.placing.users(part, tensor.name)[0].name == name:
                homes[tensor.name] = known[tensor.name]
            elif nearest.keeps[tensor.role] == "must":
                homes[tensor.name] = nearest.name
            else:
                return None
        return tuple(sorted(homes.items()))

    def _even_part(self, name: str) -> float:
        """What uneven visits of an operation may cost at least, should there be any, as a part of what it costs as a
        whole; nothing, where even visits are no part of it."""
        sizes = self.cascade.operation(name).problem.sizes
        least = 1.0
        for one in self.alone.windowed(name):
            divide = all(sizes[one.dim] % step == 0 for step in one.steps)
            least = min(least, (sizes[one.dim] - one.extra) / sizes[one.dim] if divide else 0.0)
        return max(least, 0.0)

    @remembered
    def _as_a_whole(self, name: str, homes: Homes, cut: frozenset[str]) -> None:
        """Ask once for a whole operation with all the room that there is: a bound for all its visits.

        cut  dimensions along which its tiles divide
        """
        operation = self.cascade.operation(name)
        whole = operation.problem.dims
        part = VisitedPart((name,), (whole,), homes, (1,), (self.memories.room,), ((),), steps=False, cut=(cut,))
        bound = self.alone.by_nearest(operation, whole, homes) if self._has_room(operation) else None
        if bound is None:
            apart = self.alone.apart(operation, whole, homes)
            self.solver.lower(part.question(), self.weights, math.inf, apart)
        else:
            self.solver.know(part.question(), self.weights, bound)

    def _has_room(self, operation: Operation) -> bool:
        """Whether the nearest memory has room for all tensors of an operation, or for what one step takes of a loop
        along one of its dimensions: then every word need pass there once alone, and what the operation weighs with
        endless room is close to what it weighs with this one."""
        sizes = operation.problem.sizes
        return any(self._fits(operation, {**sizes, dim: 1}, dim) for dim in sizes)

    def _fits(self, operation: Operation, tile: dict[str, int], dim: str) -> bool:
        """Whether the nearest memory has room for a step along a dimension; of tensors whose tiles overlap, for all."""
        near, arch, whole = self.memories.upper[-1], self.memories.arch, operation.problem.sizes
        taken = []
        for tensor in operation.problem.tensors:
            if near.keeps[tensor.role] != "never":
                words = tensor_tile_words(tensor, whole if tiles_overlap(tensor, dim, arch.footprint) else tile)
                bits = words * self.memories.width(operation, tensor.name, True)
                taken.append((near.name, self.memories.part_of(near, tensor.role), bits))
        return less_room(self.memories.room, tuple(taken)) is not None

    def _around_all(self, part: VisitedPart) -> Hashable:
        """What the least of all operations of a part depends on."""
        inside = frozenset(tensor for tensor, _ in part.homes) if not self.solver.knows_all else None
        return part.names, part.sizes, part.over, part.busy, part.uneven, inside

    @remembered_by(_around_all)
    def own(self, part: VisitedPart) -> OwnLeast:
        """What all operations of a part take at least by themselves."""
        shares = [part.full_share(place) for place in range(len(part.names))]
        least = [
            (share * energy, share * latency)
            for share, (energy, latency) in zip(shares, map(self.alone.least_of, part.names, part.sizes), strict=True)
        ]
        busy = np.array([self.memories.port_cycles(one) for one in part.busy])
        both = np.array([self._both_pj(part, place) for place in range(len(part.names))])
        return OwnLeast(sum(energy for energy, _ in least), np.array([latency for _, latency in least]), busy, both)

    def _both_pj(self, part: VisitedPart, place: int) -> float:
        """What an operation of a part weighs more, in pJ, than its least energy and its least latency do, if it gets
        all tensors from the nearest memory; at most what it costs more if one that passes inside passes further out."""
        if self.solver.knows_all or not (self.weights.energy and self.weights.latency):
            return 0.0
        name, known = part.names[place], dict(part.homes)
        passing = tuple(tensor.name for tensor in self.alone.tensors(name) if tensor.name not in known)
        return self._share(part, place) * self._whole_both_pj(name, passing)

    @remembered
    def _whole_both_pj(self, name: str, passing: tuple[str, ...]) -> float:
        """What `_both_pj` says of all visits; nothing where some tensor never comes from the nearest memory.

        passing  tensors that pass inside the part
        """
        operation, nearest = self.cascade.operation(name), self.memories.upper[-1]
        memories = {tensor: self.memories.exchanging(self.cascade, tensor) for tensor in passing}
        never_kept = any(nearest.keeps[tensor.role] == "never" for tensor in operation.problem.tensors)
        if never_kept or any(nearest.name not in options for options in memories.values()):
            return 0.0
        near = tuple((tensor.name, nearest.name) for tensor in self.alone.tensors(name))
        more = self.alone.weight_from(name, near) - self.alone.of_nearest(name)
        whole = operation.problem.dims
        further = (
            self.alone.far(name, tensor, whole, memory)[0]
            for tensor, options in memories.items()
            for memory in options
            if memory != nearest.name
        )
        return max(0.0, min(more / self.weights.energy, *further, math.inf))

    def _share(self, part: VisitedPart, place: int) -> float:
        """What the mean visit of an operation is, as a part of all of it."""
        ways = part.tiles(place, self.timed)
        points = max(sum(share * math.prod(n for _, n in sizes) for share, sizes in way) for way in ways)
        return points / self.cascade.operation(part.names[place]).problem.macs
