"""The stored parameters of an ONNX file, and what is computed from them alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...ir import ProblemError
from .expanded import read_expanded
from .files import Given
from .graph import captured
from .shapes import small_array

if TYPE_CHECKING:
    import numpy as np
    import onnx


def stored_values(path: Path, dims: Given, rewritten: onnx.ModelProto | None = None) -> dict[str, np.ndarray[Any, Any]]:
    """All of them, by name; those in files of their own are read too.

    rewritten  the model that is asked about, where it is not the one of the file: it may have parameters of its own

    Raises ProblemError where these are missing, and as `read_expanded` does.
    """
    from onnx import checker, external_data_helper

    model = read_expanded(path, dims, with_weights=True)
    try:
        external_data_helper.load_external_data_for_model(model, str(path.parent))
    except (OSError, ValueError, checker.ValidationError) as error:
        message = f"parameters that lie in files of their own cannot be read: {' '.join(str(error).split())}"
        raise ProblemError(message, where=str(path)) from None
    found = {tensor.name: _array(tensor, str(path)) for tensor in model.graph.initializer}
    if rewritten is not None:
        own = (tensor for tensor in rewritten.graph.initializer if tensor.name not in found)
        found |= {tensor.name: _array(tensor, str(path)) for tensor in own}
        model = rewritten
    for node in model.graph.node:
        if all(not name or name in found for name in node.input):
            computed(model, node, found)
    return found


def _array(tensor: onnx.TensorProto, where: str) -> np.ndarray[Any, Any]:
    from onnx import numpy_helper

    try:
        return numpy_helper.to_array(tensor)
    except (TypeError, ValueError) as error:
        message = f"the data of parameter {tensor.name} is missing, or not what its type and shape say"
        hint = f"onnx says: {' '.join(str(error).split())}; export the model with its parameters"
        raise ProblemError(message, where=where, hint=hint) from None


class StoredModel:
    """The parameters of a file, read when they are asked for.

    model  what the file says, rewritten
    """

    def __init__(self, path: Path, dims: Given, model: onnx.ModelProto) -> None:
        self.path, self.dims, self.model = path, dims, model

    @cached_property
    def _values(self) -> dict[str, np.ndarray[Any, Any]]:
        return stored_values(self.path, self.dims, self.model)

    def values(self) -> dict[str, np.ndarray[Any, Any]]:
        """All parameters, by name. Raises ProblemError as `stored_values` does."""
        return self._values

    def small(self, name: str) -> np.ndarray[Any, Any] | None:
        """A parameter, if it is small and its data is in the file."""
        return next((small_array(tensor) for tensor in self.model.graph.initializer if tensor.name == name), None)

    def node(self, output: str) -> onnx.NodeProto:
        """The node that makes a tensor."""
        return next(node for node in self.model.graph.node if output in node.output)

    def results(self, output: str, given: Mapping[str, np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        """What the node that makes this tensor makes of these ones, and of parameters otherwise."""
        node = self.node(output)
        found = {name: given[name] if name in given else self.values()[name] for name in node.input if name}
        computed(self.model, node, found)
        return [found[name] for name in node.output if name]


_GROWN = 21
"""An operator set in which these operators do what they did before."""

_SINCE = {"BatchNormalization": 14, "DequantizeLinear": _GROWN, "QuantizeLinear": _GROWN}
"""Since which set the reference implementation has them: before, it has no quantizing ones, and trains norms."""

_DROPPED = ("consumed_inputs", "is_test", "spatial")
"""Attributes that norms had."""


def _is_older(model: onnx.ModelProto, node: onnx.NodeProto) -> bool:
    """Whether a model is of a set for which the reference implementation has not this operator as its text has it."""
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    return not node.domain and max(versions, default=_GROWN) < _SINCE.get(node.op_type, 0)


def model_of_node(
    model: onnx.ModelProto,
    node: onnx.NodeProto,
    operands: Sequence[str],
    results: Sequence[str],
    kept: Mapping[str, np.ndarray[Any, Any]],
) -> onnx.ModelProto:
    """A model of one node, of operands and results of any type and shape.

    kept  parameters that stand in it
    """
    from onnx import helper, numpy_helper

    given, made = ([helper.make_empty_tensor_value_info(name) for name in names] for names in (operands, results))
    stored = [numpy_helper.from_array(array, name) for name, array in kept.items()]
    sets = list(model.opset_import)
    if _is_older(model, node):
        sets = [helper.make_opsetid("", _GROWN)]
        node = type(node).FromString(node.SerializeToString())
        own = [one for one in node.attribute if one.name not in _DROPPED]
        del node.attribute[:]
        node.attribute.extend(own)
    return helper.make_model(
        helper.make_graph([node], "one", given, made, stored), opset_imports=sets, ir_version=model.ir_version
    )


def computed(model: onnx.ModelProto, node: onnx.NodeProto, found: dict[str, np.ndarray[Any, Any]]) -> None:
    """Put what a node makes beside what it reads. ProblemError where the reference implementation does not know it."""
    import numpy as np
    from onnx.reference import ReferenceEvaluator

    operands, results = (list(dict.fromkeys(filter(None, names))) for names in (node.input, node.output))
    operands += [name for name in captured(node) if name in found and name not in operands]
    try:
        evaluator = ReferenceEvaluator(model_of_node(model, node, operands, results, {}))
        values = evaluator.run(None, {name: found[name] for name in operands})
    except Exception as error:  # of any kind: it is code for every operator there is
        message = f"onnx's reference implementation cannot compute it: {' '.join(str(error).split())}"
        raise ProblemError(message, where=f"{node.op_type} {node.name}".rstrip()) from None
    found.update(zip(results, map(np.asarray, values), strict=True))
