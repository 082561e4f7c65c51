"""A part of a tree: the operations below one split, or a single one, and what they find around them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from ....ir import Operation, Role, Tree
from .branch import BranchQuestion, Busy, Homes, Room, Sizes
from .ragged_loops import Overs, full_share, mean_visits
from .sharing import LoopAbove
from .windowed import Uneven


class Brief(NamedTuple):
    """A node directly above a split that does not last through all of its branches: from the first user to the last.

    users   operations during which it takes room for sure
    others  room that it takes while each of the others works, if that is in one branch with one of these: a branch of
            several steps, and the next step finds the node in use
    """

    users: frozenset[str]
    others: tuple[tuple[str, Room], ...]


class HeldSums(NamedTuple):
    """A node outside a part that holds what one of its operations writes, with room for partial sums while it does.
    Where a loop above several operations goes over what one of them sums, its output is unfinished from visit to visit:
    then the node takes that room while the others work too, and the part has less.

    writer  the operation
    tensor  what it writes
    more    by operation of the part, the bits by which the node is wider while that works, where loops above it go on
            with the sums; none for the writer, for which it is wide in any case
    """

    writer: str
    tensor: str
    more: tuple[Room, ...]


def held_by(sums: Iterable[HeldSums], names: tuple[str, ...], start: int, end: int) -> tuple[HeldSums, ...]:
    """What concerns some operations alone, one after the other, of those in which some sums are held."""
    own = names[start:end]
    return tuple(one._replace(more=one.more[start:end]) for one in sums if one.writer in own and len(own) > 1)


@dataclass(frozen=True)
class VisitedPart:
    """All visits of a part of a tree, each of which costs as much in the mean.

    names    operations, in the order in which they are done
    sizes    per operation, of the tile of one visit; of an uneven one, of an even visit
    homes    by tensor, the memory of the innermost node above the part; intermediates without one pass inside it
    again    per operation, visits that add to one output tile, one after the other
    room     per operation, bits left in every bounded part of every memory outside all arrays
    busy     per operation, what nodes above need for it, per visit
    steps    whether any loop stands above the part
    uneven   per operation, the dimensions along which its visits are not alike, by windows
    cut      per operation, dimensions along which tiles inside divide that of a visit
    over     per operation, dimensions along which the last visit is shorter than the others
    finished  whether the output of a single operation comes to its home as finished words alone
    alone    operations that may not stand in one branch with others, since windows lie between them
    brief    nodes directly above the split that take room in some branches alone
    further  (tensor, reader) of intermediates with a node above the part that is counted without zeros for a reader:
             that which writes it passes it to this one at a node further in
    apart    (tensor, operation, operation) of two that loops further out let see different parts of a tensor, so that
             they have no node in common
    sums     nodes outside that hold sums of its operations
    """

    names: tuple[str, ...]
    sizes: tuple[Sizes, ...]
    homes: Homes
    again: tuple[int, ...]
    room: tuple[Room, ...]
    busy: tuple[Busy, ...]
    steps: bool
    uneven: tuple[tuple[Uneven, ...], ...] = ()
    alone: frozenset[str] = frozenset()
    cut: tuple[frozenset[str], ...] = ()
    over: tuple[Overs, ...] = ()
    finished: bool = False
    apart: frozenset[tuple[str, str, str]] = frozenset()
    further: frozenset[tuple[str, str]] = frozenset()
    brief: tuple[Brief, ...] = ()
    sums: tuple[HeldSums, ...] = ()

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        names = self.names, self.sizes, self.homes, self.again, self.room, self.busy, self.steps, self.finished
        return hash((names, self.uneven, self.cut, self.over, self.apart, self.further))

    @cached_property
    def some(self) -> dict[tuple[int, int], VisitedPart]:
        """Some of its operations, as far as they are known."""
        return {}

    def question(self) -> BranchQuestion:
        """What a single operation's branch is asked; of uneven visits, as if all were even."""
        return self.question_of(0, self.homes)

    def question_of(self, place: int, homes: Homes) -> BranchQuestion:
        """What the branch of one operation is asked that finds its tensors in some memories."""
        busy, part = self.busy[place], self.part_of(place)
        if part != 1:
            busy = tuple((memory, role, read / part, written / part) for memory, role, read, written in busy)
        cut = self.cut[place] if self.cut else frozenset[str]()
        over = tuple((one.dim, one.whole) for one in self.over_of(place))
        name, sizes, room = self.names[place], self.sizes[place], self.room[place]
        return BranchQuestion(name, sizes, homes, room, self.again[place], busy, cut, over, finished=self.finished)

    def question_of_all(self, place: int) -> BranchQuestion | None:
        """What the branch of an operation is asked about all its uneven visits; None where they are not alike but for
        shorter ones, that are alike too."""
        (uneven,) = self.uneven[place] if self.uneven and self.uneven[place] else (None,)
        if uneven is None or uneven.whole is None or self.over_of(place):
            return None
        even = self.question_of(place, self.homes)
        return replace(even, over=((uneven.dim, uneven.whole),), busy=self.busy[place])

    def question_of_uneven(self, place: int, uneven: Uneven) -> BranchQuestion | None:
        """The same where some make more than an even one, if they may be counted."""
        if not uneven.counts or self.over_of(place):
            return None
        even = self.question_of(place, self.homes)
        return replace(even, made=((uneven.dim, uneven.made),), busy=self.busy[place])

    def over_of(self, place: int) -> Overs:
        """Dimensions of an operation along which the last visit is shorter."""
        return self.over[place] if self.over else ()

    def full_share(self, place: int) -> float:
        """What the mean visit of an operation is, as a part of one that is not shorter."""
        return full_share(self.sizes[place], self.over[place]) if self.over else 1.0

    def visits(self, loops: Sequence[LoopAbove]) -> float:
        """Settings of some loops above this part's split, in the mean over the visits of the part."""
        return mean_visits(self.names[0], self.sizes[0], self.over_of(0), loops)

    def questions(
        self, timed: bool, place: int = 0, homes: Homes | None = None
    ) -> list[list[tuple[float, BranchQuestion]]]:
        """What the branch of an operation is asked, by the tiles that stand for its visits.

        homes  where it finds its tensors, if not where a part of it alone does
        """
        even = self.question_of(place, self.homes if homes is None else homes)
        if even.over or not (self.uneven and self.uneven[place]):
            return [[(1.0, even)]]
        return [[(share, replace(even, sizes=sizes)) for share, sizes in tiles] for tiles in self.tiles(place, timed)]

    def part_of(self, place: int) -> float:
        """What uneven visits of an operation cost at least, as a part of what as many even ones would."""
        return math.prod(uneven.part for uneven in self.uneven[place]) if self.uneven else 1.0

    def tiles(self, place: int, timed: bool) -> list[list[tuple[float, Sizes]]]:
        """Ways to let tiles stand for the visits of an operation: the mean visit weighs no less than so many of each
        together, in any of these ways. The even visit is the first one of the first way.

        timed  whether cycles count: those of the busiest port over all visits are fewer than those of every visit's own
               busiest port together, so all visits have to be parts of one tile
        """
        (uneven,) = self.uneven[place] if self.uneven and self.uneven[place] else (None,)
        if uneven is None:
            return [[(self.full_share(place), self.sizes[place])]]
        even = ((uneven.part, uneven.step),)
        ways = [even, uneven.one_tile() if timed else uneven.tiles()] if uneven.longer else [even]
        return [[(share, _resized(self.sizes[place], uneven.dim, size)) for share, size in way] for way in ways]


