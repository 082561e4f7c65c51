"""The steps of a network on a machine: which groups there are, what may stay between them, and what each step asks."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from importlib.util import find_spec

from ...arch import Architecture
from ...cost_models import Cost, Objective
from ...cost_models.least_cost import least_cost_of_cascade
from ...ir import Mapping
from ...workloads.graph import GraphReading, OperationGroup, operation_groups
from ..answer import Answer
from ..canonical import CascadeNames, form_of, renaming
from ..effort import AT_ONCE, PLAN_EFFORT
from ..kernel.tolerance import or_value
from ..means import UNLIMITED, Means
from .ahead import WeightsAhead
from .covers import CheapestCover
from .group_edges import GroupEdge
from .kinds import GroupKind, NamedStays
from .lazy_path import Edge, cheapest, value_of
from .question import NetworkQuestion, RunCost, cost_of_group, total, totals_of
from .residency import NOTHING_STAYS, Residency, Taken, most_held, residency_of, rooms_of
from .resident_weights import OpenWeights, OwnWeights, ResidentWeights
from .states import GroupStep, StateGraph, Stays, TooManyStates, state_graph

KindKey = tuple[object, tuple[tuple[int, str], ...]]
"""The form of a group, and by number those of its tensors that stay, with the memory."""


class NetworkSteps:
    """All steps of a network.

    groups     that steps do
    residency  what may stay on chip
    weights    those that lie on chip all the time
    in_order   whether operations are done in the network's order, since there are too many others
    is_wild    whether there are too many states to go through them: then groups are chosen as a whole (`covers.py`)
    all_pass   whether nothing stays on chip although it might, since there are too many states
    states     how many there are
    edges      a step each, by rising starts
    kinds      of groups
    ahead      what may be fetched ahead
    """

    def __init__(
        self,
        question: NetworkQuestion,
        means: Means = UNLIMITED,
        known: dict[KindKey, GroupKind] | None = None,
        weights_between: tuple[int, int] | None = None,
    ) -> None:
        """
        known            kinds of other steps by the same objective, where they know what is found out of these
        weights_between  the least and the most bits that weights take, where it is open which lie on chip
        """
        self.question, self._means, self._between = question, means, weights_between
        self._known_kinds = {} if known is None else known
        self.reading = GraphReading(question.graph)
        self.groups: Sequence[OperationGroup] = ()
        self.residency: Residency = NOTHING_STAYS
        self.weights: ResidentWeights
        self.in_order = self.is_wild = self.all_pass = False
        self._graph = self._state_graph()
        self.states = self._graph.count
        self._own_bits: dict[tuple[int, int], int] = {}
        self._renamed: dict[tuple[int, int], tuple[GroupEdge, Answer, Mapping, Cost]] = {}
        self._forms: list[object] = list(map(partial(_form, arch=question.arch), self.groups))
        self.make_edges()

    def by(self, objective: Objective) -> NetworkSteps:
        """Return the same steps with costs by another objective, none of them known yet, edge by edge in the same
        order."""
        found = copy(self)
        found.question = replace(self.question, objective=objective)
        found.__dict__.pop("cover", None)
        found._known_kinds = {}  # noqa: SLF001 -- its own
        found.make_edges()
        return found

    def make_edges(self) -> None:
        """Edges of which nothing is known yet."""
        kinds = self._known_kinds
        may_be_whole = not self.is_wild and self.weights.most is None
        self.ahead = WeightsAhead(self.question, self.reading, self.groups, self.residency, may_be_whole)
        self.edges = []
        for step in self._graph.steps:
            for own in self.weights.choices(step.group):
                edge = self._edge(step, own, kinds)
                self.edges.append(edge)
                if whole := self.ahead.whole(edge):
                    self.edges.append(self._edge(step, own, kinds, whole))
        self.kinds = list({id(edge.kind): edge.kind for edge in self.edges if edge.kind is not None}.values())
        self._starts = [edge.start for edge in self.edges]
        self._of_kind: dict[int, list[GroupEdge]] = {}
        for edge in self.edges:
            self._of_kind.setdefault(id(edge.kind), []).append(edge)
        self.ahead.set_spare(self.edges)

    def _state_graph(self) -> StateGraph:
        """All steps; with fewer choices where there are too many."""
        question = self.question
        most = 1 if question.fuse == "none" else question.most
        most_steps = AT_ONCE
        if question.total_s is not None:  # in ten seconds one goes through as many as there may always be
            most_steps = min(most_steps, int(PLAN_EFFORT.steps_a_second * max(10.0, question.total_s)))
        ladder = [(False, True), (True, True), (False, False)] if question.stays else [(False, False)]
        if find_spec("ortools") is None:
            ladder.append((True, False))
        for self.in_order, stays in ladder:
            self.groups = operation_groups(question.graph, most, runs_only=self.in_order)
            if not stays:
                self.all_pass = self.all_pass or bool(self.residency.candidates)
            self.residency = self._residency(stays)
            self.weights = self._weights()
            left = self.residency.without(self.weights.total)
            try:
                graph = state_graph(self.reading, self.groups, left, self._means.share(), most_steps)
            except TooManyStates:
                continue
            if sum(len(self.weights.choices(step.group)) for step in graph.steps) <= most_steps:
                return graph
        self.in_order, self.is_wild = False, True
        nothing = (0,) * len(self.residency.memories)
        steps = [GroupStep(0, 1, number, (), nothing) for number in range(len(self.groups))]
        return StateGraph(2, tuple(steps))

    def _residency(self, stays: bool) -> Residency:
        if stays:
            return residency_of(self.reading, self.groups, self.question.arch)
        return rooms_of(self.question.arch) if self.question.weights_in else NOTHING_STAYS

    def _weights(self) -> ResidentWeights:
        question, memories = self.question, self.residency.memories
        if self._between is None:
            return ResidentWeights(self.reading, self.groups, question.arch, question.weights_in, memories)
        (asked,) = question.weights_in
        return OpenWeights(self.reading, self.groups, question.arch, asked, memories, self._between)

    @cached_property
    def cover(self) -> CheapestCover | None:
        """Chooses groups where there are too many states to go through them."""
        if not self.is_wild:
            return None
        places = [self.groups[edge.step.group].places for edge in self.edges]
        bits = [sum(weight.bits for weight in edge.weights.values()) for edge in self.edges]
        return CheapestCover(self.reading, self.edges, places, self.alone(), bits, self.weights.most)

    def another_way(self, edge: GroupEdge) -> float:
        """Return the known cost of a step's operations in another path, with no other weights on chip."""
        if self.is_wild:
            places = set(self.groups[edge.step.group].places)
            return sum(one.value for one in self.alone() if self.groups[one.step.group].start in places)
        first, last = (bisect_left(self._starts, state) for state in (edge.start, edge.end))
        between = [one for one in self.edges[first:last] if one is not edge]
        if self.weights.most is not None:  # what takes more of the room is no other way to do it
            between = [one for one in between if one.weight_names <= edge.weight_names]
        return cheapest(self.states, between, value_of, edge.start, edge.end)[0]

    def _edge(
        self, step: GroupStep, own: OwnWeights, kinds: dict[KindKey, GroupKind], whole: NamedStays = ()
    ) -> GroupEdge:
        group, form = self.groups[step.group], self._forms[step.group]
        taken = tuple(map(sum, zip(step.passing, self.weights.others(own), self._around(step), strict=True)))
        if group.cascade is None:
            moves, stay = cost_of_group(group, self.question.arch), len(step.stays)
            value = self.question.objective.value(moves.energy_pj, moves.latency_cycles)
            return GroupEdge(step.start, step.end, value, value, True, stay, step, None, taken, own, moves=moves)
        stays = (*self._named(step, own), *whole)
        numbers = {tensor: i for i, tensor in enumerate(CascadeNames.of(group.cascade).tensors)} if stays else {}
        key = form, tuple(sorted((numbers[tensor], memory) for tensor, memory in stays))
        if key not in kinds:
            known = least_cost_of_cascade(group.cascade, self.question.arch, [tensor for tensor, _ in stays])
            kinds[key] = GroupKind(group.cascade, stays, known.value(self.question.objective))
        kind = kinds[key]
        stay, times, there = len(step.stays), group.times, frozenset(numbers[tensor] for tensor, _ in whole)
        return GroupEdge(step.start, step.end, 0.0, math.inf, False, stay, step, kind, taken, own, times, whole=there)

    def _around(self, step: GroupStep) -> Taken:
        """Bits of each memory that tensors of a step that stay take more than its group holds of them: zeros around
        them that other readers ask for."""
        group, found = self.groups[step.group], [0] * len(self.residency.memories)
        for place, memory in step.stays:
            key = step.group, place
            if key not in self._own_bits:
                assert group.cascade is not None, "what is no operation finds nothing on chip"
                name = group.tensors[self.reading.occurrences[place].name]
                self._own_bits[key] = most_held(group.cascade, name, self.question.arch)
            found[memory] += max(0, self.residency.candidates[place].bits - self._own_bits[key])
        return tuple(found)

    def named(self, edge: GroupEdge) -> NamedStays:
        """The tensors of a step that stay, weights included, as the group's cascade calls them."""
        return self._named(edge.step, edge.weights)

    def _named(self, step: GroupStep, own: OwnWeights) -> NamedStays:
        memories = self.residency.memories
        weights = ((tensor, memories[weight.memory]) for tensor, weight in own.items())
        return (*self.names_of(self.groups[step.group], step.stays), *weights)

    def names_of(self, group: OperationGroup, stays: Stays) -> NamedStays:
        """Some tensors as a group's cascade calls them, with their memories."""
        occurrences, memories = self.reading.occurrences, self.residency.memories
        return tuple((group.tensors[occurrences[place].name], memories[number]) for place, number in stays)

    def alone(self) -> list[GroupEdge]:
        """Return, in order, the first edge of each single operation after which nothing stays."""
        found: dict[int, GroupEdge] = {}
        for edge in self.edges:
            if len(self.groups[edge.step.group].names) == 1 and edge.keeps_nothing:
                found.setdefault(edge.step.group, edge)
        return [found[number] for number in sorted(found)]

    def tell(self, kinds: Iterable[GroupKind] | None = None) -> None:
        """Pass what is known of some kinds (by default all) to their edges, and to the edges of kinds that they
        bound."""
        for kind in self.kinds if kinds is None else kinds:
            for edge in self._of_kind.get(id(kind), ()):
                if edge.bound < math.inf:  # else it has been left aside for good
                    edge.bound = edge.times * kind.bound(edge.taken)
                    edge.value = edge.times * self._value(edge, kind)
                    edge.is_known = kind.is_known(edge.taken, self.residency)

    def _value(self, edge: GroupEdge, kind: GroupKind) -> float:
        if not edge.whole:
            return kind.value(edge.taken, self.residency)
        cost = self.ahead.cost(edge)
        return math.inf if cost is None else self.question.objective.value(cost.energy_pj, cost.latency_cycles)

    def least_energies(self) -> dict[str, float]:
        """By occurrence of one operation, the least energy that one run of it takes in any group, as far as that is
        known; none where groups are left aside."""
        found: dict[str, float] = {}
        for edge in () if self.in_order else self.edges:
            group, kind = self.groups[edge.step.group], edge.kind
            if kind is None or group.cascade is None or edge.whole:
                continue
            places = {one.name: place for place, one in enumerate(group.cascade.operations)}
            for name in group.names:
                energy = 0.0
                if kind.energies is not None and name in group.tensors:
                    energy = kind.energies[places[group.cascade.producers[group.tensors[name]].name]]
                found[name] = min(energy, found.get(name, math.inf))
        return found

    def totals(self, edges: Iterable[Edge]) -> RunCost:
        """Return the cost of some steps together, by the best known mapping of each."""
        return total(self._totals(edge) for edge in edges if isinstance(edge, GroupEdge))

    def _totals(self, edge: GroupEdge) -> RunCost:
        cost = self.ahead.cost(edge)
        return edge.moves if cost is None else totals_of(cost, edge.times)

    def answer(self, edge: GroupEdge) -> Answer | None:
        """The best known mapping of a step, under the names of its own group; None: no operation."""
        kind, cascade = edge.kind, self.groups[edge.step.group].cascade
        if kind is None or cascade is None:
            return None
        best = kind.best(edge.taken, self.residency)
        assert best is not None
        assert best.answer is not None
        assert edge.kind is not None
        proof = best.answer.certificate  # the kind may be bounded by more than the search that has found it
        known = min(proof.value, max(proof.lower_bound, kind.bound(edge.taken)))
        least = or_value(known, proof.value)
        proof, own = replace(proof, lower_bound=least), self.ahead.cost(edge)
        assert own is not None
        if edge.whole:
            told = f"weights whole in {edge.kind.stays[-1][1]}"
            proof = replace(proof, value=edge.value / edge.times, constraints=(*proof.constraints, told))
        answer = replace(best.answer, cost=own, certificate=proof)
        if answer.mapping.cascade.operations == cascade.operations:
            return answer.of(cascade)
        key = id(edge), id(best.answer)
        if key not in self._renamed:
            names = renaming(answer.mapping.cascade, cascade)
            mapping = Mapping(cascade, names.tree(answer.mapping.tree))
            cost = answer.cost.renamed(names.operations, names.tensors)
            self._renamed[key] = edge, best.answer, mapping, cost  # the first two, so that none else has their ids
        *_, mapping, cost = self._renamed[key]
        return Answer(mapping, cost, answer.certificate, answer.unfused)


def _form(group: OperationGroup, arch: Architecture) -> object:
    """Return the canonical form that isomorphic groups share; None where a step is no operation."""
    return None if group.cascade is None else form_of(group.cascade, arch)
