"""A cascade of operations on one accelerator, executed by the tree below, which counts the words that move.

Written by tilewright. It needs nothing but numpy. Run it:

    python reference.py [seed]

It computes the cascade twice, by the tree and one operation after the other, compares all outputs, and compares the
words moved with those that the cost model expects. Outputs of whole numbers must be equal; where an operation takes
exponentials, quotients or roots, outputs may differ by a part in 10^9. It exits with 0 if all agree.
"""

# Cascade       T+O
#              T[m, n] += A[m, k] * B[k, n]
#              O[m, p] += T[m, n] * C[n, p]
#              M=4 N=4 K=4 P=4
# Architecture  three_level
# Tree
#     DRAM keeps A B C O
#     GLB keeps T
#     branch T
#       parallel M in 4 on array.y
#         parallel N in 4 on array.y
#           parallel K in 4 on array.x
#     branch O
#       parallel M in 4 on array.y
#         parallel P in 4 on array.y
#           parallel N in 4 on array.x

from __future__ import annotations

import itertools
import math
import sys
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

OPERANDS: dict[str, tuple[int, ...]] = {'A': (4, 4), 'B': (4, 4), 'C': (4, 4)}
# Whether all results of whole numbers are whole numbers.
EXACT = True
# Words read and written, by memory and tensor, as the cost model has them.
EXPECTED: dict[tuple[str, str], tuple[int, int]] = {
    ('DRAM', 'A'): (16, 0),
    ('DRAM', 'B'): (16, 0),
    ('GLB', 'T'): (16, 16),
    ('DRAM', 'C'): (16, 0),
    ('DRAM', 'O'): (0, 16),
}


def run(operands: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], Words]:
    """Execute the tree: the outputs, and the words (read, written) by (memory, tensor).

    Loop variables are the first index of a tile, as the first instance sees it. Loops over instances (`parallel`) are
    axes of the buffers, so that one statement moves or computes for all instances.
    """
    kind = np.float64
    # DRAM keeps A
    dram_a = placed(operands['A'], (4, 4), (0, 0), (4, 4))
    # DRAM keeps B
    dram_b = placed(operands['B'], (4, 4), (0, 0), (4, 4))
    # GLB keeps T
    glb_t = np.zeros((4, 4))
    # DRAM keeps C
    dram_c = placed(operands['C'], (4, 4), (0, 0), (4, 4))
    # DRAM keeps O
    dram_o = np.zeros((4, 4))

    # Each operation's part of the buffers that several have in common.
    glb_t_of_t = glb_t[0:4, 0:4]
    glb_t_of_o = glb_t[0:4, 0:4]

    # T: the tiles of a buffer, by first index per tensor axis
    mac_a = tiles(dram_a, 0, [(4, 0, 1), (4, 1, 1)], ())
    mac_b = tiles(dram_b, 0, [(4, 1, 1), (4, 0, 1)], ())
    mac_t = tiles(glb_t_of_t, 0, [(4, 0, 1), (4, 1, 1)], ())
    macs_t, = counted0 = meters0()

    # O: the tiles of a buffer, by first index per tensor axis
    mac_c = tiles(dram_c, 0, [(4, 1, 1), (4, 0, 1)], ())
    mac_o = tiles(dram_o, 0, [(4, 0, 1), (4, 1, 1)], ())
    mac_t_2 = tiles(glb_t_of_o, 0, [(4, 0, 1), (4, 1, 1)], ())
    macs_o, = counted1 = meters1()

    # DRAM keeps A
    # DRAM keeps B
    # DRAM keeps C
    # DRAM keeps O
    # GLB keeps T
    glb_t_of_t[...] = 0
    # branch T
    # all MACs: parallel M in 4; parallel N in 4; parallel K in 4
    macs_t.step((), (0, 0))
    mac_t[0, 0] += np.einsum("ac,bc->ab", mac_a[0, 0], mac_b[0, 0])
    # branch O
    # all MACs: parallel M in 4; parallel P in 4; parallel N in 4
    macs_o.step((), (0, 0))
    mac_o[0, 0] += np.einsum("ac,bc->ab", mac_t_2[0, 0], mac_c[0, 0])

    # T has its output in GLB
    # O has its output in DRAM
    return {'O': dram_o[:4, :4]}, words_moved((*counted0, *counted1,))


