"""What the layouts of A and B cost a product on a GPU: time, and how much of the memory's sectors is wanted.

Memory answers in sectors of 32 bytes, whatever a warp's 32 lanes ask for. Lanes that walk along a row (a column, for a
column-major matrix) share sectors; lanes that walk across it have one each. In the words of memories with lines
(docs/layouts.md): a line of 32 bytes, and a transfer of 32 words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import cast

from .alignment import LANES, SECTOR_BYTES, lines_touched, load_width
from .gemm import ORDERS, Gemm, Order
from .machine import Gpu
from .sweep import Choice, best_plan
from .timing import GemmCost


@dataclass(frozen=True)
class Coalescing:
    """One load instruction of a warp, on average over the rows of a matrix.

    load_bytes      that each lane takes at once, of neighbours
    sectors_along   that are touched where lanes walk along a row: neighbours in memory
    wanted_along    part of their bytes that is wanted
    sectors_across  where each lane is in another row
    wanted_across   part of their bytes that is wanted
    """

    load_bytes: int
    sectors_along: float
    wanted_along: float
    sectors_across: float
    wanted_across: float


def coalescing(row_elements: int, leading_elements: int, element_bytes: int) -> Coalescing:
    """The sectors that a warp touches, of rows of so many elements with so many from one to the next."""
    row, leading = row_elements * element_bytes, leading_elements * element_bytes
    width = load_width(leading)
    along = min(LANES * width, row)
    sectors = lines_touched(along, leading, SECTOR_BYTES)
    across = LANES * lines_touched(width, leading, SECTOR_BYTES)
    return Coalescing(
        load_bytes=width,
        sectors_along=sectors,
        wanted_along=along / (sectors * SECTOR_BYTES),
        sectors_across=across,
        wanted_across=LANES * width / (across * SECTOR_BYTES),
    )


@dataclass(frozen=True)
class LayoutChoice:
    """A product with its operands in some layouts, run in its best way.

    a, b            how A and B lie: by rows or by columns
    cost            of the product
    speedup         time with the layouts as given / this time; above 1 another layout pays
    a_loads, b_loads  of a warp, from each operand
    """

    a: Order
    b: Order
    cost: GemmCost
    speedup: float
    a_loads: Coalescing
    b_loads: Coalescing


def layout_choices(gpu: Gpu, gemm: Gemm, choice: Choice | None = None) -> tuple[LayoutChoice, ...]:
    """The product with A and B by rows or by columns, in all ways: first as it is, then the others by their time.

    What it costs to transpose a matrix is not counted: weights and buffers can be laid out so from the start.

    Raises ArchitectureError when the GPU has no such element type, or no tile fits.
    """
    given = best_plan(gpu, gemm, choice)
    found = []
    for a, b in product(ORDERS, repeat=2):
        other = replace(gemm, a=cast(Order, a), b=cast(Order, b))
        cost = best_plan(gpu, other, choice)
        a_row, b_row = (other.k if a == "row" else other.m), (other.n if b == "row" else other.k)
        found.append(
            LayoutChoice(
                other.a,
                other.b,
                cost,
                given.seconds / cost.seconds,
                coalescing(a_row, other.a_leading, other.operand_bytes),
                coalescing(b_row, other.b_leading, other.operand_bytes),
            )
        )
    return tuple(sorted(found, key=lambda each: ((each.a, each.b) != (gemm.a, gemm.b), each.cost.seconds)))
