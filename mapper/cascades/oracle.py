"""Branches answered by the exact search of one operation: exact in every space, a search for each question."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ...arch import Architecture, Memory
from ...cost_models import ENERGY, LATENCY, Objective, parse_objective
from ...cost_models.cascades import taken_bits
from ...cost_models.formula import number_text
from ...ir import Cascade, Loop, Node, Operation, Problem, plain_rank
from ..exact.search import ExactSearch
from ..exact.surroundings import Surroundings
from ..means import Means, OutOfMeans
from ..several import STEP
from ..space import Space
from ..tilings import Tiling
from .branch import BranchAnswer, BranchMapping, BranchQuestion, Room
from .weights import ENERGY_ALONE, LATENCY_ALONE, Weights

LOWER_SHARE, LOWER_SECONDS = 0.02, 2.0
"""Of the time that is left, and at most, for what a whole operation costs at least."""


@dataclass
class ExactBranches:
    """Branches of one cascade on one machine.

    proves    whether each answer is the best mapping; else it is the best of the first few that a search comes to, and
              bounds are what they would be if that were the best
    searches  how many searches have been made
    """

    cascade: Cascade
    arch: Architecture
    space: Space
    tiling: Tiling
    means: Means
    proves: bool = True
    searches: int = 0
    _known: dict[tuple[BranchQuestion, Weights], list[tuple[Room, BranchAnswer]]] = field(
        init=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        self._lowest: dict[tuple[BranchQuestion, Weights], float] = {}
        self._has_blocks = any(memory.block_bits for memory in self.arch.memories)
        self._sums = {operation.name: frozenset(operation.reduced_dims) for operation in self.cascade}
        self._larger: dict[
            tuple[str, tuple[tuple[str, str], ...], bool, Weights],
            list[tuple[BranchQuestion, Room, BranchAnswer]],
        ] = {}

    def least(self, question: BranchQuestion, weights: Weights, cutoff: float = math.inf) -> BranchAnswer:
        """The mapping of least weight, if it weighs less than the cutoff.

        Raises OutOfMeans when time or memory run out first."""
        question = self._relevant(question, weights)
        found = self._without_search(question, weights, cutoff)
        if found is not None:
            return found
        answer = self._best(question, weights, cutoff)
        self._answers(question, weights).append((question.room, answer))
        self._remember(question, weights, answer)
        return answer

    def _answers(self, question: BranchQuestion, weights: Weights) -> list[tuple[Room, BranchAnswer]]:
        """What is known of a question, by the room that there was."""
        return self._known.setdefault((question.roomless(), weights), [])

    def _without_search(self, question: BranchQuestion, weights: Weights, cutoff: float) -> BranchAnswer | None:
        """The answer, if it is known, or follows from what is known of a larger tile."""
        known = self._answers(question, weights)
        found = _that_fits(known, question.room, cutoff)
        if found is None:
            smaller = self._with_fewer_steps(question, weights)
            if smaller is not None:
                known.append((question.room, smaller))
                found = _that_fits(known, question.room, cutoff)
        return found

    def _with_fewer_steps(self, question: BranchQuestion, weights: Weights) -> BranchAnswer | None:
        """The best mapping of a larger tile with fewer steps, where the tile is smaller along dimensions that move every
        tensor: no step there finds anything that another one has left. So it costs its part of what the larger one
        costs, and nothing costs less (`bound`)."""
        operation = self.cascade.operation(question.operation)
        if question.busy or self._has_blocks:
            return None
        for known, room, answer in self._alike(question, weights):
            mapping = answer.mapping
            if mapping is None or known.busy or known.again != question.again or not _holds(room, question.room):
                continue
            ratios = {
                d: whole // n for (d, n), (_, whole) in zip(question.sizes, known.sizes, strict=True) if whole != n
            }
            part = _part_of(question, known, self._sums[question.operation])
            if part is None or not _holds(question.room, mapping.used) or not _move_all(operation, ratios):
                continue
            items = _fewer_steps(mapping.items, dict(known.sizes), ratios)
            if items is not None:
                fewer = BranchMapping(part * mapping.energy_pj, part * mapping.latency_cycles, mapping.used, items)
                return BranchAnswer(part * answer.bound, fewer)
        return None

    def _alike(self, question: BranchQuestion, weights: Weights) -> list[tuple[BranchQuestion, Room, BranchAnswer]]:
        """What is known of tiles of an operation whose tensors come from the same memories."""
        return self._larger.setdefault((question.operation, question.homes, question.divides, weights), [])

    def _remember(self, question: BranchQuestion, weights: Weights, answer: BranchAnswer) -> None:
        """Keep what is known of a tile, for smaller ones."""
        self._alike(question, weights).append((question, question.room, answer))

    def lower(self, question: BranchQuestion, weights: Weights, cutoff: float = math.inf) -> float:
        """What the mapping weighs at least, or the cutoff if that is less: by a search that ends when a part of the time
        is over."""
        question = self._relevant(question, weights)
        found = self._without_search(question, weights, cutoff)
        if found is not None:
            return min(found.bound, cutoff)
        if (question, weights) in self._lowest:
            return min(self._lowest[question, weights], cutoff)
        if not self.proves:
            return self.least(question, weights, cutoff).bound
        means, scale = self.means.share(LOWER_SHARE).at_most(LOWER_SECONDS), _scale(weights)
        search = self._solved(question, objective_of(weights), cutoff / scale, means)
        best = scale * search.found[0].value if search.found else cutoff
        answer = BranchAnswer(best, self._taken(question, search) if search.found else None)
        if search.out_of_time:
            answer = BranchAnswer(min(best, scale * search.open_bound))
            self._lowest[question, weights] = answer.bound
        else:
            self._answers(question, weights).append((question.room, answer))
        self._remember(question, weights, answer)
        return answer.bound

    def bound(self, question: BranchQuestion, weights: Weights) -> float:
        """What the mapping weighs at least, by what is known of larger tiles with as much room.

        All visits that one of a larger tile stands for can be done in it, one after the other: its loops around theirs.
        So each of them costs in the mean no less than its part of the larger one.
        """
        question = self._relevant(question, weights)
        best = 0.0
        for known, room, answer in self._alike(question, weights):
            part = _part_of(question, known, self._sums[question.operation])
            if part is not None and part * answer.bound > best and _holds(room, question.room):
                best = part * answer.bound
        return best

    def front(self, question: BranchQuestion, weights: Weights, cutoff: float = math.inf) -> list[BranchMapping]:
        """Mappings that weigh less than the cutoff, of which no other one has as little energy and latency: one after
        the other, each the least energy of all that are faster than the one before.

        Raises OutOfMeans when time or memory run out first."""
        least = [self.least(question, alone).mapping for alone in (ENERGY_ALONE, LATENCY_ALONE)]
        found: list[BranchMapping] = []
        if least[0] is None or least[1] is None:
            return found
        most_energy = (cutoff - weights.latency * least[1].latency_cycles) / weights.energy
        most_latency = (cutoff - weights.energy * least[0].energy_pj) / weights.latency
        while most_latency >= least[1].latency_cycles and most_energy >= least[0].energy_pj:
            cheapest = self._mapping(question, ENERGY.capped(latency=_finite(most_latency)), most_energy)
            if cheapest is None:
                break
            capped = LATENCY.capped(energy=cheapest.energy_pj)
            point = self._mapping(question, capped, math.inf) or cheapest
            if weights.of(point.energy_pj, point.latency_cycles) < cutoff:
                found.append(point)
            most_latency = point.latency_cycles * (1 - STEP)
        return found

    def _relevant(self, question: BranchQuestion, weights: Weights) -> BranchQuestion:
        """The question without what its answer does not depend on."""
        return question.idle() if weights.energy_only and not self.arch.total_leakage_pj_per_cycle else question

    def _best(self, question: BranchQuestion, weights: Weights, cutoff: float) -> BranchAnswer:
        mapping = self._mapping(question, objective_of(weights), cutoff / _scale(weights))
        if mapping is None:
            return BranchAnswer(cutoff)
        return BranchAnswer(weights.of(mapping.energy_pj, mapping.latency_cycles), mapping)

    def _mapping(self, question: BranchQuestion, objective: Objective, ceiling: float) -> BranchMapping | None:
        """The best mapping for an objective; None where all are at the ceiling or above, or nothing fits."""
        search = self._solved(question, objective, ceiling, self.means)
        if not search.found:
            if search.out_of_time:
                raise OutOfMeans
            return None
        if self.proves and search.out_of_time and search.open_bound < search.found[0].value:
            raise OutOfMeans
        return self._taken(question, search)

    def _taken(self, question: BranchQuestion, search: ExactSearch) -> BranchMapping:
        """The best mapping that a search has found, as one of a branch."""
        best = search.found[0]
        outside = {memory for memory, _, _ in question.room}
        taken = taken_bits(best.mapping, search.machine)
        used = tuple((each.memory, each.role, each.bits) for each in taken if each.memory in outside)
        items = best.mapping.nest.items[len(search.original.tensors) :]
        return BranchMapping(best.cost.energy_pj, best.cost.latency_cycles, used, items)

    def _solved(self, question: BranchQuestion, objective: Objective, ceiling: float, means: Means) -> ExactSearch:
        """A search that has come to its end."""
        self.searches += 1
        search = self._search(question, objective, ceiling, means)
        search.solve(self.proves)
        if search.interrupted:  # the branch has a mapping, and the trees around it are not to be searched on
            raise KeyboardInterrupt
        return search

    def _search(self, question: BranchQuestion, objective: Objective, ceiling: float, means: Means) -> ExactSearch:
        """The search that answers a question."""
        operation = self.cascade.operation(question.operation)
        machine = machine_with_room(self.arch, question.room)
        machine = machine.model_copy(update={"mac": self.arch.mac.of(operation.kind)})
        problem = Problem(operation.name, question.sizes, operation.problem.tensors)
        around = Surroundings(
            dict(question.homes),
            question.again,
            {memory: (read, written) for memory, read, written in question.busy},
        )
        return ExactSearch(
            problem,
            machine,
            objective,
            "perfect" if question.divides else self.tiling,
            self.space,
            means=means,
            surroundings=around,
            ceiling=ceiling,
        )


def _scale(weights: Weights) -> float:
    """What a weighted sum is of what `objective_of` says."""
    return weights.energy or weights.latency


def _finite(limit: float) -> float | None:
    return limit if limit < math.inf else None


def _part_of(question: BranchQuestion, larger: BranchQuestion, sums: frozenset[str]) -> float | None:
    """Which part of the visits of a larger tile one visit is; None if it is no part of them, or other things are at the
    ports."""
    visits, adding = 1, 1
    for (dim, size), (_, whole) in zip(question.sizes, larger.sizes, strict=True):
        if whole % size:
            return None
        visits *= whole // size
        adding *= whole // size if dim in sums else 1
    if larger.again * adding > question.again or (larger.busy and larger.busy != question.busy):
        return None
    return 1 / visits


def _move_all(operation: Operation, dims: Iterable[str]) -> bool:
    """Whether every tensor has a rank of its own for each of some dimensions."""
    tensors = operation.problem.tensors
    return all(plain_rank(operation, tensor.name, dim) is not None for dim in dims for tensor in tensors)


def _fewer_steps(
    items: tuple[Loop | Node, ...], sizes: Mapping[str, int], ratios: Mapping[str, int]
) -> tuple[Loop | Node, ...] | None:
    """A mapping with fewer steps in time, outer loops first; None if it has not enough, or the last ones do less."""
    found, left = list(items), dict(ratios)
    for dim in left:
        if math.prod(item.trips for item in items if isinstance(item, Loop) and item.dim == dim) != sizes[dim]:
            return None
    for place, item in enumerate(items):
        if isinstance(item, Loop) and not item.is_spatial and left.get(item.dim, 1) > 1:
            fewer = math.gcd(item.trips, left[item.dim])
            found[place], left[item.dim] = replace(item, trips=item.trips // fewer), left[item.dim] // fewer
    if any(ratio > 1 for ratio in left.values()):
        return None
    return tuple(item for item in found if not (isinstance(item, Loop) and item.trips == 1))


def _that_fits(known: list[tuple[Room, BranchAnswer]], room: Room, cutoff: float) -> BranchAnswer | None:
    """What is known already: a mapping that was best with more room, and still fits; or that with as much room or more,
    none weighs less than the cutoff."""
    for had, answer in known:
        if answer.mapping is None or answer.bound >= cutoff:
            if answer.bound >= cutoff and _holds(had, room):
                return BranchAnswer(answer.bound)
        elif _holds(had, room) and _holds(room, answer.mapping.used):
            return answer
    return None


def _holds(room: Room, used: Room) -> bool:
    """Whether all parts of some room have as many bits as of another."""
    left = {(memory, role): bits for memory, role, bits in room}
    return all(bits <= left[memory, role] for memory, role, bits in used if (memory, role) in left)


def objective_of(weights: Weights) -> Objective:
    """What a search of one operation minimizes."""
    if weights.energy_only:
        return ENERGY
    if not weights.energy:
        return parse_objective("latency")
    return parse_objective(f"energy + {number_text(weights.latency / weights.energy)} * latency")


def machine_with_room(arch: Architecture, room: Room) -> Architecture:
    """The machine with as much room as is left."""
    left = {(memory, role): bits for memory, role, bits in room}
    levels = []
    for level in arch.levels:
        if isinstance(level, Memory) and any(memory == level.name for memory, _ in left):
            size = left.get((level.name, ""), level.size_bits)
            parts = {role: left.get((level.name, role), bits) for role, bits in level.partition_bits.items()}
            level = level.model_copy(update={"size_bits": size, "partition_bits": parts})
        levels.append(level)
    return arch.model_copy(update={"levels": tuple(levels)})
