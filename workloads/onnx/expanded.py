"""Operators that are several standard ones in one, written out: those of com.microsoft, DFT, STFT, long einsums.

What they compute is then read, fused, emitted and checked as anything else of a file. An operator with an attribute or
input that is not known here stays as it is, and is counted as one that is not known.

    FusedConv, FusedGemm     Conv, Gemm, and the activation behind it
    FusedMatMul              MatMul of transposed operands, times alpha
    MatMulIntegerToFloat     MatMulInteger, its scales and bias
    MatMulNBits              MatMul with a weight that is unpacked, less its zero points, times the scales of its blocks
    Attention                the projections, the two products of every head, and the softmax between them
    GroupQueryAttention      the two products, in which heads that share their keys are rows of one product
    STFT, DFT                (frames of) the signal times a constant matrix of cosines and sines
    Einsum                   of three operands or more: two at a time, in the order that takes least
    Dropout                  of which it is stated that it is not trained: nothing
    others                   those of `contrib_words.py`
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...ir import ProblemError
from .branches import settled
from .contrib_attention import attention, group_query_attention, standard_attention
from .contrib_words import CONTRIB_WORDS, SIMPLIFIED
from .einsums import einsum_terms
from .files import Given, read_model
from .rewrites.edits import GraphEdit
from .rewrites.writer import NodeWriter
from .shapes import attributes

if TYPE_CHECKING:
    import numpy as np
    import onnx

Expansion = Callable[[NodeWriter], bool]
"""Writes the nodes that a node stands for; whether it could: shapes may not be known, or attributes."""


def read_expanded(path: Path, dims: Given, *, with_weights: bool = False) -> onnx.ModelProto:
    """The model of a file as `read_model` has it, branches that are known in place of their nodes, and such operators
    written out. Raises ProblemError as that does."""
    return expanded(settled(read_model(path, dims, with_weights=with_weights)))


def expanded(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with all such operators written out whose shapes can be known."""
    while any(_expansion(node) is not None for node in model.graph.node):
        edit = GraphEdit(model)
        changes = {}
        for node in edit.nodes:
            expansion, writer = _expansion(node), NodeWriter(edit, node)
            if expansion is not None and expansion(writer):
                changes[node.name] = writer.nodes
        if not changes:
            break
        edit.replace(changes)
        model = edit.model
    return model


def _expansion(node: onnx.NodeProto) -> Expansion | None:
    return _EXPANSIONS.get((node.domain, node.op_type))


def _activated(writer: NodeWriter, product: str, given: Mapping[str, Any], parameters: list[float]) -> bool:
    """What an attribute says is done with every word; whether it is known here."""
    activation = str(given.get("activation", b"").decode())
    if not activation:
        writer.end("Identity", product)
    elif activation in ("Relu", "Sigmoid", "Tanh", "HardSwish"):
        writer.end(activation, product)
    elif activation == "LeakyRelu":
        writer.end(activation, product, alpha=parameters[0] if parameters else 0.01)
    elif activation == "HardSigmoid":
        stated: dict[str, Any] = dict(zip(("alpha", "beta"), parameters, strict=False))
        writer.end(activation, product, **stated)
    elif activation == "Clip" and len(parameters) == 2:
        low, high = (writer.number(value, like=product) for value in parameters)
        writer.end("Min", writer.made("Max", "low", product, low), high)
    else:
        return False
    return True


def _fused_conv(writer: NodeWriter) -> bool:
    given = attributes(writer.node)
    own = {name: value for name, value in given.items() if not name.startswith("activation")}
    inputs = list(writer.node.input)
    product = writer.product("Conv", *inputs[:3], **own)
    if len(inputs) > 3 and inputs[3]:
        product = writer.made("Add", "sum", product, inputs[3])
    return _activated(writer, product, given, list(given.get("activation_params", [])))


def _fused_gemm(writer: NodeWriter) -> bool:
    given = attributes(writer.node)
    own = {name: value for name, value in given.items() if not name.startswith("activation")}
    parameters = [given[name] for name in ("activation_alpha", "activation_beta") if name in given]
    return _activated(writer, writer.product("Gemm", *writer.node.input, **own), given, parameters)


