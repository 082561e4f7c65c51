"""The segmentation of least energy, latency, or weighted sum of the two.

The space: the operations in the order of the network; cut into groups of a few that stand one after the other, where
every tensor that passes inside a group is read there alone (`workloads/graph/groups.py`); each group mapped as the best
tree of `mapper/cascades`; between groups every tensor passes through the outermost memory. Energies and latencies of
groups add up, so the best segmentation is the cheapest way from the first operation to the last one, with a group as a
step (`lazy_path.py`). A group costs no less than what its operations weigh with all of their tensors in the nearest
memory and endless room there; only groups that could lie on the cheapest way are searched. Groups that differ in names
alone are searched once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...cost_models.cascades import evaluate_tree
from ...ir import Cascade, InfeasibleError, NoPlanError, TilewrightError, UndecidedError
from ...workloads.graph import OperationGroup, operation_groups
from ..cascades import CascadeQuestion, bound_cascade
from ..certificate import RELATIVE_TOLERANCE, Certificate
from ..fusing import FusedAnswer, outer_words
from ..means import Means
from .arenas import arenas_of
from .equal import form_of, under_names_of
from .lazy_path import CheapestWay, Edge, cheapest_way
from .question import Apart, NetworkAnswer, NetworkQuestion, Segment

PLAN_SECONDS = 5.0
"""For the addresses of one group's tiles in one memory."""

Solve = Callable[[CascadeQuestion], FusedAnswer]
Progress = Callable[[int, int], None]


@dataclass
class _GroupKind:
    """Groups that differ in names alone.

    cascade  the first of them; None: no operation
    bound    none of their mappings weighs less
    value    what the best one that is known weighs; infinite where none is
    answer   that mapping
    is_known whether no more will be found out
    refused  why there is none
    """

    cascade: Cascade | None
    bound: float = 0.0
    value: float = math.inf
    answer: FusedAnswer | None = None
    is_known: bool = False
    refused: TilewrightError | None = None


