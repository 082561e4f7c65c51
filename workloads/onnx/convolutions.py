"""Conv, ConvInteger and QLinearConv: convolutions over one to three axes, with groups, strides, dilations and pads."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...ir import ProblemError
from ..layers import convolution, padded
from .nodes import Dense, OnnxNode, Repeated, widths

_TERMWISE = ("Add", "Sub", "Mul", "Div")
_POOLS = ("AveragePool", "LpPool", "MaxPool")


@dataclass(frozen=True)
class Window:
    """How a filter steps over the spatial axes, one number an axis."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]

    @property
    def reach(self) -> tuple[int, ...]:
        """Elements from the first tap to the last."""
        return tuple(d * (k - 1) + 1 for k, d in zip(self.size, self.dilation, strict=True))


def conv(node: OnnxNode) -> Dense:
    """Conv: inputs X, W and optionally a bias."""
    return _convolved(node, image=0, weight=1, others={"Conv bias": node.output_elements if node.has(2) else 0})


def conv_integer(node: OnnxNode) -> Dense:
    """ConvInteger: inputs x, w and optionally their zero points, which are subtracted first."""
    image, weight = math.prod(node.shape(0)), math.prod(node.shape(1))
    subtractions = image * node.has(2) + weight * (node.has(3) and not node.input(1).constant)
    return _convolved(node, image=0, weight=1, others={"ConvInteger zero points": subtractions})


def qlinear_conv(node: OnnxNode) -> Dense:
    """QLinearConv: x, its scale and zero point, w, its scale and zero point, those of y, and optionally a bias."""
    outputs = node.output_elements
    scaling = math.prod(node.shape(0)) + 2 * outputs  # zero point of x; scale and zero point of y
    others = {"QLinearConv scaling": scaling, "QLinearConv bias": outputs if node.has(8) else 0}
    return _convolved(node, image=0, weight=3, others=others)


def _convolved(node: OnnxNode, image: int, weight: int, others: dict[str, int]) -> Dense:
    (batch, channels, *sizes), (filters, per_group, *_) = spatial_shapes(node, image, weight)
    window = window_of(node, node.shape(weight))
    groups = node.integer("group", 1, minimum=1)
    if channels != per_group * groups:
        message = f"{channels} channels in {groups} groups, and a filter of {per_group} channels"
        raise ProblemError(message, where=node.where)
    output = tuple(_outputs(node, axis, size, window) for axis, size in enumerate(sizes))
    if 0 in (batch, channels, filters, *output):
        return Dense((), others)
    kept, bits = node.input(weight), widths(node.input(image), node.input(weight), node.output)
    problem = convolution(
        filters, channels, output, window.size, batch, groups, window.stride, window.dilation, bits=bits
    )
    before = _begins(node, sizes, output, window)
    if all(zeros >= 0 for zeros in before):  # else positions are cut off
        problem = padded(problem, before, sizes)
    return Dense((Repeated(problem, kept.parameter),), others)


