"""How the rows of a tile lie across the lines of memory, and what it takes to load them.

A panel of a tile is a set of rows (columns, for column-major matrices): elements that lie next to each other. The start
of each row is the leading dimension further on. Where that is a multiple of a line, every row starts at the same place
in a line; where it is not, starts shift from row to row and a row touches one line more, or nearly so.

What alignment costs was measured (results/gpu): it is not what passes between L2 and an SM, which grows by a fourth at
most, but the passes of the SM's shared memory, of which narrow loads take more.
"""

from __future__ import annotations

from math import gcd

from .gemm import Gemm

LANES = 32
"""Threads of a warp: one load instruction fetches an element of the same width for each."""

WIDEST_LOAD_BYTES = 16
"""The widest load of a thread, for which its address must be a multiple of 16 bytes. NVIDIA, CUDA programming guide."""

SECTOR_BYTES = 32
"""Bytes that memory answers with at least. NVIDIA, CUDA C++ Best Practices Guide, on coalesced access."""

PASS_BYTES = 128
"""What an SM's L1 cache and shared memory, which are one, move in a cycle: 32 banks of 4 bytes. The same guide."""


def load_width(leading_bytes: int) -> int:
    """Bytes that a thread can load at once: the largest power of two, up to 16, that divides the leading dimension."""
    return gcd(leading_bytes, WIDEST_LOAD_BYTES)


def thread_width(gemm: Gemm) -> int:
    """Bytes that threads load at once: a kernel is written for one alignment of all its matrices, C as well."""
    operands = min(load_width(leading * gemm.operand_bytes) for leading in (gemm.a_leading, gemm.b_leading))
    return min(operands, load_width(gemm.c_leading * gemm.result_bytes))


def lines_touched(length_bytes: int, leading_bytes: int, line_bytes: int) -> float:
    """Lines that a piece of a row touches, on average over the rows of a matrix.

    With g = gcd(leading dimension, length, line), rows start at multiples of g, each place in a line equally often:

        lines = length / line + 1 - g / line

    so length / line where rows start on lines, and almost one more where they start anywhere.
    """
    step = gcd(gcd(leading_bytes, length_bytes), line_bytes)
    return length_bytes / line_bytes + 1 - step / line_bytes


def sector_bytes(length_bytes: int, leading_bytes: int) -> float:
    """Bytes of the sectors that a piece of a row touches: what passes between a cache and the memory behind it."""
    return SECTOR_BYTES * lines_touched(length_bytes, leading_bytes, SECTOR_BYTES)


def passes_to_load(panel_bytes: int, width: int) -> float:
    """Passes of shared memory in which a panel comes to lie there, loaded `width` bytes a thread at once.

    A thread owns pieces of 16 bytes, because tensor cores are fed with those, and loads one in 16 / width instructions.
    So an instruction of a warp reaches over 32 x 16 bytes whatever its width is, and its data takes as many passes as
    that takes; then the pieces are written.
    """
    instructions = panel_bytes / (LANES * width)
    return instructions * (LANES * WIDEST_LOAD_BYTES / PASS_BYTES) + panel_bytes / PASS_BYTES
