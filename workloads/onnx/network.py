"""A network from an ONNX file: its dense operations as layers, equal ones once, and all the rest counted."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ...ir import ProblemError, did_you_mean
from ..graph import ModelTensor, NetworkMeaning
from ..network import Network, NetworkLayer, Uncounted, Widths
from .attention import attention
from .convolutions import check_sizes, conv, conv_integer, qlinear_conv
from .deformed import deform_conv
from .edges import GraphEnds, onnx_wiring
from .einsums import einsum_node
from .expanded import read_expanded
from .files import Given
from .graph import graph_of, nodes_of, with_quantized_widths
from .nodes import Dense, OnnxNode, OnnxValue, Operator, Repeated, read_by
from .passed import PassedThrough, passed_node, summed
from .products import gemm_node, matmul, matmul_integer, qlinear_matmul
from .recurrent import recurrent
from .rewrites import rewritten
from .shapes import check_declared
from .transposed import conv_transpose
from .unknown import undecided, unknown_shape
from .values import StoredModel
from .wiring import check_nodes, check_wiring

if TYPE_CHECKING:
    import networkx as nx
    import onnx

OPERATORS: Mapping[str, Operator] = {
    "Attention": attention,
    "Conv": conv,
    "ConvInteger": conv_integer,
    "ConvTranspose": conv_transpose,
    "DeformConv": deform_conv,
    "Einsum": einsum_node,
    "GRU": recurrent,
    "Gemm": gemm_node,
    "LSTM": recurrent,
    "MatMul": matmul,
    "MatMulInteger": matmul_integer,
    "QLinearConv": qlinear_conv,
    "QLinearMatMul": qlinear_matmul,
    "RNN": recurrent,
}
"""The operators of the standard domain that become problems."""

_BESIDE = "beside a dense operation"
_EMPTY = "of no elements: nothing to compute"


@dataclass(frozen=True)
class OnnxNetwork(Network):
    """A network read from an ONNX file.

    passed  what is not searched, summed by kind
    rewrites  by pass (`rewrites/`), how often it found something to do in what `wiring` is of; and functions of one
            word that are done as words are written, as "epilogues"
    notes   what the file says and is not so
    graph   producers, consumers, and the shape and bytes of every edge (`graph_of`); `wiring` has the layers alone
    """

    passed: tuple[PassedThrough, ...] = ()
    rewrites: Mapping[str, int] = field(default_factory=dict, hash=False)
    notes: tuple[str, ...] = ()
    graph: nx.MultiDiGraph[str] = field(kw_only=True, repr=False, compare=False, hash=False)

    @cached_property
    def uncounted(self) -> Uncounted:
        """Layers that its graph lacks, since it was simplified, and operators that nothing is known of."""
        known = super().uncounted
        unknown = (one.what for one in self.passed if one.operations is None)
        return replace(known, names=tuple(dict.fromkeys((*known.names, *unknown))))

    @cached_property
    def operations(self) -> int:
        """Multiply-accumulates of all layers, and operations of what is passed through, as far as it can be counted."""
        return self.macs + sum(one.operations or 0 for one in self.passed)

    def layer(self, name: str) -> NetworkLayer:
        """The layer that stands for that node; ProblemError names the nearest one otherwise."""
        for layer in self.layers:
            if name in layer.nodes:
                return replace(layer, name=name, problem=replace(layer.problem, name=f"{self.name}:{name}"))
        parts = [layer.name for layer in self.layers for node in layer.nodes if node.startswith(f"{name}#")]
        if parts:
            hint = f"its parts are {', '.join(dict.fromkeys(parts))}"
            raise ProblemError(f"{name!r} is several problems", where=f"network {self.name}", hint=hint)
        names = [node for layer in self.layers for node in layer.nodes]
        raise ProblemError(f"unknown layer {name!r}", where=f"network {self.name}", hint=did_you_mean(name, names))


def load_onnx(path: Path, dims: Given | None = None, widths: Widths = "file") -> OnnxNetwork:
    """The network in an ONNX file.

    dims    sizes of symbolic dimensions of its inputs, by name
    widths  "file": words are as wide as the element types say; "arch": as wide as those of the architecture

    Every node whose operator is in OPERATORS is a layer, or several where it is made of several problems
    (`name#1`, ...); nodes of equal problems are one layer, `repeat` of them, listed in `nodes`.

    Raises ProblemError for a file that is no ONNX model, symbols without a size or unknown, an operator set that is
    not known, and dense operations whose shapes are not known before the model runs.
    """
    model = read_expanded(path, dims or {})
    try:
        check_wiring(model)
        check_nodes(model)
        nodes = nodes_of(model)
        check_sizes(nodes)
        narrowed = with_quantized_widths(nodes, [result.name for result in model.graph.output])
    except ProblemError as error:
        raise error.located(str(path)) from None
    found: dict[str, list[tuple[str, Repeated]]] = {}
    passed: list[PassedThrough] = []
    for node in narrowed:
        operator = OPERATORS.get(node.op) if _is_read(node) else None
        if operator is None:
            continue
        dense = _dense(operator, node, nodes, model, str(path))
        parts = dense.parts if widths == "file" else tuple(_of_any_width(part) for part in dense.parts)
        found[node.name] = _named(node.name, parts)
        beside = [PassedThrough(what, 1, count, 0, _BESIDE) for what, count in dense.others.items() if count]
        passed += beside if parts or beside else [PassedThrough(node.op, 1, 0, 0, _EMPTY)]
    try:
        notes = check_declared(model, {value.name: value.shape for node in nodes for value in node.outputs})
    except ProblemError as error:
        raise error.located(str(path)) from None
    passed += [passed_node(node) for node in nodes if not _is_read(node)]
    layers = tuple(_layers(path.stem, itertools.chain(*found.values())))
    simpler, counts = rewritten(model)
    ends = GraphEnds(*(tuple(value.name for value in end) for end in (model.graph.input, model.graph.output)))
    simpler_nodes = nodes_of(simpler)
    wiring, epilogues = onnx_wiring(
        path.stem,
        simpler_nodes,
        layers,
        found,
        OPERATORS,
        ends=ends,
        stored=StoredModel(path, dims or {}, simpler),
    )
    assert wiring.meaning is not None, "onnx_wiring gives one"
    given, handed = _ends(ends, wiring.meaning, simpler_nodes)
    wiring = replace(wiring, meaning=replace(wiring.meaning, given=given, handed=handed))
    return OnnxNetwork(
        path.stem,
        _source(model, path, dims or {}),
        layers,
        passed=summed(passed),
        rewrites={**counts, **({"epilogues": epilogues} if epilogues else {})},
        notes=(*notes, *undecided(nodes, [value.name for value in model.graph.input])),
        graph=graph_of(model, nodes),
        wiring=wiring,
    )


def _ends(
    ends: GraphEnds, meaning: NetworkMeaning, nodes: Iterable[OnnxNode]
) -> tuple[tuple[ModelTensor, ...], tuple[ModelTensor, ...]]:
    """What is read of the inputs of a model, and its outputs; none of these where some are not known."""
    values = {value.name: value for node in nodes for value in (*node.inputs, *node.outputs) if value is not None}
    names = [key if key in values else key.removeprefix("input ") for key in meaning.inputs]
    results = ends.results if len(meaning.outputs) == len(ends.results) else ()
    given = tuple(_end(values[name], key) for name, key in zip(names, meaning.inputs, strict=True))
    return given, tuple(_end(values[name], key) for name, key in zip(results, meaning.outputs, strict=False))


def _end(value: OnnxValue, key: str) -> ModelTensor:
    from onnx import TensorProto, helper

    dtype = helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(value.type))
    return ModelTensor(value.name, key, value.shape or (), str(dtype))


def _is_read(node: OnnxNode) -> bool:
    """Whether a node is read as layers: not if it need not run with the model."""
    return node.op in OPERATORS and not node.domain and not all(value.constant for value in node.outputs)


def _dense(operator: Operator, node: OnnxNode, nodes: Sequence[OnnxNode], model: onnx.ModelProto, where: str) -> Dense:
    try:
        for value in (*node.inputs, *node.outputs):
            if value is not None and value.shape is None:
                raise unknown_shape(value.name, node, nodes, model, OPERATORS)
        for value in filter(None, node.inputs):
            if value.constant and value.elements == 0 and len(value.shape or ()) > 1:
                raise ProblemError(
                    f"the weight {value.name} is {list(value.shape or ())}: no elements", where=node.where
                )
        return read_by(operator, node)
    except ProblemError as error:
        raise error.located(where) from None


def _named(name: str, parts: tuple[Repeated, ...]) -> list[tuple[str, Repeated]]:
    if len(parts) == 1:
        return [(name, parts[0])]
    return [(f"{name}#{number}", part) for number, part in enumerate(parts, 1)]


def _of_any_width(part: Repeated) -> Repeated:
    """The part with the architecture's widths: its tensors state none."""
    tensors = tuple(replace(tensor, bits=None, partial_bits=None) for tensor in part.problem.tensors)
    return replace(part, problem=replace(part.problem, tensors=tensors))


