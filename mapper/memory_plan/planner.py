"""The planner: the least height of any plan, or a plan that fits, or the proof that none does.

First come plans that are made at once, and the bytes that are live at the fullest moment, which any plan needs; where
these meet there is nothing to search. Else heights between them are tried: each attempt finds a plan, proves that
there is none, or gives up; the next round gives all of them twice the effort. So the planner ends with the least
height, proven, or when its means run out with the best plan and the best bound.

Where updates may be made in place, each choice of them is a search of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import numpy as np

from ...ir import NoPlanError
from ..means import UNLIMITED, Means, OutOfMeans
from ..progress import SearchProgress, answering
from .buffers import BufferSet, LiveBuffer, live_bytes, live_together
from .in_place import Choice, choices_of, least_needed
from .plan import MemoryPlan
from .sections import AddressBlock, Sections, blocks_of, sections_of

FIRST_EFFORT = 2_000
"""Decisions of an attempt in the first round."""


class Candidate:
    """One choice of the updates that are made in place, and what is known of it.

    lower  bytes that its plans need, proven
    best   offsets of its blocks in the lowest plan so far, and its height
    """

    def __init__(self, buffers: BufferSet, choice: Choice, means: Means) -> None:
        self.choice = choice
        self.blocks: list[AddressBlock] = blocks_of(buffers, choice)
        self.best = greedy_offsets(self.blocks, means)
        self.height = height_of(self.blocks, self.best)
        self.means = means
        fixed = (block.offset + block.size for block in self.blocks if block.offset is not None)
        self.lower = max([0, *fixed, *(size for _, size in live_bytes(_spans(self.blocks)))])
        self.decisions = 0
        self._sections: Sections | None = None
        with suppress(OutOfMeans):
            if self.blocks:
                self._sections = sections_of(self.blocks, means)
                self.lower = max(self.lower, *self._sections.bytes_live())
        self._attempts: object = None

    @property
    def grain(self) -> int:
        """All heights are multiples of this, in bytes."""
        if self._sections is None:
            return 1
        unit = self._sections.unit
        return 1 if any(block.size % unit for block in self.blocks) else unit

    @property
    def searchable(self) -> bool:
        """Whether there is the memory for a search."""
        return self._sections is not None

    def attempt(self, height: int, effort: int) -> bool | None:
        """Look for a plan of so many bytes at most: whether there is one; None: not known."""
        from .attempts import AttemptOutcome, Attempts  # here, since a compiler comes with it

        if self._sections is None:
            return None
        if not isinstance(self._attempts, Attempts):
            self._attempts = Attempts(self._sections, self.means)
        before = self._attempts.decisions
        outcome = self._attempts.below(height, effort)
        self.decisions += self._attempts.decisions - before
        if outcome is AttemptOutcome.FITS:
            self.best = self._attempts.offsets()
            self.height = height_of(self.blocks, self.best)
            return True
        if outcome is AttemptOutcome.NOTHING_FITS:
            self.lower = max(self.lower, height + 1)
            return False
        return None


def plan_memory(
    buffers: BufferSet, capacity: int | None = None, least: bool = True, means: Means = UNLIMITED
) -> MemoryPlan:
    """Addresses for all buffers.

    capacity  bytes of the memory; None: as many as it takes
    least     whether the least height is wanted, and not only a plan that fits
    means     when they run out, the plan is the best so far, which may not fit

    Raises NoPlanError when it is proven that nothing fits the capacity.
    """
    if capacity is not None:
        _check_fits(buffers, capacity)
    choices, all_of_them = choices_of(buffers)
    if not choices:
        raise NoPlanError("fixed offsets ask for updates in place that cannot be made together")
    candidates = [Candidate(buffers, choice, means) for choice in choices]
    bound_of_others = None if all_of_them else least_needed(buffers)

    def how_far() -> SearchProgress:
        height, lower = min(one.height for one in candidates), min(one.lower for one in candidates)
        return SearchProgress(0, 0, "looking for a lower plan", "bytes", height, lower)

    with suppress(OutOfMeans), answering(how_far):  # what there is until then is the answer
        _search(candidates, capacity, least, means)
    lower = min(
        *(min(candidate.lower, candidate.height) for candidate in candidates),
        *([bound_of_others] if bound_of_others is not None else [candidates[0].height]),
    )
    if capacity is not None and lower > capacity:
        tried = sum(candidate.decisions for candidate in candidates)
        message = f"no addresses fit {capacity} bytes: any plan needs {lower} or more (proven, {tried} decisions)"
        raise NoPlanError(message, hint=f"at most {buffers.peak} bytes are live at a moment, and gaps are needed")
    best = min(candidates, key=lambda candidate: candidate.height)
    return MemoryPlan(
        buffers,
        _offsets(buffers, best),
        best.choice,
        lower,
        capacity,
        sum(candidate.decisions for candidate in candidates),
    )


def _search(candidates: Sequence[Candidate], capacity: int | None, least: bool, means: Means) -> None:
    """Better plans and bounds, until nothing is open or the means are spent."""
    effort = FIRST_EFFORT
    while not means.expired:
        best = min(candidate.height for candidate in candidates)
        fits_only = capacity is not None and (best > capacity or not least)
        if fits_only and capacity is not None and best <= capacity:
            return
        open_ones = [c for c in candidates if c.searchable and c.lower < best and c.lower <= (capacity or best)]
        if not open_ones:
            return
        for candidate in sorted(open_ones, key=lambda found: found.lower):
            best = min(candidate.height for candidate in candidates)
            heights = iter((capacity,)) if fits_only and capacity is not None else _heights(candidate, best)
            for height in heights:
                if means.expired or (candidate.attempt(height, effort) and fits_only):
                    break
        effort *= 2


def _heights(candidate: Candidate, best: int) -> Iterator[int]:
    """Heights to try in a round: the least that may be, and then halves of what is left. What is not found does not
    count as proven, but for the round."""
    grain = candidate.grain
    low, high = -(-candidate.lower // grain) * grain, best
    height = low
    while low < high:
        yield height
        if candidate.height <= height:
            high = candidate.height
        else:
            low = max(height + grain, -(-candidate.lower // grain) * grain)
        height = (low + high - grain) // 2 // grain * grain
        height = max(low, height)


def _check_fits(buffers: BufferSet, capacity: int) -> None:
    """NoPlanError where one buffer, or those of one moment, are more than the capacity."""
    for buffer in buffers.buffers:
        if (buffer.offset or 0) + buffer.size > capacity:
            at = "" if buffer.offset is None else f" at offset {buffer.offset}"
            message = f"a buffer of {buffer.size} bytes{at}, and a capacity of {capacity}"
            raise NoPlanError(message, where=buffer.name)
    if least_needed(buffers) <= capacity:
        return
    time, live = max(live_bytes(buffers.spans()), key=lambda step: step[1])
    inside = [buffer for buffer in buffers.buffers if live_together(buffer.lives, ((time, time + 1),))]
    inside.sort(key=lambda buffer: -buffer.size * buffer.copies)
    largest = ", ".join(f"{buffer.name} ({_bytes_text(buffer)})" for buffer in inside[:3])
    message = f"{live} bytes are live at time {time}, in {len(inside)} buffers, and the capacity is {capacity}"
    raise NoPlanError(message, hint=f"the largest of them: {largest}")


def _bytes_text(buffer: LiveBuffer) -> str:
    return f"{buffer.size}" if buffer.copies == 1 else f"{buffer.copies} x {buffer.size}"


def _spans(blocks: Sequence[AddressBlock]) -> list[tuple[int, int, int]]:
    return [(*life, block.size) for block in blocks for life in block.lives]


def _offsets(buffers: BufferSet, best: Candidate) -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = {buffer.name: [0] * buffer.copies for buffer in buffers.buffers}
    for block, offset in zip(best.blocks, best.best, strict=True):
        for name in block.names:
            found[name][block.copy] = offset
    return {name: tuple(offsets) for name, offsets in found.items()}


ORDERS: tuple[Callable[[AddressBlock], tuple[int, ...]], ...] = (
    lambda block: (-block.size, block.lower),
    lambda block: (-block.size * (block.upper - block.lower), block.lower),
    lambda block: (block.lower - block.upper, -block.size),
    lambda block: (block.lower, -block.size),
)
"""Large ones first; large and long ones; long ones; as they come."""


def greedy_offsets(blocks: Sequence[AddressBlock], means: Means) -> list[int]:
    """An offset for each block, in bytes: the lowest plan of those that the orders give, as many as there is time for,
    and the first in any case."""
    found: list[list[int]] = []
    for order in ORDERS:
        if not found or not means.expired:
            found.append(_first_fit(blocks, sorted(range(len(blocks)), key=lambda b: order(blocks[b]))))
    return min(found, key=lambda offsets: height_of(blocks, offsets))


def height_of(blocks: Sequence[AddressBlock], offsets: Sequence[int]) -> int:
    """Where the uppermost block ends, in bytes."""
    return max((offset + block.size for block, offset in zip(blocks, offsets, strict=True)), default=0)


def _first_fit(blocks: Sequence[AddressBlock], order: Sequence[int]) -> list[int]:
    begins = np.array([begin for block in blocks for begin, _ in block.lives], np.int64)
    ends = np.array([end for block in blocks for _, end in block.lives], np.int64)
    whose = np.array([b for b, block in enumerate(blocks) for _ in block.lives], np.int64)
    sizes = np.array([block.size for block in blocks], np.int64)
    offsets = np.array([block.offset or 0 for block in blocks], np.int64)
    placed = np.array([block.offset is not None for block in blocks], bool)
    for b in order:
        block = blocks[b]
        if block.offset is not None:
            continue
        together = np.zeros(len(whose), bool)
        for begin, end in block.lives:
            together |= (begins < end) & (ends > begin)
        live = np.unique(whose[together & placed[whose]])
        live = live[np.argsort(offsets[live], kind="stable")]
        # Free from the highest end so far up to the next beginning.
        highest = np.maximum.accumulate(np.concatenate([[0], offsets[live] + sizes[live]]))
        free = -(-highest // block.alignment) * block.alignment
        fits = np.append(offsets[live] - free[:-1] >= block.size, True)
        offsets[b] = free[int(np.argmax(fits))]
        placed[b] = True
    return [int(offset) for offset in offsets]
