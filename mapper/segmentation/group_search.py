"""The segmentation of least energy, latency, or weighted sum of the two.

The space: groups of a few operations that connect (`workloads/graph/groups.py`), done in any order that the network
allows; each group mapped as the best tree of `mapper/cascades`; between groups a tensor passes through the outermost
memory, or stays on chip (`residency.py`). Energies and latencies of groups add up, so the best segmentation is the
cheapest way through states (`states.py`), with a group as a step. A group costs no less than what its operations weigh
with all of their tensors in the nearest memory and endless room there; only groups that could lie on the cheapest way
are searched, and these only for what is better than other ways to do the same (`lazy_path.py`). Groups that differ in
names alone are searched once (`kinds.py`).
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from ...ir import InfeasibleError, NoPlanError, UndecidedError
from ..cascades import CascadeQuestion, Nearest, NothingBelow, SingleLeast, bound_by_singles, bound_cascade
from ..certificate import RELATIVE_TOLERANCE, Certificate
from ..fusing import FusedAnswer, outer_words
from ..means import Means
from ..question import Limits
from .arenas import arenas_of
from .kinds import Finding, GroupKind, used_by
from .lazy_path import Asked, CheapestWay, Choose, cheapest_way
from .question import Apart, NetworkAnswer, NetworkQuestion
from .residency import Taken
from .searching import GroupOutcome, GroupSolvers
from .segments import PLAN_SECONDS, Segments
from .steps import GroupEdge, NetworkSteps

LEAST_SECONDS = 0.1
"""That a group has when time is up: operations that are not known have to be, to have an answer at all."""

ALONE_SHARE, FIRST_SHARE, LONGER = 0.02, 0.008, 4
"""Of all the time, at most, for a single operation, and for a group at first: where many groups take long, a good way
is known sooner. And by how much longer a group is searched in the next round."""

ADDRESS_SHARE = 0.05
"""Of all the time, for addresses of what stays on chip: groups that have none together have to be left out."""

ANSWER_SECONDS = 1e-5
"""That the answer takes in the end, for each step that it is chosen from."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Begun:
    """A search of a group that has begun: of a kind, with the room that others leave, for what weighs less."""

    kind: GroupKind
    taken: Taken
    below: float


