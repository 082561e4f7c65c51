"""What a collective means: the blocks of each schedule moved from device to device, step by step.

A piece is a block of an owner, or a half of one. Every device holds addends of pieces: copies pass on what is there,
sums hand their addends over. A step that sends what is not there, an addend that meets itself, and an end that is not
the collective's are errors. Bytes are counted on every link, steps that move something are hops. A device's memory
reads what it sends, and its own addend where another one meets it; it writes what arrives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tilewright.cost_models.collectives import SWITCH

Link = tuple[int, int]


class Send(NamedTuple):
    """A piece goes over a link."""

    source: int
    to: int
    piece: Any


Step = list[Send]


def neighbours_of(kind: str, n: int) -> dict[int, dict[int, int]]:
    """Device -> the next one upwards (+1) and downwards (-1), as far as there is one."""
    return {
        i: {
            way: (i + way) % n for way in (1, -1) if (kind == "ring" and n > 2) or (kind != "ring" and 0 <= i + way < n)
        }
        for i in range(n)
    }


def gathering(kind: str, n: int, halves: bool = True) -> list[Step]:
    """The steps of an all-gather: every device passes on what came from below to above, and the other way round."""
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
    return [[Send(to, source, piece) for source, to, piece in step] for step in reversed(steps)]


class Walk:
    """Devices with what they hold, and what has passed every link so far."""

    def __init__(self, kind: str, n: int, sizes: dict[Any, int], held: dict[int, dict[Any, set[int]]]) -> None:
        self.kind, self.n, self.sizes, self.held = kind, n, sizes, held
        self.links: Counter[Link] = Counter()
        self.read: Counter[int] = Counter()
        self.written: Counter[int] = Counter()
        self.hops = 0

    def go(self, steps: Sequence[Step], *, sums: bool = False, switch_helps: bool = False) -> Walk:
        """Take all steps; what nobody has any more has been handed over. A switch that helps copies and adds."""
        for step in steps:
            moved = [send for send in step if self.sizes[send.piece]]
            there = {(send.to, send.piece) for send in moved if self.held[send.to].get(send.piece)}
            handed = {send: set(self.held[send.source][send.piece]) for send in moved}
            assert all(handed.values()), "a piece is sent that is not there"
            for send in moved if sums else ():
                self.held[send.source][send.piece] = set()
            for send, addends in handed.items():
                place = self.held[send.to].setdefault(send.piece, set())
                assert not place & addends, "an addend arrives twice"
                place |= addends
            self.hops += (2 if self.kind == "switch" else 1) if moved else 0
            for link, piece in self._passed(moved, sums, switch_helps):
                size = self.sizes[piece]
                self.links[link] += size
                self.read[link[0]] += size
                self.written[link[1]] += size
                self.read[link[1]] += size if (link[1], piece) in there else 0
        return self

    def _passed(self, sends: Step, sums: bool, switch_helps: bool) -> Iterator[tuple[Link, Any]]:
        if self.kind != "switch":
            yield from (((source, to), piece) for source, to, piece in sends)
            return
        ups = [((source, SWITCH), piece) for source, _, piece in sends]
        downs = [((SWITCH, to), piece) for _, to, piece in sends]
        yield from dict.fromkeys(ups) if switch_helps and not sums else ups
        yield from dict.fromkeys(downs) if switch_helps and sums else downs


def halves(block: int) -> dict[str, int]:
    return {"larger": block - block // 2, "smaller": block // 2}


def walked(operation: str, kind: str, blocks: Any, switch_helps: bool = False) -> Walk:
    """An all-gather or reduce-scatter of blocks, an all-to-all of a matrix of them, walked to its end."""
    n = len(blocks)
    if operation == "all-to-all":
        sizes = {(i, j, h): b for i, row in enumerate(blocks) for j in range(n) for h, b in halves(row[j]).items()}
        held = {i: {piece: {i} for piece in sizes if piece[0] == i} for i in range(n)}
        walk = Walk(kind, n, sizes, held).go(exchanging(kind, n), sums=True)
        assert all(held[j].get((i, j, h)) for (i, j, h), size in sizes.items() if size and i != j)
        return walk
    pieces = {(i, h): size for i, block in enumerate(blocks) for h, size in halves(block).items()}
    if operation == "reduce-scatter":
        held = {i: {piece: {i} for piece in pieces} for i in range(n)}
        walk = Walk(kind, n, pieces, held).go(backwards(gathering(kind, n)), sums=True, switch_helps=switch_helps)
        assert all(held[i][i, h] == set(range(n)) for i, h in pieces if pieces[i, h])
        return walk
    held = {i: {piece: {i} for piece in pieces if piece[0] == i} for i in range(n)}
    walk = Walk(kind, n, pieces, held).go(gathering(kind, n), switch_helps=switch_helps)
    assert all(held[i].get(piece) for i in range(n) for piece, size in pieces.items() if size)
    return walk
