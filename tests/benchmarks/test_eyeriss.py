"""The Eyeriss chip and its energy study: figures of our model beside those that were published."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import eyeriss
from eyeriss import CONV3_AS_CONV4, ISCA_2016, TABLE_III, TABLE_V
from longer import TIMES
from tilewright.arch import load_arch

REPORT = Path(__file__).parents[2] / "results" / "eyeriss" / "README.md"
LAYERS = list(TABLE_III)
SLOW = {"conv2"} if TIMES == 1 else set()
"""Of the energy study, the layer whose search takes longer than all others together: two minutes."""


@pytest.mark.parametrize("layer", LAYERS)
def test_active_pes(layer: str) -> None:
    row = TABLE_III[layer]
    assert row.active_pes == TABLE_V[layer].active_pes == row.R * row.e * row.r * row.t
    average = row.cost.macs / row.cost.steps
    assert average == row.active_pes or (layer == "CONV1" and average == row.active_pes * 55 / 56)


@pytest.mark.parametrize("layer", LAYERS)
def test_what_memories_hold(layer: str) -> None:
    """Scratchpads: q S <= 12, p q S <= 224, p <= 24 words; the buffer to a tenth of a KiB."""
    row, published = TABLE_III[layer], TABLE_V[layer]
    assert [row.tile("spad", tensor) for tensor in "IWO"] == [row.q * row.R, row.p * row.q * row.R, row.p]
    assert row.kib("GLB", "I") == pytest.approx(published.inputs_kib, abs=0.1)
    assert row.kib("GLB", "O") == pytest.approx(published.sums_kib, abs=0.1)
    assert row.tile("GLB", "I") == row.n * row.q * row.r * ((row.e - 1) * row.U + row.R) * row.H
    assert row.tile("GLB", "O") == row.n * row.m * row.e * row.E


def test_occupancy_in_kib() -> None:
    kib = [(round(row.kib("GLB", "I"), 2), round(row.kib("GLB", "O"), 2)) for row in TABLE_III.values()]
    assert kib == [(15.52, 72.19), (3.75, 91.12), (7.03, 84.5), (10.55, 84.5), (10.55, 84.5)]
    assert max(glb.occupied_bits for row in TABLE_III.values() for glb in row.cost.memories if glb.name == "GLB") <= (
        load_arch("eyeriss").memories[1].size_bits or 0
    )


@pytest.mark.parametrize(
    ("layer", "megabytes"), list(zip(LAYERS, [18.45, 77.57, 69.22, 37.37, 24.92], strict=True)), ids=LAYERS
)
def test_buffer_traffic(layer: str, megabytes: float) -> None:
    row = TABLE_III[layer]
    assert row.buffer_megabytes == pytest.approx(megabytes, abs=0.005)
    assert row.buffer_megabytes == pytest.approx(row.buffer_megabytes_by_formula, rel=1e-12)
    if layer != "CONV3":
        assert row.buffer_megabytes == pytest.approx(TABLE_V[layer].buffer_megabytes, rel=0.003)


def test_conv3_was_run_with_the_parameters_of_conv4() -> None:
    published = TABLE_V["CONV3"].buffer_megabytes
    assert TABLE_III["CONV3"].buffer_megabytes > 1.3 * published
    assert CONV3_AS_CONV4.buffer_megabytes == pytest.approx(50.18, abs=0.005)
    assert CONV3_AS_CONV4.buffer_megabytes == pytest.approx(published, rel=0.003)
    assert CONV3_AS_CONV4.active_pes == TABLE_V["CONV3"].active_pes


def test_processing_time() -> None:
    """MACs over active PEs at 200 MHz; the steps of the mapping lie between that and what was measured."""
    rows = [(row, TABLE_V[name].processing_ms) for name, row in TABLE_III.items()]
    assert [round(row.bound_ms, 2) for row, _ in rows] == [13.69, 33.18, 19.17, 14.38, 9.58]
    assert [round(100 * row.bound_ms / measured) for row, measured in rows] == [83, 85, 88, 90, 96]
    assert all(row.bound_ms <= row.compute_ms * (1 + 1e-12) < measured for row, measured in rows)


def test_compulsory_traffic() -> None:
    """Dense tensors, inputs without padding: 3.63, 2.67, 2.63, 2.37, 1.75 MB."""
    found = [round(row.compulsory_megabytes, 2) for row in TABLE_III.values()]
    assert found == [3.63, 2.67, 2.63, 2.37, 1.75]


# ---- the energy study ------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("layer", [layer for layer in ISCA_2016 if layer not in SLOW])
def test_energies(layer: str) -> None:
    """ALU and RF to the digits given; DRAM at or below, between compulsory traffic and the published mapping."""
    alu, dram, registers = ISCA_2016[layer]
    found = eyeriss.isca_energies(layer)
    assert found.result.certificate.proven
    assert found.alu == pytest.approx(alu, abs=0.005)
    assert found.registers == pytest.approx(registers, abs=0.005)
    assert found.registers == pytest.approx(4 * found.result.problem.macs / 1e9, rel=1e-12)
    assert found.compulsory <= found.dram * (1 + 1e-12)
    assert found.dram <= dram


@pytest.mark.long
@pytest.mark.parametrize("layer", ["conv3", "conv5"])
def test_published_traffic_is_optimal_without_bypass(layer: str) -> None:
    """The best mapping with all tensors in the buffer has the published DRAM energy to its last digit."""
    found = eyeriss.isca_energies(layer, bypass=False)
    assert found.result.certificate.proven
    assert found.dram == pytest.approx(ISCA_2016[layer][1], abs=0.005)
    assert eyeriss.isca_energies(layer).dram <= found.dram


def test_fully_connected_layers_move_every_word_once() -> None:
    words = {"fc1": 37.96, "fc2": 16.91, "fc3": 4.18}
    for layer, expected in words.items():
        found = eyeriss.isca_energies(layer)
        assert found.dram == found.compulsory == pytest.approx(200 * expected / 1e3, abs=0.002)


# ---- the committed report --------------------------------------------------------------------------------------


def test_the_report_is_what_its_command_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    committed = REPORT.read_text(encoding="utf-8")
    for table in eyeriss.chip_tables():
        assert table in committed
    command = re.search(r"^    (python .*)$", committed, re.MULTILINE)
    assert command is not None
    assert command[1].split() == ["python", "benchmarks/eyeriss.py", "results/eyeriss"]
    monkeypatch.setattr("sys.argv", ["eyeriss.py", str(tmp_path)])
    energies = re.search(r"^\| layer \| ALU (?:.*\n)*?(?=\n)", committed, re.MULTILINE)
    assert energies is not None
    monkeypatch.setattr(eyeriss, "isca_table", energies[0].strip)
    eyeriss.main()
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == committed
