"""The costs of the groups of a network: which groups are searched next, for how long, and the bounds and values
found."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from ...ir import InfeasibleError, NoPlanError, UndecidedError
from ..answer import Answer
from ..cascades import Nearest, NothingBelow, bound_cascade, least_energies
from ..effort import PLAN_EFFORT
from ..fusing import answer_without_search
from ..kernel.tolerance import is_better, reaches
from ..means import Means
from ..progress import SearchProgress, tell
from ..question import Limits, TreeQuestion
from .arenas import check_addresses
from .group_edges import GroupEdge
from .kinds import Finding, GroupKind, used_by
from .lazy_path import Asked
from .question import NetworkQuestion
from .residency import Taken
from .searching import GroupLost, GroupOutcome, GroupSolvers
from .steps import NetworkSteps


@dataclass(frozen=True)
class Begun:
    """A search of a group that has begun: of a kind, with the room that others leave, for what weighs less, and for so
    many seconds."""

    kind: GroupKind
    taken: Taken
    below: float
    seconds: float

    def has_ended(self, outcome: GroupOutcome) -> bool:
        """Whether a search came to its end long before its time was up: then its gap is none that more time closes."""
        return self._took_less(outcome, 0.04)  # a step has a twentieth of the time, or more

    def has_ended_by_itself(self, outcome: GroupOutcome) -> bool:
        """Whether a search was not over for lack of time alone: what has run out of it may find more in more."""
        return self._took_less(outcome, 0.3)

    def _took_less(self, outcome: GroupOutcome, part: float) -> bool:
        """Whether a search took less than a part of its time, or nothing fits."""
        if isinstance(outcome, InfeasibleError | UndecidedError):
            return isinstance(outcome, InfeasibleError)
        taken = outcome.seconds if isinstance(outcome, NothingBelow) else outcome.certificate.seconds
        return taken < part * self.seconds


@dataclass
class GroupCosts:
    """The values and bounds known of the groups of one network.

    solvers   search groups
    steps     that are done by groups; they are told what is found out
    means     time and memory for all
    longer    as long as at first a group may be searched now, in times
    searched  groups
    interrupted  whether someone wants the search to end
    lost      groups whose searches came to nothing, since the processes that made them died
    running   searches of groups that are not over
    doing     what groups are searched for, in words
    value, bound  of the whole, as far as they are known
    """

    question: NetworkQuestion
    solvers: GroupSolvers
    steps: NetworkSteps
    means: Means
    longer: float = 1.0
    searched: int = 0
    interrupted: bool = False
    lost: list[str] = field(default_factory=list)
    running: dict[Future[GroupOutcome], Begun] = field(default_factory=dict)
    doing: str = ""
    value: float = math.inf
    bound: float = 0.0

    def __post_init__(self) -> None:
        self._nearest: Nearest = {}

    def drop(self) -> None:
        """Give up searches that are still running."""
        if self.running:
            self.solvers.drop()

    @property
    def seconds_left(self) -> float:
        """For searches: the answer takes some of the time as well, by the steps that it is chosen from, and addresses
        of what stays on chip: groups that have none together have to be left out."""
        spare = 1e-5 * len(self.steps.edges)
        if self.question.total_s is not None and (self.steps.residency.candidates or self.steps.weights.every):
            spare += min(PLAN_EFFORT.plan, 0.05 * self.question.total_s)
        return self.means.seconds_left - spare

    def find_out(self, asked: Sequence[Asked]) -> None:
        """Search groups whose cost may matter: start as many searches as may run at once and wait for one of them. A
        group is searched only for values below what the rest of the path leaves, and below what other groups for the
        same operations cost."""
        for edge, below in self._most_first(asked):
            if len(self.running) >= self.solvers.at_once():
                break
            if self._is_found_out(edge):  # another way may be cheapest now
                return
            self._begin(edge, min(below, self._another_way(edge)))
        self._take_finished()

    def _most_first(self, asked: Sequence[Asked]) -> list[tuple[GroupEdge, float]]:
        """First the step that may raise the bound of the whole by most: by what its operations are known to cost, more
        than it is bounded by, as often as its kind is on the way. Before all others what cannot be better than that.

        Where groups are chosen as a whole, first the one that is bounded by most: what it turns out to cost changes the
        choice soonest.
        """
        every = [(edge, below) for edge, below in asked if isinstance(edge, GroupEdge)]
        times = Counter(id(edge.kind) for edge, _ in every)
        edges = {(id(edge.kind), edge.taken): (edge, below) for edge, below in reversed(every)}.values()  # equal blocks

        def lift(one: tuple[GroupEdge, float]) -> tuple[float, float]:
            edge, _ = one
            if self.steps.is_wild:
                return 0.0, edge.bound
            more = min(edge.value, self.steps.another_way(edge)) - edge.bound
            return math.inf if more <= 0 else more * times[id(edge.kind)], edge.bound

        return sorted(edges, key=lift, reverse=True)

    def _another_way(self, edge: GroupEdge) -> float:
        """Return the cost of the operations of a group in other groups, from which on it is of no use."""
        is_one = len(self.steps.groups[edge.step.group].names) == 1
        return math.inf if is_one else self.steps.another_way(edge) + edge.spare

    def _is_found_out(self, edge: GroupEdge) -> bool:
        """Whether something is found out of a group without a search. Where it cannot be less than other ways to do the
        same, it is left aside for good."""
        if reaches(edge.bound, self._another_way(edge)):
            edge.bound, edge.value, edge.is_known = math.inf, math.inf, True
            return True
        return False

    def search_all(self, edges: Iterable[GroupEdge]) -> None:
        """Find out what groups cost, whatever that is; where time is limited, first of those that compute most."""
        waiting = deque(sorted(edges, key=_macs, reverse=True) if self.means.limits_time else edges)
        while waiting or self.running:
            while waiting and len(self.running) < self.solvers.at_once():
                edge = waiting.popleft()
                if self.seconds_left > 0 or edge.value == math.inf:
                    self._begin(edge, math.inf)
            self._take_finished()

    def know_unsearched(self, edges: Iterable[GroupEdge]) -> None:
        """Know what groups cost without a search, so that there is a plan when time is up."""
        for edge in edges:
            if edge.kind is not None and not edge.kind.findings:
                self._note(edge.kind, replace(self._unsearched(edge.kind, edge.taken), is_over=False, seconds=0.0))

    def _begin(self, edge: GroupEdge, below: float) -> None:
        """Begin to find out what a group costs; KeyboardInterrupt once someone wants the search to end."""
        kind, taken = edge.kind, edge.taken
        if self.interrupted:
            raise KeyboardInterrupt
        if kind is None or edge.is_known or kind.is_known(taken, self.steps.residency):
            return
        if any(one.kind is kind and one.taken == taken for one in self.running.values()):
            return
        below /= edge.times
        asked = self._asked(kind, taken, below)
        seconds = math.inf if asked.limits.time_s is None else asked.limits.time_s
        with self._noting_interrupts():
            self.running[self.solvers.begin(asked)] = Begun(kind, taken, below, seconds)
        self.tell()

    def _take_finished(self) -> None:
        """Record the results of the searches that end next; searches that still run when all time is over are given
        up."""
        patience = self.means.seconds_left + 0.5 if self.means.limits_time else None
        with self._noting_interrupts():
            finished = wait(self.running, patience, FIRST_COMPLETED).done
        for future in finished:
            self._take(self.running.pop(future), future.result())
        if self.running and not finished:
            self.solvers.drop()
            for begun in self.running.values():
                self._take(begun, UndecidedError("its search did not end in time", where=begun.kind.cascade.name))
            self.running.clear()

    @contextmanager
    def _noting_interrupts(self) -> Iterator[None]:
        try:
            yield
        except KeyboardInterrupt:
            self.interrupted = True
            raise

    def _take(self, begun: Begun, outcome: GroupOutcome) -> None:
        """Note what a search has found."""
        kind, taken = begun.kind, begun.taken
        if isinstance(outcome, GroupLost):
            self.lost.append(kind.cascade.name)
        if isinstance(outcome, InfeasibleError | UndecidedError):
            kind.refused = outcome
            finding = Finding(taken, begun.below, math.inf if isinstance(outcome, InfeasibleError) else 0.0)
            if isinstance(outcome, UndecidedError) and begun.below == math.inf:
                finding = self._unsearched(kind, taken)
        else:
            finding = self._found(kind, taken, begun.below, outcome)
        if not finding.is_over and reaches(kind.bound(taken), finding.bound):
            finding = replace(finding, is_over=True)  # asking again would find out no more
        finding = replace(finding, seconds=begun.seconds)
        finds_no_more = begun.has_ended_by_itself(outcome) and kind.finds_no_more(finding)
        is_all = begun.has_ended(outcome) or finds_no_more or kind.repeats(finding)
        self.searched += 1
        self._note(kind, replace(finding, is_all=is_all))
        self.tell()

    def learn(self, value: float, bound: float = 0.0) -> None:
        """Note what is known of the whole, and tell whoever watches."""
        if value < self.value or bound > self.bound:
            self.value, self.bound = min(self.value, value), max(self.bound, bound)
            self.tell()

    def tell(self) -> None:
        """Tell whoever watches how far the search has come."""
        names = [begun.kind.cascade.name.partition(":")[2] for begun in self.running.values()]
        doing = f"{self.doing}: {', '.join(names)}" if names else self.doing
        left = sum(not kind.is_searched for kind in self.steps.kinds)
        tell(SearchProgress(self.searched, left, doing, self.question.objective.name, self.value, self.bound))

    def _note(self, kind: GroupKind, finding: Finding) -> None:
        """Let steps know what is found out of a kind."""
        kind.findings.append(finding)
        self.steps.tell([kind])

    def _unsearched(self, kind: GroupKind, taken: Taken) -> Finding:
        """Return the cost of a kind's simplest mapping, known without a search; None where it does not fit."""
        answer = answer_without_search(self._asked(kind, taken, math.inf))
        return Finding(taken, math.inf, 0.0) if answer is None else self._found(kind, taken, math.inf, answer)

    def _bounded(self, kind: GroupKind) -> TreeQuestion:
        """The question about a group with all the room that there is, for bounds on it, which have little time: others
        wait for it."""
        limits = self.question.limits
        if self.question.total_s is not None:
            seconds = math.inf if limits.time_s is None else limits.time_s
            seconds = min(seconds, PLAN_EFFORT.first_share * self.question.total_s, self.seconds_left)
            limits = replace(limits, time_s=max(PLAN_EFFORT.least, seconds))
        return replace(self.question.of_group(kind.cascade), stays=kind.stays, limits=limits)

    def _limits(self) -> Limits:
        """Return the limits of the search of one group, within the time that is left for all."""
        limits, total = self.question.limits, self.question.total_s
        if total is None:
            return limits
        seconds = self.longer * min(
            total * PLAN_EFFORT.first_share, math.inf if limits.time_s is None else limits.time_s
        )
        left = max(PLAN_EFFORT.least, self.seconds_left)
        return replace(limits, time_s=min(max(PLAN_EFFORT.least, seconds), left), within_s=left)

    def _asked(self, kind: GroupKind, taken: Taken, below: float) -> TreeQuestion:
        """The question about a group with the room that is left, and the time."""
        asked, machine = self.question.of_group(kind.cascade), self.steps.residency.less(self.question.arch, taken)
        return replace(asked, arch=machine, stays=kind.stays, below=below, limits=self._limits())

    def _found(self, kind: GroupKind, taken: Taken, below: float, answer: Answer | NothingBelow) -> Finding:
        """Return what an answer proves of a kind. An answer whose tiles fit by their sum but have no addresses is no
        answer; its bound remains."""
        if isinstance(answer, NothingBelow):
            return Finding(taken, below, answer.bound, is_over=is_better(answer.bound, below))
        proof = answer.certificate
        self.interrupted = self.interrupted or proof.interrupted
        try:
            check_addresses(answer.cost, self.question.arch, self.means.at_most(PLAN_EFFORT.plan))
        except NoPlanError as error:
            kind.refused = NoPlanError(error.message, where=kind.cascade.name, hint=error.hint)
            return Finding(taken, below, proof.lower_bound)
        answer = replace(answer, cost=answer.cost.on(self.question.arch))  # which has more room than was left
        return Finding(taken, below, proof.lower_bound, proof.value, answer, used_by(answer.cost, self.steps.residency))

    def bound_all(self, share: float = 1.0) -> None:
        """A bound for every kind that has none yet, and has not been searched to its end.

        share  of the time that is left, at most
        """
        until = (1 - share) * self.seconds_left if share < 1 else 0.0
        for kind in self.steps.kinds:
            if self.seconds_left <= until:  # what has none is bounded by what is known from the start
                break
            if not kind.is_bounded and all(is_better(one.bound, one.value) for one in kind.findings):
                kind.least = max(kind.least, bound_cascade(self._bounded(kind), self._nearest))
                kind.is_bounded = True
            if self.steps.all_pass and kind.energies is None:  # what is proven of all plans asks for them then
                known = least_energies(self._bounded(kind), self._nearest)
                kind.energies = tuple(known.values()) or None


def _macs(edge: GroupEdge) -> int:
    """Return the number of points that a group computes."""
    return 0 if edge.kind is None else edge.times * sum(operation.problem.macs for operation in edge.kind.cascade)
