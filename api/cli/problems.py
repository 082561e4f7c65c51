"""What the arguments name: a layer, by its name in a network or by its sizes, or a cascade of operations."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..ir import Cascade, Problem, TilewrightError, Work
from .options import (
    DEFAULTS,
    NO_OPTIONS,
    ConvOption,
    DensityOption,
    EinsumOption,
    GemmOption,
    OpOption,
    SizeOptions,
    WidthsOption,
    WorkArgument,
    refuse_given,
    widths_named,
)

if TYPE_CHECKING:
    from ..cost_models.sparse import DensityLike


@dataclass(frozen=True)
class WorkOptions(SizeOptions):
    """What is to be mapped: a layer or a cascade."""

    layer: WorkArgument = None
    conv: ConvOption = None
    gemm: GemmOption = None
    einsum: EinsumOption = None
    op: OpOption = None
    widths: WidthsOption = DEFAULTS["widths"]
    density: DensityOption = DEFAULTS["density"]

    def named(self, context: typer.Context) -> Work:
        """The one layer, with its zeros, or the one cascade that the options name.

        Raises TilewrightError when they name none, or more than one.
        """
        if self.op or (self.einsum is None and is_cascade(self.layer, self.op, self)):
            refuse_unknown_to_cascades(context)
            return cascade_named(self.layer, self.op, self, self.widths)
        refuse_given(context, "one layer has nothing to fuse", "fuse")
        problem = problem_named(self.layer, self.conv, self.gemm, self.einsum, self, self.widths)
        return with_density(problem, self.density, self.layer, self)


_UNKNOWN = "this option does not know cascades yet"
_SINGLE = "leave it out, or give a single layer"
_UNKNOWN_TO_CASCADES: dict[str, tuple[str, str | None]] = {
    **dict.fromkeys(("conv", "gemm", "einsum"), ("a cascade is given already", None)),
    "density": (
        "cascades know no densities yet",
        "leave it out, or give one operation at a time: --einsum 'mk,kn->mn' --density A=0.5",
    ),
    "im2col": ("cascades have no such form", None),
    **dict.fromkeys(("strategy", "seed", "dataflow", "constraints"), (_UNKNOWN, _SINGLE)),
    **dict.fromkeys(("sets", "floats"), (_UNKNOWN, None)),
}
"""By option of any command, why cascades refuse it, and what to do."""


def refuse_unknown_to_cascades(context: typer.Context) -> None:
    """TilewrightError for the first option of the command line that cascades do not know."""
    for option, (why, hint) in _UNKNOWN_TO_CASCADES.items():
        refuse_given(context, why, option, hint=hint)


def is_cascade(source: str | None, op: list[str] | None, sizes: SizeOptions = NO_OPTIONS) -> bool:
    """Whether the arguments name a cascade: operations, a file of them, or several layers of a network.

    sizes  of symbols of the network
    """
    if op or source is None:
        return bool(op)
    if source.endswith((".yaml", ".yml")) and not os.path.exists(source):
        return True
    from ..workloads import names_cascade

    return names_cascade(source, sizes.sizes)


def cascade_named(
    source: str | None, op: list[str] | None, sizes: SizeOptions = NO_OPTIONS, widths: str = "file"
) -> Cascade:
    """The cascade of the --op options and their sizes, of a file, or of layers of a network; TilewrightError where
    one is missing.

    sizes, widths  of layers of a network; all others state theirs
    """
    from ..workloads import ONNX, cascade_from_texts, resolve_cascade

    if sizes.given and (op or ":" not in (source or "")):
        hint = "the sizes of other cascades stand beside --op, or in the file"
        raise TilewrightError("symbols belong to layers of a network", where=sizes.given, hint=hint)
    if (op or f"{ONNX}:" not in (source or "")) and widths_named(widths) != "file":
        raise TilewrightError("only layers of an ONNX file have widths of their own", where="--widths")

    if source is None:
        hint = "write m=64,k=64,n=64 beside --op, or name layers such as gpt2_small:qk+softmax+av, or a YAML file"
        raise TilewrightError("the sizes of the cascade are missing", where="--op", hint=hint)
    if op:
        return cascade_from_texts(op, source)
    return resolve_cascade(source, sizes.sizes, widths_named(widths))


def names_network(text: str | None) -> bool:
    """Whether a text is the name of a whole network, or the path of an ONNX file."""
    from ..workloads import list_networks
    from ..workloads.networks import is_onnx

    return text is not None and (is_onnx(text) or text in list_networks())


def problem_named(
    layer: str | None,
    conv: str | None,
    gemm: str | None,
    einsum: str | None,
    sizes: SizeOptions = NO_OPTIONS,
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
    from ..workloads import ONNX, conv_from_text, einsum_from_text, gemm_from_text
    from ..workloads.networks import layer_at

    source = widths_named(widths)
    if source != "file" and f"{ONNX}:" not in (layer or ""):
        raise TilewrightError("only a layer of an ONNX file has widths of its own", where="--widths")

    if sizes.given and (layer is None or einsum is not None):
        hint = "the sizes of other layers stand in the layer itself"
        raise TilewrightError("symbols belong to a layer of a network", where=sizes.given, hint=hint)
    if conv is not None:
        return conv_from_text(conv)
    if gemm is not None:
        return gemm_from_text(gemm)
    if einsum is None:
        return layer_at(layer or "", sizes.sizes, source)
    if layer is None:
        hint = 'write --einsum "mk,kn->mn" m=64,n=64,k=32'
        raise TilewrightError("the sizes of the einsum are missing", where="--einsum", hint=hint)
    return einsum_from_text(einsum, layer)


MEASURED = "=measured"
"""What stands for the density of weights that are stored in an ONNX file."""


def with_density(
    problem: Problem, given: Sequence[str] | None, layer: str | None = None, sizes: SizeOptions = NO_OPTIONS
) -> Problem:
    """The problem with the densities of `--density`, in place of those that it has.

    layer, sizes  what names the problem in an ONNX file: `W=measured` counts the weights there
    """
    if not given:
        return problem
    from ..cost_models.sparse import with_densities

    try:
        measured = [text for text in given if text.replace(" ", "").endswith(MEASURED)]
        others = with_densities(problem, [text for text in given if text not in measured])
        return with_densities(others, _measured(problem, measured, layer or "", sizes)) if measured else others
    except TilewrightError as error:
        raise error.located("--density") from None


def _measured(problem: Problem, texts: Sequence[str], layer: str, sizes: SizeOptions) -> Mapping[str, DensityLike]:
    from ..workloads import ONNX
    from ..workloads.networks import split_reference, without_phase
    from ..workloads.onnx.weights import stored_weights

    if [text.partition("=")[0].strip() for text in texts] != ["W"] or f"{ONNX}:" not in layer:
        raise TilewrightError(
            "measured is known of the weights, W, of a layer of an ONNX file", hint="give a .npy file: W=weights.npy"
        )
    path, name = split_reference(layer)
    return {"W": stored_weights(Path(path), without_phase(sizes.sizes, path), name, problem)}
