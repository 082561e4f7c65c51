"""ONNX nodes that are done between groups: moves of data, arithmetic of tensors that are broadcast, and reductions and
norms, whose words are those of `reductions.py`.

Where the words of a result come from is what the node makes of numbered words: `onnx.reference` says it for every
operator that moves data, so that none of them is written here a second time.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...ir import Call, Expression, Operand, ProblemError
from ..graph.meaning import Apart, ApartOperation, ApartRead
from .finished_words import broadcast_shape
from .lies import Lies
from .nodes import OnnxNode
from .reductions import NORMALIZED, POOLING, REDUCING, check_normed, check_reduced, normalized, over, pooled, reduced
from .resized import is_weighted, taps
from .unknown import computed_sizes
from .values import StoredModel
from .words import WORDS, word_of

if TYPE_CHECKING:
    import numpy as np

    Index = np.ndarray[Any, np.dtype[np.int64]]

MOST_TABLE = 100_000
"""Words of a move that follows no order along axes, each of which stands in the program."""

_RENAMED = frozenset(("Flatten", "Reshape", "Squeeze", "Unsqueeze"))
_MOVING = frozenset(
    (
        *("Concat", "DepthToSpace", "Expand", "Gather", "GatherElements", "GatherND", "Identity", "Pad", "Resize"),
        *("ScatterElements", "ScatterND", "Slice", "SpaceToDepth", "Split", "Tile", "Transpose", "Trilu", "Upsample"),
        *_RENAMED,
    )
)
_MOVED = {"ScatterElements": (0, 2), "ScatterND": (0, 2)}
"""Inputs whose words an operator moves, where it is not the first alone; all of Concat's."""


def apart_of(
    node: OnnxNode, lies: Sequence[Lies | None], number: int, stored: StoredModel, *, singles: bool = False
) -> Apart:
    """What a node does, worked out when it is called; for the output of that number.

    lies     for each input how it lies; None: it is not there, or is no tensor
    singles  as of `word_of`

    Raises ProblemError where there is no program for it.
    """
    if node.domain or len(node.outputs) <= number:
        raise ProblemError("there is no program for this operator", where=node.where)
    if node.outputs[number].shape is None:
        raise _of_unknown_shape(node)
    if is_weighted(node) and lies[0] is not None:
        if singles and node.text("mode", "nearest") != "nearest":
            message = "a quantized model has no program for this mode: its sums are not rounded as words are"
            raise ProblemError(message, where=node.where)
        _check_stored(node, lies, (0,))
        first = lies[0]
        return lambda: _weighted(node, first, stored)
    if node.op == "Gather" and _chosen(lies) is not None:
        return lambda: _gathered(node, lies)
    if node.op in _MOVING:
        _check_moving(node, lies)
        return lambda: _moved(node, lies, number, stored)
    if node.op in WORDS and number == 0:
        _check_words(node, lies)
        return lambda: _by_words(node, lies, singles=singles)
    found = _of_many(node, lies, stored) if number == 0 else None
    if found is not None:
        return found
    raise ProblemError("there is no program for this operator", where=node.where)


def _check_words(node: OnnxNode, lies: Sequence[Lies | None]) -> None:
    unknown = [value.name for value, one in zip(node.inputs, lies, strict=True) if value and one is None]
    if unknown:
        raise ProblemError(f"no program works out {unknown[0]}", where=node.where)
    if any(value and not value.constant and broadcast_shape(node, value) for value in node.inputs[1:]):
        raise ProblemError("its parameters for each channel are data", where=node.where)
    word_of(node, [Operand("X") for value in node.inputs if value is not None])  # attributes


def _of_unknown_shape(node: OnnxNode) -> ProblemError:
    """Why there is no program, and which inputs the shape of the output depends on."""
    computed = computed_sizes(node)
    if not computed:
        return ProblemError("there is no program where the shape of its output depends on data", where=node.where)
    message = f"there is no program where {computed} while the model runs"
    return ProblemError(f"{message}: export it with fixed sizes, or with these as parameters", where=node.where)


