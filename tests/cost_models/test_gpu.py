"""GEMMs on GPUs: published figures of tiles and waves, the counts beside plain simulations, and what must hold."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import replace
from itertools import pairwise, product
from math import gcd

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tilewright.cost_models.gpu import (
    DTYPES,
    TILES,
    BlockTile,
    Choice,
    Gemm,
    Gpu,
    Plan,
    advise,
    best_plan,
    coalescing,
    evaluate_gemm,
    grid,
    layout_choices,
    list_gpus,
    load_gpu,
    memory_roof,
    plans_for,
    sweep,
    wave_count,
)
from tilewright.cost_models.gpu.alignment import lines_touched, load_width, passes_to_load
from tilewright.cost_models.gpu.machine import parse_gpu
from tilewright.cost_models.gpu.sweep import largest_power_of_two
from tilewright.cost_models.gpu.tiles import INSTRUCTION, INSTRUCTION_K_BYTES, SPLITS, tile_named
from tilewright.cost_models.gpu.timing import tile_count, tile_efficiency, wave_efficiency
from tilewright.ir import TilewrightError

A100 = load_gpu("a100")
LARGE, SQUARE = BlockTile(256, 128), BlockTile(128, 128)
DATA_PARALLEL = Choice(split_k=False)

gpus = st.sampled_from([load_gpu(name) for name in list_gpus()])
sizes = st.integers(1, 6000)
tiled_plans = st.builds(Plan, st.sampled_from(TILES), st.sampled_from(SPLITS))
plans = tiled_plans | st.builds(Plan, st.sampled_from(TILES), st.just(1), st.just(True))


def square(n: int) -> Gemm:
    return Gemm(n, n, n)


# --- published figures


@pytest.mark.parametrize(("n", "tiles", "waves"), [(1791, (7, 14), 1), (1792, (7, 14), 1), (1793, (8, 15), 2)])
def test_one_more_column_makes_a_second_wave(n: int, tiles: tuple[int, int], waves: int) -> None:
    """NVIDIA's guide and H. He, "What Shapes Do Matrix Multiplications Like?": 256x128 tiles on 108 SMs."""
    assert grid(square(n), LARGE) == tiles
    assert tile_count(square(n), LARGE) == tiles[0] * tiles[1] == {1: 98, 2: 120}[waves]
    assert wave_count(tiles[0] * tiles[1], 108) == waves
    cost = evaluate_gemm(A100, square(n), Plan(LARGE))
    assert cost.tiles == tiles[0] * tiles[1]
    assert cost.waves == pytest.approx(cost.tiles / 108)


def test_the_second_wave_costs_nearly_as_much_as_the_first() -> None:
    before, after = (evaluate_gemm(A100, square(n), Plan(LARGE)) for n in (1792, 1856))
    assert tile_count(square(1856), LARGE) == 120
    work = before.seconds - A100.launch_s
    assert 1.9 * work < after.seconds - A100.launch_s < 2.1 * work


@pytest.mark.parametrize(("n", "tiles", "waves"), [(3200, 625, 5.8), (3232, 676, 6.3)])
def test_fractions_of_waves(n: int, tiles: int, waves: float) -> None:
    """3200 with 128x128 tiles is just below six waves, 3232 begins the seventh."""
    cost = evaluate_gemm(A100, square(n), Plan(SQUARE))
    assert cost.tiles == tiles
    assert round(cost.waves, 1) == waves
    assert wave_count(tiles, 108) == {625: 6, 676: 7}[tiles]


def test_a_wave_with_hardly_a_tile() -> None:
    tiles = 26 * 21
    assert round(tiles / 108, 2) == 5.06  # 5.0556, given as 5.05
    assert wave_count(tiles, 108) == 6
    assert wave_efficiency(tiles, 108) == pytest.approx(546 / 648)
    assert wave_count(540, 108) == 5


@pytest.mark.parametrize(("name", "tflops", "ridge"), [("v100", 125, 138.9), ("a100", 312, 153), ("h100", 989, 295.2)])
def test_peaks_and_ridge_points(name: str, tflops: float, ridge: float) -> None:
    gpu = load_gpu(name)
    assert gpu.peak("fp16") / 1e12 == pytest.approx(tflops, rel=3e-3)
    assert gpu.peak("fp16") / gpu.hbm_bytes_per_s == pytest.approx(ridge, rel=3e-3)


