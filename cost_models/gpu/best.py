"""The fastest way to run a product: every tile and option of the catalogue is tried."""

from __future__ import annotations

from dataclasses import dataclass

from .gemm import Gemm
from .machine import Gpu
from .tiles import TILES, BlockTile, Plan, plans_for
from .timing import GemmCost, evaluate_gemm


@dataclass(frozen=True)
class Choice:
    """What a search may choose from.

    tiles      tiles of the catalogue
    split_k    whether K may be cut into parts
    stream_k   whether SMs may share the K steps of tiles; off, because few libraries' defaults do
    """

    tiles: tuple[BlockTile, ...] = TILES
    split_k: bool = True
    stream_k: bool = False

    def plans(self, gpu: Gpu, dtype: str) -> tuple[Plan, ...]:
        """The ways to run a product that this allows."""
        return plans_for(gpu, dtype, self.tiles, split_k=self.split_k, stream_k=self.stream_k)


def best_plan(gpu: Gpu, gemm: Gemm, choice: Choice | None = None) -> GemmCost:
    """The least time over all ways to run the product, and the way; the simplest one of those that are equally fast.

    Raises ArchitectureError when the GPU has no such element type, or no tile fits.
    """
    plans = (choice or Choice()).plans(gpu, gemm.dtype)
    return min((evaluate_gemm(gpu, gemm, plan) for plan in plans), key=lambda cost: cost.seconds)
