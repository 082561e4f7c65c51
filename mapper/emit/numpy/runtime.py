"""The part of an emitted numpy program that is the same in every one: views of buffers, and how tiles move.

`program.py` pastes everything below the imports into its output, and after it that of the other runtimes that a program
needs. So these may import nothing from tilewright but each other.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

# ---- buffers ---------------------------------------------------------------------------------------------------------

Arrays = dict[str, np.ndarray]


def number_types(operands: Arrays, products: int) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Types to compute in and to return. Integers become floats, which numpy multiplies fast, if every sum is exact."""
    given = np.result_type(*operands.values())
    if given.kind not in "iub":
        return given, given
    whole = np.dtype(np.int64)
    bound = products
    for array in operands.values():
        bound *= max(abs(int(array.max())), abs(int(array.min())), 1)
    if bound < 2**24:
        return np.dtype(np.float32), whole
    return np.dtype(np.float64) if bound < 2**53 else whole, whole


def placed(
    array: np.ndarray,
    expected: tuple[int, ...],
    origin: tuple[int, ...],
    shape: tuple[int, ...],
    kind: np.dtype[Any],
) -> np.ndarray:
    """An operand in the outermost memory, its first element at the origin; ragged tiles read the zeros around it."""
    if array.shape != expected:
        raise ValueError(f"an operand has shape {array.shape}, expected {expected}")
    whole = np.zeros(shape, kind)
    whole[tuple(slice(o, o + n) for o, n in zip(origin, expected, strict=True))] = array
    return whole


def tiles(
    buffer: np.ndarray, instances: int, spread: list[tuple[int, int | None, int]], tile: tuple[int, ...]
) -> np.ndarray:
    """All tiles of a buffer as a view: one axis per tensor axis for the tile's first index, instances, the tile.

    instances  number of leading axes of the buffer that stand for its instances
    spread     (trips, tensor axis or None, step) of loops below the buffer that are axes of the view
    tile       extent of the tile per tensor axis; () where the loops in `spread` are the tile
    """
    sizes, strides = buffer.shape[instances:], buffer.strides[instances:]
    reach = [extent - 1 for extent in tile] or [0] * len(sizes)
    steps = []
    for trips, axis, step in spread:
        steps.append(0 if axis is None else step * strides[axis])
        if axis is not None:
            reach[axis] += step * (trips - 1)
    starts = [size - last for size, last in zip(sizes, reach, strict=True)]
    return as_strided(
        buffer,
        (*starts, *buffer.shape[:instances], *(trips for trips, _, _ in spread), *tile),
        (*strides, *buffer.strides[:instances], *steps, *(strides if tile else ())),
    )


# ---- counting --------------------------------------------------------------------------------------------------------
#
# A tile is a product over tensor axes, and instances stand at a product of offsets over dimensions. So what an instance
# holds and what it wants is compared one dimension (or one sum of dimensions) at a time. Equal moves are compared once
# and looked up from then on.


class HeldRange(NamedTuple):
    """One instance, one dimension: the range that it wants, and the range that it held when it last worked.

    shift is None if it holds nothing yet.
    """

    offset: int
    extent: int
    shift: int | None
    held: int


RangeGroup = tuple[HeldRange, ...]


class Along:
    """One dimension, as the instances of a buffer (or the MACs) stand along it.

    size      of the dimension
    tile      elements of it in one instance's tile
    loops     (trips, step, kind) of each loop that deals out tiles. The kind says how the instances along it reach the
              buffer outside: `outer` each its own buffer, `apart` each its own transfer, `joined` one common transfer
    remember  whether a move starts from what an instance held when it last worked, or from nothing
    """

    def __init__(
        self, size: int, tile: int, loops: tuple[tuple[int, int, str], ...] = (), remember: bool = False
    ) -> None:
        places = list(itertools.product(*(range(trips) for trips, _, _ in loops)))
        self.size, self.tile, self.remember = size, tile, remember
        self.offsets = [sum(i * step for i, (_, step, _) in zip(p, loops, strict=True)) for p in places]
        self.members = {
            "alone": [[i] for i in range(len(places))],
            "transfer": _grouped(places, loops, ("outer", "apart")),
            "outer": _grouped(places, loops, ("outer",)),
        }
        self.moves: list[tuple[HeldRange | None, ...]] = []
        self._states: list[tuple[int | None, ...]] = [(None,) * len(places)]
        self._state = 0
        self._known: dict[tuple[int, int], tuple[int, int]] = {}
        self._move_ids: dict[tuple[HeldRange | None, ...], int] = {}
        self._state_ids = {self._states[0]: 0}
        self._groups: dict[tuple[int, str], dict[RangeGroup, int]] = {}

    def move_to(self, start: int) -> int:
        """All instances move, the first one to `start`; returns a number that equal moves share."""
        key = (self._state, start)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._move(start)
        if self.remember:
            self._state = found[0]
        return found[1]

    def _move(self, start: int) -> tuple[int, int]:
        moves: list[HeldRange | None] = []
        after: list[int | None] = []
        for offset, old in zip(self.offsets, self._states[self._state], strict=True):
            extent = min(self.tile, self.size - start - offset)
            idle = extent <= 0
            if idle:
                moves.append(None)
            elif old is None:
                moves.append(HeldRange(offset, extent, None, 0))
            else:
                moves.append(HeldRange(offset, extent, start - old, min(self.tile, self.size - old - offset)))
            after.append(old if idle else start)
        state = _number(tuple(after), self._state_ids, self._states)
        return state, _number(tuple(moves), self._move_ids, self.moves)

    def held(self, start: int) -> tuple[tuple[int, int] | None, ...]:
        """What every instance holds: where it begins, as seen from a start, and how far it goes."""
        found = zip(self.offsets, self._states[self._state], strict=True)
        return tuple([None if old is None else (old - start, min(self.tile, self.size - old - o)) for o, old in found])

    def hold(self, held: tuple[tuple[int, int] | None, ...], start: int) -> None:
        """Every instance holds this, as seen from a start."""
        state = tuple([None if place is None else place[0] + start for place in held])
        self._state = _number(state, self._state_ids, self._states)

    def forget(self) -> None:
        """No instance holds anything."""
        self._state = 0

    def groups(self, move: int, by: str) -> dict[RangeGroup, int]:
        """Instances at work that share a transfer (or a buffer), and how many groups look like that."""
        if (move, by) not in self._groups:
            found: dict[RangeGroup, int] = {}
            for members in self.members[by]:
                working = [m for m in (self.moves[move][i] for i in members) if m is not None]
                if working:
                    group = tuple(m._replace(offset=m.offset - working[0].offset) for m in working)
                    found[group] = found.get(group, 0) + 1
            self._groups[move, by] = found
        return self._groups[move, by]

    def number_of_groups(self, move: int, by: str) -> int:
        """Groups with at least one instance at work."""
        return sum(self.groups(move, by).values())


