"""A product at many sizes, as a picture of a GPU's tiers and stripes needs them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from .gemm import Gemm
from .machine import Gpu
from .tiles import TILES, BlockTile, Plan, plans_for
from .timing import GemmCost, evaluate_gemm, memory_roof


@dataclass(frozen=True)
class SweepPoint:
    """One size of a sweep. Times are seconds, rates FLOP/s; `power_of_two` is the largest one that divides n."""

    n: int
    m: int
    k: int
    power_of_two: int
    plan: str
    tiles: int
    waves: float
    bound: str
    seconds: float
    flop_per_s: float
    compute_roof: float
    memory_roof: float

    def as_dict(self) -> dict[str, Any]:
        """Names and values, as the files of a sweep have them."""
        return asdict(self)


def sweep(gpu: Gpu, gemms: Iterable[Gemm], choice: Choice | None = None) -> list[SweepPoint]:
    """A point for each product, run in its best way.

    Raises ArchitectureError when the GPU has no such element type, or no tile fits.
    """
    return [_point(gpu, gemm, choice) for gemm in gemms]


def largest_power_of_two(number: int) -> int:
    """The largest power of two that divides a positive whole number."""
    return number & -number


def _point(gpu: Gpu, gemm: Gemm, choice: Choice | None) -> SweepPoint:
    cost = best_plan(gpu, gemm, choice)
    return SweepPoint(
        n=gemm.n,
        m=gemm.m,
        k=gemm.k,
        power_of_two=largest_power_of_two(gemm.n),
        plan=str(cost.plan),
        tiles=cost.tiles,
        waves=cost.waves,
        bound=cost.bound,
        seconds=cost.seconds,
        flop_per_s=cost.flop_per_s,
        compute_roof=gpu.peak(gemm.dtype),
        memory_roof=memory_roof(gpu, gemm),
    )


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
