"""Choices of arrays, decided one fanout after the other from the inside out, lazily.

A choice for the first few fanouts has a bound already: of the fanouts to come, everything is taken for granted that
would be good (`array_groups.any_arrays`). Only choices whose bound is among the lowest are decided further. On machines
of few arrays all of them are decided at once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....cost_models.padding import words_at_macs
from ..bounds.array_groups import partly_decided
from ..bounds.boundary_costs import BoundaryBounds
from ..bounds.once import OnceEach, all_boundaries
from ..question.hierarchy import MAC, MemoryBoundary, Path, Placement
from ..rows import Floats, Index, Ints, Rows, ceil_div_array, taken
from ..tiles.instances import array_vectors
from ..tiles.symmetry import compared
from .batch import Batch, Pending
from .context import SearchContext
from .fanouts import bounded, least_beyond


@dataclass
class ArrayChoices:
    """Choices of arrays for the first few fanouts with one placement, sorted by bound.

    rows   the choices; only these fanouts have arrays
    bound  (rows,) objective that no mapping with such arrays undercuts
    costs  (columns, rows) what these cost at least
    """

    placement: Placement
    rows: Rows
    bound: Floats
    costs: Floats

    depth = 0

    def take(self, index: Index) -> ArrayChoices:
        costs = taken(self.costs, index, axis=1)
        return ArrayChoices(self.placement, self.rows.take(index), taken(self.bound, index), costs)

    def __len__(self) -> int:
        return len(self.bound)

    @property
    def nbytes(self) -> int:
        return self.bound.nbytes + self.costs.nbytes + sum(array.nbytes for array in self.rows.arrays)


class ArrayPlans:
    """Array plans list all choices of arrays of one search: they are the same for every placement."""

    def __init__(self, context: SearchContext) -> None:
        self.context = context
        self.hierarchy = context.hierarchy
        self.sizes = np.array(context.sizes, dtype=np.int64)
        self._vectors: dict[int, Ints] = {}
        self._first_feeding: dict[MemoryBoundary, Floats] = {}

    # ---- the choices ---------------------------------------------------------------------------------------

    def vectors(self, fanout: int) -> Ints:
        """List (vectors, dims) all instances per dimension that a fanout can realize."""
        if fanout not in self._vectors:
            context, level = self.context, self.hierarchy.fanouts[fanout]
            spans = context.limits.spans(fanout)
            visit = context.visit
            found = array_vectors(visit.problem, level, visit.tilings, context.reduced_spread, spans)
            self._vectors[fanout] = found[context.limits.enough_in_use(fanout, found)]
        return self._vectors[fanout]

    @cached_property
    def first(self) -> Rows:
        """Return the choices for the first few fanouts, for as many of them as there is room for at once."""
        rows = Rows(1, [], [])
        while (
            not self._decides_all(rows) and len(rows) * len(self.vectors(len(rows.arrays))) <= self.context.effort.many
        ):
            rows, _ = self._extended(rows, self.vectors(len(rows.arrays)))
        return rows

    def _decides_all(self, rows: Rows) -> bool:
        return len(rows.arrays) == len(self.hierarchy.fanouts)

    def _extended(self, rows: Rows, vectors: Ints) -> tuple[Rows, Ints]:
        """Combine every choice with every array of the next fanout that leaves work for it, and return which choice
        each came from."""
        covered = np.minimum(
            np.prod([np.ones((len(rows), len(self.sizes)), np.int64), *rows.arrays], axis=0), self.sizes
        )
        known, picks = (x.ravel() for x in np.indices((len(rows), len(vectors))))
        visit = self.context.visit
        tile = np.array(visit.sizes)
        fits = (vectors[picks] <= ceil_div_array(tile, covered)[known]).all(axis=1)
        known, picks = known[fits], picks[fits]
        if visit.perfect.any():
            divides = tile % (covered[known] * vectors[picks]) == 0
            fits = (divides | ~visit.perfect).all(axis=1)
            known, picks = known[fits], picks[fits]
        found = Rows(len(known), [], [*(array[known] for array in rows.arrays), vectors[picks]])
        if self.context.mirror is None:
            return found, known
        one_of_two = np.flatnonzero(compared(found.arrays, self.context.mirror, len(found)) <= 0)
        return found.take(one_of_two), known[one_of_two]

    # ---- of a placement ------------------------------------------------------------------------------------

    def first_bound(self, placement: Placement) -> float:
        """Bound all mappings of a placement: every tensor passes every boundary once."""
        rows, context = self.first, self.context
        if not self._decides_all(rows):
            at_macs, once = self._least(placement, rows)
            return float(context.value(at_macs + once, self.least_steps(rows)).min(initial=np.inf))
        costs = self._at_macs(placement, rows)
        for tensor, held in enumerate(placement):
            for inner, outer in itertools.pairwise(held):
                costs = costs + context.bounds.any_boundaries.once(MemoryBoundary(tensor, inner, outer)).reshape(-1, 1)
        return float(context.value(costs, self._steps(rows)).min(initial=np.inf))

    def start(self, placement: Placement, below: float) -> Batch | ArrayChoices:
        """Return the choices with a placement whose bound stays below the cutoff."""
        if self._decides_all(self.first):
            return self._decided(placement, self.first, below)
        return self._open(placement, self.first, below)

    def further(self, choices: ArrayChoices, below: float) -> Iterator[Batch | ArrayChoices]:
        """Extend the choices by those for the next fanout."""
        vectors = self.vectors(len(choices.rows.arrays))
        for first in range(0, len(vectors), self.context.rows_at_once):
            self.context.means.check()
            rows = self._hopeful(choices, vectors[first : first + self.context.rows_at_once], below)
            if self._decides_all(rows):
                yield self._decided(choices.placement, rows, below)
            else:
                yield self._open(choices.placement, rows, below)

    def _hopeful(self, choices: ArrayChoices, vectors: Ints, below: float) -> Rows:
        """Extend the choices by arrays for the next fanout, and keep those that stay below the cutoff by two quick
        bounds: by time steps alone, which prune most; and, once all arrays are decided, by what every tensor costs that
        passes once."""
        rows, known = self._extended(choices.rows, vectors)
        bound = self.context.value(taken(choices.costs, known, axis=1), self.least_steps(rows))
        rows = rows.take(np.flatnonzero(self.context.below(bound, below)))
        if not self._decides_all(rows) or not len(rows):
            return rows
        at_macs, once = self._least(choices.placement, rows)
        bound = self.context.value(at_macs + once, self.least_steps(rows))
        return rows.take(np.flatnonzero(self.context.below(bound, below)))

    def at_once(self, choices: ArrayChoices) -> int:
        """Return how many choices are extended together."""
        return max(1, self.context.rows_at_once // len(self.vectors(len(choices.rows.arrays))))

    def _open(self, placement: Placement, rows: Rows, below: float) -> ArrayChoices:
        """Bound choices in which the arrays of some fanouts are not decided."""
        context, state = self.context, self.hierarchy.start(placement)
        at_macs, once = self._least(placement, rows)
        steps, member = self.least_steps(rows), np.zeros(len(rows), dtype=np.int64)
        least = least_beyond(context, context.bounds, state, rows, member, at_macs, steps)
        costs = at_macs + once
        bound = np.maximum(context.value(costs, steps), least)
        found = ArrayChoices(placement, rows, bound, costs).take(np.flatnonzero(context.below(bound, below)))
        return found.take(np.argsort(found.bound, kind="stable"))

    def _decided(self, placement: Placement, rows: Rows, below: float) -> Batch:
        """Make a batch of rows of which all arrays are decided, and nothing else."""
        context, hierarchy, count = self.context, self.hierarchy, len(rows)
        at_macs = (MemoryBoundary(tensor, MAC, held[0]) for tensor, held in enumerate(placement))
        batch = Batch(
            Path(hierarchy, placement),
            hierarchy.start(placement),
            context.bounds,
            np.zeros(count, dtype=np.int64),
            rows,
            self._at_macs(placement, rows),
            self._steps(rows),
            np.zeros(count),
            np.zeros((count, 0), dtype=np.int64),
            [Pending(b, None, self._feeding(b, placement, rows)) for b in at_macs if context.only_bounded(b, 0)],
        )
        kept = np.flatnonzero(context.limits.enough_at_work(batch.steps))
        once = self._once(placement, rows)
        batch = batch.take(kept)
        return bounded(context, batch, context.bounds, below, {b: costs[:, kept] for b, costs in once.items()})

    # ---- what the choices decide ---------------------------------------------------------------------------

    def _steps(self, rows: Rows) -> Floats:
        if rows is self.first:
            return self._first_steps
        return self.context.model(Path(self.hierarchy, ())).steps(rows)

    @cached_property
    def _first_steps(self) -> Floats:
        return self.context.model(Path(self.hierarchy, ())).steps(self.first)

    def _at_macs(self, placement: Placement, rows: Rows) -> Floats:
        """Charge (columns, rows) the MACs, and the words between them and the memories nearest to them."""
        costs = self._macs(len(rows))
        for tensor, held in enumerate(placement):
            costs = costs + self._feeding(MemoryBoundary(tensor, MAC, held[0]), placement, rows)
        return costs

    def _feeding(self, boundary: MemoryBoundary, placement: Placement, rows: Rows) -> Floats:
        if rows is not self.first:
            return self.context.book(Path(self.hierarchy, placement), rows, boundary, None)
        if boundary not in self._first_feeding:
            self._first_feeding[boundary] = self.context.book(Path(self.hierarchy, placement), rows, boundary, None)
        return self._first_feeding[boundary]

    def _once(self, placement: Placement, rows: Rows) -> dict[MemoryBoundary, Floats]:
        """Bound (columns, rows) each boundary between memories, if every word passes once, and every instance gets its
        own."""
        each = self._first_once if rows is self.first else OnceEach(self.context.bounds, self.context.tiling, rows)
        return {boundary: each.of(boundary) for boundary in all_boundaries(placement)}

    @cached_property
    def _first_once(self) -> OnceEach:
        return OnceEach(self.context.bounds, self.context.tiling, self.first)

    def _macs(self, count: int) -> Floats:
        """Charge (columns, count) the energy of all operations."""
        costs = np.zeros((self.context.costs.cost_columns.count, count))
        macs = self.hierarchy.problem.macs * self.hierarchy.arch.mac.energy_pj
        self.context.costs.cost_columns.book_energy(costs, macs)
        return costs

    # ---- bounds on choices for the first few fanouts -------------------------------------------------------

    def least_steps(self, rows: Rows) -> Floats:
        """Count (rows,) time steps if the fanouts to come were all in full use."""
        spread = np.prod([np.ones((len(rows), len(self.sizes))), *rows.arrays], axis=0)
        later = math.prod(fanout.instances for fanout in self.hierarchy.fanouts[len(rows.arrays) :])
        steps: Floats = np.maximum(np.ceil(self.sizes / spread).prod(axis=1) / later, 1.0)
        return steps

    def _least(self, placement: Placement, rows: Rows) -> tuple[Floats, Floats]:
        """Bound (columns, rows) what passes at the MACs, and what passes everywhere else if every tensor passes every
        boundary once; whatever the arrays of the other fanouts."""
        group = partly_decided(self.hierarchy, self.context.tiling, rows)
        root = self.context.bounds
        booked = BoundaryBounds(self.hierarchy, root.lattice, root.columns.rows, group)
        at_macs, problem = self._macs(len(rows)), self.hierarchy.problem
        for tensor, held in enumerate(placement):
            words = np.array([float(words_at_macs(problem, problem.tensors[tensor]))])
            at_macs = at_macs + booked.book(MemoryBoundary(tensor, MAC, held[0]), 0, words)[:, :, 0].T
        once = OnceEach(root, self.context.tiling, rows).of_all(all_boundaries(placement))
        return at_macs, once + np.zeros_like(at_macs)
