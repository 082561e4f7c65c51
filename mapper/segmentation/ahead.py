"""Weights that are fetched while the group before runs (`prefetch: next`), in the search for the cheapest way.

What a group takes then depends on what the groups before it leave: cycles of ports, and room. A way to a state is a
*label*: its cost, and what its last group leaves. Of labels none is followed that another one equals or beats in all.

A group that is not searched is *relaxed*: no tree of it costs less, whatever it finds and leaves. With b cycles for the
bound of its value, and p for its compulsory words at the slowest of the ports, a tree is bound by that port (then it
takes b less what came ahead, and leaves no more than it did not use), or it is not (then it takes b, and leaves b - p);
a tree of several operations may do both. Every cycle that is left to others saves one cycle at most, so that no tree
that takes longer is better for it. With all groups relaxed, the cheapest way bounds all plans; with those alone that
are not known, all plans of the trees that are best by themselves, and it is what decides which group is searched next.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ...arch import Memory
from ...cost_models import Cost
from ...cost_models.cascades import evaluate_tree, tiles_in
from ...cost_models.cascades.ahead import Fetch, GroupTurns, Idle, Turn, ports_ahead, turns_of
from ...cost_models.cost import Part, capacity_parts, tensor_tile_words
from ...cost_models.least_cost import least_cost_of_cascade, least_port_cycles
from ...ir import MappingError
from ...workloads.graph import GraphReading, OperationGroup, cascade_parameters
from ..answer import Answer
from ..canonical import CascadeNames
from ..cascades.terms.upper_memories import UpperMemories
from ..effort import AT_ONCE
from ..kernel.remembered import remembered_by
from ..pareto.weights import weights_of
from .front_path import TooManyLabels
from .group_edges import GroupEdge
from .kinds import NamedStays
from .lazy_path import Choose, ChosenWay, Edge, bound_of, cheapest, value_of
from .question import NetworkQuestion, RunCost
from .residency import Residency

_CALLS = 8
"""Searches of groups after which a bound on all plans is worked out anew: an older one holds as well."""

Free = tuple[float, ...]
"""Bits of each memory that fetches ahead that a group leaves free."""


class TreeOption(NamedTuple):
    """A way to do a step: what it costs if nothing comes ahead, its turns, and the bits that it leaves free.

    turns  None: nothing is fetched ahead of it or while it works
    """

    cost: float
    turns: GroupTurns | None
    free: Free


class _AheadLabel(NamedTuple):
    cost: float
    rank: int
    idle: Idle
    free: Free
    edge: Edge | None
    before: _AheadLabel | None


class Ran(NamedTuple):
    """A step that was done: words that came ahead of it, cycles that they saved, and what it leaves."""

    words: tuple[float, ...]
    saved: float
    idle: Idle
    free: Free


class WeightsAhead:
    """What may be fetched ahead in a network, for one weighted sum.

    memories  with `prefetch: next`
    worth     of the objective that a cycle less saves; 0: it need not be looked at to find the best way
    groups    that steps do
    edges     how many steps there are
    hoped     bound on all plans of trees that are best by themselves, as last found
    """

    def __init__(
        self,
        question: NetworkQuestion,
        reading: GraphReading,
        groups: Sequence[OperationGroup],
        residency: Residency,
        may_be_whole: bool,
    ) -> None:
        """
        may_be_whole  whether trees are looked at that hold weights whole
        """
        arch = question.arch
        self.arch, self.groups, self.hoped, self.edges = arch, groups, 0.0, 0
        self._reading, self._residency, self._may_be_whole = reading, residency, may_be_whole
        self._weights_of = weights = weights_of(question.objective)
        self.memories = [memory for memory in arch.memories if memory.prefetch == "next"]
        self.ports = ports_ahead(arch) if self.memories else []
        self.worth = 0.0
        if weights is not None and self.ports:
            self.worth = weights.latency + weights.energy * arch.total_leakage_pj_per_cycle
        outermost = arch.memories[0].name
        bits = {True: (1.0, 0.0), False: (0.0, 1.0)}
        self._per_bit = [port.cycles("weight", *bits[memory.name == outermost]) for memory, port in self.ports]
        self._slowest = self._per_bit.index(max(self._per_bit)) if self.ports else 0
        self._nothing = (0.0,) * len(self.ports)
        self._most_of_all = math.inf
        self._are_outside = all(memory in arch.memories_outside for memory in self.memories)
        self._options: dict[tuple[object, ...], tuple[TreeOption, ...]] = {}
        self._along: list[GroupEdge] = []

    def set_spare(self, edges: Sequence[GroupEdge]) -> None:
        """Let steps know what they may save."""
        self.edges = len(edges)
        if self.worth:
            self._most_of_all = max(map(self.most, edges), default=0.0)
        for edge in edges if self.worth else ():
            edge.spare = math.inf if edge.whole else self.worth * (self.most(edge) + self._most_of_all)

    def memory(self, name: str) -> Memory:
        """The memory of a name."""
        return next(memory for memory in self.memories if memory.name == name)

    def saved(self, cycles: float) -> RunCost:
        """What some cycles less save."""
        return RunCost(self.arch.total_leakage_pj_per_cycle * cycles, cycles, 0)

    # ---- groups ----------------------------------------------------------------------------------------------

    @remembered_by(lambda _, edge: (edge.step.group, edge.weight_names))
    def _weights(self, edge: GroupEdge) -> frozenset[int]:
        """The tensors of a group that nobody makes, by their numbers."""
        reading, group = self._reading, self.groups[edge.step.group]
        members = [reading.occurrences[place] for place in group.places]
        if group.cascade is None or any(member.is_apart for member in members):
            return frozenset()
        numbers = {tensor: number for number, tensor in enumerate(CascadeNames.of(group.cascade).tensors)}
        own = cascade_parameters(reading.graph, members, group.cascade)
        every = {t.name for one in group.cascade for t in one.problem.tensors if t.role == "weight"}
        return frozenset(numbers[name] for name in own if name in every and name not in edge.weights)

    def whole(self, edge: GroupEdge) -> NamedStays:
        """The weights of a group, with a memory in which they all have room whole; none, where they have not."""
        if edge.kind is None or not self.worth or not self._may_be_whole:
            return ()
        upper, numbers = UpperMemories(self.arch), self._weights(edge)
        room = dict(zip(self._residency.memories, edge.taken, strict=True))
        for memory in self.memories:
            if memory in upper.upper and not memory.partition_bits and upper.may_hold(memory.name, {"weight"}):
                left = _size(memory) - room.get(memory.name, 0)
                if numbers and self._bits(edge) <= left:
                    names = self._names(edge)
                    return tuple((names[number], memory.name) for number in sorted(numbers))
        return ()

    def _names(self, edge: GroupEdge) -> tuple[str, ...]:
        """The tensors of a step's group."""
        cascade = self.groups[edge.step.group].cascade
        assert cascade is not None
        return CascadeNames.of(cascade).tensors

    def stays(self, edge: GroupEdge) -> tuple[str, ...]:
        """The tensors of a step's kind that stay, as that calls them, but for weights that may all come ahead."""
        assert edge.kind is not None
        names = CascadeNames.of(edge.kind.cascade).tensors
        return tuple(name for name, _ in edge.kind.stays if names.index(name) not in edge.whole)

    def cost(self, edge: GroupEdge) -> Cost | None:
        """What the best known mapping of a step costs, its own weights included; None where there is none."""
        best = self._best(edge)
        if best is None:
            return None
        return self._with_weights(edge, best) if edge.whole else best.cost

    def _best(self, edge: GroupEdge) -> Answer | None:
        best = edge.kind and edge.kind.best(edge.taken, self._residency)
        return best.answer if best else None

    @remembered_by(lambda _, edge, answer: (id(answer), edge.whole))
    def _with_weights(self, edge: GroupEdge, answer: Answer) -> Cost | None:
        """The cost of a mapping whose weights come from outside; None where it has no room for them as it fetches
        them."""
        try:
            return evaluate_tree(answer.mapping, self.arch, self.stays(edge))
        except MappingError:
            return None

    def turns(self, edge: GroupEdge) -> GroupTurns | None:
        """The turns of the best known tree of a step; None where it is no operation."""
        best = self._best(edge)
        return None if best is None else self._turns(edge, best)

    @remembered_by(lambda self, edge, answer: (id(answer), self._weights(edge), edge.whole))
    def _turns(self, edge: GroupEdge, answer: Answer) -> GroupTurns | None:
        assert edge.kind is not None
        if (cost := self.cost(edge)) is None:
            return None
        tensors = CascadeNames.of(edge.kind.cascade).tensors
        weights = {tensors[number] for number in self._weights(edge)}
        return turns_of(answer.mapping, cost, self.arch, weights, self.stays(edge))

    def free(self, edge: GroupEdge) -> Free:
        """Bits of every memory that the best known tree of a step leaves free, beside what stays there."""
        cost = self.cost(edge)
        taken, found = dict(zip(self._residency.memories, edge.taken, strict=True)), []
        for memory in self.memories:
            part = weights_part(memory)
            if part is None or cost is None:
                found.append(math.inf)
                continue
            held = (sum(tile.bits for tile in tiles_in(tiles, part)) for tiles in cost.occupancy.values())
            found.append(float(part.bits - max(held) - taken.get(memory.name, 0)))
        return tuple(found)

    @remembered_by(lambda _, edge: id(edge))
    def most(self, edge: GroupEdge) -> float:
        """Cycles that fetching ahead saves a group at most."""
        if edge.kind is None:
            return 0.0
        copies = math.prod(fanout.instances for fanout in self.arch.fanouts if not fanout.multicast)
        room = sum(self.arch.instances(memory.name) * _size(memory) for memory in self.memories)
        return self._per_bit[self._slowest] * min(copies * self._bits(edge), room)

    @remembered_by(lambda self, edge: (id(edge.kind), self._weights(edge)))
    def _bits(self, edge: GroupEdge) -> int:
        """Bits of a group's weights."""
        assert edge.kind is not None
        names, words = CascadeNames.of(edge.kind.cascade).tensors, dict[str, int]()
        for operation in edge.kind.cascade:
            for tensor in operation.problem.tensors:
                bits = tensor_tile_words(tensor, operation.problem.sizes) * self.arch.width_bits(tensor)
                words[tensor.name] = max(bits, words.get(tensor.name, 0))
        return sum(words[names[number]] for number in self._weights(edge))

    @remembered_by(lambda self, edge: (id(edge.kind), self._weights(edge), edge.whole))
    def _least(self, edge: GroupEdge) -> tuple[float, float, float]:
        """Of every tree of a group the least cycles without its weights, the least for which the slowest port is busy,
        and the least energy but for leakage."""
        kind = edge.kind
        assert kind is not None
        stays, names = self.stays(edge), CascadeNames.of(kind.cascade).tensors
        near = least_cost_of_cascade(kind.cascade, self.arch, [*stays, *(names[n] for n in self._weights(edge))])
        known = least_cost_of_cascade(kind.cascade, self.arch, stays)
        memory, port = self.ports[self._slowest]
        busy = 0.0
        if memory.name == self.arch.memories[0].name:
            busy = least_port_cycles(kind.cascade, port, self.arch, stays)
        return near.latency_cycles, busy, known.energy_pj - self.arch.total_leakage_pj_per_cycle * known.latency_cycles

    def _relaxed(self, edge: GroupEdge) -> list[TreeOption]:
        """Options of which one is as good as any tree of a group, of those that hold its weights whole, if it does."""
        kind, weights = edge.kind, self._weights_of
        if kind is None or weights is None or edge.bound == math.inf:
            return self.known(edge)
        near, least, energy = self._least(edge)
        there = Fetch(0, self.most(edge), self._at_slowest(1.0, 0.0))

        def option(*turns: tuple[float, float]) -> TreeOption:
            every = tuple(Turn(others, self._at_slowest(busy, -math.inf)) for others, busy in turns)
            takes = sum(max(turn) for turn in turns)
            value = edge.times * (self.worth * takes + weights.energy * energy)
            return TreeOption(value, GroupTurns(every, (there,)), tuple(math.inf for _ in self.memories))

        if edge.whole:
            return [option(((edge.bound / edge.times - weights.energy * self._energy_there(edge)) / self.worth, least))]
        cycles = (edge.bound / edge.times - weights.energy * energy) / self.worth
        least = min(least, cycles)
        bound_by_port, not_bound = (near, cycles), (cycles, least)
        if edge.times > 1 or len(kind.cascade.operations) > 1:
            return [option(bound_by_port, (cycles - least, 0.0))._replace(cost=edge.bound)]
        return [option(bound_by_port), option(not_bound)]

    def _energy_there(self, edge: GroupEdge) -> float:
        """The least energy but for leakage where a group's weights are there."""
        assert edge.kind is not None
        known = least_cost_of_cascade(edge.kind.cascade, self.arch, [tensor for tensor, _ in edge.kind.stays])
        return known.energy_pj - self.arch.total_leakage_pj_per_cycle * known.latency_cycles

    def _at_slowest(self, figure: float, others: float) -> tuple[float, ...]:
        return tuple(figure if number == self._slowest else others for number in range(len(self.ports)))

    def known(self, edge: GroupEdge) -> list[TreeOption]:
        if edge.kind is None:
            return [TreeOption(edge.value, None, ())]
        return [TreeOption(edge.value, self.turns(edge), self.free(edge))] if edge.value < math.inf else []

    # ---- ways ------------------------------------------------------------------------------------------------

    def choose(self, plain: Choose | None, edges: Sequence[GroupEdge]) -> Choose:
        """Chooses the cheapest way by what is known, with a bound on all ways.

        plain  chooses where ways are no ways through states: what is fetched ahead is looked at when it has chosen
        """
        return _Chooser(self, edges, plain)

    def apart(self, cost: Callable[[Edge], float], edges: Sequence[GroupEdge], choose: Choose) -> ChosenWay:
        """The way that another choice takes, with what comes ahead along it; or a bound on all."""
        if cost is not value_of:
            most = {id(edge): self.worth * self.most(edge) for edge in edges}
            return choose(lambda edge: max(0.0, cost(edge) - most[id(edge)]))
        found = choose(cost)
        saved = sum(one.saved for one in self.along(found.edges))
        return ChosenWay(found.value - self.worth * saved, 0.0, found.edges)

    def least_along(self, edges: Sequence[GroupEdge]) -> float:
        """Return what no trees of some steps, one after the other, cost less than."""
        self._along = [replace(edge, start=number, end=number + 1) for number, edge in enumerate(edges)]
        try:
            return self.cheapest(self._along, self.of_any_tree, math.inf).value
        except TooManyLabels:
            return 0.0

    def of_any_tree(self, edge: GroupEdge) -> list[TreeOption]:
        return [] if edge.whole else self._relaxed(edge)

    def hoped_for(self, edge: GroupEdge) -> list[TreeOption]:
        return self.known(edge) if edge.is_known else self._relaxed(edge)

    def known_or_relaxed(self, edge: GroupEdge) -> list[TreeOption]:
        if edge.is_known and (edge.value < math.inf or edge.whole):
            return self.known(edge)
        return self._relaxed(edge)

    def cheapest(
        self, edges: Sequence[GroupEdge], options: Callable[[GroupEdge], list[TreeOption]], below: float
    ) -> ChosenWay:
        """The cheapest way of some options; if none costs less than a value, that value.

        Raises TooManyLabels.
        """
        choices, rest = self._choices(edges, options), [math.inf] * (1 + max(edge.end for edge in edges))
        rest[-1] = 0.0
        for edge, own in zip(reversed(edges), reversed(choices), strict=True):
            least = min((one.cost for one in own), default=math.inf) - self.worth * self.most(edge)
            rest[edge.start] = min(rest[edge.start], max(0.0, least) + rest[edge.end])
        labels: list[list[_AheadLabel]] = [[] for _ in rest]
        labels[0] = [_AheadLabel(0.0, 0, self._nothing, (), None, None)]
        count, at = 0, -1
        for edge, own in zip(edges, choices, strict=True):
            if edge.start != at:
                at = edge.start
                labels[at] = self._not_beaten(labels[at])
            for label, option in itertools.product(labels[at], own):
                ran = self._ran(label.idle, label.free, edge, option)
                cost, rank = label.cost + option.cost - self.worth * ran.saved, label.rank + 1000 * edge.stays - 1
                if cost + rest[edge.end] < below:
                    labels[edge.end].append(_AheadLabel(cost, rank, ran.idle, ran.free, edge, label))
            count += len(labels[at]) * len(own)
            if count > AT_ONCE:
                raise TooManyLabels
        end = min(labels[-1], key=lambda one: (one.cost, one.rank), default=None)
        if end is None:
            return ChosenWay(below, below, [])
        value, way = end.cost, list[Edge]()
        while end is not None and end.edge is not None:
            way.append(end.edge)
            end = end.before
        return ChosenWay(value, value, way[::-1])

    def _choices(
        self, edges: Sequence[GroupEdge], options: Callable[[GroupEdge], list[TreeOption]]
    ) -> list[tuple[TreeOption, ...]]:
        """The options of every step; alike ones have the same, every time."""
        found, of_all = [], self._options
        for edge in edges:
            key = options.__name__, self._key(edge), edge.bound, edge.value, edge.is_known
            if key not in of_all:
                of_all[key] = tuple(options(edge))
            found.append(of_all[key])
        return found

    @remembered_by(lambda _, edge: id(edge))
    def _key(self, edge: GroupEdge) -> tuple[object, ...]:
        return id(edge) if edge.kind is None else id(edge.kind), edge.taken, self._weights(edge)

    @remembered_by(lambda _, idle, free, edge, option: (idle, free, id(option), edge.times))
    def _ran(self, idle: Idle, free: Free, edge: GroupEdge, option: TreeOption) -> Ran:
        return self._run(idle, free, edge, option)

    def _run(self, idle: Idle, free: Free, edge: GroupEdge, option: TreeOption) -> Ran:
        """Do a step, when the one before has left ports idle, and bits free."""
        turns = option.turns
        if turns is None:
            return Ran((), 0.0, self._nothing if edge.moves.latency_cycles else idle, free)
        room = dict(zip((memory.name for memory in self.memories), free, strict=False))
        words = turns.fetched(idle, turns.room(room))
        saved, left = turns.run(words)
        if edge.times > 1:
            _, left = turns.run([0.0] * len(words))
        return Ran(words, saved, left, option.free)

    def _not_beaten(self, labels: list[_AheadLabel]) -> list[_AheadLabel]:
        """The labels from which on nothing costs less than from another one."""
        found: list[_AheadLabel] = []
        for label in sorted(labels, key=lambda one: (one.cost, one.rank)):
            if not any(one.cost + self.worth * self._loses(one, label) <= label.cost for one in found):
                found.append(label)
        return found

    def _loses(self, one: _AheadLabel, other: _AheadLabel) -> float:
        """Cycles that what another label leaves saves more than what this one leaves, at most: each bit that does not
        come ahead costs no more than its time at the slowest port."""
        idle = [(b - a) / each for a, b, each in zip(one.idle, other.idle, self._per_bit, strict=True) if b > a]
        free = [b - a for a, b in zip(one.free, other.free, strict=False) if b > a]
        lost = max([0.0, *idle, *free])
        if not self._are_outside:
            return self._most_of_all if lost else 0.0
        return min(self._most_of_all, lost * self._per_bit[self._slowest])

    def along(self, edges: Sequence[Edge]) -> Iterator[Ran]:
        """Do the best known trees of some steps, one after the other."""
        idle: Idle = self._nothing
        free: Free = ()
        for edge in (edge for edge in edges if isinstance(edge, GroupEdge) and self.memories):
            ran = self._run(idle, free, edge, self.known(edge)[0])
            idle, free = ran.idle, ran.free
            yield ran


