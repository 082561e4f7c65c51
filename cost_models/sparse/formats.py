"""Formats of tiles with zeros, and the bits of metadata that they take, to the bit.

A tile of n words, k of them nonzero (`most` at most, `least` at least), in rows of r words, keeps its k words and

    bitmask     n                                               one bit a word
    coordinate  k * ceil(log2 n)                                the place of each word in the tile
    runs        k * ceil(log2(n - least + 1))                   the zeros before each word
    csr         (n / r + 1) * ceil(log2(most + 1))              where each row begins, and where the last one ends
                + k * ceil(log2 r)                              the place of each word in its row
    blocks      k * ceil(log2 M)                                the place of each word in its block of M (N:M)

The formats are those of Sparseloop (MICRO 2022); two bits for each of 2:4 are NVIDIA's (Mishra et al.,
"Accelerating Sparse Deep Neural Networks", 2021).
"""

from __future__ import annotations

import math
from functools import lru_cache

from ...arch import Memory
from ...arch.spec import SparseFormat
from ...ir import Tensor, TilewrightError
from .densities import Density, Shape, Structured


def possible_formats(memory: Memory, tensor: Tensor, density: Density) -> tuple[SparseFormat, ...]:
    """How a memory may hold a tensor with zeros: what is for blocks of N:M is for no other density; where nothing is
    left, every word is held."""
    given = memory.formats.get(tensor.role, ())
    found = tuple(kind for kind in given if kind != "blocks" or isinstance(density, Structured))
    return found or ("uncompressed",)


def bits_for(values: int) -> int:
    """Bits that tell so many values apart."""
    return (values - 1).bit_length()


@lru_cache(maxsize=4096)
def nonzero_share(density: Density, tensor: tuple[int, ...]) -> float:
    """Nonzero words of all words of a tensor."""
    return density.words(tensor, tensor).mean / math.prod(tensor)


def metadata_bits(kind: SparseFormat, density: Density, tile: Shape, tensor: Shape, *, at_most: bool = False) -> float:
    """Bits of metadata of a tile: the mean, or the most.

    tile, tensor  extents by rank, the innermost one last

    Raises TilewrightError for blocks of a density that has none.
    """
    if kind == "uncompressed":
        return 0.0
    words, known = math.prod(tile), density.words(tile, tensor)
    # Tiles at a ragged edge have fewer words, in proportion to which all metadata moves.
    nonzeros = known.most if at_most else nonzero_share(density, tuple(tensor)) * words
    if kind == "bitmask":
        return words
    if kind == "coordinate":
        return nonzeros * bits_for(words)
    if kind == "runs":
        return nonzeros * bits_for(words - known.least + 1)
    if kind == "csr":
        return (words // tile[-1] + 1) * bits_for(known.most + 1) + nonzeros * bits_for(tile[-1])
    if not isinstance(density, Structured):
        raise TilewrightError(
            f"the format blocks is for N:M, found {density}", hint="give a density such as 2:4, or another format"
        )
    return nonzeros * bits_for(density.block)
