"""Which mappings there are: two spaces, and how many mappings each has.

    size.py          counted exactly, even and uneven
    regions.py       in how many ways a region of the hierarchy can have so many slots for loops
    chain_tables.py  chains of trip counts of one dimension, counted
    textbook.py      how many mappings texts would say that there are

In the even space all tiles of a memory end at the same place of the nest; in the uneven one each tensor's tile may end
at its own. `tilings.py` beside this folder has the other choice: which trip counts loops may have.
"""

from __future__ import annotations

from typing import Literal

Space = Literal["even", "uneven"]
SPACES: tuple[Space, ...] = ("even", "uneven")

__all__ = ["SPACES", "Space"]
