"""The layer that the arguments name, by its name in a network or by its sizes."""

from __future__ import annotations

from collections.abc import Iterable

from ..ir import Problem, TilewrightError
from .options import widths_named


def sizes_of_symbols(dims: Iterable[str] | None) -> dict[str, int]:
    """What the --dim options say; TilewrightError for one that is malformed or given twice."""
    from ..workloads import parse_sizes

    sizes: dict[str, int] = {}
    for text in dims or ():
        for symbol, size in parse_sizes(text).items():
            if symbol in sizes:
                raise TilewrightError(f"{symbol} is given twice", where="--dim")
            sizes[symbol] = size
    return sizes


def problem_named(
    layer: str | None,
    conv: str | None,
    gemm: str | None,
    einsum: str | None,
    dims: Iterable[str] | None = None,
    widths: str = "file",
) -> Problem:
    """The one layer that the arguments name; TilewrightError when they name none, or more than one."""
    given = [option for option, text in (("--conv", conv), ("--gemm", gemm), ("--einsum", einsum)) if text is not None]
    if layer is not None and einsum is None:
        given.insert(0, f"the layer {layer!r}")
    if len(given) != 1:
        found = " and ".join(given) if given else "none"
        hint = "give a name such as resnet50:layer1.0.conv2, or --conv, --gemm or --einsum with sizes"
        raise TilewrightError(f"expected one layer, found {found}", hint=hint)
    from ..workloads import ONNX, conv_from_text, einsum_from_text, gemm_from_text, load_layer

    source = widths_named(widths)
    if source != "file" and f"{ONNX}:" not in (layer or ""):
        raise TilewrightError("only a layer of an ONNX file has widths of its own", where="--widths")

    if dims and (layer is None or einsum is not None):
        hint = "the sizes of other layers stand in the layer itself"
        raise TilewrightError("symbols belong to a layer of an ONNX file", where="--dim", hint=hint)
    if conv is not None:
        return conv_from_text(conv)
    if gemm is not None:
        return gemm_from_text(gemm)
    if einsum is None:
        return load_layer(layer or "", sizes_of_symbols(dims), source)
    if layer is None:
        hint = 'write --einsum "mk,kn->mn" m=64,n=64,k=32'
        raise TilewrightError("the sizes of the einsum are missing", where="--einsum", hint=hint)
    return einsum_from_text(einsum, layer)
