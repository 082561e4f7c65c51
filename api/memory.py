"""Memory planning for callers: buffers from a file or a list, a capacity with its unit."""

from __future__ import annotations

import os
from collections.abc import Iterable

from .arguments import SizeLike, limits_of, memory_bytes
from .inputs import checks
from .ir import MemoryPlanError
from .mapper import memory_plan
from .mapper.means import DEFAULT_MEMORY_LIMIT, Means
from .mapper.memory_plan import BufferSet, InPlace, LiveBuffer, MemoryPlan, buffer_set, read_buffers

BuffersLike = BufferSet | str | os.PathLike[str] | Iterable[LiveBuffer | tuple[object, ...]]
"""A set of buffers, the path of a CSV file, or buffers one by one: `LiveBuffer`s or (name, lower, upper, size)."""


def plan_memory(
    buffers: BuffersLike,
    capacity: SizeLike | None = None,
    *,
    in_place: Iterable[InPlace | tuple[str, str]] = (),
    least: bool | None = None,
    time_limit: float | None = None,
    memory_limit: SizeLike = DEFAULT_MEMORY_LIMIT,
) -> MemoryPlan:
    """Addresses for buffers, so that no two that are live together share any: the least height, proven, or a plan that
    fits a capacity, or the proof that none does.

    buffers       the path of a CSV file with columns id, lower, upper, size; or a list of `LiveBuffer`s or of
                  (name, lower, upper, size) with alignment and copies if need be. Lifetimes are half-open, sizes bytes
    capacity      of the memory: bytes, or a text such as "1 MiB"; None: as many as it takes
    in_place      (source, result) names: updates that may have the addresses of their source
    least         whether the least height is wanted; None: where no capacity is stated, else any plan that fits
    time_limit    seconds, after which the best plan so far is taken, with the bound that is proven by then. Where the
                  search has to be compiled first, which is done once on a machine, that comes on top
    memory_limit  bytes, or a text such as "512 MiB"

    Raises MemoryPlanError for buffers that cannot be understood, NoPlanError when it is proven that nothing fits the
    capacity. Out of time is no error: the plan's `fits` and `proven` say what is known.
    """
    limits = limits_of(time_limit, memory_limit)
    room = None if capacity is None else memory_bytes(capacity, "the capacity")
    if isinstance(buffers, BufferSet):
        found = buffers
    elif isinstance(buffers, str | os.PathLike):
        found = read_buffers(os.fspath(buffers))
    else:
        found = buffer_set(buffers)
    if pairs := checks.items(in_place, "in_place", "pairs (source, result) of names", MemoryPlanError):
        found = buffer_set(found.buffers, [*found.in_place, *pairs])
    if least is False and room is None:
        hint = "state the capacity, or ask for the least height"
        raise MemoryPlanError("any plan fits a memory without a capacity, expected one", hint=hint)
    wanted = room is None if least is None else checks.flag(least, "least", MemoryPlanError)
    return memory_plan.plan_memory(found, room, wanted, Means.from_now(limits.time_s, limits.memory_bytes))
