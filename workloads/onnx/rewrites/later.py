"""DequantizeLinear behind what moves words or takes the largest of them: these are the same on integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..shapes import attributes
from .edits import GraphEdit

if TYPE_CHECKING:
    import onnx

_ON_INTEGERS = frozenset(("Flatten", "MaxPool", "Reshape", "Squeeze", "Transpose", "Unsqueeze"))
_SINCE = 12
"""The operator set from which MaxPool takes integers."""


def dequantize_later(edit: GraphEdit) -> int:
    """Let such nodes read the integers, and dequantize what they make; how many."""
    from ..shapes import type_name

    version = max((entry.version for entry in edit.model.opset_import if entry.domain in ("", "ai.onnx")), default=0)
    makers = edit.makers()
    changes: dict[str, tuple[onnx.NodeProto, ...]] = {}
    for node in edit.nodes:
        before = makers.get(node.input[0]) if node.input else None
        if before is None or node.op_type not in _ON_INTEGERS or node.domain or len(node.output) > 1:
            continue
        if before.op_type != "DequantizeLinear" or not _has_one_scale(edit, before) or version < _SINCE:
            continue
        kind = edit.element_type(before.input[0])
        if type_name(kind) in ("INT8", "UINT8"):
            changes[node.name] = _turned(edit, node, before)
            makers[node.output[0]] = changes[node.name][1]
    edit.replace(changes)
    return len(changes)


def _has_one_scale(edit: GraphEdit, node: onnx.NodeProto) -> bool:
    shapes = [edit.shape(name) for name in node.input[1:] if name]
    return all(shape is not None and all(size == 1 for size in shape) for shape in shapes) and not attributes(node).get(
        "block_size"
    )


def _turned(edit: GraphEdit, node: onnx.NodeProto, before: onnx.NodeProto) -> tuple[onnx.NodeProto, onnx.NodeProto]:
    """The node on integers, and then DequantizeLinear."""
    from onnx import NodeProto

    moved, after = NodeProto(), NodeProto()
    moved.CopyFrom(node)
    after.CopyFrom(before)
    result = node.output[0]
    integers = edit.new_name(f"{result}.integers")
    edit.tell(integers, edit.element_type(before.input[0]), edit.shape(result))
    moved.input[0], moved.output[0] = before.input[0], integers
    after.name = edit.new_name(f"{node.name}.DequantizeLinear")
    after.input[0], after.output[0] = integers, result
    return moved, after
