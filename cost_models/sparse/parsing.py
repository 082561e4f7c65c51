"""Densities as text: `W=2:4@K`, `I=0.35`, `W=band:3`, `W=weights.npy`.

In a problem, the text of a measured density is `mask:` and the mask itself, packed and compressed, so that whatever
holds the problem holds all that its cost depends on.
"""

from __future__ import annotations

import base64
import math
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...ir import Problem, Tensor, TilewrightError, did_you_mean
from ...ir.errors import shown
from .densities import Banded, Density, Measured, Structured, Uniform

_EXPECTED = "expected a fraction such as 0.35, N:M such as 2:4 or 2:4@K, band:WIDTH, or the path of a .npy file"
_STRUCTURE = re.compile(r"([0-9]{1,6}):([0-9]{1,6})(?:@(.{1,60}))?")
_BAND = re.compile(r"band:([0-9]{1,9})")
_MASK = "mask:"
_FRACTION = re.compile(r"[-+]?[0-9]{0,3}\.?[0-9]{0,30}(?:[eE]-?[0-9]{1,3})?")


DensityLike = Density | float | str | npt.NDArray[np.generic]
"""A density; a fraction; the text of one; or an array whose zeros count."""


def parse_densities(given: Iterable[str] | Mapping[str, DensityLike], problem: Problem) -> dict[str, Density]:
    """The densities of a problem's operands, by tensor.

    given  texts `TENSOR=DENSITY`, or densities, or their texts, or fractions, by tensor

    Raises TilewrightError for an unknown tensor, an output, one that is given twice, and what is no density.
    """
    if not isinstance(given, list | tuple | Mapping):
        hint = 'write density={"W": "2:4@K"}'
        raise TilewrightError(f"found {shown(given)}, expected densities by tensor", where="density", hint=hint)
    pairs = list(given.items()) if isinstance(given, Mapping) else [_pair(line) for line in given]
    found: dict[str, Density] = {}
    for name, value in pairs:
        where = f"density of {str(name)[:80]}"
        if name in found:
            raise TilewrightError("given twice", where=where)
        tensor = _operand(name, problem, where)
        found[name] = _density(value, tensor, problem, where)
        _check_shape(found[name], tensor, problem, where)
    return found


def parse_density(text: str, tensor: Tensor, problem: Problem, where: str) -> Density:
    """A density of one tensor."""
    if match := _STRUCTURE.fullmatch(text):
        kept, block = int(match[1]), int(match[2])
        if not 0 < kept <= block:
            hint = f"{block}:{kept} leaves {block} of every {kept} neighbours" if 0 < block < kept else None
            raise TilewrightError(f"found {kept}:{block}, expected N:M with N from 1 to M", where=where, hint=hint)
        return Structured(kept, block, _rank(match[3], tensor, problem, where))
    if match := _BAND.fullmatch(text):
        if len(tensor.ranks) != 2:
            message = f"a band is of two ranks, {tensor.name} has {len(tensor.ranks)}"
            raise TilewrightError(message, where=where, hint="give a fraction, or a .npy file")
        return Banded(int(match[1]))
    if text.startswith(_MASK):
        return Measured(_unpacked(text, problem.extents(tensor.name), where))
    if text.endswith(".npy"):
        return Measured(_array(Path(text), where))
    if not _FRACTION.fullmatch(text) or not any(c.isdigit() for c in text):
        hint = "write 35% as 0.35" if text.endswith("%") else None
        raise TilewrightError(f"found {shown(text)}, {_EXPECTED}", where=where, hint=hint)
    fraction = float(text)
    if not 0.0 < fraction <= 1.0:
        raise TilewrightError(f"found {shown(text)}, expected more than 0 and 1 at most", where=where)
    return Uniform(fraction)


def with_densities(problem: Problem, given: Iterable[str] | Mapping[str, DensityLike]) -> Problem:
    """The problem with the densities of some operands, in place of those that it has; errors as of
    `parse_densities`."""
    found = parse_densities(given, problem)
    texts = {name: _written(density, problem.tensor(name)) for name, density in found.items()}
    tensors = tuple(replace(t, density=texts[t.name]) if t.name in texts else t for t in problem.tensors)
    return replace(problem, tensors=tensors)


@lru_cache(maxsize=256)
def _parsed(problem: Problem) -> dict[str, Density]:
    return parse_densities({t.name: t.density for t in problem.tensors if t.density is not None}, problem)


def densities_of(problem: Problem) -> dict[str, Density]:
    """The densities of a problem's operands, by tensor."""
    return _parsed(problem)


def _written(density: Density, tensor: Tensor) -> str:
    """The text from which a density can be read again."""
    if isinstance(density, Uniform):
        return f"{density.fraction!r}"
    if isinstance(density, Measured):
        bits = np.packbits(np.ascontiguousarray(density.values != 0).reshape(-1))
        return _MASK + base64.b64encode(zlib.compress(bits.tobytes())).decode()
    return density_text(density, tensor)


