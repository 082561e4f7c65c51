"""How long a product takes, run in one particular way.

    step      = max(tensor cores, loads, shared memory)   cycles of one SM for one K step of one tile
    wave      = K steps * step + storing the tile         cycles of one tile
    cycles    = sum over waves                            SMs that have a tile each, at the same time
    kernel    = max(cycles / clock, HBM bytes / HBM bandwidth)
    seconds   = launch + kernel [+ launch + adding up the parts, with split-K]

Loads bring whole sectors (alignment.py); L2 serves all active SMs together, and no SM takes in more than its port. In
shared memory panels come to lie, and every warp reads those of its 64 x 64 part of the tile from it. Where the machine
copies boxes by itself, neither takes passes that a warp would wait for, and tensor cores read shared memory themselves;
but only of matrices whose rows are aligned for it. Others are run as on the machines before it.
Stream-K deals out the K steps of all tiles evenly, so there are no waves; the partial sums of tiles that are cut go
through L2. A padded tile costs as much as a full one, and so does a padded K step.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

from ...ir.tiles import ceil_div
from .alignment import PASS_BYTES, passes_to_load, sector_bytes, thread_width
from .gemm import SUM_BYTES, Gemm
from .machine import Gpu
from .tiles import BlockTile, Plan

WARP_TILE = 64
"""Rows and columns of C that a warp computes: what the libraries' kernels for large tiles do (results/gpu)."""


@dataclass(frozen=True)
class GemmCost:
    """What a product costs on a GPU, run in one way.

    tiles             tiles of the whole batch, K parts counted apart
    waves             rounds of tiles over the SMs, as a fraction: 5.8 is five full waves and four fifths of one
    tile_efficiency   share of the computed elements that are wanted
    wave_efficiency   share of the SMs' rounds that have a tile; 1 with stream-K
    hbm_bytes         bytes to and from the memory outside the chip
    bound             what sets the time: compute, loads (from L2), memory (HBM) or launch
    """

    gemm: Gemm
    plan: Plan
    seconds: float
    tiles: int
    waves: float
    tile_efficiency: float
    wave_efficiency: float
    hbm_bytes: float
    bound: str

    @property
    def flop_per_s(self) -> float:
        """Useful operations per second."""
        return self.gemm.flop / self.seconds


def memory_roof(gpu: Gpu, gemm: Gemm) -> float:
    """FLOP/s beyond which HBM could not deliver, if every byte crossed once."""
    return gemm.flop / (gemm.compulsory_bytes / gpu.hbm_bytes_per_s)


def evaluate_gemm(gpu: Gpu, gemm: Gemm, plan: Plan) -> GemmCost:
    """What the product costs, run in this way. Raises ArchitectureError for a type that the GPU does not have."""
    tiles = tile_count(gemm, plan.tile) * plan.split
    cycles, math_cycles = (_streamed if plan.stream_k else _in_waves)(gpu, gemm, plan, tiles)
    traffic = hbm_bytes(gpu, gemm, plan.tile)
    on_chip, memory = cycles / gpu.clock_hz, traffic / gpu.hbm_bytes_per_s
    overhead = gpu.launch_s + _reduction_seconds(gpu, gemm, plan)
    shares = {"compute": math_cycles / gpu.clock_hz, "loads": on_chip, "memory": memory, "launch": overhead}
    return GemmCost(
        gemm=gemm,
        plan=plan,
        seconds=overhead + max(on_chip, memory),
        tiles=tiles,
        waves=tiles / gpu.sms,
        tile_efficiency=tile_efficiency(gemm, plan.tile),
        wave_efficiency=1.0 if plan.stream_k else wave_efficiency(tiles, gpu.sms),
        hbm_bytes=traffic,
        bound=_bound(shares),
    )


