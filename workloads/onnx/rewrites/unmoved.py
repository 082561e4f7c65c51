"""Nodes that pass on what they read: identities, casts to the same type, reshapes and transposes that move nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..shapes import attributes
from .edits import GraphEdit

if TYPE_CHECKING:
    import onnx

_RESHAPES = ("Expand", "Flatten", "Reshape", "Squeeze", "Unsqueeze")


def skip_unmoved(edit: GraphEdit) -> int:
    """Let readers read what such nodes read; how many nodes are skipped. What makes an output stays."""
    makers, results = edit.makers(), edit.results
    skipped = {
        node.output[0]: source
        for node in edit.nodes
        if node.output and node.output[0] not in results and not node.domain
        for source in [_passed_on(edit, node, makers)]
        if source is not None
    }
    edit.rename_reads(skipped)
    edit.replace({node.name: () for node in edit.nodes if node.output and node.output[0] in skipped})
    return len(skipped)


def _passed_on(edit: GraphEdit, node: onnx.NodeProto, makers: dict[str, onnx.NodeProto]) -> str | None:
    """The tensor that a node passes on; None: it does something."""
    given = attributes(node)
    read, made = node.input[0] if node.input else "", node.output[0]
    same_shape = edit.shape(read) is not None and edit.shape(read) == edit.shape(made)
    if node.op_type == "Identity":
        return read
    if node.op_type == "Cast":
        return read if edit.element_type(read) == given.get("to") else None
    if node.op_type in _RESHAPES:
        return read if same_shape else None
    if node.op_type == "Transpose":
        order = _order(edit, node)
        if order is None:
            return None
        if order == sorted(order):
            return read
        before = makers.get(read)
        if before is not None and before.op_type == "Transpose" and not before.domain:
            first = _order(edit, before)
            if first is not None and [first[i] for i in order] == sorted(order):
                return before.input[0]
    return None


def _order(edit: GraphEdit, node: onnx.NodeProto) -> list[int] | None:
    """Which axis each axis of a transpose was."""
    given = attributes(node).get("perm")
    if given:
        return list(given)
    shape = edit.shape(node.input[0])
    return None if shape is None else list(range(len(shape)))[::-1]
