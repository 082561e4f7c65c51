"""All passes, in the order in which they are applied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from .batch_norms import fold_batch_norms
from .edits import GraphEdit
from .equal import merge_equal
from .integers import quantized_to_integers
from .later import dequantize_later
from .responses import write_out_responses
from .sizes import fold_sizes
from .unmoved import skip_unmoved
from .unused import remove_unused

if TYPE_CHECKING:
    import onnx

Pass = Callable[[GraphEdit], int]
"""Changes a graph; how many nodes it has removed, merged, folded or replaced."""

REWRITES: Mapping[str, Pass] = {
    "sizes": fold_sizes,
    "responses": write_out_responses,
    "unused": remove_unused,
    "unmoved": skip_unmoved,
    "equal": merge_equal,
    "batch norms": fold_batch_norms,
    "dequantized later": dequantize_later,
    "integers": quantized_to_integers,
}
"""By name."""


def rewritten(model: onnx.ModelProto) -> tuple[onnx.ModelProto, dict[str, int]]:
    """A model with the same outputs, after all passes, and how often each of them found something to do.

    Nodes that are still there, or whose place another operator has taken, keep their names.
    """
    edit = GraphEdit(model)
    counts = {name: apply(edit) for name, apply in REWRITES.items()}
    remove_unused(edit)  # what the others have left behind
    return edit.model, {name: count for name, count in counts.items() if count}
