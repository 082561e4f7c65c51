"""`tilewright space`: how many mappings there are to choose from, and by what; of a cascade, which trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ..ir import Cascade, ProblemError
from .cascades import cascade_named, is_cascade
from .machines import architecture_named
from .options import (
    ArchOption,
    ConvOption,
    DensityOption,
    DimsOption,
    EinsumOption,
    GemmOption,
    JsonOption,
    OpOption,
    SetOption,
    SpaceOption,
    TilingOption,
    WidthsOption,
    WorkArgument,
    refuse_given,
    tiling_and_space,
)
from .problems import problem_named
from .sparse import refuse_densities, with_density
from .terminal import show_document, show_page

if TYPE_CHECKING:
    from ..arch import Architecture
    from ..mapper.space import Space
    from ..mapper.tilings import Tiling


def space_size(
    context: typer.Context,
    layer: WorkArgument = None,
    arch: ArchOption = None,
    set_fields: SetOption = None,
    tiling: TilingOption = None,
    space: SpaceOption = "even",
    conv: ConvOption = None,
    gemm: GemmOption = None,
    einsum: EinsumOption = None,
    op: OpOption = None,
    dim: DimsOption = None,
    widths: WidthsOption = "file",
    density: DensityOption = None,
    json: JsonOption = False,
) -> None:
    """Count the mappings of a layer exactly, and show what texts on accelerators would estimate.

    Capacities and constraints are not looked at. The factors multiply to the total. Of a cascade of operations it says
    which trees are searched; of operands with zeros, how many formats there are to choose from.

    \b
    tilewright space resnet50:layer1.0.conv2 --arch eyeriss
    tilewright space resnet50:conv1 --arch eyeriss --tiling ragged --space uneven
    tilewright space gpt2_small:qk+softmax+av --arch tpu_v4i
    tilewright space --gemm M=512,N=512,K=512 --density W=2:4 --arch sparse_tensor_core
    """
    from ..arguments import tiling_or_default, tilings_of

    asked, place = tiling_and_space(tiling, space)
    if op or (einsum is None and is_cascade(layer, op, dim)):
        refuse_given(context, "a cascade is given already", "conv", "gemm", "einsum")
        refuse_densities(context)
        cascade, machine = cascade_named(layer, op, dim, widths), architecture_named(arch, set_fields)
        _space_of_cascade(cascade, machine, place, tiling_or_default(asked), json)
        return
    problem = with_density(problem_named(layer, conv, gemm, einsum, dim, widths), density, layer, dim)
    machine = architecture_named(arch, set_fields)
    kind = tiling_or_default(asked) if asked else tiling_or_default(None, tilings_of(problem))
    from ..mapper.means import OutOfMeans
    from ..mapper.space.size import space_size as size_of
    from ..mapper.space.textbook import textbook_estimate
    from ..report.pages.space import space_data, space_page

    try:
        size = size_of(problem, machine, kind, place)
    except OutOfMeans:
        message, hint = "its space is too large to be counted", "give a part of the layer, or --tiling perfect"
        raise ProblemError(message, where=problem.name, hint=hint) from None
    estimate = textbook_estimate(problem, machine, kind)
    what = (problem, machine, f"{place}, {kind} tilings", size, estimate)
    if json:
        show_document(space_data(*what))
    else:
        show_page(space_page(*what))


def _space_of_cascade(cascade: Cascade, machine: Architecture, place: Space, kind: Tiling, json: bool) -> None:
    from ..report.pages.fused_space import fused_space_data, fused_space_page

    what = (cascade, machine, f"{place}, {kind} tilings in branches")
    if json:
        show_document(fused_space_data(*what))
    else:
        show_page(fused_space_page(*what))
