"""The exact search of one operation, set up for a question about a branch: its machine, its tile, its visits."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ....arch import Architecture, Memory
from ....arch.ports import without_ports
from ....cost_models import ENERGY, Objective
from ....cost_models.cascades import VisitSizes
from ....ir import Operation, Problem, Tensor
from ...constraints import Constraints
from ...exact.question.surroundings import Surroundings
from ...exact.search import ExactSearch
from ...exact.tiles.visits import short_visits, size_of_visits
from ...means import Means
from ...space import Space
from ...tilings import Tiling
from ..terms.branch import BranchQuestion, NamedPort, by_memory
from ..terms.upper_memories import with_room


@dataclass(frozen=True)
class BranchSearches:
    """The searches of single operations on one machine."""

    arch: Architecture
    space: Space
    tiling: Tiling

    def search(
        self,
        operation: Operation,
        question: BranchQuestion,
        objective: Objective,
        ceiling: float,
        means: Means,
        constraints: Constraints | None = None,
        short_pj: float = 0.0,
    ) -> ExactSearch:
        """One that has not begun.

        ceiling   of the objective over all visits that are not alike: what is at it, or above, is not looked for
        short_pj  that visits take at least together, where energy counts, in which loops may come down to one trip
        """
        return ExactSearch(
            self._problem(operation, question),
            self._machine(operation, question),
            objective,
            self.tiling,
            self.space,
            constraints or Constraints(),
            means,
            surroundings=self._surroundings(question, short_pj if objective == ENERGY else 0.0),
            ceiling=ceiling,
        )

    def _machine(self, operation: Operation, question: BranchQuestion) -> Architecture:
        machine = with_room(self.arch, question.room)
        mac = self.arch.mac.of(operation.kind)
        if question.slower != 1:
            mac = mac.model_copy(update={"per_cycle": mac.per_cycle / question.slower})
        if question.waits_for:
            machine = with_endless_ports(machine, but=question.waits_for)
            mac = mac.model_copy(update={"per_cycle": 2.0**60})  # no cycle is ever waited for
        return machine.model_copy(update={"mac": mac})

    def _problem(self, operation: Operation, question: BranchQuestion) -> Problem:
        """All visits that are not alike, but for short ones."""
        tile, whole = dict(question.sizes), dict(question.over)
        whole |= {dim: size_of_visits(sizes, tile[dim]) for dim, (sizes, _) in _told_apart(question).items()}
        dims = tuple((dim, whole.get(dim, size)) for dim, size in question.sizes)
        return Problem(operation.name, dims, self._tensors(operation, question))

    def _tensors(self, operation: Operation, question: BranchQuestion) -> tuple[Tensor, ...]:
        """Those of an operation, as wide as they are asked for: by parts of a bit, perhaps, where no memory holds them
        but their homes."""
        tensors, times = operation.problem.tensors, dict(question.wider)
        if not times:
            return tensors
        widths = {t.name: self.arch.width_bits(t) * times[t.name] for t in tensors if t.name in times}
        return tuple(replace(t, bits=widths.get(t.name, t.bits)) for t in tensors)  # type: ignore[arg-type]

    def _surroundings(self, question: BranchQuestion, short_least: float) -> Surroundings:
        visits, told_apart = question.visits, _told_apart(question)
        return Surroundings(
            dict(question.homes),
            question.again,
            by_memory(question.busy, visits),
            {dim: size for dim, size in question.sizes if dim in question.cut},
            {dim: lasting for dim, (lasting, _) in told_apart.items()},
            {dim: short for dim, (_, short) in told_apart.items() if short},
            short_least,
        )


def _told_apart(question: BranchQuestion) -> dict[str, tuple[VisitSizes, VisitSizes]]:
    """By dimension along which visits are uneven, those in which loops last, and short ones."""
    tile = dict(question.sizes)
    return {dim: short_visits(sizes, tile[dim]) for dim, sizes in question.made}


def with_endless_ports(arch: Architecture, but: NamedPort | None = None) -> Architecture:
    """Return the machine with ports of unbounded bandwidth, except for one if that is named."""
    levels = []
    for level in arch.levels:
        if isinstance(level, Memory):
            level = without_ports(level, but[1] if but and but[0] == level.name else None)
        levels.append(level)
    return arch.model_copy(update={"levels": tuple(levels)})
