"""If nodes whose condition is known before the model runs: the branch that is taken, in the place of the node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .graph import captured
from .shapes import folded, small_array

if TYPE_CHECKING:
    import onnx


def settled(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with a branch in place of every If whose condition depends on parameters and known shapes alone; nodes
    of a branch keep their names where these are free."""
    while any(_is_choice(node) for node in model.graph.node):
        known = {tensor.name: tensor for tensor in model.graph.initializer} | folded(model)[1]
        conditions = {node.input[0]: known[node.input[0]] for node in model.graph.node if _known(node, known)}
        if not conditions:
            break
        model = _with_branches(model, conditions)
    return model


def _is_choice(node: onnx.NodeProto) -> bool:
    return node.op_type == "If" and not node.domain


def _known(node: onnx.NodeProto, known: dict[str, onnx.TensorProto]) -> bool:
    return _is_choice(node) and node.input[0] in known and small_array(known[node.input[0]]) is not None


def _with_branches(model: onnx.ModelProto, conditions: dict[str, onnx.TensorProto]) -> onnx.ModelProto:
    from onnx.helper import get_attribute_value

    copy = type(model)()
    copy.CopyFrom(model)
    taken = {name for node in copy.graph.node for name in (*node.output, *node.input)}
    taken |= {tensor.name for tensor in copy.graph.initializer} | {value.name for value in copy.graph.input}
    nodes: list[onnx.NodeProto] = []
    for node in copy.graph.node:
        if not (_is_choice(node) and node.input[0] in conditions):
            nodes.append(node)
            continue
        array = small_array(conditions[node.input[0]])
        assert array is not None
        chosen = "then_branch" if array.ravel()[0] else "else_branch"
        graph = next(get_attribute_value(one) for one in node.attribute if one.name == chosen)
        nodes += _in_place(node, graph, copy, taken)
    del copy.graph.node[:]
    copy.graph.node.extend(nodes)
    return copy


def _in_place(
    node: onnx.NodeProto, graph: onnx.GraphProto, model: onnx.ModelProto, taken: set[str]
) -> Iterator[onnx.NodeProto]:
    """The nodes of a branch, with names of tensors that no other has; what it hands out is what the node made."""
    from onnx import helper

    names = _names(node, graph, taken)
    for tensor in graph.initializer:
        model.graph.initializer.append(_renamed(tensor, names))
    model.graph.value_info.extend(_renamed(value, names) for value in graph.value_info if value.name in names)
    for inner in graph.node:
        renamed = type(inner)()
        renamed.CopyFrom(inner)
        _rename(renamed, names)
        for place, name in enumerate(renamed.output):
            renamed.output[place] = names.get(name, name)
        yield renamed
    for inside, outside in zip((value.name for value in graph.output), node.output, strict=True):
        if outside and names.get(inside) != outside:
            yield helper.make_node("Identity", [names.get(inside, inside)], [outside], f"{node.name or outside}.result")


def _names(node: onnx.NodeProto, graph: onnx.GraphProto, taken: set[str]) -> dict[str, str]:
    """What the tensors that a branch makes or stores are called around it."""
    names: dict[str, str] = {}
    made = {name for inner in graph.node for name in inner.output if name}
    for inside, outside in zip((value.name for value in graph.output), node.output, strict=True):
        if outside and inside in made and inside not in names:
            names[inside] = outside
    for name in [*(tensor.name for tensor in graph.initializer), *made]:
        if name not in names:
            names[name] = name if name not in taken else f"{node.name or node.output[0]}.{name}"
            taken.add(names[name])
    return names


def _renamed(one: Any, names: dict[str, str]) -> Any:
    """A tensor or a type with its name around the branch."""
    copy = type(one)()
    copy.CopyFrom(one)
    copy.name = names[one.name]
    return copy


def _rename(node: onnx.NodeProto, names: dict[str, str]) -> None:
    """Let a node, and graphs inside it, read other tensors."""
    around = set(captured(node))
    for place, name in enumerate(node.input):
        node.input[place] = names.get(name, name)
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for inner in graph.node:
                _rename(inner, {name: new for name, new in names.items() if name in around})
            for value in graph.output:
                value.name = names.get(value.name, value.name) if value.name in around else value.name
