"""Which updates may be made in place together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import lcm

from .buffers import BufferSet, InPlace, LiveBuffer, clashes, live_bytes
from .sections import blocks_of

MOST_CHOICES = 1024
"""Beyond so many, a few are tried, and the lower bound is that of all."""

Choice = tuple[InPlace, ...]
"""Updates that are made in place."""


def choices_of(buffers: BufferSet) -> tuple[list[Choice], bool]:
    """Choices, those with most updates first, and whether these are all."""
    sources: dict[str, list[InPlace | None]] = {}
    for pair in buffers.in_place:
        sources.setdefault(pair.result, [None]).append(pair)
    count = 1
    for options in sources.values():
        count *= len(options)
    if count > MOST_CHOICES:
        found = [choice for choice in (_as_many_as_may_be(buffers), ()) if may_be_together(buffers, choice)]
        return found, False
    found = [tuple(pair for pair in picked if pair) for picked in product(*sources.values())]
    allowed = [choice for choice in dict.fromkeys(found) if may_be_together(buffers, choice)]
    return sorted(allowed, key=len, reverse=True), True


def may_be_together(buffers: BufferSet, choice: Choice) -> bool:
    """Whether each source has one result, of a chain only neighbours are live together, and fixed offsets let it be:
    a chain has one at most, and what lies on each other at once is one chain."""
    if len({pair.source for pair in choice}) < len(choice) or len({pair.result for pair in choice}) < len(choice):
        return False
    chains = list(_chains(buffers, choice))
    if not all(map(_has_one_offset, chains)) or clashes(blocks_of(buffers, choice)):
        return False
    return all(not chain[i].overlaps(chain[j]) for chain in chains for j in range(len(chain)) for i in range(j - 1))


def _has_one_offset(chain: list[LiveBuffer]) -> bool:
    fixed = {buffer.offset for buffer in chain if buffer.offset is not None}
    alignment = lcm(*(buffer.alignment for buffer in chain))
    return not fixed or (len(fixed) == 1 and next(iter(fixed)) % alignment == 0)


def _chains(buffers: BufferSet, choice: Choice) -> Iterator[list[LiveBuffer]]:
    after = {pair.source: pair.result for pair in choice}
    for start in after.keys() - set(after.values()):
        names = [start]
        while names[-1] in after:
            names.append(after[names[-1]])
        yield [buffers.by_name[name] for name in names]


def _as_many_as_may_be(buffers: BufferSet) -> Choice:
    made: Choice = tuple(pair for pair in buffers.in_place if _is_forced(buffers, pair))
    for pair in buffers.in_place:
        if pair in made:
            continue
        if may_be_together(buffers, (*made, pair)):
            made = (*made, pair)
    return made


def _is_forced(buffers: BufferSet, pair: InPlace) -> bool:
    """Whether fixed offsets leave no other way than to make an update in place."""
    found = {frozenset((one.name, other.name)) for one, other in clashes(buffers.buffers)}
    return frozenset((pair.source, pair.result)) in found


def least_needed(buffers: BufferSet) -> int:
    """Bytes that any plan needs, whatever is updated in place: the most live at a moment, where each result that has a
    source there counts for nothing; and where buffers of fixed offsets end."""
    saved = []
    for name in {pair.result for pair in buffers.in_place}:
        result = buffers.by_name[name]
        ends = [buffers.by_name[pair.source].upper for pair in buffers.in_place if pair.result == name]
        saved.append((result.lower, max(ends), -result.size))
    fixed = (buffer.offset + buffer.size for buffer in buffers.buffers if buffer.offset is not None and buffer.size)
    return max([0, *fixed, *(size for _, size in live_bytes([*buffers.spans(), *saved]))])