def _unpacked(text: str, shape: tuple[int, ...], where: str) -> npt.NDArray[np.bool_]:
    """The mask of a text; no more is unpacked than its shape has."""
    count = math.prod(shape)
    try:
        packed = base64.b64decode(text.removeprefix(_MASK), validate=True)
        data = zlib.decompressobj().decompress(packed, (count + 7) // 8 + 1)
    except (ValueError, zlib.error):
        raise TilewrightError("this is no mask", where=where, hint="give the array, or a .npy file of it") from None
    if len(data) != (count + 7) // 8:
        raise TilewrightError(f"a mask of another shape than {shape}", where=where)
    return np.unpackbits(np.frombuffer(data, dtype=np.uint8), count=count).astype(bool).reshape(shape)


def density_text(density: Density, tensor: Tensor) -> str:
    """The density as people read it."""
    if isinstance(density, Structured):
        return f"{density.kept}:{density.block}@{tensor.ranks[density.rank][0][0]}"
    if isinstance(density, Uniform):
        return f"{density.fraction:g}"
    if isinstance(density, Banded):
        return f"band:{density.width}"
    if isinstance(density, Measured):
        return f"measured, {np.count_nonzero(density.values) / max(density.values.size, 1):.4g}"
    return str(density)


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=") if isinstance(text, str) else ("", "", "")
    if not sign:
        raise TilewrightError(f"found {shown(text)}, expected TENSOR=DENSITY such as W=2:4", where="density")
    return name.strip(), value.strip()


def _density(value: DensityLike, tensor: Tensor, problem: Problem, where: str) -> Density:
    if isinstance(value, Uniform | Structured | Banded | Measured):
        return value
    if isinstance(value, np.ndarray):
        return Measured(value)
    return parse_density(str(value), tensor, problem, where)


def _operand(name: str, problem: Problem, where: str) -> Tensor:
    names = [tensor.name for tensor in problem.operands]
    if name == problem.output.name:
        raise TilewrightError(
            "this is the output: its zeros are known when it is done, and its format cannot be written in order",
            where=where,
            hint=f"give those of {' and '.join(names)}",
        )
    if name not in names:
        raise TilewrightError(f"no operand {shown(name)}", where=where, hint=did_you_mean(name, names))
    return problem.tensor(name)


def _rank(dim: str | None, tensor: Tensor, problem: Problem, where: str) -> int:
    """The rank along which blocks lie: that of a dimension, by default the only one that is reduced over."""
    plain = {rank[0][0]: i for i, rank in enumerate(tensor.ranks) if len(rank) == 1 and rank[0][1] == 1}
    if dim is None:
        reduced = [each for each in plain if each not in problem.output.dims]
        if len(reduced) != 1:
            message = f"{tensor.name} is reduced over {', '.join(reduced) or 'no plain rank'}, expected one dimension"
            raise TilewrightError(message, where=where, hint=f"write 2:4@DIM, with one of {', '.join(plain)}")
        return plain[reduced[0]]
    if dim not in plain:
        raise TilewrightError(
            f"no rank {shown(dim)} of {tensor.name}", where=where, hint=did_you_mean(dim, list(plain))
        )
    return plain[dim]


def _array(path: Path, where: str) -> npt.NDArray[np.generic]:
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError, EOFError) as error:
        reason = getattr(error, "strerror", None) or "it is no array of numbers"
        message = f"{shown(str(path))} cannot be read: {reason}"
        raise TilewrightError(message, where=where, hint="numpy.save(path, array) writes one") from None


def _check_shape(density: Density, tensor: Tensor, problem: Problem, where: str) -> None:
    if not isinstance(density, Measured | Banded):
        return
    if any(len(rank) > 1 for rank in tensor.ranks):
        raise TilewrightError(
            f"{tensor.name} has a rank that is a sum of dimensions, and its tiles overlap",
            where=where,
            hint="give a fraction, such as W=0.35",
        )
    shape = problem.extents(tensor.name)
    if isinstance(density, Measured):
        # TilewrightError for an array that is none of numbers: of texts and missing values none is zero.
        values = density.values
        if values.dtype.kind not in "biufc":
            raise TilewrightError(f"an array of {values.dtype}, expected one of numbers", where=where)
        if values.dtype.kind in "fc" and not np.isfinite(values).all():
            message = "the array holds what is no number (NaN or infinite), expected the weights or a mask"
            raise TilewrightError(message, where=where)
    if isinstance(density, Measured) and density.values.shape != shape:
        raise TilewrightError(f"an array of shape {density.values.shape}, expected {shape}", where=where)
    if isinstance(density, Measured) and not np.any(density.values != 0):
        raise TilewrightError(
            f"all words of {tensor.name} are zero, expected one that is not",
            where=where,
            hint="leave the layer out: nothing of it is to be computed",
        )
