"""Predicted against measured: cycles of five chips and designs, as one picture and a table of rank correlations.

    python benchmarks/silicon.py --out results/silicon

Eyeriss (AlexNet by its published mappings, VGG-16 by its published buffer traffic), Gemmini's RTL (the mappings that
ran), NVIDIA's sheet of NVDLA nv_full (our best mappings), and TPU v1 (our best mappings of layers of the sizes that its
paper gives its applications). Figures of others are in `tests/golden/silicon/`.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from reality_page import spearman

import eyeriss
import tilewright as tw
from tilewright.arch import Architecture, Memory
from tilewright.cost_models.intensity import compulsory_words
from tilewright.cost_models.padding import counted
from tilewright.ir import LoopNest, Mapping, Problem
from tilewright.report.parts.figures import figure_style, new_figure, plain_ticks, save_figure
from tilewright.report.parts.palette import GREY, colour

GOLDEN = Path(__file__).parent.parent / "tests" / "golden" / "silicon"
WINOGRAD_MACS, WINOGRAD_WEIGHTS = 9 / 4, 16 / 9
"""Fewer products of a 3 x 3 filter in Winograd's form, and more words."""
NVDLA_BYTES = 10
"""A cycle, from DRAM, in the sheet."""


@dataclass(frozen=True)
class Point:
    """A layer on a chip: seconds, predicted and measured."""

    chip: str
    layer: str
    predicted: float
    measured: float


def rows(name: str) -> list[dict[str, Any]]:
    """The lines of one file of figures."""
    return [json.loads(line) for line in (GOLDEN / f"{name}.jsonl").read_text().splitlines()]


# ---- Eyeriss ---------------------------------------------------------------------------------------------------


def buffer_ms(megabytes: float) -> float:
    """What the global buffer takes for its traffic, 16 B a cycle."""
    return megabytes * 1e6 / (16 * eyeriss.CLOCK_HZ) * 1e3


def eyeriss_alexnet() -> Iterator[Point]:
    for name, layer in eyeriss.TABLE_III.items():
        milliseconds = max(layer.compute_ms, buffer_ms(layer.buffer_megabytes))
        yield Point("Eyeriss: AlexNet", name, milliseconds / 1e3, eyeriss.TABLE_V[name].processing_ms / 1e3)


def vgg16_ms(row: dict[str, Any]) -> float:
    """The slower of the PEs at work, and of the buffer for the bytes that are published (3 images)."""
    sizes = row["layer"]
    macs = 3 * sizes["C"] * sizes["K"] * 9 * sizes["P"] ** 2
    return max(macs / row["active_pes"] / eyeriss.CLOCK_HZ * 1e3, buffer_ms(row["buffer_megabytes"]))


def eyeriss_vgg16() -> Iterator[Point]:
    for row in rows("eyeriss_vgg16"):
        yield Point("Eyeriss: VGG-16", row["id"], vgg16_ms(row) / 1e3, row["processing_ms"] / 1e3)


# ---- Gemmini ---------------------------------------------------------------------------------------------------

_NODES = {"L3": "DRAM keeps I W O", "L2": "scratchpad keeps I W", "L1": "accumulator keeps O"}
_AXES = {"K": "y", "C": "x"}


def gemmini_mapping(row: dict[str, Any]) -> Mapping:
    """A mapping that ran in RTL; its loops over instances stand where ours has the array."""
    lines, spatial = [], []
    for level in row["mapping"].split(" - "):
        name, *loops = level.split()
        if name.startswith("L0"):
            lines += spatial
        lines.append(_NODES.get(name[:2], "weight_register keeps W"))
        for dim, trips, axis in (re.fullmatch(r"([A-Z])(\d+)(X?)", loop).groups() for loop in loops):  # type: ignore[union-attr]
            if axis:
                spatial.append(f"parallel {dim} in {trips} on array.{_AXES[dim]}")
            elif trips != "1":
                lines.append(f"for {dim} in {trips}")
    return Mapping(tw.conv2d(**row["layer"]), LoopNest.parse("\n".join(lines)))


def gemmini_cycles(row: dict[str, Any]) -> float:
    return tw.evaluate(gemmini_mapping(row), roomy("gemmini")).latency_cycles


@cache
def roomy(name: str) -> Architecture:
    """A machine with memories of any size: these mappings ran."""
    arch = tw.load_arch(name)
    free = {"size_bits": None}
    levels = (level.model_copy(update=free) if isinstance(level, Memory) else level for level in arch.levels)
    return arch.model_copy(update={"levels": tuple(levels)})


def gemmini() -> Iterator[Point]:
    for row in rows("gemmini_rtl"):
        yield Point("Gemmini: RTL", str(row["id"]), gemmini_cycles(row) / 1e9, row["cycles"] / 1e9)


# ---- NVDLA -----------------------------------------------------------------------------------------------------