def _of_many(node: OnnxNode, lies: Sequence[Lies | None], stored: StoredModel) -> Apart | None:
    """A reduction, norm or pooling; None for anything else."""
    first = lies[0]
    if first is None:
        return None
    if node.op in REDUCING:
        check_reduced(node)
        return lambda: reduced(node, first, stored)
    if node.op in NORMALIZED:
        check_normed(node, lies)
        return lambda: _normed(node, lies)
    if node.op in POOLING and len(node.outputs) == 1:
        found = pooled(node, first)
        return lambda: found
    return None


# ---- moves -----------------------------------------------------------------------------------------------------------


def _check_moving(node: OnnxNode, lies: Sequence[Lies | None]) -> None:
    moved = _moved_inputs(node)
    if any(lies[position] is None for position in moved):
        raise ProblemError("what it reads is not known", where=node.where)
    if node.text("reduction", "none") != "none":
        raise ProblemError("there is no program for a reduction of what is scattered", where=node.where)
    if node.op not in _RENAMED:
        _check_stored(node, lies, moved)


def _moved_inputs(node: OnnxNode) -> Sequence[int]:
    return range(len(node.inputs)) if node.op == "Concat" else _MOVED.get(node.op, (0,))


def _check_stored(node: OnnxNode, lies: Sequence[Lies | None], moved: Sequence[int]) -> None:
    """All inputs but these are parameters, so that which words are taken is known."""
    for position, (value, how) in enumerate(zip(node.inputs, lies, strict=True)):
        if (
            position not in moved
            and value is not None
            and not value.constant
            and (how is None or how.source is not None)
        ):
            raise ProblemError(f"which words it takes depends on {value.name}, which is no parameter", where=node.where)


def _chosen(lies: Sequence[Lies | None]) -> Lies | None:
    """What says at run time which rows are taken; None where parameters say it."""
    return lies[1] if len(lies) == 2 and lies[0] is not None and lies[1] is not None and lies[1].source else None


def _gathered(node: OnnxNode, lies: Sequence[Lies | None]) -> ApartOperation:
    """Rows that are named by words: an embedding."""
    known = ((position, one) for position, one in enumerate(lies) if one is not None)
    reads = [one.read(f"A{position}", [each.reshape(-1, 1) for each in one.offsets]) for position, one in known]
    rank = len(reads[0].extents)
    axis = node.integer("axis", 0, -rank) % rank
    return ApartOperation("gather", node.output.shape or (), tuple(reads), axis=axis)


def _weighted(node: OnnxNode, lies: Lies, stored: StoredModel) -> ApartOperation:
    """Sums of neighbours."""
    shape = node.output.shape or ()
    neighbours = taps(node, [len(each) for each in lies.offsets], shape, stored)
    offsets = [along[index] for along, (index, _) in zip(lies.offsets, neighbours, strict=True)]
    return replace(over("weighted", lies, offsets), factors=tuple(factors for _, factors in neighbours))


def _moved(node: OnnxNode, lies: Sequence[Lies | None], number: int, stored: StoredModel) -> ApartOperation:
    import numpy as np

    shape = node.outputs[number].shape
    assert shape is not None
    inputs = _moved_inputs(node)
    tensors = [one for one in map(lies.__getitem__, inputs) if one is not None]
    ends = list(itertools.accumulate((math.prod(one.value.shape or ()) for one in tensors), initial=1))
    # Words are numbered from 1, tensor after tensor: 0 is what is nowhere.
    numbered = [
        np.arange(*ends[i : i + 2], dtype=np.int64).reshape(one.value.shape or ()) for i, one in enumerate(tensors)
    ]
    fill = 0.0
    if node.op == "Concat":
        result = np.concatenate(numbered, node.attributes["axis"])
    elif node.op in _RENAMED:
        result = numbered[0].reshape(shape)
    else:
        given = {node.input(position).name: one for position, one in zip(inputs, numbered, strict=True)}
        if node.op == "Pad":
            fill = _fill(node, stored)
            given |= {node.input(2).name: np.array(0, np.int64)} if node.has(2) else {}
        result = np.asarray(stored.results(node.outputs[0].name, given)[number]).astype(np.int64).reshape(shape)
    reads = []
    for position, one in enumerate(tensors):
        low, high = ends[position : position + 2]
        here = (result >= low) & (result < high)
        if here.any():
            index = np.where(here, one.index.ravel()[np.where(here, result - low, 0)], -1)
            reads.append(_read(f"A{inputs[position]}", one, index, node))
    return ApartOperation("move", shape, tuple(reads), fill=fill)


