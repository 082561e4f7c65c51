"""Which layer of an ONNX file reads which: nodes as occurrences, without those that only rename or move words.

Every tensor is a *view* of what an occurrence makes: its axes as runs of words with strides, so that Reshape and
Transpose are no operations. Functions of one word (Relu, a bias, a batch norm, a scale) are done as outputs are
written, and pass a view on. What is not followed here stays in the graph as something from outside.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...ir import Problem, ProblemError, Rank
from ..graph.occurrences import LAYER, OUTSIDE, DimPart, NetworkGraph, Occurrence, Source
from ..network import NetworkLayer
from .convolutions import auto_pad_of, pads_of
from .nodes import OnnxNode, OnnxValue

Run = tuple[int, int]
"""Words one behind the other: how many, and how far apart in what was made."""


@dataclass(frozen=True)
class TensorView:
    """A tensor as it lies in what an occurrence makes.

    source  the occurrence, or an input of the model
    axes    for each axis its runs, slowest first; runs of one word are left out
    """

    source: str
    axes: tuple[tuple[Run, ...], ...]

    @property
    def runs(self) -> list[Run]:
        return [run for axis in self.axes for run in axis]

    @property
    def is_as_made(self) -> bool:
        """Whether its words have the order in which they were made."""
        strides = [stride for _, stride in self.runs]
        return strides == sorted(strides, reverse=True)


def made(source: str, shape: Sequence[int]) -> TensorView:
    """What an occurrence makes, as it makes it."""
    strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    return TensorView(source, tuple(((n, s),) if n > 1 else () for n, s in zip(shape, strides, strict=True)))


def onnx_wiring(
    network: str,
    nodes: Iterable[OnnxNode],
    layers: Sequence[NetworkLayer],
    problems: Mapping[str, Problem],
    dense: Iterable[str],
) -> NetworkGraph:
    """The graph of an ONNX file's layers and of what is done between them.

    nodes     in order
    layers    of the network
    problems  by node, of those that are one problem
    dense     operators that become problems
    """
    rows = {node: layer.name for layer in layers for node in layer.nodes}
    every = list(nodes)
    reader = _NodeReader(rows, problems, frozenset(dense), {node.name for node in every})
    for node in every:
        reader.read(node)
    return NetworkGraph(network, tuple(reader.found))


class _NodeReader:
    """One use for one file."""

    def __init__(
        self, rows: Mapping[str, str], problems: Mapping[str, Problem], dense: frozenset[str], taken: set[str]
    ) -> None:
        self.rows, self.problems, self.dense, self.taken = rows, problems, dense, taken
        self.views: dict[str, TensorView] = {}
        self.shapes: set[str] = set()
        self.found: list[Occurrence] = []

    def read(self, node: OnnxNode) -> None:
        """Add an occurrence for a node, or pass on what it reads."""
        if all(value.constant for value in node.outputs):
            return
        moving = [value for value in node.inputs if value is not None and not value.constant]
        values = [value for value in moving if value.name not in self.shapes]
        if node.op in ("Shape", "Size") or (moving and not values):
            self.shapes |= {value.name for value in node.outputs}
            return
        is_layer = not node.domain and node.op in self.dense and bool(node.outputs)
        try:
            view = None if is_layer or node.domain else self._passed(node, values)
            if view is not None:
                self.views[node.output.name] = view
            else:
                self._add(node, self._layer(node) if is_layer else self._between(node, values))
        except ProblemError:  # attributes that nothing else asks for
            self._add(node, self._outside(node, LAYER if node.name in self.rows else OUTSIDE))

    def view(self, value: OnnxValue) -> TensorView | None:
        """How a tensor lies in what was made; None where its shape is not known. What nothing has made comes from
        outside."""
        if value.name not in self.views and value.shape is not None:
            name = f"input {value.name}" if value.name in self.taken else value.name
            self.found.append(Occurrence(name, OUTSIDE, shape=value.shape))
            self.views[value.name] = made(name, value.shape)
        return self.views.get(value.name)

    def _add(self, node: OnnxNode, occurrence: Occurrence) -> None:
        self.found.append(occurrence)
        for number, value in enumerate(node.outputs):
            if value.shape is not None:
                name = occurrence.name if number == 0 else f"{occurrence.name}:{number}"
                self.views[value.name] = made(name, value.shape)

    def _outside(self, node: OnnxNode, kind: str = OUTSIDE) -> Occurrence:
        names = [self.views[value.name].source for value in node.inputs if value and value.name in self.views]
        shape = node.outputs[0].shape if node.outputs else None
        row = self.rows.get(node.name, "") if kind == LAYER else ""
        return Occurrence(node.name, kind, tuple(map(Source, dict.fromkeys(names))), layer=row, shape=shape)

    # ---- layers ----------------------------------------------------------------------------------------------

    def _layer(self, node: OnnxNode) -> Occurrence:
        problem = self.problems.get(node.name)
        positions = _OPERANDS.get(node.op)
        for value in node.inputs:
            if value is not None and not value.constant:
                self.view(value)
        if problem is None or positions is None or node.name not in self.rows:
            return self._outside(node, LAYER if node.name in self.rows else OUTSIDE)
        operands = [node.input(position) for position in positions]
        swapped = operands[0].constant and not operands[1].constant
        orders = [_order(tensor.ranks) for tensor in problem.operands]
        writes = _order(problem.output.ranks)
        if swapped:
            operands.reverse()
            orders = [_swapped(order) for order in orders]
            writes = _swapped(writes)
        if node.op == "Gemm":
            flags = ["transA", "transB"][:: -1 if swapped else 1]
            orders = [_swapped(o) if node.integer(f, 0) else o for o, f in zip(orders, flags, strict=True)]
        sources = []
        for operand, order, tensor in zip(operands, orders, problem.operands, strict=True):
            if operand.constant:
                break
            view = self.view(operand)
            found = _lying(view, order, tensor.ranks, problem) if view is not None else None
            if view is None or found is None:
                return self._outside(node, LAYER)
            sources.append(Source(view.source, found, _zeros(node, tensor.ranks)))
        row = self.rows[node.name]
        return Occurrence(node.name, LAYER, tuple(sources), problem=problem, layer=row, writes=writes)

    # ---- what is passed on -------------------------------------------------------------------------------------

    def _passed(self, node: OnnxNode, values: Sequence[OnnxValue]) -> TensorView | None:
        """The view that a node passes on: what it reads, in another shape or order, or changed word by word."""
        views = [self.view(value) for value in values]
        if not views or views[0] is None or node.output.shape is None or any(view != views[0] for view in views):
            return None
        view, shape = views[0], node.output.shape
        if node.op in _BY_WORD.split():
            return view if values[0].shape == shape else None
        if node.op in ("Reshape", "Flatten", "Squeeze", "Unsqueeze"):
            axes = _regrouped(view.runs, shape)
            return None if axes is None else TensorView(view.source, axes)
        if node.op == "Transpose":
            order = node.integers("perm", len(shape), 0) if node.attributes.get("perm") else range(len(shape))[::-1]
            return TensorView(view.source, tuple(view.axes[i] for i in order))
        return None

    # ---- between layers ----------------------------------------------------------------------------------------

    def _between(self, node: OnnxNode, values: Sequence[OnnxValue]) -> Occurrence:
        views = [view for value in values if (view := self.view(value)) is not None]
        kind = _kind(node)
        as_made = len(views) == len(values) and all(view.is_as_made for view in views)
        same = bool(values) and all(value.shape == values[0].shape for value in values)
        if kind is None or not as_made or not same or len(views) != (2 if kind in ("add", "mul") else 1):
            return self._outside(node)
        if len({view.source for view in views}) < len(views):
            return self._outside(node)
        window = None
        if node.op in ("MaxPool", "AveragePool"):
            window = _window(node)
            if window is None:
                return self._outside(node)
        sources = tuple(Source(view.source) for view in views)
        return Occurrence(node.name, kind, sources, window=window)


_BY_WORD = """
    Abs BatchNormalization Cast Ceil Celu Clip DequantizeLinear Div Dropout Elu Erf Exp Floor Gelu HardSigmoid HardSwish
    Identity LeakyRelu Log Mish Mul Neg PRelu Pow QuantizeLinear Reciprocal Relu Round Selu Sigmoid Softplus Softsign
    Sqrt Sub Add Swish Tanh
