"""Plans that a search has left aside, since there are too many: what is proven without them is proven of a part."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from ...cost_models.least_cost import LeastCost, least_cost_of_cascade
from ...ir import Cascade
from ...workloads.graph import GraphReading, cascade_parameters, operation_groups
from ..certificate import PartProof
from .group_edges import GroupEdge
from .lazy_path import Edge, cheapest
from .question import NetworkAnswer, NetworkQuestion, cost_of_group
from .residency import residency_of
from .steps import NetworkSteps


def of_all_plans(answer: NetworkAnswer) -> NetworkAnswer:
    """The answer with a proof of all plans that were asked for."""
    left_aside = {"in the network's order": answer.in_order, "in which nothing stays on chip": answer.all_pass}
    words = [words for words, is_so in left_aside.items() if is_so]
    if not words:
        return answer
    proof = answer.certificate
    part = PartProof(f"plans {' and '.join(words)}", proof.lower_bound)
    every = [_known_of_all_plans(answer.question, answer.least_pj), answer.least_of_groups]
    known = max(one.value(answer.question.objective) for one in every if one is not None)
    return replace(answer, certificate=replace(proof, parts=(part, *proof.parts)).with_bound(known))


def least_of_groups(steps: NetworkSteps, seconds: float) -> LeastCost | None:
    """A lower bound on the cost of every plan, whatever stays on chip between its groups: of the cheapest groups, where
    no tensor that may stay costs anything on its way. None where not all groups are known, or weights lie on chip or
    come ahead.

    seconds  that there are for it, about
    """
    if not steps.all_pass or steps.in_order or steps.question.weights_in or steps.ahead.memories:
        return None
    may_stay = residency_of(steps.reading, steps.groups, steps.question.arch).candidates
    least = {id(edge): _least_of_group(steps, edge, may_stay) for edge in steps.edges}

    def of_all(which: int) -> float:
        def cost(edge: Edge) -> float:
            return least[id(edge)][which]

        cover = steps.cover
        return cheapest(steps.states, steps.edges, cost)[0] if cover is None else cover.cheapest(cost, seconds).least

    return LeastCost(of_all(0), of_all(1))


def _least_of_group(steps: NetworkSteps, edge: GroupEdge, may_stay: Collection[int]) -> tuple[float, float]:
    """Energy and latency of a group at least, but for the way of tensors that may stay."""
    group, kind, mac = steps.groups[edge.step.group], edge.kind, steps.question.arch.mac
    if group.cascade is None or kind is None:
        return edge.moves.energy_pj, edge.moves.latency_cycles
    free = [tensor for name, tensor in group.tensors.items() if steps.reading.place.get(name) in may_stay]
    found = least_cost_of_cascade(group.cascade, steps.question.arch, free)
    computed = (one.problem.macs * mac.of(one.kind).energy_pj for one in group.cascade)
    near = sum(max(0.0, one - least) for one, least in zip(kind.energies or (), computed, strict=False))
    return group.times * (found.energy_pj + near), group.times * found.latency_cycles


def _known_of_all_plans(question: NetworkQuestion, least_pj: Mapping[str, float]) -> LeastCost:
    """Return a lower bound on the cost of every plan, known without a search: each point of an operation is computed,
    with all tensors near, weights come from the outermost memory once, unless some lie on chip, and what nothing reads
    is written to it once. Points of a softmax or a norm are not counted: in other forms, with its neighbours, it may
    have fewer.

    least_pj  by occurrence, what one run of it takes at least in any group, but for what passes the outermost memory
    """
    reading, arch, energy, cycles = GraphReading(question.graph), question.arch, 0.0, 0.0
    leakage = arch.total_leakage_pj_per_cycle
    for group in operation_groups(question.graph, 1):
        if group.cascade is None:
            moves = cost_of_group(group, arch)
            energy, cycles = energy + moves.energy_pj, cycles + moves.latency_cycles
            continue
        members = [reading.occurrences[place] for place in group.places]
        weights = {} if question.weights_in else cascade_parameters(question.graph, members, group.cascade)
        if any(member.is_apart for member in members):  # which of its operands are weights is not told
            weights = {}
        outputs = () if any(reading.readers[place] for place in group.places) else _results(group.cascade)
        computed = least_cost_of_cascade(group.cascade, arch, group.cascade.tensors)
        moved = least_cost_of_cascade(group.cascade, arch, set(group.cascade.tensors) - set(weights) - set(outputs))
        energy += moved.energy_pj - computed.energy_pj - leakage * (moved.latency_cycles - computed.latency_cycles)
        if len(group.cascade.operations) == 1:
            near = least_pj.get(group.names[0], 0.0) if len(group.names) == 1 else 0.0
            energy += group.times * max(computed.energy_pj, near)
            cycles += group.times * computed.latency_cycles
    return LeastCost(energy, cycles)


def _results(cascade: Cascade) -> set[str]:
    """Return the tensors of a cascade that are written and not read in it."""
    return {tensor for tensor in cascade.producers if not cascade.consumers[tensor]}