def meters0() -> tuple[Any, ...]:
    """Fresh meters: they compare what every instance holds with what it wants, and count the difference."""
    macs_t = Macs([
        (('DRAM', 'A'), TensorPlace(
            [
                Along(4, 1, ((4, 1, 'joined'),)),  # M
                Along(4, 1, ((4, 1, 'joined'),)),  # K
            ],
            [
                Along(4, 1, ((4, 1, 'joined'),)),  # N
            ],
            [[(0, 1)], [(1, 1)]],
        ), [None, None, None]),
        (('DRAM', 'B'), TensorPlace(
            [
                Along(4, 1, ((4, 1, 'joined'),)),  # K
                Along(4, 1, ((4, 1, 'joined'),)),  # N
            ],
            [
                Along(4, 1, ((4, 1, 'joined'),)),  # M
            ],
            [[(0, 1)], [(1, 1)]],
        ), [None, None, None]),
        (('GLB', 'T'), TensorPlace(
            [
                Along(4, 1, ((4, 1, 'joined'),)),  # M
                Along(4, 1, ((4, 1, 'joined'),)),  # N
            ],
            [
                Along(4, 1, ((4, 1, 'joined'),)),  # K
            ],
            [[(0, 1)], [(1, 1)]],
        ), [None, None, None]),
    ], False)
    return macs_t,


def meters1() -> tuple[Any, ...]:
    """Fresh meters: they compare what every instance holds with what it wants, and count the difference."""
    macs_o = Macs([
        (('GLB', 'T'), TensorPlace(
            [
                Along(4, 1, ((4, 1, 'joined'),)),  # M
                Along(4, 1, ((4, 1, 'joined'),)),  # N
            ],
            [
                Along(4, 1, ((4, 1, 'joined'),)),  # P
            ],
            [[(0, 1)], [(1, 1)]],
        ), [None, None, None]),
        (('DRAM', 'C'), TensorPlace(
            [
                Along(4, 1, ((4, 1, 'joined'),)),  # N
                Along(4, 1, ((4, 1, 'joined'),)),  # P
            ],
            [
                Along(4, 1, ((4, 1, 'joined'),)),  # M
            ],
            [[(0, 1)], [(1, 1)]],
        ), [None, None, None]),
        (('DRAM', 'O'), TensorPlace(
            [
                Along(4, 1, ((4, 1, 'joined'),)),  # M
                Along(4, 1, ((4, 1, 'joined'),)),  # P
            ],
            [
                Along(4, 1, ((4, 1, 'joined'),)),  # N
            ],
            [[(0, 1)], [(1, 1)]],
        ), [None, None, None]),
    ], False)
    return macs_o,


# T[m, n] += A[m, k] * B[k, n]
def direct_t(operands: dict[str, np.ndarray]) -> np.ndarray:
    """The same operation without a schedule: the reference that the output of `run` is compared with."""
    kind = np.float32 if np.result_type(*operands.values()).kind == "i" else np.float64  # holds every sum of the check's whole numbers exactly
    a = operands['A'].astype(kind)
    b = operands['B'].astype(kind)
    result = np.zeros((4, 4), kind)
    result[:, :] += np.einsum("ac,cb->ab", a[:, :], b[:, :], optimize=True)
    return result


# O[m, p] += T[m, n] * C[n, p]
def direct_o(operands: dict[str, np.ndarray]) -> np.ndarray:
    """The same operation without a schedule: the reference that the output of `run` is compared with."""
    kind = np.float32 if np.result_type(*operands.values()).kind == "i" else np.float64  # holds every sum of the check's whole numbers exactly
    t = operands['T'].astype(kind)
    c = operands['C'].astype(kind)
    result = np.zeros((4, 4), kind)
    result[:, :] += np.einsum("ac,cb->ab", t[:, :], c[:, :], optimize=True)
    return result


