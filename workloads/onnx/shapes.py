"""The shape and type of every tensor of a model.

ONNX's own shape inference does the work. It does not follow all arithmetic on shapes, as exporters write it (Shape,
Gather, Concat, Reshape, ...), so nodes whose operands are all known and small are computed by ONNX's reference
implementation, and inference runs again, until nothing new is found. Shapes that a file declares stand where nothing
follows from the operators; `check_declared` compares the others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...ir import ProblemError
from .convolutions import ceiled_shape
from .einsums import einsum_shape
from .files import SMALL, STANDARD
from .nodes import element_bits
from .transposed import same_shape

if TYPE_CHECKING:
    import numpy as np
    import onnx

    Arrays = dict[str, np.ndarray[Any, Any]]

TypeAndShape = tuple[int, tuple[int, ...] | None]

FEW = 16
"""Elements up to which floats are computed."""

# What these compute is not a function of their inputs.
RANDOM = frozenset(
    ("Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
)


_OWN = "tilewright"
"""The domain of nodes that ONNX's inference shall not see, since it contradicts ONNX's text there."""

_STATED_ONE_BY_ONE = 8
"""Rounds in which declared shapes are taken where nothing follows, before all that are left are."""


def infer(model: onnx.ModelProto) -> dict[str, TypeAndShape]:
    """Element type and shape of every tensor, by name; the shape is None where it is not known.

    Raises ProblemError for a model that onnx finds malformed.
    """
    return folded(model)[0]


def folded(model: onnx.ModelProto) -> tuple[dict[str, TypeAndShape], dict[str, onnx.TensorProto]]:
    """The same, and what small nodes make that depend on shapes and parameters alone, by name."""
    given = {tensor.name for tensor in model.graph.initializer}
    seen, declared = _without_declared(model)
    for number in itertools.count():
        seen = _inferred(seen)
        known = dict(_stated(seen))
        if not _fold(seen, known) | _shape_others(seen, known):
            whole = number >= _STATED_ONE_BY_ONE
            if not _state_declared(seen, known, declared, whole=whole):
                break
    return known, {tensor.name: tensor for tensor in seen.graph.initializer if tensor.name not in given}


def _without_declared(model: onnx.ModelProto) -> tuple[onnx.ModelProto, dict[str, onnx.ValueInfoProto]]:
    """A copy without the shapes that its file declares of what standard operators make, and all of these."""
    copy = type(model)()
    copy.CopyFrom(model)
    foreign = set[str]()
    for node in copy.graph.node:
        if node.domain not in STANDARD:
            foreign.update(node.output)
        elif _is_misread(node):
            node.domain = _OWN
    copy.opset_import.add(domain=_OWN, version=1)
    made = {name for node in copy.graph.node for name in node.output} - foreign
    declared = {}
    for value in (*copy.graph.value_info, *copy.graph.output):
        tensor = value.type.tensor_type
        if value.name in made and tensor.HasField("shape"):
            if all(dim.HasField("dim_value") and dim.dim_value >= 0 for dim in tensor.shape.dim):
                declared[value.name] = type(value).FromString(value.SerializeToString())
            tensor.ClearField("shape")
    return copy, declared


def _is_misread(node: onnx.NodeProto) -> bool:
    """Whether ONNX's inference makes another shape of it than its text and reference implementation."""
    if node.op_type not in ("AveragePool", "ConvTranspose", "LpPool", "MaxPool") or len(node.output) > 1:
        return False
    given = attributes(node)
    is_same = given.get("auto_pad", b"").startswith(b"SAME")
    if node.op_type == "ConvTranspose":
        return is_same and "output_shape" not in given
    return bool(given.get("ceil_mode")) and given.get("auto_pad", b"NOTSET") == b"NOTSET" and "kernel_shape" in given


def _state_declared(
    model: onnx.ModelProto,
    known: Mapping[str, TypeAndShape],
    declared: Mapping[str, onnx.ValueInfoProto],
    *,
    whole: bool,
) -> bool:
    """Take the declared shapes of what nodes make whose operands are known, or of all (`whole`); whether there are
    any."""

    def is_open(name: str) -> bool:
        return bool(name) and known.get(name, (0, None))[1] is None

    taken = [
        declared[name]
        for node in model.graph.node
        if whole or not any(map(is_open, node.input))
        for name in node.output
        if name in declared and is_open(name)
    ]
    if not taken and not whole:
        taken = [value for name, value in declared.items() if is_open(name)]
    for value in taken:
        _state(model, value)
    return bool(taken)


