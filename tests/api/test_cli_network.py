"""`tilewright network`, and ONNX files wherever a network is named."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from test_cli import refused, run

import tilewright as tw


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Two equal products and an addition; the batch is a symbol."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], "one"),
        helper.make_node("MatMul", ["h", "v"], ["y1"], "two"),
        helper.make_node("Add", ["y1", "x"], ["y"], "sum"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.INT8, ["batch", 16])
    y = helper.make_empty_tensor_value_info("y")
    stored = [helper.make_tensor(name, TensorProto.INT8, [16, 16], [1] * 256) for name in "wv"]
    graph = helper.make_graph(nodes, "test", [x], [y], stored)
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
    return path


def test_the_layers_of_a_table() -> None:
    done = run("network", "resnet50")
    assert done.exit_code == 0
    resnet = tw.load_network("resnet50")
    assert f"{resnet.macs:,}" in done.stdout
    assert f"{resnet.weights:,}" in done.stdout
    row = next(line.split() for line in done.stdout.splitlines() if "layer1.0.conv2" in line)
    # 115.6 M MACs over 56 x 56 and 58 x 58 x 64 pixels and 36,864 weights of 2 bytes.
    words = 64 * (56 * 56 + 58 * 58) + 36_864
    assert row[-5:] == ["115,605,504", f"{115_605_504 / words:.1f}", "1", "115,605,504", "36,864"]
    assert "Passed through" not in done.stdout
    assert run("show", "resnet50").stdout == done.stdout


def test_sizes_of_a_table_have_names() -> None:
    grown = tw.load_network("llama3_8b_decode_block", {"kv": 4096})
    assert grown.layer("qk").problem.sizes["K"] == grown.layer("av").problem.sizes["K"] == 4096
    assert grown.weights == tw.load_network("llama3_8b_decode_block").weights
    assert "K=4096" in run("show", "llama3_8b_decode_block:qk", "--dim", "kv=4096").stdout
    assert "unknown dimension 'vk'\nhint: known: kv" in refused("network", "llama3_8b_decode_block", "--dim", "vk=4096")


def test_a_table_of_ones_own_starts_from_another(tmp_path: Path) -> None:
    """The file as it is; or with sizes and keys set, in the form of the others, and checked."""
    table = run("show", "gpt2_small", "--dim", "seq=77", "--set", "lm_head.N=1000", "--yaml").stdout
    path = tmp_path / "mine.yaml"
    path.write_text(table)
    mine = tw.load_network(path)
    assert mine.layer("lm_head").problem.sizes == {"M": 77, "N": 1000, "K": 768}
    assert mine.wiring is not None
    assert len(mine.wiring.occurrences) == len(tw.load_network("gpt2_small").wiring.occurrences)  # type: ignore[union-attr]
    assert "- {name: ff1, op: gemm, B: 1, M: seq, N: 3072" in table
    done = run("show", path, "-q")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "no layer 'head'" in refused("show", "gpt2_small", "--set", "head.N=10", "--yaml")
    assert "expected equal sizes" in refused("show", "llama3_8b_block", "--set", "o_proj.N=8192")
    assert "name: eyeriss" in run("show", "eyeriss", "--yaml").stdout
    assert "\n    x: 3\n" in run("show", "eyeriss", "--set", "array.x=3", "--yaml").stdout
    assert "has no file of its own" in refused("show", "resnet50:conv1", "--yaml")


def test_the_width_of_words_is_an_option() -> None:
    documents = [json.loads(run("network", "alexnet", "--word", bits, "--json").stdout) for bits in (8, 16)]
    for narrow, wide in zip(*(document["layers"] for document in documents), strict=True):
        assert narrow["flop_per_byte"] == pytest.approx(2 * wide["flop_per_byte"])
    assert "--word: the width is 0, expected 1 bit or more" in refused("network", "alexnet", "--word", 0)


def test_an_onnx_file_is_a_network(model: Path) -> None:
    dim = ("--dim", "batch=8")
    page = run("network", model, *dim).stdout
    assert "4,096 words" not in page
    assert "512 words" in page
    assert [line.split() for line in page.splitlines() if line.split()[:1] in (["one"], ["Add"], ["two"])] == [
        # 2 x 2048 over 128 + 256 + 128 bytes
        ["one", "M=8", "N=16", "K=16", "2,048", "8", "2", "4,096", "512"],
        ["Add", "1", "128", "3.0%", "128", "B", "1", "an", "element", "of", "the", "output"],
    ]
    assert run("show", model, *dim).stdout == page
    assert run("list", "layers", model, *dim).stdout == f"{model}:one\n"
    assert "M=8 N=16 K=16" in run("show", f"{model}:two", *dim).stdout
    document = json.loads(run("search", f"{model}:two", "--arch", "eyeriss", "--json", *dim).stdout)
    assert document["cascade"]["name"] == "model:two"
    assert "model:one" in run("space", f"{model}:one", "--arch", "three_level", *dim).stdout


def test_widths_of_the_architecture(model: Path) -> None:
    ours = json.loads(run("network", model, "--dim", "batch=8", "--widths", "arch", "--word", 16, "--json").stdout)
    assert [tensor["bits"] for tensor in ours["layers"][0]["tensors"]] == [16, 16, 16]
    arguments = ("--arch", "eyeriss", "--dim", "batch=8", "--json", "--widths", "arch")
    found = json.loads(run("search", f"{model}:one", *arguments).stdout)
    alone = json.loads(run("search", "--gemm", "M=8,N=16,K=16", "--arch", "eyeriss", "--json").stdout)
    assert found["cost"] == alone["cost"]
    assert "unknown widths 'x', expected file or arch" in refused("network", model, "--dim", "batch=8", "--widths", "x")


def test_the_document(model: Path) -> None:
    document = json.loads(run("network", model, "--dim", "batch=8", "--json").stdout)
    assert (document["macs"], document["operations"], document["occurrences"]) == (4096, 4096 + 128, 2)
    (layer,) = document["layers"]
    assert layer["nodes"] == ["one", "two"]
    assert layer["flop_per_byte"] == 2 * 2048 / 512
    assert [tensor["bits"] for tensor in layer["tensors"]] == [8, 8, 8]
    assert document["passed_through"][0]["what"] == "Add"
    assert {"from": "one", "to": "two", "tensor": "h", "shape": [8, 16], "bits": 8, "bytes": 128} in document["edges"]


def test_what_goes_wrong(model: Path) -> None:
    assert "the size of batch (x.0) is not given\nhint: --dim batch=1" in refused("network", model)
    assert "unknown dimension 'bach'\nhint: did you mean 'batch'?" in refused("network", model, "--dim", "bach=1")
    assert "batch is given twice" in refused("network", model, "--dim", "batch=1", "--dim", "batch=2")
    assert "batch is 'x', expected a whole number" in refused("network", model, "--dim", "batch=x")
    assert "unknown dimension 'batch'" in refused("network", "resnet50", "--dim", "batch=1")
    assert "symbols belong to a network" in refused("list", "layers", "--dim", "batch=1")
    assert "symbols belong to a layer of a network" in refused(
        "search", "--gemm", "M=4,N=4,K=4", "--arch", "eyeriss", "--dim", "batch=1"
    )
    assert "did you mean 'two'?" in refused("search", f"{model}:twoo", "--arch", "eyeriss", "--dim", "batch=1")
    assert "no such file" in refused("network", "nowhere.onnx")


def test_what_stands_between_layers_is_listed_and_counted_nowhere() -> None:
    done = run("network", "gpt2_small")
    assert "softmax    softmax    qk " in done.stdout
    document = json.loads(run("network", "gpt2_small", "--json").stdout)
    by_name = {entry["name"]: entry for entry in document["wiring"]}
    assert by_name["h.3.av"] == {
        "name": "h.3.av",
        "kind": "layer",
        "layer": "av",
        "reads": ["h.3.softmax", "h.3.v_proj"],
    }
    assert sum(entry["kind"] == "layer" for entry in by_name.values()) == document["occurrences"] == 97
    assert document["macs"] == tw.load_network("gpt2_small").macs


def test_cascades_of_networks_are_shown(model: Path) -> None:
    done = run("show", "gpt2_small:qk+softmax+av")
    assert done.exit_code == 0
    assert "softmax.exp" in done.stdout
    document = json.loads(run("show", f"{model}:one+two+sum", "--dim", "batch=2", "--json").stdout)
    assert document["operations"] == [
        "one[m, n] += x[m, k] * one_W[k, n]",
        "two[m, n2] += one[m, n] * two_W[n, n2]",
        "sum[m, n2] = two[m, n2] + x[m, n2]",
    ]
    assert "no architecture" in refused("show", "gpt2_small:qk+softmax", "--set", "x=1")


def test_a_tree_of_layers_of_a_network(tmp_path: Path) -> None:
    tree = tmp_path / "tree.txt"
    pooling, product = ("for B in 512", "for C in 7", "for D in 7"), ("for N in 1000", "for B in 512")
    branches = "\n  ".join(["branch avgpool", *pooling]), "\n  ".join(["branch fc", *product])
    tree.write_text("\n".join(["DRAM keeps avgpool fc fc_W layer4_1_add", *branches]))
    on = ["--arch", "three_level", "--mapping", str(tree)]
    done = run("evaluate", "resnet18:avgpool+fc", *on)
    assert "fc[n] += avgpool[b] * fc_W[b, n]" in done.stdout
    assert "537,088 points" in done.stdout
    assert "expected no further split" in refused("evaluate", "resnet18:fc", *on)
