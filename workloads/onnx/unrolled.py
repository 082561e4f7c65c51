"""Loops and scans of a known number of short steps: the nodes of every step, in the place of the node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .graph import captured
from .new_tensors import NewTensors
from .shapes import TypeAndShape, attributes, small_array

if TYPE_CHECKING:
    import onnx

MOST_STEP_NODES, MOST_NODES = 600, 20_000
"""Nodes of all steps together, and of the model: of more an operator stays one, and is computed apart."""

Stored = Mapping[str, "onnx.TensorProto"]


class Inliner(NewTensors):
    """Puts graphs in the places of nodes of a model, each tensor of them under a name that no other has."""

    def nodes_of(
        self, graph: onnx.GraphProto, names: dict[str, str], where: str
    ) -> tuple[list[onnx.NodeProto], list[str]]:
        """The nodes of a graph under names of their own, and what its outputs are called then.

        names  of what it is given, and of what is to have a certain name
        """
        names = dict(names)
        made = {name for inner in graph.node for name in inner.output if name}
        for name in [*(tensor.name for tensor in graph.initializer), *sorted(made)]:
            if name not in names:
                names[name] = name if name not in self.taken else self.new_name(f"{where}.{name}")
                self.taken.add(names[name])
        self.model.graph.initializer.extend(_renamed(tensor, names) for tensor in graph.initializer)
        known = (value for value in graph.value_info if value.name in names)
        self.model.graph.value_info.extend(_renamed(value, names) for value in known)
        return [_copy(inner, names) for inner in graph.node], [names.get(one.name, one.name) for one in graph.output]

    def ends(self, where: str, found: list[str], outputs: list[str]) -> Iterator[onnx.NodeProto]:
        """What gives results the names that a node's outputs have."""
        from onnx import helper

        for inside, outside in zip(found, outputs, strict=True):
            if outside and inside != outside:
                yield helper.make_node("Identity", [inside], [outside], f"{where}.result")


def _copy(node: onnx.NodeProto, names: dict[str, str]) -> onnx.NodeProto:
    renamed = type(node)()
    renamed.CopyFrom(node)
    _rename(renamed, names)
    for place, name in enumerate(renamed.output):
        renamed.output[place] = names.get(name, name)
    return renamed


def _renamed(one: Any, names: Mapping[str, str]) -> Any:
    """A tensor or a type with its name around the graph."""
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


def unrolled_loop(inliner: Inliner, node: onnx.NodeProto, stored: Stored) -> list[onnx.NodeProto] | None:
    """All steps of a Loop whose count is known and whose condition does not change; None for others."""
    import numpy as np

    graph = attributes(node)["body"]
    count, going = (_whole(stored.get(name)) if name else None for name in node.input[:2])
    carried = list(node.input[2:])
    if not count or not _is_short(inliner, graph, count) or (node.input[1] and not going) or not _goes_on(graph):
        return None
    where, inputs = node.name or node.output[0], [value.name for value in graph.input]
    condition = node.input[1] or inliner.stored(f"{where}.condition", np.array(True))
    nodes: list[onnx.NodeProto] = []
    parts: list[list[str]] = []
    for step in range(count):
        number = inliner.stored(f"{where}.{step}", np.array(step))
        bound = dict(zip(inputs, (number, condition, *carried), strict=True))
        own, made = inliner.nodes_of(graph, bound, f"{where}.{step}")
        nodes += own
        carried, parts = made[1 : 1 + len(carried)], [*parts, made[1 + len(carried) :]]
    rows = [_stacked(inliner, nodes, where, list(each), 0) for each in zip(*parts, strict=True)]
    return [*nodes, *inliner.ends(where, [*carried, *rows], list(node.output))]


