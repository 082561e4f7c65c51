"""The graph of a model: its nodes with shapes and widths at hand, and who makes and who reads every tensor."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .nodes import OnnxNode, OnnxValue
from .shapes import RANDOM, TypeAndShape, folded, type_bits, type_name

if TYPE_CHECKING:
    import networkx as nx
    import onnx


def nodes_of(model: onnx.ModelProto) -> tuple[OnnxNode, ...]:
    """All nodes in order, each with a name of its own. Raises ProblemError for a model that onnx finds malformed."""
    values = _values(model, *folded(model))
    used: set[str] = set()
    version = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 0)
    return tuple(_as_meant(_node(node, values, used), version) for node in model.graph.node)


def _as_meant(node: OnnxNode, version: int) -> OnnxNode:
    """With what an operator set before 13 means by a softmax: over all axes from one on, the second unless stated."""
    if node.op not in ("LogSoftmax", "Softmax") or node.domain or version >= 13:
        return node
    return replace(node, attributes={"axis": 1, **node.attributes, "flattens": 1})


def named(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of a model in which every node has the name that `nodes_of` gives it."""
    copy = type(model)()
    copy.CopyFrom(model)
    used: set[str] = set()
    for node in copy.graph.node:
        node.name = _name(node, used)
    return copy


WRITTEN_FOR = "tilewright.node"
"""What a node that stands for one of the file says of it."""


def called_in_file(node: onnx.NodeProto) -> str:
    """What messages call a node: its operator and name, or those of the one for which it was written."""
    known = (entry.value for entry in node.metadata_props if entry.key == WRITTEN_FOR)
    return next(known, f"{node.op_type} {node.name or next(filter(None, node.output), '')}".rstrip())


def _name(node: onnx.NodeProto, used: set[str]) -> str:
    return _unique(node.name or next(filter(None, node.output), node.op_type), used)


def _values(model: onnx.ModelProto, known: Mapping[str, TypeAndShape], computed: Iterable[str]) -> dict[str, OnnxValue]:
    """Every tensor by name; those that were computed with shapes depend on parameters alone, too."""
    constants = {tensor.name for tensor in model.graph.initializer} | {*computed}
    constants |= {tensor.values.name for tensor in model.graph.sparse_initializer}
    for node in model.graph.node:
        # A subgraph may read tensors that are no inputs of its node.
        inner = any(_subgraphs(attribute) for attribute in node.attribute)
        if node.op_type not in RANDOM and not inner and all(not name or name in constants for name in node.input):
            constants.update(node.output)
    nodes = model.graph.node
    names = [*known, *(name for node in nodes for name in (*node.input, *captured(node), *node.output))]
    values = {}
    for name in dict.fromkeys(names):
        data_type, shape = known.get(name, (0, None))
        values[name] = OnnxValue(name, shape, type_bits(data_type), name in constants, type_name(data_type))
    return values


def _node(node: onnx.NodeProto, values: Mapping[str, OnnxValue], used: set[str]) -> OnnxNode:
    from onnx.helper import get_attribute_value

    attributes = {
        attribute.name: _plain(get_attribute_value(attribute))
        for attribute in node.attribute
        if not _subgraphs(attribute)
    }
    return OnnxNode(
        name=_name(node, used),
        op=node.op_type,
        domain="" if node.domain == "ai.onnx" else node.domain,
        inputs=(
            *(values[name] if name else None for name in node.input),
            *(values[name] for name in captured(node) if name in values and name not in node.input),
        ),
        outputs=tuple(values[name] for name in node.output if name),
        attributes=attributes,
        inner=tuple(_inner_operators(node)),
        written_for=called_in_file(node) if node.metadata_props else "",
    )


def _subgraphs(attribute: onnx.AttributeProto) -> list[onnx.GraphProto]:
    return [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]


def captured(node: onnx.NodeProto) -> list[str]:
    """Names of the tensors that the subgraphs of a node take from around it."""
    found: list[str] = []
    for graph in (graph for attribute in node.attribute for graph in _subgraphs(attribute)):
        own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
        own |= {name for inner in graph.node for name in inner.output}
        read = [name for inner in graph.node for name in (*inner.input, *captured(inner))]
        found += [name for name in (*read, *(value.name for value in graph.output)) if name and name not in own]
    return list(dict.fromkeys(found))


