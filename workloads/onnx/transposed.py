"""ConvTranspose, as the stride-1 convolutions that it is made of.

A transposed convolution of stride s writes O[s*i + d*r - pad] += I[i] * W[r], which is no gather: an output axis is a
sum. Outputs that are equal modulo s (a phase) read the same taps, though: those r with s | o + pad - d*r. They are
every s/g-th one, where g = gcd(s, d), and along them i runs backwards in steps of d/g. So each phase is a convolution
of stride 1 and dilation d/g over some taps of the flipped filter; all phases together use every tap once, and no
multiplication by an inserted zero is counted. Positions beyond the input count as padding does in a convolution.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ...ir import ProblemError
from ..layers import convolution
from .convolutions import Window, auto_pad_of, pads_of, spatial_shapes, window_of
from .nodes import Dense, OnnxNode, Repeated, widths

Phase = tuple[int, int]
"""Outputs and taps of one phase along one axis."""


def conv_transpose(node: OnnxNode) -> Dense:
    """ConvTranspose: inputs X, W (C x K/groups x taps) and optionally a bias."""
    (batch, channels, *sizes), (read, per_group, *_) = spatial_shapes(node, 0, 1)
    window, groups = window_of(node, node.shape(1)), node.integer("group", 1, minimum=1)
    if channels != read:
        raise ProblemError(f"{channels} channels, and a filter that reads {read}", where=node.where)
    extents = [_extent(node, axis, size, window) for axis, size in enumerate(sizes)]
    by_axis = [phases(*extent, window, axis) for axis, extent in enumerate(extents)]
    spread = [d // math.gcd(s, d) for s, d in zip(window.stride, window.dilation, strict=True)]
    bits, stored = widths(node.input(0), node.input(1), node.output), node.input(1).parameter
    parts = []
    for shape, times in Counter(itertools.product(*by_axis)).items():
        outputs, taps = zip(*shape, strict=True)
        dilation = [1 if count == 1 else step for count, step in zip(taps, spread, strict=True)]
        if batch and channels and per_group:
            problem = convolution(per_group * groups, channels, outputs, taps, batch, groups, (), dilation, bits=bits)
            parts.append(Repeated(problem, stored, times))
    return Dense(tuple(parts), {"ConvTranspose bias": node.output_elements if node.has(2) else 0})


def phases(outputs: int, begin: int, window: Window, axis: int) -> list[Phase]:
    """Outputs and taps of every phase of an axis that has both; `begin` is what is cut off at the front."""
    stride, dilation, size = window.stride[axis], window.dilation[axis], window.size[axis]
    found = []
    for first in range(min(stride, outputs)):
        phase = (first + begin) % stride
        taps = sum((phase - dilation * tap) % stride == 0 for tap in range(size))
        if taps:
            found.append((len(range(first, outputs, stride)), taps))
    return found


def _extent(node: OnnxNode, axis: int, size: int, window: Window) -> tuple[int, int]:
    """Output positions of an axis, and what is cut off at its front (the specification of ConvTranspose); below zero,
    there are as many positions before the first word."""
    stride, mode = window.stride[axis], auto_pad_of(node)
    grown = node.integers("output_padding", len(window.size), 0)[axis]
    full = stride * (size - 1) + grown + window.reach[axis]
    stated = node.attributes.get("output_shape")
    if stated or mode.startswith("SAME"):
        sizes = node.integers("output_shape", len(window.size), 0) if stated else ()
        outputs = sizes[axis] if stated else size * stride
        cut = full - outputs
        return outputs, cut // 2 if mode == "SAME_UPPER" else cut - cut // 2
    begin, end = pads_of(node, len(window.size))[axis] if mode == "NOTSET" else (0, 0)
    if full - begin - end < 1 <= size:
        message = f"pads of {begin} and {end} leave nothing of the {full} outputs of spatial axis {axis + 1}"
        raise ProblemError(message, where=node.where)
    return max(0, full - begin - end), begin


def same_shape(attributes: Mapping[str, Any], shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The shape that ConvTranspose makes with auto_pad SAME_*, as its text says: each axis as often as its stride.

    ONNX's inference adds `output_padding` there, and the reference implementation does not.
    """
    image, filters = shapes[:2]
    strides = attributes.get("strides") or [1] * (len(image) - 2)
    sizes = (size * stride for size, stride in zip(image[2:], strides, strict=False))
    return (image[0], filters[1] * attributes.get("group", 1), *sizes)
