"""The part of an emitted program for several devices that moves words along one axis: schedules of collectives.

`program.py` pastes everything below the imports of the runtimes into its output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

# ---- links -----------------------------------------------------------------------------------------------------------

SWITCH = -1  # the end of a link that is the switch

Link = tuple[int, int]


class Send(NamedTuple):
    """A piece goes over a link, from one device of a line to another, or through the switch."""

    source: int
    to: int
    piece: Any


Step = list[Send]


def neighbours_of(kind: str, n: int) -> dict[int, dict[int, int]]:
    """Device -> the next one upwards (+1) and downwards (-1), as far as there is one."""
    is_ring = kind == "ring" and n > 2
    return {i: {way: (i + way) % n for way in (1, -1) if is_ring or 0 <= i + way < n} for i in range(n)}


def gathering(kind: str, n: int) -> list[Step]:
    """The steps of an all-gather of pieces (owner, half): every device passes on what came from below to above, and the
    other way round. On a ring every block goes the shorter way, and to the opposite device in halves."""
    pieces = [(owner, half) for owner in range(n) for half in ("larger", "smaller")]
    if kind in ("switch", "full") or n == 2:
        return [[Send(owner, to, (owner, half)) for owner, half in pieces for to in range(n) if to != owner]]
    nexts, steps = neighbours_of(kind, n), []
    fresh = [(owner, way, (owner, half)) for owner, half in pieces for way in (1, -1)]
    for step in range(1, n):
        sends = []
        for at, way, piece in fresh:
            reach = n if kind == "line" else n // 2 if (way == 1) == (piece[1] == "larger") else (n - 1) // 2
            if way in nexts[at] and step <= reach:
                sends.append((way, Send(at, nexts[at][way], piece)))
        steps.append([send for _, send in sends])
        fresh = [(send.to, way, send.piece) for way, send in sends]
    return steps


def exchanging(kind: str, n: int) -> list[Step]:
    """The steps of an all-to-all: every piece (from, to, half) goes a hop towards its end in each step."""
    at = {(i, j, half): i for i in range(n) for j in range(n) if i != j for half in ("larger", "smaller")}
    if kind in ("switch", "full") or n == 2:
        return [[Send(i, j, (i, j, half)) for i, j, half in at]]
    nexts, steps = neighbours_of(kind, n), []
    while any(place != piece[1] for piece, place in at.items()):
        step = []
        for piece, place in at.items():
            source, end, half = piece
            if place != end:
                ahead, behind = (end - source) % n, (source - end) % n
                up = end > source if kind == "line" else ahead < behind or (ahead == behind and half == "larger")
                step.append(Send(place, nexts[place][1 if up else -1], piece))
        at |= {send.piece: send.to for send in step}
        steps.append(step)
    return steps


def to_the_middle(n: int) -> tuple[list[Step], list[Step]]:
    """On a line: the sums that come to the middle from both ends, and its copies back."""
    middle, whole = n // 2, ((0, "larger"), (0, "smaller"))
    sums = []
    for distance in range(middle, 0, -1):
        ends = [(middle - distance, 1), (middle + distance, -1)]
        sums.append([Send(i, i + way, piece) for i, way in ends if i < n for piece in whole])
    return sums, backwards(sums)


def backwards(steps: Sequence[Step]) -> list[Step]:
    """The same the other way: sums instead of copies."""
    return [[Send(to, source, piece) for source, to, piece in step] for step in reversed(steps)]


def passed(kind: str, sends: Step, sums: bool, helps: bool) -> Iterator[tuple[Link, Any]]:
    """Links, and the pieces that pass them. A switch that helps gets a piece once and copies it, or adds all up."""
    if kind != "switch":
        yield from (((source, to), piece) for source, to, piece in sends)
        return
    ups = [((source, SWITCH), piece) for source, _, piece in sends]
    downs = [((SWITCH, to), piece) for _, to, piece in sends]
    yield from dict.fromkeys(ups) if helps and not sums else ups
    yield from dict.fromkeys(downs) if helps and sums else downs


class Line:
    """Devices along one axis while words move between them.

    held     by device, the pieces that it has
    links    words that have passed every link
    read, written  by device, words of its memory: what it sends, and addends that others meet there; what it gets
    hops     one after the other, so far
    """

    def __init__(self, kind: str, held: list[dict[Any, np.ndarray]]) -> None:
        self.kind, self.held = kind, held
        self.sizes = {piece: words.size for pieces in held for piece, words in pieces.items()}
        self.links: Counter[Link] = Counter()
        self.read: Counter[int] = Counter()
        self.written: Counter[int] = Counter()
        self.hops = 0

    def go(self, steps: Sequence[Step], sums: bool = False, helps: bool = False) -> None:
        """Take all steps: copies are passed on; addends are handed over, and added to what is there."""
        for step in steps:
            sends = [send for send in step if self.sizes[send.piece]]
            assert all(send.piece in self.held[send.source] for send in sends), "a piece is sent that is not there"
            moved = [(send, self.held[send.source][send.piece]) for send in sends]
            there = {(send.to, send.piece) for send in sends if send.piece in self.held[send.to]}
            for send in sends if sums else ():
                self.held[send.source].pop(send.piece)
            for send, words in moved:
                own = self.held[send.to].get(send.piece)
                assert own is None or sums, "a piece arrives twice"
                self.held[send.to][send.piece] = words if own is None else own + words
            self.hops += (2 if self.kind == "switch" else 1) if sends else 0
            for (source, to), piece in passed(self.kind, sends, sums, helps):
                size = self.sizes[piece]
                self.links[source, to] += size
                self.read[source] += size
                self.written[to] += size
                self.read[to] += size if (to, piece) in there else 0

    def whole(self, device: int, *block: int) -> np.ndarray:
        """Both halves of a block that a device has; nothing that is not there."""
        halves = [self.held[device][*block, half] for half in ("larger", "smaller") if self.sizes[*block, half]]
        return np.concatenate([np.empty(0), *halves]) if len(halves) != 1 else halves[0]


def halves(words: np.ndarray, *block: int) -> dict[Any, np.ndarray]:
    """A block in two pieces."""
    middle = words.size - words.size // 2
    return {(*block, "larger"): words[:middle], (*block, "smaller"): words[middle:]}


def gathered(kind: str, blocks: list[np.ndarray], helps: bool) -> tuple[list[list[np.ndarray]], Line]:
    """An all-gather: what every device has of every other one's block in the end."""
    n = len(blocks)
    line = Line(kind, [halves(block, i) for i, block in enumerate(blocks)])
    line.go(gathering(kind, n), helps=helps)
    return [[line.whole(j, i) for i in range(n)] for j in range(n)], line