# --- alignment: which of M, N, K may be odd


@pytest.mark.parametrize(
    ("a", "b", "free"), [("row", "row", "M"), ("column", "row", "K"), ("row", "column", "M"), ("column", "column", "")]
)
def test_which_dimension_may_be_odd_without_loss(a: str, b: str, free: str) -> None:
    """The dimension that no matrix has innermost. C is row-major, so N is never free of its stores.

    One less than a multiple of every tile needs the same tiles and steps, so whatever is lost is lost to alignment.
    """
    even = Gemm(4096, 4096, 4096, a=a, b=b)  # type: ignore[arg-type]
    plan = Plan(SQUARE)
    without = evaluate_gemm(A100, even, plan).seconds
    lossless = {d for d in "MNK" if evaluate_gemm(A100, even.resized({d: 4095}), plan).seconds <= without}
    assert lossless == set(free)


def test_a_larger_product_may_be_faster() -> None:
    """The question that this model answers: 4096 takes half the time of 4095, and 1792 less than 1791."""
    seconds = {n: best_plan(A100, square(n)).seconds for n in (1791, 1792, 4095, 4096)}
    assert seconds[4096] < 0.6 * seconds[4095]
    assert seconds[1792] < seconds[1791]


def test_a_kernel_is_written_for_the_alignment_of_all_matrices() -> None:
    """With column-major B, an odd N is the leading dimension of C alone, and costs what one of B does: on an H100, 60
    products of which only C is not aligned took 2.7 times as long as if that were free (results/gpu)."""
    gemm = Gemm(4096, 4096, 4096, b="column")
    lost = {d: evaluate_gemm(A100, gemm.resized({d: 4095}), Plan(SQUARE)).seconds for d in "MNK"}
    without = evaluate_gemm(A100, gemm, Plan(SQUARE)).seconds
    assert lost["M"] == without < 1.5 * without < min(lost["N"], lost["K"])


def test_a_batch_that_is_a_power_of_two_is_not_the_point() -> None:
    """Rows of activations are tokens x batch: M is no leading dimension, and only the waves count.

    Batches of 64 and 27, of 128 tokens each, through a 1024 x 1024 layer: 27 fills two waves, 64 begins a fifth.
    """
    rates = {
        batch: evaluate_gemm(A100, Gemm(batch * 128, 1024, 1024), Plan(SQUARE)).flop_per_s for batch in (27, 32, 54, 64)
    }
    assert rates[27] > rates[32]
    assert rates[54] > rates[64]


