from __future__ import annotations

import math
from importlib import resources
from pathlib import Path

import pytest
import yaml

from tilewright.ir import ProblemError
from tilewright.workloads import conv2d, list_networks, load_layer, load_network, padded
from tilewright.workloads.arguments import pair

# Rows, occurrences, multiply-accumulates and stored weights, as compared with the literature (see `published`).
TOTALS = {
    "alexnet": (8, 8, 724_406_816, 60_954_656),
    "alexnet_torchvision": (8, 8, 714_188_480, 61_090_496),
    "alexnet_ungrouped": (8, 8, 1_135_256_096, 62_367_776),
    "bert_base": (8, 96, 48_318_382_080, 84_934_656),
    "dlrm_mlperf": (8, 8, 2_365_184, 2_365_184),
    "dlrm_rm_cosa": (8, 8, 2_011_904, 2_011_904),
    "dlrm_rmc1": (6, 6, 184_384, 184_384),
    "gpt2_small": (9, 97, 145_824_153_600, 123_532_032),
    "gpt3_6_7b": (9, 257, 14_293_857_013_760, 6_648_303_616),
    "gpt3_175b_block": (8, 8, 3_813_930_958_848, 1_811_939_328),
    "gpt3_6_7b_block": (8, 8, 446_676_598_784, 201_326_592),
    "llama2_7b_block": (9, 9, 448_824_082_432, 202_375_168),
    "llama3_8b": (10, 289, 15_393_688_125_440, 7_504_658_432),
    "llama3_8b_block": (9, 9, 481_036_337_152, 218_103_808),
    "llama3_8b_decode_block": (9, 9, 234_881_024, 218_103_808),
    "mixtral_8x7b": (12, 353, 26_940_850_307_072, 46_571_454_464),
    "mobilenet_v1": (20, 28, 568_740_352, 4_209_088),
    "mobilenet_v2": (53, 53, 300_774_272, 3_469_760),
    "resnet18": (12, 21, 1_814_073_344, 11_678_912),
    "resnet50": (30, 54, 4_089_184_256, 25_502_912),
    "resnet50_v1": (30, 54, 3_857_973_248, 25_502_912),
    "vgg16": (16, 16, 15_470_264_320, 138_344_128),
    "vit_b16": (10, 98, 17_563_828_224, 86_292_480),
}


def table(name):
    text = (resources.files("tilewright.workloads") / "networks" / f"{name}.yaml").read_text(encoding="utf-8")
    return yaml.load(text, yaml.CSafeLoader)


SHIPPED = {name: table(name) for name in list_networks()}
FIGURES = [
    pytest.param(name, figure, id=f"{name}: {figure['what']}")
    for name, data in SHIPPED.items()
    for figure in data["published"]
    if "scale" not in figure
]
CONV_ROWS = [
    pytest.param(name, row, id=f"{name}:{row['name']}")
    for name, data in SHIPPED.items()
    for row in data["layers"]
    if row["op"] == "conv"
]


def test_the_shipped_networks():
    assert list_networks() == tuple(sorted(TOTALS))


@pytest.mark.parametrize("name", TOTALS)
def test_totals(name):
    network = load_network(name)
    occurrences = sum(layer.repeat for layer in network.layers)
    assert network.name == name
    assert network.source
    assert (len(network.layers), occurrences, network.macs, network.weights) == TOTALS[name]


@pytest.mark.parametrize(("name", "figure"), FIGURES)
def test_published_figures(name, figure):
    layers = load_network(name).layers
    if figure.get("select") == "conv":
        layers = [layer for layer in layers if "R" in layer.problem.sizes]
    kind = {"weights": "weights", "active": "active_weights"}.get(figure.get("kind"), "macs")
    here = sum(getattr(layer, kind) for layer in layers)
    published = figure["value"] - figure.get("minus", 0)
    assert here == pytest.approx(published, rel=figure.get("within", 0), abs=0)


def test_every_network_has_a_figure_of_its_source():
    assert {param.values[0] for param in FIGURES} == set(SHIPPED)
    assert max(figure.get("within", 0) for data in SHIPPED.values() for figure in data["published"]) <= 0.02


def test_query_heads_of_a_group_share_keys_and_values():
    """Llama 3 8B: 32 query heads, 8 heads of keys and values, 128 wide, 2048 tokens in the cache."""
    for name, tokens in (("llama3_8b_block", 2048), ("llama3_8b_decode_block", 1)):
        for layer in ("qk", "av"):
            problem = load_network(name).layer(layer).problem
            assert problem.macs == 32 * tokens * 2048 * 128
            (cache,) = [tensor for tensor in problem.operands if tensor.role == "weight"]
            assert math.prod(problem.sizes[dim] for dim in cache.dims) == 8 * 2048 * 128


