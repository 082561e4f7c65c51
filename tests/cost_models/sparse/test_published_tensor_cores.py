"""Operations and cycles of sparse tensor cores, as figure 15 of the Sparseloop paper has them.

The machine has 1,024 MACs, and memories that never bound it: energies, and cycles that memories bound, are those of
another machine. Of the units, `TC` saves nothing; `STC` halves what has two nonzero weights of four at most;
`STC_flexible` skips all zeros of structured weights; `DSTC` skips zeros of weights and of inputs, wherever they are.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest

from tilewright.arch import parse_arch
from tilewright.cost_models import Cost
from tilewright.cost_models.sparse import evaluate_sparse, parse_densities
from tilewright.ir import LoopNest, Mapping
from tilewright.workloads import gemm

GOLDEN = Path(__file__).parents[2] / "golden" / "sparseloop_fig15.csv"
ROWS = list(csv.DictReader(GOLDEN.read_text().splitlines()))
MACHINE = """
name: tensor_cores
clock: 1 GHz
word: 8 bit
levels:
  - {memory: DRAM, access: 8 bit, read: 1 pJ, write: 1 pJ, bandwidth: unbounded}
  - {fanout: array, x: 32, y: 32}
mac: {energy: 1 pJ, MAC}
"""
UNITS = {
    "TC": "per_cycle: 1",
    "STC": "skip: [weight], structure: 2:4",
    "STC_flexible": "skip: [weight]",
    "STC_flexible_dualCompress": "skip: [weight]",
    "DSTC": "skip: [weight, input]",
}
STRUCTURED = {"0.25": "1:4@K", "0.3333": "1:3@K", "0.5": "2:4@K"}
SAID_TO_SKIP_NOTHING = {("M512-K256-N1024-IAD0.82", "1.0", "DSTC")}
"""A row in which dual-side skipping does all operations, though a fifth of the inputs is zero."""
TOLERANCE = {"0.3333": 1e-4}
"""A third is written as 0.3333 there, and as 0.33333. Of the others, inputs of a density have a whole number of nonzero
words here, and operations are whole in each of so many instances there: together up to 1.4e-5."""


def published(row: dict[str, str]) -> Cost:
    """What our model says of a row."""
    unit = row["machine"].split("-")[0]
    sizes = {part[0]: int(part[1:]) for part in row["layer"].split("-")[:3]}
    inputs, weights = row["layer"].split("IAD")[1], row["weight_density"]
    if row["algorithmic_computes"]:  # blocks that do not divide are padded there
        sizes["K"] = int(row["algorithmic_computes"]) // (sizes["M"] * sizes["N"])
    given = [f"A={inputs}"] if unit == "DSTC" else []
    if weights != "1.0":
        given.append(f"W={weights}" if unit == "DSTC" else f"W={STRUCTURED[weights]}")
    layer = gemm(**sizes)
    nest = "\n".join(
        [
            "DRAM keeps A W O",
            f"for K in {sizes['K']}",
            f"  for M in {sizes['M'] // 32}",
            f"    for N in {sizes['N'] // 32}",
            "      parallel M in 32 on array.x",
            "        parallel N in 32 on array.y",
        ]
    )
    arch = parse_arch(MACHINE.replace("MAC", UNITS[unit]), "tensor_cores")
    return evaluate_sparse(Mapping(layer, LoopNest.parse(nest)), arch, parse_densities(given, layer))


def done_in(cost: Cost) -> float:
    assert cost.zeros is not None
    return cost.zeros.operations.done


@pytest.mark.parametrize(
    "row",
    ROWS,
    ids=lambda row: "-".join((*row["layer"].split("-")[:3], row["weight_density"], row["machine"].split("-")[0])),
)
def test_operations_and_cycles_are_those_of_the_figure(row: dict[str, str]) -> None:
    cost, unit = published(row), row["machine"].split("-")[0]
    if (row["layer"], row["weight_density"], unit) in SAID_TO_SKIP_NOTHING:
        assert done_in(cost) == pytest.approx(0.82 * int(row["actual_computes"]), rel=1e-5)
        return
    if row["actual_computes"]:
        tolerance = TOLERANCE.get(row["weight_density"], 1.4e-5) if unit in ("DSTC", "STC_flexible") else 0
        assert done_in(cost) == pytest.approx(int(row["actual_computes"]), rel=tolerance)
    if unit in ("TC", "STC"):
        assert math.ceil(cost.compute_cycles) == int(row["cycles"])
    else:
        assert cost.compute_cycles <= int(row["cycles"])  # what memories take comes on top
