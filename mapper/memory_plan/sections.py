"""Buffers as the search sees them: blocks, the sections of time at which as many as possible are live, and a unit.

A *block* is what has one offset: one copy of a buffer, or several buffers that are updated in place, for the time from
the first to the last. Moments at which the live blocks are among those of a neighbouring moment ask for nothing more,
and are left out: a *section* is a moment of each other kind. All offsets that matter are multiples of the *unit*: in
every plan blocks can be pushed down until each rests on another one or on the floor, so offsets are sums of sizes,
rounded up to alignments.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..means import Means
from .buffers import BufferSet, InPlace


@dataclass(frozen=True)
class AddressBlock:
    """What has one offset.

    names         buffers in it, in the order of their lives
    copy          which copy of its buffer, from 0
    lower, upper  its lifetime
    size          bytes
    alignment     of its offset
    """

    names: tuple[str, ...]
    copy: int
    lower: int
    upper: int
    size: int
    alignment: int


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
        alignment = math.lcm(*(member.alignment for member in members))
        blocks += [
            AddressBlock(tuple(names), copy, buffer.lower, members[-1].upper, buffer.size, alignment)
            for copy in range(buffer.copies)
        ]
    return blocks


@dataclass(frozen=True)
class Sections:
    """Blocks in units and sections; arrays are of int64.

    blocks   as they were given
    unit     bytes
    size     of each block, in units, rounded up
    step     alignment of each block, in units
    start    first section of each block
    end      section after its last
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
    begins = sorted(range(len(blocks)), key=lambda b: blocks[b].lower)
    sections: list[list[int]] = []
    live: set[int] = set()
    new = False
    for b in begins:
        ended = {c for c in live if blocks[c].upper <= blocks[b].lower}
        # Just before the first end after a beginning, as many blocks are live as ever around it.
        if ended and new:
            sections.append(sorted(live))
            new = False
        live -= ended
        live.add(b)
        new = True
    if live:
        sections.append(sorted(live))
    return sections


def sections_of(blocks: Sequence[AddressBlock], means: Means) -> Sections:
    """The sections of some blocks, of which there is one at least; OutOfMeans if they would take too much memory."""
    means.check_numbers(2 * pairs_live(blocks))
    quantum = math.gcd(*(block.alignment for block in blocks))
    sizes = [-(-block.size // quantum) * quantum for block in blocks]
    unit = _unit_of(sizes, {block.alignment for block in blocks})
    inside = members_of_sections(blocks)
    start, end = np.full(len(blocks), len(inside)), np.zeros(len(blocks), np.int64)
    for section, members in enumerate(inside):
        start[members] = np.minimum(start[members], section)
        end[members] = section + 1
    near: list[list[int]] = []
    for b in range(len(blocks)):
        met = set().union(*inside[start[b] : end[b]]) - {b}
        near.append(sorted(met))
    return Sections(
        tuple(blocks),
        unit,
        np.array([size // unit for size in sizes], np.int64),
        np.array([max(1, block.alignment // unit) for block in blocks], np.int64),
        start.astype(np.int64),
        end.astype(np.int64),
        _offsets(inside),
        _joined(inside),
        _offsets(near),
        _joined(near),
    )


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