def test_bert_at_the_sequence_length_of_the_mobilebert_paper():
    """Projections scale with the sequence, the two attention products with its square."""
    projections = sum(layer.macs for layer in load_network("bert_base").layers if layer.is_weight)
    attention = sum(layer.macs for layer in load_network("bert_base").layers if not layer.is_weight)
    (figure,) = [figure for figure in SHIPPED["bert_base"]["published"] if figure.get("scale") == "S128"]
    assert projections // 4 + attention // 16 == pytest.approx(figure["value"], rel=figure["within"])


@pytest.mark.parametrize(("name", "row"), CONV_ROWS)
def test_output_sizes_follow_from_the_input(name, row):
    def out(size, pad, dilation, window, stride):
        return (size + 2 * pad - dilation * (window - 1) - 1) // stride + 1

    (pad_h, pad_w), (stride_h, stride_w) = pair("pad", row["pad"], name, 0), pair("stride", row["stride"], name)
    dilation_h, dilation_w = pair("dilation", row["dilation"], name)
    assert row["P"] == out(row["H"], pad_h, dilation_h, row["R"], stride_h)
    assert row["Q"] == out(row["W"], pad_w, dilation_w, row["S"], stride_w)


def test_one_layer():
    name = "resnet50:layer1.0.conv2"
    assert load_layer(name) == padded(conv2d(64, 64, 56, 56, 3, 3, name=name), 1)
    assert str(load_layer("mobilenet_v2:b2.dw")).endswith("(N=1 G=96 K=1 C=1 P=56 Q=56 R=3 S=3)")
    assert load_layer("bert_base:qk").dims == (("B", 12), ("M", 512), ("N", 512), ("K", 64))
    assert load_layer("bert_base:q_proj").dim_names == ("M", "N", "K")


def test_zeros_after_the_last_words_of_an_image():
    """As many as a filter reaches: of an even image under a stride of 2 none."""
    around = {"conv1": (3, 2), "layer1.x.conv2": (1, 1), "layer2.0.conv2": (1, 0), "layer2.x.conv1": None}
    for name, pad in around.items():
        pads = load_layer(f"resnet50:{name}").pads
        assert pads == (() if pad is None else (("I", ((0, 0), (0, 0), pad, pad)),))


def test_repeats_and_activations():
    bert = load_network("bert_base")
    assert [bert.layer("qk").weights, bert.layer("qk").macs] == [0, 12 * 12 * 512 * 512 * 64]
    assert bert.layer("ff1").weights == 12 * 768 * 3072


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("resnt50:conv1", "unknown network 'resnt50'\nhint: did you mean 'resnet50'?"),
        ("resnet50:layer1.0.con2", "network resnet50: unknown layer 'layer1.0.con2'\nhint: did you mean 'layer1.0.c"),
        ("resnet50", "'resnet50' is a whole network, expected one layer, network:layer\nhint: write resnet50:conv1;"),
        ("resnet50:", "'resnet50:' is a whole network, expected one layer"),
        ("nowhere/net.yaml:conv1", "nowhere/net.yaml: no such file\nhint: shipped networks: alexnet, "),
    ],
)
def test_unknown_layers(reference, message):
    with pytest.raises(ProblemError) as error:
        load_layer(reference)
    assert str(error.value).startswith(message)


GOOD_ROW = "{name: c1, op: conv, K: 8, C: 4, P: 4, Q: 4, R: 3, S: 3, stride: [2, 1], pad: [1, 0]}"


def written(tmp_path, rows, head="network: mine\n"):
    path = tmp_path / "mine.yaml"
    path.write_text(f"{head}layers:\n" + "".join(f"  - {row}\n" for row in rows), encoding="utf-8")
    return path


