"""What a planner hands over: addresses, and what is proven of them. And the check of a plan, which knows nothing of how
it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...ir import MemoryPlanError
from ...ir.display import Shown
from .buffers import BufferSet, InPlace, LiveBuffer


@dataclass(frozen=True)
class MemoryPlan(Shown):
    """Addresses for all buffers.

    buffers      what was to be planned
    offsets      of every buffer, one for each of its copies [bytes]
    shared       updates that are made in place
    lower_bound  bytes that any plan needs, proven
    capacity     bytes of the memory, if it was stated
    decisions    how many the search made; 0 where a plan that is made at once is the least already
    """

    buffers: BufferSet
    offsets: Mapping[str, tuple[int, ...]]
    shared: tuple[InPlace, ...]
    lower_bound: int
    capacity: int | None = None
    decisions: int = 0

    @property
    def height(self) -> int:
        """Bytes that the plan takes: where its uppermost buffer ends."""
        return max((end for _, _, end in self.places()), default=0)

    @property
    def proven(self) -> bool:
        """Whether no plan takes fewer bytes."""
        return self.height == self.lower_bound

    @property
    def gap(self) -> float:
        """How much lower another plan could be, as a share of this one; 0 if it is proven to be the least."""
        return 1 - self.lower_bound / self.height if self.height else 0.0

    @property
    def fits(self) -> bool:
        """Whether the plan fits the capacity, if there is one."""
        return self.capacity is None or self.height <= self.capacity

    def __str__(self) -> str:
        proof = "no plan is lower" if self.proven else f"no plan is lower than {self.lower_bound:,} bytes"
        return f"{len(self.buffers.buffers)} buffers in {self.height:,} bytes, {proof}"

    def places(self) -> Iterator[tuple[LiveBuffer, int, int]]:
        """Every copy of every buffer, with its first address and the one after its last."""
        for buffer in self.buffers.buffers:
            for offset in self.offsets[buffer.name]:
                yield buffer, offset, offset + buffer.size

    def check(self) -> None:
        """MemoryPlanError if a buffer has no addresses, wrong ones, or addresses that another one has at some moment,
        but for a source and its result that are updated in place; or if the plan is lower than what is said to be
        proven."""
        check_plan(self)


def check_plan(plan: MemoryPlan) -> None:
    """See `MemoryPlan.check`."""
    for buffer in plan.buffers.buffers:
        found = plan.offsets.get(buffer.name, ())
        if len(found) != buffer.copies:
            raise MemoryPlanError(f"{len(found)} offsets for {buffer.copies} copies", where=buffer.name)
        for offset in found:
            if offset < 0 or offset % buffer.alignment:
                raise MemoryPlanError(f"offset {offset}, expected a multiple of {buffer.alignment}", where=buffer.name)
            if buffer.offset is not None and offset != buffer.offset:
                raise MemoryPlanError(f"offset {offset}, expected {buffer.offset}", where=buffer.name)
    pairs = {(pair.source, pair.result) for pair in plan.shared}
    live: list[tuple[LiveBuffer, int, int]] = []
    for one, start, end in sorted(plan.places(), key=lambda place: place[0].lower):
        live = [place for place in live if place[0].upper > one.lower]
        for other, begin, stop in live:
            together = (other.name, one.name) in pairs and start == begin
            if max(start, begin) < min(end, stop) and not together and one.overlaps(other):
                message = f"it has addresses {start} to {end}; {other.name}, live at the same time, {begin} to {stop}"
                raise MemoryPlanError(message, where=one.name)
        live.append((one, start, end))
    if plan.height < plan.lower_bound:
        raise MemoryPlanError(f"{plan.height} bytes, and {plan.lower_bound} are said to be needed")
