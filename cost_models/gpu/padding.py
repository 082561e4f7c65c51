"""Which dimension of a product to pad with zeros, and what that is worth; and what other layouts are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from ...ir.tiles import ceil_div
from .gemm import DIMENSIONS, Gemm
from .layouts import LayoutChoice, layout_choices
from .machine import Gpu
from .sweep import Choice, best_plan
from .timing import GemmCost

MULTIPLES = (2, 4, 8, 16, 32, 64, 128, 256)
"""What a dimension is padded to a multiple of: element alignment, lines of memory, tiles."""


@dataclass(frozen=True)
class Padding:
    """A padded product.

    sizes     sizes by M, N, K
    cost      of the padded product, run in its best way
    speedup   time of the product as it is / this time; above 1 the padding pays
    growth    bytes of the three matrices / those of the product as it is
    """

    sizes: dict[str, int]
    cost: GemmCost
    speedup: float
    growth: float


@dataclass(frozen=True)
class Advice:
    """What padding is worth, and what layouts are.

    cost   of the product as it is, run in its best way
    alone  the best padding of each dimension by itself, where one pays
    best   the best padding of all three, where one pays
    layouts  the product with A and B by rows or by columns: first as it is
    """

    cost: GemmCost
    alone: dict[str, Padding]
    best: Padding | None
    layouts: tuple[LayoutChoice, ...] = ()


def advise(gpu: Gpu, gemm: Gemm, choice: Choice | None = None, multiples: Iterable[int] = MULTIPLES) -> Advice:
    """The paddings that pay: every dimension to the next multiple of every number of `multiples`, all combinations.

    A padding must save more than a thousandth of the time. Of several that are equally fast, the one with the fewest
    bytes is taken. What it costs to copy a matrix into a padded one is not counted: weights and buffers can be laid out
    so from the start.

    Raises ArchitectureError when the GPU has no such element type, or no tile fits.
    """
    sizes = gemm.sizes()
    candidates = {name: padded_sizes(size, multiples) for name, size in sizes.items()}
    cost = best_plan(gpu, gemm, choice)

    def padding(padded: dict[str, int]) -> Padding:
        larger = gemm.resized(padded)
        found = best_plan(gpu, larger, choice)
        growth = larger.compulsory_bytes / gemm.compulsory_bytes
        return Padding(padded, found, cost.seconds / found.seconds, growth)

    every = [padding(dict(zip(DIMENSIONS, chosen, strict=True))) for chosen in product(*candidates.values())]
    alone = {}
    for name in DIMENSIONS:
        others = [entry for entry in every if all(entry.sizes[d] == sizes[d] for d in DIMENSIONS if d != name)]
        if found := _best(others):
            alone[name] = found
    return Advice(cost, alone, _best(every), layout_choices(gpu, gemm, choice))


def padded_sizes(size: int, multiples: Iterable[int] = MULTIPLES) -> tuple[int, ...]:
    """The size itself and what it becomes when it is rounded up to a multiple of each number, in ascending order."""
    return tuple(sorted({size, *(ceil_div(size, multiple) * multiple for multiple in multiples)}))


def _best(paddings: list[Padding]) -> Padding | None:
    """The fastest that pays; the smallest of those within a thousandth of it."""
    fastest = max(entry.speedup for entry in paddings)
    if fastest <= 1.001:
        return None
    return min((entry for entry in paddings if entry.speedup >= fastest / 1.001), key=lambda entry: entry.growth)
