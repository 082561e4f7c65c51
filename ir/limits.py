"""How large an operation may be, so that all counts stay exact."""

from __future__ import annotations

from .errors import ProblemError
from .problem import Problem

LARGEST_COUNT = 2**53
"""Multiply-accumulates beyond this are refused: floats no longer tell one count from the next."""


def check_countable(problem: Problem) -> None:
    """ProblemError when the operation is larger than counts can be exact for."""
    if problem.macs > LARGEST_COUNT:
        raise ProblemError(
            f"about 2^{problem.macs.bit_length() - 1} multiply-accumulates, expected 2^53 at most",
            where=problem.name,
            hint="give one layer at a time, or a part of it",
        )