@given(st.integers(1, 64), st.integers(1, 4096), st.sampled_from([32, 64, 128]))
def test_lines_are_those_of_all_rows(lines: int, leading: int, line: int) -> None:
    """Against the addresses of enough rows to come round again."""
    length = lines * 8
    assume(length % gcd(leading, line) == 0)  # as it is for the pieces of tiles
    starts = [row * leading for row in range(line)]
    touched = sum((start + length - 1) // line - start // line + 1 for start in starts) / line
    assert lines_touched(length, leading, line) == pytest.approx(touched)


@pytest.mark.parametrize("width", [2, 4, 8, 16])
def test_passes_are_those_of_the_banks(width: int) -> None:
    """Against the banks of every instruction: 32 of 4 bytes, each of which hands out one word a pass; instructions of
    more than 128 bytes are run in parts of that. A thread's pieces are 16 bytes, and the panel is 8 KiB."""
    panel, passes = 8192, 0
    lanes = min(32, 128 // width)
    for base, part, first in product(range(0, panel, 512), range(0, 16, width), range(0, 32, lanes)):
        starts = [base + 16 * lane + part for lane in range(first, first + lanes)]
        words = {byte // 4 for start in starts for byte in range(start, start + width)}
        passes += max(Counter(word % 32 for word in words).values())
    assert passes_to_load(panel, width) == passes + panel / 128


def test_boxes_are_for_matrices_that_are_aligned() -> None:
    """An H100 takes 16 bytes for aligned, and loads less than that 4 bytes at once: so N = 4092 is as slow as 4094."""
    rates = {n: best_plan(load_gpu("h100"), square(n)).flop_per_s for n in (4088, 4090, 4092, 4094, 4095)}
    assert rates[4092] == pytest.approx(rates[4094], rel=0.01)
    assert rates[4095] < 0.8 * rates[4094] < 0.35 * rates[4088]


def test_an_unaligned_row_touches_one_line_more() -> None:
    assert lines_touched(128, 4096 * 2, 128) == 1
    assert lines_touched(128, 4097 * 2, 128) == pytest.approx(2 - 2 / 128)
    assert lines_touched(256, 4097 * 2, 128) == pytest.approx(3 - 2 / 128)


@pytest.mark.parametrize(("elements", "width"), [(4095, 2), (4094, 4), (4092, 8), (4088, 16), (4096, 16)])
def test_the_widest_load_that_the_alignment_allows(elements: int, width: int) -> None:
    assert load_width(2 * elements) == width


def test_less_alignment_is_never_faster() -> None:
    """The tiers of the picture: a multiple of every tile, less what keeps the tiles and spoils the alignment."""
    rates = [evaluate_gemm(A100, Gemm(4096, 4096 - off, 4096), Plan(SQUARE)).seconds for off in (1, 2, 4, 8, 16, 32, 0)]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] > 1.3 * rates[-1]


# --- waves beside a simulation


def simulated_cycles(tiles: int, sms: int, cycles: float) -> float:
    """When the last tile ends, if every SM takes the next one as soon as it is free."""
    free = [0.0] * sms
    for _ in range(tiles):
        heapq.heapreplace(free, free[0] + cycles)
    return max(free)


@given(st.integers(1, 900), st.integers(1, 140))
def test_waves_are_those_of_a_queue(tiles: int, sms: int) -> None:
    assert simulated_cycles(tiles, sms, 1.0) == wave_count(tiles, sms)
    assert 0 < wave_efficiency(tiles, sms) <= 1


@given(sizes, sizes, st.sampled_from(TILES))
def test_tiles_cover_the_product(m: int, n: int, tile: BlockTile) -> None:
    gemm = Gemm(m, n, 64)
    rows, columns = grid(gemm, tile)
    assert (rows - 1) * tile.rows < m <= rows * tile.rows
    assert (columns - 1) * tile.columns < n <= columns * tile.columns
    assert 0 < tile_efficiency(gemm, tile) <= 1


def test_stream_k_removes_the_wave_steps() -> None:
    """From N = 3200 to 3232, waves of whole tiles lose a sixth of the rate, evenly dealt steps next to nothing."""
    products = [Gemm(3200, n, 3200) for n in (3200, 3456)]  # 25 and 27 columns of tiles: 625 and 675 tiles
    rates = {
        stream_k: [evaluate_gemm(A100, gemm, Plan(SQUARE, stream_k=stream_k)).flop_per_s for gemm in products]
        for stream_k in (False, True)
    }
    assert rates[False][1] < 0.95 * rates[False][0]
    assert rates[True][1] > 0.99 * rates[True][0]


def test_stream_k_takes_time_in_proportion_to_work() -> None:
    """One more column of 128 x 128 tiles adds its share and no more, while whole waves add nothing or a whole wave."""

    def added(stream_k: bool) -> list[float]:
        cycles = [
            evaluate_gemm(A100, Gemm(3200, 128 * columns, 3200), Plan(SQUARE, stream_k=stream_k)).seconds
            for columns in range(10, 60)
        ]
        return [after - before for before, after in pairwise(cycles)]

    wave = A100.launch_s + max(added(False))
    assert min(added(False)) == 0
    assert max(added(True)) < 0.5 * wave


# --- what must hold


@given(gpus, st.integers(1, 60), st.integers(1, 60), st.integers(1, 60), tiled_plans)
def test_larger_products_take_longer(gpu: Gpu, m: int, n: int, k: int, plan: Plan) -> None:
    """As long as the alignment stays: sizes are multiples of a line. Not with stream-K, where a tile among few is cut
    into many parts, which takes longer than two tiles cut into half as many."""
    gemm = Gemm(64 * m, 64 * n, 64 * k)
    seconds = evaluate_gemm(gpu, gemm, plan).seconds
    for dimension, size in gemm.sizes().items():
        assert evaluate_gemm(gpu, gemm.resized({dimension: size + 64}), plan).seconds >= seconds * (1 - 1e-12)
    assert evaluate_gemm(gpu, replace(gemm, batch=2), plan).seconds >= seconds * (1 - 1e-12)


@given(gpus, sizes, sizes, sizes, plans)
def test_better_machines_are_not_slower(gpu: Gpu, m: int, n: int, k: int, plan: Plan) -> None:
    gemm = Gemm(m, n, k)
    seconds = evaluate_gemm(gpu, gemm, plan).seconds
    for change in (
        {"hbm_bytes_per_s": 2 * gpu.hbm_bytes_per_s},
        {"l2_bytes_per_s": 2 * gpu.l2_bytes_per_s},
        {"sm_port_bytes": 2 * gpu.sm_port_bytes},
        {"fma_per_cycle": {dtype: 2 * rate for dtype, rate in gpu.fma_per_cycle.items()}},
        {"launch_s": gpu.launch_s / 2},
    ):
        assert evaluate_gemm(replace(gpu, **change), gemm, plan).seconds <= seconds * (1 + 1e-12)


@given(gpus, sizes, sizes, sizes, plans)
def test_nothing_beats_the_roofs(gpu: Gpu, m: int, n: int, k: int, plan: Plan) -> None:
    gemm = Gemm(m, n, k)
    cost = evaluate_gemm(gpu, gemm, plan)
    assert cost.flop_per_s <= gpu.peak("fp16") * (1 + 1e-12)
    assert cost.flop_per_s <= memory_roof(gpu, gemm) * (1 + 1e-12)
    assert cost.hbm_bytes >= gemm.compulsory_bytes


@given(gpus, sizes, sizes, sizes, st.integers(1, 3), st.booleans(), st.booleans(), st.sampled_from(["row", "column"]))
def test_the_search_equals_brute_force(
    gpu: Gpu, m: int, n: int, k: int, batch: int, split_k: bool, stream_k: bool, a: str
) -> None:
    gemm = Gemm(m, n, k, batch=batch, a=a)  # type: ignore[arg-type]
    found = best_plan(gpu, gemm, Choice(split_k=split_k, stream_k=stream_k))
    shapes = [(rows, columns) for rows, columns in product((64, 128, 256), repeat=2) if rows * columns <= 256 * 128]
    ways = [(split, False) for split in (1, 2, 4, 8, 16) if split_k or split == 1] + [(1, True)] * stream_k
    every = [evaluate_gemm(gpu, gemm, Plan(BlockTile(*shape), *way)).seconds for shape in shapes for way in ways]
    assert found.seconds == min(every)


@pytest.mark.parametrize("name", list_gpus())
def test_tiles_are_whole_instructions_and_fit(name: str) -> None:
    gpu = load_gpu(name)
    for dtype in gpu.fma_per_cycle:
        for tile in TILES:
            assert tile.rows % INSTRUCTION[0] == 0
            assert tile.columns % INSTRUCTION[1] == 0
            assert tile.k_step(gpu, dtype) * DTYPES[dtype].operand_bytes % INSTRUCTION_K_BYTES == 0
            assert tile.shared_bytes(gpu, dtype) * tile.stages(gpu, dtype) <= gpu.shared_memory_bytes
    assert {plan.tile for plan in plans_for(gpu, "fp16")} == set(TILES)


def test_tiles_that_do_not_fit_are_not_tried() -> None:
    small = replace(A100, shared_memory_bytes=70_000)
    assert {str(plan.tile) for plan in plans_for(small, "fp16")} == {"128x128", "128x64", "64x128", "64x64"}
    with pytest.raises(TilewrightError, match="no tile fits"):
        plans_for(replace(A100, shared_memory_bytes=1000), "fp16")


def test_splitting_k_pays_where_tiles_are_few() -> None:
    tall = Gemm(256, 256, 65536)
    assert best_plan(A100, tall).plan.split > 1
    assert best_plan(A100, tall).seconds < 0.5 * best_plan(A100, tall, DATA_PARALLEL).seconds
    assert best_plan(A100, square(8192)).plan.split == 1


def test_what_bounds_a_product() -> None:
    assert best_plan(load_gpu("v100"), square(8192)).bound == "compute"
    assert best_plan(A100, square(8191)).bound == "loads"
    assert best_plan(A100, Gemm(16, 8192, 8192)).bound == "memory"
    assert best_plan(A100, square(64)).bound == "launch"


# --- padding and sweeps


def test_padding_an_odd_vocabulary_pays() -> None:
    """GPT-2's vocabulary of 50257, known to be faster as 50304: N is odd, and the leading dimension of B and C."""
    advice = advise(A100, Gemm(8192, 50257, 768))
    assert set(advice.alone) == {"N"}
    assert advice.alone["N"].sizes["N"] in (50264, 50272, 50304)  # of 16 bytes or more: nothing to choose between them
    assert 1.2 < advice.alone["N"].speedup < 4
    assert advice.best is not None
    assert advice.best.speedup >= advice.alone["N"].speedup
    assert advice.best.growth < 1.01


def test_no_padding_where_none_pays() -> None:
    advice = advise(A100, square(4096))
    assert advice.alone == {}
    assert advice.best is None


@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(1, 3000))
def test_advice_is_the_best_of_its_kind(m: int, n: int, k: int) -> None:
    gemm, multiples = Gemm(m, n, k), (8, 64)
    advice = advise(A100, gemm, DATA_PARALLEL, multiples)
    padded = [sorted({size, *(-(-size // by) * by for by in multiples)}) for size in (m, n, k)]
    fastest = min(best_plan(A100, Gemm(*shape), DATA_PARALLEL).seconds for shape in product(*padded))
    assert advice.cost.seconds >= fastest
    if advice.best is None:
        assert advice.cost.seconds <= 1.0011 * fastest
    else:
        assert advice.best.cost.seconds <= 1.0011 * fastest
        assert all(entry.speedup <= 1.0011 * advice.best.speedup for entry in advice.alone.values())


def test_a_sweep_has_tiers_and_stripes() -> None:
    points = {point.n: point for point in sweep(A100, [square(n) for n in (*range(3001, 3100), 3200, 3232)])}
    odd = [point.flop_per_s for n, point in points.items() if n % 2]
    lines = [point.flop_per_s for n, point in points.items() if n % 64 == 0]
    assert max(odd) < 0.7 * min(lines)
    assert points[3232].seconds > points[3200].seconds
    assert points[3072].power_of_two == 1024


@given(st.integers(1, 10**6))
def test_largest_power_of_two(number: int) -> None:
    power = largest_power_of_two(number)
    assert number % power == 0
    assert number // power % 2 == 1
    assert power.bit_count() == 1


# --- bad input


def test_unknown_things_are_named() -> None:
    with pytest.raises(TilewrightError, match="no GPU is named 'a10'"):
        load_gpu("a10")
    with pytest.raises(TilewrightError, match="unknown tile '100x100', expected one of 256x128"):
        tile_named("100x100")
    with pytest.raises(TilewrightError, match="unknown element type 'fp17'"):
        Gemm(1, 1, 1, dtype="fp17")
    with pytest.raises(TilewrightError, match="m is 0"):
        Gemm(0, 1, 1)
    with pytest.raises(TilewrightError, match="layout of A"):
        Gemm(1, 1, 1, a="diagonal")  # type: ignore[arg-type]
    with pytest.raises(TilewrightError, match="v100 have no bf16, expected fp16"):
        best_plan(load_gpu("v100"), Gemm(1, 1, 1, dtype="bf16"))


GPU_FILE = """
gpu: mine
arch: a100
source: nowhere
speed: {fp16: 0.5}
shared_reserved: 4 KiB
sm_port: 64 B/cycle
l2_bandwidth: 1410 GB/s
line: 128 B
launch_overhead: 3 us
"""


def test_a_file_is_read() -> None:
    gpu = parse_gpu(GPU_FILE, "mine.yaml")
    assert gpu.peak("fp16") == pytest.approx(A100.peak("fp16") / 2)
    assert gpu.launch_s == pytest.approx(3e-6)
    assert gpu.shared_memory_bytes == 160 * 1024
    assert gpu.load_bytes_per_cycle(40) == pytest.approx(25)
    assert gpu.load_bytes_per_cycle(1) == 64


def test_the_figures_of_the_architecture_are_those_of_the_gpu() -> None:
    figures = {name: load_gpu(name) for name in list_gpus()}
    assert {name: gpu.sms for name, gpu in figures.items()} == {"v100": 80, "a100": 108, "h100": 132}
    assert {name: gpu.rate("fp16") for name, gpu in figures.items()} == {"v100": 512, "a100": 1024, "h100": 2048}
    assert {name: gpu.l2_bytes // 2**20 for name, gpu in figures.items()} == {"v100": 6, "a100": 40, "h100": 50}
    kib = {name: gpu.shared_memory_bytes / 1024 for name, gpu in figures.items()}
    assert kib == {"v100": 96, "a100": 163, "h100": 227}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("fp16: 0.5", "fp16: fast", "mine.yaml:5: speed.fp16"),
        ("fp16: 0.5", "fp61: 1", "unknown element type"),
        ("line: 128 B", "line: 12 bit", "expected whole bytes"),
        ("3 us", "3", "has no unit"),
        ("sm_port:", "sn_port:", "unknown key 'sn_port'"),
        ("arch: a100", "arch: eyeriss", "mine.yaml:3: arch: eyeriss has no fanout 'SMs'"),
        ("arch: a100", "arch: a10", "no architecture is named 'a10'"),
    ],
)
def test_a_wrong_file_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(TilewrightError, match=message):
        parse_gpu(GPU_FILE.replace(old, new), "mine.yaml")


BOXES = "\nshared_busy: 0.8\nwidest_load: 4 B\nboxes: {align: 16 B, warp_rate: 0.6}\n"


def test_boxes_are_read() -> None:
    gpu = parse_gpu(GPU_FILE.rstrip() + BOXES, "mine.yaml")
    assert (gpu.shared_busy, gpu.widest_load, gpu.box_bytes, gpu.warp_rate) == (0.8, 4, 16, 0.6)
    none = parse_gpu(GPU_FILE, "mine.yaml")
    assert (none.shared_busy, none.widest_load, none.box_bytes, none.warp_rate) == (1, 16, None, 1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("busy: 0.8", "busy: 1.2", "found 1.2, expected a part of the whole"),
        ("align: 16 B, ", "", "boxes.align: missing"),
        ("warp_rate: 0.6", "warp_rate: 0", "found '0', expected a part of the whole"),
    ],
)
def test_wrong_boxes_are_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(TilewrightError, match=message):
        parse_gpu(GPU_FILE.rstrip() + BOXES.replace(old, new), "mine.yaml")


def test_lanes_across_rows_take_a_sector_each() -> None:
    """32 lanes and sectors of 32 bytes: neighbours share them, rows that are far apart do not."""
    aligned, odd = coalescing(4096, 4096, 2), coalescing(4095, 4095, 2)
    assert (aligned.load_bytes, aligned.sectors_along, aligned.wanted_along) == (16, 16.0, 1.0)
    assert (aligned.sectors_across, aligned.wanted_across) == (32.0, 0.5)
    # 64 bytes that begin at any even byte touch 2 sectors, or 3 at 15 of 16 places.
    assert (odd.load_bytes, odd.sectors_along) == (2, 2 + 15 / 16)
    assert (odd.sectors_across, odd.wanted_across) == (32.0, 2 / 32)


def test_sectors_are_those_of_a_walk() -> None:
    for row, leading in ((64, 64), (24, 40), (100, 100), (33, 35)):
        width = gcd(2 * leading, 16)
        piece = min(32 * width, 2 * row)
        starts = [2 * leading * r for r in range(16)]
        along = [len({b // 32 for b in range(start, start + piece)}) for start in starts]
        found = coalescing(row, leading, 2)
        assert found.sectors_along == pytest.approx(sum(along) / len(along)) or piece % 32
        assert found.sectors_across == 32


def test_the_layouts_of_a_product() -> None:
    choices = layout_choices(A100, Gemm(8192, 50257, 768))
    assert [(c.a, c.b) for c in choices[:1]] == [("row", "row")]
    assert len(choices) == 4
    best = max(choices, key=lambda c: c.speedup)
    assert best.speedup == pytest.approx(choices[0].cost.seconds / best.cost.seconds)
    assert best.cost == best_plan(A100, Gemm(8192, 50257, 768, a=best.a, b=best.b))
