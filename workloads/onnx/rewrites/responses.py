"""Local response normalization, as sums of squares over neighbouring channels.

LRN(x) = x / (bias + alpha / size * sum of squares of `size` channels around) ^ beta

The sum is a pooling whose windows lie along the channels. onnx's reference implementation makes no sums for channels
after as many as the batch has images; this is what the operator's text says.
"""

from __future__ import annotations

from ..shapes import attributes
from .edits import GraphEdit
from .writer import NodeWriter


def write_out_responses(edit: GraphEdit) -> int:
    """Replace all such nodes; how many."""
    changes = {}
    for node in edit.nodes:
        shape = edit.shape(node.input[0]) if node.op_type == "LRN" and not node.domain else None
        if shape is None:
            continue
        given, writer, words = attributes(node), NodeWriter(edit, node), node.input[0]
        size = given["size"]
        around = [(size - 1) // 2, 0, size // 2, 0]
        batch, channels = shape[:2]
        squares = writer.made("Mul", "squares", words, words)
        rows = writer.made("Reshape", "rows", squares, writer.shape(batch, 1, channels, -1))
        means = writer.made("AveragePool", "means", rows, kernel_shape=[size, 1], pads=around, count_include_pad=1)
        means = writer.made("Reshape", "shaped", means, writer.shape(*shape))
        numbers = [writer.number(given.get(*default), like=words) for default in _DEFAULTS]
        based = writer.made("Add", "based", writer.made("Mul", "weighted", means, numbers[0]), numbers[2])
        writer.end("Div", words, writer.made("Pow", "power", based, numbers[1]))
        changes[node.name] = writer.nodes
    edit.replace(changes)
    return len(changes)


_DEFAULTS = (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))