def _resized(sizes: Sizes, dim: str, size: int) -> Sizes:
    return tuple((own, size if own == dim else n) for own, n in sizes)


@dataclass(frozen=True)
class FoundPart:
    """A part, mapped.

    energy_pj, latency_cycles  of one visit, in the mean
    tree    the part
    stored  intermediates that pass through the outermost memory
    """

    energy_pj: float
    latency_cycles: float
    tree: Tree
    stored: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Outcome:
    """What is known of a part.

    bound  no mapping of it weighs less
    found  the best one, which weighs `bound`; None: it is not known, or there is none (then the bound is infinite)
    """

    bound: float
    found: FoundPart | None = None


def some_of(part: VisitedPart, start: int, end: int) -> VisitedPart:
    """Some operations of a part, one after the other."""
    if end - start == len(part.names):
        return part
    if (start, end) not in part.some:
        part.some[start, end] = _some_of(part, start, end)
    return part.some[start, end]


def _some_of(part: VisitedPart, start: int, end: int) -> VisitedPart:
    used, names = slice(start, end), set(part.names[start:end])
    return VisitedPart(
        part.names[used],
        part.sizes[used],
        part.homes,
        part.again[used],
        part.room[used],
        part.busy[used],
        part.steps,
        part.uneven[used],
        part.alone & names if part.alone else part.alone,
        part.cut[used],
        part.over[used],
        apart=frozenset(pair for pair in part.apart if names >= set(pair[1:])),
        further=frozenset(pair for pair in part.further if pair[1] in names),
        sums=held_by(part.sums, part.names, start, end),
    )


def stepped_dims(operation: Operation, sizes: Sizes) -> set[str]:
    """The dimensions of an operation that loops outside a visit of some sizes step over."""
    whole = operation.problem.sizes
    return {dim for dim, size in sizes if size < whole[dim]}


def less_rooms(room: tuple[Room, ...], taken: tuple[Room, ...]) -> tuple[Room, ...] | None:
    """What is left for each of some operations when some bits are taken; None if that is too many for one."""
    left = [less_room(own, bits) for own, bits in zip(room, taken, strict=True)]
    found = tuple(own for own in left if own is not None)
    return found if len(found) == len(left) else None


def less_room(room: Room, taken: Room) -> Room | None:
    """What is left when some bits are taken; None if that is too many."""
    if not taken:
        return room
    if len(room) == 1:  # one memory that is not split into parts, as most often
        ((own, part, size),) = room
        size -= sum(more for memory, role, more in taken if memory == own and role == part)
        return ((own, part, size),) if size >= 0 else None
    bits = {(memory, role): 0 for memory, role, _ in room}
    for memory, role, more in taken:
        if (memory, role) in bits:
            bits[memory, role] += more
    left = tuple((memory, role, size - bits[memory, role]) for memory, role, size in room)
    return left if all(size >= 0 for _, _, size in left) else None


def with_busy(one: Busy, other: Busy, visits: float) -> Busy:
    """What is needed per visit inside, of what each visit outside needs."""
    read: dict[tuple[str, Role], float] = {}
    written: dict[tuple[str, Role], float] = {}
    for memory, role, reads, writes in (*one, *other):
        where = memory, role
        read[where] = read.get(where, 0.0) + reads / visits
        written[where] = written.get(where, 0.0) + writes / visits
    return tuple((*where, read[where], written[where]) for where in sorted(read))