def _fused_matmul(writer: NodeWriter) -> bool:
    given = attributes(writer.node)
    operands = []
    for side, name in zip("AB", writer.node.input, strict=True):
        shape = writer.edit.shape(name)
        if shape is None:
            return False
        order = list(range(len(shape)))
        if given.get(f"transBatch{side}") and len(shape) > 2:
            order = [*order[1:-1], 0, order[-1]]
        if given.get(f"trans{side}") and len(shape) > 1:
            order = [*order[:-2], order[-1], order[-2]]
        moved = order != sorted(order)
        operands.append(writer.made("Transpose", side, name, perm=order) if moved else name)
    alpha = given.get("alpha", 1.0)
    product = writer.product("MatMul", *operands)
    if alpha == 1:
        writer.end("Identity", product)
    else:
        writer.end("Mul", product, writer.number(alpha, like=product))
    return True


def _integer_to_float(writer: NodeWriter) -> bool:
    inputs = [*writer.node.input, *[""] * 7][:7]
    left, right, left_scale, right_scale, left_zero, right_zero, bias = inputs
    kind = writer.edit.element_type(left_scale)
    if not kind:
        return False
    zeros = [left_zero, right_zero] if right_zero else [left_zero] if left_zero else []
    words = writer.made("Cast", "words", writer.product("MatMulInteger", left, right, *zeros), to=kind)
    scaled = writer.made("Mul", "scaled", words, writer.made("Mul", "scale", left_scale, right_scale))
    if bias:
        writer.end("Add", scaled, bias)
    else:
        writer.end("Identity", scaled)
    return True