def check_declared(model: onnx.ModelProto, known: Mapping[str, tuple[int, ...] | None]) -> tuple[str, ...]:
    """ProblemError for a declared shape that contradicts what follows from the operator. Of what the graph hands out
    it is a note: runtimes take what follows there.

    known  shapes that follow
    """
    notes = []
    declared = _without_declared(model)[1]
    handed = {value.name for value in model.graph.output}  # where runtimes take what follows
    for node in model.graph.node:
        for name in node.output:
            follows = known.get(name)
            if name in declared and follows is not None:
                stated = [dim.dim_value for dim in declared[name].type.tensor_type.shape.dim]
                if list(follows) != stated:
                    message = f"the file declares {name} as {stated}, and the operator makes {list(follows)}"
                    if name in handed:
                        notes.append(f"{node.op_type} {node.name or name}: {message}, which is taken")
                        continue
                    hint = "correct the declared shape, or leave it out: it follows from what the node reads"
                    raise ProblemError(message, where=f"{node.op_type} {node.name or name}", hint=hint)
    return tuple(notes)


def _inferred(model: onnx.ModelProto) -> onnx.ModelProto:
    from onnx import shape_inference

    try:
        return shape_inference.infer_shapes(model, check_type=False, strict_mode=False, data_prop=True)
    except (shape_inference.InferenceError, RuntimeError, ValueError) as error:
        raise ProblemError(f"onnx cannot infer its shapes: {' '.join(str(error).split())}") from None


def _stated(model: onnx.ModelProto) -> Iterator[tuple[str, TypeAndShape]]:
    for value in (*model.graph.input, *model.graph.value_info, *model.graph.output):
        tensor = value.type.tensor_type
        sizes = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
        known = tensor.HasField("shape") and all(size is not None and size >= 0 for size in sizes)
        yield value.name, (tensor.elem_type, tuple(size for size in sizes if size is not None) if known else None)
    for stored in model.graph.initializer:
        yield stored.name, (stored.data_type, tuple(stored.dims) if min(stored.dims, default=0) >= 0 else None)


def type_bits(data_type: int) -> int | None:
    """Width of an element of an ONNX type, by its number."""
    return element_bits(type_name(data_type))


def type_name(data_type: int) -> str:
    """The name of an ONNX type, FLOAT16 or INT8; UNDEFINED for numbers that onnx does not know."""
    from onnx import TensorProto

    names = TensorProto.DataType.items()
    return next((name for name, number in names if number == data_type), "UNDEFINED")


def _fold(model: onnx.ModelProto, known: dict[str, TypeAndShape]) -> bool:
    """Replace nodes that can be computed now by what they compute; whether there were any."""
    from onnx import numpy_helper

    arrays = _small_arrays(model)
    left, computed = [], False
    for node in model.graph.node:
        found = _computed(model, node, arrays, known)
        if found is None:
            left.append(node)
            continue
        computed = True
        arrays.update(found)
        model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in found.items())
    if computed:
        del model.graph.node[:]
        model.graph.node.extend(left)
    return computed


def _shape_others(model: onnx.ModelProto, known: dict[str, TypeAndShape]) -> bool:
    """State the shapes of einsums, norms of groups and quantized recurrent nodes, which ONNX does not infer; whether
    there were any."""
    from onnx.helper import make_tensor_value_info

    found = False
    for node in model.graph.node:
        if (node.domain, node.op_type) == ("com.microsoft", "DynamicQuantizeLSTM"):
            found = _shape_recurrent(model, node, known) or found
            continue
        if node.domain not in ("", _OWN) or not node.output or known.get(node.output[0], (0, None))[1] is not None:
            continue
        shapes = [known[name][1] for name in node.input if name in known]
        if None in shapes or len(shapes) != len(node.input):
            continue
        with suppress(ProblemError):  # it is raised again where the node becomes a problem
            shape = _shape_of(node, [shape for shape in shapes if shape is not None])
            if shape is not None:
                _state(model, make_tensor_value_info(node.output[0], known[node.input[0]][0], shape))
                found = True
    return found


