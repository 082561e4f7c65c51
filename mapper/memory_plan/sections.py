"""Buffers as the search sees them: blocks, the sections of time at which as many as possible are live, and a unit.

A *block* is what has one offset: one copy of a buffer, or several buffers that are updated in place, for the time from
the first to the last. Moments at which the live blocks are among those of a neighbouring moment ask for nothing more,
and are left out: a *section* is a moment of each other kind. All offsets that matter are multiples of the *unit*: in
every plan blocks can be pushed down until each rests on another one or on the floor, so offsets are sums of sizes,
rounded up to alignments.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..means import Means
from .buffers import BufferSet, InPlace, Lives


@dataclass(frozen=True)
class AddressBlock:
    """What has one offset.

    names         buffers in it, in the order of their lives
    copy          which copy of its buffer, from 0
    lives         when it is live
    size          bytes
    alignment     of its offset
    offset        where it has to lie, if that is fixed
    """

    names: tuple[str, ...]
    copy: int
    lives: Lives
    size: int
    alignment: int
    offset: int | None = None

    @property
    def lower(self) -> int:
        """The first moment at which it is live."""
        return self.lives[0][0]

    @property
    def upper(self) -> int:
        """The first moment from which it no longer is."""
        return self.lives[-1][1]


def blocks_of(buffers: BufferSet, shared: Iterable[InPlace] = ()) -> list[AddressBlock]:
    """The blocks of all buffers with a size; `shared` are the updates made in place, chains of them included."""
    after = {pair.source: pair.result for pair in shared}
    later = set(after.values())
    blocks = []
    for buffer in buffers.buffers:
        if buffer.name in later or not buffer.size:
            continue
        names = [buffer.name]
        while names[-1] in after:
            names.append(after[names[-1]])
        members = [buffers.by_name[name] for name in names]
        lives = _joined_lives(life for member in members for life in member.lives)
        fixed = {member.offset for member in members if member.offset is not None}
        alignment = math.lcm(*(member.alignment for member in members))
        blocks += [
            AddressBlock(tuple(names), copy, lives, buffer.size, alignment, next(iter(fixed), None))
            for copy in range(buffer.copies)
        ]
    return blocks


def _joined_lives(lives: Iterable[tuple[int, int]]) -> Lives:
    """All times of some lists, those that touch as one."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(lives):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((begin, end))
    return tuple(found)


@dataclass(frozen=True)
class Sections:
    """Blocks in units and sections; arrays are of int64.

    blocks   as they were given
    unit     bytes
    size     of each block, in units, rounded up
    step     alignment of each block, in units
    start    first section of each block
    end      section after its last
    fixed    offset of each block in units, where it has to lie; -1 elsewhere
    first    of each section, where its blocks begin in `members`; one more at the end
    members  blocks of all sections
    near     of each block, where those begin in `others` that are live with it; one more at the end
    others   blocks that are live with a block, of all blocks
    """

    blocks: tuple[AddressBlock, ...]
    unit: int
    size: np.ndarray
    step: np.ndarray
    start: np.ndarray
    end: np.ndarray
    fixed: np.ndarray
    first: np.ndarray
    members: np.ndarray
    near: np.ndarray
    others: np.ndarray

    @property
    def count(self) -> int:
        return len(self.first) - 1

    def bytes_live(self) -> list[int]:
        """The bytes of every section's blocks, each rounded up to what its neighbours leave between them, but one: the
        uppermost block needs no room beyond its end."""
        found = []
        for section in range(self.count):
            inside = self.members[self.first[section] : self.first[section + 1]]
            padding = max(int(self.size[b]) * self.unit - self.blocks[b].size for b in inside)
            found.append(int(self.size[inside].sum()) * self.unit - padding)
        return found


def pairs_live(blocks: Sequence[AddressBlock]) -> int:
    """How many pairs of blocks are live together at some moment."""
    uppers = np.sort([block.upper for block in blocks])
    lowers = np.sort([block.lower for block in blocks])
    begun = np.arange(len(blocks))
    return int((begun - np.searchsorted(uppers, lowers, side="right")).sum())


def members_of_sections(blocks: Sequence[AddressBlock]) -> list[list[int]]:
    """The blocks that are live at each section, in the order of time."""
    begins = sorted((life, b) for b, block in enumerate(blocks) for life in block.lives)
    sections: list[list[int]] = []
    live: dict[int, int] = {}
    new = False
    for (begin, end), b in begins:
        ended = [c for c, last in live.items() if last <= begin]
        # Just before the first end after a beginning, as many blocks are live as ever around it.
        if ended and new:
            sections.append(sorted(live))
            new = False
        for c in ended:
            del live[c]
        live[b] = end
        new = True
    if live:
        sections.append(sorted(live))
    return sections


def sections_of(blocks: Sequence[AddressBlock], means: Means) -> Sections:
    """The sections of some blocks, of which there is one at least; OutOfMeans if they would take too much memory."""
    means.check_numbers(2 * pairs_live(blocks))
    quantum = math.gcd(*(block.alignment for block in blocks))
    sizes = [-(-block.size // quantum) * quantum for block in blocks]
    fixed = [block.offset for block in blocks if block.offset is not None]
    unit = _unit_of([*sizes, *fixed], {block.alignment for block in blocks})
    inside = members_of_sections(blocks)
    start, end = np.full(len(blocks), len(inside)), np.zeros(len(blocks), np.int64)
    for section, members in enumerate(inside):
        start[members] = np.minimum(start[members], section)
        end[members] = section + 1
    near: list[list[int]] = []
    for b in range(len(blocks)):
        means.check()
        met = set().union(*(members for members in inside[start[b] : end[b]] if _has(members, b))) - {b}
        near.append(sorted(met))
    return Sections(
        tuple(blocks),
        unit,
        np.array([size // unit for size in sizes], np.int64),
        np.array([max(1, block.alignment // unit) for block in blocks], np.int64),
        start.astype(np.int64),
        end.astype(np.int64),
        np.array([-1 if block.offset is None else block.offset // unit for block in blocks], np.int64),
        _offsets(inside),
        _joined(inside),
        _offsets(near),
        _joined(near),
    )


def _has(members: Sequence[int], block: int) -> bool:
    """Whether a block is among those of a section, which are in order."""
    at = bisect_left(members, block)
    return at < len(members) and members[at] == block


def _unit_of(sizes: Iterable[int], alignments: Iterable[int]) -> int:
    """The largest number that divides every sum of sizes that is rounded up to alignments now and then.

    An alignment that divides it rounds nothing; any other one has to be a multiple of it.
    """
    unit, before = math.gcd(*sizes), 0
    while unit != before:
        before = unit
        unit = math.gcd(unit, *(alignment for alignment in alignments if unit % alignment))
    return unit


def _offsets(lists: Sequence[Sequence[int]]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum([len(part) for part in lists], dtype=np.int64)]).astype(np.int64)


def _joined(lists: Sequence[Sequence[int]]) -> np.ndarray:
    return np.array([value for part in lists for value in part], np.int64)
