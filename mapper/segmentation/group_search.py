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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ...ir.units import plural
from ..certificate import Certificate, PartProof
from ..effort import PLAN_EFFORT
from ..kernel.tolerance import is_better, or_value
from ..means import Means
from .group_costs import GroupCosts
from .group_edges import GroupEdge
from .lagrangian_path import LagrangianPath
from .lazy_path import CheapestWay, Choose, bound_of, cheapest, cheapest_way, value_of
from .left_aside import least_of_groups
from .question import Apart, NetworkAnswer, NetworkQuestion, lost_words, total, totals_of
from .searching import GroupSolvers
from .segments import Segments
from .steps import NetworkSteps

BY_THEMSELVES = "plans of trees that are best by themselves, or with their weights there"
"""Of which more is proven than of all, where weights are fetched ahead."""


@dataclass
class GroupSearch:
    """One search.

    solvers   search groups
    known     the steps, by this objective, where these have been looked at before
    """

    question: NetworkQuestion
    solvers: GroupSolvers
    known: NetworkSteps | None = None

    def __post_init__(self) -> None:
        self.started = time.perf_counter()
        self.means = Means.from_now(self.question.total_s, self.question.limits.memory_bytes)
        self.steps = self.known or NetworkSteps(self.question, self.means)
        self.residency = self.steps.residency
        self.costs = GroupCosts(self.question, self.solvers, self.steps, self.means)
        self._until = 0.0

    def run(self) -> NetworkAnswer:
        """The best segmentation, and what is proven of it."""
        try:
            return self._run()
        finally:
            self.costs.drop()

    def find(self) -> CheapestWay:
        """The best way alone, whose tiles may have no addresses; without edges where none is known."""
        try:
            return self._find()[0]
        finally:
            self.costs.drop()

    def _find(self) -> tuple[CheapestWay, CheapestWay]:
        """Return the best path, and the best path in which nothing stays between groups."""
        alone = self.steps.alone()
        try:
            self.costs.doing = "each operation on its own"
            if self.means.limits_time:
                self.costs.know_unsearched(alone)
                self.costs.learn(sum(edge.value for edge in alone))
                self.costs.bound_all(PLAN_EFFORT.share)  # says how good the first plan is
                self.steps.tell()
                self._know_what_stays()
            self.costs.search_all(edge for edge in alone if edge.value == math.inf or not self.means.limits_time)
            self.costs.learn(sum(edge.value for edge in alone))
            self.costs.bound_all()
            self.costs.doing = "groups"
        except KeyboardInterrupt:
            self.costs.interrupted = True
        self.steps.tell()
        return self._in_rounds()

    def _run(self) -> NetworkAnswer:
        steps = self.steps
        way, passing = self._find()
        if not way.edges:
            raise self._nothing_found()
        found = Segments(steps, way, self.means)
        return NetworkAnswer(
            self.question,
            found.segments,
            self._apart(),
            self._certificate(found.way),
            len(steps.groups),
            self.costs.searched,
            found.staying,
            self._passing(passing) if any(not one.is_weight for one in found.staying) else None,
            steps.in_order,
            steps.all_pass,
            least_pj=steps.least_energies(),
            least_of_groups=least_of_groups(steps, PLAN_EFFORT.least),
        )

    def _cheapest(self, edges: Sequence[GroupEdge]) -> CheapestWay:
        def learn(value: float, bound: float) -> None:
            self.costs.learn(value, bound if edges is self.steps.edges else 0.0)

        find_out, choose, is_limited = self.costs.find_out, self._choose(edges), self.means.limits_time
        return cheapest_way(self.steps.states, edges, find_out, self._goes_on, choose, learn, is_limited)

    def _choose(self, edges: Sequence[GroupEdge]) -> Choose | None:
        """Chooses groups as a whole, where the network is too wild for states; or with the weights that have room; or
        by what is fetched ahead."""
        cover, room = self.steps.cover, self.steps.weights.most
        found: Choose | None = None if room is None else LagrangianPath(self.steps.states, edges, room).cheapest
        if cover is not None:
            found = lambda cost: cover.cheapest(cost, self.costs.seconds_left)  # noqa: E731
        return self.steps.ahead.choose(found, edges) if self.steps.ahead.worth else found

    def _in_rounds(self) -> tuple[CheapestWay, CheapestWay]:
        """Return the cheapest path, and the cheapest in which nothing stays. While time is left, groups whose searches
        were cut short are searched again, for longer each time."""
        apart = [edge for edge in self.steps.edges if edge.keeps_nothing]
        stays = bool(self.residency.candidates)
        if stays:
            single = [edge for edge in self.steps.edges if len(self.steps.groups[edge.step.group].names) == 1]
            with self._at_most(PLAN_EFFORT.share):
                self._cheapest(single)
        self._small_groups(apart)
        way = self._cheapest(self.steps.edges)
        if stays:
            with self._at_most(PLAN_EFFORT.share):
                self._cheapest(apart)
        while not self.costs.interrupted and 0 < self.costs.seconds_left < math.inf and _is_open(way):
            if not sum(kind.reopen() for kind in self.steps.kinds):
                break
            self.costs.longer *= PLAN_EFFORT.longer
            self.steps.tell()
            way = self._cheapest(self.steps.edges)
        with self._at_most(PLAN_EFFORT.share):
            self.costs.doing = "each operation on its own, for longer"
            self._alone_for_longer()
        return way, self._cheapest(apart) if stays else way

    def _know_what_stays(self) -> None:
        """Know a plan of single operations between which tensors stay on chip, and a bound, without a search."""
        if not self.steps.is_wild:
            self.costs.learn(math.inf, self._least(self.steps.edges))
        if self.residency.candidates and not self.steps.is_wild:
            single = [edge for edge in self.steps.edges if len(self.steps.groups[edge.step.group].names) == 1]
            _, way = cheapest(self.steps.states, single, bound_of)
            self.costs.know_unsearched(edge for edge in way if isinstance(edge, GroupEdge))
            self.costs.learn(cheapest(self.steps.states, single, value_of)[0])

    def _least(self, edges: Sequence[GroupEdge]) -> float:
        """Return what no path costs less than."""
        choose = self._choose(edges)
        return cheapest(self.steps.states, edges, bound_of)[0] if choose is None else choose(bound_of).least

    def _alone_for_longer(self) -> None:
        """Search operations on their own again that were not searched to the end: they say what fusing saves."""
        try:
            while self.costs.seconds_left < math.inf and self._goes_on():
                alone = self.steps.alone()
                for edge in alone:
                    if edge.kind is not None:
                        edge.kind.reopen()
                self.steps.tell()
                edges = [edge for edge in alone if not edge.is_known]
                if not edges:
                    break
                self.costs.longer *= PLAN_EFFORT.longer
                self.costs.search_all(edges)
        except KeyboardInterrupt:
            self.costs.interrupted = True

    def _small_groups(self, edges: Sequence[GroupEdge]) -> None:
        """Find the cheapest path with groups of few operations first, then with larger groups, which are searched only
        for values below those of the smaller groups: the path that bounds prefer is of the largest, whose best trees
        are found last. It has a part of the time, if that is limited.

        edges  between which nothing stays: of others there are too many kinds for it
        """
        groups = self.steps.groups
        if self.steps.is_wild or self.question.total_s is None:  # in a wild one groups are chosen as a whole
            return
        self.costs.longer = 1 / PLAN_EFFORT.longer
        with self._at_most(PLAN_EFFORT.share):
            for most in sorted({len(groups[edge.step.group].names) for edge in edges})[:-1]:
                self._cheapest([edge for edge in edges if len(groups[edge.step.group].names) <= most])
        many_kinds = bool(self.residency.candidates)
        self.costs.longer = PLAN_EFFORT.longer if many_kinds else PLAN_EFFORT.longer**2
        for kind in self.steps.kinds:
            kind.reopen()
        self.steps.tell()

    @contextmanager
    def _at_most(self, share: float) -> Iterator[None]:
        """With no more than a part of all the time."""
        total = self.question.total_s
        self._until = 0.0 if total is None else self.costs.seconds_left - share * total
        yield
        self._until = 0.0

    def _goes_on(self) -> bool:
        """Whether there is time for another group."""
        if self.costs.interrupted:
            raise KeyboardInterrupt
        return self.costs.seconds_left > max(0.0, self._until)

    def _apart(self) -> Apart | None:
        """Each operation on its own; None where that is not known of all."""
        edges = self.steps.alone()
        found = [one for one in map(self._apart_of, edges) if one is not None]
        if len(found) < len(edges):
            return None
        together, ahead = _sum(found), self.steps.ahead
        findings = [one for edge in edges if edge.kind is not None for one in edge.kind.findings]
        if not ahead.memories or any(one.answer is not None and one.answer.unfused for one in findings):
            return together  # what comes ahead of a softmax that is not fused is not known
        saved = total(ahead.saved(one.saved) for one in ahead.along(edges))
        least = ahead.least_along(edges) if ahead.worth else together.lower_bound
        energy, latency = together.energy_pj - saved.energy_pj, together.latency_cycles - saved.latency_cycles
        value = together.value - ahead.worth * saved.latency_cycles
        return replace(together, energy_pj=energy, latency_cycles=latency, value=value, lower_bound=min(least, value))

    def _apart_of(self, edge: GroupEdge) -> Apart | None:
        """One occurrence with nothing fused: its best mapping; of a softmax or a norm, which has several operations,
        what the first search of it has compared with."""
        kind = edge.kind
        if kind is None:
            return Apart(*edge.moves, edge.value, edge.bound)
        told = (one.answer.unfused for one in kind.findings if one.answer and one.taken == edge.taken)
        one = next((unfused for unfused in told if unfused is not None), None)
        if one is not None:  # of a softmax or a norm, which are done once
            proof = one.certificate
            return Apart(one.energy_pj, one.latency_cycles, one.outer_words, proof.value, proof.lower_bound)
        best = kind.best(edge.taken, self.residency)
        if best is None or best.answer is None:
            return None
        bound = min(best.value, kind.bound(edge.taken))
        return Apart(*totals_of(best.answer.cost, edge.times), edge.times * best.value, edge.times * bound)

    def _passing(self, way: CheapestWay) -> Apart | None:
        """The best where nothing stays between groups."""
        if not way.edges:
            return None
        saved = (self.steps.ahead.saved(one.saved) for one in self.steps.ahead.along(way.edges))
        totals = self.steps.totals(way.edges).less(total(saved))
        return Apart(*totals, way.value, min(way.bound, way.value))

    def _certificate(self, way: CheapestWay) -> Certificate:
        question = self.question
        groups = f"groups of up to {plural(question.most, 'operation')}" if question.fuse != "none" else "nothing fused"
        without = question.uncounted.names
        rest = (f"without {', '.join(without)}, which no group has",) if without else ()
        lost, into = lost_words(self.costs.lost), ", ".join(one.name for one in self.steps.ahead.memories)
        ahead = (f"weights of the next group fetched ahead into {into}",) if into else ()
        told = (groups, *map(str, question.weights_in), *ahead, *rest, *self._told_of_groups(), *lost)
        hoped = self.steps.ahead.hoped
        return Certificate(
            objective=question.objective.name,
            tiling=question.tiling,
            value=way.value,
            lower_bound=or_value(way.bound, way.value),
            space_size=None,
            placements=0,
            evaluated=self.costs.searched,
            pruned={"bound": sum(not kind.is_searched for kind in self.steps.kinds)},
            seconds=time.perf_counter() - self.started,
            space=question.space,
            constraints=told,
            interrupted=self.costs.interrupted,
            parts=(PartProof(BY_THEMSELVES, min(way.value, hoped)),) if hoped > way.bound else (),
        )

    def _told_of_groups(self) -> tuple[str, ...]:
        """Collect the constraints of the trees that the proofs of groups are of: the bounds of the groups are among the
        network's."""
        answers = [one.answer for kind in self.steps.kinds for one in kind.findings if one.answer is not None]
        lines = [line.partition(":")[0] for answer in answers for line in answer.certificate.constraints]
        return tuple(dict.fromkeys(line for line in lines if not line.startswith("nothing fused")))

    def _nothing_found(self) -> BaseException:
        """Why there is no way: an operation that fits in no group."""
        for edge in self.steps.alone():
            kind = edge.kind
            if kind is not None and kind.refused is not None and edge.value == math.inf:
                error, where = kind.refused, self.steps.groups[edge.step.group].names[0]
                hint = self.steps.weights.hint() or error.hint
                return type(error)(f"{where}: {error.message}", where=error.where, hint=hint)
        return KeyboardInterrupt()


def _is_open(way: CheapestWay) -> bool:
    """Whether something better than a way may be found still."""
    return is_better(way.bound, way.value)


def _sum(every: Sequence[Apart]) -> Apart:
    return Apart(
        sum(one.energy_pj for one in every),
        sum(one.latency_cycles for one in every),
        sum(one.outer_words for one in every),
        sum(one.value for one in every),
        sum(one.lower_bound for one in every),
    )
