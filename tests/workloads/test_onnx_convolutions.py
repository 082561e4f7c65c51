"""Convolutions of ONNX files compute what ONNX's reference implementation computes."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import cases
import longer
from onnx_models import computed_by_onnx, integers, model_of, saved
from point_by_point import computed, shape_of
from tilewright.ir import ProblemError
from tilewright.workloads import conv2d, load_network, padded

AUTO = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


def only(layers):
    (layer,) = layers
    return layer


def with_zeros(image, problem, begins):
    """The image with zeros around it, as large as the problem's input."""
    wanted = shape_of(problem, problem.operands[0])[-len(begins) :]
    padding = [(0, 0)] * 2 + [
        (begin, max(0, size - begin - have)) for begin, size, have in zip(begins, wanted, image.shape[2:], strict=True)
    ]
    return np.pad(image, padding)[(..., *(slice(size) for size in wanted))]


def operands_of(problem, image, weight, begins):
    """The same numbers in the shapes of the problem, whose channels are by group."""
    image, weight = with_zeros(image, problem, begins), weight
    tensors = problem.operands
    return [image.reshape(shape_of(problem, tensors[0])), weight.reshape(shape_of(problem, tensors[1]))]


def begins_of(mode, pads, image, window, stride, dilation):
    """Padding at the front of every axis, as the specification of Conv says."""
    if mode == "VALID":
        return [0] * len(window)
    if mode == "NOTSET":
        return pads[: len(window)]
    reach = [d * (k - 1) + 1 for k, d in zip(window, dilation, strict=True)]
    totals = [max(0, (-(-size // s) - 1) * s + r - size) for size, s, r in zip(image[2:], stride, reach, strict=True)]
    return [total // 2 if mode == "SAME_UPPER" else total - total // 2 for total in totals]


CASES = [
    # image, filter, groups, strides, dilations, pads
    ([1, 2, 9], [3, 2, 3], 1, [1], [1], [0, 0]),
    ([2, 4, 11], [6, 2, 3], 2, [2], [2], [2, 1]),
    ([1, 3, 6, 7], [2, 3, 3, 2], 1, [1, 1], [1, 1], [1, 0, 1, 1]),
    ([2, 4, 7, 6], [8, 2, 3, 3], 2, [2, 3], [1, 1], [0, 2, 1, 0]),
    ([1, 4, 9, 8], [4, 1, 3, 2], 4, [2, 1], [2, 3], [1, 1, 2, 0]),
    ([1, 2, 7, 7], [3, 2, 1, 1], 1, [2, 2], [1, 1], [0, 0, 0, 0]),
    ([1, 2, 4, 5, 3], [2, 2, 2, 3, 2], 1, [1, 2, 1], [1, 1, 2], [0, 1, 1, 1, 0, 0]),
    ([1, 4, 5, 4, 4], [2, 2, 3, 2, 2], 2, [2, 1, 2], [2, 1, 1], [1, 0, 0, 1, 1, 0]),
]


@pytest.mark.parametrize("mode", AUTO)
@pytest.mark.parametrize(("image", "window", "groups", "strides", "dilations", "pads"), CASES)
def test_conv(tmp_path, image, window, groups, strides, dilations, pads, mode):
    attributes = {"group": groups, "strides": strides, "dilations": dilations}
    attributes |= {"pads": pads} if mode == "NOTSET" else {"auto_pad": mode}
    begins = begins_of(mode, pads, image, window[2:], strides, dilations)
    x, w = integers(image), integers(window, 1)
    model = model_of([helper.make_node("Conv", ["x", "w"], ["y"], **attributes)], {"x": image}, stored={"w": window})
    layer = only(load_network(saved(tmp_path, model)).layers)
    found = computed(layer.problem, operands_of(layer.problem, x, w, begins))
    expected = correlated(x, w, groups, strides, dilations, begins, found.shape[-len(strides) :])
    np.testing.assert_array_equal(found.reshape(expected.shape), expected)
    if mode in ("NOTSET", "VALID"):  # the reference implementation pads dilated filters wrongly in the other modes
        explicit = {**attributes, "pads": pads if mode == "NOTSET" else [0] * len(pads)}
        explicit.pop("auto_pad", None)
        node = helper.make_node("Conv", ["x", "w"], ["y"], **explicit)
        reference = computed_by_onnx(model_of([node], {"x": image, "w": window}), {"x": x, "w": w})
        np.testing.assert_array_equal(reference, expected)
    assert layer.weights == np.prod(window)


def correlated(x, w, groups, strides, dilations, begins, outputs):
    """A grouped convolution, tap by tap, with zeros around the image."""
    around = [(0, 0)] * 2 + [(begin, 99) for begin in begins]
    image, result = np.pad(x, around), np.zeros((x.shape[0], w.shape[0], *outputs), dtype=np.int64)
    per_group, filters = w.shape[1], w.shape[0] // groups
    for taps in itertools.product(*(range(size) for size in w.shape[2:])):
        positions = [t * d + s * np.arange(o) for t, d, s, o in zip(taps, dilations, strides, outputs, strict=True)]
        seen = image[np.ix_(range(x.shape[0]), range(x.shape[1]), *positions)]
        for group in range(groups):
            ours = slice(group * filters, (group + 1) * filters)
            theirs = seen[:, group * per_group : (group + 1) * per_group]
            result[:, ours] += np.einsum("nc...,kc->nk...", theirs, w[(ours, slice(None), *taps)])
    return result


@pytest.mark.parametrize("mode", AUTO)
def test_output_sizes_are_those_of_shape_inference(tmp_path, mode):
    """Over sizes, filters, strides and dilations: what we compute from the attributes is what ONNX infers."""
    for size, taps, stride, dilation in itertools.product((5, 8, 13), (1, 2, 3), (1, 2, 3), (1, 2)):
        attributes = {"strides": [stride], "dilations": [dilation], "auto_pad": mode}
        nodes = [
            helper.make_node("Conv", ["x", "w"], ["y"], **attributes),
            helper.make_node("Relu", ["y"], ["z"]),
        ]
        model = model_of(nodes, {"x": [1, 1, size]}, ["z"], {"w": [1, 1, taps]})
        network = load_network(saved(tmp_path, model))
        inferred = next(edge["shape"] for *_, edge in network.graph.edges(data=True) if edge["tensor"] == "y")
        assert only(network.layers).problem.sizes["Q"] == inferred[-1]


def test_bias_is_listed_and_depthwise_is_grouped(tmp_path):
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], group=8, pads=[1, 1, 1, 1])
    model = model_of([node], {"x": [1, 8, 6, 6]}, stored={"w": [8, 1, 3, 3], "b": [8]})
    network = load_network(saved(tmp_path, model))
    layer = only(network.layers)
    widths = {"input": 32, "weight": 32, "partial": 32, "output": 32}
    assert layer.problem == padded(conv2d(8, 8, 6, 6, 3, 3, groups=8, name="model:y", bits=widths), 1)
    assert [(one.what, one.operations) for one in network.passed] == [("Conv bias", 8 * 36)]


TRANSPOSED = [
    # image, filter (channels first), groups, strides, dilations, pads, output padding
    ([1, 2, 5], [2, 3, 4], 1, [2], [1], [1, 1], [0]),
    ([1, 2, 5], [2, 3, 3], 1, [2], [1], [0, 0], [0]),
    ([2, 2, 4], [2, 2, 3], 1, [3], [2], [1, 0], [1]),
    ([1, 2, 4], [2, 2, 2], 1, [3], [1], [0, 0], [2]),
    ([1, 2, 4], [2, 2, 3], 1, [4], [2], [2, 1], [0]),
    ([1, 4, 3, 4], [4, 2, 3, 2], 2, [2, 3], [1, 1], [1, 0, 0, 1], [1, 0]),
    ([1, 2, 3, 3], [2, 1, 4, 4], 1, [2, 2], [1, 1], [1, 1, 1, 1], [0, 0]),
    ([1, 2, 3, 3], [2, 3, 3, 3], 1, [1, 1], [2, 1], [0, 1, 2, 0], [0, 0]),
    ([1, 1, 2, 3, 2], [1, 2, 3, 2, 3], 1, [2, 1, 2], [1, 1, 1], [1, 0, 1, 0, 0, 1], [1, 0, 1]),
]


@pytest.mark.parametrize(("image", "window", "groups", "strides", "dilations", "pads", "grown"), TRANSPOSED)
def test_conv_transpose(tmp_path, image, window, groups, strides, dilations, pads, grown):
    """Each phase of the output is one of the problems, over its taps backwards; together they are the operator."""
    attributes = {
        "group": groups,
        "strides": strides,
        "dilations": dilations,
        "pads": pads,
        "output_padding": grown,
    }
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], **attributes)
    model = model_of([node], {"x": image, "w": window})
    x, w = integers(image), integers(window, 1)
    expected = scattered(x, w, groups, strides, dilations, pads, grown)
    if groups == 1 and image[0] == 1:
        np.testing.assert_array_equal(computed_by_onnx(model, {"x": x, "w": w}), expected)
    layers = load_network(saved(tmp_path, model)).layers
    found, used = gathered(layers, x, w, groups, strides, dilations, pads, expected.shape)
    np.testing.assert_array_equal(found, expected)
    assert used == {layer.name: layer.repeat for layer in layers}


def scattered(x, w, groups, strides, dilations, pads, grown):
    """The definition: every input element times the filter is added to the output."""
    axes = range(len(strides))
    sizes = [strides[a] * (x.shape[2 + a] - 1) + grown[a] + dilations[a] * (w.shape[2 + a] - 1) + 1 for a in axes]
    per_group, filters = x.shape[1] // groups, w.shape[1]
    full = np.zeros((x.shape[0], filters * groups, *sizes), dtype=np.int64)
    for taps in itertools.product(*(range(size) for size in w.shape[2:])):
        at = tuple(
            slice(t * d, t * d + s * n, s) for t, d, s, n in zip(taps, dilations, strides, x.shape[2:], strict=True)
        )
        for group in range(groups):
            theirs = slice(group * per_group, (group + 1) * per_group)
            ours = slice(group * filters, (group + 1) * filters)
            full[
                (
                    slice(None),
                    ours,
                    *(
                        slice(s.start, min(s.stop, s.start + s.step * n), s.step)
                        for s, n in zip(at, x.shape[2:], strict=True)
                    ),
                )
            ] += np.einsum("nc...,ck->nk...", x[:, theirs], w[(theirs, slice(None), *taps)])
    cut = tuple(slice(pads[a], sizes[a] - pads[len(strides) + a]) for a in axes)
    return full[(slice(None), slice(None), *cut)]


def gathered(layers, x, w, groups, strides, dilations, pads, shape):
    """The output, phase by phase, each by the layer of its shape; and how often each layer was used."""
    result, used = np.zeros(shape, dtype=np.int64), Counter()
    for phase in itertools.product(*(range(stride) for stride in strides)):
        outputs, taps, starts = [], [], []
        for axis, (residue, stride, dilation) in enumerate(zip(phase, strides, dilations, strict=True)):
            begin = pads[axis]
            mine = [o for o in range(shape[2 + axis]) if (o + begin) % stride == residue]
            hit = [t for t in range(w.shape[2 + axis]) if (residue - dilation * t) % stride == 0][::-1]
            outputs.append(mine)
            taps.append(hit)
            if mine and hit:
                starts.append((mine[0] + begin - dilation * hit[0]) // stride)
        if not all(outputs) or not all(taps):
            continue
        layer = only([one for one in layers if spatial(one.problem) == [*map(len, outputs), *map(len, taps)]])
        used[layer.name] += 1
        problem = layer.problem
        needed = shape_of(problem, problem.operands[0])[-len(strides) :]
        image = np.pad(x, [(0, 0)] * 2 + [(99, 99)] * len(strides))
        window = tuple(slice(99 + start, 99 + start + size) for start, size in zip(starts, needed, strict=True))
        seen = image[(slice(None), slice(None), *window)].reshape(shape_of(problem, problem.operands[0]))
        picked = w[np.ix_(range(w.shape[0]), range(w.shape[1]), *taps)]
        by_group = np.stack(np.split(picked, groups)).swapaxes(1, 2).reshape(shape_of(problem, problem.operands[1]))
        part = computed(problem, [seen, by_group]).reshape(*shape[:2], *map(len, outputs))
        result[np.ix_(range(shape[0]), range(shape[1]), *outputs)] += part
    return result, dict(used)


def spatial(problem):
    return [size for name, size in problem.dims if name in "ZPQ"] + [s for name, s in problem.dims if name in "TRS"]


@pytest.mark.parametrize("seeds", longer.blocks(100, 100))
def test_conv_transpose_that_pads_itself(tmp_path, seeds):
    """With auto_pad SAME_*, and beside it output_padding, phases and shape are those of the reference."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        axes = int(rng.integers(1, 3))
        image, window = [1, 2, *rng.integers(2, 6, axes).tolist()], [2, 2, *rng.integers(1, 5, axes).tolist()]
        strides, dilations = rng.integers(1, 4, axes).tolist(), rng.integers(1, 3, axes).tolist()
        grown = [int(rng.integers(0, s)) for s in strides]
        mode = AUTO[2 + seed % 2]
        given = {"strides": strides, "dilations": dilations, "auto_pad": mode}
        given |= {"output_padding": grown} if any(grown) else {}
        model = model_of([helper.make_node("ConvTranspose", ["x", "w"], ["y"], **given)], {"x": image, "w": window})
        x, w = integers(image, seed), integers(window, seed + 1)
        cut = [
            s * (n - 1) + g + d * (k - 1) + 1 - s * n
            for s, n, g, d, k in zip(strides, image[2:], grown, dilations, window[2:], strict=True)
        ]
        begins = [each // 2 if mode == "SAME_UPPER" else each - each // 2 for each in cut]
        every = scattered(x, w, 1, strides, dilations, [0] * 2 * axes, [0] * axes)
        wide = np.pad(every, [(0, 0)] * 2 + [(9, 9)] * axes)
        taken = (slice(9 + b, 9 + b + s * n) for b, s, n in zip(begins, strides, image[2:], strict=True))
        expected = wide[(slice(None), slice(None), *taken)]
        if min(cut) >= 0:  # the reference stops where filters are shorter than strides
            np.testing.assert_array_equal(computed_by_onnx(model, {"x": x, "w": w}), expected)
        network = load_network(saved(tmp_path, model))
        made = next(edge["shape"] for *_, edge in network.graph.edges(data=True) if edge["tensor"] == "y")
        assert made == expected.shape
        found, _ = gathered(network.layers, x, w, 1, strides, dilations, begins, expected.shape)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("extra", [{}, {"output_padding": [1]}, {"output_shape": [11]}])
@pytest.mark.parametrize("mode", ["VALID", "NOTSET"])
def test_conv_transpose_covers_the_output_that_onnx_infers(tmp_path, mode, extra):
    attributes = {"strides": [2], "auto_pad": mode, **extra}
    nodes = [
        helper.make_node("ConvTranspose", ["x", "w"], ["y"], **attributes),
        helper.make_node("Relu", ["y"], ["z"]),
    ]
    model = model_of(nodes, {"x": [1, 1, 5]}, ["z"], {"w": [1, 1, 4]})
    network = load_network(saved(tmp_path, model))
    inferred = next(edge["shape"] for *_, edge in network.graph.edges(data=True) if edge["tensor"] == "y")
    assert sum(layer.repeat * layer.problem.sizes["Q"] for layer in network.layers) == inferred[-1]


def test_output_padding_beside_auto_pad_grows_nothing():
    assert load_network(cases.CASES / "onnx" / "ct_same_outpad.onnx").macs == 162
    chain = load_network(cases.CASES / "onnx" / "ct_chain_outpad.onnx")
    assert chain.macs == 162 + 4 * 6 * 6 * 9


def test_a_declared_shape_is_the_one_that_follows(tmp_path):
    """What follows from the operators is asked first; a file that declares another one is refused."""
    model = onnx.load(cases.CASES / "onnx" / "ct_chain_outpad.onnx")
    model.graph.value_info.append(helper.make_tensor_value_info("t", TensorProto.FLOAT, [1, 1, 7, 7]))
    message = r"ConvTranspose ct: the file declares t as \[1, 1, 7, 7\], and the operator makes \[1, 1, 6, 6\]"
    with pytest.raises(ProblemError, match=message):
        load_network(saved(tmp_path, model))
    del model.graph.value_info[:]
    (handed,) = model.graph.output
    handed.CopyFrom(helper.make_tensor_value_info(handed.name, TensorProto.FLOAT, [9, 9, 9, 9]))
    load_network(saved(tmp_path, model))  # of what the graph hands out, what follows is taken
    foreign = [helper.make_node("Own", ["x"], ["t"], domain="d"), helper.make_node("MatMul", ["t", "w"], ["y"])]
    model = model_of(foreign, {"x": [4, 8]}, stored={"w": [8, 2]}, domains=["d"])
    model.graph.value_info.append(helper.make_tensor_value_info("t", TensorProto.FLOAT, [3, 8]))
    assert load_network(saved(tmp_path, model)).macs == 3 * 8 * 2


def test_a_transposed_convolution_of_stride_2_is_four_small_ones(tmp_path):
    """DCGAN's layer: 4 x 4 taps, stride 2. Multiplications are those of the definition, no inserted zeros."""
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], "up", strides=[2, 2], pads=[1, 1, 1, 1])
    model = model_of([node], {"x": [1, 512, 8, 8]}, stored={"w": [512, 256, 4, 4]})
    network = load_network(saved(tmp_path, model))
    layer = only(network.layers)
    assert (layer.name, layer.repeat) == ("up", 4)
    assert layer.problem.dims == (("N", 1), ("K", 256), ("C", 512), ("P", 8), ("Q", 8), ("R", 2), ("S", 2))
    assert network.macs == 8 * 8 * 512 * 256 * 16
    assert network.weights == 512 * 256 * 16


