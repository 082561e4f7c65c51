"""The best fused mapping of a cascade: which weighted sums of energy and latency are searched.

Energy and latency of operations add up, so for every weighted sum of the two one search over trees gives the least
(`tree_search.py`). For energy and latency that is the answer. Of a product such as EDP the least lies at a corner of
the convex hull of all mappings' (energy, latency): along a straight line a product of powers of the two is least at an
end, so nothing above the hull is better than all of its corners. The corners are found one after the other: a sum whose
weights are those of the line between two known corners either has its least on that line, and then nothing lies below
it, or gives a corner between them. A pair is left aside when even the best of both could not be better than what is
known.

Within a limit, or by a formula, a mapping above the hull may be best, and a front has all of them. What matters lies in
the triangle between two neighbouring corners and the point with the energy of the one and the latency of the other; so
it weighs less than that point, and a search for everything that does (`front_search.py`) finds it. As mappings are
found, less matters, and the weight falls.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from ....cost_models import LATENCY, Capped
from ...answer import Answer
from ...certificate import Points
from ...kernel.tolerance import RELATIVE_TOLERANCE, cutoff_of, is_better, reaches
from ...means import OutOfMeans
from ...pareto.front import end_of, front_of
from ...pareto.regions import Box, Line, heaviest, opening
from ...pareto.supported import (
    ALIKE,
    PRODUCTS,
    Neighbours,
    in_balance,
    limits_of,
    sums_into,
    supported_between,
)
from ...pareto.weights import ENERGY_ALONE, LATENCY_ALONE, AtLeast, OpenRegion, Weights, weights_between, weights_of
from ...progress import TREES, answering
from ..question import NothingBelow
from ..tables.tables import TableBranches
from ..terms.parts import FoundPart
from ..terms.sums import NARROW, Sums, all_wide
from ..tree_searches import Corner, point_of
from .front_search import FrontSearch
from .proofs import Proofs


@dataclass
class CascadeSearch(Proofs):
    """One search over trees.

    whole_front  whether all that no other mapping beats in energy and latency is looked for; else what may be best for
                 the objective

    Raises InfeasibleError when nothing fits, UndecidedError when that is not known in time.
    """

    whole_front: bool = False
    _lines: list[Neighbours[Corner]] = field(default_factory=list)
    _cut_short: bool = False

    def run(self) -> Answer:
        """The best mapping, its cost, and the proof."""
        try:
            self._explore_within_means()
        except KeyboardInterrupt:  # nothing is known but what needs no search
            self.know_unsearched()
            if not self.corners:
                raise
        if not self.corners and self.out_of_means:
            self.know_unsearched()
        if not self.corners:
            raise self._nothing_found()
        best = min(self.corners, key=self._value)
        objective = self.question.objective
        if self._value(best) == math.inf and isinstance(objective, Capped):
            raise self._nothing_within(objective)
        return self.answer_about(best, objective)

    def run_below(self) -> Answer | NothingBelow:
        """The best mapping, if it is better than what is asked for; else what no mapping has less of."""
        self._explore_within_means()
        objective, below = self.question.objective, self.question.below
        best = min(self.corners, key=self._value, default=None)
        if best is not None and self._value(best) < below:
            return self.answer_about(best, objective)
        least = min(self._bound(objective, below, self.bounds), self._least_ragged(objective, below))
        return NothingBelow(min(below, least), self.seconds, self.interrupted)

    def front(self) -> list[Corner]:
        """Return the known mappings that no other dominates, from the least energy to the least latency."""
        return front_of(self.corners, point_of)

    def front_answers(self) -> Points[Answer]:
        """These, each with the proof that nothing of as little energy is faster, or how much faster it could be."""
        front = self.front()
        gap = self.gap_of_front(list(map(point_of, front)))
        answers = tuple(self.answer_about(c, LATENCY.capped(energy=c.energy)) for c in front)
        return Points(answers, gap == 0.0, gap)

    def _value(self, corner: Corner) -> float:
        return self.question.objective.value(corner.energy, corner.latency)

    # ---- which weighted sums are searched ------------------------------------------------------------------

    def _explore_within_means(self) -> None:
        """Search to the end, until means run out, or until an interrupt: that is passed on where nothing is known."""
        try:
            with answering(self.progress, TREES):
                self._explore()
        except OutOfMeans:
            self.out_of_means = True
        except KeyboardInterrupt:
            self.interrupted = True
            if not self.points:
                raise
        self._count_fallback()

    def _explore(self) -> None:
        if not self.whole_front:
            alone = weights_of(self.question.objective)
            if alone is not None:
                self.solve(alone)
                return
        if self._needs_corners_alone:
            self._close_openings()
            return
        fast = self._look_along_front()
        fewest = self.least_of(LATENCY_ALONE)
        self.bounds.append((LATENCY_ALONE, fewest))
        self.ragged_bounds.append((LATENCY_ALONE, fewest))
        least = self._solve_within(ENERGY_ALONE)
        if least is None or self._is_closed(least, fewest) or self._none_is_faster(least, fewest):
            self._end()
            return
        if not (self._is_on_hull or self._cut_short) and isinstance(self.solver, TableBranches):
            self._above_all(least)
            return
        fastest = self._solve_within(fast or _fast(least))
        if fastest is not None:
            self._between(least, fastest)
        self._end()
        if fastest is not None and not self._is_on_hull:
            self._above_hull(fastest)

    # ---- products: what bounds leave open ------------------------------------------------------------------

    @property
    def _needs_corners_alone(self) -> bool:
        """Whether no end of the front has to be known, nor what lies above the hull: bounds that leave nothing better
        than the best mapping are enough."""
        return self._is_on_hull

    def _close_openings(self) -> None:
        """Search along lines that leave nothing open below them, as far as trees weigh what their bounds say: first of
        trees without shared loops along windows, where these are known by themselves, then of all in which tiles
        divide, and last of those in which they need not, where lines of the others have left something open."""
        energy, latency = (float(self.least_of(alone)) for alone in (ENERGY_ALONE, LATENCY_ALONE))
        for each in ((ENERGY_ALONE, energy), (LATENCY_ALONE, latency)):
            self.bounds.append(each)
            self.ragged_bounds.append(each)
        if max(energy, latency) == math.inf:
            self.solve(ENERGY_ALONE)  # nothing fits
            return
        self.look(in_balance(self.question.objective, energy, latency), flat=True)
        if not self.points and self.solve(ENERGY_ALONE) is None:
            return
        while self._close(lambda: [*self.bounds, *self.plain_bounds], self.solve):
            pass
        while self._close(lambda: self.bounds, self.solve):
            pass
        while self.has_ragged_loops and self._close(lambda: self.ragged_bounds, self.solve_ragged):
            pass

    def _close(self, lines: Callable[[], Sequence[Line]], solve: Callable[[Weights], object]) -> bool:
        """Search the weighted sum of one line; return whether more remains to be searched.

        lines  what is known of some trees
        solve  learn more of them
        """
        value = self.question.objective.value
        best = min([self.question.below, *(value(*point) for point in self.points)])
        found = opening(lines(), value, best)
        if found is None:
            return False
        for weights in sums_into(found, self.points, lines(), self.question.objective):
            solve(weights)
            bound = max(bound for one, bound in lines() if one == weights)
            gains = any(is_better(self._value(one), best) for one in self.corners)
            is_closed = opening(lines(), value, best) is None
            if gains or is_closed or bound > weights.of(*found.corner) * (1 + ALIKE):
                return True
        return False

    # ---- fronts, and other objectives ----------------------------------------------------------------------

    def _is_closed(self, least: Corner, fewest: float) -> bool:
        """Whether nothing is open beside the least energy, where no mapping has fewer cycles than these."""
        quickest = min(c.latency for c in self.corners if c.energy <= least.energy)
        return reaches(fewest, quickest) or not self._matters(least.energy, fewest)

    def _none_is_faster(self, least: Corner, fewest: float) -> bool:
        """Whether no mapping is so fast that it could be wanted, beside that of the least energy."""
        most = self._slowest(least.energy, fewest, min(corner.latency for corner in self.corners))
        self._solve_within(LATENCY_ALONE, most)
        return not self._cut_short and self._is_closed(least, self._fewest_cycles_of_all)

    def _slowest(self, energy: float, fewest: float, most: float) -> float:
        """Cycles, at most so many, from which on no mapping could be wanted that has no less than some energy."""
        if self._matters(energy, cutoff_of(most)):
            return most
        end = end_of(partial(self._matters, energy), fewest, most)
        return min(most, end * (1 + 1e-6))  # clear of a limit, which has room for rounding

    @property
    def _fewest_cycles_of_all(self) -> float:
        """Return a lower bound on the latency of all mappings."""
        every = [self.bounds, self.ragged_bounds] if self.has_ragged_loops else [self.bounds]
        return min(max(bound for weights, bound in bounds if weights is LATENCY_ALONE) for bounds in every)

    def _look_along_front(self) -> Weights | None:
        """Find good mappings at the ends of the front and between them before anything is proven; return the weights
        that stand for the fastest mapping, if any mapping is known."""
        least = self.look(ENERGY_ALONE)
        if least is None:
            return None
        fast = _fast(least)
        fastest = self.look(fast) or least
        between = weights_between((least.energy, least.latency), (fastest.energy, fastest.latency))
        if between is not None:
            self.look(between)
        return fast

    def _solve_within(self, weights: Weights, most: float = math.inf) -> Corner | None:
        """The least of one weighted sum, if it is less than so much; or, where a part of the time does not do, the best
        that is known by then."""
        with self.within(self.means.share()):
            try:
                return self.solve(weights, most)
            except OutOfMeans:
                self._cut_short, self.out_of_means = True, False
        return self.best_by(weights)

    def _end(self) -> None:
        """Raises OutOfMeans where a corner is not known for sure: what lies between corners cannot be told then. What
        time is left goes to the weighted sum that is as much energy as latency at the best mapping: a bound on that
        says more of a product than those on its ends."""
        if self._cut_short:
            best = min(self.corners, key=self._value, default=None)
            if best is not None and not self.means.expired:
                self.solve(Weights(1.0, best.energy / max(best.latency, 1.0)))
            raise OutOfMeans

    @property
    def _is_on_hull(self) -> bool:
        """Whether nothing above the hull is better than all corners."""
        return not self.whole_front and self.question.objective.name in PRODUCTS

    def _between(self, left: Corner, right: Corner) -> None:
        """All corners between two of them that may matter."""
        self._lines += supported_between(left, right, point_of, self.solve, self._matters)

    def _matters(self, energy: float, latency: float) -> bool:
        """Whether a mapping of this cost, or a higher cost, could be wanted."""
        if self.whole_front:
            return True
        best = min(map(self._value, self.corners))
        value = self.question.objective.value(energy, latency)
        return is_better(value, best)

    # ---- what lies between the corners ---------------------------------------------------------------------

    def _above_all(self, least: Corner) -> None:
        """Search all mappings that may matter between the two ends of the front, where fronts of branches take no
        longer than their best mappings."""
        quickest = min(self.corners, key=lambda c: (c.latency, c.energy))
        weights = weights_between((least.energy, least.latency), (quickest.energy, quickest.latency))
        if weights is not None:
            self._lines.append(Neighbours(least, quickest, weights, 0.0))
            self._along_lines()

    def _above_hull(self, fastest: Corner) -> None:
        """All mappings between corners that may matter, and those that are a little faster than the fastest corner."""
        if is_better(self._fewest_cycles_of_all, fastest.latency):
            quickest = min(self.corners, key=lambda c: c.latency)
            self._between(fastest, quickest)
        self._along_lines()

    def _along_lines(self) -> None:
        """All mappings between the ends of lines that may matter."""
        is_complete = True
        for line in self._lines:
            if not self._all_between(line, NARROW):
                is_complete = False
                self._all_between(line, all_wide(self.question.cascade, self.memories))
        self._is_complete = is_complete

    def _all_between(self, line: Neighbours[Corner], sums: Sums) -> bool:
        """All mappings between the ends of a line that may matter; whether they are as the search took them to be."""
        as_taken = True

        def take(found: FoundPart) -> None:
            nonlocal as_taken
            if self._matters(found.energy_pj, found.latency_cycles) and not self._is_beaten(found):
                as_taken = self._take(found) and as_taken

        for names in self.orders():
            search = self.tree_search(line.weights, sums, kind=FrontSearch)
            try:
                search.explore(names, partial(self._open, line), take)
            finally:
                self.pruned.update(search.pruned)
        return as_taken

    def _open(self, line: Neighbours[Corner]) -> OpenRegion | None:
        """Return the region between the ends of a line that may hold a better point; None where it holds none."""
        left, right, weights, least = line.left, line.right, line.weights, line.least
        limits = (math.inf, math.inf) if self.whole_front else limits_of(self.question.objective)
        points = [c for c in self.front() if left.energy <= c.energy <= right.energy]
        boxes = (Box(a.energy, b.energy, b.latency, a.latency) for a, b in itertools.pairwise(points))
        within = [box.within(*limits) for box in boxes]
        weighed = [(heaviest(box, weights, least, self._matters), box) for box in within]
        weighed = [(weight, box) for weight, box in weighed if weight > -math.inf]
        if not weighed:
            return None
        most = max(box.most_energy for _, box in weighed), max(box.most_latency for _, box in weighed)
        region = OpenRegion(weights, AtLeast(*most, max(weight for weight, _ in weighed)))
        return region.without((corner.energy, corner.latency) for corner in points)

    def _take(self, found: FoundPart) -> bool:
        """Add a mapping to the known ones; return whether its cost is what the search took it to be."""
        corner = self.evaluated(found)
        if corner is None:
            return False
        self.corners.append(corner)
        close = partial(math.isclose, rel_tol=10 * RELATIVE_TOLERANCE)
        return close(corner.energy, found.energy_pj) and close(corner.latency, found.latency_cycles)

    def _is_beaten(self, found: FoundPart) -> bool:
        """Whether a known mapping dominates or equals a cost."""
        return any(
            reaches(found.energy_pj, c.energy) and reaches(found.latency_cycles, c.latency) for c in self.corners
        )


def _fast(corner: Corner) -> Weights:
    """The weighted sum that is least for the fastest mapping, and of equally fast ones for that of least energy:
    latency weighs a million times as much."""
    return Weights(1.0, 1e6 * corner.energy / max(corner.latency, 1.0))
