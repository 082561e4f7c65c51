"""Attention, the operator that holds a whole attention: its two products, and the softmax between them counted."""

from __future__ import annotations

from ...ir import ProblemError
from .nodes import Dense, OnnxNode, OnnxValue, Repeated, widths
from .passed import SOFTMAX
from .products import product

Heads = tuple[int, int, int, int]
"""Batch, heads, positions and width of a head."""


def attention(node: OnnxNode) -> Dense:
    """Inputs Q, K, V, and optionally a mask, and keys and values of the past.

    Queries of a group of heads that share their keys (grouped-query attention) are rows of one product. Every query
    meets every key: what a causal mask would skip is computed.
    """
    q, k, v = node.input(0), node.input(1), node.input(2)
    batch, heads, queries, width = _heads(node, 0, "q_num_heads")
    _, shared, keys, key_width = _heads(node, 1, "kv_num_heads")
    value_width = _heads(node, 2, "kv_num_heads")[3]
    if heads % shared or width != key_width:
        message = f"{heads} heads of width {width} on {shared} of width {key_width}"
        raise ProblemError(message, where=node.where)
    keys += node.shape(4)[2] if node.has(4) else 0
    scores = batch * heads * queries * keys
    per_score = {"mask": node.has(3), "softcap": 3 * bool(node.attributes.get("softcap", 0.0)), "softmax": SOFTMAX}
    others = {f"Attention {what}": scores * count for what, count in per_score.items()}
    others["Attention scale"] = batch * (heads * queries * width + shared * keys * width)
    if 0 in (scores, width, value_width):
        return Dense((), others)
    runs, rows = [("both", batch * shared)] if batch * shared > 1 else [], heads // shared * queries
    # The scores are as wide as the queries.
    inner = OnnxValue("scores", None, q.bits)
    parts = (
        Repeated(product(runs, rows, keys, width, widths(q, k, inner)), k.parameter),
        Repeated(product(runs, rows, value_width, keys, widths(inner, v, node.output)), v.parameter),
    )
    return Dense(parts, others)


def _heads(node: OnnxNode, position: int, attribute: str) -> Heads:
    """The axes of a tensor; with three, heads stand side by side in the last one."""
    shape = node.shape(position)
    if len(shape) == 4:
        return shape[0], shape[1], shape[2], shape[3]
    heads = node.integer(attribute, 0)
    if len(shape) != 3 or heads < 1 or shape[2] % heads:
        message = f"input {position + 1} of shape {list(shape)} and {attribute}={heads}"
        raise ProblemError(f"cannot tell the heads of {message}", where=node.where)
    return shape[0], heads, shape[1], shape[2] // heads
