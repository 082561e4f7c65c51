"""Batch norms into the parameters of the convolutions before them.

scale * (W x + b - mean) / sqrt(variance + epsilon) + bias  =  (f W) x + (b - mean) * f + bias
with f = scale / sqrt(variance + epsilon), a number for each filter
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..shapes import attributes
from .edits import GraphEdit

if TYPE_CHECKING:
    import onnx


def fold_batch_norms(edit: GraphEdit) -> int:
    """Fold every batch norm that alone reads a convolution with stored parameters; how many."""
    makers, readers, constants = edit.makers(), edit.readers(), edit.constants()
    changes: dict[str, tuple[onnx.NodeProto, ...]] = {}
    for norm in edit.nodes:
        if norm.op_type != "BatchNormalization" or norm.domain or len([name for name in norm.output if name]) != 1:
            continue
        conv = makers.get(norm.input[0])
        if conv is None or conv.op_type != "Conv" or conv.domain or conv.output[0] in edit.results:
            continue
        is_alone = len(readers[conv.output[0]]) == 1
        parameters = [*norm.input[1:], *conv.input[1:]]
        if is_alone and constants.issuperset(filter(None, parameters)) and not attributes(norm).get("training_mode"):
            changes[norm.name] = ()
            changes[conv.name] = _folded(edit, conv, norm)
    edit.replace(changes)
    return len(changes) // 2


def _folded(edit: GraphEdit, conv: onnx.NodeProto, norm: onnx.NodeProto) -> tuple[onnx.NodeProto, ...]:
    """The convolution with other parameters, behind the nodes that compute these."""
    import numpy as np
    from onnx import NodeProto, helper

    name, nodes = conv.name, list[NodeProto]()
    kind = helper.tensor_dtype_to_np_dtype(edit.element_type(conv.input[1]) or 1)

    def made(op: str, what: str, *reads: str) -> str:
        result = edit.new_name(f"{name}.{what}")
        nodes.append(helper.make_node(op, list(reads), [result], name=edit.new_name(f"{name}.{what}.{op}")))
        return result

    scale, bias, mean, variance = norm.input[1:5]
    epsilon = edit.stored(f"{name}.epsilon", np.array(attributes(norm).get("epsilon", 1e-5), kind))
    factor = made("Div", "factor", scale, made("Sqrt", "deviation", made("Add", "variance", variance, epsilon)))
    filters = edit.stored(f"{name}.filters", np.array([-1] + [1] * (len(edit.shape(conv.input[1]) or (0,) * 4) - 1)))
    weights = made("Mul", "weights", conv.input[1], made("Reshape", "factors", factor, filters))
    before = conv.input[2] if len(conv.input) > 2 and conv.input[2] else None
    shift = made("Sub", "shift", before, mean) if before else made("Neg", "shift", mean)
    added = made("Add", "bias", made("Mul", "shifted", shift, factor), bias)
    changed = NodeProto()
    changed.CopyFrom(conv)
    changed.input[:] = [conv.input[0], weights, added]
    changed.output[0] = norm.output[0]
    return (*nodes, changed)