def hbm_bytes(gpu: Gpu, gemm: Gemm, tile: BlockTile) -> float:
    """Bytes to and from HBM.

    Where the smaller operand fits into L2, every matrix crosses once. Otherwise the tiles of a wave form a block, as
    square in elements as whole tiles allow, and a matrix is read again for every such block along its other dimension.
    """
    a = gemm.m * gemm.k * gemm.operand_bytes
    b = gemm.n * gemm.k * gemm.operand_bytes
    if min(a, b) <= gpu.l2_bytes:
        return float(gemm.compulsory_bytes)
    rows, columns = grid(gemm, tile)
    across = max(1, isqrt(gpu.sms * tile.rows // tile.columns))
    down = max(1, gpu.sms // across)
    operands = a * ceil_div(columns, across) + b * ceil_div(rows, down)
    return float(gemm.batch * (operands + gemm.m * gemm.n * gemm.result_bytes))


def _in_waves(gpu: Gpu, gemm: Gemm, plan: Plan, tiles: int) -> tuple[float, float]:
    """Cycles of all waves, and those of the tensor cores alone."""
    steps = ceil_div(ceil_div(gemm.k, plan.tile.k_step(gpu, gemm.dtype)), plan.split)
    math = _math_cycles(gpu, gemm, plan.tile)
    full, rest = divmod(tiles, gpu.sms)
    cycles = 0.0
    for waves, active in ((full, gpu.sms), (1, rest)):
        if waves and active:
            step = max(math, _load_cycles(gpu, gemm, plan.tile, active), _shared_cycles(gpu, gemm, plan.tile))
            cycles += waves * (steps * step + _store_cycles(gpu, gemm, plan, active))
    return cycles, wave_count(tiles, gpu.sms) * steps * math


def _streamed(gpu: Gpu, gemm: Gemm, plan: Plan, tiles: int) -> tuple[float, float]:
    """As `_in_waves`, with the K steps of all tiles dealt out evenly."""
    steps = tiles * ceil_div(gemm.k, plan.tile.k_step(gpu, gemm.dtype))
    active = min(gpu.sms, steps)
    share = ceil_div(steps, active)
    math = _math_cycles(gpu, gemm, plan.tile)
    step = max(math, _load_cycles(gpu, gemm, plan.tile, active), _shared_cycles(gpu, gemm, plan.tile))
    stores = max(1.0, tiles / active) * _store_cycles(gpu, gemm, plan, active)
    return share * step + stores + _fix_up_cycles(gpu, plan.tile, tiles, active), share * math


def _fix_up_cycles(gpu: Gpu, tile: BlockTile, tiles: int, active: int) -> float:
    """Cycles in which the partial sums of tiles that are cut come together in one SM, through L2.

    The other SMs of a tile write theirs side by side; the one that finishes the tile reads them one after the other.
    """
    if tiles % active == 0:
        return 0.0
    others = max(1, ceil_div(active, tiles) - 1)
    sums = SUM_BYTES * tile.rows * tile.columns
    return (1 + others) * sums / gpu.load_bytes_per_cycle(active)


def _math_cycles(gpu: Gpu, gemm: Gemm, tile: BlockTile) -> float:
    """Cycles of the tensor cores for one K step of a tile."""
    rate = gpu.rate(gemm.dtype) * (1.0 if _in_boxes(gpu, gemm) else gpu.warp_rate)
    return tile.rows * tile.columns * tile.k_step(gpu, gemm.dtype) / rate


def _in_boxes(gpu: Gpu, gemm: Gemm) -> bool:
    """Whether the machine copies panels by itself, in boxes."""
    return gpu.box_bytes is not None and thread_width(gemm) >= gpu.box_bytes


def _shared_cycles(gpu: Gpu, gemm: Gemm, tile: BlockTile) -> float:
    """Cycles of shared memory for one K step of a tile, as far as warps wait for them."""
    if _in_boxes(gpu, gemm):
        return 0.0
    step_bytes = gpu.line_bytes
    fragments = tile.rows * tile.columns / WARP_TILE**2 * 2 * WARP_TILE * step_bytes / PASS_BYTES
    passes = fragments + passes_to_load(
        (tile.rows + tile.columns) * step_bytes, min(thread_width(gemm), gpu.widest_load)
    )
    return passes / gpu.shared_busy


def _load_cycles(gpu: Gpu, gemm: Gemm, tile: BlockTile, active: int) -> float:
    """Cycles in which the panels of A and B for one K step come from L2, with `active` SMs at it."""
    k_step, width = tile.k_step(gpu, gemm.dtype), gemm.operand_bytes
    a_rows, a_length = (tile.rows, k_step) if gemm.a == "row" else (k_step, tile.rows)
    b_rows, b_length = (k_step, tile.columns) if gemm.b == "row" else (tile.columns, k_step)
    loaded = a_rows * sector_bytes(a_length * width, gemm.a_leading * width)
    loaded += b_rows * sector_bytes(b_length * width, gemm.b_leading * width)
    return loaded / gpu.load_bytes_per_cycle(active)


def _store_cycles(gpu: Gpu, gemm: Gemm, plan: Plan, active: int) -> float:
    """Cycles in which a tile of C goes to L2; the sums of a part of K are not rounded to the type of C."""
    width = gemm.result_bytes if plan.split == 1 else SUM_BYTES
    stored = plan.tile.rows * sector_bytes(plan.tile.columns * width, gemm.c_leading * width)
    return stored / gpu.load_bytes_per_cycle(active)


def _reduction_seconds(gpu: Gpu, gemm: Gemm, plan: Plan) -> float:
    """Time of the second kernel that adds up the parts of K: it reads the sums that the first one wrote."""
    if plan.split == 1:
        return 0.0
    elements = gemm.batch * gemm.m * gemm.n
    sums = plan.split * elements * SUM_BYTES
    bandwidth = gpu.l2_bytes_per_s if sums <= gpu.l2_bytes else gpu.hbm_bytes_per_s / 2  # written there first
    return gpu.launch_s + sums / bandwidth + elements * gemm.result_bytes / gpu.hbm_bytes_per_s


def _bound(seconds: dict[str, float]) -> str:
    """The share that sets the time: loads only where they take visibly longer than the tensor cores."""
    if seconds["loads"] <= 1.05 * seconds["compute"]:
        seconds = {name: share for name, share in seconds.items() if name != "loads"}
    return max(seconds, key=lambda name: seconds[name])


# Tile and wave quantization: a product is padded to whole tiles, and tiles run in whole waves (NVIDIA, "Matrix
# Multiplication Background User's Guide", chapter 3).


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
