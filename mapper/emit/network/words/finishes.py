"""What is done with the words of a tensor, as programs do it: parameters have those axes alone that they differ in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .....ir.expression import renamed
from .....workloads.graph import WORD, FinishParameter, WordFinish
from ...parts.trees import TensorFinish
from .operands import StoredWords


def placed_finish(finish: WordFinish, extents: Sequence[int]) -> tuple[TensorFinish, tuple[StoredWords, ...]]:
    """A finish of a tensor with these extents, and the words that its parameters need.

    Parameters are renamed by their place, so that equal finishes of different tensors are equal.
    """
    names, shown, placed = {WORD: WORD}, [], []
    for number, (name, parameter) in enumerate(finish.parameters):
        places = _places(parameter, extents)
        axes = tuple(i for i in range(places.ndim) if (places != places.take([0], i)).any())
        kept = places[tuple(slice(None) if i in axes else 0 for i in range(places.ndim))]
        names[name] = f"P{number}"
        shown.append((names[name], axes, kept.shape))
        placed.append(StoredWords(parameter.value, kept.ravel()))
    return TensorFinish(renamed(finish.expression, names), WORD, tuple(shown)), tuple(placed)


def _places(parameter: FinishParameter, extents: Sequence[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """For every word of the tensor the place of the parameter's word that meets it."""
    own = np.arange(math.prod(parameter.own)).reshape(parameter.own)
    wide = np.broadcast_to(own, parameter.shape)
    flat = np.zeros(math.prod(extents), np.int64)
    lies = np.zeros((), np.int64)
    for count, stride in parameter.runs:
        lies = lies[..., None] + stride * np.arange(count)
    flat[lies] = wide.reshape(lies.shape)
    return flat.reshape(extents)
