"""`tilewright space`: how many mappings there are to choose from, and by what; of a cascade, which trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ..ir import Cascade, Problem, ProblemError
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
    from ..report.pages.space import Counts


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
    which trees are searched beside it; of operands with zeros, how many formats there are to choose from.

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
        work: Problem | Cascade = cascade_named(layer, op, dim, widths)
        kind = tiling_or_default(asked)
    else:
        work = with_density(problem_named(layer, conv, gemm, einsum, dim, widths), density, layer, dim)
        kind = tiling_or_default(asked) if asked else tiling_or_default(None, tilings_of(work))
    machine = architecture_named(arch, set_fields)
    from ..report.pages.space import space_data, space_page

    what = (work, machine, f"{place}, {kind} tilings", _counted(work, machine, kind, place))
    if json:
        show_document(space_data(*what))
    else:
        show_page(space_page(*what))


def _counted(work: Problem | Cascade, machine: Architecture, kind: Tiling, place: Space) -> Counts:
    """The mappings of every operation; ProblemError for a layer that has too many to be counted."""
    from ..mapper.means import OutOfMeans
    from ..mapper.space.size import space_size as size_of
    from ..mapper.space.textbook import textbook_estimate
    from ..report.pages.space import Counted

    found: dict[str, Counted | None] = {}
    for problem in [work] if isinstance(work, Problem) else [operation.problem for operation in work]:
        try:
            size = size_of(problem, machine, kind, place)
            found[problem.name] = Counted(size, textbook_estimate(problem, machine, kind))
        except OutOfMeans:
            if isinstance(work, Problem):
                message, hint = "its space is too large to be counted", "give a part of the layer, or --tiling perfect"
                raise ProblemError(message, where=problem.name, hint=hint) from None
            found[problem.name] = None
    return found