def _inner_operators(node: onnx.NodeProto) -> Iterator[str]:
    """Types of all nodes in the subgraphs of a node, and in theirs."""
    for graph in (graph for attribute in node.attribute for graph in _subgraphs(attribute)):
        for inner in graph.node:
            yield inner.op_type
            yield from _inner_operators(inner)


def _plain(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _unique(name: str, used: set[str]) -> str:
    """The name, or with a number behind it where another node has it."""
    found, number = name, 2
    while found in used:
        found, number = f"{name}_{number}", number + 1
    used.add(found)
    return found


_PACKED = frozenset(("INT2", "INT4", "INT8", "UINT2", "UINT4", "UINT8"))
"""Types of parameters that are stored so and multiplied as floats."""


def with_quantized_widths(nodes: Sequence[OnnxNode], results: Collection[str]) -> tuple[OnnxNode, ...]:
    """The nodes, with the widths that tensors have in memory where a model is quantized by surrounding nodes.

    results  names of the graph's outputs, which are stored as they are

    An operand that DequantizeLinear makes is read as what that node reads; a result that QuantizeLinear alone reads,
    at once or after a Relu or Clip (part of its saturation), is written as what that node writes. A parameter that is
    computed from stored words of few bits is read as these.
    """
    narrow = {node.output.name: node.input(0).bits for node in nodes if node.op == "DequantizeLinear"}
    for node in nodes:
        if node.outputs and node.output.constant and node.output.name not in narrow:
            packed = [narrow.get(value.name) for value in node.inputs if value is not None]
            if node.op == "Cast" and node.input(0).type in _PACKED and node.output.type.endswith(("FLOAT", "FLOAT16")):
                packed.append(node.input(0).bits)
            found = [bits for bits in packed if bits is not None]
            narrow |= {node.output.name: min(found)} if found else {}
    readers: dict[str, list[OnnxNode]] = {}
    for node in nodes:
        for value in filter(None, node.inputs):
            readers.setdefault(value.name, []).append(node)
    # Backwards, so that what is behind a Relu is known.
    for value in (value for node in reversed(nodes) for value in node.outputs if value.name not in results):
        after = {_quantized_to(node, narrow) for node in readers.get(value.name, ())}
        if len(after) == 1 and None not in after:
            narrow[value.name] = after.pop()

    def held(value: OnnxValue) -> OnnxValue:
        return replace(value, bits=narrow.get(value.name) or value.bits)

    return tuple(
        replace(
            node,
            inputs=tuple(value and held(value) for value in node.inputs),
            outputs=tuple(held(value) for value in node.outputs),
        )
        for node in nodes
    )


def _quantized_to(reader: OnnxNode, narrow: Mapping[str, int | None]) -> int | None:
    """Width of what a reader writes, if it quantizes; None otherwise."""
    if reader.op == "QuantizeLinear":
        return reader.output.bits
    return narrow.get(reader.output.name) if reader.op in ("Clip", "Relu") else None


def graph_of(model: onnx.ModelProto, nodes: Iterable[OnnxNode]) -> nx.MultiDiGraph[str]:
    """Producers and consumers: an edge for each tensor and reader, from the node that makes it.

    Vertices are node names with `op`, and the tensors that come from outside or go there: `input NAME`,
    `parameter NAME` and `output NAME`. Edges have `tensor`, `shape`, `bits` of an element, and `bytes` of the whole
    tensor; what is not known is None.
    """
    import networkx as nx

    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    made: dict[str, str] = {}
    for tensor in model.graph.initializer:
        made[tensor.name] = f"parameter {tensor.name}"
    for value in model.graph.input:
        made.setdefault(value.name, f"input {value.name}")
    seen: dict[str, OnnxValue] = {}
    for node in nodes:
        graph.add_node(node.name, op=node.op)
        for operand in filter(None, node.inputs):
            _connect(graph, made, operand, node.name)
        made.update((value.name, node.name) for value in node.outputs)
        seen.update((value.name, value) for value in (*node.outputs, *filter(None, node.inputs)))
    for result in model.graph.output:
        _connect(graph, made, seen.get(result.name, OnnxValue(result.name)), f"output {result.name}")
    return graph


def _connect(graph: nx.MultiDiGraph[str], made: Mapping[str, str], value: OnnxValue, reader: str) -> None:
    source = made.get(value.name, f"input {value.name}")
    for vertex in (source, reader):
        if vertex not in graph:
            graph.add_node(vertex, op=vertex.partition(" ")[0])
    graph.add_edge(source, reader, tensor=value.name, shape=value.shape, bits=value.bits, bytes=value.bytes)
