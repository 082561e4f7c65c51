"""Resize and Upsample between words: each word is a sum of neighbours along every axis, times factors.

Formulas are those of ONNX's operator text (Resize, version 19): where a position of the output lies in the input, and
the linear and cubic factors of its two or four neighbours; beyond the first and last position the input goes on as it
ends there. `tests/workloads/test_onnx_resized.py` compares them with `onnx.reference`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...ir import ProblemError
from .nodes import OnnxNode
from .values import StoredModel

if TYPE_CHECKING:
    import numpy as np

    Index = np.ndarray[Any, np.dtype[np.int64]]
    Factors = np.ndarray[Any, np.dtype[np.float64]]

Place = Callable[[int, float, int, int], float]
"""Where a position of the output lies: position, scale, positions of the input, of the output."""

_PLACES: dict[str, Place] = {
    "align_corners": lambda x, _, before, after: x * (before - 1) / (after - 1) if after > 1 else 0.0,
    "asymmetric": lambda x, scale, *_: x / scale,
    "half_pixel": lambda x, scale, *_: (x + 0.5) / scale - 0.5,
    "half_pixel_symmetric": lambda x, scale, before, after: (
        before / 2 * (1 - after / (scale * before)) + (x + 0.5) / scale - 0.5
    ),
    "pytorch_half_pixel": lambda x, scale, _, after: (x + 0.5) / scale - 0.5 if after > 1 else 0.0,
}


def is_weighted(node: OnnxNode) -> bool:
    """Whether words of the output are sums of words of the input as `taps` says: all, but for nearest ones as they have
    been since version 11. Raises ProblemError where no program knows the mode."""
    if node.op not in ("Resize", "Upsample"):
        return False
    mode = node.text("mode", "nearest")
    if mode == "nearest":
        return _is_old(node)
    if mode not in ("linear", "cubic"):
        raise ProblemError(f"there is no program for mode {mode!r}", where=node.where)
    way = _way(node)
    if way not in _PLACES:
        message = f"there is no program for coordinate_transformation_mode {way!r}, only for {', '.join(_PLACES)}"
        raise ProblemError(message, where=node.where)
    if node.integer("antialias", 0):
        raise ProblemError("there is no program for antialias: export it without", where=node.where)
    return True


def taps(
    node: OnnxNode, before: Sequence[int], after: Sequence[int], stored: StoredModel
) -> list[tuple[Index, Factors]]:
    """For each axis, which positions of the input each position of the output is made of, and their factors: two
    arrays (positions of the output, neighbours); an axis that stays has one neighbour.

    before  extents of the input
    after   extents of the output
    """
    import numpy as np

    scales = _scales(node, before, after, stored)
    place, mode = _PLACES[_way(node)], node.text("mode", "nearest")
    sharpness = node.number("cubic_coeff_a", -0.75)
    found = []
    for size, made, scale in zip(before, after, scales, strict=True):
        if size == made and scale == 1:
            found.append((np.arange(size).reshape(-1, 1), np.ones((size, 1))))
            continue
        lies = np.array([place(x, scale, size, made) for x in range(made)])
        first = np.floor(lies).astype(np.int64)
        if mode == "nearest":  # of old versions, whose positions are rounded down
            found.append((np.clip(first, 0, size - 1)[:, None], np.ones((made, 1))))
            continue
        apart, cubic = (lies - first)[:, None], mode == "cubic"
        neighbours = first[:, None] + (np.arange(-1, 3) if cubic else np.arange(2))
        factors = _cubic(apart, sharpness) if cubic else np.concatenate((1 - apart, apart), axis=1)
        if node.integer("exclude_outside", 0):
            factors = np.where((neighbours >= 0) & (neighbours < size), factors, 0)
            factors = factors / factors.sum(axis=1, keepdims=True)
        found.append((np.clip(neighbours, 0, size - 1), factors))
    return found


def _cubic(apart: Factors, a: float) -> Factors:
    """Factors of four neighbours, by Keys' cubic convolution (1981), as ONNX states it."""
    import numpy as np

    far, near = apart + 1, apart
    columns = [
        ((a * far - 5 * a) * far + 8 * a) * far - 4 * a,
        ((a + 2) * near - (a + 3)) * near * near + 1,
        ((a + 2) * (1 - near) - (a + 3)) * (1 - near) ** 2 + 1,
        ((a * (2 - near) - 5 * a) * (2 - near) + 8 * a) * (2 - near) - 4 * a,
    ]
    return np.concatenate(columns, axis=1)


def _scales(node: OnnxNode, before: Sequence[int], after: Sequence[int], stored: StoredModel) -> list[float]:
    """By how much each axis grows: as stated, or as the sizes say."""
    every = [made / size for size, made in zip(before, after, strict=True)]
    place = 1 if _is_old(node) else 2
    if node.attributes.get("scales"):  # Upsample before version 9
        return [float(scale) for scale in node.attributes["scales"]]
    if not node.has(place):
        return _of_sizes(node, before, every, stored)
    listed = [float(scale) for scale in stored.values()[node.input(place).name].ravel()]
    if not listed:
        return _of_sizes(node, before, every, stored)
    axes = list(node.attributes.get("axes") or range(len(before)))
    for axis, scale in zip(axes, listed, strict=True):
        every[axis] = scale
    return every


def _of_sizes(node: OnnxNode, before: Sequence[int], every: list[float], stored: StoredModel) -> list[float]:
    """By how much axes grow whose sizes are stated: each as it says, or all by one scale that keeps their ratio, of
    which those of the output are rounded."""
    policy = node.text("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return every
    sizes = [int(size) for size in stored.values()[node.input(3).name].ravel()]
    axes = list(node.attributes.get("axes") or range(len(before)))
    wanted = [size / before[axis] for axis, size in zip(axes, sizes, strict=True)]
    common = min(wanted) if policy == "not_larger" else max(wanted)
    return [common if axis in axes else scale for axis, scale in enumerate(every)]


def _way(node: OnnxNode) -> str:
    """How positions are found; before version 11 there was one way."""
    return node.text("coordinate_transformation_mode", "asymmetric" if _is_old(node) else "half_pixel")


def _is_old(node: OnnxNode) -> bool:
    """Whether it is of a version before 11, which read no region."""
    return node.op == "Upsample" or len(node.inputs) == 2
