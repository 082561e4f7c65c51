"""GEMMs on a GPU: a grid of tiles over the SMs, and what that costs. docs/gpu.md has it in words.

    machine.py        the figures of a GPU, and the files in machines/
    gemm.py           the matrix product: shapes, element types, layouts
    tiles.py          the catalogue of tiles, and ways to run them (split-K, stream-K)
    alignment.py      lines of memory that the rows of a tile touch
    timing.py         tiles, waves and what is idle; seconds of one way to run a product, and the roofs
    layouts.py        A and B by rows or by columns: time, and sectors of 32 bytes that 32 lanes touch
    padding.py        which dimension to pad, and what that is worth
    sweep.py          the fastest way, by exact search of the catalogue; many sizes
    comparison.py     the model beside measured times

NVIDIA, "Matrix Multiplication Background User's Guide", is the source of tile and wave quantization and of the tiles.
"""

from .comparison import Measurement, ModelAccuracy, compare, read_measurements
from .gemm import DTYPES, Gemm
from .layouts import Coalescing, LayoutChoice, coalescing, layout_choices
from .machine import Gpu, list_gpus, load_gpu
from .padding import Advice, Padding, advise
from .sweep import Choice, SweepPoint, best_plan, sweep
from .tiles import TILES, BlockTile, Plan, plans_for
from .timing import GemmCost, evaluate_gemm, grid, memory_roof, wave_count

__all__ = [
    "DTYPES",
    "TILES",
    "Advice",
    "BlockTile",
    "Choice",
    "Coalescing",
    "Gemm",
    "GemmCost",
    "Gpu",
    "LayoutChoice",
    "Measurement",
    "ModelAccuracy",
    "Padding",
    "Plan",
    "SweepPoint",
    "advise",
    "best_plan",
    "coalescing",
    "compare",
    "evaluate_gemm",
    "grid",
    "layout_choices",
    "list_gpus",
    "load_gpu",
    "memory_roof",
    "plans_for",
    "read_measurements",
    "sweep",
    "wave_count",
]
