"""The run of a heuristic search: a strategy proposes genomes and is told their values, until a budget is spent."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from ...cost_models import Cost, Objective, check_fit, evaluate
from ...ir import InfeasibleError, Mapping, MappingError
from ..progress import SearchProgress
from .sample import Genome, GenomeSpace

Proposals: TypeAlias = Generator[Genome, float, None]
"""A strategy: it yields genomes, and is sent the value of each; infinite for one that does not fit."""


class TrajectoryStep(NamedTuple):
    """A mapping better than all before it: seconds and evaluations up to and with it, and its value."""

    seconds: float
    evaluations: int
    value: float


@dataclass(frozen=True)
class HeuristicResult:
    """The best mapping that a heuristic search has found; nothing is proven about it.

    evaluated   proposals whose cost was computed; that of a repeated one is remembered, and counts once
    rejected    proposals that did not fit
    trajectory  every improvement, the best one last
    """

    mapping: Mapping
    cost: Cost
    evaluated: int
    rejected: int
    trajectory: tuple[TrajectoryStep, ...]


@dataclass
class Run:
    """One search: its budget, its counts, and the best so far.

    objective    to be minimized
    time_limit   seconds, or None; looked at between proposals, and not before something is found or given up
    evaluations  the most costs to compute, or None
    in_vain      proposals in a row that do not fit or are known, after which a search without a time limit ends
    remembered   values kept, the latest ones: walks and populations come back to where they were
    """

    space: GenomeSpace
    objective: Objective
    time_limit: float | None
    evaluations: int | None
    in_vain: int = 20_000
    remembered: int = 1 << 16
    evaluated: int = 0
    rejected: int = 0
    _best: tuple[float, Mapping, Cost] | None = None
    _trajectory: list[TrajectoryStep] = field(default_factory=list)
    _misfits: deque[Genome] = field(default_factory=lambda: deque(maxlen=3))
    _values: dict[Genome, float] = field(default_factory=dict)
    _nothing_new: int = 0
    _started: float = field(default_factory=time.perf_counter)

    @property
    def found(self) -> bool:
        return self._best is not None

    def progress(self) -> SearchProgress:
        """How far the search has come."""
        value = math.inf if self._best is None else self._best[0]
        doing = f"nothing is proven by a heuristic: {self.evaluated:,} mappings evaluated"
        return SearchProgress(doing=doing, objective=self.objective.name, value=value)

    def spent(self) -> bool:
        """Whether the search is over."""
        if self.evaluations is not None and self.evaluated >= self.evaluations:
            return True
        given_up = self._nothing_new >= self.in_vain
        if self.time_limit is None:
            return given_up
        return (self.found or given_up) and time.perf_counter() - self._started >= self.time_limit

    def value(self, genome: Genome) -> float:
        """The objective of a genome; infinite if it does not fit."""
        self._nothing_new += 1
        if genome in self._values:
            return self._values[genome]
        if not self.space.fits(genome):
            self.rejected += 1
            self._misfits.append(genome)
            return math.inf
        self._nothing_new = 0
        value = self._evaluated(genome)
        if len(self._values) >= self.remembered:
            del self._values[next(iter(self._values))]
        self._values[genome] = value
        return value

    def _evaluated(self, genome: Genome) -> float:
        """The objective of a genome that fits, by the cost model; the best one is kept."""
        mapping = self.space.mapping(genome)
        cost = evaluate(mapping, self.space.arch)
        value = cost.objective(self.objective)
        self.evaluated += 1
        if self._best is None or value < self._best[0]:
            self._best = (value, mapping, cost)
            seconds = time.perf_counter() - self._started
            self._trajectory.append(TrajectoryStep(seconds, self.evaluated, value))
        return value

    def result(self) -> HeuristicResult:
        """The best so far; InfeasibleError says how many were tried, and what the last ones failed at."""
        if self._best is None:
            raise self._nothing_fits()
        _, mapping, cost = self._best
        return HeuristicResult(mapping, cost, self.evaluated, self.rejected, tuple(self._trajectory))

    def _nothing_fits(self) -> InfeasibleError:
        reasons = []
        for genome in self._misfits:
            try:
                check_fit(self.space.mapping(genome), self.space.arch)
            except MappingError as error:
                reasons.append(f"{error.where}: {error.message}" if error.where else error.message)
        return InfeasibleError(
            "\n  ".join([f"none of {self.rejected:,} mappings tried fits; the last ones failed at", *reasons]),
            where=f"{self.space.problem.name} on {self.space.arch.name}",
            hint="the exact search finds a mapping if there is one, or says which memory is too small",
        )