@dataclass
class GroupSearch:
    """One search.

    solve     answers a question about one group
    progress  called with how many groups have been searched, and how many more there may be at most
    """

    question: NetworkQuestion
    solve: Solve
    progress: Progress | None
    groups: Sequence[OperationGroup] = ()
    searched: int = 0
    interrupted: bool = False

    def __post_init__(self) -> None:
        self.started = time.perf_counter()
        most = 1 if self.question.fuse == "none" else self.question.most
        self.groups = operation_groups(self.question.graph, most)
        kinds: dict[object, _GroupKind] = {}
        self.kind_of = {
            number: kinds.setdefault(form_of(group.cascade), _GroupKind(group.cascade))
            for number, group in enumerate(self.groups)
            if group.cascade is not None
        }
        self.kinds = list(kinds.values())
        self.alone = [number for number, group in enumerate(self.groups) if len(group.names) == 1]

    def run(self) -> NetworkAnswer:
        """The best segmentation, and what is proven of it."""
        edges = [Edge(group.start, group.end, 0.0) for group in self.groups]
        numbers = {id(edge): number for number, edge in enumerate(edges)}

        def find_out(edge: Edge) -> None:
            self._search(self.kind_of[numbers[id(edge)]])
            self._tell(edges)

        try:
            for number in self.alone:
                if number in self.kind_of:
                    self._search(self.kind_of[number])
            self._bound_groups()
        except KeyboardInterrupt:
            self.interrupted = True
        self._tell(edges)
        way = cheapest_way(len(self.alone) + 1, edges, find_out)
        if not way.edges:
            raise self._nothing_found()
        segments = self._segments([numbers[id(edge)] for edge in way.edges])
        return NetworkAnswer(
            self.question, segments, self._apart(), self._certificate(way), len(self.groups), self.searched
        )

    # ---- groups --------------------------------------------------------------------------------------------

    def _search(self, kind: _GroupKind) -> None:
        """Find out what groups of a kind cost; KeyboardInterrupt once someone wants the search to end."""
        if self.interrupted:
            raise KeyboardInterrupt
        if kind.is_known or kind.cascade is None:
            return
        try:
            answer = self.solve(self.question.of_group(kind.cascade))
            kind.bound = answer.certificate.lower_bound
            self.interrupted = answer.certificate.interrupted
            self._check_addresses(kind.cascade, answer)
            kind.answer, kind.value = answer, answer.certificate.value
        except InfeasibleError as error:
            kind.bound, kind.refused = math.inf, error
        except (UndecidedError, NoPlanError) as error:
            kind.refused = error
        except KeyboardInterrupt:
            self.interrupted = True
            raise
        kind.is_known = True
        self.searched += 1
        if self.progress is not None:
            self.progress(self.searched, sum(not other.is_known for other in self.kinds))

    def _check_addresses(self, cascade: Cascade, answer: FusedAnswer) -> None:
        """NoPlanError where tiles fit by their sum, and no addresses for them are found: such a mapping is no answer,
        and what it costs remains a bound."""
        for arena in arenas_of(answer.cost, self.question.arch, self._means_of_plans()):
            if not arena.plan.fits:
                raise NoPlanError(f"no addresses were found for its tiles in {arena.memory}", where=cascade.name)

    def _means_of_plans(self) -> Means:
        return Means.from_now(PLAN_SECONDS, self.question.limits.memory_bytes)

    def _bound_groups(self) -> None:
        """A bound for every kind of several operations; those that cannot be better than each alone are known then."""
        for number, group in enumerate(self.groups):
            kind = self.kind_of.get(number)
            if kind is None or kind.cascade is None or kind.is_known or kind.bound:
                continue
            kind.bound = bound_cascade(self.question.of_group(kind.cascade))
            values = (self.kind_of[one].value for one in self.alone[group.start : group.end])
            kind.is_known = kind.bound >= sum(values) * (1 - RELATIVE_TOLERANCE)

    def _tell(self, edges: Sequence[Edge]) -> None:
        """What is known of kinds, to the edges."""
        for number, edge in enumerate(edges):
            kind = self.kind_of.get(number, _NO_OPERATION)
            edge.bound, edge.value, edge.is_known = kind.bound, kind.value, kind.is_known

    # ---- the answer ----------------------------------------------------------------------------------------

    def _segments(self, numbers: Sequence[int]) -> tuple[Segment, ...]:
        found: list[Segment] = []
        first: dict[int, int] = {}
        for number in numbers:
            group, kind = self.groups[number], self.kind_of.get(number)
            if kind is None or kind.answer is None or group.cascade is None:
                found.append(Segment(group.names, None, (), len(found)))
                continue
            answer = self._named(kind.answer, group.cascade)
            arenas = arenas_of(answer.cost, self.question.arch, self._means_of_plans())
            found.append(Segment(group.names, answer, arenas, first.setdefault(id(kind), len(found))))
        return tuple(found)

    def _named(self, answer: FusedAnswer, cascade: Cascade) -> FusedAnswer:
        """The answer of a group for one that differs in names alone."""
        if answer.mapping.cascade.operations == cascade.operations:
            return answer.of(cascade)
        mapping = under_names_of(answer.mapping, cascade)
        return replace(answer, mapping=mapping, cost=evaluate_tree(mapping, self.question.arch))

    def _apart(self) -> Apart | None:
        """Each operation on its own; None where that is not known of all."""
        kinds = [self.kind_of[number] for number in self.alone if number in self.kind_of]
        found = [_apart(kind.answer) for kind in kinds if kind.answer is not None]
        return _sum(found) if len(found) == len(kinds) else None

    def _certificate(self, way: CheapestWay) -> Certificate:
        question = self.question
        met = way.bound >= way.value * (1 - RELATIVE_TOLERANCE)
        pruned = {"bound": sum(kind.answer is None and kind.refused is None for kind in self.kinds)}
        told = (f"groups of up to {question.most} operations",) if question.fuse != "none" else ("nothing fused",)
        return Certificate(
            objective=question.objective.name,
            tiling=question.tiling,
            value=way.value,
            lower_bound=way.value if met else way.bound,
            space_size=None,
            placements=0,
            evaluated=self.searched,
            pruned=pruned,
            seconds=time.perf_counter() - self.started,
            space=question.space,
            constraints=told,
            interrupted=self.interrupted,
        )

    def _nothing_found(self) -> BaseException:
        """Why there is no way: an operation that fits in no group."""
        for number in self.alone:
            kind = self.kind_of.get(number)
            if kind is not None and kind.refused is not None and kind.answer is None:
                error, where = kind.refused, self.groups[number].names[0]
                return type(error)(f"{where}: {error.message}", where=error.where, hint=error.hint)
        return KeyboardInterrupt()


_NO_OPERATION = _GroupKind(None, 0.0, 0.0, is_known=True)
"""What is no operation here, and not counted."""


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
