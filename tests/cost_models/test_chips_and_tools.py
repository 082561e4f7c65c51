"""Figures of chips and of tools that the cost model had not met before, each by the rule that they differ by."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import silicon
from reality_page import spearman

import tilewright as tw
from tilewright.arch import Architecture, parse_arch
from tilewright.ir import LoopNest, Mapping, Problem
from tilewright.workloads import cascade

FOLDER = Path(__file__).parents[1] / "golden"
MAESTRO = [json.loads(line) for line in (FOLDER / "maestro.jsonl").read_text().splitlines()]


# ---- chips -----------------------------------------------------------------------------------------------------


def test_no_mapping_is_faster_on_gemmini_than_by_the_model() -> None:
    """FireSim's cycles of the mappings that DOSA tried."""
    rows = silicon.rows("gemmini_rtl")
    ours, theirs = [silicon.gemmini_cycles(row) for row in rows], [row["cycles"] for row in rows]
    assert all(own <= rtl for own, rtl in zip(ours, theirs, strict=True))
    assert spearman(ours, theirs) > 0.96


NVDLA = [row for row in silicon.rows("nvdla_sheet") if row["id"] != "ResNet50:11"]  # three channels take more there


@pytest.mark.parametrize("row", NVDLA, ids=lambda row: row["id"])
def test_words_from_dram_of_the_sheet_of_nvdla(row: dict[str, Any]) -> None:
    assert silicon.nvdla_dram_kib(row) == pytest.approx(row["dram_kib"], abs=0.01)


@pytest.mark.parametrize("row", silicon.rows("eyeriss_vgg16"), ids=lambda row: row["id"])
def test_eyeriss_waits_for_its_buffer(row: dict[str, Any]) -> None:
    assert 0.85 <= silicon.vgg16_ms(row) / row["processing_ms"] <= 0.96


# ---- MAESTRO ---------------------------------------------------------------------------------------------------


def machine(levels: str, mac: str = "1 pJ", clock: str = "1 GHz") -> Architecture:
    return parse_arch(f"name: m\nclock: {clock}\nword: 8 bit\nlevels:\n{levels}\nmac: {{energy: {mac}}}\n")


@pytest.mark.parametrize("row", MAESTRO, ids=lambda row: str(row["id"]))
def test_cycles_and_words_of_maestro(row: dict[str, Any]) -> None:
    """It adds a cycle for every visit of an inner cluster, and one at the end."""
    x, y = row["array"]
    arch = machine(
        "  - {memory: L2, access: 8 bit, read: 1 pJ, write: 1 pJ}\n"
        f"  - {{fanout: array, x: {x}, y: {y}}}\n"
        "  - {memory: L1, size: unbounded, access: 8 bit, read: 1 pJ, write: 1 pJ}"
    )
    cost = tw.evaluate(Mapping(tw.conv2d(**row["layer"]), LoopNest.parse(row["nest"])), arch)
    reads, writes = ({t.tensor: of(t) for t in cost.traffic if t.memory == "L2"} for of in (_reads, _writes))
    assert (cost.macs, writes["O"]) == (row["macs"], row["O_w"])
    assert reads["W"] == row["W"] or "nlr" in row["id"]  # which counts a weight that moves with an edge once less
    assert row["cycles"] == cost.steps + row["visits"] + 1


def _reads(traffic: Any) -> int:
    return int(traffic.reads)


def _writes(traffic: Any) -> int:
    return int(traffic.writes)


# ---- ZigZag ----------------------------------------------------------------------------------------------------


def test_energies_of_zigzags_first_test() -> None:
    """It reads a sum at its first visit as well, and a finished one keeps its full width."""
    plain = "access: {width} bit, read: {read} pJ, write: {write} pJ, size: unbounded"

    def memory(name: str, keep: str, **figures: Any) -> str:
        roles = {role: "must" if role in keep else "never" for role in ("input", "weight", "output")}
        keeps = ", ".join(f"{role}: {how}" for role, how in roles.items())
        return f"  - {{memory: {name}, {plain.format(**figures)}, keep: {{{keeps}}}}}"

    arch = machine(
        "\n".join(
            [
                "  - {memory: top, access: 8 bit, read: 0 pJ, write: 0 pJ}",
                memory("l1_A", "input", width=512, read=22.9, write=0),
                memory("l1_W", "weight", width=512, read=22.9, write=0),
                memory("l1_O", "output", width=2048, read=22.9, write=52.01),
                "  - {fanout: D1_D3, x: 8, y: 8}",
                memory("reg_A", "input", width=8, read=0, write=0),
                memory("reg_O", "output", width=32, read=0.02, write=0.02),
                "  - {fanout: D2, x: 8}",
            ]
        ),
        "0.04 pJ",
    )
    arch = arch.model_copy(update={"first_read_elision": False})
    gemm = tw.gemm(128, 128, 128)
    wide = tuple(replace(t, bits=32) if t.is_output else t for t in gemm.tensors)
    nest = """
        top keeps A W O
        l1_A keeps A
        l1_W keeps W
        l1_O keeps O
        for M in 16
          for K in 16
            for N in 16
              parallel M in 8 on D1_D3.x
                parallel N in 8 on D1_D3.y
                  reg_A keeps A
                  reg_O keeps O
                  parallel K in 8 on D2.x
    """
    cost = tw.evaluate(Mapping(Problem(gemm.name, gemm.dims, wide), LoopNest.parse(nest)), arch)
    energies = {memory.name: memory.energy_pj for memory in cost.memories} | {"mac": cost.mac_energy_pj}
    theirs = {"l1_A": 5862.4, "l1_W": 93798.4, "l1_O": 306831.36, "reg_O": 20971.52, "mac": 83886.08}
    from_top_and_back = 128 * 128 * 32 / 2048 * (22.9 + 52.01)  # which the test there leaves out
    ours = theirs | {"l1_O": theirs["l1_O"] + from_top_and_back, "top": 0.0, "reg_A": 0.0}
    assert energies == pytest.approx(ours)
    assert cost.energy_pj == pytest.approx(511349.76 + from_top_and_back)


