"""What splits of operations cost on the devices: a bound at once, by search where it matters.

Each device maps its part of an operation on its own, through its outermost memory. The latency of a split is that of
the slowest device, its energy that of all together. Equal problems, of other splits and operations, are searched once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ...cost_models import Objective
from ...cost_models.least_cost import cost_of_moves, least_cost_of_cascade
from ...cost_models.padding import with_padding_read
from ...ir import Cascade, InfeasibleError, TilewrightError, UndecidedError
from ...ir.sharding import Split
from ..answer import Answer
from ..canonical import form_of
from ..cascades import NothingBelow
from ..effort import PLAN_EFFORT
from ..fusing import answer_without_search
from ..kernel.tolerance import is_better, reaches
from ..means import Means
from ..pareto.weights import LATENCY_ALONE, Weights, objective_of, weights_of
from ..question import Limits, Question, TreeQuestion
from ..segmentation import GroupLost, GroupOutcome, GroupSolvers
from .dividing import divided, likeness
from .question import DeviceWork, ShardingQuestion

Wanted: TypeAlias = tuple[str, Split, float]
"""An operation, its split, and the value below which it is of interest what that costs."""


def weights_of_plan(objective: Objective, clock_hz: float) -> Weights:
    """What a plan minimizes, in pJ and seconds: seconds alone, or a sum in the units of the objective.

    Raises TilewrightError for objectives that do not add up over operations.
    """
    found = weights_of(objective)
    if found is None:
        hint = "minimize latency, energy, or a sum such as 'energy + 100 * latency'"
        raise TilewrightError(f"a plan for several devices knows no objective such as {objective.name}", hint=hint)
    return Weights(found.energy, found.latency * clock_hz) if found.energy else LATENCY_ALONE


AGAIN = 1.25
"""Times as much as was looked for, without an end in time, from which on it is worth while to search again."""


@dataclass(frozen=True)
class SplitCost:
    """What an operation costs in one split, as far as it is known.

    bound      it has no less of what the plan minimizes
    value      of the best mappings that are known of all devices; infinite where none are
    seconds    of the slowest device, by these
    energy_pj  of all devices
    answer     the mapping of the largest problem; None: words are moved, or nothing is known
    """

    bound: float
    value: float = math.inf
    seconds: float = math.inf
    energy_pj: float = math.inf
    answer: Answer | None = None

    @property
    def is_proven(self) -> bool:
        """Whether no mappings are better."""
        return reaches(self.bound, self.value)


@dataclass
class DeviceProblem:
    """A problem that devices have, and what is known of it.

    question  about it
    bound     no mapping has less of its objective
    answer    the best mapping that is known
    tried     searches ran out of time for what is below it
    is_searching  whether a search is under way
    """

    question: TreeQuestion
    bound: float
    answer: Answer | None = None
    tried: float = 0.0
    is_searching: bool = False

    @property
    def value(self) -> float:
        """Of the best mapping that is known."""
        return math.inf if self.answer is None else self.answer.certificate.value

    def is_open(self, below: float) -> bool:
        """Whether a search may find a mapping that has less, or prove that there is none. One that ran out of time
        would again, but for values that are well above those that it looked for."""
        least = min(self.value, below)
        return is_better(self.bound, least) and least > AGAIN * self.tried


@dataclass(frozen=True)
class DealtWork:
    """What the devices do of an operation in one split.

    problems  each with the devices that have it, the largest first
    moved     the cost in pJ and seconds of words that are moved, of what is no operation
    times     how often it is done
    """

    problems: tuple[tuple[DeviceProblem, int], ...]
    moved: tuple[float, float]
    times: int


@dataclass
class DeviceCosts:
    """The costs of the splits of one network's operations.

    solvers   search problems
    means     time and memory for all
    searched  problems that were searched
    interrupted  whether someone wants the search to end
    """

    question: ShardingQuestion
    solvers: GroupSolvers
    means: Means
    searched: int = 0
    interrupted: bool = False
    _running: dict[Future[GroupOutcome], tuple[DeviceProblem, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.arch = with_padding_read(self.question.system.device)
        self.weights = weights_of_plan(self.question.objective, self.arch.clock_hz)
        self._problems: dict[object, DeviceProblem] = {}
        self._dealt: dict[object, DealtWork] = {}
        self._alike: dict[str, object] = {}

    def cost(self, name: str, split: Split) -> SplitCost:
        """What is known of the cost of an operation in a split; the first time, a bound by points and compulsory words
        alone."""
        dealt = self._work(name, split)
        if not dealt.problems:
            energy, seconds = (dealt.times * one for one in dealt.moved)
            value = self.weights.of(energy, seconds)
            return SplitCost(value, value, seconds, energy)
        bounds = [problem.bound for problem, _ in dealt.problems]
        bound, first = self._together(dealt, bounds), dealt.problems[0][0].answer
        answers = [(problem.answer, devices) for problem, devices in dealt.problems]
        known = [(answer.cost, devices) for answer, devices in answers if answer is not None]
        if len(known) < len(answers):
            return SplitCost(bound)
        energy = dealt.times * sum(devices * cost.energy_pj for cost, devices in known)
        seconds = dealt.times * max(cost.latency_cycles for cost, _ in known) / self.arch.clock_hz
        return SplitCost(bound, self.weights.of(energy, seconds), seconds, energy, first)

    def is_open(self, name: str, split: Split, below: float) -> bool:
        """Whether a search may find out that an operation costs less than that in a split, or that it does not."""
        cost = self.cost(name, split)
        if cost.is_proven or not is_better(cost.bound, below):
            return False
        dealt = self._work(name, split)
        return any(
            problem.is_open(self._below(dealt, number, below)) for number, (problem, _) in enumerate(dealt.problems)
        )

    def ask(self, wanted: Iterable[Wanted]) -> None:
        """Begin as many searches as may run at once, of what is asked for first, and wait for one of them to end. Those
        of earlier calls go on. KeyboardInterrupt once someone wants the search to end."""
        if self.interrupted:
            raise KeyboardInterrupt
        for name, split, below in wanted:
            dealt = self._work(name, split)
            for number, (problem, _) in enumerate(dealt.problems):
                least = self._below(dealt, number, below)
                if len(self._running) < self.solvers.at_once() and not problem.is_searching and problem.is_open(least):
                    self._begin(problem, least)
        self._take_finished()

    def know(self, name: str, split: Split) -> SplitCost:
        """The cost of an operation in a split, by mappings made without a search where none are known: so there is a
        plan when time is up. Infinite where no such mapping fits."""
        for problem, _ in self._work(name, split).problems:
            if problem.answer is None and problem.bound < math.inf:
                self._know(problem)
        return self.cost(name, split)

    def work(self, name: str, split: Split) -> DeviceWork:
        """An operation in a split, as a step of a plan."""
        found = self.cost(name, split)
        return DeviceWork(name, split, found.seconds, found.energy_pj, found.answer)

    def drop(self) -> None:
        """Give up searches that are still running."""
        if self._running:
            self.solvers.drop()
            for problem, _ in self._running.values():
                problem.is_searching = False
            self._running.clear()

    def alike(self, name: str) -> object:
        """What operations have in common that cost the same in equal splits."""
        if name not in self._alike:
            occurrence = self.question.graph.by_name[name]
            self._alike[name] = likeness(self.question.graph, occurrence), occurrence.times
        return self._alike[name]

    # ---- problems --------------------------------------------------------------------------------------------

    def _work(self, name: str, split: Split) -> DealtWork:
        graph = self.question.graph
        occurrence = graph.by_name[name]
        key = self.alike(name), split
        if key not in self._dealt:
            found = divided(graph, occurrence, split, self.question.system.axes)
            moves = [(cost_of_moves(self.arch, dict(one.moved)), one.devices) for one in found if one.moved]
            energy = sum(devices * cost.energy_pj for cost, devices in moves)
            seconds = max((cost.latency_cycles for cost, _ in moves), default=0.0) / self.arch.clock_hz
            parts = [(one.cascade, one.devices) for one in found if one.cascade is not None]
            problems = tuple(
                (self._problem(cascade, devices, is_first=number == 0), devices)
                for number, (cascade, devices) in enumerate(parts)
            )
            self._dealt[key] = DealtWork(problems, (energy, seconds), occurrence.times)
        return self._dealt[key]

    def _problem(self, cascade: Cascade, devices: int, *, is_first: bool) -> DeviceProblem:
        """A problem with what its devices minimize together. Where energy counts, latency is that of the largest
        problem: that no other one is slower is seen when all are mapped."""
        per_cycle = self.weights.latency / self.arch.clock_hz if is_first or not self.weights.energy else 0.0
        own = Weights(devices * self.weights.energy, per_cycle)
        objective = objective_of(own)
        key = form_of(cascade, self.arch), objective.name
        if key not in self._problems:
            asked = self.question
            question: TreeQuestion = Question(cascade, self.arch, objective, asked.tiling, asked.space)
            least = least_cost_of_cascade(cascade, self.arch).value(objective)
            self._problems[key] = DeviceProblem(question, least)
        return self._problems[key]

    # ---- values of all devices, and of one problem of them ---------------------------------------------------

    def _together(self, dealt: DealtWork, values: list[float]) -> float:
        """What all devices have at least, where each problem has so much of its own objective."""
        if not self.weights.energy:
            return dealt.times * max(values) / self.arch.clock_hz
        every = zip(values, dealt.problems, strict=True)
        return dealt.times * self.weights.energy * sum(devices * one for one, (_, devices) in every)

    def _below(self, dealt: DealtWork, number: int, below: float) -> float:
        """What a problem has to be below for all devices to be below a value."""
        if not self.weights.energy:
            return below / dealt.times * self.arch.clock_hz
        others = sum(devices * one.bound for i, (one, devices) in enumerate(dealt.problems) if i != number)
        return (below / (dealt.times * self.weights.energy) - others) / dealt.problems[number][1]

    # ---- searches --------------------------------------------------------------------------------------------

    def _begin(self, problem: DeviceProblem, below: float) -> None:
        asked = replace(problem.question, below=min(below, problem.value), limits=self._limits())
        problem.is_searching = True
        self._running[self.solvers.begin(asked)] = problem, asked.below

    def _limits(self) -> Limits:
        """The limits of one search, within the time that is left for all."""
        limits = self.question.limits
        if not self.means.limits_time:
            return limits
        left = max(PLAN_EFFORT.least, self.means.seconds_left)
        seconds = max(PLAN_EFFORT.least, PLAN_EFFORT.share * left)
        return replace(limits, time_s=min(seconds, limits.time_s or math.inf), within_s=left)

    def _take_finished(self) -> None:
        """Take what the searches that end next have found; those that still run when all time is over are given up."""
        patience = self.means.seconds_left + 0.5 if self.means.limits_time else None
        finished = wait(self._running, patience, FIRST_COMPLETED).done
        for future in finished:
            self._take(*self._running.pop(future), future.result())
        if not finished:
            for problem, below in self._running.values():
                problem.tried = max(problem.tried, below)
            self.drop()

    def _take(self, problem: DeviceProblem, below: float, outcome: GroupOutcome) -> None:
        self.searched += 1
        problem.is_searching = False
        if isinstance(outcome, InfeasibleError):
            problem.bound = math.inf
            return
        if isinstance(outcome, UndecidedError):
            problem.tried = max(problem.tried, below)
            if problem.answer is None and not isinstance(outcome, GroupLost):
                self._know(problem)
            return
        if isinstance(outcome, NothingBelow):
            bound, self.interrupted = outcome.bound, self.interrupted or outcome.interrupted
        else:
            bound, self.interrupted = (
                outcome.certificate.lower_bound,
                self.interrupted or outcome.certificate.interrupted,
            )
            problem.answer = outcome
        problem.bound = max(problem.bound, bound)
        if problem.is_open(below):
            problem.tried = max(problem.tried, below)

    def _know(self, problem: DeviceProblem) -> None:
        problem.answer = answer_without_search(problem.question)