@dataclass
class GroupSearch:
    """One search.

    solvers   search groups
    progress  called with how many groups have been searched, and how many more there may be at most
    running   searches of groups that are not over
    """

    question: NetworkQuestion
    solvers: GroupSolvers
    progress: Progress | None
    searched: int = 0
    interrupted: bool = False
    running: dict[Future[GroupOutcome], Begun] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.started = time.perf_counter()
        self.means = Means.from_now(self.question.total_s, self.question.limits.memory_bytes)
        self.steps = NetworkSteps(self.question, self.means)
        self.residency = self.steps.residency
        self._longer = 1.0
        self._singles: SingleLeast = {}

    def run(self) -> NetworkAnswer:
        """The best segmentation, and what is proven of it."""
        try:
            return self._run()
        finally:
            if self.running:
                self.solvers.drop()

    def _run(self) -> NetworkAnswer:
        steps = self.steps
        try:
            self._longer = ALONE_SHARE / FIRST_SHARE
            self._search_all(steps.alone())
            self._longer = 1.0
            self._bound_groups()
        except KeyboardInterrupt:
            self.interrupted = True
        steps.tell()
        way, passing = self._in_rounds()
        if not way.edges:
            raise self._nothing_found()
        found = Segments(steps, way, self.means)
        return NetworkAnswer(
            self.question,
            found.segments,
            self._apart(),
            self._certificate(found.way),
            len(steps.groups),
            self.searched,
            found.staying,
            self._passing(passing) if found.staying else None,
            steps.in_order,
        )

    def _cheapest(self, edges: Sequence[GroupEdge]) -> CheapestWay:
        return cheapest_way(self.steps.states, edges, self._find_out, self._goes_on, self._choose)

    @property
    def _choose(self) -> Choose | None:
        """Chooses groups as a whole, where the network is too wild for states."""
        cover = self.steps.cover
        return None if cover is None else lambda cost: cover.cheapest(cost, self._seconds_left)

    def _in_rounds(self) -> tuple[CheapestWay, CheapestWay]:
        """The cheapest way, and the cheapest one where nothing stays between groups. As long as time for the whole is
        left, groups that were not searched to the end are searched again, so much longer each time."""
        apart = [edge for edge in self.steps.edges if edge.keeps_nothing]
        stays = bool(self.residency.candidates)
        way = self._by_size()
        passing = self._cheapest(apart) if stays else way
        while not self.interrupted and 0 < self._seconds_left < math.inf and _is_open(way):
            if not sum(kind.reopen() for kind in self.steps.kinds):
                break
            self._longer *= LONGER
            self.steps.tell()
            way = self._by_size()
            passing = way
        return way, self._cheapest(apart) if stays and passing is way else passing

    def _by_size(self) -> CheapestWay:
        """The cheapest way by groups of few operations, then by larger ones as well: what is known of small groups is
        what larger ones have to be better than, and bounds these. Where time is not limited, one step does."""
        groups, edges = self.steps.groups, self.steps.edges
        sizes = sorted({len(groups[edge.step.group].names) for edge in edges})
        if self.steps.is_wild:  # then groups are chosen as a whole
            sizes = sizes[-1:]
        elif self._seconds_left == math.inf:
            sizes = [*sizes[:1], sizes[-1]]
        for most in sizes:
            way = self._cheapest([edge for edge in edges if len(groups[edge.step.group].names) <= most])
        return way

    def _goes_on(self) -> bool:
        """Whether there is time for another group."""
        if self.interrupted:
            raise KeyboardInterrupt
        return self._seconds_left > 0

    @property
    def _seconds_left(self) -> float:
        """For searches: the answer takes some of the time as well, by the steps that it is chosen from."""
        spare = len(self.steps.edges) * ANSWER_SECONDS
        if self.question.total_s is not None and self.residency.candidates:
            spare += min(PLAN_SECONDS, ADDRESS_SHARE * self.question.total_s)
        return self.means.seconds_left - spare

    # ---- groups --------------------------------------------------------------------------------------------

    def _find_out(self, asked: Sequence[Asked]) -> None:
        """Find out what groups cost, if that is less than what the rest of the way leaves, and than what other ways to
        do the same cost: begin as many searches as there can be at once, and wait for one of them."""
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
        edges = [(edge, below) for edge, below in asked if isinstance(edge, GroupEdge)]
        times = Counter(id(edge.kind) for edge, _ in edges)

        def lift(one: tuple[GroupEdge, float]) -> tuple[float, float]:
            edge, _ = one
            if self.steps.is_wild:
                return 0.0, edge.bound
            more = min(edge.value, self.steps.another_way(edge)) - edge.bound
            return math.inf if more <= 0 else more * times[id(edge.kind)], edge.bound

        return sorted(edges, key=lift, reverse=True)

    def _another_way(self, edge: GroupEdge) -> float:
        """What other ways to do the same as a group cost."""
        return self.steps.another_way(edge) if len(self.steps.groups[edge.step.group].names) > 1 else math.inf

    def _is_found_out(self, edge: GroupEdge) -> bool:
        """Whether something is found out of a group without a search. Where it cannot be less than other ways to do the
        same, it is left aside for good."""
        if edge.bound >= self._another_way(edge) * (1 - RELATIVE_TOLERANCE):
            edge.bound, edge.value, edge.is_known = math.inf, math.inf, True
            return True
        return self._is_bounded_closer(edge)

    def _is_bounded_closer(self, edge: GroupEdge) -> bool:
        """Whether the bound of a group is raised by what its operations cost one by one: once for each kind."""
        kind = edge.kind
        if kind is None or kind.floor is not None or len(kind.cascade.operations) == 1:
            return False
        before, kind.floor = edge.bound, bound_by_singles(self._bounded(kind), self._singles)
        self.steps.tell([kind])
        return edge.bound > before * (1 + RELATIVE_TOLERANCE)

    def _search_all(self, edges: Iterable[GroupEdge]) -> None:
        """Find out what groups cost, whatever that is."""
        waiting = deque(edges)
        while waiting or self.running:
            while waiting and len(self.running) < self.solvers.at_once():
                self._begin(waiting.popleft(), math.inf)
            self._take_finished()

    def _begin(self, edge: GroupEdge, below: float) -> None:
        """Begin to find out what a group costs; KeyboardInterrupt once someone wants the search to end."""
        kind, taken = edge.kind, edge.step.passing
        if self.interrupted:
            raise KeyboardInterrupt
        if kind is None or edge.is_known or kind.is_known(taken, self.residency):
            return
        if any(one.kind is kind and one.taken == taken for one in self.running.values()):
            return
        with self._noting_interrupts():
            self.running[self.solvers.begin(self._asked(kind, taken, below))] = Begun(kind, taken, below)

    def _take_finished(self) -> None:
        """What the searches found that end next."""
        with self._noting_interrupts():
            finished = wait(self.running, return_when=FIRST_COMPLETED).done
        for future in finished:
            self._take(self.running.pop(future), future.result())

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
        if isinstance(outcome, InfeasibleError | UndecidedError):
            kind.refused = outcome
            finding = Finding(taken, begun.below, math.inf if isinstance(outcome, InfeasibleError) else 0.0)
        else:
            finding = self._found(kind, taken, begun.below, outcome)
        if not finding.is_over and finding.bound <= kind.bound(taken) * (1 + RELATIVE_TOLERANCE):
            finding = replace(finding, is_over=True)  # asking again would find out no more
        kind.findings.append(finding)
        self.searched += 1
        self.steps.tell([kind])
        if self.progress is not None:
            self.progress(self.searched, sum(not other.findings for other in self.steps.kinds))

    def _bounded(self, kind: GroupKind) -> CascadeQuestion:
        """The question about a group with all the room that there is, for bounds on it."""
        limits = self.question.limits
        if self._seconds_left < math.inf:
            seconds = math.inf if limits.time_s is None else limits.time_s
            limits = replace(limits, time_s=max(LEAST_SECONDS, min(seconds, self._seconds_left)))
        return replace(self.question.of_group(kind.cascade), stays=kind.stays, limits=limits)

    def _limits(self) -> Limits:
        """Of the search of one group, within the time that is left for all."""
        limits, total = self.question.limits, self.question.total_s
        if total is None:
            return limits
        seconds = self._longer * min(total * FIRST_SHARE, math.inf if limits.time_s is None else limits.time_s)
        return replace(limits, time_s=max(LEAST_SECONDS, min(seconds, self._seconds_left)))

    def _asked(self, kind: GroupKind, taken: Taken, below: float) -> CascadeQuestion:
        """The question about a group with the room that is left, and the time."""
        asked, machine = self.question.of_group(kind.cascade), self.residency.less(self.question.arch, taken)
        known = kind.floor or 0.0
        return replace(asked, arch=machine, stays=kind.stays, below=below, floor=known, limits=self._limits())

    def _found(self, kind: GroupKind, taken: Taken, below: float, answer: FusedAnswer | NothingBelow) -> Finding:
        """What an answer says of a kind. Where tiles fit by their sum, and no addresses for them are found, it is no
        answer, and what it costs remains a bound."""
        if isinstance(answer, NothingBelow):
            return Finding(taken, below, answer.bound, is_over=answer.bound < below * (1 - RELATIVE_TOLERANCE))
        proof = answer.certificate
        self.interrupted = self.interrupted or proof.interrupted
        try:
            for arena in arenas_of(answer.cost, self.question.arch, self._means_of_plans()):
                if not arena.plan.fits:
                    raise NoPlanError(f"no addresses were found for its tiles in {arena.memory}")
        except NoPlanError as error:
            kind.refused = NoPlanError(error.message, where=kind.cascade.name, hint=error.hint)
            return Finding(taken, below, proof.lower_bound)
        return Finding(taken, below, proof.lower_bound, proof.value, answer, used_by(answer.cost, self.residency))

    def _means_of_plans(self) -> Means:
        return self.means.at_most(PLAN_SECONDS)

    def _bound_groups(self) -> None:
        """A bound for every kind that has not been searched to its end."""
        nearest: Nearest = {}
        for kind in self.steps.kinds:
            if self._seconds_left <= 0:  # what has none is bounded by nothing, which is true
                break
            if all(one.bound < one.value * (1 - RELATIVE_TOLERANCE) for one in kind.findings):
                kind.least = bound_cascade(self._bounded(kind), nearest)

    # ---- the answer ----------------------------------------------------------------------------------------

    def _apart(self) -> Apart | None:
        """Each operation on its own; None where that is not known of all."""
        kinds = [edge.kind for edge in self.steps.alone() if edge.kind is not None]
        found = [_apart(finding.answer) for kind in kinds for finding in kind.findings[:1] if finding.answer]
        return _sum(found) if len(found) == len(kinds) else None

    def _passing(self, way: CheapestWay) -> Apart | None:
        """The best where nothing stays between groups."""
        answers = [self.steps.answer(edge) for edge in way.edges if isinstance(edge, GroupEdge)]
        costs = [answer.cost for answer in answers if answer is not None]
        if not way.edges:
            return None
        energy, latency = sum(cost.energy_pj for cost in costs), sum(cost.latency_cycles for cost in costs)
        return Apart(energy, latency, sum(map(outer_words, costs)), way.value, min(way.bound, way.value))

    def _certificate(self, way: CheapestWay) -> Certificate:
        question = self.question
        met = way.bound >= way.value * (1 - RELATIVE_TOLERANCE)
        groups = f"groups of up to {question.most} operations" if question.fuse != "none" else "nothing fused"
        told = (groups, *self._told_of_groups())
        return Certificate(
            objective=question.objective.name,
            tiling=question.tiling,
            value=way.value,
            lower_bound=way.value if met else way.bound,
            space_size=None,
            placements=0,
            evaluated=self.searched,
            pruned={"bound": sum(not kind.findings for kind in self.steps.kinds)},
            seconds=time.perf_counter() - self.started,
            space=question.space,
            constraints=told,
            interrupted=self.interrupted,
        )

    def _told_of_groups(self) -> tuple[str, ...]:
        """What searches of groups say of the trees that their proofs are of: these bounds are among the network's."""
        answers = [one.answer for kind in self.steps.kinds for one in kind.findings if one.answer is not None]
        lines = [line.partition(":")[0] for answer in answers for line in answer.certificate.constraints]
        return tuple(dict.fromkeys(line for line in lines if not line.startswith("nothing fused")))

    def _nothing_found(self) -> BaseException:
        """Why there is no way: an operation that fits in no group."""
        for edge in self.steps.alone():
            kind = edge.kind
            if kind is not None and kind.refused is not None and edge.value == math.inf:
                error, where = kind.refused, self.steps.groups[edge.step.group].names[0]
                return type(error)(f"{where}: {error.message}", where=error.where, hint=error.hint)
        return KeyboardInterrupt()


def _is_open(way: CheapestWay) -> bool:
    """Whether something better than a way may be found still."""
    return way.bound < way.value * (1 - RELATIVE_TOLERANCE)


def _apart(answer: FusedAnswer) -> Apart:
    """What one occurrence costs with nothing fused, of which a softmax or a norm has several operations."""
    one = answer.unfused
    if one is not None:
        proof = one.certificate
        return Apart(one.energy_pj, one.latency_cycles, one.outer_words, proof.value, proof.lower_bound)
    cost, proof = answer.cost, answer.certificate
    return Apart(cost.energy_pj, cost.latency_cycles, outer_words(cost), proof.value, proof.lower_bound)


def _sum(every: Sequence[Apart]) -> Apart:
    return Apart(
        sum(one.energy_pj for one in every),
        sum(one.latency_cycles for one in every),
        sum(one.outer_words for one in every),
        sum(one.value for one in every),
        sum(one.lower_bound for one in every),
    )
