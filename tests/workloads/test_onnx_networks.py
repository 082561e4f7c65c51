"""Whole networks from ONNX files: exported ones that come with the onnx package, and one built from its paper."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from onnx_models import model_of, saved
from tilewright.workloads import load_layer, load_network

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"

# Multiply-accumulates and parameters as torchvision states them (`_ops` in 10^9, `num_params`), and which of these
# are biases and batch norms. ResNet-50 has the stride in its 3x3 convolutions, SqueezeNet is version 1.1.
PUBLISHED = {
    "resnet50": (4.089, 25_557_032, 1_000 + 2 * 26_560),
    "vgg19": (19.632, 143_667_240, 14_696),
    "densenet121": (2.834, 7_978_856, 1_000 + 2 * 41_824),
    "squeezenet": (0.349, 1_235_496, 3_944),
}
# Other exported ones: the rounded figures of their papers, in 10^9 multiply-adds and 10^6 parameters, and how near.
PAPERS = {
    "inception_v1": (1.5, 0.05, 7.0, 0.01),  # Szegedy et al., CVPR 2015: 1.5 billion; Caffe's bvlc_googlenet
    "bvlc_alexnet": (0.666 + 0.0586, 0.1, 61.0, 0.001),  # on 224 x 224 without padding, where the paper has 227
}


@functools.cache
def light(name):
    return load_network(LIGHT / f"light_{name}.onnx")


@pytest.mark.some(4)
@pytest.mark.parametrize("name", PUBLISHED)
def test_exported_networks_have_the_published_totals(name):
    network = light(name)
    gmacs, parameters, other = PUBLISHED[name]
    assert round(network.macs / 1e9, 3) == gmacs
    assert network.weights == parameters - other


@pytest.mark.parametrize("name", PAPERS)
def test_exported_networks_are_near_their_papers(name):
    network = light(name)
    gmacs, near, millions, nearer = PAPERS[name]
    assert network.macs / 1e9 == pytest.approx(gmacs, rel=near)
    assert network.weights / 1e6 == pytest.approx(millions, rel=nearer)


def test_resnet50_is_the_table():
    """The exported network and the shipped table have the same layers, as often."""

    def shapes(network):
        counted = {}
        for layer in network.layers:
            sizes = {name: size for name, size in layer.problem.dims if size > 1}
            key = (tuple(sorted(sizes.items())), str(layer.problem.operands[0]))
            counted[key] = counted.get(key, 0) + layer.repeat
        return counted

    assert shapes(light("resnet50")) == shapes(load_network("resnet50"))


def test_equal_layers_are_one():
    network = light("resnet50")
    assert (len(network.layers), sum(layer.repeat for layer in network.layers)) == (24, 54)
    assert len({(layer.problem.dims, layer.problem.tensors) for layer in network.layers}) == 24
    often = max(network.layers, key=lambda layer: layer.repeat)
    assert len(often.nodes) == often.repeat == 6
    reference = f"{LIGHT / 'light_resnet50.onnx'}:{often.nodes[-1]}"
    asked = load_layer(reference)
    assert asked.name == f"light_resnet50:{often.nodes[-1]}"
    assert (asked.dims, asked.tensors) == (often.problem.dims, often.problem.tensors)


def test_nothing_is_dropped():
    """Every node of the file is a layer's or is listed, and shares add up."""
    path = LIGHT / "light_densenet121.onnx"
    network = light("densenet121")
    nodes = len(onnx.load(path).graph.node)
    beside = "beside a dense operation"
    passed = sum(one.nodes for one in network.passed if one.how != beside)
    assert passed + sum(len(layer.nodes) for layer in network.layers) == nodes
    assert network.operations == network.macs + sum(one.operations for one in network.passed)


