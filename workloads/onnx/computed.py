"""Operators that no mapping has: each as a model of its own, which is computed apart from the groups around it."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ...ir import ProblemError
from ..graph.meaning import ApartOperation, ApartRead, Computed, ComputedTensor
from .lies import Lies
from .nodes import OnnxNode, OnnxValue
from .shapes import FEW
from .unknown import computed_sizes
from .values import StoredModel, model_of_node

if TYPE_CHECKING:
    import onnx

NUMBERS = frozenset(
    (
        *("BFLOAT16", "BOOL", "DOUBLE", "FLOAT", "FLOAT16", "INT8", "INT16", "INT32", "INT64"),
        *("UINT8", "UINT16", "UINT32", "UINT64", "INT4", "UINT4"),
    )
)
"""Types whose elements are words of a program."""


MOST_TRIED = 300_000
"""Words that an operator reads which is tried before programs ask for it."""

MOST_LETTERS = 60
"""Of the name by which programs call a node."""


def call_name(name: str, taken: Collection[str]) -> str:
    """What programs call a node: an identifier of its own."""
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")[-MOST_LETTERS:] or "node"
    numbered = (f"{plain}_{number}" for number in itertools.count(2))
    return next(one for one in itertools.chain((plain,), numbered) if one not in taken)


def computed_node(node: OnnxNode, name: str, used: Collection[str], stored: StoredModel) -> Computed:
    """A node as a model of its own.

    name  by which programs call it
    used  tensors that something reads, of which its results are made

    Raises ProblemError where it reads or makes what is no tensor of numbers, or of a size that depends on data.
    """
    results = [value for value in node.outputs if value.name in used] or list(node.outputs[:1])
    for value in results:
        _check(value, node)
    proto = stored.node(results[0].name)
    small = {n: stored.small(value.name) for n, value in enumerate(node.inputs) if value and _is_few_numbers(value)}
    numbers = {n: tuple(map(int, array.ravel())) for n, array in small.items() if array is not None}
    positions = [n for n in _operands(node) if n not in numbers]
    operands = list(map(node.input, positions))
    for operand in operands:
        _check(operand, node)
    kept = {value.name for value in node.inputs if value is not None} - {value.name for value in operands}
    names = list(dict.fromkeys(value.name for value in operands))
    arrays = {own.name: array for n, array in small.items() if (own := node.inputs[n]) and array is not None}
    stands = {name: arrays[name] if name in arrays else stored.values()[name] for name in sorted(kept)}
    model = model_of_node(stored.model, proto, names, [value.name for value in results], stands)
    return Computed(
        name,
        (node.op, *dict.fromkeys(node.inner)),
        model.SerializeToString(deterministic=True),
        tuple(map(_tensor, operands)),
        tuple(positions),
        tuple(map(_tensor, results)),
        tuple(list(proto.output).index(value.name) for value in results),
        node.attributes,
        numbers,
        _missing(model, node, operands),
    )


def _is_few_numbers(value: OnnxValue) -> bool:
    """Whether a parameter says how something is done: axes, counts, sizes."""
    return value.constant and value.type in ("BOOL", "INT32", "INT64") and 0 < (value.elements or 0) <= FEW


def computed_apart(computed: Computed, lies: Sequence[Lies | None]) -> ApartOperation:
    """What a node does with whole tensors, each as a row of words."""
    reads = []
    for position in computed.positions:
        one = lies[position]
        assert one is not None
        reads.append(_whole(f"A{position}", one))
    size = sum(math.prod(result.shape) for result in computed.results)
    shape = computed.results[0].shape if len(computed.results) == 1 else (size,)
    return ApartOperation("computed", shape, tuple(reads), computed=computed)


def one_result(computed: Computed, source: str, number: int) -> ApartOperation:
    """One of several results, out of the row of all."""
    import numpy as np

    sizes = [math.prod(result.shape) for result in computed.results]
    words, first = np.arange(sizes[number]), sum(sizes[:number])
    read = ApartRead("A0", source, None, (words.size,), (words,), (first + words.reshape(-1, 1),))
    return ApartOperation("move", computed.results[number].shape, (read,))


def _operands(node: OnnxNode) -> list[int]:
    """Positions of the inputs that are operands: not texts and empty ones, which stand in the model itself."""
    present = [(position, value) for position, value in enumerate(node.inputs) if value is not None]
    return [n for n, value in present if not value.constant or (value.type in NUMBERS and value.elements)]


def _check(value: OnnxValue, node: OnnxNode) -> None:
    if value.type not in NUMBERS:
        message = f"{value.name} is no tensor of numbers" + (f" (its type is {value.type})" if value.type else "")
        raise ProblemError(message, where=node.where)
    if value.shape is None:
        computed = computed_sizes(node)
        if node.domain:
            message = f"onnx infers no shapes of {node.domain}, and the file states none of {value.name}"
            raise ProblemError(message, where=node.where)
        why = (
            f"where {computed} while the model runs" if computed else f"where the shape of {value.name} depends on data"
        )
        raise ProblemError(
            f"there is no program {why}: export it with fixed sizes, or with these as parameters", where=node.where
        )
    if not value.elements:
        raise ProblemError(f"{value.name} has no elements", where=node.where)


def _tensor(value: OnnxValue) -> ComputedTensor:
    return ComputedTensor(value.name, value.type, value.shape or ())


def _whole(name: str, lies: Lies) -> ApartRead:
    """A tensor as a row of its words."""
    import numpy as np

    index = lies.index.reshape(-1, 1)
    value = None if lies.source is not None else lies.value.name
    return ApartRead(name, lies.source, value, (index.size,), (np.arange(index.size),), (index,))


def _missing(model: onnx.ModelProto, node: OnnxNode, operands: Sequence[OnnxValue]) -> str:
    """Why onnx's reference implementation does not compute a model; empty where it does. Small ones are tried."""
    import numpy as np
    from onnx import TensorProto
    from onnx.helper import tensor_dtype_to_np_dtype
    from onnx.reference import ReferenceEvaluator

    if node.op == "ConvTranspose" and node.integer("group", 1) > 1:
        return "onnx.reference takes it for one of a single group"
    try:
        evaluator = ReferenceEvaluator(model)
        if sum(value.elements or 0 for value in operands) <= MOST_TRIED:
            types = {value.name: tensor_dtype_to_np_dtype(TensorProto.DataType.Value(value.type)) for value in operands}
            with np.errstate(all="ignore"):
                evaluator.run(None, {value.name: np.ones(value.shape or (), types[value.name]) for value in operands})
    except (IndexError, ValueError):  # of the words that were tried, perhaps
        return ""
    except Exception as error:  # of any kind: it is code for every operator there is
        return f"onnx.reference does not compute it: {' '.join(str(error).split()).partition('. ')[0]}"
    return ""
