"""Operators that are several in one, and short loops: they are the layers that they are, and compute what they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from onnx import TensorProto, helper, parser
from onnx.reference import ReferenceEvaluator

import cases
import longer
from onnx_models import model_of, saved
from tilewright.ir import MappingError, ProblemError
from tilewright.mapper.emit.network import check_writable, linked
from tilewright.workloads import load_network
from tilewright.workloads.onnx.expanded import read_expanded

FOREIGN = "com.microsoft"


def checked(folder, node, given, stored, expected, macs, *, domain=FOREIGN, opset=17):
    """The written-out model computes what is expected, in so many multiply-accumulates."""
    kinds = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int32): TensorProto.INT32}
    kinds |= {np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.int8): TensorProto.INT8}
    inputs = {name: (list(array.shape), kinds[array.dtype]) for name, array in given.items()}
    outputs = [name for name in node.output if name]
    path = saved(folder, model_of([node], inputs, outputs, stored, opset=opset, domains=[domain] if domain else []))
    assert load_network(path).macs == macs
    found = ReferenceEvaluator(read_expanded(path, {}, with_weights=True)).run(None, given)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)


def numbers(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def softmax(scores):
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def test_the_small_inputs_are_read():
    folder = cases.CASES / "onnx"
    assert load_network(folder / "ms_nbits.onnx", dims={"batch": 1}).macs == 2048 * 64
    assert load_network(folder / "ms_fusedconv.onnx").macs == 16 * 8 * 9 * 14 * 14
    assert load_network(folder / "ms_fusedmatmul.onnx").macs == 2 * 5 * 9 * 7
    assert load_network(folder / "stft.onnx").macs == 8 * 400 * 402 + 8 * 201 * 8


@pytest.mark.parametrize(
    ("activation", "parameters", "done"),
    [
        ("Relu", [], lambda x: np.maximum(x, 0)),
        ("LeakyRelu", [0.25], lambda x: np.where(x < 0, 0.25 * x, x)),
        ("Clip", [-0.5, 0.75], lambda x: np.clip(x, -0.5, 0.75)),
        ("HardSigmoid", [0.3, 0.4], lambda x: np.clip(0.3 * x + 0.4, 0, 1)),
    ],
)
def test_fused_convolutions_and_products(tmp_path, activation, parameters, done):
    rng = np.random.default_rng(0)
    x, w, b, z = (numbers(rng, *shape) for shape in ([1, 2, 5], [3, 2, 2], [3], [1, 3, 4]))
    stated = {"activation": activation, **({"activation_params": parameters} if parameters else {})}
    node = helper.make_node("FusedConv", ["x", "w", "b", "z"], ["y"], "c", domain=FOREIGN, **stated)
    summed = np.stack([np.einsum("kcr,cr->k", w, x[0, :, p : p + 2]) for p in range(4)], axis=1)[None]
    expected = done(summed + b[:, None] + z)
    checked(tmp_path, node, {"x": x, "z": z}, {"w": w, "b": b}, [expected], 3 * 2 * 2 * 4)


@pytest.mark.parametrize("seeds", longer.blocks(40, 40))
def test_products_of_transposed_operands(tmp_path, seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        ahead = rng.integers(1, 4, int(rng.integers(0, 3))).tolist()
        m, n, k = rng.integers(1, 6, 3).tolist()
        operands, stated = {}, {"alpha": float(rng.choice([1.0, 0.125]))}
        for side, rows, columns in (("A", m, k), ("B", k, n)):
            array = numbers(rng, *ahead, rows, columns)
            operands[side] = array
            if rng.random() < 0.5:
                stated[f"trans{side}"] = 1
                array = array.swapaxes(-1, -2)
            if ahead and rng.random() < 0.5:
                stated[f"transBatch{side}"] = 1
                array = np.moveaxis(array, -2, 0)
            operands[f"given {side}"] = np.ascontiguousarray(array)
        node = helper.make_node("FusedMatMul", ["a", "b"], ["y"], "p", domain=FOREIGN, **stated)
        expected = stated["alpha"] * (operands["A"] @ operands["B"])
        given = {"a": operands["given A"], "b": operands["given B"]}
        checked(tmp_path, node, given, {}, [expected], math.prod(ahead) * m * n * k)


@pytest.mark.parametrize("seeds", longer.blocks(40, 40))
def test_products_with_packed_weights(tmp_path, seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        bits, block = int(rng.choice([2, 4, 8])), int(rng.choice([16, 32]))
        k, n, rows = int(rng.integers(1, 80)), int(rng.integers(1, 6)), int(rng.integers(1, 4))
        blocks = -(-k // block)
        words = rng.integers(0, 2**bits, [n, blocks * block])
        scales, a = numbers(rng, n, blocks), numbers(rng, 2, rows, k)
        stored = {"b": packed(words, bits).reshape(n, blocks, -1), "s": scales}
        zeros = np.full([n, blocks], 2.0 ** (bits - 1))
        inputs = ["a", "b", "s"]
        if seed % 3 == 1:
            zeros = rng.integers(0, 2**bits, [n, blocks])
            stored["z"] = packed(zeros, bits)
        elif seed % 3 == 2:
            zeros = stored["z"] = numbers(rng, n, blocks)
        inputs += ["z" if "z" in stored else ""]
        if seed % 2:
            stored["bias"] = numbers(rng, n)
            inputs += ["", "bias"]
        node = helper.make_node(
            "MatMulNBits", inputs, ["y"], "p", domain=FOREIGN, K=k, N=n, bits=bits, block_size=block
        )
        weight = (words.reshape(n, blocks, block) - zeros[..., None]) * scales[..., None]
        expected = a @ weight.reshape(n, -1)[:, :k].T + stored.get("bias", 0)
        checked(tmp_path, node, {"a": a}, stored, [expected], 2 * rows * n * k)
        (layer,) = load_network(tmp_path / "model.onnx").layers
        assert layer.problem.tensor("W").bits == bits


def packed(words, bits):
    """Words of a few bits as bytes, the first in the lowest bits; the last byte of a row may be filled with zeros."""
    each = 8 // bits
    filled = np.pad(words, [(0, 0), (0, -words.shape[1] % each)]).reshape(words.shape[0], -1, each)
    return (filled << (bits * np.arange(each))).sum(-1).astype(np.uint8)


def test_products_of_integers_as_floats(tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 256, [3, 4]).astype(np.uint8), rng.integers(-128, 128, [4, 5]).astype(np.int8)
    stored = {"b": b, "as": np.float32(0.5), "bs": numbers(rng, 5), "az": np.uint8(7), "bz": np.int8(-3)}
    stored |= {"bias": numbers(rng, 5)}
    node = helper.make_node(
        "MatMulIntegerToFloat", ["a", "b", "as", "bs", "az", "bz", "bias"], ["y"], "p", domain=FOREIGN
    )
    expected = (a.astype(int) - 7) @ (b.astype(int) + 3) * 0.5 * stored["bs"] + stored["bias"]
    stored = {name: np.asarray(value) for name, value in stored.items()}
    checked(tmp_path, node, {"a": a}, stored, [expected], 3 * 4 * 5)


@pytest.mark.parametrize("seeds", longer.blocks(60, 60))
def test_attention(tmp_path, seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        batch, count, heads, width, hidden = 2, int(rng.integers(1, 5)), int(rng.integers(1, 4)), 4, 6
        before, value_width = int(rng.choice([0, 3])), int(rng.choice([4, 5]))
        value_width = width if before else value_width
        sizes = [heads * width, heads * width, heads * value_width]
        x = numbers(rng, batch, count, hidden)
        stored = {"w": numbers(rng, hidden, sum(sizes)), "b": numbers(rng, sum(sizes))}
        inputs, given, keys = ["x", "w", "b"], {"x": x}, before + count
        lengths = rng.integers(1, keys + 1, batch).astype(np.int32)
        masks = {"lengths": lengths, "seen": (np.arange(keys) < lengths[:, None]).astype(np.int32)}
        name = ["", *masks][seed % 3]
        given |= {name: masks[name]} if name else {}
        inputs.append(name)
        if before:
            given["past"] = numbers(rng, 2, batch, heads, before, width)
        inputs.append("past" if before else "")
        attributes = {"num_heads": heads, "unidirectional": seed % 2, "qkv_hidden_sizes": sizes}
        outputs = ["y", "present"] if before else ["y"]
        node = helper.make_node("Attention", inputs, outputs, "a", domain=FOREIGN, **attributes)
        q, k, v = np.split(x @ stored["w"] + stored["b"], np.cumsum(sizes)[:2], axis=-1)
        q, k, v = (one.reshape(batch, count, heads, -1).swapaxes(1, 2) for one in (q, k, v))
        if before:
            k, v = np.concatenate((given["past"][0], k), 2), np.concatenate((given["past"][1], v), 2)
        scores = q @ k.swapaxes(2, 3) / math.sqrt(width)
        if seed % 2:
            scores = np.where(np.arange(keys) > np.arange(count)[:, None] + before, -np.inf, scores)
        if name:
            scores = scores + np.where(masks["seen"], 0, -10000.0)[:, None, None, :]
        expected = [(softmax(scores) @ v).swapaxes(1, 2).reshape(batch, count, -1)]
        expected += [np.stack((k, v))] if before else []
        products = batch * heads * count * keys * (width + value_width)
        checked(tmp_path, node, given, stored, expected, products + batch * count * hidden * sum(sizes))


@pytest.mark.parametrize("seeds", longer.blocks(60, 60))
def test_grouped_query_attention(tmp_path, seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        batch, count, shared, group, width = 2, int(rng.integers(1, 5)), int(rng.integers(1, 3)), 1 + seed % 2, 4
        before, heads = int(rng.choice([0, 3])), shared * group
        keys, turned = before + count, int(rng.choice([2, 4]))
        sizes = [heads * width, shared * width, shared * width]
        parts = [numbers(rng, batch, count, size) for size in sizes]
        given = {"q": np.concatenate(parts, -1)} if seed % 3 == 0 else dict(zip("qkv", parts, strict=True))
        given["lengths"] = np.full(batch, keys - 1, np.int32)
        past = [numbers(rng, batch, shared, before, width) for _ in "kv"] if before else []
        given |= dict(zip(("pk", "pv"), past, strict=False))
        stored = {"total": np.array(keys, np.int32)}
        attributes = {"num_heads": heads, "kv_num_heads": shared}
        attributes |= {"local_window_size": 2} if seed % 4 == 1 else {}
        attributes |= {"softcap": 2.5} if seed % 4 == 2 else {}
        inputs = ["q", *("k", "v") * (seed % 3 > 0)] + ["", ""] * (seed % 3 == 0)
        inputs += [*("pk", "pv") * (before > 0)] + ["", ""] * (before == 0) + ["lengths", "total"]
        if seed % 2:
            angles = rng.uniform(0, 3, [16, turned // 2])
            stored |= {"cos": np.cos(angles).astype(np.float32), "sin": np.sin(angles).astype(np.float32)}
            attributes |= {"do_rotary": 1, "rotary_interleaved": seed // 2 % 2}
            inputs += ["cos", "sin"]
        node = helper.make_node("GroupQueryAttention", inputs, ["y", "k1", "v1"], "a", domain=FOREIGN, **attributes)
        q, k, v = (one.reshape(batch, count, -1, width).swapaxes(1, 2) for one in parts)
        if seed % 2:
            places = angles[before : before + count]
            q, k = (rotated(one, places, attributes["rotary_interleaved"]) for one in (q, k))
        if before:
            k, v = np.concatenate((past[0], k), 2), np.concatenate((past[1], v), 2)
        scores = q @ np.repeat(k, group, 1).swapaxes(2, 3) / 2
        if "softcap" in attributes:
            scores = 2.5 * np.tanh(scores / 2.5)
        own = np.arange(count)[:, None] + before
        hidden = np.arange(keys) > own
        if "local_window_size" in attributes:
            hidden |= np.arange(keys) <= own - 2
        weights = softmax(np.where(hidden, -np.inf, scores))
        expected = [(weights @ np.repeat(v, group, 1)).swapaxes(1, 2).reshape(batch, count, -1), k, v]
        checked(tmp_path, node, given, stored, expected, batch * heads * count * keys * 2 * width)


def rotated(heads, angles, interleaved):
    """Pairs of words turned by angles, as complex numbers."""
    turned = 2 * angles.shape[1]
    real, imaginary = (
        (slice(0, turned, 2), slice(1, turned, 2))
        if interleaved
        else (
            slice(turned // 2),
            slice(turned // 2, turned),
        )
    )
    both = (heads[..., real] + 1j * heads[..., imaginary]) * np.exp(1j * angles)
    found = heads.copy()
    found[..., real], found[..., imaginary] = both.real, both.imag
    return found


def test_what_is_not_known_stays_uncounted(tmp_path):
    node = helper.make_node("FusedConv", ["x", "w"], ["y"], "c", domain=FOREIGN, activation="Own")
    path = saved(tmp_path, model_of([node], {"x": [1, 2, 5]}, stored={"w": [3, 2, 2]}, domains=[FOREIGN]))
    network = load_network(path)
    assert (network.macs, network.passed[0].what, network.passed[0].operations) == (0, "FusedConv", None)


@pytest.mark.parametrize("seeds", longer.blocks(40, 40))
def test_short_time_transforms(tmp_path, seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        length, hop, parts = int(rng.integers(2, 12)), int(rng.integers(1, 5)), int(rng.integers(1, 3))
        frames = int(rng.integers(1, 5))
        x = numbers(rng, 2, length + (frames - 1) * hop, parts)
        one_sided = int(parts == 1 and seed % 2)
        stored = {"hop": np.array(hop), "window": numbers(rng, length)}
        node = helper.make_node("STFT", ["x", "hop", "window"], ["y"], "s", onesided=one_sided)
        signal = x[..., 0] + 1j * (x[..., 1] if parts == 2 else 0)
        taken = np.stack([signal[:, f * hop : f * hop + length] for f in range(frames)], 1) * stored["window"]
        found = np.fft.fft(taken)[..., : length // 2 + 1 if one_sided else length]
        macs = 2 * frames * length * parts * found.shape[-1] * 2
        expected = np.stack((found.real, found.imag), -1)
        checked(tmp_path, node, {"x": x}, stored, [expected], macs, domain="")


def erf(words):
    return np.vectorize(math.erf)(words)


def gelu(words):
    return 0.5 * words * (1 + erf(words / np.sqrt(2)))


def tanh_gelu(words):
    return 0.5 * words * (1 + np.tanh(np.sqrt(2 / np.pi) * (words + 0.044715 * words**3)))


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("Gelu", lambda x, b: gelu(x)),
        ("BiasGelu", lambda x, b: gelu(x + b)),
        ("FastGelu", lambda x, b: tanh_gelu(x + b)),
        ("QuickGelu", lambda x, b: x / (1 + np.exp(-1.702 * x))),
    ],
)
def test_functions_of_words(tmp_path, op, expected):
    rng = np.random.default_rng(0)
    x, b = numbers(rng, 2, 3, 8), numbers(rng, 8)
    node = helper.make_node(op, ["x", "b"] if op in ("BiasGelu", "FastGelu") else ["x"], ["y"], "g", domain=FOREIGN)
    checked(tmp_path, node, {"x": x}, {"b": b}, [expected(x, b)], 0)


@pytest.mark.parametrize("opset", [13, 17, 21])
def test_norms_of_sums(tmp_path, opset):
    rng = np.random.default_rng(0)
    x, skip = numbers(rng, 2, 3, 8), numbers(rng, 2, 3, 8)
    stored = {name: numbers(rng, 8) for name in ("scale", "shift", "bias")}
    total = x + skip + stored["bias"]
    apart = total - total.mean(-1, keepdims=True)
    centered = apart / np.sqrt((apart**2).mean(-1, keepdims=True) + 1e-5) * stored["scale"] + stored["shift"]
    rooted = total / np.sqrt((total**2).mean(-1, keepdims=True) + 1e-5) * stored["scale"]
    for op, more, expected in (
        ("SkipLayerNormalization", ["shift", "bias"], centered),
        ("SkipSimplifiedLayerNormalization", ["bias"], rooted),
    ):
        given, made = ["x", "s", "scale", *more], ["y", "", "", "total"]
        node = helper.make_node(op, given, made, "n", domain=FOREIGN, epsilon=1e-5)
        checked(tmp_path, node, {"x": x, "s": skip}, stored, [expected, total], 0, opset=opset)


def test_attention_of_three_tensors(tmp_path):
    rng = np.random.default_rng(0)
    q, k, v, bias = (numbers(rng, *shape) for shape in ([2, 3, 8], [2, 5, 8], [2, 5, 8], [24]))
    mask = np.array([[1, 1, 0, 1, 1], [1, 1, 1, 0, 0]], np.int32)
    parts = [(one + part).reshape(2, -1, 2, 4) for one, part in zip((q, k, v), np.split(bias, 3), strict=True)]
    scores = np.einsum("bqhd,bkhd->bhqk", parts[0], parts[1]) / 2 + (mask[:, None, None, :] - 1) * 10000.0
    expected = np.einsum("bhqk,bkhd->bqhd", softmax(scores), parts[2]).reshape(2, 3, 8)
    inputs = ["q", "k", "v", "bias", "mask"]
    node = helper.make_node("MultiHeadAttention", inputs, ["y"], "a", domain=FOREIGN, num_heads=2)
    given = {"q": q, "k": k, "v": v, "mask": mask}
    checked(tmp_path, node, given, {"bias": bias}, [expected], 2 * 2 * 2 * 3 * 5 * 4)


@pytest.mark.parametrize(
    ("op", "count", "done", "attributes"),
    [
        ("QLinearAdd", 2, lambda a, b: a + b, {}),
        ("QLinearMul", 2, lambda a, b: a * b, {}),
        ("QLinearConcat", 2, lambda a, b: np.concatenate([a, b], 1), {"axis": 1}),
        ("QLinearSigmoid", 1, lambda a: 1 / (1 + np.exp(-a)), {}),
        ("QLinearLeakyRelu", 1, lambda a: np.where(a < 0, a * np.float32(0.25), a), {"alpha": 0.25}),
        ("QLinearGlobalAveragePool", 1, lambda a: a.mean((2, 3), keepdims=True), {}),
        ("QLinearAveragePool", 1, lambda a: a.reshape(1, 2, 2, 2, 2, 2).mean((3, 5)), {"kernel_shape": [2, 2]}),
        ("QLinearSoftmax", 1, softmax, {"opset": 13}),
    ],
)
def test_functions_of_quantized_words(tmp_path, op, count, done, attributes):
    rng = np.random.default_rng(0)
    given = {f"x{i}": rng.integers(0, 256, [1, 2, 4, 4]).astype(np.uint8) for i in range(count)}
    stored = {name: np.array(one, np.float32) for name, one in (("s0", 0.02), ("s1", 0.03), ("s", 0.05))}
    stored |= {name: np.array(zero, np.uint8) for name, zero in (("z0", 100), ("z1", 120), ("z", 90))}
    words = [(given[f"x{i}"].astype(np.float32) - stored[f"z{i}"]) * stored[f"s{i}"] for i in range(count)]
    expected = np.clip(np.rint(done(*words) / stored["s"]) + 90, 0, 255).astype(np.uint8)
    operands = [name for i in range(count) for name in (f"x{i}", f"s{i}", f"z{i}")]
    inputs = ["s", "z", *operands] if op == "QLinearConcat" else [*operands, "s", "z"]
    strides = {"strides": [2, 2]} if "kernel_shape" in attributes else {}
    node = helper.make_node(op, inputs, ["y"], "q", domain=FOREIGN, **attributes, **strides)
    checked(tmp_path, node, given, stored, [expected], 0, opset=21)


def test_products_quantized_by_their_range(tmp_path):
    rng = np.random.default_rng(0)
    x, bias, weight = numbers(rng, 3, 8), numbers(rng, 5), rng.integers(0, 256, [8, 5]).astype(np.uint8)
    stored = {"w": weight, "s": np.array(0.1, np.float32), "z": np.array(120, np.uint8), "b": bias}
    scale = np.float32((max(x.max(), 0) - min(x.min(), 0)) / 255)
    zero = np.clip(np.rint(-min(x.min(), 0) / scale), 0, 255)
    words = np.clip(np.rint(x / scale) + zero, 0, 255)
    expected = (words - zero) @ (weight.astype(float) - 120) * scale * 0.1 + bias
    node = helper.make_node("DynamicQuantizeMatMul", ["x", "w", "s", "z", "b"], ["y"], "p", domain=FOREIGN)
    checked(tmp_path, node, {"x": x}, stored, [expected], 3 * 8 * 5)


@pytest.mark.parametrize("opset", [17, 20])
@pytest.mark.parametrize(
    ("shape", "axis", "length", "inverse", "onesided"),
    [([2, 6, 3, 1], 1, None, 0, 1), ([2, 6, 2], 1, 8, 0, 0), ([5, 6, 2], 0, 4, 1, 0)],
)
def test_fourier_transforms(tmp_path, opset, shape, axis, length, inverse, onesided):
    rng = np.random.default_rng(0)
    x = numbers(rng, *shape)
    stored = {"length": np.array(length or shape[axis], np.int64)} | ({"axis": np.array(axis)} if opset == 20 else {})
    words = x[..., 0] + (1j * x[..., 1] if shape[-1] == 2 else 0)
    made = (np.fft.ifft if inverse else np.fft.fft)(words, length, axis)
    if onesided:
        made = np.take(made, range(made.shape[axis] // 2 + 1), axis)
    stated = {"inverse": inverse, "onesided": onesided, **({"axis": axis} if opset == 17 else {})}
    node = helper.make_node("DFT", ["x", "length", *(["axis"] if opset == 20 else [])], ["y"], "f", **stated)
    macs = made.size * 2 * shape[axis] * shape[-1]
    checked(tmp_path, node, {"x": x}, stored, [np.stack([made.real, made.imag], -1)], macs, domain="", opset=opset)


@pytest.mark.parametrize(
    ("equation", "shapes", "macs"),
    [
        ("ij,jk,kl->il", [[2, 30], [30, 3], [3, 40]], 2 * 30 * 3 + 2 * 3 * 40),
        ("bij,bjk,k->bi", [[2, 3, 4], [2, 4, 5], [5]], 2 * 4 * 5 + 2 * 3 * 4),
        ("...i,...j,ij", [[2, 3], [2, 4], [3, 4]], None),
        ("ii,ij,jk,k->i", [[3, 3], [3, 4], [4, 5], [5]], None),
    ],
)
def test_long_einsums_are_products_of_two(tmp_path, equation, shapes, macs):
    rng = np.random.default_rng(0)
    given = {f"x{i}": numbers(rng, *shape) for i, shape in enumerate(shapes)}
    node = helper.make_node("Einsum", list(given), ["y"], "e", equation=equation)
    path = saved(tmp_path, model_of([node], {name: list(one.shape) for name, one in given.items()}, opset=17))
    expected = np.einsum(equation, *given.values())
    found = load_network(path).macs
    assert found == macs if macs else found > 0
    checked(tmp_path, node, given, {}, [expected], found, domain="")


@pytest.mark.parametrize(("trained", "ratio"), [(False, 0.5), (True, 0.0)])
def test_what_is_not_trained_drops_nothing(tmp_path, trained, ratio):
    x = numbers(np.random.default_rng(0), 2, 3)
    stored = {"ratio": np.array(ratio, np.float32), "trained": np.array(trained)}
    node = helper.make_node("Dropout", ["x", "ratio", "trained"], ["y"], "d")
    checked(tmp_path, node, {"x": x}, stored, [x], 0, domain="")


def test_what_is_trained_is_random(tmp_path):
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], "relu"),
        helper.make_node("Dropout", ["r", "ratio", "trained"], ["y"], "drop"),
    ]
    stored = {"ratio": np.array(0.5, np.float32), "trained": np.array(True)}
    graph = load_network(saved(tmp_path, model_of(nodes, {"x": [2, 3]}, ["y"], stored, opset=17))).wiring
    assert graph is not None
    with pytest.raises(MappingError, match="Dropout drop: its words are random while training_mode is true"):
        check_writable(graph)


LOOP = """
<ir_version: 8, opset_import: ["": 17]>
g (float[2,3] x) => (float[2,3] y, float[4,2,3] rows)
<int64 n = {4}, bool true = {1}> {
  y, rows = Loop <body = b (int64 i, bool going, float[2,3] state) => (bool on, float[2,3] next, float[2,3] row) {
    on = Identity (going)
    f = Cast <to = 1> (i)
    sum = Add (state, f)
    next = Mul (sum, x)
    row = Relu (next)
  }> (n, true, x)
}
"""
SCAN = """
<ir_version: 8, opset_import: ["": 17]>
g (float[3] x, float[3,4] rows) => (float[3] y, float[3,4] halves)
{
  y, halves = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1], scan_input_directions = [1],
                    body = b (float[3] state, float[3] word) => (float[3] next, float[3] half) {
    next = Add (state, word)
    factor = Constant <value_float = 0.5> ()
    half = Mul (next, factor)
  }> (x, rows)
}
"""


def looped(x):
    rows, state = [], x
    for step in range(4):
        state = (state + step) * x
        rows.append(np.maximum(state, 0))
    return state, np.stack(rows)


def scanned(x, rows):
    states = x[:, None] + np.cumsum(rows[:, ::-1], 1)
    return states[:, -1], states / 2


@pytest.mark.parametrize(("text", "expected"), [(LOOP, looped), (SCAN, scanned)])
def test_short_loops_are_their_steps(tmp_path, text, expected):
    model = parser.parse_model(text)
    path, rng = saved(tmp_path, model), np.random.default_rng(0)
    sizes = {one.name: [dim.dim_value for dim in one.type.tensor_type.shape.dim] for one in model.graph.input}
    given = {name: numbers(rng, *shape) for name, shape in sizes.items()}
    written = read_expanded(path, {}, with_weights=True)
    assert not {node.op_type for node in written.graph.node} & {"Loop", "Scan"}
    found = ReferenceEvaluator(written).run(None, given)
    for one, other in zip(found, expected(**given), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    network = load_network(path)
    assert network.wiring is not None
    assert linked(network.wiring) == ()


@pytest.mark.parametrize(
    ("shapes", "attributes", "mask"),
    [
        (([2, 4, 3, 8], [2, 2, 5, 8], [2, 2, 5, 6]), {"softcap": 2.0}, "floats"),
        (([2, 3, 32], [2, 5, 16], [2, 5, 12]), {"q_num_heads": 4, "kv_num_heads": 2, "is_causal": 1}, "truths"),
        (([1, 2, 3, 8], [1, 2, 3, 8], [1, 2, 3, 8]), {"scale": 0.5, "is_causal": 1}, "past"),
    ],
)
def test_standard_attention(tmp_path, shapes, attributes, mask):
    """What onnx makes of it; a query that no key is seen by makes zeros."""
    rng = np.random.default_rng(0)
    given = {name: numbers(rng, *shape) for name, shape in zip("qkv", shapes, strict=True)}
    inputs, outputs, stored = ["q", "k", "v"], ["y"], {}
    if mask == "past":
        given |= {"pk": numbers(rng, 1, 2, 4, 8), "pv": numbers(rng, 1, 2, 4, 8)}
        inputs, outputs = [*inputs, "", "pk", "pv"], ["y", "key", "value"]
    else:
        words = numbers(rng, 3, 5)
        stored = {"mask": words if mask == "floats" else words > np.array([[-1], [0], [9]])}
        inputs.append("mask")
    node = helper.make_node("Attention", inputs, outputs, "a", **attributes)
    model = model_of([node], {name: list(one.shape) for name, one in given.items()}, outputs, stored, opset=24)
    expected = ReferenceEvaluator(model).run(None, given)
    network = load_network(saved(tmp_path, model))
    assert network.wiring is not None
    assert linked(network.wiring) == ()
    checked(tmp_path, node, given, stored, expected, network.macs, domain="", opset=24)


@pytest.mark.parametrize("opset", [7, 9, 13, 15])
def test_norms_are_compared_as_they_are_without_training(tmp_path, opset):
    """Before operator set 14, onnx.reference takes them for ones that are trained."""
    rng = np.random.default_rng(0)
    stored = {name: numbers(rng, 3) for name in ("scale", "shift", "mean")} | {"var": rng.random(3).astype(np.float32)}
    node = helper.make_node("BatchNormalization", ["x", *stored], ["y"], "n", momentum=0.9)
    graph = load_network(saved(tmp_path, model_of([node], {"x": [2, 3, 4]}, ["y"], stored, opset=opset))).wiring
    assert graph is not None
    assert graph.meaning is not None
    assert graph.meaning.reference is not None
    found = graph.meaning.reference({})
    assert found is not None
    (given,), (made,) = found[0].values(), found[1]
    scale, shift, mean, var = (one[:, None] for one in stored.values())
    np.testing.assert_allclose(made, (given - mean) / np.sqrt(var + 1e-5) * scale + shift, rtol=1e-4, atol=1e-5)


def test_messages_name_the_node_of_the_file(tmp_path):
    x, w = numbers(np.random.default_rng(0), 1, 2, 5), numbers(np.random.default_rng(1), 3, 3, 2)
    for domain, op, given, message in (
        (FOREIGN, "FusedConv", ["x", "w"], "FusedConv c: 2 channels in 1 groups, and a filter of 3 channels"),
        ("", "Einsum", ["x", "w", "w"], "Einsum c: index 'b' is 2 and 3"),
        ("", "Convv", ["x", "w"], "Convv c: onnx refuses it: No Op registered for Convv"),
    ):
        stated = {"equation": "abc,bde,def->af"} if op == "Einsum" else {}
        node = helper.make_node(op, given, ["y"], "c", domain=domain, **stated)
        model = model_of([node], {"x": list(x.shape)}, stored={"w": w}, opset=17, domains=[domain] if domain else [])
        with pytest.raises(ProblemError, match=message):
            load_network(saved(tmp_path, model))
