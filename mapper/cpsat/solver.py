"""Solving the model for one figure, within a time limit; and the check of what comes out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from ortools.sat.python import cp_model

from ...arch import Architecture
from ...ir import Problem
from ..kernel.tolerance import RELATIVE_TOLERANCE
from ..means import GRACE, Means, OutOfMeans
from .costs import Costs
from .loops import LoopVariables, Var
from .words import refuse_boxes, refuse_exact_halos

RELAXATIONS = (0, 2)
"""Levels of linear relaxation that take turns: without one, nodes are cheap; with one, bounds are good."""


@dataclass(frozen=True)
class SolverOutcome:
    """What minimizing a figure has come to.

    values  the best solution; None: none was found
    bound   no solution has a lower figure
    proven  whether the solution has the least figure (or there is none at all)
    """

    values: cp_model.CpSolver | None
    bound: int
    proven: bool


class Solver:
    """The model of a problem on an architecture. What one call has proven holds in the later ones.

    Raises OutOfMeans where the means of the call under way end before there is a model.
    """

    def __init__(self, problem: Problem, arch: Architecture) -> None:
        self.means = Means.from_now(None)
        refuse_exact_halos(problem, arch)
        refuse_boxes(problem, arch)
        self.problem, self.arch = problem, arch
        self.loops = LoopVariables(problem, arch)
        self.model = self.loops.model
        self.costs = Costs(self.loops)
        self._hint_at_one_word_tiles()

    def least(self, figure: Var, turns: int | None = None) -> SolverOutcome:
        """Minimize a variable, in some turns of each relaxation (None: until done, or out of time)."""
        self.model.minimize(figure)
        best: cp_model.CpSolver | None = None
        bound = 0
        for level, units in itertools.islice(_turns(), None if turns is None else turns * len(RELAXATIONS)):
            if self.means.expired:
                break
            values = single_threaded(level)
            values.parameters.max_deterministic_time = units
            self._bound(values)
            status = self._run(values)
            if status == "INFEASIBLE":
                return SolverOutcome(best, bound, proven=True)
            bound = max(bound, values.response_proto.inner_objective_lower_bound)  # whole; the other one is a float
            self.model.add(figure >= bound)
            if status != "UNKNOWN":
                best = values
                self.hint(values)
            if status == "OPTIMAL":
                return SolverOutcome(best, bound, proven=True)
        return SolverOutcome(best, bound, proven=False)

    def any(self) -> cp_model.CpSolver | None:
        """A solution of the model, whatever its figures; None if there is none. Raises OutOfMeans where it takes too
        long to find one."""
        values = single_threaded(RELAXATIONS[0])
        values.parameters.stop_after_first_solution = True
        self._bound(values)
        status = self._run(values)
        if status == "UNKNOWN":
            raise OutOfMeans
        return None if status == "INFEASIBLE" else values

    def _bound(self, values: cp_model.CpSolver) -> None:
        """Let a run take no more than there is left."""
        values.parameters.max_memory_in_mb = max(1, self.means.memory_limit >> 20)
        if self.means.limits_time:
            values.parameters.max_time_in_seconds = max(GRACE, self.means.seconds_left)

    def _run(self, values: cp_model.CpSolver) -> str:
        status = values.status_name(values.solve(self.model))
        if status == "MODEL_INVALID":
            raise RuntimeError(f"internal error: {self.model.validate()}")
        return status

    def hint(self, values: cp_model.CpSolver) -> None:
        """Start the next run from a solution."""
        self.model.clear_hints()  # type: ignore[no-untyped-call]
        for i in range(len(values.response_proto.solution)):
            self.model.add_hint(self.model.get_int_var_from_proto_index(i), values.response_proto.solution[i])

    def _hint_at_one_word_tiles(self) -> None:
        """All loops outermost, in time, and no node that need not be: it fits if anything does."""
        for (dim, prime, s), exponent in self.loops.exponents.items():
            self.model.add_hint(exponent, self.loops.primes[dim][prime] if s == 0 else 0)
        for options in self.loops.patterns:
            fewest = min(len(pattern) for pattern, _ in options)
            for pattern, chosen in options:
                self.model.add_hint(chosen, len(pattern) == fewest)


def _turns() -> Iterator[tuple[int, float]]:
    """Yield levels and units of deterministic time, roughly seconds: the next turn of each is three times as long."""
    for turn in itertools.count():
        yield from ((level, 3.0**turn) for level in RELAXATIONS)


def single_threaded(relaxation: int) -> cp_model.CpSolver:
    """A solver of one thread, so that the same model has the same answer."""
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.linearization_level = relaxation
    solver.parameters.cp_model_probing_level = 0  # takes longer than most proofs
    return solver


def check(value: float, claimed: float, bound: float, proven: bool) -> None:
    """The cost model gives a mapping what the model claims: exactly so at a proven optimum, at most that elsewhere.

    RuntimeError if not: then one of the two is wrong.
    """
    slack = RELATIVE_TOLERANCE * abs(claimed)
    if not bound - slack <= value <= claimed + slack or (proven and value < claimed - slack):
        raise RuntimeError(f"internal error: the model claims {claimed!r} (bound {bound!r}), the cost model {value!r}")