"""

_OPERANDS: Mapping[str, tuple[int, int]] = {
    "Conv": (0, 1),
    "ConvInteger": (0, 1),
    "Gemm": (0, 1),
    "MatMul": (0, 1),
    "MatMulInteger": (0, 1),
    "QLinearConv": (0, 3),
    "QLinearMatMul": (0, 3),
}
"""Where the two factors stand among the inputs."""


def _last_axis(node: OnnxNode) -> bool:
    axis = node.attributes.get("axis", -1)
    return axis in (-1, len(node.shape(0)) - 1)


def _pools_images(node: OnnxNode) -> bool:
    return len(node.shape(0)) == 4


_KINDS: Mapping[str, tuple[str, Callable[[OnnxNode], bool]]] = {
    "Add": ("add", lambda _: True),
    "AveragePool": ("avgpool", _pools_images),
    "GlobalAveragePool": ("avgpool", _pools_images),
    "LayerNormalization": ("layernorm", _last_axis),
    "MaxPool": ("maxpool", _pools_images),
    "Mul": ("mul", lambda _: True),
    "RMSNormalization": ("rmsnorm", _last_axis),
    "SimplifiedLayerNormalization": ("rmsnorm", _last_axis),
    "Softmax": ("softmax", _last_axis),
    "Sum": ("add", lambda _: True),
}


def _kind(node: OnnxNode) -> str | None:
    """What a node is between layers, if it is something that is known there."""
    kind, applies = _KINDS.get(node.op, (None, None))
    known = applies is not None and not node.domain and node.has(0) and node.input(0).shape is not None
    return kind if known and applies is not None and applies(node) else None


def _window(node: OnnxNode) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]] | None:
    """Size, stride and zeros of a pooling; None where the positions that it leaves are not those of a plain one."""
    size = node.integers("kernel_shape", 2, 1, 1)
    stride, dilation = node.integers("strides", 2, 1, 1), node.integers("dilations", 2, 1, 1)
    before = [low for low, _ in pads_of(node, 2)] if auto_pad_of(node) in ("NOTSET", "VALID") else []
    if not before or set(dilation) != {1} or (node.op == "AveragePool" and any(before)):
        return None
    sizes = node.shape(0)[2:]
    counts = [(n + 2 * b - k) // s + 1 for n, k, s, b in zip(sizes, size, stride, before, strict=True)]
    if tuple(counts) != tuple((node.output.shape or ())[2:]):
        return None
    return (size[0], size[1]), (stride[0], stride[1]), (before[0], before[1])


# ---- how words lie ---------------------------------------------------------------------------------------------------


def _order(ranks: Sequence[Rank]) -> tuple[str, ...]:
    return tuple(rank[0][0].lower() for rank in ranks)


def _swapped(order: tuple[str, ...]) -> tuple[str, ...]:
    return (*order[:-2], order[-1], order[-2])


def _zeros(node: OnnxNode, ranks: Sequence[Rank]) -> tuple[tuple[str, int], ...]:
    """Zeros before the first position, by the letter of each window."""
    windows = [rank for rank in ranks if len(rank) == 2]
    if not windows:
        return ()
    before = [low for low, _ in pads_of(node, len(windows))]
    mode = auto_pad_of(node)
    if mode.startswith("SAME"):
        sizes = node.shape(0)[2:]
        shape, kernel = node.output.shape or (), node.shape(1 if node.op != "QLinearConv" else 3)[2:]
        steps = [(rank[0][1], rank[1][1]) for rank in windows]
        needed = [
            max(0, (n - 1) * s + d * (k - 1) + 1 - size)
            for n, size, k, (s, d) in zip(shape[2:], sizes, kernel, steps, strict=True)
        ]
        before = [-(-zeros // 2) if mode == "SAME_LOWER" else zeros // 2 for zeros in needed]
    return tuple((rank[0][0].lower(), zeros) for rank, zeros in zip(windows, before, strict=True))


def _lying(
    view: TensorView, order: tuple[str, ...], ranks: Sequence[Rank], problem: Problem
) -> tuple[DimPart, ...] | None:
    """An operand's dimensions in the order in which they lie in what was made; None where one is not to be found."""
    if view.is_as_made:
        return order
    sizes = {rank[0][0].lower(): problem.sizes[rank[0][0]] for rank in ranks}
    axes = _regrouped(view.runs, [sizes[letter] for letter in order])
    if axes is None or any(len(rank) > 1 or rank[0][1] != 1 for rank in ranks):
        return None
    parts: list[tuple[int, DimPart]] = []
    for letter, axis in zip(order, axes, strict=True):
        parts += _parts(letter, axis)
    return tuple(part for _, part in sorted(parts, key=lambda each: -each[0]))


