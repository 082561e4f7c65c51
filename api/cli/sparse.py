"""`--density`: operands with zeros (docs/sparse.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..ir import Problem, TilewrightError
from .options import sizes_of_symbols

if TYPE_CHECKING:
    from ..cost_models.sparse import DensityLike

MEASURED = "=measured"
"""What stands for the density of weights that are stored in an ONNX file."""


def with_density(
    problem: Problem, given: Sequence[str] | None, layer: str | None = None, dims: Iterable[str] | None = None
) -> Problem:
    """The problem with the densities of `--density`, in place of those that it has.

    layer, dims  what names the problem in an ONNX file: `W=measured` counts the weights there
    """
    if not given:
        return problem
    from ..cost_models.sparse import with_densities

    try:
        measured = [text for text in given if text.replace(" ", "").endswith(MEASURED)]
        others = with_densities(problem, [text for text in given if text not in measured])
        return with_densities(others, _measured(problem, measured, layer or "", dims)) if measured else others
    except TilewrightError as error:
        raise error.located("--density") from None


def _measured(
    problem: Problem, texts: Sequence[str], layer: str, dims: Iterable[str] | None
) -> Mapping[str, DensityLike]:
    from ..workloads import ONNX
    from ..workloads.networks import split_reference
    from ..workloads.onnx.weights import stored_weights

    if [text.partition("=")[0].strip() for text in texts] != ["W"] or f"{ONNX}:" not in layer:
        raise TilewrightError(
            "measured is known of the weights, W, of a layer of an ONNX file", hint="give a .npy file: W=weights.npy"
        )
    path, name = split_reference(layer)
    return {"W": stored_weights(Path(path), sizes_of_symbols(dims), name, problem)}
