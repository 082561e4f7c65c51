"""From the cheapest way to the segments of a network: whose tiles lie where, and what stays between them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from ...cost_models import ENERGY, evaluate, parse_objective
from ...ir import NoPlanError, UndecidedError
from ..answer import Answer
from ..effort import PLAN_EFFORT
from ..means import Means
from .ahead_places import AheadPlaces
from .arenas import Arena, Resident, WorkingGroup, arenas_of_run
from .group_edges import GroupEdge
from .lazy_path import CheapestWay, Edge, cheapest_but, value_of
from .question import FREE, AheadTile, NetworkQuestion, RunCost, Segment, StayingTensor
from .steps import NetworkSteps

Forbidden = Collection[tuple[Edge, ...]]
"""Runs of edges that no way may have in it."""

NextBest = Callable[[Forbidden, bool], tuple[float, list[Edge]]]
"""The value and the edges of the best way without some runs; of ways of which nothing stays on chip, unless it may."""


@dataclass(frozen=True)
class _Placed:
    """A step of the way, with what lies on chip while it works.

    residents  tensors that stay, its own and weights included
    """

    edge: GroupEdge
    residents: tuple[Resident, ...]


class Segments:
    """The segments of a plan, and their path: the cheapest path whose tiles have addresses.

    A run of groups whose tiles fit by their sum, and have no addresses together with what stays between them, is left
    out of all ways. What it costs remains a bound.
    """

    def __init__(self, steps: NetworkSteps, way: CheapestWay, means: Means, next_best: NextBest | None = None) -> None:
        """
        next_best  finds the best way without some runs; None: the cheapest one by what steps cost
        """
        self.steps = steps
        next_best = next_best or self._cheapest
        self._means = replace(means, deadline=max(means.deadline, time.perf_counter() + PLAN_EFFORT.plan / 10))
        self._looked: dict[object, bool] = {}
        forbidden: set[tuple[Edge, ...]] = set()
        arenas, failed = self._planned(way)
        while failed:
            forbidden.add(failed)
            is_soon = len(forbidden) <= 200 and not self._means.expired
            value, edges = next_best(forbidden, is_soon)
            if not edges:
                message = "no groups were found whose tiles have addresses beside what lies on chip all the time"
                raise UndecidedError(message, where=steps.question.graph.network, hint="let fewer weights lie there")
            way = CheapestWay(tuple(edges), value, min(way.bound, value))
            arenas, failed = self._planned(way)
        self.way = way
        self.staying = self._staying()
        self.segments = self._segments(arenas)

    def _cheapest(self, forbidden: Forbidden, may_stay: bool) -> tuple[float, list[Edge]]:
        usable = [edge for edge in self.steps.edges if may_stay or edge.keeps_nothing]
        return cheapest_but(self.steps.states, usable, value_of, forbidden)

    def _placed(self, way: CheapestWay) -> list[_Placed]:
        """The steps of a way with what stays while each works."""
        reading, found = self.steps.reading, []
        live: dict[int, int] = {}
        done = 0
        for edge in way.edges:
            assert isinstance(edge, GroupEdge)
            live |= dict(edge.step.stays)
            stay = tuple(self._resident(place, live[place], edge) for place in sorted(live))
            found.append(_Placed(edge, (*stay, *self._weights(edge))))
            for place in self.steps.groups[edge.step.group].places:
                done |= 1 << place
            live = {place: memory for place, memory in live.items() if reading.readers[place] & ~done}
        return found

    def _resident(self, place: int, memory: int, edge: GroupEdge) -> Resident:
        group, residency = self.steps.groups[edge.step.group], self.steps.residency
        name = self.steps.reading.occurrences[place].name
        own = group.tensors[name] if place in dict(edge.step.stays) else None
        return Resident(name, residency.memories[memory], residency.candidates[place].bits, own)

    def _weights(self, edge: GroupEdge) -> Iterator[Resident]:
        memories = self.steps.residency.memories
        own = {weight.name: tensor for tensor, weight in edge.weights.items()}
        for weight in self.steps.weights.every:
            yield Resident(weight.name, memories[weight.memory], weight.bits, own.get(weight.name))

    def _planned(self, way: CheapestWay) -> tuple[list[tuple[Arena, ...]], tuple[Edge, ...]]:
        """Return addresses for the groups of a path; or a shortest known run of consecutive groups that have none
        together."""
        found: list[tuple[Arena, ...]] = []
        for run in _runs(self._placed(way)):
            try:
                found += self._arenas(run, self._run_seconds)
            except (NoPlanError, UndecidedError):
                while len(run) > 1 and not self._has_addresses(run[:-1]):
                    run = run[:-1]
                while len(run) > 1 and not self._has_addresses(run[1:]):
                    run = run[1:]
                return [], tuple(one.edge for one in run)
        return found, ()

    @property
    def _run_seconds(self) -> float:
        """The time for the addresses of consecutive groups."""
        return max(PLAN_EFFORT.plan, 0.1 * self._means.seconds_left) if self._means.limits_time else PLAN_EFFORT.plan

    def _has_addresses(self, run: Sequence[_Placed]) -> bool:
        """Whether consecutive groups have addresses together; also true where that is not decided in time."""
        key = tuple(one.edge for one in run), tuple(one.residents for one in run)
        if key not in self._looked:
            try:
                self._arenas(run, PLAN_EFFORT.plan / 10)
                self._looked[key] = True
            except NoPlanError:
                self._looked[key] = False
            except UndecidedError:
                self._looked[key] = True
        return self._looked[key]

    def _arenas(self, run: Sequence[_Placed], seconds: float) -> list[tuple[Arena, ...]]:
        groups = []
        for one in run:
            answer = self.steps.answer(one.edge)
            groups.append(WorkingGroup(None if answer is None else answer.cost, one.residents))
        return arenas_of_run(groups, self.steps.question.arch, self._means.at_most(seconds))

    def _segments(self, arenas: Sequence[tuple[Arena, ...]]) -> tuple[Segment, ...]:
        found: list[Segment] = []
        first: dict[tuple[object, ...], int] = {}
        places = self._ahead(arenas)
        for edge, own, tiles, saved in zip(self.way.edges, *places, strict=True):
            assert isinstance(edge, GroupEdge)
            group, answer, number = self.steps.groups[edge.step.group], self.steps.answer(edge), len(found)
            if answer is None:
                found.append(Segment(group.names, None, own, number, moves=edge.moves))
                continue
            assert edge.kind is not None
            best = edge.kind.best(edge.taken, self.steps.residency)
            alike = first.setdefault((id(edge.kind), id(best)), number)
            stays = self.steps.named(edge)
            found.append(Segment(group.names, answer, own, alike, stays, edge.times, ahead=tiles, saved=saved))
        return tuple(found)

    def _ahead(
        self, arenas: Sequence[tuple[Arena, ...]]
    ) -> tuple[Sequence[tuple[Arena, ...]], Sequence[tuple[AheadTile, ...]], Sequence[RunCost]]:
        """Return the addresses of every group with what is fetched ahead, that, and what it saves; the value of the way
        is what it costs with that."""
        ahead, edges = self.steps.ahead, [edge for edge in self.way.edges if isinstance(edge, GroupEdge)]
        if not ahead.memories:
            return arenas, [()] * len(edges), [FREE] * len(edges)
        answers = [self.steps.answer(edge) for edge in edges]
        costs = [None if answer is None else answer.cost for answer in answers]
        stays = {one.memory for one in self.staying}
        places = AheadPlaces(ahead, edges, costs, arenas, stays, self._means)
        if ahead.worth:
            value = sum(edge.value for edge in edges) - ahead.worth * sum(places.saved)
            self.way = replace(self.way, value=value, bound=min(value, self.way.bound))
        return places.arenas, places.tiles, list(map(ahead.saved, places.saved))

    def _staying(self) -> tuple[StayingTensor, ...]:
        """All tensors that stay, weights first, in the order in which they are made."""
        found: dict[str, StayingTensor] = {}
        weights = {weight.name for weight in self.steps.weights.every}
        for number, one in enumerate(self._placed(self.way)):
            for resident in one.residents:
                name, before = resident.name, found.get(resident.name)
                first, buffers = (number, ()) if before is None else (before.first, before.buffers)
                buffers = (*buffers, resident.buffer)
                is_weight = name in weights
                found[name] = StayingTensor(name, resident.memory, resident.bits, first, number, buffers, is_weight)
        return tuple(sorted(found.values(), key=lambda one: not one.is_weight))


def _runs(placed: Sequence[_Placed]) -> list[list[_Placed]]:
    """Divide groups into runs of consecutive groups between which something stays."""
    runs: list[list[_Placed]] = []
    before: set[str] = set()
    for one in placed:
        here = {resident.name for resident in one.residents}
        if before & here:
            runs[-1].append(one)
        else:
            runs.append([one])
        before = here
    return runs


def on_its_own(segment: Segment, question: NetworkQuestion) -> Answer | None:
    """The answer of a segment as a mapping of its cascade alone: what stays on chip comes from the outermost memory
    first, or goes there in the end. None: no operation.

    All mappings that hold these tensors whole take as much more energy for that.
    """
    answer, objective = segment.answer, question.objective
    if answer is None or not segment.stays:
        return answer
    cost, proof = evaluate(answer.mapping, question.arch), answer.certificate
    base = parse_objective(proof.objective)
    value, before = (base.value(one.energy_pj, one.latency_cycles) for one in (cost, answer.cost))
    least = proof.lower_bound + (value - before if objective == ENERGY else 0.0)
    told = tuple(f"{tensor} whole in {memory}" for tensor, memory in segment.stays)
    proof = replace(
        proof, value=value, lower_bound=min(value, least), constraints=(*proof.constraints, *told), parts=()
    )
    return Answer(answer.mapping, cost, proof)
