"""The cost of partial sums that pass a boundary: the words and bits that its two memories read and write.

A word of an output tile that comes into place inside *visits* it, and leaves again; what instances sum up on the way
*arrives* outside:

    outer memory    reads  = arrivals - first arrivals      writes = arrivals
    inner memory    writes = visits - first visits          reads  = visits

First ones cost nothing on the way in, unless `first_read_elision` is off; the inner reads are left out if
`inner_drain_read` is. On their way out, finished words, those that leave for the last time, have a width of their own.

Numbers and arrays are taken alike. The cost model passes the counts of one mapping; the exact search those of many;
its bounds the fewest words that may pass, and the most of them that may be the first, or finished: everything grows
with the words, and falls with those that are first, and with those that are finished and narrower. The simulator and
the CP-SAT model have rules of their own.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ..arch import Architecture
from ..ir import Tensor

Words = TypeVar("Words", int, npt.NDArray[np.float64], npt.NDArray[np.int64])


def sums_inwards(arch: Architecture, visits: Words, first: Words) -> Words:
    """Words of the visits, or arrivals, that bring a sum in: it is read outside, and written inside."""
    return visits - first * arch.first_read_elision


def sums_drained(arch: Architecture, visits: Words) -> Words:
    """Words that the inner memory reads when its tiles leave."""
    return visits * arch.inner_drain_read


def bits_outwards(words: Words, finished: Words, wide: int, narrow: int) -> Words:
    """Bits of words on their way out, some of which are finished and have another width."""
    return words * wide - finished * (wide - narrow)


def sum_bits_at_outer(
    arch: Architecture, tensor: Tensor, arrivals: Words, first: Words, finished: Words
) -> tuple[Words, Words]:
    """Bits read and written where partial sums arrive; `first` and `finished` are parts of the arrivals."""
    wide, narrow = arch.partial_width_bits(tensor), arch.width_bits(tensor)
    return sums_inwards(arch, arrivals, first) * wide, bits_outwards(arrivals, finished, wide, narrow)


def sum_bits_at_inner(
    arch: Architecture, tensor: Tensor, visits: Words, first: Words, finished: Words
) -> tuple[Words, Words]:
    """Bits read and written by the memory that partial sums visit; `first` and `finished` are parts of the visits."""
    wide, narrow = arch.partial_width_bits(tensor), arch.width_bits(tensor)
    return sums_drained(arch, bits_outwards(visits, finished, wide, narrow)), sums_inwards(arch, visits, first) * wide
