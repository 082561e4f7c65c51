"""Schedules of collectives on one line of devices: bytes on every link and hops, in integers, by closed forms.

The steps of mapper/emit/sharded/runtime_links.py move the blocks of each schedule and count the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, permutations
from typing import Literal, TypeAlias

from ...arch.system import FabricKind

Operation: TypeAlias = Literal["all-gather", "reduce-scatter", "all-reduce", "all-to-all"]
OPERATIONS: tuple[Operation, ...] = ("all-gather", "reduce-scatter", "all-reduce", "all-to-all")

SWITCH = -1
"""The end of a link that is the switch."""

Link: TypeAlias = tuple[int, int]
"""From one device of the line to another, or to the switch and from it."""
Flow: TypeAlias = tuple[int, int, int]
"""The first link that bytes pass, counted from its lower end, how many they pass, and how many bytes they are."""


@dataclass(frozen=True)
class Round:
    """What moves at once: bytes that pass every link, parallel ones taken together, and the hops of the longest way.

    meeting  links at whose ends bytes are added to what lies there
    """

    hops: int
    links: Mapping[Link, int]
    meeting: frozenset[Link] = frozenset()

    @property
    def busiest(self) -> int:
        """Bytes of the link that most pass."""
        return max(self.links.values(), default=0)

    @property
    def backwards(self) -> Round:
        """The same with every byte going the other way: sums instead of copies."""
        links = {(to, source): moved for (source, to), moved in self.links.items()}
        return Round(self.hops, links, frozenset(links))


def at_memories(rounds: Iterable[Round], devices: int) -> list[tuple[int, int]]:
    """Bytes that the memory of every device reads and writes: what it sends, and addends that others meet there; what
    it gets."""
    read, written = [0] * devices, [0] * devices
    for one in rounds:
        for (source, to), moved in one.links.items():
            if source != SWITCH:
                read[source] += moved
            if to != SWITCH:
                written[to] += moved
                read[to] += moved if (source, to) in one.meeting else 0
    return list(zip(read, written, strict=True))


def dealt(size: int, parts: int) -> tuple[int, ...]:
    """Equal blocks of a size, of which the last ones are ragged or empty."""
    block = -(-size // parts)
    return tuple(max(0, min(block, size - start * block)) for start in range(parts))


def all_gather(kind: FabricKind, blocks: Sequence[int], multicast: bool = False) -> Round:
    """Every device's block to all others.

    On a ring every block goes the shorter way round, and to the opposite device in two halves, the larger one upwards.
    On a line it goes to both ends. A switch gets it once if it multicasts, else once for every other device.
    """
    n, size = len(blocks), sum(blocks)
    if n == 1 or not size:
        return Round(0, {})
    if kind == "switch":
        up = {(i, SWITCH): block * (1 if multicast else n - 1) for i, block in enumerate(blocks)}
        return Round(2, up | {(SWITCH, i): size - block for i, block in enumerate(blocks)})
    if kind == "full" or n == 2:
        return Round(1, {(i, j): blocks[i] for i, j in permutations(range(n), 2)})
    if kind == "line":
        return _both_ways(
            n,
            False,
            [(i, n - 1 - i, block) for i, block in enumerate(blocks)],
            [(0, i, block) for i, block in enumerate(blocks)],
        )
    up_flows, down_flows = [], []
    for i, block in enumerate(blocks):
        larger, far, near = block - block // 2, n // 2, (n - 1) // 2
        up_flows += [(i, far, larger), (i, near, block // 2)]
        down_flows += [((i - far) % n, far, block // 2), ((i - near) % n, near, larger)]
    return _both_ways(n, True, up_flows, down_flows)


def reduce_scatter(kind: FabricKind, blocks: Sequence[int], multicast: bool = False) -> Round:
    """The sum of every block to its device, from all that hold an addend of it: an all-gather backwards."""
    return all_gather(kind, blocks, multicast).backwards


def all_to_all(kind: FabricKind, blocks: Sequence[Sequence[int]]) -> Round:
    """A block of every device to every other one, `blocks[i][j]` from i to j, by the ways of an all-gather."""
    n = len(blocks)
    pairs = {(i, j): blocks[i][j] for i, j in permutations(range(n), 2)}
    if not any(pairs.values()):
        return Round(0, {})
    if kind == "switch":
        up = {(i, SWITCH): sum(row) - row[i] for i, row in enumerate(blocks)}
        return Round(
            2, up | {(SWITCH, j): sum(column) - column[j] for j, column in enumerate(zip(*blocks, strict=True))}
        )
    if kind == "full" or n == 2:
        return Round(1, pairs)
    up_flows, down_flows = [], []
    for (i, j), block in pairs.items():
        ahead = (j - i) % n
        if kind == "ring" and 2 * ahead == n:
            upwards = block - block // 2
        else:
            upwards = block if (i < j if kind == "line" else 2 * ahead < n) else 0
        up_flows.append((i, ahead, upwards))
        down_flows.append((j, n - ahead, block - upwards))
    return _both_ways(n, kind == "ring", up_flows, down_flows)


def all_reduce(kind: FabricKind, size: int, n: int, reduces: bool = False) -> dict[str, tuple[Round, ...]]:
    """By name, the schedules that leave every device with the sum of all: rounds, one after the other.

    The first is a reduce-scatter and an all-gather; whole addends take fewer hops and n/2 times the bytes. In chunks, a
    line adds up towards its middle while the middle sends back what is done.
    """
    gather = all_gather(kind, dealt(size, n), reduces)
    every = all_gather(kind, [size] * n, reduces)
    found = {
        "reduce-scatter, all-gather": (gather.backwards, gather),
        "exchange of whole addends": (Round(every.hops, every.links, frozenset(every.links)),),
    }
    if kind == "line" and n > 2:
        links = dict.fromkeys([link for k in range(n - 1) for link in ((k, k + 1), (k + 1, k))], size)
        sums = frozenset(link for link in links if abs(link[1] - n // 2) < abs(link[0] - n // 2))
        found["to the middle and back"] = (Round(2 * (n // 2) if size else 0, links, sums),)
    if reduces and n > 1:
        links = dict.fromkeys([link for i in range(n) for link in ((i, SWITCH), (SWITCH, i))], size)
        found["added in the switch"] = (Round(2 if size else 0, links),)
    return found


def _both_ways(n: int, is_ring: bool, up: Iterable[Flow], down: Iterable[Flow]) -> Round:
    """Flows upwards and downwards on a line or a ring of n devices."""
    links: dict[Link, int] = {}
    hops = 0
    for flows, step in ((up, 1), (down, -1)):
        change = [0] * (2 * n + 1)
        for start, length, moved in flows:
            change[start] += moved
            change[start + length] -= moved
            hops = max(hops, length if moved else 0)
        passing = list(accumulate(change))
        for k in range(n if is_ring else n - 1):
            source, to = (k, (k + 1) % n)[::step]
            links[source, to] = passing[k] + passing[k + n]
    return Round(hops, links)
