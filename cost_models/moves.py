"""The moves of single dimensions: how the steps of its loops shift the range of a dimension, with equal moves grouped.

A ragged edge makes a few kinds of moves instead of one; they are found by the length that remains. Ranks, which are
sums of dimensions, take all combinations of their dimensions' kinds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..arch import Footprint
from ..ir import Digit, Stored
from .sets import IntArray, Move, lines_along_rank, lines_by_bank, moved_along_rank


class Steps(NamedTuple):
    """Which time steps are counted.

    last    temporal loops at positions up to this one take all their values, those inside it stand at 0
    moving  only the steps of the loop at `last` itself, at which those inside it wrap from their last value to 0
    """

    last: int
    moving: bool = False


FIRST = Steps(-1)
"""The very first step, all temporal loops at 0."""
EVERY = Steps(1 << 30)
"""Every step, each on its own."""

Place = frozenset[tuple[int, int]]
"""One instance: for every spatial loop above it, (position of the loop, its value)."""
ALL: Place = frozenset()
"""Instead of one instance: all of them."""


def words_along_rank(
    coefficients: tuple[int, ...],
    kinds: list[tuple[Kind, ...]],
    footprint: Footprint,
    per_line: int = 1,
    stored: Stored | None = None,
) -> tuple[int, int]:
    """Return the words wanted and held along one rank, over all combinations of its dimensions' moves; with `per_line`
    above 1, the lines that contain these words; of words that are `stored`, where kinds tell how far from the first
    index they begin."""
    wanted = held = 0
    if stored is not None:
        kinds = _alike_inside(coefficients, kinds, stored)
    for count, moves, phase in _combinations(kinds, coefficients):
        if stored is not None:
            first, end = max(0, stored.first - phase), max(0, stored.end - phase)
            inside = not first and phase + _span(coefficients, moves) <= stored.end
            new, kept = moved_along_rank(coefficients, moves, footprint, None if inside else (first, end))
        elif per_line == 1:
            new, kept = moved_along_rank(coefficients, moves, footprint)
        else:
            new, kept = lines_along_rank(coefficients, moves, footprint, per_line, phase % per_line)
        wanted += count * new
        held += count * kept
    return wanted, held


def _alike_inside(
    coefficients: tuple[int, ...], kinds: list[tuple[Kind, ...]], stored: Stored
) -> list[tuple[Kind, ...]]:
    """Return the kinds with those as one that differ in where they begin alone, and that want stored words only,
    wherever the others begin."""
    firsts = [c * max(kind.phase for kind in each) for c, each in zip(coefficients, kinds, strict=True) if each]
    if len(firsts) < len(kinds):
        return kinds
    longest = 1 + sum(c * max(map(_reach, each)) for c, each in zip(coefficients, kinds, strict=True))
    found = []
    for c, each, first in zip(coefficients, kinds, firsts, strict=True):
        inside = stored.first, stored.end - longest - (sum(firsts) - first)
        # All that begin inside stand for the first of them, where any other begins.
        counts: Counter[tuple[tuple[Move, ...], int]] = Counter()
        least = -(-inside[0] // c)
        for kind in each:
            begins = least if inside[0] <= c * kind.phase <= inside[1] else kind.phase
            counts[kind.moves, begins] += kind.count
        found.append(tuple(Kind(count, moves, phase) for (moves, phase), count in counts.items()))
    return found


def _reach(kind: Kind) -> int:
    """The last index that any of its instances wants, from where it begins."""
    return max(move.offset + move.extent - 1 for move in kind.moves)


def _span(coefficients: tuple[int, ...], moves: tuple[tuple[Move, ...], ...]) -> int:
    """Elements from where the moves of a group begin to the last one that it wants."""
    reaches = (max(m.offset + m.extent - 1 for m in each) for each in moves)
    return 1 + sum(c * reach for c, reach in zip(coefficients, reaches, strict=True))


def most_lines_along_rank(
    coefficients: tuple[int, ...], kinds: list[tuple[Kind, ...]], footprint: Footprint, per_line: int
) -> int:
    """Return the largest number of lines that any tile along one rank touches."""
    return max(
        lines_along_rank(coefficients, moves, footprint, per_line, phase % per_line)[0]
        for _, moves, phase in _combinations(kinds, coefficients)
    )


def banks_along_rank(
    coefficients: tuple[int, ...], kinds: list[tuple[Kind, ...]], footprint: Footprint, per_line: int, banks: int
) -> Counter[tuple[tuple[int, int], ...]]:
    """Count, over all combinations of the dimensions' moves, how often the lines along one rank are distributed alike
    over banks (`lines_by_bank`)."""
    found: Counter[tuple[tuple[int, int], ...]] = Counter()
    for count, moves, phase in _combinations(kinds, coefficients):
        found[lines_by_bank(coefficients, moves, footprint, per_line, banks, phase % (per_line * banks))] += count
    return found


class RankLoops(NamedTuple):
    """The loops above a node along one rank, with a coefficient and a size for each dimension of the rank.

    digits  per dimension, its loops, outermost first; tiles: the node's tile per dimension
    joined  positions of spatial loops whose instances are served together
    stored  the words that count; None: all do
    """

    coefficients: tuple[int, ...]
    sizes: tuple[int, ...]
    digits: tuple[tuple[Digit, ...], ...]
    tiles: tuple[int, ...]
    joined: frozenset[int]
    footprint: Footprint
    stored: Stored | None = None


def rank_words(above: RankLoops, moving: int | None, per_line: int = 1) -> tuple[int, int]:
    """Return the words along one rank that a node's instances want, and those that they hold already; with `per_line`
    above 1, the lines that contain them.

    moving  position of the loop that steps, all others standing still; None: every place once, nothing held
    """
    steps, kinds = EVERY if moving is None else Steps(moving, moving=True), []
    for c, size, loops, tile in zip(above.coefficients, above.sizes, above.digits, above.tiles, strict=True):
        joined = above.joined & {x.position for x in loops}
        period = size if above.stored is not None else per_line // math.gcd(per_line, c)
        kinds.append(kinds_of_move(size, loops, tile, relative_steps(loops, steps), joined, ALL, period))
    return words_along_rank(above.coefficients, kinds, above.footprint, per_line, above.stored)


def rank_lines(above: RankLoops, per_line: Sequence[int]) -> list[int]:
    """Return the lines along one rank that a node's instances want, counting every place once, for several numbers of
    words per line."""
    ranges = []
    for size, loops, tile in zip(above.sizes, above.digits, above.tiles, strict=True):
        joined = above.joined & {x.position for x in loops}
        each = ranges_of_tiles(size, loops, tile, EVERY, joined, ALL)
        assert each is not None
        ranges.append(each)
    found = lines_of_ranges(above.coefficients, ranges, above.footprint, per_line)
    return [rank_words(above, None, b)[0] for b in per_line] if found is None else found


@dataclass(frozen=True)
class Kind:
    """A group of equal moves of one dimension: how often they happen, and the move of each joined instance.

    phase  where they begin, modulo some period: they begin there alike
    """

    count: int
    moves: tuple[Move, ...]
    phase: int = 0


def _combinations(
    kinds: list[tuple[Kind, ...]], coefficients: tuple[int, ...]
) -> Iterator[tuple[int, tuple[tuple[Move, ...], ...], int]]:
    """Yield every choice of a kind for each dimension of a rank, with the place along the rank where it begins, up to
    the periods."""
    if not kinds:
        yield 1, (), 0
        return
    for head in kinds[0]:
        for count, moves, phase in _combinations(kinds[1:], coefficients[1:]):
            yield head.count * count, (head.moves, *moves), coefficients[0] * head.phase + phase


def relative_steps(digits: tuple[Digit, ...], steps: Steps) -> Steps:
    """Return an equal description of the steps for one dimension: of a loop over another dimension it notices only
    which of its own loops wrap."""
    inside = [d.position for d in digits if not d.spatial and d.position > steps.last]
    if not inside and not (steps.moving and any(d.position == steps.last for d in digits)):
        return EVERY
    if any(d.position == steps.last for d in digits):
        return steps
    return Steps(min(inside) - 1, steps.moving)


@lru_cache(maxsize=1 << 14)
def kinds_of_move(
    size: int,
    digits: tuple[Digit, ...],
    tile: int,
    steps: Steps,
    joined: frozenset[int],
    only: Place,
    period: int = 1,
) -> tuple[Kind, ...]:
    """Return all moves of one dimension in some steps, with equal moves grouped; moves that begin at different indices
    modulo the period are not equal.

    Digits outside the moving loop take all their values, the moving one all but its first, those inside it wrap
    from their last value to 0; spatial digits take all their values, `joined` ones within one move.
    """
    moved = next((d for d in digits if steps.moving and d.position == steps.last and not d.spatial), None)
    inside = tuple(d for d in digits if not d.spatial and d.position > steps.last)
    wrapping = inside if steps.moving else ()
    counted = [d for d in digits if d not in inside and d.position not in joined]
    values = dict(only)
    fixed = sum(d.tile * values[d.position] for d in counted if d.position in values)
    counted = [d for d in counted if d.position not in values]
    instances = _offsets([d for d in digits if d.position in joined], None)
    reach = tile + sum((d.trips - 1) * d.tile for d in wrapping)
    if period == 1 and math.prod(d.trips for d in digits) * tile == size:
        count = math.prod(d.trips - (d is moved) for d in counted)
        row = (reach,) * len(instances)
        return (_kind(count, row, instances, tile, moved, wrapping),) if count else ()
    starts = _offsets(counted, moved) + fixed
    starts = starts[starts < size]
    # Nothing depends on what is left beyond the reach of the furthest instance.
    most = reach + int(instances.max())
    codes, counts = np.unique(starts % period * (most + 1) + np.minimum(size - starts, most), return_counts=True)
    phases, rest = np.divmod(codes, most + 1)
    alike: Counter[tuple[int, tuple[int, ...]]] = Counter()
    left = np.clip(rest[:, None] - instances, 0, reach)
    for phase, row, count in zip(phases.tolist(), left.tolist(), counts.tolist(), strict=True):
        alike[phase, tuple(row)] += count
    return tuple(
        _kind(count, row, instances, tile, moved, wrapping, phase) for (phase, row), count in sorted(alike.items())
    )


class Ranges(NamedTuple):
    """The ranges of one dimension that the tiles cover, in steps that move none of them.

    first, last  (steps, joined instances) first and last index; of an instance without work, a last before the first
    """

    first: IntArray
    last: IntArray


def ranges_of_tiles(
    size: int, digits: tuple[Digit, ...], tile: int, steps: Steps, joined: frozenset[int], only: Place
) -> Ranges | None:
    """Return the range of every tile of one dimension in some steps; None where the steps move it."""
    inside = [d for d in digits if not d.spatial and d.position > steps.last]
    if steps.moving and (inside or any(d.position == steps.last and not d.spatial for d in digits)):
        return None
    counted = [d for d in digits if d not in inside and d.position not in joined]
    values = dict(only)
    fixed = sum(d.tile * values[d.position] for d in counted if d.position in values)
    starts = _offsets([d for d in counted if d.position not in values], None) + fixed
    instances = _offsets([d for d in digits if d.position in joined], None)
    first = starts[starts < size, None] + instances
    return Ranges(first, np.minimum(first + tile, size) - 1)


def lines_of_ranges(
    coefficients: tuple[int, ...], ranges: Sequence[Ranges], footprint: Footprint, per_line: Sequence[int]
) -> list[int] | None:
    """Lines along a rank that tiles lie in, over all combinations of its dimensions' steps, for lines of several
    numbers of words: what `words_along_rank` has as wanted. None: not known here, for joined instances along one of
    several dimensions, and for words of these that may step over a line."""
    if len(ranges) > 1 and any(each.first.shape[1] > 1 for each in ranges):
        return None
    if len(ranges) > 1 and footprint == "exact" and min(per_line) < max(coefficients):
        return None
    first: IntArray = np.zeros((1, 1), dtype=np.int64)
    last, words = first, first + 1
    for coefficient, each in zip(coefficients, ranges, strict=True):
        first = (first[:, None] + coefficient * each.first[None]).reshape(-1, each.first.shape[1])
        last = (last[:, None] + coefficient * each.last[None]).reshape(-1, each.last.shape[1])
        words = each.last - each.first + 1
    found, at_work = [], words > 0 if len(ranges) == 1 else np.ones_like(first, dtype=bool)
    for length in per_line:
        if len(ranges) == 1 and footprint == "exact" and coefficients[0] >= length:  # each word in a line of its own
            found.append(int(words[at_work].sum()))
            continue
        low, high = first // length, last // length
        # Neighbours that are served together share the line in which one ends and the next begins.
        shared = (low[:, 1:] == high[:, :-1]) & at_work[:, 1:] & at_work[:, :-1]
        found.append(int((high - low + 1)[at_work].sum()) - int(np.count_nonzero(shared)))
    return found


def _offsets(digits: list[Digit], moved: Digit | None) -> IntArray:
    """First indices for all values of some digits; the moved digit starts at 1."""
    offsets = np.zeros(1, dtype=np.int64)
    for digit in digits:
        values = np.arange(digit is moved, digit.trips) * digit.tile
        offsets = (offsets[:, None] + values[None, :]).ravel()
    return offsets


def _kind(
    count: int,
    left: Sequence[int],
    instances: IntArray,
    tile: int,
    moved: Digit | None,
    wrapping: tuple[Digit, ...],
    phase: int = 0,
) -> Kind:
    """Return the moves of the joined instances, given the elements that remain from each instance's first index on."""
    moves = []
    for offset, rest in zip(instances.tolist(), left, strict=True):
        if rest <= 0:
            continue
        extent = min(tile, rest)
        if moved is not None:
            shift, old_extent = moved.tile - sum((d.trips - 1) * d.tile for d in wrapping), tile
        else:
            back, remaining = _last_place(rest, wrapping)
            shift, old_extent = -back, min(tile, remaining)
        moves.append(Move(offset, extent, shift, old_extent))
    return Kind(count, tuple(moves), phase)


def _last_place(left: int, wrapping: tuple[Digit, ...]) -> tuple[int, int]:
    """Return the place where wrapping loops stood last, with `left` elements remaining: the offset, and the elements
    from there on."""
    back = 0
    for digit in wrapping:
        steps = min(digit.trips - 1, (left - back - 1) // digit.tile)
        back += steps * digit.tile
    return back, left - back
