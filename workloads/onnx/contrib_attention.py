"""Attention and GroupQueryAttention of com.microsoft, written out in standard operators.

Heads that share their keys are rows of one product, as `attention.py` has it. Every query meets every key: what a
causal mask hides is computed, and has no weight. Sequences are taken as full: past and new words of all of them are
valid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .rewrites.writer import NodeWriter
from .shapes import attributes

_HIDDEN = -3.0e38
"""What is added to a score that has no weight: any score more is far from the least float, and its exponential 0."""


class Heads(NamedTuple):
    """Queries, keys and values, each of four axes: batch, heads, positions, width of a head.

    group    heads of queries on one of keys
    queries  positions of these
    scale    of scores
    softcap  largest magnitude of scores; 0: any
    """

    query: str
    key: str
    value: str
    group: int
    queries: int
    scale: float
    softcap: float = 0.0


def attention(writer: NodeWriter) -> bool:
    """Inputs: words, the weights of all projections side by side, their bias, a mask, past keys and values, and what is
    added to scores."""
    given, edit = attributes(writer.node), writer.edit
    words, weights, bias, mask, past, added, shared = [*writer.node.input, *[""] * 7][:7]
    shape, columns = edit.shape(words), edit.shape(weights)
    past_shape = edit.shape(past) if past else (0, 0, 0, 0, 0)
    heads = given.get("num_heads", 0)
    known = shape is not None and columns is not None and past_shape is not None and len(shape) == 3 and heads > 0
    if not known or shared or given.get("do_rotary") or given.get("past_present_share_buffer"):
        return False
    assert shape is not None
    assert columns is not None
    assert past_shape is not None
    sizes = list(given.get("qkv_hidden_sizes") or [columns[1] // 3] * 3)
    if sum(sizes) != columns[1] or any(size % heads for size in sizes) or sizes[0] != sizes[1]:
        return False
    projected = writer.product("MatMul", words, weights, part="qkv")
    if bias:
        projected = writer.made("Add", "biased", projected, bias)
    ends = [0, sizes[0], sizes[0] + sizes[1], sum(sizes)]
    split = [
        by_head(
            writer,
            writer.made("Slice", f"{name}s", projected, *map(writer.shape, (ends[i], ends[i + 1], 2))),
            heads,
            name,
        )
        for i, name in enumerate(("query", "key", "value"))
    ]
    if past:
        for place in (0, 1):
            one = writer.made("Gather", f"past {place}", past, writer.place(place), axis=0)
            split[1 + place] = writer.made("Concat", f"with past {place}", one, split[1 + place], axis=2)
    width, before = sizes[0] // heads, past_shape[3]
    masked = hidden_scores(writer, shape[1], before, is_causal=bool(given.get("unidirectional")))
    if mask:
        found = score_mask(writer, mask, words, shape, shape[1] + before, given.get("mask_filter_value", -10000.0))
        if found is None:
            return False
        masked.append(found)
    masked += [added] if added else []
    scale = given.get("scale", 0.0) or 1 / math.sqrt(width)
    in_rows(writer, products(writer, Heads(split[0], split[1], split[2], 1, shape[1], scale), masked), sizes[2])
    if len(writer.node.output) > 1 and writer.node.output[1]:
        both = [
            writer.made("Reshape", f"present {i}", one, writer.shape(1, shape[0], heads, -1, width))
            for i, one in enumerate(split[1:])
        ]
        writer.end("Concat", *both, output=1, axis=0)
    return True


def standard_attention(writer: NodeWriter) -> bool:
    """Inputs: queries, keys, values (with heads in an axis of their own, or side by side in the last one), what is
    added to scores or which of them have weight, past keys and values."""
    given, edit = attributes(writer.node), writer.edit
    query, key, value, mask, past_key, past_value, *more = [*writer.node.input, *[""] * 7]
    shapes = [edit.shape(name) for name in (query, key, value)]
    past, outputs = edit.shape(past_key) if past_key else (0, 0, 0, 0), [*writer.node.output, "", "", ""]
    known = [shape for shape in shapes if shape is not None]
    is_stated = _STATED.issuperset(given) and not any(more) and not outputs[3]
    if not is_stated or past is None or len(known) < 3 or len({len(shape) for shape in known}) > 1:
        return False
    in_one = len(known[0]) == 3
    counts = [
        given.get(f"{name}_num_heads", 0) if in_one else known[0 if name == "q" else 1][1] for name in ("q", "kv")
    ]
    sizes = [(*shape, count) for shape, count in zip(known, (*counts, counts[1]), strict=True)]
    if any(0 in size for size in sizes) or counts[0] % counts[1]:
        return False
    widths = [shape[2] // size[-1] if in_one else shape[3] for shape, size in zip(known, sizes, strict=True)]
    if in_one and any(shape[2] % size[-1] for shape, size in zip(known, sizes, strict=True)):
        return False
    split = [query, key, value]
    if in_one:
        named = zip(split, (counts[0], counts[1], counts[1]), ("query", "key", "value"), strict=True)
        split = [by_head(writer, *one) for one in named]
    for place, (name, before) in enumerate((("keys", past_key), ("values", past_value)), 1):
        if before:
            split[place] = writer.made("Concat", name, before, split[place], axis=2)
        if outputs[place]:
            writer.end("Identity", split[place], output=place)
    queries, keys, is_causal = known[0][-2], known[1][-2], bool(given.get("is_causal", 0))
    masked, seen = _standard_masks(writer, mask, hidden_scores(writer, queries, past[2], keys, is_causal=is_causal))
    scale, softcap = given.get("scale") or 1 / math.sqrt(widths[0]), given.get("softcap", 0.0)
    of_heads = Heads(split[0], split[1], split[2], counts[0] // counts[1], queries, scale, softcap)
    found = products(writer, of_heads, masked, counts[1], seen)
    if in_one:
        in_rows(writer, found, counts[0] * widths[2])
    else:
        writer.end("Identity", found)
    return True


_STATED = frozenset(
    ("is_causal", "kv_num_heads", "q_num_heads", "qk_matmul_output_mode", "scale", "softcap", "softmax_precision")
)
"""Attributes that are read, or matter for no output that is."""


def _standard_masks(writer: NodeWriter, mask: str, causal: list[str]) -> tuple[list[str], str]:
    """What is added to scores, of a mask and of what hides keys behind a query; and, of a mask of truths, 1 where a key
    is seen: a query that sees none makes zeros."""
    from onnx import TensorProto

    query = writer.node.input[0]
    if not mask or writer.edit.element_type(mask) != TensorProto.BOOL:
        return [*causal, *([mask] if mask else [])], ""
    one, nothing, least = (writer.number(word, like=query) for word in (1.0, 0.0, _HIDDEN))
    if causal:
        mask = writer.made("And", "both", mask, writer.made("Equal", "before", causal[0], nothing))
    added = writer.made("Where", "mask added", mask, nothing, least)
    return [added], writer.made("Where", "seen", mask, one, nothing)


def group_query_attention(writer: NodeWriter) -> bool:
    """Inputs: queries, keys, values (or all in the first one), past keys and values, lengths, cosines and sines of a
    rotary embedding, positions, and what is added to scores."""
    given, edit = attributes(writer.node), writer.edit
    inputs = [*writer.node.input, *[""] * 16][:16]
    query, key, value, past_key, past_value = inputs[:5]
    shape, past = edit.shape(query), edit.shape(past_key) if past_key else (0, 0, 0, 0)
    heads, shared = given.get("num_heads", 0), given.get("kv_num_heads", 0)
    if shape is None or past is None or len(shape) != 3 or len(past) != 4 or not heads or not shared or heads % shared:
        return False
    present = edit.shape(writer.node.output[1]) if len(writer.node.output) > 1 else None
    if not _is_read(given, inputs) or (past_key and present is not None and present[2] == past[2]):
        return False  # or one buffer for past and new words: where these lie is data
    width = shape[2] // (heads if key else heads + 2 * shared)
    if not key:
        ends = [0, heads * width, (heads + shared) * width, shape[2]]
        query, key, value = (
            writer.made("Slice", f"packed {i}", query, *map(writer.shape, (ends[i], ends[i + 1], 2))) for i in range(3)
        )
    split = [
        by_head(writer, one, count, name)
        for one, count, name in ((query, heads, "query"), (key, shared, "key"), (value, shared, "value"))
    ]
    if given.get("do_rotary"):
        for i in (0, 1):
            turned = _rotated(writer, split[i], inputs[7:10], (past[2], shape[1], width), ("query", "key")[i])
            if turned is None:
                return False
            split[i] = turned
    if past_key:
        split[1] = writer.made("Concat", "keys", past_key, split[1], axis=2)
        split[2] = writer.made("Concat", "values", past_value, split[2], axis=2)
    for place in (1, 2):
        if len(writer.node.output) > place and writer.node.output[place]:
            writer.end("Identity", split[place], output=place)
    is_causal, window = bool(given.get("causal", 1)), given.get("local_window_size", -1)
    masked = hidden_scores(writer, shape[1], past[2], is_causal=is_causal, window=window)
    masked += [inputs[10]] if inputs[10] else []
    scale = given.get("scale", 0.0) or 1 / math.sqrt(width)
    heads_of = Heads(split[0], split[1], split[2], heads // shared, shape[1], scale, given.get("softcap", 0.0))
    in_rows(writer, products(writer, heads_of, masked, shared), heads * width)
    return True


def _is_read(given: Mapping[str, Any], inputs: Sequence[str]) -> bool:
    """Whether nothing is stated that is not known here: sinks, quantized caches, norms of queries."""
    unknown = ("smooth_softmax", "qk_output", "sliding_window_cache", "kv_cache_bit_width")
    return not any(inputs[11:]) and not any(given.get(name) for name in unknown)


def by_head(writer: NodeWriter, words: str, heads: int, name: str) -> str:
    """Heads side by side in the last axis, as an axis behind the batch."""
    apart = writer.made("Reshape", f"{name} heads", words, writer.shape(0, 0, heads, -1))
    return writer.made("Transpose", name, apart, perm=[0, 2, 1, 3])


def hidden_scores(
    writer: NodeWriter, queries: int, before: int, new: int | None = None, *, is_causal: bool, window: int = 0
) -> list[str]:
    """What is added to scores so that keys behind a query, and those too far before it, have no weight; nothing where
    every query sees all keys.

    before  keys that come before the first query
    new     other keys, where these are not as many as queries
    window  how many keys up to its own a query sees; 0: all
    """
    import numpy as np

    keys, places = np.arange(before + (queries if new is None else new))[None, :], np.arange(queries)[:, None] + before
    hidden = (keys > places) & is_causal
    if window > 0:
        hidden = hidden | (keys <= places - window)
    return [writer.number(hidden * _HIDDEN, like=writer.node.input[0])] if hidden.any() else []


def products(writer: NodeWriter, heads: Heads, masked: list[str], shared: int = 0, seen: str = "") -> str:
    """Scores, their softmax, and the sums of values, by head.

    masked  what is added to scores
    seen    by which weights are multiplied
    """
    group = heads.group
    query = heads.query
    if group > 1:  # rows of one product
        query = writer.made("Reshape", "groups", query, writer.shape(0, shared, group * heads.queries, -1))
    turned = writer.made("Transpose", "keys turned", heads.key, perm=[0, 1, 3, 2])
    scores = writer.product("MatMul", query, turned, part="scores")
    scores = writer.made("Mul", "scaled", scores, writer.number(heads.scale, like=writer.node.input[0]))
    if heads.softcap:
        cap = writer.number(heads.softcap, like=writer.node.input[0])
        scores = writer.made("Mul", "capped", writer.made("Tanh", "tanh", writer.made("Div", "part", scores, cap)), cap)
    if group > 1:
        scores = writer.made("Reshape", "apart", scores, writer.shape(0, shared * group, heads.queries, -1))
    for i, mask in enumerate(masked):
        scores = writer.made("Add", f"masked {i}", scores, mask)
    weights = writer.made("Softmax", "weights", scores, axis=-1)
    weights = writer.made("Mul", "weights seen", weights, seen) if seen else weights
    if group > 1:
        weights = writer.made("Reshape", "together", weights, writer.shape(0, shared, group * heads.queries, -1))
    found = writer.product("MatMul", weights, heads.value, part="sums")
    if group > 1:
        found = writer.made("Reshape", "heads", found, writer.shape(0, shared * group, heads.queries, -1))
    return found


def in_rows(writer: NodeWriter, found: str, hidden: int) -> None:
    """What a node makes, with heads side by side in the last axis."""
    writer.end("Reshape", writer.made("Transpose", "positions", found, perm=[0, 2, 1, 3]), writer.shape(0, 0, hidden))


def score_mask(
    writer: NodeWriter, mask: str, like: str, shape: tuple[int, ...], keys: int, filtered: float
) -> str | None:
    """What is added to scores, of a mask: words that are 0 where a key is hidden, or how many keys each batch has."""
    import numpy as np

    own = writer.edit.shape(mask)
    batch, queries, _ = shape
    kind = writer.edit.element_type(like) or 1
    if own in ((batch, keys), (batch, queries, keys)):
        sizes = writer.shape(batch, 1, 1 if len(own) == 2 else queries, keys)
        seen = writer.made("Cast", "seen", writer.made("Reshape", "mask", mask, sizes), to=kind)
    elif own == (batch,) and batch > 0:
        counts = writer.made("Reshape", "counts", mask, writer.shape(-1, 1, 1, 1))
        places = writer.edit.stored(f"{writer.node.name}.places", np.arange(keys, dtype=np.int32).reshape(1, 1, 1, -1))
        seen = writer.made("Cast", "seen", writer.made("Less", "mask", places, counts), to=kind)
    else:
        return None
    hidden = writer.made("Sub", "hidden", writer.number(1.0, like=like), seen)
    return writer.made("Mul", "mask added", hidden, writer.number(filtered, like=like))


def _rotated(writer: NodeWriter, words: str, given: list[str], sizes: tuple[int, int, int], name: str) -> str | None:
    """Heads turned by the angles of their positions: past ones, and new ones behind them, or as stated."""
    import numpy as np

    cosines, sines, positions = given
    shape = writer.edit.shape(cosines) if cosines and sines else None
    before, count, width = sizes
    if shape is None:
        return None
    turned = 2 * shape[1]
    across = writer.shape(-1, 1, count, turned // 2)
    index = positions or writer.edit.stored(f"{writer.node.name}.places", np.arange(before, before + count)[None, :])
    angles = [
        writer.made("Reshape", f"{name} {what}s", writer.made("Gather", f"{name} {what}", table, index, axis=0), across)
        for what, table in (("cosine", cosines), ("sine", sines))
    ]
    interleaved = attributes(writer.node).get("rotary_interleaved", 0)
    parts = []
    for half in (0, 1):
        ends = (half, turned, 3, 2) if interleaved else (half * turned // 2, (half + 1) * turned // 2, 3, 1)
        parts.append(writer.made("Slice", f"{name} half {half}", words, *map(writer.shape, ends)))

    def product(half: int, angle: int) -> str:
        return writer.made("Mul", f"{name} {half} by {angle}", parts[half], angles[angle])

    first = writer.made("Sub", f"{name} turned 0", product(0, 0), product(1, 1))
    second = writer.made("Add", f"{name} turned 1", product(1, 0), product(0, 1))
    if interleaved:
        apart = [
            writer.made("Reshape", f"{name} apart {i}", one, writer.shape(0, 0, 0, -1, 1))
            for i, one in enumerate((first, second))
        ]
        joined = writer.made("Concat", f"{name} pairs", *apart, axis=4)
        found = [writer.made("Reshape", f"{name} turned", joined, writer.shape(0, 0, 0, turned))]
    else:
        found = [first, second]
    if turned < width:
        found.append(writer.made("Slice", f"{name} rest", words, *map(writer.shape, (turned, width, 3, 1))))
    return writer.made("Concat", f"{name} rotated", *found, axis=3) if len(found) > 1 else found[0]
