"""Exact search: best first over all placements, tiles, arrays and orders, until no bound is below the best mapping.

The space is cut into branches. A branch is a skeleton (which memory keeps which tensor) together with the arrays of
its outer fanouts, those of gap 2 and further out. Within a branch, mappings grow from the inside out:

1. A *label* is the innermost decision: the tile of block 0 and the arrays of gaps 0 and 1 (`inner_stage.py`).
2. Gap by gap, a label gets the tile of the next block and the order of the loops in between (`expansion.py`). Grown
   labels at the same gap that wait for the same tensors form a *batch*.
3. A row without open gaps is a mapping (`nest_builder.py`), and the cost model has the last word on it.

What a row has been charged is exact, with two exceptions that count as bounds until the mapping is complete: exact
halos, and words shared over fanouts further out. What it will still be charged is bounded from below (`bounds.py`).
So the bound of a row is never above the cost of any mapping that grows from it.

The order of work decides the time that a search takes, never its result:

- Every branch gets a bound of its own (`InnerStage.root_bound`), before any label is listed.
- A quick dive per branch, lowest bound first, carries a few promising labels through to a mapping. The best mapping
  so far sets the cutoff: nothing with a bound at or above it is looked at again.
- For the product of energy and latency, the branches are then opened once more with bounds on their weighted sum
  (`Ledger.exchange_rate`), at the rate of the best mapping so far.
- One queue holds what is open, by its bound: branches whose labels are not listed, and batches. The lowest is taken;
  a branch lists its labels below the cutoff, once and for all; a batch is grown, its best rows first.

The proof: whatever has been left aside had a bound at or above the cutoff of its time, and cutoffs only fall; or it
did not fit; or another row stood for it that costs no more in any column, so that everything grown from it costs no
more either. When the lowest bound in the queue reaches the cutoff, no open mapping is better by more than the
rounding of floats (`RELATIVE_TOLERANCE`).
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ..arch import Architecture
from ..cost_models import Cost, Objective, evaluate
from ..ir import Loop, LoopNest, Mapping, Node, Problem
from .arrays import array_choices
from .bounds import Bounds
from .certificate import RELATIVE_TOLERANCE, Certificate
from .diagnosis import diagnose
from .expansion import Batch, Expansion
from .inner_stage import InnerStage
from .ledger import CrossingCosts, Ledger
from .nest_builder import build_mapping
from .reduction import reduce_problem
from .skeleton import Skeleton, skeletons
from .space_size import count_mappings
from .tilings import Tiling, even_growth
from .traffic import Ints, TrafficModel

LABELS_AT_ONCE = 256
"""Labels expanded together: enough to fill vectors, few enough to stop early."""

DIVE_WIDTH = 64
"""Partial mappings carried along in the quick dive that finds a first good mapping of each branch."""


@dataclass
class _Branch:
    """A skeleton with its outer arrays fixed: the unit whose labels are listed together."""

    inner: InnerStage
    expansion: Expansion


@dataclass
class _Best:
    """The best mapping so far."""

    value: float = float("inf")
    mapping: Mapping | None = None
    cost: Cost | None = None


@dataclass
class ExactSearch:
    """One search. Raises InfeasibleError, with a diagnosis, when no mapping of the space fits.

    time_limit  seconds after which the best mapping so far is taken, with the bound proven by then; None: no limit.
                It is looked at between pieces of work, and not before a first mapping is found.
    """

    original: Problem
    machine: Architecture
    objective: Objective
    tiling: Tiling
    time_limit: float | None = None
    pruned: Counter[str] = field(default_factory=Counter)
    evaluated: int = 0
    placements: int = 0
    best: _Best = field(default_factory=_Best)
    _queue: list[tuple[float, int, _Branch, Batch | None]] = field(default_factory=list)
    _ticket: Iterator[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.reduction = reduce_problem(self.original, self.machine, self.tiling)
        self.problem, self.arch = self.reduction.problem, self.reduction.arch
        self._started = time.perf_counter()

    def run(self) -> tuple[Mapping, Cost, Certificate]:
        """The best mapping, its cost, and the proof."""
        self._started = time.perf_counter()
        if self.tiling == "ragged":
            self._start_from_perfect()
        even = tuple(even_growth(self.problem, dim) for dim in self.problem.dim_names)
        for skeleton in skeletons(self.problem, self.arch):
            self.placements += 1
            for arrays in outer_arrays(skeleton, self.tiling, even):
                self._open(skeleton, arrays)
        for branch in self._branches():
            self._dive(branch)
        self._sharpen()
        while self._queue and self._queue[0][0] < self._cutoff() and not self._expired():
            bound, _, branch, batch = heapq.heappop(self._queue)
            if batch is None:
                self._list_labels(branch, bound)
            else:
                self._work_on(branch, batch)
        if self.best.mapping is None or self.best.cost is None:
            raise diagnose(self.original, self.machine)
        return self.best.mapping, self.best.cost, self._certificate()

    def _start_from_perfect(self) -> None:
        """The best perfect tiling is a ragged one too, found much sooner: nothing worse need be looked at."""
        first = ExactSearch(self.original, self.machine, self.objective, "perfect", self.time_limit)
        mapping, cost, certificate = first.run()
        self.best = _Best(certificate.value, mapping, cost)
        self.evaluated += first.evaluated
        self.pruned.update(first.pruned)

    def _expired(self) -> bool:
        """Whether the time is up, and there is a mapping to be handed over."""
        if self.time_limit is None or self.best.mapping is None:
            return False
        return time.perf_counter() - self._started >= self.time_limit

    def _certificate(self) -> Certificate:
        open_bound = self._queue[0][0] if self._queue else float("inf")
        return Certificate(
            objective=self.objective,
            tiling=self.tiling,
            value=self.best.value,
            lower_bound=self.best.value if open_bound >= self._cutoff() else open_bound,
            space_size=count_mappings(self.original, self.machine, self.tiling),
            placements=self.placements,
            evaluated=self.evaluated,
            pruned=dict(sorted(self.pruned.items())),
            seconds=time.perf_counter() - self._started,
        )

    def _cutoff(self) -> float:
        """Bounds from here on cannot lead to a better mapping."""
        return self.best.value * (1 - RELATIVE_TOLERANCE)

    def _push(self, bound: float, branch: _Branch, batch: Batch | None) -> None:
        if bound < self._cutoff():
            heapq.heappush(self._queue, (bound, next(self._ticket), branch, batch))

    def _branches(self) -> Iterator[_Branch]:
        """What is in the queue, lowest bound first, as long as it may lead to a better mapping."""
        for bound, _, branch, _ in sorted(self._queue, key=lambda entry: entry[:2]):
            if bound < self._cutoff():
                yield branch

    def _sharpen(self) -> None:
        """Bound a product of energy and latency by their sum too, at the rate of the best mapping so far."""
        if self.objective != "edp" or self.best.cost is None or not self.best.cost.latency_cycles:
            return
        rate = self.best.cost.energy_pj / self.best.cost.latency_cycles
        branches = list(self._branches())
        self._queue.clear()
        for branch in branches:
            self._open(branch.inner.skeleton, branch.inner.bounds.outer_arrays, rate)

    def _open(self, skeleton: Skeleton, outer_arrays: dict[int, Ints], exchange_rate: float | None = None) -> None:
        costs = CrossingCosts(TrafficModel(skeleton), Ledger.of(self.arch, exchange_rate))
        bounds = Bounds(costs, self.tiling, outer_arrays)
        inner = InnerStage(bounds, self.objective, self.pruned)
        bound = inner.root_bound()
        if bound < float("inf"):
            self._push(bound, _Branch(inner, Expansion(bounds, self.objective, self.pruned)), None)

    def _dive(self, branch: _Branch) -> None:
        """Look for one good mapping of a branch, so that bounds have something to be compared with."""
        labels = branch.inner.promising(DIVE_WIDTH, self._cutoff())
        batch = branch.expansion.start(labels)
        while len(batch) and not branch.expansion.complete(batch):
            grown = list(branch.expansion.expand(batch, self._cutoff()))
            if not grown:
                return
            batch = min(grown, key=lambda b: float(b.labels.bound[0]))
            batch = batch.take(np.arange(min(DIVE_WIDTH, len(batch))))
        if len(batch):
            self._finish(branch, batch.take(np.arange(1)))

    def _list_labels(self, branch: _Branch, bound: float) -> None:
        """List the labels of a branch that may still lead to a better mapping; out of time, the branch stays open."""
        for labels in branch.inner.labels(self._cutoff()):
            if self._expired():
                self._push(bound, branch, None)
                return
            batch = branch.expansion.start(labels)
            batch = batch.take(np.argsort(labels.bound, kind="stable"))
            self._push(float(batch.labels.bound[0]), branch, batch)

    def _work_on(self, branch: _Branch, batch: Batch) -> None:
        """Grow the best rows of a batch by one gap, or evaluate them where none is left."""
        if branch.expansion.complete(batch):
            self._finish(branch, batch)
            return
        head = batch.take(np.arange(min(LABELS_AT_ONCE, len(batch))))
        rest = batch.take(np.arange(len(head), len(batch)))
        if len(rest):
            self._push(float(rest.labels.bound[0]), branch, rest)
        for grown in branch.expansion.expand(head, self._cutoff()):
            self._push(float(grown.labels.bound[0]), branch, grown)

    def _finish(self, branch: _Branch, batch: Batch) -> None:
        """Evaluate complete rows by the cost model, in the order of their bounds, while they may be better."""
        for row, bound in enumerate(batch.labels.bound.tolist()):
            if bound >= self._cutoff():
                self.pruned["bound"] += len(batch) - row
                return
            for reduced in self._mappings(branch, batch, row):
                mapping = self.reduction.restore(reduced)
                self.evaluated += 1
                cost = evaluate(mapping, self.machine)
                value = cost.objective(self.objective)
                if value < self._cutoff():
                    self.best = _Best(value, mapping, cost)

    def _mappings(self, branch: _Branch, batch: Batch, row: int) -> Iterator[Mapping]:
        """The mapping of a complete row; all its loop orders, where an exact halo makes every order count."""
        expansion = branch.expansion
        rows = batch.labels.rows
        orders = [self.problem.dim_names, *(expansion.all_orders[i] for i in batch.orders[row].tolist())]
        mapping = build_mapping(
            expansion.skeleton,
            self.tiling,
            branch.inner.bounds.lattice.even,
            [t[row].tolist() for t in rows.tiles],
            [a[row].tolist() for a in rows.arrays],
            orders,
        )
        yield from all_orders(mapping) if _has_exact_halo(expansion.skeleton) else (mapping,)


def _has_exact_halo(skeleton: Skeleton) -> bool:
    inner = skeleton.memories[:-1]
    return any(
        memory.halo == "exact" and any(not skeleton.problem.tensors[t].is_output for t in kept)
        for memory, kept in zip(inner, skeleton.kept, strict=False)
    )


def all_orders(mapping: Mapping) -> Iterator[Mapping]:
    """Every mapping that differs only in the order of temporal loops between the same nodes and spatial loops."""
    runs: list[list[tuple[Loop | Node, ...]]] = []
    for temporal, group in itertools.groupby(mapping.nest.items, key=_is_temporal):
        items = tuple(group)
        runs.append(list(itertools.permutations(items)) if temporal else [items])
    for chosen in itertools.product(*runs):
        yield Mapping(mapping.problem, LoopNest(tuple(itertools.chain.from_iterable(chosen))))


def _is_temporal(item: Loop | Node) -> bool:
    return isinstance(item, Loop) and not item.is_spatial


def outer_arrays(skeleton: Skeleton, tiling: Tiling, even: tuple[bool, ...]) -> Iterator[dict[int, Ints]]:
    """All ways to spread dimensions over the fanouts of gap 2 and further out."""
    outer = []
    index = 0
    for gap, fanouts in enumerate(skeleton.gap_fanouts):
        for fanout in reversed(fanouts):
            if gap >= 2:
                outer.append((index, list(array_choices(skeleton.problem, fanout, tiling, even))))
            index += 1
    for chosen in itertools.product(*(choices for _, choices in outer)):
        yield {i: np.array(array, dtype=np.int64) for (i, _), array in zip(outer, chosen, strict=True)}


def search_exact(
    problem: Problem,
    arch: Architecture,
    objective: Objective = "edp",
    tiling: Tiling = "perfect",
    time_limit: float | None = None,
) -> tuple[Mapping, Cost, Certificate]:
    """The proven best mapping, its cost and the proof; with a time limit (seconds), the best found and its gap.

    Raises InfeasibleError, with a diagnosis, when nothing fits.
    """
    return ExactSearch(problem, arch, objective, tiling, time_limit).run()
