"""What it costs to bring a tensor from the sharding in which it is made to those in which it is read.

The shardings of a tensor are the places of a graph, single steps its edges. Each reader has a shortest path; what all
of them need together is a least Steiner tree, since what is held once is held for all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...arch.system import System
from ...cost_models.collectives import ReshardingSteps, StepCost
from ...ir.sharding import REPLICATED, Deal, Placement, Sharding
from ..pareto.weights import Weights

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class StepTaken:
    """A step between two shardings of a tensor, along an axis."""

    before: Sharding
    after: Sharding
    axis: int
    cost: StepCost


class TensorShardings:
    """The shardings of one tensor, and of those like it.

    states  all of them: those that it is made and read in, and those on the way: along every axis any placement that
            occurs there, or replicated
    made, needed  numbers of those that it may be made in, and read in by any reader
    values  of the steps, in the order of their ends
    """

    def __init__(
        self,
        words: int,
        bits: int,
        made: Iterable[Sharding],
        needed: Iterable[Sharding],
        steps: ReshardingSteps,
        weights: Weights,
    ) -> None:
        starts, ends = list(dict.fromkeys(made)), list(dict.fromkeys(needed))
        self._system: System = steps.system
        choices = _PlacementRules([*starts, *ends], [axis.size for axis in steps.system.axes])
        self.number = {one: i for i, one in enumerate(dict.fromkeys([*starts, *ends]))}
        self.states = list(self.number)
        found: list[tuple[int, int, int, StepCost]] = []
        at = 0
        while at < len(self.states):
            before = self.states[at]
            for axis, after in choices.next_to(before):
                cost = steps.step(words, bits, before, after, axis)
                if cost is not None:
                    state = (*before[:axis], after, *before[axis + 1 :])
                    if state not in self.number:
                        self.number[state] = len(self.states)
                        self.states.append(state)
                    found.append((at, self.number[state], axis, cost))
            at += 1
        found.sort(key=lambda edge: edge[1])
        self.edges = found
        self.values = np.array([_value(cost, weights) for *_, cost in found])
        self._from = np.array([edge[0] for edge in found], np.int64)
        self._to = np.array([edge[1] for edge in found], np.int64)
        self._first = np.flatnonzero(np.diff(self._to, prepend=-1))
        self.made, self.needed = [self.number[one] for one in starts], [self.number[one] for one in ends]
        self.exact = self.distances(self.values, range(len(self.states)))
        self._trees: dict[tuple[int, frozenset[int]], tuple[float, tuple[int, ...]]] = {}

    def distances(self, values: Floats, starts: Sequence[int]) -> Floats:
        """Of shortest paths from some shardings to all, by values of the edges."""
        found = np.full((len(starts), len(self.states)), np.inf)
        found[np.arange(len(starts)), starts] = 0.0
        ends = self._to[self._first]
        while len(self.edges):
            better = np.minimum.reduceat(found[:, self._from] + values, self._first, axis=1)
            better = np.minimum(better, found[:, ends])
            if (better == found[:, ends]).all():
                break
            found[:, ends] = better
        return found

    def tree(self, start: int, ends: frozenset[int]) -> tuple[float, tuple[int, ...]]:
        """The value of a least tree that holds all ends from a start on, and its edges, each after those before it."""
        key = start, ends
        if key not in self._trees:
            self._trees[key] = self._tree(start, sorted(ends - {start}))
        return self._trees[key]

    def _tree(self, start: int, ends: list[int]) -> tuple[float, tuple[int, ...]]:
        """Dreyfus and Wagner, over subsets of the ends."""
        if not ends:
            return 0.0, ()
        apart = self.exact
        least: dict[int, Floats] = {1 << i: apart[:, end] for i, end in enumerate(ends)}
        parted: dict[int, tuple[Floats, npt.NDArray[np.int64]]] = {}
        for subset in range(1, 1 << len(ends)):
            if subset in least:
                continue
            halves = [part for part in range(1, subset) if part & subset == part and 2 * part >= subset]
            halves = [part for part in halves if subset ^ part]
            at_once = np.array([least[part] + least[subset ^ part] for part in halves])
            best = np.argmin(at_once, axis=0)
            here = at_once.min(axis=0)
            along = apart + here[None, :]
            least[subset] = along.min(axis=1)
            parted[subset] = along.argmin(axis=1).astype(np.float64), np.array(halves)[best]
        whole = (1 << len(ends)) - 1
        value = float(least[whole][start])
        if not math.isfinite(value):
            return math.inf, ()
        edges: dict[int, None] = {}
        waiting = [(start, whole)]
        while waiting:
            at, subset = waiting.pop()
            if subset in parted:
                joint = int(parted[subset][0][at])
                half = int(parted[subset][1][joint])
                waiting += [(joint, half), (joint, subset ^ half)]
            else:
                joint = ends[subset.bit_length() - 1]
            edges |= dict.fromkeys(self.path(at, joint, self.values, apart[at]))
        return value, tuple(self._in_order(start, edges))

    def path(self, start: int, end: int, values: Floats, apart: Floats) -> list[int]:
        """The edges of a shortest path; by distances from its start."""
        found: list[int] = []
        at = end
        while at != start:
            low, high = np.searchsorted(self._to, [at, at + 1])
            edge = int(low + np.argmin(apart[self._from[low:high]] + values[low:high]))
            if edge in found:  # steps that cost nothing lead in a ring
                raise AssertionError("a path of steps that cost nothing returns")
            found.append(edge)
            at = int(self._from[edge])
        return found[::-1]

    def _in_order(self, start: int, edges: Iterable[int]) -> list[int]:
        """Each after the one that leads to its begin; what is reached in two ways once."""
        left, held, found = list(edges), {start}, []
        while left:
            edge = next(edge for edge in left if self._from[edge] in held)
            left.remove(edge)
            if int(self._to[edge]) not in held:
                held.add(int(self._to[edge]))
                found.append(edge)
        return found

    def users(self, start: int, ends: Sequence[int], edges: Sequence[int]) -> dict[int, list[int]]:
        """By edge of a tree, the numbers of the ends to which it leads."""
        into = {int(self._to[edge]): edge for edge in edges}
        found: dict[int, list[int]] = {edge: [] for edge in edges}
        for number, end in enumerate(ends):
            while end != start:
                found[into[end]].append(number)
                end = int(self._from[into[end]])
        return found

    def steps(self, edges: Iterable[int]) -> list[StepTaken]:
        """Edges as steps."""
        found = (self.edges[edge] for edge in edges)
        return [StepTaken(self.states[i], self.states[j], axis, cost) for i, j, axis, cost in found]


def _value(cost: StepCost, weights: Weights) -> float:
    if weights.energy and cost.energy_pj is None:
        return math.inf
    return weights.of(cost.energy_pj or 0.0, cost.seconds)


class _PlacementRules:
    """Which placements along an axis may stand beside those of the outer axes.

    A deal of blocks that an outer axis deals stands only inside those.
    """

    def __init__(self, shardings: Sequence[Sharding], sizes: Sequence[int]) -> None:
        self.given = set(shardings)
        self.sizes = sizes
        self._alone: list[dict[Placement, None]] = [{REPLICATED: None} for _ in sizes]
        self._inside: list[dict[Placement, None]] = [{} for _ in sizes]
        for sharding in shardings:
            for axis, one in enumerate(sharding):
                if isinstance(one, Deal) and any(block == one.period for _, block in _outer(sharding, axis)):
                    self._inside[axis][one] = None
                else:
                    self._alone[axis][one] = None
                    if isinstance(one, Deal) and (one.low or one.high):
                        self._alone[axis][Deal(one.period, one.block)] = None

    def next_to(self, before: Sharding) -> list[tuple[int, Placement]]:
        """Other placements along one axis that lead to a sharding."""
        found = []
        for axis, size in enumerate(self.sizes):
            if size > 1:
                for one in dict.fromkeys([*self._alone[axis], *self._inside[axis]]):
                    after = (*before[:axis], one, *before[axis + 1 :])
                    if one != before[axis] and (after in self.given or self._stands(after)):
                        found.append((axis, one))
        return found

    def _stands(self, sharding: Sharding) -> bool:
        for axis, one in enumerate(sharding):
            if isinstance(one, Deal):
                outer = _outer(sharding, axis)
                inside = one in self._inside[axis] and any(block == one.period for _, block in outer)
                if one not in self._alone[axis] and not inside:
                    return False
        return True


def _outer(sharding: Sharding, axis: int) -> list[tuple[int, int]]:
    return [(one.period, one.block) for one in sharding[axis + 1 :] if isinstance(one, Deal)]
