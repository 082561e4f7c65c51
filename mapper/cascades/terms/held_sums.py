"""Sums of an intermediate that are unfinished while other operations work than the one that adds to it.

Where a loop above several operations goes over what one of them sums, its output is unfinished from visit to visit; so
a node that holds it takes the room of partial sums while the others work too. Such loops may be chosen in a part whose
operation writes to a node outside of it: for that the part knows by how much its room gets less then (`HeldSums`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .branch import Room


class HeldSums(NamedTuple):
    """A node outside a part that holds what one of its operations writes, with room for partial sums while it does.

    writer  the operation
    tensor  what it writes
    more    by operation of the part, the bits by which the node is wider while that works, where loops above it go on
            with the sums; none for the writer, for which it is wide in any case
    """

    writer: str
    tensor: str
    more: tuple[Room, ...]


def held_by(sums: Iterable[HeldSums], names: tuple[str, ...], start: int, end: int) -> tuple[HeldSums, ...]:
    """What concerns some operations alone, one after the other, of those in which some sums are held."""
    own = names[start:end]
    return tuple(one._replace(more=one.more[start:end]) for one in sums if one.writer in own and len(own) > 1)
