"""Spreading dimensions over fanouts: which instance counts per dimension an array's axes can realize."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ....arch import Fanout
from ....ir import Problem, ceil_div
from ...tilings import Tiling, factors, per_dim, ragged_trips
from ..rows import Flags, Ints, distinct, repeated, row_codes
from ..table_memo import TableBudget

Pair = tuple[int, int]
"""Trips along axis x (inner loop) and axis y (outer loop)."""
Pairs = frozenset[Pair]


_VECTORS = TableBudget(most=32 << 20).memo()
"""The vectors that were asked for last: searches of a cascade's branches ask for the same ones again and again."""

Span = tuple[int, int]
"""The least and the most trips on one axis."""
AxisSpans = tuple[Span, Span]


@dataclass(frozen=True)
class Spreading:
    """One way to spread a dimension: the instances in use, and the axis trips that realize it."""

    instances: int
    pairs: Pairs


@lru_cache(maxsize=1 << 14)
def spreadings(
    left: int, limits: Pair, tiling: Tiling, even: bool, least_trips: Pair = (1, 1)
) -> tuple[Spreading, ...]:
    """Return the ways to spread `left` tiles over two axes of at most `limits` instances each (1: the axis may not be
    used)."""
    return _least_of(_every_pair(left, limits, tiling, even, least_trips))


def _every_pair(left: int, limits: Pair, tiling: Tiling, even: bool, least_trips: Pair) -> Iterator[tuple[int, Pair]]:
    """Yield every pair of axis trips that spreads the tiles, each after the number of instances that it uses."""
    for x in _trips(left, limits[0], tiling, even):
        if x < least_trips[0]:
            continue
        rest = ceil_div(left, x)
        for y in _trips(rest, limits[1], tiling, even):
            if y >= least_trips[1]:
                yield min(x * y, left), (x, y)


def _least_of(found: Iterable[tuple[int, Pair]]) -> tuple[Spreading, ...]:
    """Return, for each number of instances, the pairs of axis trips that no other pair undercuts."""
    pairs: dict[int, set[Pair]] = {}
    for instances, pair in found:
        pairs.setdefault(instances, set()).add(pair)
    return tuple(Spreading(instances, least(pairs[instances])) for instances in sorted(pairs))


def _trips(left: int, most: int, tiling: Tiling, even: bool) -> tuple[int, ...]:
    """Return the numbers of instances worth trying on one axis for `left` tiles, at most `most`, in ascending order.

    Of ragged tiles these are: the fewest instances for each number of rounds; those that leave one tile for the last
    round; and all that take three rounds or more, since loops further out may then spread the last round and not the
    others.
    """
    if tiling == "perfect":
        return tuple(f for f in factors(left, tiling, even) if f <= most)
    if not even:
        return tuple(range(1, min(left, most) + 1))
    return ragged_trips(left, most, spread=True, loose_from=3)


def least(pairs: Sequence[Pair] | set[Pair]) -> Pairs:
    """Return the pairs that no other pair undercuts on both axes."""
    kept: list[Pair] = []
    for x, y in sorted(pairs):
        if not kept or y < kept[-1][1]:
            kept.append((x, y))
    return frozenset(kept)


def most(rooms: set[Pair]) -> Pairs:
    """Return the rooms for which no other has at least as much on both axes."""
    kept: list[Pair] = []
    for x, y in sorted(rooms, reverse=True):
        if not kept or y > kept[-1][1]:
            kept.append((x, y))
    return frozenset(kept)


def axis_limits(problem: Problem, fanout: Fanout, dim: str) -> Pair:
    """Instances that one dimension may take on axis x and on axis y."""
    sizes = [axis.size if axis.allows(problem, dim) else 1 for axis in fanout.axes]
    return sizes[0], (sizes[1] if len(sizes) > 1 else 1)


def axis_spans(
    problem: Problem, fanout: Fanout, dim: str, asked: Mapping[tuple[str, int, str], tuple[int, int | None]]
) -> AxisSpans:
    """The least and the most instances of one dimension on axis x and on axis y.

    asked  (fanout, axis, dim): the least and the most trips that constraints ask for
    """
    spans = []
    for axis, limit in enumerate(axis_limits(problem, fanout, dim)):
        least, most = asked.get((fanout.name, axis, dim), (1, None))
        spans.append((least, limit if most is None else min(limit, most)))
    return spans[0], spans[1]