def _fill(node: OnnxNode, stored: StoredModel) -> float:
    """What a Pad puts around."""
    return float(stored.values()[node.input(2).name].ravel()[0]) if node.has(2) else node.number("value", 0.0)


def _read(name: str, lies: Lies, index: Index, node: OnnxNode) -> ApartRead:
    """A tensor that is read at an index for each word of the output; -1: not for this word."""
    import numpy as np

    value = None if lies.source is not None else lies.value.name
    positions = [
        np.flatnonzero((index >= 0).any(axis=tuple(i for i in range(index.ndim) if i != axis)))
        for axis in range(index.ndim)
    ]
    box = index[np.ix_(*positions)]
    base = int(box.flat[0]) if box.size else 0
    offsets = []
    total = np.full((1,) * index.ndim, base)
    for axis in range(index.ndim):
        along = box[tuple(slice(None) if i == axis else 0 for i in range(index.ndim))] - base
        total = total + along.reshape([-1 if i == axis else 1 for i in range(index.ndim)])
        offsets.append(along)
    if np.array_equal(total, box) and all((each >= 0).all() for each in offsets):
        if offsets:
            offsets[0] = offsets[0] + base
        else:  # one word
            return ApartRead(name, lies.source, value, (1,), (np.zeros(1, np.int64),), (np.full((1, 1), base),))
        pairs = tuple(each.reshape(-1, 1) for each in offsets)
        return ApartRead(name, lies.source, value, index.shape, tuple(positions), pairs)
    flat = index.ravel()
    kept = np.flatnonzero(flat >= 0)
    if kept.size > MOST_TABLE:
        message = f"it moves {kept.size:,} words in no order along axes, and programs have {MOST_TABLE:,} such at most"
        raise ProblemError(message, where=node.where)
    return ApartRead(name, lies.source, value, (flat.size,), (kept,), (flat[kept].reshape(-1, 1),))


def copied(source: str, shape: Sequence[int]) -> ApartOperation:
    """The same words once more."""
    import numpy as np

    words = np.arange(math.prod(shape))
    read = ApartRead("A0", source, None, (words.size,), (words,), (words.reshape(-1, 1),))
    return ApartOperation("move", tuple(shape), (read,))


# ---- words -----------------------------------------------------------------------------------------------------------


def _by_words(node: OnnxNode, lies: Sequence[Lies | None], *, singles: bool) -> ApartOperation:
    import numpy as np

    shape = node.output.shape or ()
    reads, given = [], list[Expression]()
    for position, one in enumerate(lies):
        if one is not None:
            index = np.broadcast_to(one.index, shape)
            reads.append(_read(f"A{position}", one, index, node))
            given.append(Operand(f"A{position}"))
    return ApartOperation("words", tuple(shape), tuple(reads), word_of(node, given, singles=singles))


# ---- norms -----------------------------------------------------------------------------------------------------------


def _normed(node: OnnxNode, lies: Sequence[Lies | None]) -> ApartOperation:
    """A softmax or norm, and what its scale and bias do with every word of it."""
    shape = node.output.shape or ()
    operation, factors = normalized(node, lies)
    reads, found = list(operation.reads), operation.expression
    for position, function, index in factors:
        one = lies[position]
        assert one is not None
        assert found is not None
        reads.append(_read(f"A{position}", one, index, node))
        found = Call(function, (found, Operand(f"A{position}")))
    return replace(operation, shape=tuple(shape), reads=tuple(reads), expression=found if factors else None)