def _grouped(
    places: list[tuple[int, ...]], loops: tuple[tuple[int, int, str], ...], kinds: tuple[str, ...]
) -> list[list[int]]:
    """Instances with equal coordinates along all loops of these kinds, together."""
    found: dict[tuple[int, ...], list[int]] = {}
    for number, place in enumerate(places):
        key = tuple(i for i, (_, _, kind) in zip(place, loops, strict=True) if kind in kinds)
        found.setdefault(key, []).append(number)
    return list(found.values())


def _number(item: Any, numbers: dict[Any, int], items: list[Any]) -> int:
    """The number of an item; new items are added."""
    if item not in numbers:
        numbers[item] = len(items)
        items.append(item)
    return numbers[item]


def _sums(coefficients: tuple[int, ...], extents: tuple[int, ...], box: bool) -> np.ndarray:
    """Distinct values of `sum(coefficient * i)` for all i below the extents; of a box, also those between them."""
    if box:
        return np.arange(1 + sum(c * (extent - 1) for c, extent in zip(coefficients, extents, strict=True)))
    reached = np.zeros(1, np.int64)
    for coefficient, extent in zip(coefficients, extents, strict=True):
        reached = np.unique(reached[:, None] + coefficient * np.arange(extent))
    return reached


def _wanted_and_held(coefficients: tuple[int, ...], groups: tuple[RangeGroup, ...], box: bool) -> tuple[int, int]:
    """Along one tensor axis: elements that the group wants, and those that all who want them hold already."""
    last = sum(c * max(m.offset + m.extent - 1 for m in g) for c, g in zip(coefficients, groups, strict=True))
    wanting, holding = np.zeros(last + 1, np.int64), np.zeros(last + 1, np.int64)
    for moves in itertools.product(*groups):
        base = sum(c * m.offset for c, m in zip(coefficients, moves, strict=True))
        new = _sums(coefficients, tuple(m.extent for m in moves), box)
        wanting[base + new] += 1
        shifts = [m.shift for m in moves if m.shift is not None]
        if len(shifts) == len(moves):
            shift = sum(c * s for c, s in zip(coefficients, shifts, strict=True))
            old = _sums(coefficients, tuple(m.held for m in moves), box) - shift
            holding[base + np.intersect1d(old, new)] += 1
    return int(np.count_nonzero(wanting)), int(np.count_nonzero((wanting > 0) & (wanting == holding)))


class TensorPlace:
    """One tensor at one place of the schedule.

    place   its dimensions
    others  further dimensions over which there are instances
    ranks   per tensor axis, (index into place, coefficient) of each dimension that moves along it
    box     a tile has all elements from its first to its last one, gaps between them included
    """

    def __init__(
        self, place: list[Along], others: list[Along], ranks: list[list[tuple[int, int]]], box: bool = False
    ) -> None:
        self.place, self.others, self.ranks, self.box = place, others, ranks, box
        self.along = [*place, *others]
        self._known: dict[tuple[int, tuple[int, ...], str], tuple[int, int]] = {}

    def moves(self, starts: tuple[int, ...]) -> tuple[int, ...]:
        """Move all dimensions; their moves by number."""
        return tuple([along.move_to(start) for along, start in zip(self.along, starts, strict=True)])

    def forget(self) -> None:
        """The instances hold nothing."""
        for along in self.along:
            along.forget()

    def words(self, moves: tuple[int, ...], by: str, reuse: bool = False) -> int:
        """Words to be transferred: the product of what is wanted; with reuse, less the product of what is held."""
        wanted, held = 1, int(reuse and bool(self.place))
        for axis in range(len(self.ranks)):
            rank_wanted, rank_held = self._along_axis(axis, moves, by)
            wanted, held = wanted * rank_wanted, held * rank_held
        others = zip(self.others, moves[len(self.place) :], strict=True)
        return (wanted - held) * math.prod(along.number_of_groups(move, by) for along, move in others)

    def _along_axis(self, axis: int, moves: tuple[int, ...], by: str) -> tuple[int, int]:
        rank = self.ranks[axis]
        key = (axis, tuple(moves[i] for i, _ in rank), by)
        if key not in self._known:
            coefficients = tuple(c for _, c in rank)
            wanted = held = 0
            for combination in itertools.product(*(self.place[i].groups(moves[i], by).items() for i, _ in rank)):
                number = math.prod(n for _, n in combination)
                found = _wanted_and_held(coefficients, tuple(group for group, _ in combination), self.box)
                wanted, held = wanted + number * found[0], held + number * found[1]
            self._known[key] = wanted, held
        return self._known[key]
