"""What `compile`, `compare --fuse` and `explore --fuse` count of a network is what `network` counts: all of it, or the
rest is named."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from onnx import helper

import tilewright as tw
from cases import CASES
from onnx_models import model_of, saved
from pages import run
from tilewright.cost_models import ENERGY
from tilewright.report.comparisons.fused import fused_comparison_of
from tilewright.report.comparisons.page import comparison_page
from tilewright.report.explorations.exploration import exploration_of
from tilewright.report.explorations.measures import MEASURES
from tilewright.report.explorations.page import exploration_data, exploration_page
from tilewright.report.parts.text import plain_text
from tilewright.run.batch.plan import Settings
from tilewright.workloads.graph import operation_groups

ONNX = CASES / "onnx"
MODELS = sorted(path.stem for path in ONNX.glob("*.onnx"))
node = helper.make_node


@pytest.mark.some(2)
@pytest.mark.parametrize("name", ["lstm", "k3s2p1op1", "ct_1d", "unet_k2s2", "einsum3", "deform"])
def test_a_plan_costs_what_its_layers_cost_alone(name: str) -> None:
    """Operators of several problems, of one that is done several times, and of no product of two operands."""
    network = tw.load_network(ONNX / f"{name}.onnx")
    plan = tw.compile(network, "three_level", "energy", "perfect", fuse="none", stays=False, workers=1)
    alone = [
        (layer.repeat, tw.search(layer.problem, "three_level", "energy", "perfect").cost) for layer in network.layers
    ]
    assert plan.certificate.proven
    assert all(one.answer.certificate.proven for one in plan.segments if one.answer is not None)
    assert plan.macs == network.macs
    assert not plan.uncounted.names
    groups = plan.energy_pj - plan.answer.outside.energy_pj
    assert groups == pytest.approx(sum(repeat * cost.energy_pj for repeat, cost in alone))
    assert plan.answer.apart is not None
    assert plan.answer.apart.energy_pj == pytest.approx(plan.energy_pj)


@pytest.mark.some(2)
@pytest.mark.parametrize("name", MODELS)
def test_every_layer_of_a_model_is_in_its_graph_or_named(name: str) -> None:
    try:
        network = tw.load_network(ONNX / f"{name}.onnx", dims={"batch": 1} if name == "ms_nbits" else None)
    except tw.TilewrightError:
        pytest.skip("no network")
    assert network.wiring is not None
    for layer in network.layers:
        counted = sum(one.macs for one in network.wiring if one.layer == layer.name)
        assert counted == layer.macs or set(layer.nodes) & set(network.uncounted.names)
    assert sum(occurrence.macs for occurrence in network.wiring) + network.uncounted.macs == network.macs


def test_what_is_mapped_on_its_own_keeps_nothing_on_chip() -> None:
    """Inputs of a recurrent layer are no weights that lie there before the run."""
    plan = tw.compile(ONNX / "lstm.onnx", "three_level", tiling="perfect", fuse="none", weights_in="GLB", workers=1)
    assert [one.name for one in plan.answer.staying] == ["head.W"]


@pytest.mark.some(1)
@pytest.mark.parametrize("name", ["twosm", "same2"])
def test_a_network_cut_at_once_has_a_bound(name: str) -> None:
    """Two softmaxes alone have no points that every form has, and what they hand out is written all the same."""
    asked = {"objective": "energy", "tiling": "perfect", "workers": 1}
    cut = tw.compile(ONNX / f"{name}.onnx", "three_level", **asked, total_limit=0).certificate
    whole = tw.compile(ONNX / f"{name}.onnx", "three_level", **asked).certificate
    assert whole.proven
    assert 0 < cut.lower_bound <= whole.value <= cut.value


def test_graphs_of_models_pass_to_other_processes() -> None:
    """Which search them: what is done between groups, and the file's parameters, they do without."""
    for name in ("k3s2p1op1", "lstm", "twosm", "same2"):
        graph = tw.load_network(ONNX / f"{name}.onnx").wiring
        assert graph is not None
        passed = pickle.loads(pickle.dumps(graph))
        assert passed == graph
        assert operation_groups(passed, 2) == operation_groups(graph, 2)


def test_what_is_not_counted_is_named_first(tmp_path: Path) -> None:
    """Of two equal products one is enough, and an operator of another domain does what nobody knows."""
    nodes = [
        node("MatMul", ["x", "w"], ["a"], "first"),
        node("MatMul", ["x", "w"], ["b"], "second"),
        node("Add", ["a", "b"], ["c"], "sum"),
        node("Magic", ["c"], ["y"], "magic", domain="org.example"),
    ]
    path = saved(tmp_path, model_of(nodes, {"x": [4, 8]}, stored={"w": [8, 2]}, domains=["org.example"]))
    told = "64 of 128 MACs, not counted: second, Magic"
    done = run(["compile", str(path), "--arch", "three_level", "--tiling", "perfect", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert told in " ".join(done.output.split("Architecture")[0].split())
    assert told in (tmp_path / "out" / "network.html").read_text(encoding="utf-8")
    plan = json.loads((tmp_path / "out" / "plan.json").read_text(encoding="utf-8"))
    assert (plan["summary"]["macs"], plan["macs_not_counted"], plan["not_counted"]) == (64, 64, ["second", "Magic"])
    assert "without second, Magic, which no group has" in plan["constraints"]

    found = tw.compile(path, "three_level", tiling="perfect", workers=1)
    assert told in str(found)
    places, settings = [(found.network, found.arch, "")], Settings(ENERGY, "perfect")
    fused = fused_comparison_of(places, [found.answer], settings, 4, "", "")
    (row,) = fused.to_frame().to_dict("records")
    assert (row["macs"], row["macs_not_counted"], row["not_counted"]) == (64, 64, "second Magic")
    assert told in fused.findings[-1]
    assert told in " ".join(plain_text(comparison_page(fused)).split("Architectures")[0].split())
    explored = exploration_of(fused, [["GLB.size"]], [{"GLB.size": "128 KiB"}], [MEASURES["energy"]])
    assert told in " ".join(plain_text(exploration_page(explored)).split("Sweep")[0].split())
    assert exploration_data(explored)["left_out"] == {found.network: told}


@pytest.mark.long
def test_a_group_that_is_done_several_times(tmp_path: Path) -> None:
    """Its figures are of all times, in the page, plan.json and the tables; EDP has them all alike at no loss."""
    plan = tw.compile(ONNX / "lstm.onnx", "three_level", "edp", "perfect", fuse="none", workers=1)
    (steps,) = (one for one in plan.segments if one.times > 1)
    assert (steps.names, steps.times) == (("rnn#2",), 12)
    assert steps.answer is not None
    document = plan.plan
    document.check()
    (group,) = (one for one in document.groups if one.times > 1)
    assert group.energy_pj == 12 * steps.answer.cost.energy_pj
    plan.save(tmp_path)
    page = (tmp_path / "network.html").read_text(encoding="utf-8")
    assert "rnn#2 (12 times)" in page
    assert not any("one mapping" in line for line in plan.certificate.constraints)
    slowest = 1.001 * plan.cost.latency_cycles
    limited = tw.compile(
        ONNX / "lstm.onnx", "three_level", f"energy where latency <= {slowest}", "perfect", fuse="none", workers=1
    )
    assert limited.cost.latency_cycles <= slowest * (1 + 1e-9)
    assert limited.energy_pj <= plan.energy_pj * (1 + 1e-9)
