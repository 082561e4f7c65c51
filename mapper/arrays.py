"""Spreading dimensions over fanouts: which instance counts per dimension an array's axes can realize."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ..arch import Fanout
from ..ir import Problem, ceil_div
from .tilings import Tiling, factors

Pair = tuple[int, int]
"""Trips along axis x (inner loop) and axis y (outer loop)."""
Pairs = frozenset[Pair]


@dataclass(frozen=True)
class Spreading:
    """One way to spread a dimension: the instances in use, and the axis trips that realize it."""

    instances: int
    pairs: Pairs


@lru_cache(maxsize=1 << 14)
def spreadings(left: int, limits: Pair, tiling: Tiling, even: bool) -> tuple[Spreading, ...]:
    """Ways to spread `left` tiles over two axes of at most `limits` instances each (1: not allowed)."""
    found: dict[int, set[Pair]] = {}
    for x in factors(left, tiling, even):
        if x > limits[0]:
            break
        rest = ceil_div(left, x)
        for y in factors(rest, tiling, even):
            if y > limits[1]:
                break
            found.setdefault(min(x * y, left), set()).add((x, y))
    return tuple(Spreading(instances, least(pairs)) for instances, pairs in sorted(found.items()))


def least(pairs: Sequence[Pair] | set[Pair]) -> Pairs:
    """Pairs that no other pair undercuts on both axes."""
    kept: list[Pair] = []
    for x, y in sorted(pairs):
        if not kept or y < kept[-1][1]:
            kept.append((x, y))
    return frozenset(kept)


def axis_limits(problem: Problem, fanout: Fanout, dim: str) -> Pair:
    """Instances that one dimension may take on axis x and on axis y."""
    sizes = [axis.size if axis.allows(problem, dim) else 1 for axis in fanout.axes]
    return sizes[0], (sizes[1] if len(sizes) > 1 else 1)


@dataclass
class AxisUse:
    """Axis instances taken by the dimensions spread so far, as small numbers that stand for sets of pairs.

    State 0 is the empty array; -1 is an array that is too small.
    """

    sizes: Pair
    _states: list[Pairs] = field(default_factory=lambda: [frozenset([(1, 1)])])
    _numbers: dict[Pairs, int] = field(default_factory=lambda: {frozenset([(1, 1)]): 0})
    _next: dict[tuple[int, Pairs], int] = field(default_factory=dict)

    @classmethod
    def of(cls, fanout: Fanout) -> AxisUse:
        sizes = [axis.size for axis in fanout.axes]
        return cls((sizes[0], sizes[1] if len(sizes) > 1 else 1))

    def after(self, state: int, pairs: Pairs) -> int:
        """The state after one more dimension."""
        key = (state, pairs)
        if key not in self._next:
            taken = {
                (x * dx, y * dy)
                for x, y in self._states[state]
                for dx, dy in pairs
                if x * dx <= self.sizes[0] and y * dy <= self.sizes[1]
            }
            self._next[key] = self._number(least(taken)) if taken else -1
        return self._next[key]

    def _number(self, pairs: Pairs) -> int:
        if pairs not in self._numbers:
            self._numbers[pairs] = len(self._states)
            self._states.append(pairs)
        return self._numbers[pairs]


def split_over_axes(
    problem: Problem,
    fanout: Fanout,
    lefts: Sequence[int],
    instances: Sequence[int],
    tiling: Tiling,
    even: Sequence[bool],
) -> list[Pair]:
    """Axis trips per dimension that realize the given instances; `lefts` are the tiles left per dimension."""
    options: list[list[Pair]] = []
    for dim, left, wanted, grows in zip(problem.dim_names, lefts, instances, even, strict=True):
        ways = spreadings(left, axis_limits(problem, fanout, dim), tiling, grows)
        options.append(sorted(next(w.pairs for w in ways if w.instances == wanted)))
    sizes = AxisUse.of(fanout).sizes
    return _first_fit(options, sizes)


def _first_fit(options: list[list[Pair]], sizes: Pair) -> list[Pair]:
    if not options:
        return []
    for x, y in options[0]:
        if x <= sizes[0] and y <= sizes[1]:
            try:
                return [(x, y), *_first_fit(options[1:], (sizes[0] // x, sizes[1] // y))]
            except ValueError:
                continue
    raise ValueError("the axes are too small")


def array_choices(problem: Problem, fanout: Fanout, tiling: Tiling, even: Sequence[bool]) -> Iterator[tuple[int, ...]]:
    """All instances per dimension that a fanout can realize, whatever lies below it."""
    per_dim = []
    for (dim, size), grows in zip(problem.dims, even, strict=True):
        limits = axis_limits(problem, fanout, dim)
        lefts = [left for left in range(1, size + 1) if tiling == "ragged" or size % left == 0]
        ways: dict[int, set[Pair]] = {}
        for left in lefts:
            for way in spreadings(left, limits, tiling, grows):
                ways.setdefault(way.instances, set()).update(way.pairs)
        per_dim.append([Spreading(count, least(pairs)) for count, pairs in sorted(ways.items())])
    use = AxisUse.of(fanout)
    for chosen in itertools.product(*per_dim):
        state = 0
        for way in chosen:
            state = use.after(state, way.pairs)
            if state < 0:
                break
        else:
            yield tuple(way.instances for way in chosen)
