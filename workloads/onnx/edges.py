"""Which layer of an ONNX file reads which: nodes as occurrences, without those that only rename or move words.

Every tensor is a *view* of what an occurrence makes: its axes as runs of words with strides, so that Reshape and
Transpose are no operations. Functions of one word (Relu, a bias, a batch norm, a scale) are done as outputs are
written, and pass a view on. What is not followed here stays in the graph as something from outside; `apart.py` says
what a program does there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ...ir import Call, Expression, Number, Operand, Problem, ProblemError, Rank
from ..graph.between import EPSILON
from ..graph.meaning import (
    WORD,
    Apart,
    ApartOperation,
    ApartRead,
    FinishParameter,
    NetworkMeaning,
    StoredOperand,
    WordFinish,
)
from ..graph.occurrences import LAYER, OUTSIDE, DimPart, NetworkGraph, Occurrence, Source
from ..network import NetworkLayer
from .apart import Lies, apart_of, copied, stored_lies
from .convolutions import auto_pad_of, pads_of
from .nodes import OnnxNode, OnnxValue
from .values import StoredModel
from .words import word_of

if TYPE_CHECKING:
    import numpy as np

Run = tuple[int, int]
"""Words one behind the other: how many, and how far apart in what was made."""


@dataclass(frozen=True)
class TensorView:
    """A tensor as it lies in what an occurrence makes.

    source  the occurrence, or an input of the model
    axes    for each axis its runs, slowest first; runs of one word are left out
    finish  what has been done with its words; None where no program can do it
    changed the tensor behind the last node that did something with them; empty: none did
    """

    source: str
    axes: tuple[tuple[Run, ...], ...]
    finish: WordFinish | None = field(default=WordFinish(Operand(WORD)), compare=False)
    changed: str = field(default="", compare=False)

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
    *,
    results: Sequence[str],
    stored: StoredModel,
) -> NetworkGraph:
    """The graph of an ONNX file's layers and of what is done between them.

    nodes     in order
    layers    of the network
    problems  by node, of those that are one problem
    dense     operators that become problems
    results   names of the tensors that the file hands out
    stored    its parameters
    """
    rows = {node: layer.name for layer in layers for node in layer.nodes}
    every = list(nodes)
    names = {node.name for node in every}
    written = {value.name for node in every for value in node.outputs}
    apart: frozenset[str] = frozenset()
    while True:  # every round has more tensors apart
        reader = _NodeReader(rows, problems, frozenset(dense), names, stored, apart)
        for node in every:
            reader.read(node)
        meaning = reader.meaning(results)
        more = (reader.wanted & written) - apart
        if not more:
            return NetworkGraph(network, tuple(reader.found), meaning)
        apart |= more


class _NodeReader:
    """One use for one file.

    apart  tensors that lie for themselves, though they could be views of others

    Afterwards `wanted` has those that some reader needs so.
    """

    def __init__(
        self,
        rows: Mapping[str, str],
        problems: Mapping[str, Problem],
        dense: frozenset[str],
        taken: set[str],
        stored_model: StoredModel,
        apart: frozenset[str],
    ) -> None:
        self.rows, self.problems, self.dense, self.taken = rows, problems, dense, taken
        self.stored_model, self.apart = stored_model, apart
        self.wanted: set[str] = set()
        self.made_apart: dict[str, Apart] = {}
        self.extents: dict[str, tuple[int, ...]] = {}
        self.uses: list[tuple[str, TensorView]] = []
        self.forms: dict[tuple[str, WordFinish], str] = {}
        self.views: dict[str, TensorView] = {}
        self.shapes: set[str] = set()
        self.found: list[Occurrence] = []
        self.stored: dict[tuple[str, str], StoredOperand] = {}
        self.finished: dict[str, dict[WordFinish, str]] = {}
        self.unknown: list[str] = []

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
            is_apart = any(value.name in self.apart for value in node.outputs)
            view = None if is_layer or node.domain or is_apart else self._passed(node, values)
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
            self.extents[name] = value.shape
        return self.views.get(value.name)

    def _add(self, node: OnnxNode, occurrence: Occurrence) -> None:
        self.found.append(occurrence)
        reason = self._program_apart(node, occurrence)
        for source in dict.fromkeys(one.name for one in occurrence.sources):
            for view in (self.views[v.name] for v in node.inputs if v and v.name in self.views):
                if view.source == source:
                    self._read(view, occurrence.name)
        for number, value in enumerate(node.outputs):
            if value.shape is not None:
                name = occurrence.name if number == 0 else f"{occurrence.name}:{number}"
                if number and occurrence.kind == OUTSIDE and occurrence.sources:
                    self.found.append(replace(occurrence, name=name, shape=value.shape))
                    self._program_apart(node, self.found[-1], number)
                view = made(name, value.shape)
                self.extents[name] = value.shape
                finish = WordFinish(Operand(WORD)) if number else self._own_finish(node, occurrence, view, reason)
                self.views[value.name] = replace(view, finish=finish)

    def _program_apart(self, node: OnnxNode, occurrence: Occurrence, number: int = 0) -> str | None:
        """Find what a program does for an occurrence from outside; why there is none, otherwise."""
        if occurrence.kind != OUTSIDE or not occurrence.sources:
            return None
        try:
            lies = [self._lies(node, value) for value in node.inputs]
            found = apart_of(node, lies, number, self.stored_model)
            views = [self.views.get(value.name) if value is not None else None for value in node.inputs]
            self.made_apart[occurrence.name] = lambda: self._in_their_forms(found(), views)
        except ProblemError as error:
            return error.message
        return None

    def _in_their_forms(self, operation: ApartOperation, views: Sequence[TensorView | None]) -> ApartOperation:
        """With each tensor that is read as what has been done with its words, where there are several such."""

        def form(read: ApartRead) -> ApartRead:
            view = views[int(read.name[1:])]
            known = self.forms.get((view.source, view.finish)) if view is not None and view.finish is not None else None
            return replace(read, source=known or read.source)

        return replace(operation, reads=tuple(map(form, operation.reads)))

    def _lies(self, node: OnnxNode, value: OnnxValue | None) -> Lies | None:
        """How an input lies; None where it is not there, or is no tensor."""
        if value is None or value.name in self.shapes:
            return None
        if value.constant:
            along = node.op == "BatchNormalization" and value.shape is not None
            return stored_lies(value, _channels(node, value) if along else None)
        view = self.views.get(value.name)
        if view is None or value.shape is None:
            raise ProblemError(f"no program works out {value.name}", where=node.where)
        return Lies(view.source, value, tuple(_axis_places(axis) for axis in view.axes))

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
                self.stored[node.name, tensor.name] = StoredOperand(operand.name, order)
                continue
            view = self.view(operand)
            found = _lying(view, order, tensor.ranks, problem) if view is not None else None
            if view is None or found is None:
                self.wanted |= {operand.name} if view is not None else set()
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
            if values[0].shape != shape:
                return None
            return replace(view, finish=self._changed(node, view), changed=node.output.name)
        if node.op in ("Reshape", "Flatten", "Squeeze", "Unsqueeze"):
            axes = _regrouped(view.runs, shape)
            return None if axes is None else replace(view, axes=axes)
        if node.op == "Transpose":
            order = node.integers("perm", len(shape), 0) if node.attributes.get("perm") else range(len(shape))[::-1]
            return replace(view, axes=tuple(view.axes[i] for i in order))
        return None

    # ---- what is done with words -------------------------------------------------------------------------------

    def _read(self, view: TensorView, reader: str) -> None:
        """Note what has been done with the words of an occurrence when they are read."""
        if view.finish is not None:
            self.uses.append((reader, view))
            self.finished.setdefault(view.source, {}).setdefault(view.finish, view.changed)

    def _changed(self, node: OnnxNode, view: TensorView) -> WordFinish | None:
        """What has been done with words behind a node; None, and noted, where there is no program for it."""
        parameters: dict[str, FinishParameter] = {}
        given: list[Expression] = []
        for position, value in enumerate(node.inputs):
            if value is None:
                continue
            if not value.constant:
                known = self.views.get(value.name)
                if known is None:
                    self.unknown.append(f"{node.where}: no program works out {value.name}")
                if known is None or known.finish is None:
                    return None
                read = known.finish
                parameters |= dict(read.parameters)
                given.append(read.expression)
            elif node.op != "Dropout":
                along = _channels(node, value) if node.op == "BatchNormalization" else None
                given.append(self._parameter(value, view, parameters, f"{node.name}.{position}", along))
        try:
            return WordFinish(word_of(node, given), tuple(parameters.items()))
        except ProblemError as error:
            self.unknown.append(str(error))
            return None

    def _parameter(
        self,
        value: OnnxValue,
        view: TensorView,
        parameters: dict[str, FinishParameter],
        name: str,
        shape: tuple[int, ...] | None = None,
    ) -> Expression:
        """A stored parameter, broadcast over the axes of a view."""
        sizes = [math.prod(count for count, _ in axis) for axis in view.axes]
        own = shape if shape is not None else value.shape or ()
        runs = [run for axis, size in zip(view.axes, sizes, strict=True) for run in (axis if size > 1 else ())]
        parameters[name] = FinishParameter(value.name, tuple(own), tuple(sizes), tuple(runs))
        return Operand(name)

    def _own_finish(
        self, node: OnnxNode, occurrence: Occurrence, view: TensorView, reason: str | None
    ) -> WordFinish | None:
        """What a node does with the words that its multiplications or sums make.

        reason  why it has no program, if that is known already
        """
        parameters: dict[str, FinishParameter] = {}
        word: Expression = Operand(WORD)
        if node.op == "Conv" and node.has(2):
            bias = node.input(2)
            word = Call("add", (word, self._parameter(bias, view, parameters, f"{node.name}.2", _channels(node, bias))))
        elif node.op == "Gemm":
            alpha, beta = (Number(node.number(name, 1.0)) for name in ("alpha", "beta"))
            word = word if alpha.value == 1 else Call("mul", (alpha, word))
            if node.has(2):
                added: Expression = self._parameter(node.input(2), view, parameters, f"{node.name}.2")
                word = Call("add", (word, added if beta.value == 1 else Call("mul", (beta, added))))
        elif occurrence.kind in ("layernorm", "rmsnorm"):
            for position, function in ((1, "mul"), (2, "add")):
                if node.has(position):
                    factor = self._parameter(node.input(position), view, parameters, f"{node.name}.{position}")
                    word = Call(function, (word, factor))
        reason = reason or _without_program(node, occurrence)
        if occurrence.kind == "maxpool" and occurrence.window and any(occurrence.window[2]):
            read = self.views[node.input(0).name].finish
            if read is not None and not _is_never_negative(read.expression):
                self.wanted.add(node.output.name)  # as an operation it would find zeros beyond the image
        if reason:
            self.unknown.append(f"{node.where}: {reason}")
        return WordFinish(word, tuple(parameters.items()))

    def meaning(self, results: Sequence[str]) -> NetworkMeaning:
        """What the nodes that were read compute beyond their operations."""
        outputs = []
        for result in results:
            view = self.views.get(result)
            if view is None or not view.is_as_made:
                self.wanted.add(result)
                self.unknown.append(f"output {result}: its words do not lie as they are made")
                continue
            self._read(view, "")
            outputs.append(view)
        finishes, plain = dict[str, WordFinish](), WordFinish(Operand(WORD))
        given = {occurrence.name for occurrence in self.found if occurrence.kind == OUTSIDE and not occurrence.sources}
        for source, found in self.finished.items():
            several = len(found) > 1 or source in given
            for finish, changed in found.items():
                if finish.expression != plain.expression:
                    key = f"{source}:{changed}" if several else source
                    finishes[key] = finish
                    if several:
                        self.forms[source, finish] = key
                        self.made_apart[key] = partial(copied, source, self.extents[source])
        forms: dict[tuple[str, str], str] = {}
        for reader, view in self.uses:
            assert view.finish is not None
            form = self.forms.get((view.source, view.finish), view.source)
            if forms.setdefault((reader, view.source), form) != form and reader and reader not in self.made_apart:
                self.unknown.append(f"{reader}: it reads {view.source} both before and after functions of its words")
        return NetworkMeaning(
            finishes,
            self.stored,
            tuple(self.forms.get((v.source, v.finish or plain), v.source) for v in outputs),
            tuple(dict.fromkeys(self.unknown)),
            self.stored_model.values,
            self.made_apart,
            {source: tuple(key for (of, _), key in self.forms.items() if of == source) for source, _ in self.forms},
            {use: form for use, form in forms.items() if form != use[1]},
        )

    # ---- between layers ----------------------------------------------------------------------------------------

    def _between(self, node: OnnxNode, values: Sequence[OnnxValue]) -> Occurrence:
        views = [view for value in values if (view := self.view(value)) is not None]
        kind = _kind(node)
        as_made = len(views) == len(values) and all(view.is_as_made for view in views)
        same = bool(values) and all(value.shape == values[0].shape for value in values)
        if kind in ("softmax", "maxpool", "avgpool", "layernorm", "rmsnorm"):
            self.wanted |= {v.name for v in values if (view := self.view(v)) is not None and not view.is_as_made}
        if any(value.name in self.apart for value in node.outputs):
            return self._outside(node)
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


def _channels(node: OnnxNode, value: OnnxValue) -> tuple[int, ...]:
    """The shape of a parameter for each channel, as it is broadcast over axis 1 of what the node makes."""
    size = math.prod(value.shape or ())
    return (size,) + (1,) * (len(node.output.shape or ()) - 2)


def _without_program(node: OnnxNode, occurrence: Occurrence) -> str | None:
    """Why no program can do what a node does besides its operation."""
    if occurrence.kind == OUTSIDE:
        return None
    if occurrence.multiplies and occurrence.problem is None:
        return "there is no program for this operator" if occurrence.sources else None
    if occurrence.multiplies and node.op not in ("Conv", "Gemm", "MatMul"):
        return "there is no program for its integers"
    if any(node.has(position) and not node.input(position).constant for position in (1, 2)) and (
        node.op == "LayerNormalization" or (node.op in ("Conv", "Gemm") and node.has(2))
    ):
        return "what it adds is no stored parameter" if not node.input(2).constant else None
    if occurrence.kind in ("layernorm", "rmsnorm") and abs(node.number("epsilon", EPSILON) - EPSILON) > 1e-9:
        return f"its epsilon is {node.number('epsilon', EPSILON):g}, expected {EPSILON:g}"
    return None


def _is_never_negative(expression: Expression) -> bool:
    """Whether zeros around a tensor of such words change no maximum."""
    if isinstance(expression, Number):
        return expression.value >= 0
    if not isinstance(expression, Call):
        return False
    if expression.function == "min":
        return all(map(_is_never_negative, expression.arguments))
    grows = expression.function == "max" and any(map(_is_never_negative, expression.arguments))
    return grows or expression.function in ("abs", "exp", "relu", "sigmoid", "sqrt")


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


def _axis_places(axis: Sequence[Run]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Where the positions of an axis lie."""
    import numpy as np

    found = np.zeros(1, np.int64)
    for count, stride in axis:
        found = (found[:, None] + np.arange(count) * stride).ravel()
    return found


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