def _layers(network: str, found: Iterable[tuple[str, Repeated]]) -> Iterable[NetworkLayer]:
    """Equal problems as one layer, in the order of their first nodes."""
    equal: dict[object, list[tuple[str, Repeated]]] = {}
    for name, part in found:
        key = (part.problem.dims, part.problem.tensors, part.weights is not None)
        equal.setdefault(key, []).append((name, part))
    for same in equal.values():
        name, first = same[0]
        # Parts of one transposed convolution use different taps of one tensor: `times` counts those.
        own = {part.weights: part.times // part.steps for _, part in same}
        yield NetworkLayer(
            problem=replace(first.problem, name=f"{network}:{name}"),
            repeat=sum(part.times for _, part in same),
            is_weight=first.weights is not None,
            name=name,
            shared=sum(part.times for _, part in same) - sum(own.values()) if first.weights else 0,
            nodes=tuple(name for name, _ in same),
        )


def _source(model: onnx.ModelProto, path: Path, dims: Given) -> str:
    """The file, what wrote it, and the sizes that were given."""
    versions = [f"operator set {entry.version}" for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    maker = " ".join(filter(None, (model.producer_name, model.producer_version)))
    sizes = ", ".join(f"{symbol}={size}" for symbol, size in dims.items())
    parts = (path.name, f"written by {maker}" if maker else "", *versions, sizes)
    return ", ".join(filter(None, parts))
