"""How the tensors lie that ONNX nodes read which are done between groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...ir import ProblemError
from ..graph.meaning import ApartRead
from .nodes import OnnxValue

if TYPE_CHECKING:
    import numpy as np

    Index = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Lies:
    """How a tensor lies that a node reads: in what somebody makes, or among what is stored.

    offsets  for each axis, where its positions lie
    """

    source: str | None
    value: OnnxValue
    offsets: tuple[Index, ...]

    @property
    def index(self) -> Index:
        """For every word of the tensor, where it lies."""
        import numpy as np

        found = np.zeros((1,) * len(self.offsets), np.int64)
        for axis, offsets in enumerate(self.offsets):
            found = found + offsets.reshape([-1 if i == axis else 1 for i in range(len(self.offsets))])
        return found

    def read(self, name: str, offsets: Sequence[Index]) -> ApartRead:
        """It as an operation reads it whose axes are its own: (positions, taken) of each, where the words lie."""
        import numpy as np

        value = None if self.source is not None else self.value.name
        shape = tuple(len(each) for each in offsets)
        return ApartRead(name, self.source, value, shape, tuple(np.arange(n) for n in shape), tuple(offsets))


def stored_lies(value: OnnxValue, shape: Sequence[int] | None = None) -> Lies:
    """A parameter, in a shape of its own."""
    import numpy as np

    known = value.shape if shape is None else shape
    if known is None:
        raise ProblemError(f"the shape of parameter {value.name} is not known")
    strides = [math.prod(known[i + 1 :]) for i in range(len(known))]
    return Lies(None, value, tuple(np.arange(n) * s for n, s in zip(known, strides, strict=True)))
