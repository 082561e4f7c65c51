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
from typing import Any, NamedTuple

from ...ir import Problem, ProblemError
from ..graph.meaning import ApartOperation, ApartRead, StoredOperand
from ..graph.occurrences import LAYER, Occurrence, Source
from ..layers import convolution
from .convolutions import Window, auto_pad_of, pads_of, spatial_shapes, window_of
from .nodes import Dense, OnnxNode, Repeated, widths
from .views import order_of

MOST_PHASES = 8
"""Of an operation that is mapped phase by phase; one of more is mapped once for all equal ones."""


class AxisPhase(NamedTuple):
    """Outputs along one axis that read the same taps.

    first    the first of them; the others follow a stride apart
    outputs  how many there are
    taps     of the filter, in the order in which they read the input
    lowest   the position that the first output reads first; below zero, there are zeros before the input
    """

    first: int
    outputs: int
    taps: tuple[int, ...]
    lowest: int


Phase = tuple[AxisPhase, ...]
"""Outputs of all axes that read the same taps."""


def phases_of(node: OnnxNode) -> list[Phase]:
    """All phases of a transposed convolution that have taps."""
    window = window_of(node, node.shape(1))
    extents = [_extent(node, axis, size, window) for axis, size in enumerate(node.shape(0)[2:])]
    return list(itertools.product(*(_axis_phases(*one, window, axis) for axis, one in enumerate(extents))))


def phase_shape(phase: Phase) -> tuple[tuple[int, int], ...]:
    """Of every axis, how many outputs and taps there are: equal phases have one problem."""
    return tuple((along.outputs, len(along.taps)) for along in phase)


def conv_transpose(node: OnnxNode) -> Dense:
    """ConvTranspose: inputs X, W (C x K/groups x taps) and optionally a bias."""
    (batch, channels, *_), (read, per_group, *_) = spatial_shapes(node, 0, 1)
    window, groups = window_of(node, node.shape(1)), node.integer("group", 1, minimum=1)
    if channels != read:
        raise ProblemError(f"{channels} channels, and a filter that reads {read}", where=node.where)
    spread = [d // math.gcd(s, d) for s, d in zip(window.stride, window.dilation, strict=True)]
    bits, stored = widths(node.input(0), node.input(1), node.output), node.input(1).parameter
    parts = []
    for shape, times in Counter(map(phase_shape, phases_of(node))).items():
        outputs, taps = zip(*shape, strict=True)
        dilation = [1 if count == 1 else step for count, step in zip(taps, spread, strict=True)]
        if batch and channels and per_group:
            problem = convolution(per_group * groups, channels, outputs, taps, batch, groups, (), dilation, bits=bits)
            parts.append(Repeated(problem, stored, times))
    return Dense(tuple(parts), {"ConvTranspose bias": node.output_elements if node.has(2) else 0})


def _axis_phases(outputs: int, begin: int, window: Window, axis: int) -> list[AxisPhase]:
    """Every phase of an axis that has outputs and taps; `begin` is what is cut off at the front."""
    stride, dilation, size = window.stride[axis], window.dilation[axis], window.size[axis]
    found = []
    for first in range(min(stride, outputs)):
        taps = [tap for tap in reversed(range(size)) if (first + begin - dilation * tap) % stride == 0]
        if taps:
            lowest = (first + begin - dilation * taps[0]) // stride
            found.append(AxisPhase(first, len(range(first, outputs, stride)), tuple(taps), lowest))
    return found


class PhaseLayer(NamedTuple):
    """A phase as a layer of a network's graph."""

    phase: Phase
    problem: Problem
    occurrence: Occurrence


def phase_layers(
    node: OnnxNode, image: str, parts: Sequence[tuple[str, Repeated]], rows: Mapping[str, str]
) -> dict[str, PhaseLayer]:
    """Every phase by its name; none, where there are many, or one does not read the image from its edge on.

    image  who makes what the node reads
    parts  its problems, each with a name
    rows   by these names, those of the network's layers
    """
    phases, found = phases_of(node), dict[str, PhaseLayer]()
    if node.input(0).constant or not node.input(1).constant or len(phases) > MOST_PHASES:
        return {}
    named = dict(zip(dict.fromkeys(map(phase_shape, phases)), parts, strict=True))
    for phase in phases:
        row, part = named[phase_shape(phase)]
        if not _reads_from_the_edge(phase, node.shape(0)[2:]):
            return {}
        alike = sum(one.problem is part.problem for one in found.values())
        name = row if part.times == 1 else f"{row}.{alike + 1}"
        windows = part.problem.operands[0].ranks[-len(phase) :]
        zeros = tuple((rank[0][0].lower(), -along.lowest) for rank, along in zip(windows, phase, strict=True))
        is_all = math.prod(along.outputs for along in phase) == math.prod((node.output.shape or ())[2:])
        name, whole = (name, "") if is_all else (f"{name}.1" if name == node.name else name, node.name)
        source = Source(image, pads=zeros)
        layer = Occurrence(name, LAYER, (source,), problem=part.problem, layer=rows[row], part_of=whole)
        found[name] = PhaseLayer(phase, part.problem, layer)
    return found


def _reads_from_the_edge(phase: Phase, sizes: Sequence[int]) -> bool:
    """Whether its windows begin at the first position, or in zeros before it; and go over all positions where they are
    one tap each. Else it reads a part of the image, and tensors of cascades are whole."""
    whole = (len(one.taps) > 1 or one.outputs + one.lowest >= n for one, n in zip(phase, sizes, strict=True))
    return all(one.lowest <= 0 for one in phase) and all(whole)


def filter_of(node: OnnxNode, phase: Phase, problem: Problem) -> StoredOperand:
    """The taps of the stored filter that a phase multiplies with."""
    weight = problem.tensor("W")
    *outer, _, _ = order = order_of(weight.ranks)[: -len(phase)]
    letters, full = order_of(weight.ranks)[-len(phase) :], node.shape(1)[2:]
    taken = tuple((letter, size, along.taps) for letter, size, along in zip(letters, full, phase, strict=True))
    return StoredOperand(node.input(1).name, (*outer, order[-1], order[-2], *letters), taken=taken)


def put_together(node: OnnxNode, phases: Mapping[str, Phase]) -> ApartOperation:
    """The output of a transposed convolution, of those of its phases, by who makes each; zeros where there are none."""
    import numpy as np

    shape, strides, reads = node.output.shape or (), window_of(node, node.shape(1)).stride, []
    for number, (name, phase) in enumerate(phases.items()):
        counts = [*shape[:2], *(along.outputs for along in phase)]
        positions = [np.arange(size) for size in shape[:2]]
        positions += [a.first + s * np.arange(a.outputs) for a, s in zip(phase, strides, strict=True)]
        offsets = [np.arange(n).reshape(-1, 1) * math.prod(counts[axis + 1 :]) for axis, n in enumerate(counts)]
        reads.append(ApartRead(f"A{number}", name, None, shape, tuple(positions), tuple(offsets)))
    return ApartOperation("move", shape, tuple(reads))


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