def test_a_file_of_ones_own(tmp_path):
    path = written(tmp_path, [GOOD_ROW, "{name: fc, op: gemm, M: 1, N: 10, K: 128, weight: true, repeat: 3}"])
    network = load_network(path)
    assert network == load_network(str(path))
    assert (network.source, network.weights) == ("", 8 * 4 * 9 + 3 * 1280)
    assert load_layer(f"{path}:c1") == padded(conv2d(8, 4, 4, 4, 3, 3, stride=(2, 1), name="mine:c1"), (1, 0))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (GOOD_ROW.replace("stride", "strid"), "layer c1: unknown key 'strid'\nhint: did you mean 'stride'?"),
        (GOOD_ROW.replace("K: 8, ", ""), "layer c1: missing K\nhint: required: name, op, K"),
        (GOOD_ROW.replace("K: 8", "K: x"), "mine:c1: K is 'x', expected a whole number"),
        (GOOD_ROW.replace("K: 8", "K: 0"), "mine:c1: K is 0, expected 1 or more"),
        (GOOD_ROW.replace("[2, 1]", "[2, 1, 1]"), "mine:c1: stride has 3 numbers"),
        (GOOD_ROW.replace("[1, 0]", "[1, -1]"), "mine:c1: pad (width) is -1, expected 0 or more"),
        (GOOD_ROW.replace("}", ", groups: 3}"), "mine:c1: K is 8 channels, which 3 groups do not divide"),
        (GOOD_ROW.replace("}", ", repeat: 0}"), "layer c1: repeat is 0, expected 1 or more"),
        (GOOD_ROW.replace("op: conv", "op: convv"), "layer c1: key op is 'convv', unknown\nhint: did you mean 'conv'"),
        (GOOD_ROW.replace("op: conv", "op: [conv]"), "layer c1: key op is ['conv'], expected a text"),
        (
            GOOD_ROW.replace("name: c1", "name: 1.0"),
            "layer 1: key name is 1.0, expected a text\nhint: put it in quotes",
        ),
        (GOOD_ROW.replace("name: c1", "name: 'a:b'"), "layer a:b: a layer's name must not be empty or hold a colon"),
        (GOOD_ROW.replace("name: c1, ", ""), "layer 1: missing name"),
        ("conv", "layer 1: found 'conv', expected keys with values"),
        ("{name: fc, op: gemm, M: 1, N: 1, K: 1}", "layer fc: missing weight"),
        ("{name: fc, op: gemm, M: 1, N: 1, K: 1, weight: 1}", "layer fc: key weight is 1, expected true or false"),
        ("{name: a, op: einsum, sizes: {m: 1}, weight: true}", "layer a: missing spec"),
        (
            "{name: a, op: einsum, spec: 'mk,kn->mn', sizes: {m: 1, k: 1}, weight: true}",
            "mine:a: einsum 'mk,kn->mn': sizes: missing n",
        ),
        ("{name: a, op: einsum, spec: 'mk,kn->mn', sizes: 3, weight: true}", "mine:a: key sizes is 3, expected keys"),
        (
            "{name: a, op: operation, text: 'O[k] = exp(I[k])', sizes: {k: 2}, weight: true}",
            "mine:a: text is 'O[k] = exp(I[k])', expected a sum of products without pads",
        ),
        (GOOD_ROW.replace("}", ", note: 3}"), "layer c1: key note is 3, expected a text"),
        (
            "{name: fc, op: gemm, M: 1, N: 1, K: 1, weight: true, B: true}",
            "mine:fc: B is True, expected a whole number",
        ),
    ],
)
def test_errors_name_the_file_the_layer_and_the_key(tmp_path, row, message):
    path = written(tmp_path, [row])
    with pytest.raises(ProblemError) as error:
        load_network(path)
    assert str(error.value).startswith(f"{path}: {message}")


def test_a_row_in_the_words_of_operations(tmp_path):
    row = "{name: a, op: operation, text: 'O[k,p] += I[c,2*p+r] * W[k,c,r]', weight: true, "
    problem = load_network(written(tmp_path, [row + "sizes: {k: 4, p: 5, c: 2, r: 3}}"])).layer("a").problem
    assert str(problem) == "mine:a: O[k, p] += I[c, 2*p+r] * W[k, c, r]  (K=4 P=5 C=2 R=3)"
    assert [tensor.role for tensor in problem.tensors] == ["input", "weight", "output"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("network: mine\nlayers: []", ": no layers, expected one or more"),
        ("network: mine\nlayers: 3", ": key layers is 3, expected a list"),
        ("network: mine\nlayer: []", ": unknown key 'layer'\nhint: did you mean 'layers'?"),
        ("network: 7\nlayers: [{}]", ": key network is 7, expected a text"),
        ("network: mine\nbatch: 0\nlayers: [{}]", ": batch is 0, expected 1 or more"),
        ("network: mine\nlayers: [{}]\npublished: [{what: MACs, value: 3}]", ": published figure 1: missing source"),
        (
            "network: mine\nlayers: [{}]\npublished: [{what: MACs, value: '3', source: s}]",
            ": published figure 1: key value is '3', expected a number",
        ),
        ("- 3", ": found a list, expected keys with values"),
        ("network: mine\nlayers: ]\n", ", line 2: not valid YAML: "),
        ("network: 2020-99-99", ": cannot be read: "),
        (f"network: mine\nlayers: [{GOOD_ROW}, {GOOD_ROW}]", ": two layers are named 'c1'"),
    ],
)
def test_errors_of_the_whole_file(tmp_path, text, message):
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ProblemError) as error:
        load_network(path)
    assert str(error.value).startswith(f"{path}{message}")


def test_a_folder_is_not_a_network(tmp_path):
    with pytest.raises(ProblemError, match="cannot be read"):
        load_network(tmp_path)


def test_the_sizes_of_an_input_are_refused_with_those_of_the_output(tmp_path: Path) -> None:
    path = tmp_path / "net.yaml"
    row = "{name: first, op: conv, K: 6, C: 1, H: 28, W: 30, R: 5, S: 5, pad: 2, stride: 2}"
    path.write_text(f"network: net\nlayers:\n  - {row}\n", encoding="utf-8")
    with pytest.raises(ProblemError, match="missing P, Q") as caught:
        load_network(path)
    assert caught.value.hint is not None
    assert "come to P: 14, Q: 15" in caught.value.hint
