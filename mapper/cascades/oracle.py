"""Branches answered by the exact search of one operation: exact in every space, a search for each question."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...arch import Architecture, Memory
from ...cost_models import ENERGY, Objective, parse_objective
from ...cost_models.cascades import taken_bits
from ...cost_models.formula import number_text
from ...ir import Cascade, Problem
from ..exact.search import ExactSearch
from ..exact.surroundings import Surroundings
from ..means import Means, OutOfMeans
from ..space import Space
from ..tilings import Tiling
from .branch import BranchMapping, BranchQuestion, Room
from .weights import Weights


@dataclass
class ExactBranches:
    """Branches of one cascade on one machine.

    searches  how many searches have been made
    """

    cascade: Cascade
    arch: Architecture
    space: Space
    tiling: Tiling
    means: Means
    searches: int = 0
    _known: dict[tuple[BranchQuestion, Weights], list[_Answered]] = field(default_factory=dict)

    def least(self, question: BranchQuestion, weights: Weights) -> BranchMapping | None:
        """The mapping of least weight; None if nothing fits. Raises OutOfMeans when time or memory run out first."""
        if weights.energy_only and not self.arch.total_leakage_pj_per_cycle:
            question = question.idle()
        known = self._known.setdefault((question.roomless(), weights), [])
        found = _that_fits(known, question.room)
        if found is not None:
            return found.mapping
        answer = self._search(question, weights)
        known.append(_Answered(question.room, answer))
        return answer

    def _search(self, question: BranchQuestion, weights: Weights) -> BranchMapping | None:
        self.searches += 1
        operation = self.cascade.operation(question.operation)
        machine = machine_with_room(self.arch, question.room)
        machine = machine.model_copy(update={"mac": self.arch.mac.of(operation.kind)})
        problem = Problem(operation.name, question.sizes, operation.problem.tensors)
        around = Surroundings(
            dict(question.homes),
            question.again,
            {memory: (read, written) for memory, read, written in question.busy},
        )
        search = ExactSearch(
            problem,
            machine,
            objective_of(weights),
            self.tiling,
            self.space,
            means=self.means,
            surroundings=around,
        )
        if not search.solve():
            if search.out_of_time:
                raise OutOfMeans
            return None
        best = search.found[0]
        if search.out_of_time and search.frontier.bound < best.value:
            raise OutOfMeans
        homes = len(problem.tensors)
        outside = {memory for memory, _, _ in question.room}
        used = tuple((t.memory, t.role, t.bits) for t in taken_bits(best.mapping, machine) if t.memory in outside)
        return BranchMapping(best.cost.energy_pj, best.cost.latency_cycles, used, best.mapping.nest.items[homes:])


@dataclass(frozen=True)
class _Answered:
    """A mapping, or None, and the room that there was."""

    room: Room
    mapping: BranchMapping | None


def _that_fits(known: list[_Answered], room: Room) -> _Answered | None:
    """What is known already: a mapping that was best with more room, and still fits; or that nothing fits."""
    for answered in known:
        if answered.room == room:
            return answered
        if answered.mapping is None:
            if _holds(answered.room, room):
                return answered
        elif _holds(answered.room, room) and _holds(room, answered.mapping.used):
            return answered
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
