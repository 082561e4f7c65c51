"""Where the words lie that operations between groups read and write, in C: strides, and tables where there are none."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .....workloads.graph import ApartRead
from ..words.steps import steps_along

Index = np.ndarray[Any, np.dtype[np.int64]]


def tables_of(reads: Sequence[ApartRead]) -> Iterator[str]:
    """Where words lie that follow no stride."""
    first = reads[0]
    for axis in range(len(first.extents)):
        places = first.positions[axis] * math.prod(first.extents[axis + 1 :])
        tables = {f"at{axis}": places, **{f"{read.name}_{axis}": read.offsets[axis] for read in reads}}
        for name, values in tables.items():
            if steps_along(values) is None:
                numbers = ", ".join(map(str, values.ravel()))
                yield f"    static const int64_t {name}[{values.size}] = {{{numbers}}};"


def along(values: Index, table: str, index: str) -> str:
    """Where the word at an index lies: by a stride, or by a table."""
    steps = steps_along(values)
    if steps is None:
        return f"{table}[{index}]"
    return sum_of([times(index, steps[1]), str(steps[0]) if steps[0] else ""])


def times(index: str, step: int) -> str:
    """An index times a stride; nothing where that is 0."""
    return "" if step == 0 else index if step == 1 else f"{index} * {step}"


def sum_of(terms: Sequence[str]) -> str:
    """The sum of what there is of some terms."""
    return " + ".join(term for term in terms if term) or "0"
