"""Nodes that only move words: where each word of what they make comes from.

ONNX's own reference implementation is run on the places of words in their stead; so all of these operators mean what
they mean there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...ir import ProblemError
from ..graph.meaning import Values
from .nodes import OnnxNode
from .values import computed

if TYPE_CHECKING:
    import numpy as np
    import onnx

MOVING = frozenset(
    """
    Concat DepthToSpace Expand Flatten Gather GatherElements GatherND Pad Reshape Resize Slice SpaceToDepth Split
    Squeeze Tile Transpose Unsqueeze
    """.split()  # noqa: SIM905
)
"""Operators that move words, where all but the words themselves are parameters."""

Axes = Sequence[Sequence[tuple[int, int]]]
"""Of each axis its runs of words, slowest first: how many, and how far apart."""


def only_moves(node: OnnxNode) -> bool:
    """Whether a node makes its outputs of words that it reads, and of zeros."""
    if node.domain or node.op not in MOVING or not node.has(0):
        return False
    if node.op == "Concat":
        return not any(value is None or value.constant for value in node.inputs)
    if node.op == "Resize" and node.attributes.get("mode", "nearest") not in ("nearest", b"nearest"):
        return False
    return not node.input(0).constant and all(value is None or value.constant for value in node.inputs[1:])


@dataclass(frozen=True)
class StoredParameters:
    """What a file stores.

    model   its graph
    values  reads its parameters
    """

    model: onnx.ModelProto
    values: Values

    def places(self, node: OnnxNode, number: int, inputs: Mapping[str, tuple[int, Axes]]) -> np.ndarray[Any, Any]:
        """(words,) for every word of an output, in order, the place from which it comes; -1 for a zero.

        inputs  by tensor, the place of its first word, and its axes

        Raises ProblemError where the words that are filled in are no zeros.
        """
        import numpy as np

        (proto,) = (one for one in self.model.graph.node if node.outputs[number].name in one.output)
        known: dict[str, np.ndarray[Any, Any]] = {
            name: 1 + first + _offsets(axes) for name, (first, axes) in inputs.items()
        }
        parameters = [name for name in proto.input if name and name not in known]
        stored = self.values() if parameters else {}
        known |= {name: stored[name] for name in parameters}
        filled = known[proto.input[2]] if node.op == "Pad" and node.has(2) else np.zeros(1)
        if np.any(filled):
            raise ProblemError("it fills in words that are not 0", where=node.where, hint="programs fill in zeros only")
        found = computed(self.model, proto, known)[node.outputs[number].name]
        return found.ravel().astype(np.int64) - 1


def _offsets(axes: Axes) -> np.ndarray[Any, Any]:
    """The offset of every word of a tensor from its first one."""
    import numpy as np

    found = np.zeros((), np.int64)
    for runs in axes:
        along = np.zeros(1, np.int64)
        for count, stride in runs:
            along = (along[:, None] + stride * np.arange(count)).ravel()
        found = found[..., None] + along
    return found
