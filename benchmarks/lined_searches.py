"""How long searches take on machines with lines: row-major, and with open layouts, against the same without lines.

python benchmarks/lined_searches.py [--time-limit 60] [--cpu]
"""

from __future__ import annotations

import argparse
import time

import tilewright as tw

LINES = {"tpu_v4i": "128 B"}
"""Lines of the outermost memory; 64 B elsewhere."""

CASES = [
    ("resnet50:layer1.0.conv2", "eyeriss", "ragged", "edp"),
    ("resnet50:layer1.0.conv2", "three_level", "ragged", "edp"),
    ("resnet50:layer1.0.conv2", "tpu_v1", "ragged", "edp"),
    ("resnet50:conv1", "eyeriss", "ragged", "edp"),
    ("mobilenet_v2:b3.dw", "eyeriss", "ragged", "edp"),
    ("mobilenet_v2:b3.expand", "three_level", "ragged", "edp"),
    ("gpt2_small:qk", "three_level", "ragged", "edp"),
    ("bert_base:qk", "tpu_v4i", "ragged", "edp"),
    ("resnet50:layer1.0.conv2", "eyeriss", "perfect", "edp"),
    ("resnet50:layer2.0.conv1", "gemmini", "perfect", "energy"),
    ("resnet50:layer4.0.conv2", "tpu_v4i", "perfect", "edp"),
    ("mobilenet_v2:b3.dw", "three_level", "ragged", "edp"),
    ("mobilenet_v2:b3.expand", "gemmini", "perfect", "edp"),
    ("gpt2_small:qk", "eyeriss", "perfect", "edp"),
    ("gpt2_small:qk", "gemmini", "perfect", "latency"),
    ("gpt2_small:qk", "cpu", "perfect", "edp"),
    ("bert_base:qk", "tpu_v4i", "ragged", "energy"),
    ("resnet50:layer3.0.conv2", "three_level", "ragged", "energy"),
    ((96, 96, 96), "three_level", "perfect", "edp"),
    ((96, 96, 96), "eyeriss", "ragged", "edp"),
    ((60, 50, 64), "three_level", "ragged", "edp"),
    ((60, 50, 64), "eyeriss", "ragged", "energy"),
    ((100, 100, 100), "gemmini", "ragged", "edp"),
    ((100, 100, 100), "tpu_v4i", "ragged", "latency"),
    ((128, 96, 80), "cpu", "perfect", "edp"),
    ((512, 512, 512), "eyeriss", "ragged", "edp"),
    ((32, 16, 14, 14, 3, 3), "three_level", "ragged", "edp"),
    ((32, 16, 14, 14, 3, 3), "eyeriss", "ragged", "edp"),
    ((24, 12, 13, 13, 3, 3), "gemmini", "ragged", "energy"),
    ((64, 32, 28, 28, 1, 1), "cpu", "perfect", "latency"),
    ((64, 32, 28, 28, 1, 1), "three_level", "ragged", "latency"),
]
"""A layer by name, or the sizes of a product (M, N, K) or a convolution (K, C, P, Q, R, S); and what is asked of it."""


def problem_of(layer: str | tuple[int, ...]) -> tuple[str, str | tw.Problem]:
    """Its name, and the layer or problem to search."""
    if isinstance(layer, str):
        return f"`{layer}`", layer
    sizes = " x ".join(map(str, layer))
    if len(layer) == 3:
        return f"product, {sizes}", tw.gemm(*layer)
    return f"convolution, {sizes}", tw.conv2d(**dict(zip("KCPQRS", layer, strict=True)))


def row(layer: str | tuple[int, ...], arch: str, tiling: str, objective: str, time_limit: float) -> str:
    """A row of the table: CPU seconds, those over the ones without lines, and the objective over that without lines."""
    plain = tw.load_arch(arch)
    lined = tw.load_arch(arch, {f"{plain.memories[0].name}.line": LINES.get(arch, "64 B")})
    (name, problem), cells, seconds, least = problem_of(layer), [], 0.0, 0.0
    for machine, layout in ((plain, None), (lined, "row-major"), (lined, "any")):
        started = time.process_time()
        found = tw.search(problem, machine, objective, tiling, layout=layout, time_limit=time_limit).certificate
        took = time.process_time() - started
        seconds, least = seconds or took, least or found.value
        gap = "" if found.proven else f", gap {1 - found.lower_bound / found.value:.2%}"
        over = "" if layout is None else f" ({took / seconds:.1f}), {found.value / least:.4g}"
        cells.append(f"{took:.2f} s{over}{gap}")
    return " | ".join([f"| {name}", f"`{arch}`", f"{tiling}, {objective}", *cells]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds per search")
    parser.add_argument("--cpu", action="store_true", help="the limit is in CPU seconds, instead of those of the clock")
    chosen = parser.parse_args()
    limit = chosen.time_limit
    if chosen.cpu:
        time.perf_counter = time.process_time
    tw.search(tw.gemm(8, 8, 8), tw.load_arch("three_level", {"DRAM.line": "64 B"}), layout="any")  # loads everything
    print("| layer | machine | asked | without lines | row-major | `any` |\n|---|---|---|---|---|---|")
    for case in CASES:
        print(row(*case, limit), flush=True)


if __name__ == "__main__":
    main()
