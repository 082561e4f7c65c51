"""`tilewright layouts`: where the tensors of a network lie best, and what is converted between layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from . import completions
from .groups import grouped
from .machines import MachineOptions
from .options import (
    DEFAULTS,
    HtmlOption,
    JsonOption,
    KindOptions,
    MemoryLimitOption,
    NetworkArgument,
    QuietOption,
    SizeOptions,
    TotalLimitOption,
    WidthsOption,
    seconds_option,
    widths_named,
)
from .terminal import own_command, show_document, show_page, signs


@dataclass(frozen=True)
class ShownOptions:
    """What is printed and written."""

    html: HtmlOption = None
    json: JsonOption = False
    quiet: QuietOption = False


@grouped
def layouts(
    network: NetworkArgument,
    machine: MachineOptions,
    kinds: KindOptions,
    shown: ShownOptions,
    sizes: SizeOptions,
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
    time_limit: Annotated[
        float,
        seconds_option("For each search of a layer with some layouts; then its bound counts."),
    ] = 10.0,
    total_limit: TotalLimitOption = DEFAULTS["total_limit"],
    memory_limit: MemoryLimitOption = DEFAULTS["memory_limit"],
    widths: WidthsOption = DEFAULTS["widths"],
) -> None:
    """Find the best layout for each tensor of a network, with conversions where layers disagree; each layer mapped on
    its own.

    \b
    tilewright layouts mobilenet_v2 --arch eyeriss --set "DRAM.line=64 B"
    tilewright layouts resnet50 --arch three_level --set "DRAM.line=64 B" --layout NHWC --layout NCHW32c
    """
    from ..layout_plans import plan_layouts
    from ..report.networks.layout_plan import layout_plan_document, layout_plan_page
    from ..workloads.networks import network_at

    found = network_at(network, sizes.sizes, widths_named(widths))
    chip = machine.named()
    limits = {"time_limit": time_limit, "total_limit": total_limit, "memory_limit": memory_limit}
    with signs("searching layers with layouts"):
        plan = plan_layouts(found, chip, objective, *kinds.checked(), layouts=layout or (), **limits)  # type: ignore[arg-type]
    if shown.html is not None:
        from ..report.pages.html_pages import layouts_html
        from ..results import write_file

        write_file(shown.html, layouts_html(plan, found.name, chip, objective, own_command()))
    if shown.json:
        show_document(layout_plan_document(plan, found.name, chip, objective))
    else:
        show_page(layout_plan_page(plan, found.name, chip, objective))
