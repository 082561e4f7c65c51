"""Small networks with everything that the graphs of large ones have, and what they compute, written down in numpy."""

from __future__ import annotations

import numpy as np

IMAGES = """
network: images
blocks:
  first:
    - {name: conv1, reads: before}
    - conv2
    - {name: downsample, reads: before}
    - {name: add, op: add, reads: [conv2, downsample]}
  others:
    - {name: conv1, reads: before}
    - conv2
    - {name: add, op: add, reads: [conv2, before]}
graph:
  - stem
  - {name: pool, op: maxpool, window: 3, stride: 2, pad: 1}
  - {block: first, names: [b0]}
  - {block: others, names: [b1, b2], rows: b}
  - dw
  - grouped
  - pw
  - {name: pool2, op: avgpool, window: 2}
  - fc
  - head
layers:
  - {name: stem, op: conv, K: 2, C: 2, P: 6, Q: 6, R: 3, S: 3, stride: 2, pad: 1, H: 12, W: 12}
  - {name: b0.conv1, op: conv, K: 4, C: 2, P: 2, Q: 2, R: 3, S: 3, stride: 2, pad: 1, H: 3, W: 3}
  - {name: b0.conv2, op: conv, K: 4, C: 4, P: 2, Q: 2, R: 3, S: 3, pad: 1}
  - {name: b0.downsample, op: conv, K: 4, C: 2, P: 2, Q: 2, R: 1, S: 1, stride: 2}
  - {name: b.conv1, op: conv, K: 4, C: 4, P: 2, Q: 2, R: 3, S: 3, pad: 1, repeat: 2}
  - {name: b.conv2, op: conv, K: 4, C: 4, P: 2, Q: 2, R: 3, S: 3, pad: 1, repeat: 2}
  - {name: dw, op: conv, K: 4, C: 4, P: 2, Q: 2, R: 3, S: 3, pad: 1, groups: 4}
  - {name: grouped, op: conv, K: 4, C: 4, P: 2, Q: 2, R: 1, S: 1, groups: 2}
  - {name: pw, op: conv, K: 3, C: 4, P: 2, Q: 4, R: 1, S: 1, pad: [0, 1]}
  - {name: fc, op: gemm, M: 1, N: 4, K: 6, weight: true}
  - {name: head, op: gemm, M: 1, N: 1, K: 4, weight: true}
"""

WORDS = """
network: words
blocks:
  decoder:
    - {name: norm1, op: layernorm, reads: before}
    - q_proj
    - {name: k_proj, reads: norm1}
    - {name: v_proj, reads: norm1}
    - {name: qk, reads: [q_proj as m b k, k_proj as n b k]}
    - {name: softmax, op: softmax}
    - {name: av, reads: [softmax, v_proj as k b n], writes: m b n}
    - o_proj
    - {name: add1, op: add, reads: [o_proj, before]}
    - {name: norm2, op: rmsnorm}
    - gate
    - {name: up, reads: norm2}
    - {name: gated, op: mul, reads: [gate, up]}
    - down
    - {name: add2, op: add, reads: [down, add1]}
graph:
  - {name: embedding, op: outside, shape: [3, 4]}
  - {block: decoder, names: [h.0, h.1]}
layers:
  - {name: q_proj, op: gemm, M: 3, N: 4, K: 4, weight: true, repeat: 2}
  - {name: k_proj, op: gemm, M: 3, N: 4, K: 4, weight: true, repeat: 2}
  - {name: v_proj, op: gemm, M: 3, N: 4, K: 4, weight: true, repeat: 2}
  - {name: qk, op: gemm, B: 2, M: 3, N: 3, K: 2, weight: false, repeat: 2}
  - {name: av, op: gemm, B: 2, M: 3, N: 2, K: 3, weight: false, repeat: 2}
  - {name: o_proj, op: gemm, M: 3, N: 4, K: 4, weight: true, repeat: 2}
  - {name: gate, op: gemm, M: 3, N: 5, K: 4, weight: true, repeat: 2}
  - {name: up, op: gemm, M: 3, N: 5, K: 4, weight: true, repeat: 2}
  - {name: down, op: gemm, M: 3, N: 4, K: 5, weight: true, repeat: 2}
"""

GROUPED_QUERIES = """
network: queries
graph:
  - q_proj
  - {name: k_proj, reads: input}
  - {name: v_proj, reads: input}
  - {name: qk, reads: [q_proj as q g h d, k_proj as k g d]}
  - {name: softmax, op: softmax}
  - {name: av, reads: [softmax, v_proj as k g d], writes: q g h d}
  - o_proj
layers:
  - {name: q_proj, op: gemm, M: 3, N: 8, K: 5, weight: true}
  - {name: k_proj, op: gemm, M: 3, N: 4, K: 5, weight: true}
  - {name: v_proj, op: gemm, M: 3, N: 4, K: 5, weight: true}
  - {name: qk, op: einsum, spec: 'ghqd,gkd->ghqk', sizes: {g: 2, h: 2, q: 3, k: 3, d: 2}, weight: false}
  - {name: av, op: einsum, spec: 'ghqk,gkd->ghqd', sizes: {g: 2, h: 2, q: 3, k: 3, d: 2}, weight: false}
  - {name: o_proj, op: gemm, M: 3, N: 5, K: 8, weight: true}
"""

SMALL = {"images": IMAGES, "words": WORDS, "queries": GROUPED_QUERIES}


def convolved(
    image: np.ndarray, weight: np.ndarray, stride: int = 1, pad: tuple[int, int] = (0, 0), groups: int = 1
) -> np.ndarray:
    """A convolution of an image (channels first) with a filter (outputs, inputs of a group, height, width)."""
    padded = np.pad(image, ((0, 0), (pad[0],) * 2, (pad[1],) * 2))
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], axis=(1, 2))[:, ::stride, ::stride]
    inputs, outputs = np.split(windows, groups), np.split(weight, groups)
    return np.concatenate([np.einsum("cpqrs,kcrs->kpq", i, w) for i, w in zip(inputs, outputs, strict=True)])


def pooled(image: np.ndarray, size: int, stride: int, pad: int) -> np.ndarray:
    """Windows of an image with zeros around it, as its last two axes."""
    padded = np.pad(image, ((0, 0), (pad, pad), (pad, pad)))
    return np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(1, 2))[:, ::stride, ::stride]


def softmax(scores: np.ndarray) -> np.ndarray:
    """Of rows."""
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, heads: int, shared: int = 1) -> np.ndarray:
    """Of queries, keys and values as tokens x features; `shared` heads of queries read one head of keys."""
    tokens = q.shape[0]
    of_q = q.reshape(tokens, heads // shared, shared, -1)
    of_k, of_v = (x.reshape(tokens, heads // shared, -1) for x in (k, v))
    scores = softmax(np.einsum("qghd,kgd->ghqk", of_q, of_k))
    return np.einsum("ghqk,kgd->qghd", scores, of_v).reshape(tokens, -1)