def nvdla_layer(row: dict[str, Any]) -> Problem:
    """A layer for the images that the sheet has at a time: several for fully connected layers of AlexNet."""
    layer = row["layer"]
    sizes = {key: value for key, value in layer.items() if key not in "HW"}
    return tw.padded(tw.conv2d(N=row.get("images", 1), **sizes), layer["R"] // 2, (layer["H"], layer["W"]))


def nvdla_dram_kib(row: dict[str, Any]) -> float:
    """Words of an image, each once: inputs as the machine counts them, with what the strides of 1 x 1 filters pass
    over; weights, in Winograd's form where that is used, and a strided 1 x 1 filter as one that has all pixels; outputs
    after pooling, and where a residual is added, that too."""
    layer, images = row["layer"], row.get("images", 1)
    least = compulsory_words(counted(nvdla_layer(row), tw.load_arch("nvdla_full")))
    strided = layer["stride"] ** 2 if layer["R"] == 1 else 1
    weights = least["W"] * (WINOGRAD_WEIGHTS if row["winograd"] else strided)
    outputs = row.get("pooled", least["O"]) * (2 if "elwise" in row["kind"] else 1)
    inputs = least["I"] / images if strided == 1 else layer["C"] * layer["H"] * layer["W"]
    return float(inputs * row.get("input_reads", 1) + (weights + outputs) / images) / 1024


def nvdla() -> Iterator[Point]:
    """The slower of the best mapping with a free DRAM, and of DRAM."""
    arch = tw.load_arch("nvdla_full", {"DRAM.bandwidth": "unbounded"})
    for row in rows("nvdla_sheet"):
        cycles = tw.search(nvdla_layer(row), arch, objective="latency", time_limit=10).cost.latency_cycles
        cycles /= row.get("images", 1) * (WINOGRAD_MACS if row["winograd"] else 1)
        slower = max(cycles, nvdla_dram_kib(row) * 1024 / NVDLA_BYTES)
        yield Point("NVDLA: sheet", row["id"], slower / 1e9, row["cycles"] / 1e9)


# ---- TPU v1 ----------------------------------------------------------------------------------------------------


def tpu() -> Iterator[Point]:
    """Seconds for 10^12 operations of layers amid a network, whose activations stay in the unified buffer."""
    inside = {f"DRAM.bandwidth.{role}": "unbounded" for role in ("input", "output")}
    arch = tw.load_arch("tpu_v1", inside)
    for row in rows("tpu_v1"):
        problem = tw.gemm(**row["gemm"]) if "gemm" in row else tw.conv2d(**row["conv"])
        best = tw.search(problem, arch, objective="latency", time_limit=30)
        yield Point("TPU v1", row["id"], best.cost.latency_s / problem.macs / 2 * 1e12, 1 / row["tops"])


CHIPS = (eyeriss_alexnet, eyeriss_vgg16, gemmini, nvdla, tpu)


# ---- page ------------------------------------------------------------------------------------------------------


def by_chip(points: list[Point]) -> Iterator[tuple[str, list[float], list[float], float]]:
    """Every chip with its predictions, what was measured, and their rank correlation."""
    for chip in dict.fromkeys(point.chip for point in points):
        predicted, measured = zip(*((p.predicted, p.measured) for p in points if p.chip == chip), strict=True)
        yield chip, list(predicted), list(measured), spearman(predicted, measured)


def table(points: list[Point]) -> Iterator[str]:
    yield "| chip | layers | rank correlation | predicted / measured: least, median, largest |"
    yield "|---|---|---|---|"
    for chip, predicted, measured, rank in by_chip(points):
        parts = np.array(predicted) / np.array(measured)
        figures = ", ".join(f"{part:.2f}" for part in (parts.min(), np.median(parts), parts.max()))
        yield f"| {chip} | {len(parts)} | {rank:.2f} | {figures} |"


def draw(points: list[Point], path: Path) -> None:
    with figure_style():
        figure, axes = new_figure(7, 6)
        ends = [value for point in points for value in (point.predicted, point.measured)]
        axes.plot([min(ends), max(ends)], [min(ends), max(ends)], color=GREY, linewidth=1, label="as measured")
        axes.set(xscale="log", yscale="log", xlabel="measured, s", ylabel="predicted, s")
        for number, (chip, predicted, measured, rank) in enumerate(by_chip(points)):
            label = f"{chip}, rank correlation {rank:.2f}"
            axes.plot(measured, predicted, "o", markersize=4, alpha=0.8, color=colour(number), label=label)
        plain_ticks(axes.xaxis)
        plain_ticks(axes.yaxis)
        axes.set_title("Layers on chips: predicted against measured", loc="left")
        axes.legend(loc="upper left")
        save_figure(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder; the table is printed")
    folder = parser.parse_args().out
    points = [point for chip in CHIPS for point in chip()]
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{p.chip},{p.layer},{p.predicted:.6g},{p.measured:.6g}" for p in points]
    (folder / "silicon.csv").write_text("\n".join(["chip,layer,predicted_s,measured_s", *lines]) + "\n")
    draw(points, folder / "silicon.svg")
    print("\n".join(table(points)))


if __name__ == "__main__":
    main()
