"""`tilewright space`: how many mappings there are to choose from, and by what."""

from __future__ import annotations

from typing import Annotated, cast

import typer

from .machines import Settings, architecture_named
from .problems import Dims, WidthsOption, problem_named


def space_size(
    layer: Annotated[str | None, typer.Argument(metavar="LAYER", help="A layer, as for `tilewright search`.")] = None,
    arch: Annotated[
        str | None, typer.Option(metavar="NAME|PATH", help="An architecture of the library, or a YAML file.")
    ] = None,
    set_fields: Settings = None,
    tiling: Annotated[
        str, typer.Option(metavar="KIND", help="perfect or ragged, as for `tilewright search`.")
    ] = "perfect",
    space: Annotated[str, typer.Option(metavar="KIND", help="even or uneven, as for `tilewright search`.")] = "even",
    conv: Annotated[str | None, typer.Option(metavar="SIZES", help="A convolution, in place of the layer.")] = None,
    gemm: Annotated[str | None, typer.Option(metavar="SIZES", help="A matrix product, in place of the layer.")] = None,
    einsum: Annotated[
        str | None, typer.Option(metavar="SPEC", help="An einsum; its sizes stand in place of the layer.")
    ] = None,
    dim: Dims = None,
    widths: WidthsOption = "file",
) -> None:
    """Count the mappings of a layer exactly, and show what texts on accelerators would estimate.

    Capacities and constraints are not looked at. The factors multiply to the total.

    \b
    tilewright space resnet50:layer1.0.conv2 --arch eyeriss
    tilewright space resnet50:conv1 --arch eyeriss --tiling ragged --space uneven
    """
    problem = problem_named(layer, conv, gemm, einsum, dim, widths)
    machine = architecture_named(arch, set_fields)
    from ..mapper.hierarchy import SPACES, Space
    from ..mapper.space_size import space_size as size_of
    from ..mapper.textbook import textbook_estimate
    from ..mapper.tilings import TILINGS, Tiling
    from ..report.space import space_page
    from ..report.text import write
    from ..results import check_choice

    check_choice("tiling", tiling, TILINGS)
    check_choice("space", space, SPACES)
    kind, place = cast(Tiling, tiling), cast(Space, space)
    size, estimate = size_of(problem, machine, kind, place), textbook_estimate(problem, machine, kind)
    write(space_page(problem, machine, f"{place}, {kind} tilings", size, estimate))