# ---- AccelForge ------------------------------------------------------------------------------------------------

SIMPLE = """  - {{memory: MainMemory, access: 1 bit, read: 1 pJ, write: 1 pJ}}
  - {{memory: GlobalBuffer, size: unbounded, access: 1 bit, read: {energy} pJ, write: {energy} pJ, keep: {keep}}}"""
TPU_V4I = """  - {memory: MainMemory, access: 1 bit, read: 7.03 pJ, write: 7.03 pJ, bandwidth: 614 GB/s}
  - memory: GlobalBuffer
    size: 128 MiB
    access: 1 bit
    read: 1.88 pJ
    write: 2.36 pJ
    bandwidth: {read: 2048 GB/s, write: 1024 GB/s}
    keep: may
  - {fanout: Z, x: 4, multicast: false, spatial_reduction: false}
  - memory: LocalBuffer
    size: 4 MiB
    access: 1 bit
    read: 0.249 pJ
    write: 0.293 pJ
    keep: {input: must, weight: never, output: must}
  - fanout: array
    x: {size: 128, reuse: input}
    y: {size: 128, reuse: output}
  - {memory: Register, size: 1 word, access: 1 bit, read: 0 pJ, write: 0 pJ,
     keep: {input: never, weight: must, output: never}}"""


def optima(problem: Problem, arch: Architecture, *objectives: str, constraints: list[str] | None = None) -> list[float]:
    """By AccelForge's rule of reuse, of uneven nests with perfect factors."""
    machine = arch.model_copy(update={"reuse": "at_node"})
    space = {"space": "uneven", "tiling": "perfect", "constraints": constraints}
    found = [tw.search(problem, machine, objective=one, **space) for one in objectives]  # type: ignore[arg-type]
    assert all(one.certificate.proven for one in found)
    return [one.cost.objective(objective) for one, objective in zip(found, objectives, strict=True)]


@pytest.mark.parametrize("keep", ["never", "may"])
def test_accelforges_regression_of_two_products(keep: str) -> None:
    energy, latency = optima(tw.gemm(64, 64, 64), machine(SIMPLE.format(energy=1, keep=keep)), "energy", "latency")
    assert (2 * energy, 2 * latency) == pytest.approx((17235968.0, 524288.0), rel=1e-8)


@pytest.mark.parametrize(
    ("size", "count", "energy_j", "latency_s"),
    [(64, 2, 2.144731152171063e-06, 4.002605891173516e-08), (128, 3, 1.313262806502638e-05, 2.4015633925955626e-07)],
)
def test_accelforges_regression_on_its_tpu_v4i(size: int, count: int, energy_j: float, latency_s: float) -> None:
    arch = machine(TPU_V4I, "0.084 pJ", "1.05 GHz")
    energy, latency = optima(tw.gemm(size, size, size), arch, "energy", "latency", constraints=["Z.utilization>=1"])
    assert count * energy * 1e-12 == pytest.approx(energy_j, rel=1e-8)
    assert count * latency / arch.clock_hz == pytest.approx(latency_s, rel=1e-8)


def test_accelforges_regression_of_one_product_on_its_tpu_v4i() -> None:
    """Its figures have single precision."""
    arch = machine(TPU_V4I, "0.084 pJ", "1.05 GHz")
    (edp,) = optima(tw.gemm(128, 128, 128), arch, "edp", constraints=["Z.utilization>=1"])
    assert edp * 1e-12 / arch.clock_hz == pytest.approx(3.5043154232822727e-13, rel=1e-7)


@pytest.mark.long
def test_accelforges_regression_of_two_fused_products_on_its_tpu_v4i() -> None:
    """The tree of least EDP has all four local buffers at work, as it asks for."""
    arch = machine(TPU_V4I, "0.084 pJ", "1.05 GHz").model_copy(update={"reuse": "at_node"})
    products = ["T1[m,n1] += T0[m,n0] * W0[n0,n1]", "T2[m,n2] += T1[m,n1] * W1[n1,n2]"]
    two = cascade(products, dict.fromkeys(("m", "n0", "n1", "n2"), 64))
    found = tw.search(two, arch, objective="edp", space="uneven", tiling="perfect")
    assert found.certificate.proven
    seconds = found.cost.latency_cycles / arch.clock_hz
    assert (found.cost.energy_pj * 1e-12, seconds) == pytest.approx(
        (1.8229493921710631e-06, 3.0476190460149155e-08), rel=1e-8
    )


SNOWCAT = {
    "Y": (tw.gemm(1, 3, 4), 152),
    "Z": (tw.gemm(1, 4, 3), 152),
    "PiecewiseA0": (tw.gemm(784, 192, 24), 1391616),
    "PiecewiseB0": (tw.gemm(784, 24, 192), 1391616),
    "Depthwise0": (tw.conv2d(K=192, C=192, P=28, Q=28, R=3, S=3, groups=192), 2600448),
}
"""Bits of its matvecs, of which it states the sum (304), and of mobilenet_28 with outputs of 28 x 28."""


@pytest.mark.parametrize("name", SNOWCAT)
def test_accelforges_regression_on_its_snowcat(name: str) -> None:
    """A bit that passes costs 1, and the buffer has no end."""
    problem, bits = SNOWCAT[name]
    assert optima(problem, machine(SIMPLE.format(energy=0, keep="must"), "0 pJ"), "energy") == [bits]
