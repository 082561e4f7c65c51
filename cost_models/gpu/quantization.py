"""Tile and wave quantization: a product is padded to whole tiles, and tiles run in whole waves.

NVIDIA, "Matrix Multiplication Background User's Guide", chapter 3.
"""

from __future__ import annotations

from .gemm import Gemm
from .tiles import BlockTile


def ceil_div(number: int, by: int) -> int:
    """The quotient of two whole numbers, rounded up."""
    return -(-number // by)


def grid(gemm: Gemm, tile: BlockTile) -> tuple[int, int]:
    """Rows and columns of tiles that cover C: ceil(M / tile rows), ceil(N / tile columns)."""
    return ceil_div(gemm.m, tile.rows), ceil_div(gemm.n, tile.columns)


def tile_count(gemm: Gemm, tile: BlockTile) -> int:
    """Tiles of the whole batch."""
    rows, columns = grid(gemm, tile)
    return gemm.batch * rows * columns


def tile_efficiency(gemm: Gemm, tile: BlockTile) -> float:
    """Share of the computed elements of C that are wanted: 1 where tiles cover C exactly."""
    rows, columns = grid(gemm, tile)
    return gemm.m * gemm.n / (rows * tile.rows * columns * tile.columns)


def wave_count(tiles: int, sms: int) -> int:
    """Rounds in which the SMs take one tile each: ceil(tiles / SMs)."""
    return ceil_div(tiles, sms)


def wave_efficiency(tiles: int, sms: int) -> float:
    """Share of the SMs' rounds that have a tile: 1 where the last wave is full."""
    return tiles / (wave_count(tiles, sms) * sms)
