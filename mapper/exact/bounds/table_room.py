"""Room for the tables of bounds."""

from __future__ import annotations

import math

import numpy as np

from ..rows import Floats

TABLES_AT_ONCE = 32
"""Tables that room is asked for at once, at most."""

NUMBERS_AT_ONCE = 2_000_000
"""Numbers that room is asked for at once, at most, or those of one table."""


class TableRoom:
    """Room for many tables of one shape.

    A search makes thousands of tables, and the system takes longer to hand out a small page for the first time than
    numpy takes to fill it. In large pieces large pages are handed out: numpy asks for those from 4 MiB on.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        tables = NUMBERS_AT_ONCE // math.prod(shape)
        self._piece = (max(1, min(tables, TABLES_AT_ONCE)), *shape)
        self._free: list[Floats] = []

    def kept(self, table: Floats) -> Floats:
        """A copy of a table, broadcast to the shape."""
        if not self._free:
            self._free = list(np.empty(self._piece))
        room = self._free.pop()
        room[...] = table
        return room
