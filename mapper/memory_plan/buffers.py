"""Buffers with lifetimes, which of them may share an address, and plans: an offset for each."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeAlias, TypeVar

from ...inputs.checks import items, whole
from ...ir import MemoryPlanError, did_you_mean

LARGEST = int(2 / sys.float_info.epsilon)
"""Times, sizes and alignments beyond this are refused: sums of them must stay exact."""

MOST_BUFFERS = 1_000_000
"""Copies counted."""

Lives: TypeAlias = tuple[tuple[int, int], ...]
"""(First moment, first moment after) of times, in order, with time between them."""


@dataclass(frozen=True)
class LiveBuffer:
    """An array that needs addresses for a while.

    name       how plans and messages call it
    lower      first moment at which it is live
    upper      first moment at which it no longer is: lifetimes are half-open
    size       bytes, 0 or more
    alignment  its offset is a multiple of this
    copies     how many such arrays there are, each at addresses of its own: 2 for a double buffer
    offset     where it has to lie; None: wherever there is room
    gaps       (first moment, first moment after) within its lifetime at which others may have its addresses
    """

    name: str
    lower: int
    upper: int
    size: int
    alignment: int = 1
    copies: int = 1
    offset: int | None = None
    gaps: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise MemoryPlanError(f"the name of a buffer is {self.name!r}, expected a text that is not empty")
        whole(self.lower, "lower", -LARGEST, MemoryPlanError, self.name)
        whole(self.upper, "upper", -LARGEST, MemoryPlanError, self.name)
        for what, least in (("size", 0), ("alignment", 1), ("copies", 1)):
            whole(getattr(self, what), what, least, MemoryPlanError, self.name)
        for what in ("lower", "upper", "size", "alignment", "copies"):
            if getattr(self, what) > LARGEST:
                raise MemoryPlanError(f"{what} is more than 2^53", where=self.name)
        if self.upper <= self.lower:
            message = f"it lives from {self.lower} up to {self.upper}, which is no time at all"
            raise MemoryPlanError(message, where=self.name, hint="upper is the first moment at which it is not live")
        self._check_offset()
        self._check_gaps()

    def _check_offset(self) -> None:
        if self.offset is None:
            return
        whole(self.offset, "offset", 0, MemoryPlanError, self.name)
        if self.offset > LARGEST:
            raise MemoryPlanError("offset is more than 2^53", where=self.name)
        if self.offset % self.alignment:
            message = f"offset {self.offset}, expected a multiple of its alignment {self.alignment}"
            raise MemoryPlanError(message, where=self.name)
        if self.copies > 1:
            raise MemoryPlanError(f"one offset, and {self.copies} copies", where=self.name, hint="name each copy")

    def _check_gaps(self) -> None:
        before = self.lower
        for gap in self.gaps:
            begin, end = (whole(moment, "a gap", -LARGEST, MemoryPlanError, self.name) for moment in gap)
            if not before <= begin < end <= self.upper:
                message = f"the gap {begin}-{end}, expected gaps in order within its life, {self.lower} to {self.upper}"
                raise MemoryPlanError(message, where=self.name)
            before = end
        if not self.lives:
            raise MemoryPlanError("gaps leave no time at which it is live", where=self.name)

    @cached_property
    def lives(self) -> Lives:
        """The times at which it is live."""
        begins = [self.lower, *(end for _, end in self.gaps)]
        ends = [*(begin for begin, _ in self.gaps), self.upper]
        return tuple((begin, end) for begin, end in zip(begins, ends, strict=True) if begin < end)

    def overlaps(self, other: LiveBuffer) -> bool:
        """Whether both are live at some moment."""
        return live_together(self.lives, other.lives)


@dataclass(frozen=True)
class InPlace:
    """An update that may be made in place: `result` may have the addresses of `source`, from its own beginning on.

    Both are live while the operation runs; only here may two live buffers share addresses. Of several updates of one
    source, or several sources of one result, a plan makes one at most in place.

    source  name of the buffer that is read
    result  name of the buffer that is written
    """

    source: str
    result: str


@dataclass(frozen=True)
class BufferSet:
    """All buffers of one memory over a run.

    buffers   with different names
    in_place  updates that a plan may make in place
    by_name   the buffers again

    Raises MemoryPlanError for a name that is used twice, or a pair that cannot share addresses.
    """

    buffers: tuple[LiveBuffer, ...]
    in_place: tuple[InPlace, ...] = ()
    by_name: Mapping[str, LiveBuffer] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        named: dict[str, LiveBuffer] = {}
        for buffer in self.buffers:
            if buffer.name in named:
                raise MemoryPlanError(
                    "a second buffer of this name", where=buffer.name, hint="names tell buffers apart"
                )
            named[buffer.name] = buffer
        object.__setattr__(self, "by_name", named)
        if sum(buffer.copies for buffer in self.buffers) > MOST_BUFFERS:
            raise MemoryPlanError(f"more than {MOST_BUFFERS:,} buffers, each copy counted")
        if sum(buffer.copies * (buffer.size + buffer.alignment) for buffer in self.buffers) > 2**62:
            # offsets are 64-bit integers
            raise MemoryPlanError("sizes and alignments of all buffers are more than 2^62 bytes")
        self._check_fixed()
        for pair in self.in_place:
            self._check(pair)

    def _check_fixed(self) -> None:
        """No two buffers of fixed offsets are to have the same addresses at once, but for updates in place."""
        pairs = {(pair.source, pair.result) for pair in self.in_place}
        for one, other in clashes(self.buffers):
            if not {(one.name, other.name), (other.name, one.name)} & pairs or one.offset != other.offset:
                message = f"offset {one.offset} and size {one.size}, and {other.name}, live at the same time, has "
                raise MemoryPlanError(f"{message}offset {other.offset} and size {other.size}", where=one.name)

    def _check(self, pair: InPlace) -> None:
        where = f"in place: {pair.source} -> {pair.result}"
        for name in (pair.source, pair.result):
            if name not in self.by_name:
                raise MemoryPlanError(f"no buffer {name}", where=where, hint=did_you_mean(name, self.by_name))
        source, result = self.by_name[pair.source], self.by_name[pair.result]
        if source.size != result.size:
            message = f"{source.size} bytes cannot become {result.size} in place, expected equal sizes"
            raise MemoryPlanError(message, where=where)
        if source.copies != 1 or result.copies != 1:
            raise MemoryPlanError("a buffer of several copies is not updated in place", where=where)
        if not source.lower < result.lower <= source.upper <= result.upper:
            message = (
                f"the source lives from {source.lower} to {source.upper}, the result from {result.lower} to "
                f"{result.upper}; expected a result that begins while the source lives, or as it ends, and lives longer"
            )
            raise MemoryPlanError(message, where=where)

    def spans(self) -> list[tuple[int, int, int]]:
        """(lower, upper, bytes of all copies) of every time at which a buffer is live."""
        return [(*life, buffer.size * buffer.copies) for buffer in self.buffers for life in buffer.lives]

    @property
    def peak(self) -> int:
        """The most bytes that are live at a moment, with every copy, and nothing in place."""
        return max((size for _, size in live_bytes(self.spans())), default=0)


def live_together(one: Lives, other: Lives) -> bool:
    """Whether there is a moment in both of two lists of times."""
    if one[0][0] >= other[-1][1] or other[0][0] >= one[-1][1]:
        return False
    return (len(one) == len(other) == 1) or any(a[0] < b[1] and b[0] < a[1] for a in one for b in other)


class Placed(Protocol):
    """What may have a fixed offset."""

    @property
    def offset(self) -> int | None: ...
    @property
    def size(self) -> int: ...
    @property
    def lives(self) -> Lives: ...


P = TypeVar("P", bound=Placed)


def clashes(given: Sequence[P]) -> list[tuple[P, P]]:
    """What has fixed offsets, is live together and has addresses in common."""
    fixed = sorted((one.offset, number) for number, one in enumerate(given) if one.offset is not None and one.size)
    found: list[tuple[P, P]] = []
    below: list[P] = []
    for offset, number in fixed:
        below = [other for other in below if (other.offset or 0) + other.size > offset]
        found += [(other, given[number]) for other in below if live_together(other.lives, given[number].lives)]
        below.append(given[number])
    return found


def live_bytes(spans: Iterable[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """(time, bytes that are live from then on), at every time at which they change.

    spans  (lower, upper, bytes)
    """
    changes: dict[int, int] = {}
    for lower, upper, size in spans:
        changes[lower] = changes.get(lower, 0) + size
        changes[upper] = changes.get(upper, 0) - size
    steps, live = [], 0
    for time in sorted(changes):
        live += changes[time]
        steps.append((time, live))
    return steps


def buffer_set(buffers: object, in_place: object = ()) -> BufferSet:
    """Buffers as callers give them: `LiveBuffer`s, or (name, lower, upper, size) with alignment and copies if need be.

    in_place  (source, result) names

    Raises MemoryPlanError for anything else.
    """
    expected = "buffers, or (name, lower, upper, size)"
    found = tuple(_buffer(given, expected) for given in items(buffers, "buffers", expected, MemoryPlanError))
    pairs = items(in_place, "in_place", "pairs of names (source, result)", MemoryPlanError)
    return BufferSet(found, tuple(_pair(given) for given in pairs))


def _buffer(given: object, expected: str) -> LiveBuffer:
    if isinstance(given, LiveBuffer):
        return given
    values: Sequence[object] = items(given, "a buffer", expected, MemoryPlanError)
    if not 4 <= len(values) <= 6:
        raise MemoryPlanError(f"a buffer of {len(values)} values, expected (name, lower, upper, size)")
    name = str(values[0])
    lower, upper, size, *more = (whole(value, "a value", -LARGEST, MemoryPlanError, name) for value in values[1:])
    alignment, copies = (*more, *(1, 1)[len(more) :])
    return LiveBuffer(name, lower, upper, size, alignment, copies)


def _pair(given: object) -> InPlace:
    if isinstance(given, InPlace):
        return given
    values = items(given, "a pair", "two names", MemoryPlanError)
    if len(values) != 2:
        raise MemoryPlanError(f"in_place has {len(values)} names, expected (source, result)")
    return InPlace(str(values[0]), str(values[1]))