def _parts(letter: str, axis: Sequence[Run]) -> list[tuple[int, DimPart]]:
    """A dimension over some runs, or its parts where these do not follow one another, each with its stride."""
    if all(outer == inner * count for (_, outer), (count, inner) in itertools.pairwise(axis)):
        return [(axis[-1][1] if axis else 0, letter)]
    low = 1
    found: list[tuple[int, DimPart]] = []
    for count, stride in reversed(axis):
        found.append((stride, (letter, low, low * count)))
        low *= count
    return found


def _regrouped(runs: Sequence[Run], shape: Sequence[int]) -> tuple[tuple[Run, ...], ...] | None:
    """The same words in other axes; None where an axis would end inside a run that it does not divide."""
    left = list(runs)
    axes: list[tuple[Run, ...]] = []
    for size in reversed(shape):
        axis: list[Run] = []
        for count, stride in _taken(left, size):
            axis.insert(0, (count, stride))
        if math.prod(count for count, _ in axis) != size:
            return None
        axes.insert(0, tuple(axis))
    return tuple(axes) if not left else None


def _taken(left: list[Run], size: int) -> Iterator[Run]:
    """Runs of `size` words in all, taken from the end of those that are left."""
    while size > 1 and left:
        count, stride = left.pop()
        taken = math.gcd(count, size)
        if taken < min(count, size):
            return
        if taken < count:
            left.append((count // taken, stride * taken))
        yield taken, stride
        size //= taken
