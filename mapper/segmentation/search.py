"""The best segmentation of a network: which of its operations are mapped together.

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
from dataclasses import dataclass, field, replace

from ...arch import Architecture
from ...cost_models import ENERGY, LATENCY, Objective
from ...cost_models.cascades import evaluate_tree
from ...ir import Cascade, InfeasibleError, NoPlanError, TilewrightError, UndecidedError
from ...workloads.graph import NetworkGraph, OperationGroup, operation_groups
from ..cascades import CascadeQuestion, Fuse, bound_cascade
from ..cascades.oracle import objective_of
from ..cascades.regions import Line, least_value
from ..cascades.weights import Weights, weights_of
from ..certificate import RELATIVE_TOLERANCE, Certificate
from ..fusing import FusedAnswer, answer_cascade, outer_words
from ..means import Means
from ..memory_plan import MemoryPlan
from ..question import DEFAULT_LIMITS, Limits
from ..space import Space
from ..tilings import Tiling
from .arenas import Arena, arenas_of, over_the_run
from .equal import form_of, under_names_of
from .lazy_path import CheapestWay, Edge, cheapest_way

MOST = 4
"""Operations of a group, unless told otherwise."""

PLAN_SECONDS = 5.0
"""For the addresses of one group's tiles in one memory."""

Solve = Callable[[CascadeQuestion], FusedAnswer]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class NetworkQuestion:
    """One search over segmentations, with everything resolved.

    graph          of the network
    arch           the machine
    objective      a weighted sum of energy and latency, or a product of powers of them: edp, ed2p
    tiling, space  of the mappings to choose from
    fuse           `all`, `whole` or `none`, as for cascades
    most           operations that a group has at most
    limits         of the search of each group
    """

    graph: NetworkGraph
    arch: Architecture
    objective: Objective
    tiling: Tiling
    space: Space = "even"
    fuse: Fuse = "all"
    most: int = MOST
    limits: Limits = DEFAULT_LIMITS

    def of_group(self, cascade: Cascade) -> CascadeQuestion:
        """The question about one group."""
        return CascadeQuestion(
            cascade, self.arch, self.objective, self.tiling, self.space, self.fuse, limits=self.limits
        )


@dataclass(frozen=True)
class Segment:
    """One group of the best segmentation.

    names   of its operations, in the order of the network
    answer  its best tree, cost and certificate; None: made in a way that is no operation here, and not counted
    arenas  addresses of its tiles in every bounded memory
    alike   the number of the first segment that differs from it in names alone; its own, where there is none before it
    """

    names: tuple[str, ...]
    answer: FusedAnswer | None
    arenas: tuple[Arena, ...]
    alike: int


@dataclass(frozen=True)
class Apart:
    """A network with each operation on its own.

    energy_pj, latency_cycles  of the whole run
    outer_words                that the outermost memory reads and writes
    value, lower_bound         of the objective, and what is proven of it
    """

    energy_pj: float
    latency_cycles: float
    outer_words: int
    value: float
    lower_bound: float


@dataclass(frozen=True)
class NetworkAnswer:
    """What a search over segmentations comes to.

    question     that was asked
    segments     of the network, in its order
    apart        what it costs with nothing fused; None where that is not known of every operation
    certificate  what is proven of the whole
    groups       that a segmentation may have
    searched     different ones that were searched
    """

    question: NetworkQuestion
    segments: tuple[Segment, ...]
    apart: Apart | None
    certificate: Certificate
    groups: int
    searched: int

    @property
    def answers(self) -> tuple[FusedAnswer, ...]:
        """Of all segments that are counted."""
        return tuple(segment.answer for segment in self.segments if segment.answer is not None)

    @property
    def energy_pj(self) -> float:
        """Of the whole run."""
        return sum(answer.cost.energy_pj for answer in self.answers)

    @property
    def latency_cycles(self) -> float:
        """Of the whole run."""
        return sum(answer.cost.latency_cycles for answer in self.answers)

    @property
    def outer_words(self) -> int:
        """Words that the outermost memory reads and writes."""
        return sum(outer_words(answer.cost) for answer in self.answers)

    @property
    def arenas(self) -> dict[tuple[str, tuple[str, ...]], MemoryPlan]:
        """By memory and the roles that its part is for, the addresses of all tiles over the run; a moment is the place
        of an operation among all that are done."""
        found: dict[tuple[str, tuple[str, ...]], list[tuple[int, str, Arena]]] = {}
        moment = 0
        for number, one in enumerate(self.segments, 1):
            for arena in one.arenas:
                found.setdefault((arena.memory, arena.roles), []).append((moment, f"{number}.", arena))
            moment += 0 if one.answer is None else len(one.answer.cost.occupancy)
        return {part: over_the_run(arenas) for part, arenas in found.items()}

    @property
    def saves(self) -> float | None:
        """The part of the objective that fusing saves; None where there is nothing to compare with."""
        if self.apart is None:
            return None
        return max(0.0, 1 - self.certificate.value / self.apart.value) if self.apart.value else 0.0


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
class _Segmenting:
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


