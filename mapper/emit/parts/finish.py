"""What is done with the words of a tensor once they are complete."""

from __future__ import annotations

from dataclasses import dataclass

from ....ir import Expression


@dataclass(frozen=True, slots=True)
class TensorFinish:
    """What is done with every word of a tensor once it is complete.

    expression  of the word and of parameters
    word        what the expression calls it
    parameters  of each its name there, the axes of the tensor that it has, and its extents along these
    """

    expression: Expression
    word: str
    parameters: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...] = ()
