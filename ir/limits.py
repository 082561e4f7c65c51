"""The largest operations that are accepted: counts must stay exact, and fit the memory of a usual computer."""

from __future__ import annotations

from .errors import ProblemError
from .problem import Problem

LARGEST_COUNT = 2**53
"""Multiply-accumulates beyond this are refused: floats no longer tell one count from the next."""


LONGEST_WINDOWS = 2**22
"""Elements that an axis of sliding windows (`2p + r`) may span: some counts look at every one of them."""


def check_countable(problem: Problem) -> None:
    """ProblemError when the operation is larger than counts can be exact for, or be made at all."""
    if problem.macs > LARGEST_COUNT:
        raise ProblemError(
            f"about 2^{problem.macs.bit_length() - 1} multiply-accumulates, expected 2^53 at most",
            where=problem.name,
            hint="give one layer at a time, or a part of it",
        )
    for tensor in problem.tensors:
        for rank in tensor.ranks:
            span = 1 + sum(coefficient * (problem.sizes[dim] - 1) for dim, coefficient in rank)
            most = LONGEST_WINDOWS if len(rank) > 1 else LARGEST_COUNT
            if span > most:
                raise ProblemError(
                    f"an axis spans about 2^{span.bit_length() - 1} elements, expected 2^{most.bit_length() - 1}",
                    where=f"{problem.name}: tensor {tensor.name}",
                    hint="is a stride or a dilation too large?",
                )
