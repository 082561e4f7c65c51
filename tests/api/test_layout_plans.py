"""`tilewright layouts` and `tw.plan_layouts`: a small network, searched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tilewright as tw
from tilewright.cli import app

NETWORK = """
network: three
layers:
  - {name: a, op: conv, C: 4, K: 16, P: 8, Q: 8, R: 3, S: 3}
  - {name: b, op: conv, C: 16, K: 16, P: 8, Q: 8, R: 1, S: 1}
  - {name: c, op: conv, C: 16, K: 16, P: 8, Q: 8, R: 1, S: 1}
graph:
  - a
  - b
  - {name: c, reads: b}
  - {name: sum, op: add, reads: [b, c]}
"""
LINE = ("--set", "DRAM.line=16 B")


@pytest.fixture
def network(tmp_path: Path) -> str:
    path = tmp_path / "three.yaml"
    path.write_text(NETWORK, encoding="utf-8")
    return str(path)


def test_the_plan_is_what_its_layers_cost(network: str) -> None:
    arch = tw.load_arch("eyeriss", {"DRAM.line": "16 B"})
    plan = tw.plan_layouts(network, arch, tiling="perfect", layouts=["NCHW", "NHWC"])
    assert plan.proven
    assert set(plan.stored.values()) <= {"NCHW", "NHWC", "as written"}
    assert plan.full_lines <= plan.value <= min(plan.agreed, plan.as_written)
    (b,) = (layer for layer in plan.layers if layer.name == "b")
    layouts = {"I": dict(b.reads)["a"], "O": b.writes[1]}
    alone = tw.search(
        tw.conv2d(K=16, C=16, P=8, Q=8, R=1, S=1), arch, "energy", tiling="perfect", layout={"all": "any", **layouts}
    )
    assert b.value == pytest.approx(alone.certificate.value, rel=1e-9)


@pytest.mark.long
def test_the_command_prints_the_plan(network: str) -> None:
    asked = ["layouts", network, "--arch", "eyeriss", *LINE, "--tiling", "perfect"]
    page = CliRunner().invoke(app, asked)
    assert page.exit_code == 0, page.output
    for part in ("Tensors in DRAM", "Conversions", "Without conversions", "proven: no layouts"):
        assert part in page.output
    document = json.loads(CliRunner().invoke(app, [*asked, "--json"]).output)
    assert document["value"] == pytest.approx(document["lower_bound"])
    assert set(document["stored"]) == {"input", "a", "b"}  # the sum makes one tensor of b and c


@pytest.mark.long
def test_the_least_edp_is_proven(network: str) -> None:
    arch = tw.load_arch("eyeriss", {"DRAM.line": "16 B"})
    plan = tw.plan_layouts(network, arch, "edp", tiling="perfect", layouts=["NCHW", "NHWC"])
    assert plan.product is not None
    assert plan.proven
    assert plan.product.value == pytest.approx(plan.energy_pj * plan.latency_cycles)
    asked = ["layouts", network, "--arch", "eyeriss", *LINE, "--tiling", "perfect", "--objective", "edp"]
    page = CliRunner().invoke(app, [*asked, "--layout", "NHWC"])
    assert page.exit_code == 0, page.output
    assert "edp, proven: no layouts" in page.output


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ((*LINE, "--layout", "NHCW"), "no tensor can lie as 'NHCW'"),
        ((), "DRAM has no lines"),
        ((*LINE, "--objective", "energy * latency ** 0.5"), "does not add up"),
    ],
)
def test_what_is_wrong_is_named(network: str, options: tuple[str, ...], found: str) -> None:
    done = CliRunner().invoke(app, ["layouts", network, "--arch", "eyeriss", *options])
    assert done.exit_code != 0
    assert found in str(done.exception or "") + done.output