def _n_bits(writer: NodeWriter) -> bool:
    from onnx import TensorProto

    given = attributes(writer.node)
    bits, k, n, block = given.get("bits", 4), given.get("K"), given.get("N"), given.get("block_size")
    inputs = [*writer.node.input, *[""] * 6][:6]
    left, packed, scales, zeros, order, bias = inputs
    kind = writer.edit.element_type(scales)
    if bits not in (2, 4, 8) or not k or not n or not block or order or not kind or given.get("weight_prepacked"):
        return False
    if any(name and writer.edit.shape(name) is None for name in (packed, zeros)):
        return False
    blocks = -(-k // block)
    narrow = {2: TensorProto.UINT2, 4: TensorProto.UINT4, 8: TensorProto.UINT8}[bits]

    def words(name: str, what: str, shape: list[int]) -> str:
        """Unpacked words, as floats."""
        flat = writer.made("Reshape", f"{what} rows", _unpacked(writer, name, bits, what), writer.shape(n, -1))
        if math.prod(shape[1:]) * bits % 8 or what == "zeros":  # bytes may have more
            flat = writer.made("Slice", f"{what} taken", flat, *map(writer.shape, (0, math.prod(shape[1:]), 1)))
        held = writer.made("Cast", f"{what} held", flat, to=narrow)
        return writer.made("Reshape", f"{what} blocks", writer.made("Cast", what, held, to=kind), writer.shape(*shape))

    quantized = words(packed, "weights", [n, blocks, block])
    if not zeros:
        zero = writer.number(2.0 ** (bits - 1), like=scales)
    elif writer.edit.element_type(zeros) == TensorProto.UINT8:
        zero = words(zeros, "zeros", [n, blocks, 1])
    else:
        zero = writer.made("Reshape", "zeros", zeros, writer.shape(n, blocks, 1))
    factor = writer.made("Reshape", "scales", scales, writer.shape(n, blocks, 1))
    weight = writer.made("Mul", "scaled", writer.made("Sub", "less", quantized, zero), factor)
    weight = writer.made("Reshape", "rows", weight, writer.shape(n, -1))
    if blocks * block > k:
        weight = writer.made("Slice", "taken", weight, *map(writer.shape, (0, k, 1)))
    product = writer.product("MatMul", left, writer.made("Transpose", "columns", weight, perm=[1, 0]))
    if bias:
        writer.end("Add", product, bias)
    else:
        writer.end("Identity", product)
    return True


def _unpacked(writer: NodeWriter, name: str, bits: int, what: str) -> str:
    """Bytes as the words in them, the lowest bits first, along an axis of their own."""
    if bits == 8:
        return name
    parts, shape = [], writer.shape(*(writer.edit.shape(name) or ()), 1)
    for number in range(8 // bits):
        part = writer.made("Div", f"{what} {number} down", name, writer.byte(2 ** (bits * number))) if number else name
        part = writer.made("Mod", f"{what} {number}", part, writer.byte(2**bits))
        parts.append(writer.made("Reshape", f"{what} {number} apart", part, shape))
    return writer.made("Concat", f"{what} unpacked", *parts, axis=-1)


def _stft(writer: NodeWriter) -> bool:
    """Frames of the signal, each times cosines and sines under the window. A signal of two axes is a real one."""
    import numpy as np
    from onnx import helper

    signal, step, window, length = [*writer.node.input, *[""] * 4][:4]
    shape, steps = writer.edit.shape(signal), writer.edit.array(step)
    sizes = writer.edit.shape(window) if window else None
    stated = writer.edit.array(length) if length else None
    if shape is None or steps is None or len(shape) not in (2, 3) or (length and stated is None):
        return False
    count = int(stated.ravel()[0]) if stated is not None else sizes[0] if sizes else shape[1]
    samples = sizes[0] if sizes else count
    hop, parts = int(steps.ravel()[0]), shape[2] if len(shape) == 3 else 1
    kind = writer.edit.element_type(signal)
    if (window and sizes is None) or hop < 1 or count < 1 or samples > count or count > shape[1] or not kind:
        return False
    frames = 1 + (shape[1] - count) // hop
    bins = count // 2 + 1 if attributes(writer.node).get("onesided", 1) else count
    matrix = _waves(samples, bins, count, parts).reshape(samples, parts * bins * 2)
    matrix = matrix.astype(helper.tensor_dtype_to_np_dtype(kind))
    weight = writer.edit.stored(f"{writer.node.name}.matrix", matrix)
    if window:
        weight = writer.made(
            "Mul", "windowed", weight, writer.made("Reshape", "window", window, writer.shape(samples, 1))
        )
    weight = writer.made("Reshape", "weight", weight, writer.shape(samples * parts, bins * 2))
    index = np.arange(frames)[:, None] * hop + np.arange(samples)
    taken = writer.made("Gather", "frames", signal, writer.edit.stored(f"{writer.node.name}.index", index), axis=1)
    if len(shape) == 3:
        taken = writer.made("Reshape", "rows", taken, writer.shape(0, 0, samples * parts))
    writer.end("Reshape", writer.product("MatMul", taken, weight), writer.shape(0, 0, bins, 2))
    return True


def _waves(samples: int, bins: int, count: int, parts: int) -> np.ndarray[Any, Any]:
    """Cosines and sines of shape (samples, parts, bins, 2), by real parts of a signal, and by others if it has some."""
    import numpy as np

    angle = np.outer(np.arange(samples), np.arange(bins)) % count * (-2 * np.pi / count)
    turned = np.stack((np.cos(angle), np.sin(angle)), axis=-1)  # of real parts; of others, a quarter further
    return np.stack((turned, np.stack((-turned[..., 1], turned[..., 0]), axis=-1)), axis=1)[:, :parts]


def _dft(writer: NodeWriter) -> bool:
    """The signal along one axis, its last one but for the parts of words, times cosines and sines."""
    import numpy as np
    from onnx import helper

    given, (signal, length, along) = attributes(writer.node), [*writer.node.input, "", ""][:3]
    shape, kind = writer.edit.shape(signal), writer.edit.element_type(signal)
    stated = [writer.edit.array(name) if name else None for name in (length, along)]
    if (
        shape is None
        or not kind
        or any(name and one is None for name, one in zip((length, along), stated, strict=True))
    ):
        return False
    default = given.get("axis", 1 if writer.edit.version < _AXIS_AS_INPUT else -2)
    rank, axis = len(shape), int(stated[1].ravel()[0]) if stated[1] is not None else default
    axis %= rank
    count = int(stated[0].ravel()[0]) if stated[0] is not None else shape[axis]
    is_inverse, is_half = bool(given.get("inverse", 0)), bool(given.get("onesided", 0))
    if axis == rank - 1 or count < 1 or shape[-1] not in (1, 2) or (is_inverse and is_half):
        return False
    bins, samples = count // 2 + 1 if is_half else count, min(count, shape[axis])
    waves = _waves(samples, bins, count, shape[-1])
    if is_inverse:
        waves[..., 1] *= -1
        waves[:, 1:] *= -1
        waves /= count
    whole = np.zeros((shape[axis], *waves.shape[1:]))
    whole[:samples] = waves
    matrix = whole.reshape(-1, bins * 2).astype(helper.tensor_dtype_to_np_dtype(kind))
    others = [place for place in range(rank - 1) if place != axis]
    order = [*others, axis, rank - 1]
    sizes = [shape[place] for place in others]
    rows = writer.made("Transpose", "turned", signal, perm=order)
    rows = writer.made("Reshape", "rows", rows, writer.shape(*sizes, matrix.shape[0]))
    found = writer.product("MatMul", rows, writer.edit.stored(f"{writer.node.name}.matrix", matrix))
    found = writer.made("Reshape", "bins", found, writer.shape(*sizes, bins, 2))
    writer.end("Transpose", found, perm=[order.index(place) for place in range(rank)])
    return True


_AXIS_AS_INPUT = 20
"""The operator set in which DFT reads its axis."""


def _einsum(writer: NodeWriter) -> bool:
    """Two operands at a time, as numpy would."""
    import numpy as np

    shapes = [writer.edit.shape(name) for name in writer.node.input]
    if len(shapes) < 3 or None in shapes:
        return False
    known = [shape for shape in shapes if shape is not None]
    words = [np.broadcast_to(np.float32(0), shape) for shape in known]
    try:
        terms, output = einsum_terms(str(attributes(writer.node)["equation"].decode()), known, writer.node.name)
        path = np.einsum_path(",".join(terms) + f"->{output}", *words, optimize="greedy")[0]
    except (ProblemError, ValueError):  # it is said where the node becomes a problem
        return False
    left = list(zip(terms, writer.node.input, strict=True))
    steps = [sorted(step, reverse=True) for step in path[1:]]
    for number, step in enumerate(steps):
        taken = [left.pop(place) for place in step]
        while len(taken) > 1:
            (first, one), (second, other) = taken.pop(), taken.pop()
            needed = {*output, *(index for term, _ in (*left, *taken) for index in term)}
            kept = "".join(index for index in dict.fromkeys(first + second) if index in needed)
            if number == len(steps) - 1 and not taken:
                writer.end("Einsum", one, other, equation=f"{first},{second}->{output}")
                return True
            part = str(len(writer.nodes) + 1)
            made = writer.product("Einsum", one, other, part=part, equation=f"{first},{second}->{kept}")
            taken.append((kept, made))
        left.append(taken[0])
    return False


def _cast_like(writer: NodeWriter) -> bool:
    kind = writer.edit.element_type(writer.node.input[1])
    if kind:
        writer.end("Cast", writer.node.input[0], to=kind)
    return bool(kind)


def _dropout(writer: NodeWriter) -> bool:
    """Of which it is known that it is not trained, or drops nothing; whoever reads which words are left is told all."""
    words, ratio, trained = [*writer.node.input, "", ""][:3]
    is_trained, drops = (writer.edit.array(name) if name else None for name in (trained, ratio))
    kept = drops is not None and not drops.any()
    masks = list(filter(None, writer.node.output[1:]))
    known = not trained or kept or (is_trained is not None and not is_trained.any())
    if not known or not (trained or masks) or (masks and writer.edit.version < _MASK_OF_TRUTHS):
        return False
    if masks:
        nonzero = writer.made("Cast", "nonzero", words, to=9)
        writer.end("Or", nonzero, writer.made("Not", "zero", nonzero), output=1)
    writer.end("Identity", words)
    return True


_MASK_OF_TRUTHS = 10
"""The operator set in which the mask of a Dropout has truths."""


_FOREIGN = "com.microsoft"
_EXPANSIONS: Mapping[tuple[str, str], Expansion] = {
    ("", "Attention"): standard_attention,
    ("", "CastLike"): _cast_like,
    ("", "DFT"): _dft,
    ("", "Dropout"): _dropout,
    ("", "Einsum"): _einsum,
    ("", "STFT"): _stft,
    **{("", name): expansion for name, expansion in SIMPLIFIED.items()},
    **{(_FOREIGN, name): expansion for name, expansion in CONTRIB_WORDS.items()},
    (_FOREIGN, "Attention"): attention,
    (_FOREIGN, "FusedConv"): _fused_conv,
    (_FOREIGN, "FusedGemm"): _fused_gemm,
    (_FOREIGN, "FusedMatMul"): _fused_matmul,
    (_FOREIGN, "GroupQueryAttention"): group_query_attention,
    (_FOREIGN, "MatMulIntegerToFloat"): _integer_to_float,
    (_FOREIGN, "MatMulNBits"): _n_bits,
}
"""By domain and operator."""