def spatial_shapes(node: OnnxNode, image: int, weight: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shapes of image and filter: as many axes, two of them channels."""
    seen, kernel = node.shape(image), node.shape(weight)
    if len(seen) != len(kernel) or len(seen) < 3:
        raise ProblemError(f"an input of {len(seen)} axes and a filter of {len(kernel)}", where=node.where)
    return seen, kernel


def window_of(node: OnnxNode, kernel: Sequence[int]) -> Window:
    """The filter's size, from its shape; stride and dilation from the attributes, 1 where they are left out."""
    size = tuple(kernel[2:])
    stated = node.attributes.get("kernel_shape")
    if stated and tuple(stated) != size:
        message = f"kernel_shape is {list(stated)}, and the filter's shape says {list(size)}"
        raise ProblemError(message, where=node.where)
    count = len(size)
    return Window(size, node.integers("strides", count, 1, 1), node.integers("dilations", count, 1, 1))


def pads_of(node: OnnxNode, axes: int) -> tuple[tuple[int, int], ...]:
    """(begin, end) of every axis; the attribute has all begins first."""
    both = node.integers("pads", 2 * axes, 0)
    return tuple(zip(both[:axes], both[axes:], strict=True))


def pool_begins(node: OnnxNode) -> tuple[int, ...]:
    """Positions before the first word of every axis of an image at which the windows of a pooling begin."""
    sizes, outputs = node.shape(0)[2:], (node.output.shape or ())[2:]
    window = Window(*(node.integers(name, len(sizes), 1, 1) for name in ("kernel_shape", "strides", "dilations")))
    return _begins(node, sizes, outputs, window)


def _begins(node: OnnxNode, sizes: Sequence[int], outputs: Sequence[int], window: Window) -> tuple[int, ...]:
    """Zeros before the first word of every axis of an image."""
    axes, mode = len(sizes), auto_pad_of(node)
    if not mode.startswith("SAME"):
        return tuple(low for low, _ in pads_of(node, axes)) if mode == "NOTSET" else (0,) * axes
    reaches = zip(sizes, outputs, window.stride, window.reach, strict=True)
    needed = [max(0, (count - 1) * step + reach - size) for size, count, step, reach in reaches]
    return tuple(zeros // 2 if mode == "SAME_UPPER" else zeros - zeros // 2 for zeros in needed)


def ceiled_shape(attributes: Mapping[str, Any], shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The shape that a pooling with ceil_mode makes: windows that begin behind the image and its padding's front are
    left out, as ONNX's text says, and its inference does not."""
    (image,) = shapes[:1]
    axes, found = len(image) - 2, []
    ones = [1] * axes
    pads = attributes.get("pads") or [0] * 2 * axes
    steps, apart = attributes.get("strides") or ones, attributes.get("dilations") or ones
    for size, window, step, gap, low, high in zip(
        image[2:], attributes["kernel_shape"], steps, apart, pads[:axes], pads[axes:], strict=True
    ):
        count = -(-(size + low + high - gap * (window - 1) - 1) // step) + 1
        found.append(count - 1 if (count - 1) * step >= size + low else count)
    return (*image[:2], *found)


def auto_pad_of(node: OnnxNode) -> str:
    """How padding is chosen: NOTSET, VALID, SAME_UPPER or SAME_LOWER."""
    mode = str(node.attributes.get("auto_pad", "NOTSET"))
    if mode not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise ProblemError(f"auto_pad is {mode!r}, unknown", where=node.where)
    return mode


def _outputs(node: OnnxNode, axis: int, size: int, window: Window) -> int:
    """Output positions along one axis (the formulas of the ONNX operator specification of Conv)."""
    mode, stride = auto_pad_of(node), window.stride[axis]
    if mode.startswith("SAME"):
        return -(-size // stride)
    padding = sum(pads_of(node, len(window.size))[axis]) if mode == "NOTSET" else 0
    return positions(node, axis, size, padding, window)


def positions(node: OnnxNode, axis: int, size: int, padding: int, window: Window) -> int:
    """How often a filter fits along an axis; ProblemError for one that is larger than what it steps over.

    An axis without elements has none.
    """
    reach = window.reach[axis]
    if size > 0 and size + padding < reach:
        padded = f" and {padding} of padding" if padding else ""
        message = f"a filter over {reach} elements does not fit spatial axis {axis + 1}, of {size}{padded}"
        raise ProblemError(message, where=node.where)
    return max(0, (size + padding - reach) // window.stride[axis] + 1)


def check_sizes(nodes: Iterable[OnnxNode]) -> None:
    """ProblemError for a pooling that leaves nothing of what it reads, a reshape to more or fewer elements, and
    arithmetic on tensors whose sizes do not fit."""
    for node in nodes:
        if node.op == "Reshape" and not node.domain and node.has(0):
            before, after = node.input(0), node.output
            if before.elements != after.elements and None not in (before.elements, after.elements):
                message = f"{before.elements} elements of {before.name} cannot be {list(after.shape or ())}"
                raise ProblemError(message, where=node.where)
        if node.op in _TERMWISE and not node.domain and node.has(0) and node.has(1):
            one, two = node.input(0).shape or (), node.input(1).shape or ()
            if any(a != b and 1 not in (a, b) for a, b in zip(one[::-1], two[::-1], strict=False)):
                raise ProblemError(
                    f"{list(one)} and {list(two)} do not fit, expected equal sizes or 1", where=node.where
                )
        if node.op not in _POOLS or node.domain or not node.outputs or not node.has(0):
            continue
        seen, left = node.input(0).shape, node.output.shape
        if seen and left and min(left) < 1 <= min(seen):
            message = f"its window does not fit: of {list(seen)} it leaves {list(left)}"
            raise ProblemError(message, where=node.where)