def vit(depth=12, heads=12, width=768, inner=3072, image=224, patch=16, classes=1000):
    """ViT-B/16 as Dosovitskiy et al. (ICLR 2021) describe it, written as an exporter writes it, its batch a symbol."""
    tokens, per_head = (image // patch) ** 2 + 1, width // heads
    stored = {
        "patch_w": [width, 3, patch, patch],
        "patch_b": [width],
        "class": [1, 1, width],
        "position": [1, tokens, width],
        "scale": np.array(per_head**-0.5, np.float32),
        "zero": np.array(0),
        "minus": np.array([-1]),
        "one": np.array([1]),
        "width": np.array([width]),
        "heads": np.array([tokens, heads, per_head]),
        "joined": np.array([tokens, width]),
    }
    nodes = []

    def add(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs, [output], output.replace("_out", ""), **attributes))
        return output

    def linear(name, value, inputs, outputs):
        stored[f"{name}_w"], stored[f"{name}_b"] = [inputs, outputs], [outputs]
        return add("Add", [add("MatMul", [value, f"{name}_w"], f"{name}_out"), f"{name}_b"], f"{name}_biased")

    def norm(name, value):
        stored[f"{name}_s"], stored[f"{name}_t"] = [width], [width]
        return add("LayerNormalization", [value, f"{name}_s", f"{name}_t"], name, axis=-1)

    # The batch as exporters carry it about: Shape, Gather, Unsqueeze, Concat, Reshape.
    add("Shape", ["x"], "shape")
    add("Gather", ["shape", "zero"], "count")
    add("Unsqueeze", ["count", "zero"], "batch1")
    add("Concat", ["batch1", "heads"], "to_heads", axis=0)
    add("Concat", ["batch1", "joined"], "to_tokens", axis=0)
    add("Concat", ["batch1", "width", "minus"], "to_patches", axis=0)
    add("Concat", ["batch1", "one", "one"], "repeats", axis=0)
    patches = add("Conv", ["x", "patch_w", "patch_b"], "patches", strides=[patch, patch])
    flat = add("Transpose", [add("Reshape", [patches, "to_patches"], "flat")], "sequence", perm=[0, 2, 1])
    first = add("Tile", ["class", "repeats"], "class_tokens")
    value = add("Add", [add("Concat", [first, flat], "tokens", axis=1), "position"], "embedded")
    for block in range(depth):
        name = f"block{block}"
        before = norm(f"{name}.norm1", value)
        parts = {}
        for role, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
            made = linear(f"{name}.{role}", before, width, width)
            split = add("Reshape", [made, "to_heads"], f"{name}.{role}_split")
            parts[role] = add("Transpose", [split], f"{name}.{role}_heads", perm=order)
        scores = add("MatMul", [parts["q"], parts["k"]], f"{name}.qk_out")
        weights = add("Softmax", [add("Mul", [scores, "scale"], f"{name}.scaled")], f"{name}.softmax", axis=-1)
        mixed = add("MatMul", [weights, parts["v"]], f"{name}.av_out")
        joined = add("Transpose", [mixed], f"{name}.mixed", perm=[0, 2, 1, 3])
        joined = add("Reshape", [joined, "to_tokens"], f"{name}.joined")
        value = add("Add", [value, linear(f"{name}.proj", joined, width, width)], f"{name}.added")
        hidden = linear(f"{name}.ff1", norm(f"{name}.norm2", value), width, inner)
        hidden = add("Gelu", [hidden], f"{name}.gelu")
        value = add("Add", [value, linear(f"{name}.ff2", hidden, inner, width)], f"{name}.result")
    token = add("Gather", [norm("norm", value), "zero"], "token", axis=1)
    stored |= {"head_w": [width, classes], "head_b": [classes]}
    add("Gemm", [token, "head_w", "head_b"], "y")
    return model_of(nodes, {"x": ["batch", 3, image, image]}, stored=stored)


def test_vit_b16_built_from_its_architecture(tmp_path):
    """Shapes go through arithmetic on a symbolic batch; the totals are those of torchvision's vit_b_16."""
    path = saved(tmp_path, vit())
    network = load_network(path, {"batch": 1})
    assert network.macs == load_network("vit_b16").macs == 17_563_828_224
    assert round(network.macs / 1e9, 3) == 17.564
    assert network.weights == load_network("vit_b16").weights == 86_567_656 - 275_176
    assert [(layer.name, layer.repeat) for layer in network.layers] == [
        ("patches", 1),
        ("block0.q", 48),
        ("block0.qk", 12),
        ("block0.av", 12),
        ("block0.ff1", 12),
        ("block0.ff2", 12),
        ("y", 1),
    ]
    shares = {one.what: one.operations for one in network.passed}
    assert shares["Softmax"] == 12 * 5 * 12 * 197 * 197
    assert shares["Gelu"] == 12 * 197 * 3072
    assert load_network(path, {"batch": 4}).macs == 4 * network.macs
