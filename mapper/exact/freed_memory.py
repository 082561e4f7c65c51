"""Memory that searches free is kept for the next table, and the first of it comes in huge pages."""

from __future__ import annotations

from functools import cache

import numpy as np

LARGEST = 31 << 20
"""Bytes of a block that glibc learns from: it looks at blocks up to 32 MiB."""


@cache
def keep_freed_memory() -> None:
    """Free a large block once, without touching it.

    glibc asks the system for every block larger than any it has seen freed, and gives free memory back as soon as there
    is twice as much of it. A search makes and drops thousands of tables of some 100 KiB: with glibc's first limits, up
    to a third of its time goes into getting the same pages again. After this, up to 64 MiB of freed memory stay with
    the process. Other allocators take no notice.

    Two more such blocks are where the next tables will be: numpy asks for huge pages for blocks as large as these, of
    which a first search touches some tens instead of thousands of small ones.
    """
    np.empty(LARGEST, dtype=np.uint8)
    blocks = [np.empty(LARGEST - (1 << 20), dtype=np.uint8) for _ in range(2)]
    del blocks  # together: freed one by one, both would be the same