def unrolled_scan(
    inliner: Inliner, node: onnx.NodeProto, known: Mapping[str, TypeAndShape]
) -> list[onnx.NodeProto] | None:
    """All steps of a Scan over tensors of known shape; None for others."""
    import numpy as np
    from onnx import helper

    given = attributes(node)
    graph, read = given["body"], given["num_scan_inputs"]
    carried, rows = list(node.input[: len(node.input) - read]), list(node.input[len(node.input) - read :])
    outputs = len(node.output) - len(carried)
    if inliner.version < _UNBATCHED or "" in node.input:
        return None
    axes, ways = (list(given.get(f"scan_input_{what}", [0] * read)) for what in ("axes", "directions"))
    ends, back = (list(given.get(f"scan_output_{what}", [0] * outputs)) for what in ("axes", "directions"))
    shape = known.get(rows[0], (0, None))[1] if rows else None
    count = shape[axes[0]] if shape else 0
    if not count or not _is_short(inliner, graph, count):
        return None
    where, inputs = node.name or node.output[0], [value.name for value in graph.input]
    nodes: list[onnx.NodeProto] = []
    parts: list[list[str]] = []
    for step in range(count):
        taken = []
        for row, axis, way in zip(rows, axes, ways, strict=True):
            place = inliner.stored(f"{where}.{step}", np.array(count - 1 - step if way else step))
            taken.append(inliner.new_name(f"{where}.{row}.{step}"))
            nodes.append(helper.make_node("Gather", [row, place], [taken[-1]], f"{where}.{step}.row", axis=axis))
        own, made = inliner.nodes_of(graph, dict(zip(inputs, (*carried, *taken), strict=True)), f"{where}.{step}")
        nodes += own
        carried, parts = made[: len(carried)], [*parts, made[len(carried) :]]
    found = list(carried)
    for each, axis, way in zip(zip(*parts, strict=True), ends, back, strict=True):
        found.append(_stacked(inliner, nodes, where, list(each)[:: -1 if way else 1], axis))
    return [*nodes, *inliner.ends(where, found, list(node.output))]


_UNBATCHED, _AXES_AS_INPUT = 9, 13
"""Operator sets: since when a Scan has no batch, and since when Unsqueeze reads its axes."""


def _stacked(inliner: Inliner, nodes: list[onnx.NodeProto], where: str, parts: list[str], axis: int) -> str:
    """What every step makes, along a new axis."""
    import numpy as np
    from onnx import helper

    own, inputs = [], []
    given: dict[str, Any] = {} if inliner.version >= _AXES_AS_INPUT else {"axes": [axis]}
    if not given:
        inputs = [inliner.stored(f"{where}.axis", np.array([axis]))]
    for part in parts:
        own.append(inliner.new_name(f"{where}.{part}.wide"))
        nodes.append(helper.make_node("Unsqueeze", [part, *inputs], [own[-1]], f"{where}.wide", **given))
    name = inliner.new_name(f"{where}.rows")
    nodes.append(helper.make_node("Concat", own, [name], f"{where}.rows", axis=axis))
    return name


def _is_short(inliner: Inliner, graph: onnx.GraphProto, count: int) -> bool:
    nodes = count * max(1, len(graph.node))
    return count > 0 and nodes <= MOST_STEP_NODES and len(inliner.model.graph.node) + nodes <= MOST_NODES


def _goes_on(graph: onnx.GraphProto) -> bool:
    """Whether a body hands its condition on, or a true one."""
    makers = {name: node for node in graph.node for name in node.output}
    stored = {tensor.name: tensor for tensor in graph.initializer}
    name, given = graph.output[0].name, graph.input[1].name
    while name in makers and makers[name].op_type == "Identity":
        name = makers[name].input[0]
    if name in makers and makers[name].op_type == "Constant":
        return bool(_whole(attributes(makers[name]).get("value")))
    return name == given or bool(_whole(stored.get(name)))


def _whole(tensor: onnx.TensorProto | None) -> int | None:
    """The one number of a small tensor."""
    array = None if tensor is None else small_array(tensor)
    return int(array.ravel()[0]) if array is not None and array.size == 1 else None