@dataclass
class _Chooser:
    """Chooses among some steps.

    value  of the best known way
    least  no way costs less, as last found
    calls  for a way by bounds
    """

    ahead: WeightsAhead
    edges: Sequence[GroupEdge]
    plain: Choose | None
    value: float = math.inf
    least: float = 0.0
    calls: int = 0

    def __call__(self, cost: Callable[[Edge], float]) -> ChosenWay:
        if self.plain is not None:
            return self.ahead.apart(cost, self.edges, self.plain)
        try:
            return self._together(cost)
        except TooManyLabels:
            self.ahead.hoped = 0.0
            return self.ahead.apart(cost, self.edges, self._through_states)

    def _through_states(self, cost: Callable[[Edge], float]) -> ChosenWay:
        value, way = cheapest(1 + max(edge.end for edge in self.edges), self.edges, cost)
        return ChosenWay(value, value, way)

    def _together(self, cost: Callable[[Edge], float]) -> ChosenWay:
        ahead, edges = self.ahead, self.edges
        if cost is value_of:
            found = ahead.cheapest(edges, ahead.known, math.inf)
            self.value = found.value
            return found
        if cost is not bound_of:
            return ahead.cheapest(edges, ahead.hoped_for, self.value)
        hoped = ahead.cheapest(edges, ahead.known_or_relaxed, self.value)
        if len(edges) == ahead.edges:
            ahead.hoped = hoped.value
        self.calls += 1
        if self.calls % _CALLS == 1 or all(edge.is_known for edge in hoped.edges):
            self.least = max(self.least, ahead.cheapest(edges, ahead.of_any_tree, self.value).value)
        return hoped._replace(least=self.least)


def weights_part(memory: Memory) -> Part | None:
    """The part of a memory that weights lie in; None where it is unbounded."""
    return next((part for part in capacity_parts(memory) if "weight" in part.roles), None)


def _size(memory: Memory) -> float:
    part = weights_part(memory)
    return math.inf if part is None else part.bits
