"""What a collective means: words moved from device to device by each schedule, step by step, as emitted programs do.

Every device begins with words of its own. A step that sends what is not there, words that arrive twice, a sum that has
not one addend of each device, and an end that is not the collective's are errors. Words are counted on every link.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.mapper.emit.sharded.runtime_links import Line, exchanged, gathered, scattered, summed

Words = np.ndarray[Any, np.dtype[np.float64]]


def addend(device: int, size: int) -> Words:
    """Words whose sums tell whose addends they are."""
    return np.full(size, 2.0**device)


def are_sums(words: Words, n: int) -> bool:
    """Whether one addend of each device is in all of them."""
    return bool((words == 2.0**n - 1).all())


def walked(operation: str, kind: str, blocks: Any, switch_helps: bool = False) -> Line:
    """An all-gather or reduce-scatter of blocks, an all-to-all of a matrix of them, walked to its end."""
    n = len(blocks)
    if operation == "all-to-all":
        given = [[np.full(size, n * i + j + 1.0) for j, size in enumerate(row)] for i, row in enumerate(blocks)]
        got, line = exchanged(kind, given)
        assert all(np.array_equal(got[j][i], given[i][j]) for i in range(n) for j in range(n) if i != j)
        return line
    if operation == "reduce-scatter":
        sums, line = scattered(kind, [[addend(i, size) for size in blocks] for i in range(n)], switch_helps)
        assert all(words.size == size and are_sums(words, n) for words, size in zip(sums, blocks, strict=True))
        return line
    own = [addend(i, size) for i, size in enumerate(blocks)]
    every, line = gathered(kind, own, switch_helps)
    assert all(np.array_equal(every[j][i], own[i]) for i in range(n) for j in range(n))
    return line


def reduced(schedule: str, kind: str, size: int, n: int, switch_helps: bool = False) -> Sequence[Line]:
    """An all-reduce by a schedule, its phases."""
    sums, lines = summed(kind, [addend(i, size) for i in range(n)], schedule, switch_helps)
    assert all(words.size == size and are_sums(words, n) for words in sums)
    return lines
