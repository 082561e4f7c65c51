"""The best whole of trees of groups that need not be least of any weighted sum: found, and proven.

What a way to a step and a way from it on cost at least leaves so much for the step: of its trees those matter that cost
no more. Ways are looked at by what their trees cost at least (`front_path.py`); where the best one has trees that are
not known, these are searched (`front_searches.py`), until it has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..kernel.remembered import remembered_by
from ..kernel.tolerance import cutoff_of, or_value, reaches
from ..pareto.front import end_of
from ..pareto.regions import Box, heaviest, least_weight
from ..pareto.supported import limits_of
from ..pareto.weights import ENERGY_ALONE, LATENCY_ALONE, NOTHING, AtLeast, Weights, objective_of
from .corners import Corners
from .front_path import FrontWay, StepChoice, StepWithChoices, TooManyLabels, front_of_ways, is_within, least_of_both
from .front_searches import FrontSearches, Open
from .group_edges import GroupEdge
from .group_fronts import GroupFront, KnownTree
from .kinds import Finding, GroupKind
from .lazy_path import Edge
from .residency import Taken
from .segments import Forbidden

NOT_REACHED = AtLeast(math.inf, math.inf, math.inf)

Usable = Callable[[GroupEdge], bool]
"""Whether ways may have a step."""


def all_steps(_: GroupEdge) -> bool:
    """They may have all."""
    return True


@dataclass
class FrontWays:
    """One search among the states that corners were looked for in.

    weights  the sum that says most of what is of interest
    value    of the best way that is known, or what is to be better than; infinite where nothing is
    bound    no way has less of the objective
    edges    of the best way; none where none is known
    """

    corners: Corners
    weights: Weights
    value: float
    bound: float
    interrupted: bool = False
    edges: list[Edge] = field(default_factory=list)

    def __post_init__(self) -> None:
        corners = self.corners
        assert corners.steps is not None, "each corner has weights of its own on chip"
        self.steps = corners.steps
        self.residency = self.steps.residency
        self.searches = FrontSearches(corners.question, corners.solvers, self.residency, corners.means)
        by = [weights for weights, _ in corners.lines]
        every = [GroupFront(kinds, by) for kinds in zip(*corners.searched, strict=True)]
        front_of = {id(kind): front for kind, front in zip(self.steps.kinds, every, strict=True)}
        self._fronts = [front_of.get(id(edge.kind)) for edge in self.steps.edges]
        least: dict[tuple[int, Taken], AtLeast] = {}
        for front, edge in zip(self._fronts, self.steps.edges, strict=True):
            if front is not None and (id(front), edge.taken) not in least:
                least[id(front), edge.taken] = front.least(edge.taken, self.weights)
        self._least = [
            self._moved(edge) if front is None else least[id(front), edge.taken].times(edge.times)
            for front, edge in zip(self._fronts, self.steps.edges, strict=True)
        ]

    def search(self) -> None:
        """Find the best way, and prove it, as far as there is time for it."""
        try:
            self._look(self.value * (1 + 1e-6))  # also a way that is worse by rounding alone
            while not self.corners.means.expired and self._search_once():
                pass
        except TooManyLabels:
            pass
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            self.searches.drop()

    def _search_once(self) -> bool:
        """Search groups on the best way by what is known; whether there is more to search."""
        most = region_of_interest(self.corners, self.weights, self.value)
        if most is None:
            self.bound = self.value
            return False
        value, way = self._best_of(front_of_ways(self.steps.states, self._steps(most, True, all_steps), most))
        self.bound = max(self.bound, min(value, self.value))
        if way is None or reaches(value, self.value):
            return False
        if not self.searches.find_out(what for what in way.whats if isinstance(what, Open)):
            return False
        self._look(self.value)
        return True

    def _look(self, below: float) -> None:
        """Know the best way of known trees, if it is better than a value."""
        value, edges = self.best_known(below=below)
        if edges and value < below:
            self.value, self.edges = value, edges

    def best_known(
        self, usable: Usable = all_steps, forbidden: Forbidden = (), below: float = math.inf
    ) -> tuple[float, list[Edge]]:
        """The best way of known trees, and its value; infinite, and no edges, where there is none.

        usable     which steps it may have
        forbidden  runs of edges that it has not
        below      it has to be better than this

        Raises TooManyLabels.
        """
        most = region_of_interest(self.corners, self.weights, below)
        if most is None:
            return math.inf, []
        value, way = self._best_of(front_of_ways(self.steps.states, self._steps(most, False, usable), most, forbidden))
        return value, [] if way is None else [edge for edge in way.whats if isinstance(edge, Edge)]

    def best_of(self, usable: Usable, forbidden: Forbidden = ()) -> tuple[float, list[Edge]]:
        """Return the best path within the limits, first among those near the incumbent; None where there are too many
        paths to decide."""
        for below in (2 * self.value, math.inf):
            try:
                value, edges = self.best_known(usable, forbidden, below)
            except TooManyLabels:
                break
            if edges:
                return value, edges
        return math.inf, []

    def _best_of(self, ways: Sequence[FrontWay]) -> tuple[float, FrontWay | None]:
        """The least objective of some ways, and the first of those that have it."""
        objective = self.corners.question.objective
        values = [objective.value(way.least.energy, way.least.latency) for way in ways]
        least = min(values, default=math.inf)
        return least, ways[values.index(least)] if least < math.inf else None

    # ---- choices -------------------------------------------------------------------------------------------

    def _steps(self, most: AtLeast, is_open: bool, usable: Usable) -> list[StepWithChoices]:
        """The steps that a way of interest may have, with all their choices.

        is_open  whether trees are among these that are not known
        """
        left = self._left(most, usable)
        of_all: dict[tuple[int, Taken], AtLeast] = {}
        for number, own in left.items():
            key, each = self._key(number), own.times(1 / self.steps.edges[number].times)
            of_all[key] = AtLeast(*map(max, of_all.get(key, each), each))
        boxes: dict[tuple[int, Taken], list[StepChoice]] = {}
        trees: dict[tuple[int, Taken], list[KnownTree]] = {}
        found = []
        for number, own in left.items():
            edge, front = self.steps.edges[number], self._fronts[number]
            if front is None:
                moved = StepChoice(self._moved(edge), edge)
                found.append(StepWithChoices(edge.start, edge.end, edge.stays, (moved,)))
                continue
            key = self._key(number)
            if key not in trees:
                trees[key] = front.best(edge.taken, self.residency)
                boxes[key] = list(self._open(front, edge.taken, of_all[key])) if is_open else []
            known = [StepChoice(self._cost(tree), self._edge(number, tree)) for tree in trees[key]]
            every = (StepChoice(one.least.times(edge.times), one.what) for one in (*known, *boxes[key]))
            choices = tuple(choice for choice in every if is_within(choice.least, own))
            if choices:
                found.append(StepWithChoices(edge.start, edge.end, edge.stays, choices))
        return found

    def _key(self, number: int) -> tuple[int, Taken]:
        """Return the key that steps with the same choices share."""
        return id(self._fronts[number]), self.steps.edges[number].taken

    def _left(self, most: AtLeast, usable: Usable) -> dict[int, AtLeast]:
        """By the number of a step what ways of interest leave for it, of those that they may have."""
        edges, states = self.steps.edges, self.steps.states
        before, after = [NOT_REACHED] * states, [NOT_REACHED] * states
        before[0] = after[-1] = NOTHING
        numbers = [number for number, edge in enumerate(edges) if usable(edge)]
        for number in numbers:
            start, end = edges[number].start, edges[number].end
            before[end] = least_of_both(before[end], before[start] + self._least[number])
        for number in reversed(numbers):
            start, end = edges[number].start, edges[number].end
            after[start] = least_of_both(after[start], after[end] + self._least[number])
        found = {}
        for number in numbers:
            around = before[edges[number].start] + after[edges[number].end]
            own = AtLeast(*(limit - least for limit, least in zip(most, around, strict=True)))
            if is_within(self._least[number], own):
                found[number] = own
        return found

    def _open(self, front: GroupFront, taken: Taken, most: AtLeast) -> Iterator[StepChoice]:
        box = front.open_box(taken, self.residency, self.weights, most)
        if box is not None:
            yield StepChoice(box.least, Open(front, taken, box.latency))

    def _cost(self, tree: KnownTree) -> AtLeast:
        return AtLeast(tree.energy, tree.latency, self.weights.of(tree.energy, tree.latency))

    def _moved(self, edge: GroupEdge) -> AtLeast:
        """Return the cost of a step that is no operation."""
        energy, latency, _ = edge.moves
        return AtLeast(energy, latency, self.weights.of(energy, latency))

    @remembered_by(lambda _, number, tree: (number, id(tree.answer)))
    def _edge(self, number: int, tree: KnownTree) -> GroupEdge:
        """Return the edge that stands for a step done by a tree, the same object every time."""
        edge, front = self.steps.edges[number], self._fronts[number]
        assert edge.kind is not None
        assert front is not None
        kind = self._told(tree, front, edge.taken, edge.kind)
        whole = edge.times * self.weights.of(tree.energy, tree.latency)
        return GroupEdge(
            edge.start, edge.end, whole, whole, True, edge.stays, edge.step, kind, edge.taken, edge.weights, edge.times
        )

    @remembered_by(lambda _, tree, front, taken, of: (id(front), id(tree.answer), taken, id(of)))
    def _told(self, tree: KnownTree, front: GroupFront, taken: Taken, of: GroupKind) -> GroupKind:
        """A kind of which a tree is known, with what is proven of it by the sum that says most of the whole."""
        value = self.weights.of(tree.energy, tree.latency)
        least = least_weight(front.lines(taken), self.weights)
        least = or_value(least, value)
        proof = replace(
            tree.answer.certificate, objective=objective_of(self.weights).name, value=value, lower_bound=least
        )
        answer = replace(tree.answer, certificate=proof, unfused=None)
        finding = Finding(taken, math.inf, least, value, answer, tree.used)
        return GroupKind(of.cascade, of.stays, findings=[finding])


def region_of_interest(corners: Corners, weights: Weights, value: float) -> AtLeast | None:
    """Return the limits on energy, latency and a weighted sum that every point better than a value keeps; None where no
    such point exists.

    What has no end is infinite.
    """
    objective, below = corners.question.objective, cutoff_of(value)
    most_energy, most_latency = limits_of(objective)
    energy, latency = (least_weight(corners.lines, alone) for alone in (ENERGY_ALONE, LATENCY_ALONE))

    def matters(energy_pj: float, latency_cycles: float) -> bool:
        return objective.value(energy_pj, latency_cycles) < below

    if not matters(energy, latency):
        return None
    top_energy = _end_of(lambda one: matters(one, latency), energy, most_energy)
    top_latency = _end_of(lambda one: matters(energy, one), latency, most_latency)
    if max(top_energy, top_latency) == math.inf:
        return AtLeast(top_energy, top_latency, math.inf)
    box = Box(energy, top_energy, latency, top_latency)
    weight = heaviest(box, weights, least_weight(corners.lines, weights), matters)
    return None if weight == -math.inf else AtLeast(top_energy, top_latency, weight)


def _end_of(matters: Callable[[float], bool], least: float, limit: float) -> float:
    """From where on nothing matters, at most a limit; infinite where there is no end."""
    if limit < math.inf and matters(limit):
        return limit
    high = limit
    if limit == math.inf:
        ends = (max(least, 1.0) * 2.0**doubled for doubled in range(60))  # a formula may set no end
        high = next((one for one in ends if not matters(one)), math.inf)
    return end_of(matters, least, high) if high < math.inf else high
