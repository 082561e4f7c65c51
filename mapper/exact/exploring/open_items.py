"""What is open of a search: placements, choices of arrays, and batches of partial mappings, as states of the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from ....ir import Mapping
from ...kernel.states import Closed, OpenState
from ..growing.array_choices import ArrayChoices
from ..growing.batch import Batch
from ..growing.placements import OpenPlacement

Open = OpenPlacement | ArrayChoices | Batch
"""Rows are sorted by their bounds. `depth` says how far something has grown, `nbytes` how much memory it takes."""

Grown = Iterator["OpenItem | Closed[Mapping]"]
"""What comes of an item."""


@dataclass
class OpenItem(OpenState[Mapping]):
    """An open item is a state of the kernel: a placement, choices of arrays, or rows, with the bound of the first.

    grow  advances it
    """

    bound: float
    item: Open
    grow: Callable[[OpenItem], Grown]
    depth: float = field(init=False)
    nbytes: int = field(init=False)
    group: object | None = field(init=False)

    def __post_init__(self) -> None:
        self.depth, self.nbytes = self.item.depth, self.item.nbytes
        self.group = self.item.bounds if isinstance(self.item, Batch) else None

    def advance(self) -> Iterable[OpenItem | Closed[Mapping]]:
        return self.grow(self)

    def count_below(self, value: float) -> int:
        if isinstance(self.item, OpenPlacement):
            return int(self.bound < value)
        return int(np.searchsorted(self.item.bound, value))

    def lowest_part(self) -> OpenItem:
        if isinstance(self.item, OpenPlacement):
            return self
        return OpenItem(self.bound, self.item.take(np.zeros(1, dtype=np.intp)), self.grow)
