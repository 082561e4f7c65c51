"""How much the random tests try: TILEWRIGHT_FUZZ=20 tries twenty times as much."""

from __future__ import annotations

import os

TIMES = int(os.environ.get("TILEWRIGHT_FUZZ", "1"))


def blocks(seeds: int, size: int) -> list[range]:
    """So many seeds, or more where that is asked for, in blocks: a test for each."""
    return [range(start, start + size) for start in range(0, seeds * TIMES, size)]
