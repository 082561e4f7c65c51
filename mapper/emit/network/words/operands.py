"""What the groups of a network are given: tensors that others make, and parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .....ir import Operation
from ...c.direct import Lying
from ...lowering.loop_program import WholeLying
from ...parts.trees import TensorFinish
from .known_words import UNKNOWN, KnownWords
from .stored import ELEMENT, WordType


@dataclass(frozen=True)
class Reading:
    """A tensor from outside of a group, as the group's program reads it.

    key     who makes it
    made    positions of each of its axes
    before  zeros before the first position of each
    shape   of the array that the program reads: with these zeros, and others after the last position
    own     of the zeros before, those that the cascade takes for the tensor's; others are the operations' own
    stays   whether it lies on chip, where the program does without zeros around it
    """

    key: str
    made: tuple[int, ...]
    before: tuple[int, ...]
    shape: tuple[int, ...]
    own: tuple[int, ...]
    stays: bool = False

    @property
    def is_read_in_place(self) -> bool:
        """Whether the program reads it where it lies."""
        return self.stays or (self.made == self.shape and not any(self.before))

    @property
    def on_chip(self) -> WholeLying:
        """How it lies where it stays."""
        axes = enumerate(zip(self.made, self.before, self.shape, strict=True))
        edges = frozenset(axis for axis, (made, before, wide) in axes if before or before + made < wide)
        return WholeLying(self.made, self.own, edges)

    def lying(self, operation: Operation, tensor: str) -> Lying:
        """How an operation finds it as it was made."""
        pads = [operation.pad(tensor, i) for i in range(len(self.made))]
        before = tuple(own + low for own, (low, _) in zip(self.own, pads, strict=True))
        padded = tuple(
            shape > made or bool(low) for shape, made, low in zip(self.shape, self.made, before, strict=True)
        )
        return Lying(self.made, before, padded)


@dataclass(frozen=True)
class StoredWords:
    """Words of a parameter that a model states.

    value  its name there
    take   which of its words, in the order of the program's
    zero   what is subtracted from them, if anything: as many words
    """

    value: str
    take: np.ndarray[Any, np.dtype[np.int64]]
    zero: StoredWords | None = None


@dataclass(frozen=True)
class Weight:
    """A parameter of an operation.

    name    of the group, and of the tensor there
    shape   of its axes
    offset  of its first word among those of all parameters
    terms   that are summed up in every word of the operation's output
    stored  its words, where a model states them
    place   byte of its first word in the file of a program that stores words in types of their own
    stored_as  in which
    known   what is known of its words there
    """

    name: str
    shape: tuple[int, ...]
    offset: int
    terms: int
    stored: StoredWords | None = None
    place: int = 0
    stored_as: WordType = ELEMENT
    known: KnownWords = UNKNOWN

    @property
    def words(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Finished:
    """What a group does with the words of a tensor that it writes, and the parameters of that."""

    finish: TensorFinish
    parameters: tuple[Weight, ...]
