"""DeformConv: samples of the image at places that data says, and the product of all samples with the filter.

Where a tap reads is data, which no affine access can say. So the samples are an operand of their own, one for each
output and tap; the interpolation that makes them is counted beside.
"""

from __future__ import annotations

import math

from ...ir import ProblemError, Rank, Role
from ..arguments import axes, build
from .convolutions import pads_of, positions, spatial_shapes, window_of
from .nodes import Dense, OnnxNode, Repeated, widths

_OUTPUTS, _TAPS = ("P", "Q"), ("R", "S")


def deform_conv(node: OnnxNode) -> Dense:
    """Inputs X, W, offsets, and optionally a bias and a mask of the samples; two spatial axes."""
    (batch, channels, *sizes), (filters, per_group, *taps) = spatial_shapes(node, 0, 1)
    if len(sizes) != 2:
        raise ProblemError(f"{len(sizes)} spatial axes, expected 2", where=node.where)
    window, groups = window_of(node, node.shape(1)), node.integer("group", 1, minimum=1)
    if channels != per_group * groups or filters % groups:
        message = f"{channels} channels and {filters} filters in {groups} groups, and a filter of {per_group} channels"
        raise ProblemError(message, where=node.where)
    padding = [begin + end for begin, end in pads_of(node, 2)]
    outputs = [
        positions(node, axis, size, pad, window) for axis, (size, pad) in enumerate(zip(sizes, padding, strict=True))
    ]
    samples = batch * channels * math.prod(outputs) * math.prod(taps)
    others = {
        "DeformConv interpolation": 4 * samples,
        "DeformConv mask": samples * node.has(4),
        "DeformConv bias": node.output_elements * node.has(3),
    }
    if samples * filters <= 0:
        return Dense((), others)
    group = ("G",) if groups > 1 else ()
    spatial = {**dict(zip(_OUTPUTS, outputs, strict=True)), **dict(zip(_TAPS, taps, strict=True))}
    dims = {"N": batch, **dict.fromkeys(group, groups), "K": filters // groups, "C": per_group, **spatial}
    tensors: list[tuple[str, Role, tuple[Rank, ...]]] = [
        ("I", "input", axes("N", *group, "C", *_TAPS, *_OUTPUTS)),
        ("W", "weight", axes(*group, "K", "C", *_TAPS)),
        ("O", "output", axes("N", *group, "K", *_OUTPUTS)),
    ]
    problem = build("deform_conv", dims, tensors, widths(node.input(0), node.input(1), node.output))
    return Dense((Repeated(problem, node.input(1).parameter),), others)