def segment(
    question: NetworkQuestion, solve: Solve = answer_cascade, progress: Progress | None = None
) -> NetworkAnswer:
    """The best segmentation of a network, and the best tree of each of its groups.

    solve     answers a question about one group: from a store, if need be
    progress  called with how many groups have been searched, and how many more there may be at most

    Ctrl-C ends it with the best segmentation of what is known by then.

    Raises InfeasibleError where an operation fits in no group, UndecidedError where that is not known in time, and
    TilewrightError for objectives that neither add up over groups nor are products of energy and latency.
    """
    objective = question.objective
    if weights_of(objective) is not None:
        return _Segmenting(question, solve, progress).run()
    if objective.name in ("edp", "ed2p"):
        return _Product(question, solve, progress).run()
    raise TilewrightError(
        f"objective {objective.name} is not known for networks",
        hint="use energy, latency, edp, ed2p, or a weighted sum such as 'energy + 100 * latency'",
    )


@dataclass
class _Product:
    """A search for the least product of powers of energy and latency: it lies at a corner of the convex hull of all
    segmentations' (energy, latency), and corners are least weighted sums (`mapper/cascades/search.py`)."""

    question: NetworkQuestion
    solve: Solve
    progress: Progress | None
    corners: list[NetworkAnswer] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    def run(self) -> NetworkAnswer:
        """The best corner, and what is proven of it."""
        started = time.perf_counter()
        least, fastest = self._least(ENERGY), self._least(LATENCY)
        if not self._interrupted:
            self._between(least, fastest)
        best = min(self.corners, key=self._value)
        value = self._value(best)
        bound = min(value, least_value(self.lines, self.question.objective.value, math.inf, math.inf))
        proof = replace(
            best.certificate,
            objective=self.question.objective.name,
            value=value,
            lower_bound=value if bound >= value * (1 - RELATIVE_TOLERANCE) else bound,
            evaluated=sum(corner.searched for corner in self.corners),
            seconds=time.perf_counter() - started,
            interrupted=self._interrupted,
        )
        return replace(best, question=self.question, certificate=proof, apart=self._apart(), searched=proof.evaluated)

    @property
    def _interrupted(self) -> bool:
        return any(corner.certificate.interrupted for corner in self.corners)

    def _value(self, corner: NetworkAnswer) -> float:
        return self.question.objective.value(corner.energy_pj, corner.latency_cycles)

    def _least(self, objective: Objective) -> NetworkAnswer:
        weights = weights_of(objective)
        assert weights is not None
        corner = _Segmenting(replace(self.question, objective=objective), self.solve, self.progress).run()
        self.corners.append(corner)
        self.lines.append((weights, corner.certificate.lower_bound))
        return corner

    def _between(self, left: NetworkAnswer, right: NetworkAnswer) -> None:
        """All corners between two of them that may be better than what is known."""
        best = min(map(self._value, self.corners)) * (1 - RELATIVE_TOLERANCE)
        energies, latencies = (left.energy_pj, right.energy_pj), (left.latency_cycles, right.latency_cycles)
        costs_more = energies[1] > energies[0] * (1 + RELATIVE_TOLERANCE)
        is_faster = latencies[1] < latencies[0] * (1 - RELATIVE_TOLERANCE)
        if not costs_more or not is_faster or self.question.objective.value(energies[0], latencies[1]) >= best:
            return
        weights = Weights(1.0, (energies[1] - energies[0]) / (latencies[0] - latencies[1]))
        found = self._least(objective_of(weights))
        on_line = weights.of(energies[0], latencies[0]) * (1 - RELATIVE_TOLERANCE)
        if weights.of(found.energy_pj, found.latency_cycles) < on_line and not self._interrupted:
            self._between(left, found)
            self._between(found, right)

    def _apart(self) -> Apart | None:
        """The best with nothing fused among the corners: bounded below by what is proven of them."""
        found = [
            (corner.apart, weights)
            for corner, (weights, _) in zip(self.corners, self.lines, strict=True)
            if corner.apart is not None
        ]
        if not found:
            return None
        product = self.question.objective.value
        best = min((one for one, _ in found), key=lambda one: product(one.energy_pj, one.latency_cycles))
        lines = [(weights, one.lower_bound) for one, weights in found]
        value = product(best.energy_pj, best.latency_cycles)
        return replace(best, value=value, lower_bound=min(value, least_value(lines, product, math.inf, math.inf)))
