"""What a network computes beyond what its operations cost: stored parameters, and what is done with words as they are
written (biases, batch norms, functions of one word). Tables say nothing of these; files of models do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...ir import Expression

if TYPE_CHECKING:
    import numpy as np

WORD = "X"
"""What the expression of a finish calls the word."""

Values = Callable[[], Mapping[str, "np.ndarray[Any, Any]"]]
"""Reads the stored parameters of a model, by name."""


@dataclass(frozen=True)
class FinishParameter:
    """A stored parameter of what is done with words.

    value  its name
    own    its shape, as it is broadcast
    shape  in which it is broadcast
    runs   of the axes of that shape, in the words of what is finished: how many, and how far apart
    """

    value: str
    own: tuple[int, ...]
    shape: tuple[int, ...]
    runs: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class WordFinish:
    """What is done with every word of a tensor as it is written.

    expression  of the word, WORD, and of parameters
    parameters  by what the expression calls them
    """

    expression: Expression
    parameters: tuple[tuple[str, FinishParameter], ...] = ()


@dataclass(frozen=True)
class StoredOperand:
    """A stored parameter that a layer multiplies with.

    value  its name
    order  letters of the layer's dimensions, in the order in which they lie in it, slowest first
    """

    value: str
    order: tuple[str, ...]


@dataclass(frozen=True)
class NetworkMeaning:
    """All of it.

    finishes  by occurrence, of those whose words are changed
    stored    by occurrence and operand
    outputs   occurrences that make what the network hands out
    unknown   what cannot be computed, each with its place and why
    values    reads the parameters
    """

    finishes: Mapping[str, WordFinish]
    stored: Mapping[tuple[str, str], StoredOperand]
    outputs: tuple[str, ...]
    unknown: tuple[str, ...]
    values: Values