def direct(operands: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All tensors that the operations write, each computed whole before the next."""
    tensors = dict(operands)
    tensors['T'] = direct_t({'A': surrounded(tensors['A'], [(0, 0), (0, 0)], (4, 4)), 'B': surrounded(tensors['B'], [(0, 0), (0, 0)], (4, 4))})
    tensors['O'] = direct_o({'T': surrounded(tensors['T'], [(0, 0), (0, 0)], (4, 4)), 'C': surrounded(tensors['C'], [(0, 0), (0, 0)], (4, 4))})
    return tensors


# ---- tensors of a cascade --------------------------------------------------------------------------------------------


def placed(array: np.ndarray, expected: tuple[int, ...], origin: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
    """An operand in the outermost memory, its first element at the origin, and zeros around it."""
    if array.shape != expected:
        raise ValueError(f"an operand has shape {array.shape}, expected {expected}")
    whole = np.zeros(shape)
    whole[tuple(slice(o, o + n) for o, n in zip(origin, expected, strict=True))] = array
    return whole


def aligned(array: np.ndarray, axes: tuple[int, ...], count: int) -> np.ndarray:
    """An array whose axes have these labels, with one axis for each of `count` labels, in order."""
    ordered = array.transpose([axes.index(axis) for axis in sorted(axes)])
    lengths = iter(ordered.shape)
    return ordered.reshape([next(lengths) if axis in axes else 1 for axis in range(count)])


def surrounded(array: np.ndarray, pads: list[tuple[int, int]], shape: tuple[int, ...]) -> np.ndarray:
    """A tensor with zeros around it, as far as an operation reads it."""
    return np.pad(array, pads)[tuple(slice(n) for n in shape)]


def gathered(array: np.ndarray, ranks: list[list[tuple[int, int]]], sizes: tuple[int, ...]) -> np.ndarray:
    """The word of a tensor at every point: ranks are sums of coefficient * index, given as (dimension, coefficient)."""
    indices = []
    for rank in ranks:
        index = np.zeros((1,) * len(sizes), np.int64)
        for axis, coefficient in rank:
            steps = coefficient * np.arange(sizes[axis])
            index = index + steps.reshape([-1 if i == axis else 1 for i in range(len(sizes))])
        indices.append(index)
    return np.broadcast_to(array[tuple(indices)], sizes)


# ---- check of a cascade ----------------------------------------------------------------------------------------------


def random_inputs(shapes: dict[str, tuple[int, ...]], seed: int, exact: bool) -> dict[str, np.ndarray]:
    """Small whole numbers, whose results are exact; else numbers up to 1, of which any function can be taken."""
    rng = np.random.default_rng(seed)
    if exact:
        return {name: rng.integers(-2, 3, shape).astype(float) for name, shape in shapes.items()}
    return {name: 1.0 - rng.random(shape) for name, shape in shapes.items()}


# ---- buffers ---------------------------------------------------------------------------------------------------------


def number_types(operands: dict[str, np.ndarray], products: int) -> tuple[np.dtype[Any], np.dtype[Any]]:
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


def padded(array: np.ndarray, expected: tuple[int, ...], shape: tuple[int, ...], kind: np.dtype[Any]) -> np.ndarray:
    """An operand in the outermost memory, with zeros up to whole tiles: ragged last tiles read zeros there."""
    if array.shape != expected:
        raise ValueError(f"an operand has shape {array.shape}, expected {expected}")
    whole = np.zeros(shape, kind)
    whole[tuple(slice(n) for n in expected)] = array
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


# ---- meters ----------------------------------------------------------------------------------------------------------


class Visits:
    """Which places were visited before."""

    def __init__(self) -> None:
        self.all, self.places = False, set[tuple[int, ...]]()
        self._outside: list[tuple[bool, set[tuple[int, ...]]]] = []

    def visit(self, place: tuple[int, ...]) -> bool:
        """Visit a place; whether it was visited before."""
        before = self.all or place in self.places
        self.places.add(place)
        return before

    def enter(self, again: bool) -> None:
        """Begin on a pass, of whose places all or none were visited before."""
        self._outside.append((self.all, self.places))
        self.all, self.places = again, set()

    def leave(self) -> None:
        """End a pass."""
        self.all, self.places = self._outside.pop()


class Fills:
    """Counts what enters the buffers of one operand: `outer` is read, `inner` is written.

    now    place and outside of the last arrival, as `fill` has them
    stale  whether the buffers do not have what they hold by the count, so that they have to be filled at once
    """

    def __init__(self, outer: tuple[str, str], inner: tuple[str, str], halo: str, tensor: TensorPlace) -> None:
        self.outer, self.inner, self.halo, self.tensor = outer, inner, halo, tensor
        self.now: tuple[tuple[int, ...], tuple[int, ...]] | None = None
        self.stale = False
        self.reads = self.writes = 0
        self._known: dict[tuple[tuple[int, ...], bool], tuple[int, int]] = {}

    def fill(self, place: tuple[int, ...], others: tuple[int, ...] = (), outside: tuple[int, ...] = ()) -> bool:
        """Whether the buffers are filled; if the tile moves, count what the instances at work do not hold yet.

        place    where the tile begins, per dimension of the tensor
        others   where further dimensions stand
        outside  where the loops outside the innermost moving one stand. If they stood still, that one moves the tile,
                 and the tile slides; if they did not, the tile is transferred, whatever it was before
        """
        before, self.now = self.now, (place, outside)
        stale, self.stale = self.stale, False
        if before == self.now:
            return stale
        slides = before is not None and before[1] == outside
        moves = self.tensor.moves(place + others)
        reuse = self.halo == "exact" or (self.halo == "innermost" and slides)
        key = (moves, reuse)
        words = self._known.get(key)
        if words is None:
            words = self.tensor.words(moves, "transfer", reuse), self.tensor.words(moves, "alone", reuse)
            self._known[key] = words
        self.reads += words[0]
        self.writes += words[1]
        return True

    def forget(self) -> None:
        """What the buffers hold is given up: the next arrival fills them anew."""
        self.now = None
        self.tensor.forget()

    def tally(self) -> tuple[int, ...]:
        """All counts."""
        return self.reads, self.writes

    def add(self, counts: tuple[int, ...]) -> None:
        """Add to all counts."""
        self.reads, self.writes = self.reads + counts[0], self.writes + counts[1]

    def totals(self) -> list[tuple[tuple[str, str], int, int]]:
        """(memory and tensor, reads, writes)."""
        return [(self.outer, self.reads, 0), (self.inner, 0, self.writes)]


class PartialSums:
    """Counts what enters and leaves the buffers of partial sums: `inner` are drained to `outer`, and come back.

    drain_read  whether the inner read of a drain counts
    first_read  whether sums are read at their first visit, too
    """

    def __init__(
        self, outer: tuple[str, str], inner: tuple[str, str], drain_read: bool, first_read: bool, tensor: TensorPlace
    ) -> None:
        self.outer, self.inner, self.tensor = outer, inner, tensor
        self.drain_read, self.first_read = drain_read, first_read
        self.now: tuple[tuple[int, ...], tuple[int, ...]] | None = None
        self.at: tuple[int, ...] = ()
        self.visits = Visits()
        self.outer_reads = self.outer_writes = self.inner_reads = self.inner_writes = 0
        self.holding: tuple[int, int, int] | None = None
        self._known: dict[tuple[int, ...], tuple[int, int, int]] = {}

    def moves(self, place: tuple[int, ...], outside: tuple[int, ...], at: tuple[int, ...]) -> bool:
        """Whether the tile moves: its place changes, or a loop outside the innermost moving one steps."""
        before, self.now = self.now, (place, outside)
        if before == self.now:
            self.at = at
        return before != self.now

    def enter(self, place: tuple[int, ...], others: tuple[int, ...], at: tuple[int, ...]) -> bool:
        """Begin on a tile; whether it was here before, so that its sums come back. `at` is where it lies outside."""
        self.at = at
        moves = self.tensor.moves(place + others)
        if moves not in self._known:
            alone, arriving, distinct = (self.tensor.words(moves, by) for by in ("alone", "transfer", "outer"))
            self._known[moves] = alone, arriving, distinct
        self.holding = self._known[moves]
        returns = self.visits.visit(place)
        if returns or self.first_read:
            self.inner_writes += self.holding[0]
            self.outer_reads += self.holding[2]
        return returns

    def forget(self) -> None:
        """The next arrival is of another tile, wherever it is."""
        self.now = None

    def leave(self) -> bool:
        """Count the drain of the tile; False if nothing is held."""
        if self.holding is None:
            return False
        alone, arriving, distinct = self.holding
        self.holding = None
        self.inner_reads += alone * self.drain_read
        self.outer_writes += arriving
        self.outer_reads += arriving - distinct
        return True

    def tally(self) -> tuple[int, ...]:
        """All counts."""
        return self.outer_reads, self.outer_writes, self.inner_reads, self.inner_writes

    def add(self, counts: tuple[int, ...]) -> None:
        """Add to all counts."""
        sums = [mine + more for mine, more in zip(self.tally(), counts, strict=True)]
        self.outer_reads, self.outer_writes, self.inner_reads, self.inner_writes = sums

    def totals(self) -> list[tuple[tuple[str, str], int, int]]:
        """(memory and tensor, reads, writes)."""
        return [(self.outer, self.outer_reads, self.outer_writes), (self.inner, self.inner_reads, self.inner_writes)]


class Macs:
    """Counts what the MACs read and update: every operand for every step, and the sums.

    tensors  (memory and tensor, where its instances and steps stand, edges), the output last. The edges say which of
             the starts given to `step` belong to the tensor's dimensions; None: it never ends within a tile
    first_read  whether sums are read at their first update, too
    ran         steps that were run one by one
    """

    def __init__(self, tensors: list[tuple[tuple[str, str], TensorPlace, list[int | None]]], first_read: bool) -> None:
        self.operands, self.sums, self.first_read = tensors[:-1], tensors[-1], first_read
        self.steps: dict[tuple[int, ...], int] = {}
        self.first: dict[tuple[int, ...], int] = {}
        self.visits = Visits()
        self.ran = 0
        self._counts: tuple[int, ...] = (0,) * (len(tensors) + 2)

    def step(self, edges: tuple[int, ...], place: tuple[int, ...]) -> None:
        """One pass over the innermost tiles. The first update of a sum reads nothing."""
        self.steps[edges] = self.steps.get(edges, 0) + 1
        if not self.visits.visit(place):
            self.first[edges] = self.first.get(edges, 0) + 1

    def tally(self) -> tuple[int, ...]:
        """All counts: steps, reads of every operand, updates of the sums, and those of them that are the first."""
        ran = sum(self.steps.values())
        reads = [_accesses(tensor, edges, self.steps, "transfer") for _, tensor, edges in (*self.operands, self.sums)]
        _, tensor, edges = self.sums
        first = _accesses(tensor, edges, self.first, "outer")
        self.steps, self.first, self.ran = {}, {}, self.ran + ran
        self.add((ran, *reads, first))
        return self._counts

    def number(self) -> tuple[int, int]:
        """Steps of the schedule, and those that were run one by one."""
        return self.tally()[0], self.ran

    def add(self, counts: tuple[int, ...]) -> None:
        """Add to all counts."""
        self._counts = tuple([mine + more for mine, more in zip(self._counts, counts, strict=True)])

    def totals(self) -> list[tuple[tuple[str, str], int, int]]:
        """(memory and tensor, reads, writes)."""
        _, *reads, updates, first = self.tally()
        found = [(name, words, 0) for (name, _, _), words in zip(self.operands, reads, strict=True)]
        return [*found, (self.sums[0], updates - (0 if self.first_read else first), updates)]


def _accesses(tensor: TensorPlace, edges: list[int | None], steps: dict[tuple[int, ...], int], by: str) -> int:
    """Words over all steps: alike steps are counted once and multiplied."""
    alike: dict[tuple[int, ...], int] = {}
    for starts, times in steps.items():
        moves = tensor.moves(tuple(0 if i is None else starts[i] for i in edges))
        alike[moves] = alike.get(moves, 0) + times
    return sum(times * tensor.words(moves, by) for moves, times in alike.items())


WordTable = dict[tuple[str, str], tuple[int, int]]


def words_moved(meters: tuple[Fills | PartialSums | Macs, ...]) -> WordTable:
    """Words read and written, by memory and tensor."""
    moved: WordTable = {}
    for meter in meters:
        for name, reads, writes in meter.totals():
            before = moved.get(name, (0, 0))
            moved[name] = before[0] + reads, before[1] + writes
    return moved


# ---- the check -------------------------------------------------------------------------------------------------------


def random_operands(shapes: dict[str, tuple[int, ...]], seed: int) -> dict[str, np.ndarray]:
    """Small integers, so that sums are exact and do not depend on their order."""
    rng = np.random.default_rng(seed)
    return {name: rng.integers(-4, 5, shape) for name, shape in shapes.items()}


def random_floats(shapes: dict[str, tuple[int, ...]], seed: int) -> dict[str, np.ndarray]:
    """Numbers of single precision, whose sums depend on their order."""
    rng = np.random.default_rng(seed)
    return {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}


def rounding_bound(sizes: np.ndarray, roundings: int) -> np.ndarray:
    """How far outputs of single precision may be from exact ones, in whatever order their products are added.

    sizes      sum of the magnitudes of all products, of every output
    roundings  that a product may go through; with n of them the bound is sizes * n u / (1 - n u), u = 2^-24
               (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1)
    """
    error = roundings * 2.0**-24
    if error >= 1:
        raise ValueError(f"sums of {roundings} products say nothing in single precision; compare whole numbers")
    return sizes * (error / (1 - error))


def difference(output: np.ndarray, reference: np.ndarray, bound: np.ndarray | int = 0) -> str:
    """What is wrong with the output, where it is further from the reference than a bound; nothing if all is well."""
    if output.shape != reference.shape:
        return f"the output has shape {output.shape}, expected {reference.shape}"
    wrong = np.argwhere(~(np.abs(output - reference) <= bound))  # what is no number is wrong, too
    if not len(wrong):
        return ""
    first = tuple(wrong[0].tolist())
    return f"{len(wrong)} of {output.size} outputs differ; at {first}: {output[first]}, expected {reference[first]}"


def words_table(moved: WordTable, expected: WordTable) -> list[str]:
    """One line per memory and tensor: words moved beside words expected."""
    heads = ("memory", "tensor", "reads", "expected", "writes", "expected")
    rows: list[tuple[str, ...]] = [heads]
    for name in dict.fromkeys((*expected, *moved)):
        got, want = moved.get(name, (0, 0)), expected.get(name, (0, 0))
        labels = (ascii(part)[1:-1] for part in name)
        rows.append(
            (*labels, *(f"{n:,}" for n in (got[0], want[0], got[1], want[1])), "" if got == want else "  <-- differs")
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    return [
        "  ".join(
            [text.ljust(w) if i < 2 else text.rjust(w) for i, (text, w) in enumerate(zip(row, widths, strict=False))]
            + list(row[len(heads) :])
        ).rstrip()
        for row in rows
    ]


def steps_note(steps: int, ran: int) -> str:
    """What is to be said of steps that were not run one by one."""
    if ran == steps:
        return ""
    return f"; {ran:,} of {steps:,} steps were run one by one, the others at once, in passes like one of those"


# ---- main ------------------------------------------------------------------------------------------------------------


def check(seed: int = 0) -> tuple[str, Words]:
    """Run on random operands: what is wrong with the outputs (nothing if all is well), and the words moved."""
    operands = random_inputs(OPERANDS, seed, EXACT)
    with np.errstate(all="ignore"):  # beyond ragged edges anything may come out, and counts nothing
        outputs, moved = run(operands)
    tensors = direct(operands)
    wrong = []
    for name, output in outputs.items():
        bound = 0 if EXACT and np.abs(tensors[name]).max() < 2.0**53 else 1e-9 * np.abs(tensors[name])
        found = difference(output, tensors[name], bound)
        wrong += [f"{name}: {found}"] if found else []
    return "; ".join(wrong), moved


def main() -> int:
    """Print the check's result; 0 if outputs and words are as they should be."""
    wrong, moved = check(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print("\n".join(words_table(moved, EXPECTED)))
    if wrong:
        print(f"FAILED: {wrong}")
    if moved != EXPECTED:
        print("FAILED: the words moved are not those expected")
    if not wrong and moved == EXPECTED:
        print("OK: outputs and words moved agree")
    return int(bool(wrong) or moved != EXPECTED)


if __name__ == "__main__":
    sys.exit(main())
