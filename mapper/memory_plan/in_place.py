"""Which updates may be made in place together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from .buffers import BufferSet, InPlace, LiveBuffer, live_bytes

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
        return [_as_many_as_may_be(buffers), ()], False
    found = [tuple(pair for pair in picked if pair) for picked in product(*sources.values())]
    allowed = [choice for choice in dict.fromkeys(found) if may_be_together(buffers, choice)]
    return sorted(allowed, key=len, reverse=True), True


def may_be_together(buffers: BufferSet, choice: Choice) -> bool:
    """Whether each source has one result, and of a chain only neighbours are live together."""
    if len({pair.source for pair in choice}) < len(choice) or len({pair.result for pair in choice}) < len(choice):
        return False
    return all(
        not chain[i].overlaps(chain[j])
        for chain in _chains(buffers, choice)
        for j in range(len(chain))
        for i in range(j - 1)
    )


def _chains(buffers: BufferSet, choice: Choice) -> Iterator[list[LiveBuffer]]:
    after = {pair.source: pair.result for pair in choice}
    for start in after.keys() - set(after.values()):
        names = [start]
        while names[-1] in after:
            names.append(after[names[-1]])
        yield [buffers.by_name[name] for name in names]


def _as_many_as_may_be(buffers: BufferSet) -> Choice:
    made: Choice = ()
    for pair in buffers.in_place:
        if may_be_together(buffers, (*made, pair)):
            made = (*made, pair)
    return made


def least_needed(buffers: BufferSet) -> int:
    """Bytes that any plan needs, whatever is updated in place: the most live at a moment, where each result that has a
    source there counts for nothing."""
    saved = []
    for name in {pair.result for pair in buffers.in_place}:
        result = buffers.by_name[name]
        ends = [buffers.by_name[pair.source].upper for pair in buffers.in_place if pair.result == name]
        saved.append((result.lower, max(ends), -result.size))
    return max((size for _, size in live_bytes([*buffers.spans(), *saved])), default=0)
