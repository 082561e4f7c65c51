"""The tiles that libraries cut a product into, and the ways to run them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...ir import ArchitectureError, ProblemError
from .gemm import DTYPES
from .machine import Gpu

FEWEST_STAGES = 2
"""A thread block needs room for the step it computes with and the one that is on its way."""

SPLITS = (1, 2, 4, 8, 16)
"""Numbers of parts that K is cut into, each part a tile of its own."""

INSTRUCTION = (16, 8)
"""Rows and columns of the smallest tensor-core instruction (mma.m16n8k16 for fp16); NVIDIA, PTX ISA."""

INSTRUCTION_K_BYTES = 32
"""Depth of that instruction: 16 elements of 2 bytes, 8 of 4, 32 of 1."""


@dataclass(frozen=True)
class BlockTile:
    """What one thread block computes: `rows` x `columns` of C, in steps along K."""

    rows: int
    columns: int

    def __str__(self) -> str:
        return f"{self.rows}x{self.columns}"

    def k_step(self, gpu: Gpu, dtype: str) -> int:
        """Elements of K in one step: as many as a line of memory holds, so that row-major A is read in whole lines."""
        return gpu.line_bytes // DTYPES[dtype].operand_bytes

    def shared_bytes(self, gpu: Gpu, dtype: str) -> int:
        """Shared memory of one step: a panel of A and a panel of B."""
        return (self.rows + self.columns) * self.k_step(gpu, dtype) * DTYPES[dtype].operand_bytes

    def stages(self, gpu: Gpu, dtype: str) -> int:
        """Steps that fit into shared memory at a time."""
        return gpu.shared_memory_bytes // self.shared_bytes(gpu, dtype)


# NVIDIA, Matrix Multiplication Background User's Guide, "Typical Tile Dimensions in cuBLAS and Performance", from the
# most to the least efficient. Of two ways that are equally fast, the earlier one is taken.
TILES: tuple[BlockTile, ...] = (
    BlockTile(256, 128),
    BlockTile(128, 256),
    BlockTile(128, 128),
    BlockTile(256, 64),
    BlockTile(64, 256),
    BlockTile(128, 64),
    BlockTile(64, 128),
    BlockTile(64, 64),
)


@dataclass(frozen=True)
class Plan:
    """A way to run a product.

    split      parts that K is cut into; with more than one, a second kernel adds up their sums
    stream_k   SMs share the steps of all tiles evenly, instead of taking whole tiles (Osama et al., PPoPP 2023)
    """

    tile: BlockTile
    split: int = 1
    stream_k: bool = False

    def __str__(self) -> str:
        extra = " stream-K" if self.stream_k else f" split-K {self.split}" if self.split > 1 else ""
        return f"{self.tile}{extra}"


def tile_named(text: str) -> BlockTile:
    """A tile of the catalogue, such as `128x128`; ProblemError lists them all."""
    for tile in TILES:
        if str(tile) == text.strip().lower():
            return tile
    known = ", ".join(map(str, TILES))
    raise ProblemError(f"unknown tile {text!r}, expected one of {known}", where="tile")


def plans_for(
    gpu: Gpu, dtype: str, tiles: Iterable[BlockTile] = TILES, *, split_k: bool = True, stream_k: bool = False
) -> tuple[Plan, ...]:
    """Every way to run a product on a GPU, simplest first: tiles that fit into its shared memory, and the options.

    split_k, stream_k   whether to offer them as well

    Raises ArchitectureError when no tile fits.
    """
    fitting = [tile for tile in tiles if tile.stages(gpu, dtype) >= FEWEST_STAGES]
    if not fitting:
        message = f"no tile fits {FEWEST_STAGES} times into the shared memory of {gpu.shared_memory_bytes:,} B"
        raise ArchitectureError(message, where=gpu.name, hint="the smallest tile of the catalogue is 64x64")
    plans = [Plan(tile, split) for split in (SPLITS if split_k else SPLITS[:1]) for tile in fitting]
    return tuple(plans + [Plan(tile, stream_k=True) for tile in fitting if stream_k])
