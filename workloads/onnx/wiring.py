"""What every graph must be: tensors are made once, before they are read, and what is read is made by something."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...ir import ProblemError, did_you_mean
from .files import STANDARD

if TYPE_CHECKING:
    import onnx


def check_wiring(model: onnx.ModelProto) -> None:
    """ProblemError for a tensor that two nodes make, one that nothing makes, a cycle, nodes that are not sorted, and a
    graph that hands out nothing.

    Subgraphs are left aside: they may read what is outside of them, and are not searched.
    """
    graph = model.graph
    if not graph.output:
        raise ProblemError("the graph has no outputs", hint="list the tensors that it hands out as its outputs")
    given = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    given |= {tensor.values.name for tensor in graph.sparse_initializer}
    makers: dict[str, onnx.NodeProto] = {}
    for node in graph.node:
        for name in filter(None, node.output):
            if name in makers:
                message = f"it makes {name}, which {_called(makers[name])} has made already"
                raise ProblemError(message, where=_called(node), hint="every tensor of a graph has one maker")
            makers[name] = node
    for node in graph.node:
        for name in filter(None, node.input):
            if name not in given and name not in makers:
                raise _nothing_makes(name, _called(node), given, makers)
    for result in graph.output:
        if result.name not in given and result.name not in makers:
            raise _nothing_makes(result.name, "the output of the graph", given, makers)
    _check_order(graph, given, makers)


def _nothing_makes(name: str, where: str, given: set[str], makers: Mapping[str, object]) -> ProblemError:
    hint = did_you_mean(name, [*given, *makers])
    message = f"it reads {name}, which is neither an input nor a parameter, and no node makes it"
    return ProblemError(message, where=where, hint=hint if hint.startswith("did you mean") else None)


def _check_order(graph: onnx.GraphProto, given: set[str], makers: Mapping[str, onnx.NodeProto]) -> None:
    made = set(given)
    for node in graph.node:
        early = next((name for name in node.input if name and name not in made), None)
        if early is not None:
            cycle = _cycle(makers)
            if cycle:
                raise ProblemError(f"a cycle: {' -> '.join(cycle)}", hint="the nodes of an ONNX graph form none")
            message = f"it reads {early}, which {_called(makers[early])} makes only after it"
            raise ProblemError(message, where=_called(node), hint="the nodes of an ONNX graph are sorted")
        made.update(node.output)


def _cycle(makers: Mapping[str, onnx.NodeProto]) -> list[str]:
    """Nodes that need one another, in the order of the data, from one of them back to itself; empty if none do."""
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    for node in {id(node): node for node in makers.values()}.values():
        graph.add_edges_from((_called(makers[name]), _called(node)) for name in node.input if name in makers)
    try:
        edges = nx.find_cycle(graph)
    except nx.NetworkXNoCycle:
        return []
    return [edges[0][0], *(reader for _, reader in edges)]


def _called(node: onnx.NodeProto) -> str:
    """A node as messages name it: its operator and its name, or that of what it makes."""
    return f"{node.op_type} {node.name or next(filter(None, node.output), '')}".strip()


def check_nodes(model: onnx.ModelProto) -> None:
    """ProblemError for a node of a standard operator that onnx refuses: it does not know the operator, or an attribute
    or input is missing, or one too many. Nodes with graphs of their own are not looked at."""
    from onnx import checker

    context = type(checker.DEFAULT_CONTEXT)()
    context.ir_version = model.ir_version
    context.opset_imports = {entry.domain: entry.version for entry in model.opset_import}
    for node in model.graph.node:
        has_graphs = any(one.HasField("g") or one.graphs for one in node.attribute)
        if node.domain in STANDARD and not has_graphs:
            try:
                checker.check_node(node, context)
            except checker.ValidationError as error:
                said = " ".join(str(error).partition("==> Context")[0].split())
                raise ProblemError(f"onnx refuses it: {said}", where=_called(node)) from None
