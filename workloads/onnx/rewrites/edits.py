"""A graph that is being changed: who makes and who reads every tensor, new names, new nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..graph import named
from ..new_tensors import NewTensors
from ..shapes import RANDOM, TypeAndShape, infer, small_array

if TYPE_CHECKING:
    import numpy as np
    import onnx


class GraphEdit(NewTensors):
    """A copy of a model, every node of which has a name."""

    def __init__(self, model: onnx.ModelProto) -> None:
        super().__init__(named(model))

    @property
    def nodes(self) -> list[onnx.NodeProto]:
        """All of them, in order."""
        return list(self.model.graph.node)

    @property
    def results(self) -> set[str]:
        """Names of what the graph hands out."""
        return {value.name for value in self.model.graph.output}

    @cached_property
    def _known(self) -> dict[str, TypeAndShape]:
        return infer(self.model)

    def shape(self, name: str) -> tuple[int, ...] | None:
        """Of a tensor; None where it is not known."""
        return self._known.get(name, (0, None))[1]

    def element_type(self, name: str) -> int:
        """Of a tensor, by ONNX's number; 0 where it is not known."""
        return self._known.get(name, (0, None))[0]

    def tell(self, name: str, element_type: int, shape: tuple[int, ...] | None) -> None:
        """Of a new tensor."""
        self._known[name] = element_type, shape

    def makers(self) -> dict[str, onnx.NodeProto]:
        """Who makes a tensor."""
        return {name: node for node in self.nodes for name in node.output if name}

    def readers(self) -> dict[str, list[onnx.NodeProto]]:
        """Who reads a tensor, in a subgraph too."""
        found: dict[str, list[onnx.NodeProto]] = {}
        for node in self.nodes:
            for name in dict.fromkeys(names_read(node)):
                found.setdefault(name, []).append(node)
        return found

    def constants(self) -> set[str]:
        """Names of parameters, and of what depends on them alone."""
        found = {tensor.name for tensor in self.model.graph.initializer}
        for node in self.nodes:
            reads = list(names_read(node))
            if node.op_type not in RANDOM and all(name in found for name in reads):
                found.update(node.output)
        return found

    def array(self, name: str) -> np.ndarray[Any, Any] | None:
        """A small parameter whose data is at hand."""
        found = (tensor for tensor in self.model.graph.initializer if tensor.name == name)
        return next(map(small_array, found), None)

    def replace(self, changes: Mapping[str, Iterable[onnx.NodeProto]]) -> None:
        """Other nodes in the places of some, by name."""
        left = [new for node in self.nodes for new in changes.get(node.name, (node,))]
        del self.model.graph.node[:]
        self.model.graph.node.extend(left)

    def rename_reads(self, renamed: Mapping[str, str]) -> None:
        """All nodes read other tensors."""

        def final(name: str) -> str:
            while name in renamed:
                name = renamed[name]
            return name

        for node in self.model.graph.node:
            for i, name in enumerate(node.input):
                node.input[i] = final(name)
            for graph in subgraphs(node):
                _rename_in(graph, final)


def _rename_in(graph: onnx.GraphProto, final: Any) -> None:
    for node in graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = final(name)
        for inner in subgraphs(node):
            _rename_in(inner, final)
    for value in graph.output:
        value.name = final(value.name)


def subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """Of If, Loop and Scan."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def names_read(node: onnx.NodeProto) -> Iterator[str]:
    """All tensors that a node reads, those in its subgraphs too."""
    yield from filter(None, node.input)
    for graph in subgraphs(node):
        for inner in graph.node:
            yield from names_read(inner)
        yield from (value.name for value in graph.output)
