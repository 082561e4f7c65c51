"""Tiles that only pass through a memory, on their way to the next one: programs need not keep them there.

Where a buffer is filled and does nothing but fill another one of the same extents, that one is filled from where the
words come from; where sums enter a buffer and do nothing but leave it again, they leave at once. The words are the
same, and a machine that has the memory passes them on; on a processor its caches do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .lifetimes import arrays_of
from .loop_program import Affine, Allocate, Array, Drain, Fill, For, Statement, Zero


def without_passing(body: Sequence[Statement]) -> tuple[Statement, ...]:
    """The same statements without such buffers."""
    found = [replace(each, body=without_passing(each.body)) if isinstance(each, For) else each for each in body]
    for buffer in [each.buffer for each in found if isinstance(each, Allocate)]:
        users = [each for each in found if buffer in set(arrays_of(each))]
        forwarded = _filled(buffer, users) or _drained(buffer, users)
        if forwarded is not None:
            last, instead = forwarded
            found = [
                instead if each is last else each
                for each in found
                if each is last or not any(each is other for other in users)
            ]
    return tuple(found)


def _filled(buffer: Array, users: Sequence[Statement]) -> tuple[Statement, Statement] | None:
    """The statement that fills another buffer from this one, and what it becomes."""
    match users:
        case [Allocate(), Fill() as into, Fill() as out] if into.buffer == buffer and out.source == buffer:
            if (
                _is_whole(out.at, out.extents, into.extents)
                and set(out.steps) <= {1}
                and (out.buffer.steps == into.buffer.steps)
            ):
                return out, Fill(out.buffer, into.source, into.at, into.extents, into.steps)
    return None


def _drained(buffer: Array, users: Sequence[Statement]) -> tuple[Statement, Statement] | None:
    """The statement that sends sums into this buffer, and what it becomes: they leave at once."""
    match users:
        case [Allocate(), Zero(), Drain() as into, Drain() as out] if into.target == buffer and out.buffer == buffer:
            if _is_whole(into.at, into.extents, out.extents):
                return into, Drain(into.buffer, out.target, out.at, out.extents)
    return None


def _is_whole(at: Sequence[Affine], extents: Sequence[Affine], others: Sequence[Affine]) -> bool:
    return all(each == Affine() for each in at) and tuple(extents) == tuple(others)
