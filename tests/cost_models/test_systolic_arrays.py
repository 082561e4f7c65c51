"""Arrays that take time to fill, against a weight-stationary array walked cycle by cycle, and against SCALE-Sim.

The first file has R rows, C columns, T rows of inputs and F folds of weights, and the cycles without (`single`) and
with (`double`) shadow registers. Here weights are loaded row by row, so that a register is written once in R cycles.

The second has layers of SCALE-Sim 3.0.0 on arrays from 8 x 8 to 256 x 256 by its three dataflows, with its loops as a
nest, and its cycles without stalls. It has no shadow registers and counts cycles from 0.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from event_clock import clocked_cycles

from tilewright import search
from tilewright.arch import Architecture, parse_arch
from tilewright.cost_models import evaluate
from tilewright.ir import LoopNest, Mapping
from tilewright.workloads import gemm

FOLDER = Path(__file__).parents[1] / "golden"
GOLDEN = json.loads((FOLDER / "systolic_register_level.json").read_text())
SCALESIM = [json.loads(line) for line in (FOLDER / "scalesim.jsonl").read_text().splitlines()]
REGISTER = """
  - memory: {name}
    size: 1 word
    access: 8 bit
    read: 0 pJ
    write: 0 pJ
    keep: {{input: {input}, weight: {weight}, output: {output}}}"""
AXES = {"ws": ("output", "input"), "is": ("output", "weight"), "os": ("weight", "input")}


def machine(rows: int, columns: int, overlaps: bool) -> Architecture:
    return parse_arch(f"""
name: weight_stationary
clock: 1 GHz
word: 16 bit
latency: {"with_fill" if overlaps else "steady"}
levels:
  - {{memory: DRAM, access: 16 bit, read: 10 pJ, write: 10 pJ}}
  - fanout: array
    x: {{size: {rows}, reuse: output, latency: 1 cycle}}
    y: {{size: {columns}, reuse: input, latency: 1 cycle}}
  - memory: register
    size: 1 word
    access: 16 bit
    read: 0 pJ
    write: 0 pJ
    keep: {{input: never, weight: must, output: never}}
    bandwidth: {{read: unbounded, write: 1 word/cycle / array.x}}
    overlaps: {"true" if overlaps else "false"}
mac: {{energy: 1 pJ}}
""")


@pytest.mark.some(11)
@pytest.mark.parametrize("kind", ["single", "double"])
@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: "{R}x{C},T={T},F={F}".format(**case))
def test_cycles_of_a_register_level_model(case: dict[str, int], kind: str) -> None:
    rows, columns, steps, folds = (case[key] for key in "RCTF")
    problem, arch = gemm(steps, columns * folds, rows), machine(rows, columns, kind == "double")
    nest = f"""
        DRAM keeps A W O
        for N in {folds}
          parallel N in {columns} on array.y
            parallel K in {rows} on array.x
              register keeps W
              for M in {steps}
    """
    mapping = Mapping(problem, LoopNest.parse(nest))
    cost = evaluate(mapping, arch)
    assert cost.latency_cycles == case[kind]
    assert clocked_cycles(mapping, arch) == case[kind]
    assert cost.array_cycles == (rows + columns - 2) * (folds if kind == "single" else 1)
    found = search(problem, arch, "latency", tiling="perfect")
    assert found.certificate.proven
    assert found.cost.latency_cycles <= case[kind]


def scalesim(case: dict[str, Any]) -> Architecture:
    """The machine of one run: of output-stationary ones, sums leave the cells through the array once a fold."""
    dataflow, (rows, columns), sizes = case["dataflow"], case["array"], case["sram_kib"]
    kept = {"ws": "weight", "is": "input", "os": "output"}[dataflow]
    keep = {role: "must" if role == kept else "never" for role in ("input", "weight", "output")}
    serial = REGISTER.format(name="drain" if dataflow == "os" else "register", **keep) + "\n    overlaps: false"
    if dataflow == "os":
        serial += REGISTER.format(name="register", **keep)
    else:
        serial += "\n    bandwidth: {read: unbounded, write: 1 word/cycle / array.x}"
    return parse_arch(f"""
name: scalesim
clock: 1 GHz
word: 8 bit
levels:
  - {{memory: DRAM, access: 8 bit, read: 100 pJ, write: 100 pJ}}
  - memory: sram
    size: {{input: {sizes[0]} KiB, weight: {sizes[1]} KiB, output: {sizes[2]} KiB}}
    access: 8 bit
    read: 5 pJ
    write: 5 pJ
    double_buffered: true
  - fanout: array
    x: {{size: {rows}, reuse: {AXES[dataflow][0]}, latency: 1 cycle}}
    y: {{size: {columns}, reuse: {AXES[dataflow][1]}, latency: 1 cycle}}{serial}
mac: {{energy: 0.3 pJ}}
""")


@pytest.mark.some(33)
@pytest.mark.parametrize("case", SCALESIM, ids=lambda case: str(case["id"]))
def test_cycles_and_reads_of_scalesim(case: dict[str, Any]) -> None:
    cost = evaluate(Mapping(gemm(*case["gemm"]), LoopNest.parse(case["nest"])), scalesim(case))
    assert cost.latency_cycles == case["cycles"] + 1
    assert {t.tensor: t.reads for t in cost.traffic if t.memory == "sram" and t.tensor != "O"} == case["reads"]
