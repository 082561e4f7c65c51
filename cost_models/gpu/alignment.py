"""How the rows of a tile lie across the lines of memory, and what it takes to load them.

A panel of a tile is a set of rows (columns, for column-major matrices): elements that lie next to each other. The start
of each row is the leading dimension further on. Where that is a multiple of a line, every row starts at the same place
in a line; where it is not, starts shift from row to row and a row touches one line more, or nearly so.
"""

from __future__ import annotations

from math import gcd

LANES = 32
"""Threads of a warp: one load instruction fetches an element of the same width for each."""

WIDEST_LOAD_BYTES = 16
"""The widest load of a thread, for which its address must be a multiple of 16 bytes. NVIDIA, CUDA programming guide."""


def load_width(leading_bytes: int) -> int:
    """Bytes that a thread can load at once: the largest power of two, up to 16, that divides the leading dimension."""
    return gcd(leading_bytes, WIDEST_LOAD_BYTES)


def lines_touched(length_bytes: int, leading_bytes: int, line_bytes: int) -> float:
    """Lines that a piece of a row touches, on average over the rows of a matrix.

    With g = gcd(leading dimension, length, line), rows start at multiples of g, each place in a line equally often:

        lines = length / line + 1 - g / line

    so length / line where rows start on lines, and almost one more where they start anywhere.
    """
    step = gcd(gcd(leading_bytes, length_bytes), line_bytes)
    return length_bytes / line_bytes + 1 - step / line_bytes


def requests(length_bytes: int, leading_bytes: int, line_bytes: int) -> float:
    """Lines that the loads of one row ask for, on average over rows.

    A warp's load instruction covers 32 x the load width of a row (several rows, if they are short), and asks for every
    line that it touches. So narrow loads ask for the same line again: two bytes wide, a line takes two instructions,
    and each of them may touch two lines.
    """
    piece = min(length_bytes, LANES * load_width(leading_bytes))
    return length_bytes / piece * lines_touched(piece, leading_bytes, line_bytes)
