"""Which layer of an ONNX file reads which: nodes as occurrences, without those that only rename or move words.

Every tensor is a *view* of what an occurrence makes: its axes as runs of words with strides, so that Reshape and
Transpose are no operations. Functions of one word (Relu, a bias, a batch norm, a scale) are done as outputs are
written, and pass a view on. What is not followed here stays in the graph as something from outside; `apart.py` says
what a program does there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from ...ir import Operand, ProblemError, Tensor
from ..graph.meaning import (
    WORD,
    Apart,
    ApartOperation,
    ApartRead,
    Computed,
    NetworkMeaning,
    ReferenceRows,
    StoredOperand,
    WordFinish,
)
from ..graph.occurrences import EPSILON, LAYER, OUTSIDE, MovedWords, NetworkGraph, Occurrence, Source
from ..network import NetworkLayer
from .apart import apart_of, copied
from .between_nodes import is_never_negative, kind_of, window_of_pool, without_program
from .computed import call_name, computed_apart, computed_node, one_result
from .finished_words import broadcast_shape, changed_words, less_zero_point, own_words, zero_point
from .integers import INTEGERS
from .lies import Lies, stored_lies
from .nodes import OnnxNode, OnnxValue, Repeated
from .passed import MOVING
from .quantized import QUANTIZED
from .referenced import reference_words
from .shapes import RANDOM
from .transposed import MOST_PHASES, filter_of, phase_layers, put_together
from .values import StoredModel
from .views import TensorView, axis_places, lying, made, order_of, regrouped, swapped, zeros_before
from .word_forms import WordForms


class GraphEnds(NamedTuple):
    """Names of the tensors that a file is given, and of those that it hands out, in its order."""

    given: tuple[str, ...]
    results: tuple[str, ...]


def onnx_wiring(
    network: str,
    nodes: Iterable[OnnxNode],
    layers: Sequence[NetworkLayer],
    parts: Mapping[str, Sequence[tuple[str, Repeated]]],
    dense: Iterable[str],
    *,
    ends: GraphEnds,
    stored: StoredModel,
) -> tuple[NetworkGraph, int]:
    """The graph of an ONNX file's layers and of what is done between them, and how many functions of one word are done
    as words are written.

    nodes     in order
    layers    of the network
    parts     by node its problems, each with a name
    dense     operators that become problems
    ends      tensors that the file is given, and that it hands out
    stored    its parameters
    """
    rows = {node: layer.name for layer in layers for node in layer.nodes}
    every = list(nodes)
    written = {value.name for node in every for value in node.outputs}
    apart: frozenset[str] = frozenset()
    while True:  # every round has more tensors apart
        reader = _NodeReader(rows, parts, frozenset(dense), every, ends, stored, apart)
        for node in every:
            reader.read(node)
        meaning = reader.meaning()
        more = (reader.wanted & written) - apart
        if not more:
            return NetworkGraph(network, tuple(reader.found), meaning), reader.epilogues
        apart |= more


class _NodeReader:
    """One use for one file.

    apart    tensors that lie for themselves, though they could be views of others

    Afterwards `wanted` has those that some reader needs so.
    """

    def __init__(
        self,
        rows: Mapping[str, str],
        parts: Mapping[str, Sequence[tuple[str, Repeated]]],
        dense: frozenset[str],
        nodes: Sequence[OnnxNode],
        ends: GraphEnds,
        stored_model: StoredModel,
        apart: frozenset[str],
    ) -> None:
        self.singles = any(node.op in QUANTIZED for node in nodes)  # floats are rounded to these after every step
        self.rows, self.parts, self.dense, self.taken = rows, parts, dense, {node.name for node in nodes}
        self.stored_model, self.apart, self.ends = stored_model, apart, ends
        read = (value.name for node in nodes for value in node.inputs if value is not None)
        self.used = frozenset((*ends.results, *read))
        self.computed: dict[str, Computed] = {}
        self.called: set[str] = set()
        self.skipped: set[str] = set()
        self.wanted: set[str] = set()
        self.made_apart: dict[str, Apart] = {}
        self.extents: dict[str, tuple[int, ...]] = {}
        self.forms = WordForms()
        self.views: dict[str, TensorView] = {}
        self.types: dict[str, str] = {}
        self.shapes: set[str] = set()
        self.found: list[Occurrence] = []
        self.stored: dict[tuple[str, str], StoredOperand] = {}
        self.unknown: list[str] = []
        self.epilogues = 0

    def read(self, node: OnnxNode) -> None:
        """Add an occurrence for a node, or pass on what it reads."""
        self.types |= {value.name: value.type for value in (*node.inputs, *node.outputs) if value is not None}
        if all(value.constant for value in node.outputs):
            return
        moving = [value for value in node.inputs if value is not None and not value.constant]
        values = [value for value in moving if value.name not in self.shapes]
        if node.op in ("Shape", "Size") or (moving and not values):
            self.shapes |= {value.name for value in node.outputs}
            return
        is_layer = not node.domain and node.op in self.dense and bool(node.outputs)
        try:
            is_apart = any(value.name in self.apart for value in node.outputs) or self._has_more(node)
            view = None if is_layer or node.domain or is_apart else self._passed(node, values)
            if view is not None:
                self.views[node.output.name] = view
            else:
                self._add(node, self._layer(node) if is_layer else self._between(node, values))
        except ProblemError:  # attributes that nothing else asks for
            self._add(node, self._on_its_own(node) if is_layer else self._outside(node))

    def view(self, value: OnnxValue) -> TensorView | None:
        """How a tensor lies in what was made; None where its shape is not known. What nothing has made comes from
        outside."""
        if value.name not in self.views and value.shape is not None:
            name = f"input {value.name}" if value.name in self.taken else value.name
            self.found.append(Occurrence(name, OUTSIDE, shape=value.shape))
            self.views[value.name] = made(name, value.shape)
            self.extents[name] = value.shape
        return self.views.get(value.name)

    def _see(self, node: OnnxNode) -> None:
        """Know how all lies that a node reads."""
        for value in node.inputs:
            if value is not None and not value.constant:
                self.view(value)

    def _has_more(self, node: OnnxNode) -> bool:
        """Whether something reads another output of a node than its first."""
        return any(value.name in self.used for value in node.outputs[1:])

    def _add(self, node: OnnxNode, occurrence: Occurrence) -> None:
        """Add what a node is; one that no program has otherwise as an operator that is computed apart."""
        reasons = self._without_program(node, occurrence)
        if reasons:
            try:
                computed = self._computed_node(node)
            except ProblemError as error:
                self.unknown.append(f"{node.where}: {error.message}")
            else:
                self._add_computed(node, computed, self._taken_apart(node, occurrence))
                return
        parts = self._parts_of(occurrence)
        self.found.append(occurrence)
        for one in (*parts, occurrence):
            self._note(node, one)
        for number, value in enumerate(node.outputs):
            if value.shape is not None:
                name = occurrence.name if number == 0 else f"{occurrence.name}:{number}"
                if number and occurrence.kind == OUTSIDE and occurrence.sources:
                    moves = self._moves(node, value.elements or 0)
                    self.found.append(replace(occurrence, name=name, shape=value.shape, moves=moves))
                view = made(name, value.shape)
                self.extents[name] = value.shape
                finish = WordFinish(Operand(WORD)) if number else self._own_finish(node, occurrence, view)
                self.views[value.name] = replace(view, finish=finish)

    def _parts_of(self, occurrence: Occurrence) -> list[Occurrence]:
        return [one for one in self.found[-MOST_PHASES:] if one.part_of == occurrence.name]

    def _taken_apart(self, node: OnnxNode, occurrence: Occurrence) -> Occurrence:
        """The occurrence of a node that is computed apart: its layers, if it has some, have operands of their own."""
        parts = self._parts_of(occurrence)
        if any(one.sources for one in parts):
            del self.found[len(self.found) - len(parts) :]
        elif occurrence.kind == OUTSIDE or occurrence.follows:
            return occurrence
        return self._on_its_own(node)

    def _without_program(self, node: OnnxNode, occurrence: Occurrence) -> list[str]:
        """Find what programs do for an occurrence; why there are none that do all of it, otherwise."""
        reasons: list[str] = []
        if occurrence.kind == OUTSIDE and occurrence.sources and occurrence.name not in self.made_apart:
            try:
                for number, value in enumerate(node.outputs):
                    if number == 0 or value.name in self.used:
                        name = occurrence.name if number == 0 else f"{occurrence.name}:{number}"
                        self._find_apart(node, name, number)
            except ProblemError as error:
                reasons.append(error.message)
        elif occurrence.kind != OUTSIDE and self._has_more(node):
            reasons.append("no operation makes its other outputs")
        reason = without_program(node, occurrence)
        reasons += [] if reason is None else [reason]
        if node.output.shape is not None and not reasons:
            own_words(node, occurrence, made(node.name, node.output.shape), reasons)
            for position, read in enumerate(node.inputs):
                if read is not None and read.name in self.views:
                    less_zero_point(node, position, self.views[read.name], reasons)
        return reasons

    def _find_apart(self, node: OnnxNode, name: str, number: int) -> None:
        """Find what a program does for one output. ProblemError where there is none."""
        lies = [self._lies(node, value) for value in node.inputs]
        found = apart_of(node, lies, number, self.stored_model, singles=self.singles)
        self._done_apart(node, name, found)

    def _done_apart(self, node: OnnxNode, name: str, found: Apart) -> None:
        views = [self.views.get(value.name) if value is not None else None for value in node.inputs]
        self.made_apart[name] = lambda: self._in_their_forms(found(), views)

    def _computed_node(self, node: OnnxNode) -> Computed:
        """The node as an operator that no mapping has. ProblemError where programs cannot have it either."""
        if node.op in RANDOM:
            while_trained = " while training_mode is true" if node.op == "Dropout" and node.has(2) else ""
            raise ProblemError(f"its words are random{while_trained}")
        lies = [self._lies(node, value, whole=True) for value in node.inputs]
        unknown = [v.name for v, one in zip(node.inputs, lies, strict=True) if v is not None and one is None]
        if unknown:
            raise ProblemError(f"no program works out {unknown[0]}")
        return computed_node(node, call_name(node.name, self.called), self.used, self.stored_model)

    def _add_computed(self, node: OnnxNode, computed: Computed, occurrence: Occurrence) -> None:
        """Add what an operator makes that no mapping has: one tensor, or all of them in a row and then each."""
        self.called.add(computed.name)
        parts = self._parts_of(occurrence)
        lies = [self._lies(node, value, whole=True) for value in node.inputs]
        for value in node.inputs:
            if value is not None and value.name in self.views and not self.views[value.name].is_as_made:
                self.wanted.add(value.name)
        several = len(computed.results) > 1
        size = sum(math.prod(result.shape) for result in computed.results)
        whole = (size,) if several else computed.results[0].shape
        moves = None if parts or occurrence.multiplies else self._moves(node, size)
        occurrence = replace(occurrence, shape=whole, moves=moves)
        self.found.append(occurrence)
        name = occurrence.name
        self.computed[name], self.extents[name] = computed, whole
        self._done_apart(node, name, partial(computed_apart, computed, lies))
        for one in (*parts, occurrence):
            for value in node.inputs:
                if value is not None and value.name in self.views:
                    self.forms.note(self.views[value.name], one.name)
        self.skipped |= {one.name for one in parts}
        values = {value.name: value for value in node.outputs}
        for number, result in enumerate(computed.results):
            own = f"{name}:{number}" if several else name
            if several:
                nothing = MovedWords((), 0)
                self.found.append(Occurrence(own, OUTSIDE, (Source(name),), shape=result.shape, moves=nothing))
                self.made_apart[own] = partial(one_result, computed, name, number)
                self.extents[own] = result.shape
            self.views[values[result.name].name] = made(own, result.shape)

    def _note(self, node: OnnxNode, occurrence: Occurrence) -> None:
        """Note in which forms a node's occurrence reads what it reads."""
        for source in dict.fromkeys(occurrence.reads):
            for position, value in enumerate(node.inputs):
                if value and value.name in self.views and self.views[value.name].source == source:
                    read = less_zero_point(node, position, self.views[value.name], [])
                    self.forms.note(read, occurrence.name)

    def _in_their_forms(self, operation: ApartOperation, views: Sequence[TensorView | None]) -> ApartOperation:
        """With each tensor that is read as what has been done with its words, where there are several such."""

        def form(read: ApartRead) -> ApartRead:
            view = views[int(read.name[1:])]
            return replace(read, source=self.forms.name_of(view)) if view is not None and view.finish else read

        return replace(operation, reads=tuple(map(form, operation.reads)))

    def _lies(self, node: OnnxNode, value: OnnxValue | None, *, whole: bool = False) -> Lies | None:
        """How an input lies, `whole` as it is and not as it is broadcast; None where it is not there, or no tensor."""
        if value is None or value.name in self.shapes:
            return None
        if value.constant:
            return stored_lies(value, None if whole else broadcast_shape(node, value))
        view = self.views.get(value.name)
        if view is None or value.shape is None:
            raise ProblemError(f"no program works out {value.name}", where=node.where)
        return Lies(view.source, value, tuple(axis_places(axis) for axis in view.axes))

    def _outside(self, node: OnnxNode) -> Occurrence:
        self._see(node)
        shape = node.outputs[0].shape if node.outputs else None
        moves = None if shape is None else self._moves(node, math.prod(shape))
        return Occurrence(node.name, OUTSIDE, tuple(map(Source, self._read_by(node))), shape=shape, moves=moves)

    def _moves(self, node: OnnxNode, made: int) -> MovedWords:
        """Words that a node reads and makes: of what moves words alone each tensor has as many of them as it makes, at
        most. Numbers that say how something is done are none."""
        read: dict[str, int] = {}
        for value in node.inputs:
            if value is None or value.name in self.shapes or (value.constant and value.type in _COUNTS):
                continue
            view, size = self.views.get(value.name), value.elements or 0
            read[value.name if view is None else view.source] = min(size, made) if node.op in _TAKING else size
        return MovedWords(tuple(read.items()), made)

    def _read_by(self, node: OnnxNode) -> tuple[str, ...]:
        """Who makes what a node reads."""
        names = (self.views[value.name].source for value in node.inputs if value and value.name in self.views)
        return tuple(dict.fromkeys(names))

    # ---- layers ----------------------------------------------------------------------------------------------

    def _on_its_own(self, node: OnnxNode) -> Occurrence:
        """A layer whose operands are no tensors that others make as they lie; several problems are done one after the
        other, and what the node makes comes from them."""
        parts, read, shape = self.parts.get(node.name, ()), self._read_by(node), node.output.shape
        if not parts:
            return self._outside(node)
        found: list[Occurrence] = []
        for name, part in parts:
            found.append(
                Occurrence(
                    name,
                    LAYER,
                    follows=(*read, *(one.name for one in found[-1:])),
                    times=part.times,
                    problem=part.problem,
                    layer=self.rows[name],
                    shape=shape if len(parts) == 1 else None,
                    part_of=node.name if len(parts) > 1 else "",
                )
            )
        if len(found) == 1:
            return found[0]
        self.found += found
        return Occurrence(node.name, OUTSIDE, (Source(found[-1].name),), shape=shape)

    def _transposed(self, node: OnnxNode) -> Occurrence:
        """A transposed convolution: its phases, and what they make together."""
        image, parts = node.input(0), self.parts[node.name]
        view = self.view(image)
        if view is None or not view.is_as_made or not self._has_images(view, image, parts[0][1].problem.operands[0]):
            self.wanted |= {image.name} if view is not None else set()
            return self._on_its_own(node)
        layers = phase_layers(node, view.source, parts, self.rows)
        if not layers:
            return self._on_its_own(node)
        self.stored |= {(name, "W"): filter_of(node, one.phase, one.problem) for name, one in layers.items()}
        found = [one.occurrence for one in layers.values()]
        if not found[0].part_of:
            return found[0]
        self.found += found
        phases = {name: one.phase for name, one in layers.items()}
        self.made_apart[node.name] = partial(put_together, node, phases)
        return Occurrence(node.name, OUTSIDE, tuple(map(Source, layers)), shape=node.output.shape)

    def _layer(self, node: OnnxNode) -> Occurrence:
        parts = self.parts.get(node.name, ())
        positions = _OPERANDS.get(node.op)
        self._see(node)
        if node.op == "ConvTranspose" and parts:
            return self._transposed(node)
        if not parts or positions is None:
            return self._on_its_own(node)
        problem = parts[0][1].problem
        operands = [node.input(position) for position in positions]
        zeros = [zero_point(node, position) for position in positions]
        turned = operands[0].constant and not operands[1].constant
        orders = [order_of(tensor.ranks) for tensor in problem.operands]
        writes = order_of(problem.output.ranks)
        if turned:
            operands.reverse()
            zeros.reverse()
            orders = [swapped(order) for order in orders]
            writes = swapped(writes)
        if node.op == "Gemm":
            flags = ["transA", "transB"][:: -1 if turned else 1]
            orders = [swapped(o) if node.integer(f, 0) else o for o, f in zip(orders, flags, strict=True)]
        sources: list[Source] = []
        for operand, zero, order, tensor in zip(operands, zeros, orders, problem.operands, strict=True):
            if operand.constant:
                self.stored[node.name, tensor.name] = _stored_operand(node, operand, zero, order)
                continue
            view = self.view(operand)
            if view is None:
                return self._on_its_own(node)
            found = lying(view, order, tensor.ranks, problem) if self._has_images(view, operand, tensor) else None
            if found is None:
                self.wanted.add(operand.name)
                return self._on_its_own(node)
            name = view.source if all(one.name != view.source for one in sources) else self._once_more(node, view)
            sources.append(Source(name, found, zeros_before(node, tensor.ranks)))
        row = self.rows[node.name]
        return Occurrence(node.name, LAYER, tuple(sources), problem=problem, layer=row, writes=writes)

    def _once_more(self, node: OnnxNode, view: TensorView) -> str:
        """A copy of what a node reads as its other operand too: a cascade has two tensors there."""
        name, shape = f"{node.name}:again", self._made_in(view)
        self.found.append(Occurrence(name, OUTSIDE, (Source(view.source),), shape=shape))
        self.extents[name] = shape
        self.forms.note(view, name)
        self.made_apart[name] = lambda: copied(self.forms.name_of(view), shape)
        return name

    def _made_in(self, view: TensorView) -> tuple[int, ...]:
        """The shape in which the graph has what a view is of: reshapes leave it as it was."""
        return NetworkGraph("", tuple(self.found)).shape(view.source) or self.extents[view.source]

    def _has_images(self, view: TensorView, value: OnnxValue, read: Tensor) -> bool:
        """Whether what is read through windows has these axes as it was made; a pooling of whole images leaves none."""
        count = sum(len(rank) > 1 or rank[0][1] != 1 for rank in read.ranks)
        shape, made_in = tuple(value.shape or ()), self._made_in(view) if count else ()
        if not count or made_in[-count:] == shape[-count:]:
            return True
        return set(shape[-count:]) == {1} and made_in == shape[:-count]

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
            finish = changed_words(node, view, self.views, singles=self.singles)
            if finish is None:
                return None
            self.epilogues += 1
            return replace(view, finish=finish, changed=node.output.name)
        if node.op in ("Reshape", "Flatten", "Squeeze", "Unsqueeze"):
            axes = regrouped(view.runs, shape)
            return None if axes is None else replace(view, axes=axes)
        if node.op == "Transpose":
            order = node.integers("perm", len(shape), 0) if node.attributes.get("perm") else range(len(shape))[::-1]
            return replace(view, axes=tuple(view.axes[i] for i in order))
        return None

    def _own_finish(self, node: OnnxNode, occurrence: Occurrence, view: TensorView) -> WordFinish:
        """What a node does with the words that its multiplications or sums make."""
        if occurrence.kind == "maxpool" and occurrence.window and any(occurrence.window[2]):
            read = self.views[node.input(0).name].finish
            if read is not None and not is_never_negative(read.expression):
                self.wanted.add(node.output.name)  # as an operation it would find zeros beyond the image
        return own_words(node, occurrence, view, [])

    def meaning(self) -> NetworkMeaning:
        """What the nodes that were read compute beyond their operations."""
        outputs, handed, ends = [], [], self.ends
        outside = {one.name for one in self.found if one.kind == OUTSIDE and not one.sources}
        for result in ends.results:
            view = self.views.get(result)
            if view is None and self.unknown:  # one of the reasons there
                continue
            if view is None or not view.is_as_made:
                self.wanted.add(result)
                self.unknown.append(f"output {result}: its words do not lie as they are made")
                continue
            if view.source in outside and view.finish == WordFinish(Operand(WORD)):  # an input as it is
                self.wanted.add(result)
            self.forms.note(view, "")
            outputs.append(view)
            handed.append(result)
        finishes = self.forms.settle(outside)
        self.made_apart |= {key: partial(copied, of, self.extents[of]) for of, key in self.forms.apart}
        read: dict[tuple[str, str], str] = {}
        for reader, source, name in self.forms.read():
            is_apart = reader in self.made_apart or reader in self.skipped
            if read.setdefault((reader, source), name) != name and reader and not is_apart:
                self.unknown.append(f"{reader}: it reads {source} both before and after functions of its words")
        return NetworkMeaning(
            finishes,
            self.stored,
            tuple(self.views[name].source for name in ends.given if name in self.views),
            tuple(map(self.forms.name_of, outputs)),
            tuple(dict.fromkeys(self.unknown)),
            self.stored_model.values,
            self.made_apart,
            self.forms.by_source,
            {use: name for use, name in read.items() if name != use[1]},
            {
                **{self.views[name].source: self.types.get(name, "") for name in ends.given if name in self.views},
                **{
                    self.forms.name_of(view): self.types.get(name, "")
                    for view, name in zip(outputs, handed, strict=True)
                },
            },
            self.singles,
            dict(self.computed),
            lambda rows: self._reference(
                {n: self.views[n].source for n in ends.given if n in self.views}, handed, rows
            ),
        )

    def _reference(
        self, sources: Mapping[str, str], handed: Sequence[str], rows: Mapping[str, int]
    ) -> ReferenceRows | None:
        """What onnx's reference implementation makes of random inputs, in the order of the meaning's."""
        by_name = {name: rows.get(source, 0) for name, source in sources.items()}
        found = reference_words(self.stored_model, handed, by_name, is_quantized=self.singles)
        return None if found is None else ({key: found.given[name] for name, key in sources.items()}, list(found.made))

    # ---- between layers ----------------------------------------------------------------------------------------

    def _between(self, node: OnnxNode, values: Sequence[OnnxValue]) -> Occurrence:
        views = [view for value in values if (view := self.view(value)) is not None]
        kind = kind_of(node)
        as_made = len(views) == len(values) and all(view.is_as_made for view in views)
        same = bool(values) and all(value.shape == values[0].shape for value in values)
        if kind in ("softmax", "maxpool", "avgpool", "layernorm", "rmsnorm"):
            self.wanted |= {v.name for v in values if (view := self.view(v)) is not None and not view.is_as_made}
        if any(value.name in self.apart for value in node.outputs):
            return self._outside(node)
        if kind == "mul" and node.output.type in INTEGERS:  # a product of 32 bits has more than doubles hold
            return self._outside(node)
        if kind is None or not as_made or not same or len(views) != (2 if kind in ("add", "mul") else 1):
            return self._outside(node)
        if len({view.source for view in views}) < len(views):
            return self._outside(node)
        shape = None
        if kind not in ("add", "mul"):  # reshapes leave words in the shape in which they were made
            made_in, read_in = self._made_in(views[0]), node.shape(0)
            if kind in ("maxpool", "avgpool") and made_in[-2:] != tuple(read_in[-2:]):
                self.wanted.add(values[0].name)
                return self._outside(node)
            shape = node.output.shape if made_in[-1:] != tuple(read_in[-1:]) else None
        window = None
        if node.op in ("MaxPool", "AveragePool"):
            window = window_of_pool(node)
            if window is None:
                return self._outside(node)
        sources = tuple(Source(view.source) for view in views)
        epsilon = node.number("epsilon", EPSILON) if kind in ("layernorm", "rmsnorm") else EPSILON
        return Occurrence(node.name, kind, sources, window=window, epsilon=epsilon, shape=shape)


_BY_WORD = """
    Abs Acos Acosh Add Asin Asinh Atan Atanh BatchNormalization Cast Ceil Celu Clip Cos Cosh DequantizeLinear Div
    Dropout Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu
    Less LessOrEqual Log Max Min Mish Mod Mul Neg Not PRelu Pow QuantizeLinear Reciprocal Relu Round Selu Shrink
    Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Swish Tan Tanh ThresholdedRelu
"""

_TAKING = MOVING | {"Resize", "Upsample"}
_COUNTS = ("BOOL", "INT32", "INT64")

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


def _stored_operand(node: OnnxNode, value: OnnxValue, zero: OnnxValue | None, order: tuple[str, ...]) -> StoredOperand:
    """A parameter that is a factor, without its zero point: one for all, for each filter, or for each column."""
    if zero is None:
        return StoredOperand(value.name, order)
    if not zero.constant:
        raise ProblemError(f"its zero point {zero.name} is no stored parameter", where=node.where)
    letter = None
    if zero.elements != 1:
        letter = order[0 if node.op in ("QLinearConv", "ConvInteger") else -1]
    return StoredOperand(value.name, order, zero.name, letter)