def test_unequal_phases_are_parts(tmp_path):
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], "up", strides=[2])
    network = load_network(saved(tmp_path, model_of([node], {"x": [1, 2, 5]}, stored={"w": [2, 3, 3]})))
    assert [(layer.name, spatial(layer.problem)) for layer in network.layers] == [("up#1", [6, 2]), ("up#2", [5, 1])]
    with pytest.raises(ProblemError, match="is several problems\nhint: its parts are up#1, up#2"):
        network.layer("up")


def test_quantized_convolutions(tmp_path):
    """Widths are those of the element types; scales and zero points are counted beside."""
    eight = TensorProto.INT8
    inputs = {"x": ([1, 2, 5, 5], eight), "w": ([3, 2, 3, 3], eight)}
    x, w = integers([1, 2, 5, 5]).astype(np.int8), integers([3, 2, 3, 3], 1).astype(np.int8)
    whole = model_of([helper.make_node("ConvInteger", ["x", "w"], ["y"])], inputs)
    layer = only(load_network(saved(tmp_path, whole)).layers)
    np.testing.assert_array_equal(
        computed(layer.problem, [x.astype(int), w.astype(int)]), computed_by_onnx(whole, {"x": x, "w": w})
    )
    assert [(t.bits, t.partial_bits) for t in layer.problem.tensors] == [(8, None), (8, None), (32, 32)]
    scales = {name: np.array(1, np.float32) for name in ("xs", "ws", "ys")}
    points = {name: np.array(0, np.int8) for name in ("xz", "wz", "yz")}
    node = helper.make_node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"], pads=[1, 1, 1, 1])
    scaled = model_of([node], inputs, stored=scales | points)
    network = load_network(saved(tmp_path, scaled))
    layer = only(network.layers)
    sums = computed(layer.problem, operands_of(layer.problem, x.astype(int), w.astype(int), [1, 1]))
    np.testing.assert_array_equal(np.clip(sums, -128, 127), computed_by_onnx(scaled, {"x": x, "w": w}))
    assert [(t.bits, t.partial_bits) for t in layer.problem.tensors] == [(8, None), (8, None), (8, 32)]
    assert layer.problem.sizes["P"] == 5
    assert [(one.what, one.operations) for one in network.passed] == [("QLinearConv scaling", 50 + 2 * 75)]


@pytest.mark.parametrize(
    ("attributes", "image", "window", "message"),
    [
        ({"group": 3}, [1, 4, 5, 5], [3, 1, 3, 3], "Conv c: 4 channels in 3 groups, and a filter of 1 channels"),
        ({"auto_pad": "SAME"}, [1, 1, 5, 5], [1, 1, 3, 3], "Conv c: auto_pad is 'SAME', unknown"),
        ({}, [1, 1, 5, 5, 5, 5], [1, 1, 3, 3, 3, 3], "4 spatial axes, expected 1 to 3"),
    ],
)
def test_what_no_convolution_is(tmp_path, attributes, image, window, message):
    node = helper.make_node("Conv", ["x", "w"], ["y"], "c", **attributes)
    model = model_of([node], {"x": image}, stored={"w": window})
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    model.graph.output[0].type.tensor_type.shape.SetInParent()
    with pytest.raises(ProblemError) as error:
        load_network(saved(tmp_path, model))
    assert message in str(error.value)
