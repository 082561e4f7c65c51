"""Nodes with graphs of their own of which it is known before the model runs what they do: the branch that an If takes,
and all steps of a short Loop or Scan, in the place of the node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .shapes import folded, small_array
from .unrolled import Inliner, unrolled_loop, unrolled_scan

if TYPE_CHECKING:
    import onnx

    from .shapes import TypeAndShape
    from .unrolled import Stored

_HOLDING = ("If", "Loop", "Scan")


def settled(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without such nodes, as far as parameters and known shapes say what they do; nodes of their graphs keep
    their names where these are free."""
    while any(node.op_type in _HOLDING and not node.domain for node in model.graph.node):
        known, found = folded(model)
        copy = type(model)()
        copy.CopyFrom(model)
        stored = {tensor.name: tensor for tensor in model.graph.initializer} | found
        inliner, nodes, is_same = Inliner(copy), list["onnx.NodeProto"](), True
        for node in copy.graph.node:
            own = None if node.domain else _in_place(inliner, node, known, stored)
            nodes += [node] if own is None else own
            is_same = is_same and own is None
        if is_same:
            break
        del copy.graph.node[:]
        copy.graph.node.extend(nodes)
        model = copy
    return model


def _in_place(
    inliner: Inliner, node: onnx.NodeProto, known: dict[str, TypeAndShape], stored: Stored
) -> list[onnx.NodeProto] | None:
    """What stands in the place of a node; None: the node."""
    if node.op_type == "Loop":
        return unrolled_loop(inliner, node, stored)
    if node.op_type == "Scan":
        return unrolled_scan(inliner, node, known)
    return _branch(inliner, node, stored) if node.op_type == "If" else None


def _branch(inliner: Inliner, node: onnx.NodeProto, stored: Stored) -> list[onnx.NodeProto] | None:
    """The branch of an If whose condition is known; what it hands out is what the node made."""
    tensor = stored.get(node.input[0])
    array = None if tensor is None else small_array(tensor)
    if array is None:
        return None
    chosen = "then_branch" if array.ravel()[0] else "else_branch"
    graph = next(one.g for one in node.attribute if one.name == chosen)
    made = {name for inner in graph.node for name in inner.output if name}
    names: dict[str, str] = {}
    for inside, outside in zip((value.name for value in graph.output), node.output, strict=True):
        if outside and inside in made:
            names.setdefault(inside, outside)
    where = node.name or node.output[0]
    nodes, found = inliner.nodes_of(graph, names, where)
    return [*nodes, *inliner.ends(where, found, list(node.output))]
