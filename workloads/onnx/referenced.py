"""What `onnx.reference` makes of random inputs, stored beside a program: what its words are compared with.

The graph is that of the file, before the rewrites, since a program is to have their mistakes found as well; that of a
quantized model is the rewritten one, whose sums of integers floats do not give to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...ir import ProblemError
from .expanded import read_expanded
from .rewrites.edits import GraphEdit
from .rewrites.responses import write_out_responses
from .shapes import attributes
from .values import StoredModel, computed, stored_values

if TYPE_CHECKING:
    import numpy as np
    import onnx

    Arrays = dict[str, np.ndarray[Any, Any]]

_TRIES = 6
_APART = 1e-6
"""By how much inputs are moved to see whether outputs are those of a place where they jump."""

_SMOOTH = 1e-4


class ReferenceWords(NamedTuple):
    """Inputs by name, and what is made of them, in the order of the outputs."""

    given: Mapping[str, np.ndarray[Any, Any]]
    made: Sequence[np.ndarray[Any, Any]]


def reference_words(
    stored: StoredModel, names: Sequence[str], rows: Mapping[str, int], *, is_quantized: bool
) -> ReferenceWords | None:
    """Random inputs, and outputs of these names; None where the reference does not compute them, or where outputs jump
    near all inputs that are tried.

    rows  of inputs that are indices, among how many rows they choose
    """
    import numpy as np

    model = stored.model if is_quantized else read_expanded(stored.path, stored.dims, with_weights=True)
    edit = GraphEdit(model)
    write_out_responses(edit)
    known = stored.values() if is_quantized else stored_values(stored.path, stored.dims, edit.model)
    for seed in range(_TRIES):
        rng = np.random.default_rng(seed)
        given = {value.name: _random(value, rng, rows, seed) for value in model.graph.input if value.name not in known}
        try:
            with np.errstate(all="ignore"):
                made = _run(edit.model, known, given, names)
                near = _run(edit.model, known, {name: _moved(words) for name, words in given.items()}, names)
        except ProblemError:
            return None
        if all(map(_are_alike, made, near)):
            return ReferenceWords(given, made)
    return None


def _random(
    value: onnx.ValueInfoProto, rng: np.random.Generator, rows: Mapping[str, int], seed: int
) -> np.ndarray[Any, Any]:
    """Words of an input; from the middle of the tries on, floats are above zero."""
    from onnx import helper

    shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    if rows.get(value.name):
        return rng.integers(0, rows[value.name], shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return rng.integers(-9 if dtype.kind == "i" else 0, 10, shape).astype(dtype)
    return rng.uniform(-1 if 2 * seed < _TRIES else 0.1, 1, shape).astype(dtype)


def _moved(words: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return (words * (1 + _APART)).astype(words.dtype) if words.dtype.kind == "f" else words


def _are_alike(made: np.ndarray[Any, Any], near: np.ndarray[Any, Any]) -> bool:
    """Whether outputs of near inputs are near, and all are numbers."""
    import numpy as np

    if made.dtype.kind != "f":
        return bool((made == near).all())
    finite = np.isfinite(made)
    if np.isnan(made).any() or (made[~finite] != near[~finite]).any():
        return False
    largest = np.abs(made[finite]).max(initial=0)
    return bool((np.abs(made[finite] - near[finite]) <= _SMOOTH / 10 * largest).all())


def _run(
    model: onnx.ModelProto, known: Mapping[str, np.ndarray[Any, Any]], given: Arrays, names: Sequence[str]
) -> list[np.ndarray[Any, Any]]:
    found = {**known, **given}
    for node in model.graph.node:
        if not all(name in found for name in node.output if name):
            computed(model, _as_its_text(node, found), found)
    return [found[name] for name in names]


def _as_its_text(node: onnx.NodeProto, found: Arrays) -> onnx.NodeProto:
    """MaxPool with auto_pad SAME_LOWER with pads, since the reference takes others than its text says."""
    from onnx import helper

    given = attributes(node)
    if node.op_type != "MaxPool" or given.get("auto_pad") != b"SAME_LOWER":
        return node
    sizes = found[node.input[0]].shape[2:]
    ones = [1] * len(sizes)
    steps, apart = given.get("strides") or ones, given.get("dilations") or ones
    reaches = zip(sizes, given["kernel_shape"], steps, apart, strict=True)
    needed = [max(0, (-(-size // s) - 1) * s + d * (k - 1) + 1 - size) for size, k, s, d in reaches]
    pads = [zeros - zeros // 2 for zeros in needed] + [zeros // 2 for zeros in needed]
    kept = {name: value for name, value in given.items() if name != "auto_pad"}
    return helper.make_node("MaxPool", node.input, node.output, **{**kept, "pads": pads})
