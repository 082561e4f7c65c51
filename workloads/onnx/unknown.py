"""Why the shape of a tensor is not known: the node at which it was lost, and what is wrong there."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from ...ir import ProblemError
from .nodes import OnnxNode, Operator, read_by

if TYPE_CHECKING:
    import onnx


_SIZES = {
    "DFT": {1: "its length"},
    "Expand": {1: "its shape"},
    "If": {0: "its condition"},
    "Loop": {0: "its number of steps", 1: "its condition"},
    "Pad": {1: "its pads"},
    "Reshape": {1: "its shape"},
    "Resize": {2: "its scales", 3: "its sizes"},
    "Tile": {1: "its repeats"},
    "Upsample": {1: "its scales"},
}
"""Inputs that say how large an output is, by their positions."""


def computed_sizes(node: OnnxNode) -> str:
    """Which inputs of a node say how large its output is, and are no parameters; nothing where there are none."""
    found = [
        f"{what} ({node.input(position).name})"
        for position, what in _SIZES.get(node.op, {}).items()
        if node.has(position) and not node.input(position).constant
    ]
    is_one = len(found) == 1 and node.op in ("DFT", "Expand", "If", "Loop", "Reshape")
    return f"{' and '.join(found)} {'is' if is_one else 'are'} computed" if found else ""


def undecided(nodes: Sequence[OnnxNode], inputs: Collection[str]) -> tuple[str, ...]:
    """Of every If and Loop whose branch or length inputs of one number decide, which these are."""
    makers = {value.name: node for node in nodes for value in node.outputs}
    found = []
    for node in nodes:
        names = [node.input(position).name for position in _SIZES.get(node.op, {}) if node.has(position)]
        if node.op not in ("If", "Loop") or node.domain:
            continue
        seen: dict[str, None] = {}
        while names:
            name = names.pop()
            if name not in seen and name in makers:
                names += [value.name for value in makers[name].inputs if value is not None]
            seen[name] = None
        deciding = [name for name in seen if name in inputs]
        sizes = {value.name: value.elements for one in nodes for value in one.inputs if value is not None}
        if deciding and all(sizes.get(name) == 1 for name in deciding):
            what = "which branch is taken" if node.op == "If" else "how many steps there are"
            fixed = " ".join(f"--dim {name}=VALUE" for name in deciding)
            found.append(f"{node.where}: {', '.join(deciding)} decides {what}: with {fixed} it is known")
    return tuple(found)


def unknown_shape(
    name: str, node: OnnxNode, nodes: Sequence[OnnxNode], model: onnx.ModelProto, operators: Mapping[str, Operator]
) -> ProblemError:
    """The error for a tensor without a shape that a dense operation reads or writes.

    It blames the node at which shapes were lost, in the words of our reader of that operator, or of ONNX, where one of
    them finds it wrong; what is right may depend on data.
    """
    first = _first_lost(name, nodes)
    if first is None:
        return ProblemError(f"input {name} has no shape", where=node.where)
    known = all(value is None or value.shape is not None for value in first.inputs)
    if known and not first.domain:
        try:
            if first.op in operators:
                read_by(operators[first.op], first)
        except ProblemError as error:
            return error
        reason = _wrong(first, model)
        if reason:
            return ProblemError(reason, where=first.where)
    message = f"the shape of {name} is not known before the model runs"
    if first.domain:
        others = [one.where for one in nodes if one.domain and one is not first]
        more = f" (so are {', '.join(others)})" if others else ""
        reason = f"{first.where} is an operator of {first.domain}{more}, whose results ONNX cannot infer"
        hint = f"{reason}; export with standard operators, or with the shapes written into the file"
    else:
        why = computed_sizes(first)
        why = f"where {why}" if why else "whose result depends on data"
        hint = f"it is lost at {first.where}, {why}; export the model with fixed shapes"
    return ProblemError(message, where=node.where, hint=hint)


def _first_lost(name: str, nodes: Sequence[OnnxNode]) -> OnnxNode | None:
    """The node that makes a tensor without a shape, or the first on the way there; None for one that none makes."""
    makers = {value.name: maker for maker in nodes for value in maker.outputs}
    if name not in makers:
        return None
    first = makers[name]
    while True:
        lost = next((value.name for value in first.inputs if value and value.shape is None), None)
        if lost is None or lost not in makers:
            return first
        first = makers[lost]


def _wrong(node: OnnxNode, model: onnx.ModelProto) -> str | None:
    """What ONNX finds wrong with a node; None where it only cannot know."""
    from onnx import shape_inference

    try:
        shape_inference.infer_shapes(model, check_type=False, strict_mode=True, data_prop=True)
    except (shape_inference.InferenceError, RuntimeError, ValueError) as error:
        for found in re.finditer(r"op_type:\s*(\w+), node name: (.*?)\):([^\n]*)", str(error)):
            if found[1] == node.op and found[2] in (node.name, ""):
                return "onnx finds it wrong: " + found[3].replace("[ShapeInferenceError]", "").strip()
    return None
