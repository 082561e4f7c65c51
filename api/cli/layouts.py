"""`tilewright layouts`: where the tensors of a network lie best, and what is converted between layers."""

from __future__ import annotations

from typing import Annotated

import typer

from . import completions
from .machines import architecture_named
from .options import (
    DEFAULT_MEMORY,
    ArchOption,
    DimsOption,
    JsonOption,
    MemoryLimitOption,
    NetworkArgument,
    QuietOption,
    SetOption,
    SpaceOption,
    TilingOption,
    TotalLimitOption,
    WidthsOption,
    tiling_and_space,
    widths_named,
)
from .problems import sizes_of_symbols
from .terminal import show_document, show_page, status


def layouts(
    network: NetworkArgument,
    arch: ArchOption = None,
    set_fields: SetOption = None,
    objective: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            autocompletion=completions.words("energy", "latency", "edp", "ed2p"),
            help="What to minimize, of the whole network: energy, latency, edp, ed2p, or a weighted "
            "sum such as 'energy + 100 * latency'.",
        ),
    ] = "energy",
    layout: Annotated[
        list[str] | None,
        typer.Option(
            "--layout",
            metavar="LAYOUT",
            help="A layout that tensors may have: NCHW, NHWC, NCHW32c, row-major, column-major; may be repeated. All "
            "that are known for them, unless given.",
        ),
    ] = None,
    tiling: TilingOption = None,
    space: SpaceOption = "even",
    time_limit: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="For each search of a layer with some layouts; then its bound counts."),
    ] = 10.0,
    total_limit: TotalLimitOption = None,
    memory_limit: MemoryLimitOption = DEFAULT_MEMORY,
    dim: DimsOption = None,
    widths: WidthsOption = "file",
    json: JsonOption = False,
    _quiet: QuietOption = False,
) -> None:
    """Find the best layout for each tensor of a network, with conversions where layers disagree; each layer mapped on
    its own.

    \b
    tilewright layouts mobilenet_v2 --arch eyeriss --set "DRAM.line=64 B"
    tilewright layouts resnet50 --arch three_level --set "DRAM.line=64 B" --layout NHWC --layout NCHW32c
    """
    from ..layout_plans import plan_layouts
    from ..report.networks.layout_plan import layout_plan_document, layout_plan_page
    from ..workloads import load_network

    found = load_network(network, sizes_of_symbols(dim), widths_named(widths))
    machine = architecture_named(arch, set_fields)
    kinds = tiling_and_space(tiling, space)
    limits = {"time_limit": time_limit, "total_limit": total_limit, "memory_limit": memory_limit}
    with status("searching layers with layouts"):
        plan = plan_layouts(found, machine, objective, *kinds, layouts=layout or (), **limits)  # type: ignore[arg-type]
    if json:
        show_document(layout_plan_document(plan, found.name, machine, objective))
    else:
        show_page(layout_plan_page(plan, found.name, machine, objective))
