"""`tilewright space`: how many mappings there are to choose from, and by what."""

from __future__ import annotations

from .machines import architecture_named
from .options import (
    ArchOption,
    ConvOption,
    DimsOption,
    EinsumOption,
    GemmOption,
    JsonOption,
    LayerArgument,
    SetOption,
    SpaceOption,
    TilingOption,
    WidthsOption,
    tiling_and_space,
)
from .problems import problem_named
from .terminal import show_document, show_page


def space_size(
    layer: LayerArgument = None,
    arch: ArchOption = None,
    set_fields: SetOption = None,
    tiling: TilingOption = None,
    space: SpaceOption = "even",
    conv: ConvOption = None,
    gemm: GemmOption = None,
    einsum: EinsumOption = None,
    dim: DimsOption = None,
    widths: WidthsOption = "file",
    json: JsonOption = False,
) -> None:
    """Count the mappings of a layer exactly, and show what texts on accelerators would estimate.

    Capacities and constraints are not looked at. The factors multiply to the total.

    \b
    tilewright space resnet50:layer1.0.conv2 --arch eyeriss
    tilewright space resnet50:conv1 --arch eyeriss --tiling ragged --space uneven
    """
    problem = problem_named(layer, conv, gemm, einsum, dim, widths)
    machine = architecture_named(arch, set_fields)
    from ..arguments import tiling_or_default
    from ..mapper.space.size import space_size as size_of
    from ..mapper.space.textbook import textbook_estimate
    from ..report.space import space_data, space_page

    asked, place = tiling_and_space(tiling, space)
    kind = tiling_or_default(asked)
    size, estimate = size_of(problem, machine, kind, place), textbook_estimate(problem, machine, kind)
    what = (problem, machine, f"{place}, {kind} tilings", size, estimate)
    if json:
        show_document(space_data(*what))
    else:
        show_page(space_page(*what))