@dataclass
class AxisUse:
    """Numbers what the dimensions spread so far leave of an array's axes, as states.

    A state is a set of rooms: how often the instances in use fit each axis. Later dimensions depend on nothing else,
    and there are few different rooms. State 0 is the empty array; -1 says that the axes are too small.
    """

    sizes: Pair
    _states: list[Pairs] = field(default_factory=list)
    _numbers: dict[Pairs, int] = field(default_factory=dict)
    _next: dict[tuple[int, Pairs], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._number(frozenset([self.sizes]))

    @classmethod
    def of(cls, fanout: Fanout) -> AxisUse:
        sizes = [axis.size for axis in fanout.axes]
        return cls((sizes[0], sizes[1] if len(sizes) > 1 else 1))

    def after(self, state: int, pairs: Pairs) -> int:
        """Return the state after one more dimension is spread by any of some pairs of axis trips."""
        key = (state, pairs)
        if key not in self._next:
            left = {(x // dx, y // dy) for x, y in self._states[state] for dx, dy in pairs if x >= dx and y >= dy}
            self._next[key] = self._number(most(left)) if left else -1
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
    tiling: Tiling | Sequence[Tiling],
    even: Sequence[bool],
    spans: Sequence[AxisSpans] | None = None,
) -> list[Pair]:
    """Axis trips per dimension that realize the given instances; `lefts` are the tiles left per dimension.

    spans  per dimension, the least and the most trips on each axis; None: what the fanout allows
    """
    options: list[list[Pair]] = []
    spans = spans or _all_spans(problem, fanout)
    tilings = per_dim(tiling, len(lefts))
    for left, wanted, own, grows, span in zip(lefts, instances, tilings, even, spans, strict=True):
        ways = _spread_within(left, span, own, grows)
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


def _all_spans(problem: Problem, fanout: Fanout) -> list[AxisSpans]:
    return [axis_spans(problem, fanout, dim, {}) for dim in problem.dim_names]


def _spread_within(left: int, spans: AxisSpans, tiling: Tiling, even: bool) -> tuple[Spreading, ...]:
    (least_x, most_x), (least_y, most_y) = spans
    return spreadings(left, (most_x, most_y), tiling, even, (least_x, least_y))


def array_vectors(
    problem: Problem,
    fanout: Fanout,
    tiling: Tiling | Sequence[Tiling],
    even: Sequence[bool],
    spans: Sequence[AxisSpans] | None = None,
) -> Ints:
    """Return (vectors, dims) all combinations of instances per dimension that a fanout can realize, for some tile below
    it."""
    spans = spans or _all_spans(problem, fanout)
    sizes, axes = [size for _, size in problem.dims], AxisUse.of(fanout).sizes
    dims = tuple(zip(sizes, spans, per_dim(tiling, len(sizes)), even, strict=True))
    return _VECTORS.of((axes, dims), lambda: _vectors(axes, dims))


def _vectors(axes: Pair, dims: Sequence[tuple[int, AxisSpans, Tiling, bool]]) -> Ints:
    """Return (vectors, dims) the same, from what they depend on alone."""
    use = AxisUse(axes)
    vectors, states = np.ones((1, 0), dtype=np.int64), np.zeros(1, dtype=np.int64)
    for size, span, own, grows in dims:
        ways = _any_spreading(size, span, own, grows)
        first, which = distinct(states)
        fine = [[(w.instances, s) for w in ways if (s := use.after(n, w.pairs)) >= 0] for n in states[first].tolist()]
        rows, chosen = repeated([np.array(pairs, dtype=np.int64).reshape(-1, 2) for pairs in fine], which)
        vectors, states = np.column_stack([vectors[rows], chosen[:, 0]]), chosen[:, 1]
        if not len(states):  # a dimension that has to be spread cannot be
            vectors = np.ones((0, len(dims)), dtype=np.int64)
            break
    vectors.flags.writeable = False
    return vectors


def tiles_needed(instances: Sequence[Ints], perfect: bool | Flags) -> Ints:
    """Return how many tiles must be left along a dimension for nested arrays to use the given instances, innermost
    array first.

    perfect  whether tiles divide: for all, or per dimension

    Perfect tiles: this many, or a multiple. Ragged tiles: at least this many; every instance of an array but its last
    one has full tiles for all arrays inside it, and the last one has at least one tile.
    """
    inside, needed = np.ones_like(instances[0]), np.ones_like(instances[0])
    for counts in instances:
        needed = np.maximum(needed, (counts - 1) * inside + 1)
        inside = inside * counts
    return np.where(perfect, inside, needed)


@lru_cache(maxsize=1 << 14)
def spread_counts(left: int, spans: AxisSpans, tiling: Tiling, even: bool) -> frozenset[int]:
    """Return the numbers of instances over which `left` tiles can be spread, if no other dimension takes any."""
    return frozenset(way.instances for way in _spread_within(left, spans, tiling, even))


@lru_cache(maxsize=4096)
def _any_spreading(size: int, spans: AxisSpans, tiling: Tiling, even: bool) -> tuple[Spreading, ...]:
    """Return the ways to spread a dimension, whatever the tile below the array."""
    if spans == ((1, 1), (1, 1)):
        return (Spreading(1, frozenset([(1, 1)])),)
    (least_x, most_x), (least_y, most_y) = spans
    lefts = {ceil_div(size, tile) for tile in factors(size, tiling, even)}
    found = (_every_pair(left, (most_x, most_y), tiling, even, (least_x, least_y)) for left in lefts)
    return _least_of(itertools.chain.from_iterable(found))


def realizable(
    problem: Problem,
    fanout: Fanout,
    tiling: Tiling | Sequence[Tiling],
    even: Sequence[bool],
    tiles: Ints,
    instances: Ints,
    spans: Sequence[AxisSpans] | None = None,
) -> Flags:
    """Return (rows,) whether the axes can spread tiles (rows, dims) over exactly as many instances (rows, dims) as
    given."""
    use, state = AxisUse.of(fanout), np.zeros(len(tiles), dtype=np.int64)
    spans = spans or _all_spans(problem, fanout)
    tilings = per_dim(tiling, len(problem.dims))
    for d, ((_, size), grows, span) in enumerate(zip(problem.dims, even, spans, strict=True)):
        if span == ((1, 1), (1, 1)):
            continue
        columns = (tiles[:, d], instances[:, d], state + 1)
        first, which = distinct(row_codes(columns))
        after = []
        for tile, wanted, before in zip(
            tiles[first, d].tolist(), instances[first, d].tolist(), state[first].tolist(), strict=True
        ):
            ways = _spread_within(ceil_div(size, tile), span, tilings[d], grows)
            pairs = next((w.pairs for w in ways if w.instances == wanted), None)
            after.append(-1 if pairs is None or before < 0 else use.after(before, pairs))
        state = np.array(after, dtype=np.int64)[which]
    return state >= 0