def scattered(kind: str, addends: list[list[np.ndarray]], helps: bool) -> tuple[list[np.ndarray], Line]:
    """A reduce-scatter of addends, those of every device by the block's owner: the sum of every device's own block."""
    n = len(addends)
    line = Line(kind, [dict(piece for j in range(n) for piece in halves(row[j], j).items()) for row in addends])
    line.go(backwards(gathering(kind, n)), sums=True, helps=helps)
    return [line.whole(j, j) for j in range(n)], line


def exchanged(kind: str, blocks: list[list[np.ndarray]]) -> tuple[list[list[np.ndarray]], Line]:
    """An all-to-all of `blocks[i][j]` from i to j: what every device has got, by who sent it."""
    n = len(blocks)
    others = [[j for j in range(n) if j != i] for i in range(n)]
    line = Line(kind, [dict(p for j in others[i] for p in halves(blocks[i][j], i, j).items()) for i in range(n)])
    line.go(exchanging(kind, n), sums=True)
    return [[np.empty(0) if i == j else line.whole(j, i, j) for i in range(n)] for j in range(n)], line


def summed(kind: str, addends: list[np.ndarray], schedule: str, helps: bool) -> tuple[list[np.ndarray], list[Line]]:
    """An all-reduce by a schedule: the sum of all addends on every device, and what moved, phase by phase."""
    n = len(addends)
    if schedule == "reduce-scatter, all-gather":
        block = -(-addends[0].size // n)
        parts = [[words[j * block : (j + 1) * block] for j in range(n)] for words in addends]
        sums, first = scattered(kind, parts, helps)
        every, second = gathered(kind, sums, helps)
        return [np.concatenate(blocks) for blocks in every], [first, second]
    if schedule == "exchange of whole addends":
        every, line = gathered(kind, addends, helps)
        line.read.update(line.written)  # of the sum so far, as every addend arrives
        return [np.sum(blocks, axis=0) for blocks in every], [line]
    line = Line(kind, [halves(words, 0) for words in addends])
    if schedule == "to the middle and back":
        inwards, copies = to_the_middle(n)
        line.go(inwards, sums=True)
        line.go(copies)
        return [line.whole(i, 0) for i in range(n)], [line]
    assert schedule == "added in the switch", schedule
    line.hops = 2 if addends[0].size else 0
    line.links.update({link: addends[0].size for i in range(n) for link in ((i, SWITCH), (SWITCH, i))})
    line.read.update(dict.fromkeys(range(n), addends[0].size))
    line.written.update(line.read)
    return [np.sum(addends, axis=0)] * n, [line]