def _shape_recurrent(model: onnx.ModelProto, node: onnx.NodeProto, known: dict[str, TypeAndShape]) -> bool:
    """State the shapes of what an LSTM with quantized weights makes: all states, and the last ones."""
    from onnx.helper import make_tensor_value_info

    kind, read = known.get(node.input[0], (0, None))
    weights = known.get(node.input[1], (0, None))[1]
    states = int(attributes(node).get("hidden_size", 0))
    is_known = known.get(next(filter(None, node.output)), (0, None))[1] is not None
    if is_known or read is None or weights is None or len(read) != 3 or not states:
        return False
    steps, batch, directions = read[0], read[1], weights[0]
    last = (directions, batch, states)
    for name, shape in zip(node.output, ((steps, *last), last, last), strict=False):
        if name:
            _state(model, make_tensor_value_info(name, kind, shape))
    return True


def _shape_of(node: onnx.NodeProto, shapes: Sequence[tuple[int, ...]]) -> Sequence[int] | None:
    if node.op_type == "GroupNormalization":
        return shapes[0]
    if node.domain == _OWN:
        rule = same_shape if node.op_type == "ConvTranspose" else ceiled_shape
        return rule(attributes(node), shapes)
    if node.op_type != "Einsum":
        return None
    equations = (one.s.decode(errors="replace") for one in node.attribute if one.name == "equation")
    return einsum_shape(next(equations, ""), shapes, node.name)


def attributes(node: onnx.NodeProto) -> dict[str, Any]:
    """By name."""
    from onnx.helper import get_attribute_value

    return {one.name: get_attribute_value(one) for one in node.attribute}


def _state(model: onnx.ModelProto, value: onnx.ValueInfoProto) -> None:
    """Write what is known of a tensor into the model, in place of what stands there."""
    for known in (*model.graph.output, *model.graph.value_info):
        if known.name == value.name:
            known.CopyFrom(value)
            return
    model.graph.value_info.append(value)


def _small_arrays(model: onnx.ModelProto) -> Arrays:
    """Stored parameters whose data is in the file."""
    found = {tensor.name: small_array(tensor) for tensor in model.graph.initializer}
    return {name: array for name, array in found.items() if array is not None}


def small_array(tensor: onnx.TensorProto) -> np.ndarray[Any, Any] | None:
    """A stored parameter, if it is small and its data is in the file."""
    from onnx import TensorProto, numpy_helper

    if tensor.data_location != TensorProto.EXTERNAL and math.prod(tensor.dims) <= SMALL:
        with suppress(Exception):  # data that is missing, or not what its type says: onnx fails in many ways
            return numpy_helper.to_array(tensor)
    return None


def _computed(
    model: onnx.ModelProto, node: onnx.NodeProto, arrays: Arrays, known: dict[str, TypeAndShape]
) -> Arrays | None:
    """The outputs of a node, if they can be computed, and are small."""
    import numpy as np

    if not all(_may_be_a_shape(*known.get(name, (0, None))) for name in node.output):
        return None
    if node.op_type in ("Shape", "Size") and not node.domain and node.input:
        shape = known.get(node.input[0], (0, None))[1]
        if shape is None:
            return None
        # The operand's values do not matter, and one that takes no memory has the same shape.
        return _evaluated(model, node, {node.input[0]: np.broadcast_to(np.float32(0), shape)})
    if node.domain or node.op_type in RANDOM or any(name and name not in arrays for name in node.input):
        return None
    return _evaluated(model, node, {name: arrays[name] for name in node.input if name})


def _may_be_a_shape(data_type: int, shape: tuple[int, ...] | None) -> bool:
    """Whether a tensor is known to be small; one of floats, such as the scales of a Resize, has an entry an axis."""
    limit = FEW if type_name(data_type).endswith(("FLOAT", "FLOAT16", "DOUBLE")) else SMALL
    return shape is not None and math.prod(shape) <= limit


def _evaluated(model: onnx.ModelProto, node: onnx.NodeProto, operands: Arrays) -> Arrays | None:
    import numpy as np
    import onnx
    from onnx.reference import ReferenceEvaluator

    typed = [
        onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in operands.items()
    ]
    outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output]
    graph = onnx.helper.make_graph([node], "one", typed, outputs)
    alone = onnx.helper.make_model(graph, opset_imports=model.opset_import)
    try:
        found = ReferenceEvaluator(alone).run(None, operands)
    except Exception:  # what the reference cannot compute stays unknown, and is reported if a shape depends on it
        return None
    return {name: np.asarray(array) for name, array in zip(node.output, found, strict=True) if name}
