"""`tilewright roofline`: the layers of a network, or one layer, under the roofs of a machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from ..ir import TilewrightError
from . import completions
from .constraint_options import constraint_sources
from .machines import architecture_named
from .options import (
    DEFAULT_MEMORY,
    ArchOption,
    ConstraintOption,
    ConstraintsOption,
    ConvOption,
    DataflowOption,
    DimsOption,
    EinsumOption,
    GemmOption,
    LayerArgument,
    MemoryLimitOption,
    ObjectiveOption,
    PngOption,
    QuietOption,
    SetOption,
    SvgOption,
    TilingOption,
    TimeLimitOption,
    WidthsOption,
    tiling_and_space,
    widths_named,
)
from .problems import problem_named, sizes_of_symbols
from .terminal import noting_interrupts, progress, say, show_document, show_page

if TYPE_CHECKING:
    from ..network_roofline import Layer


def roofline(
    layer: LayerArgument = None,
    network: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|PATH",
            autocompletion=completions.network,
            help="All layers of a network, in place of one layer.",
        ),
    ] = None,
    dim: DimsOption = None,
    widths: WidthsOption = "file",
    arch: ArchOption = None,
    set_fields: SetOption = None,
    objective: ObjectiveOption = "edp",
    tiling: TilingOption = None,
    memory: Annotated[
        str | None, typer.Option(metavar="NAME", help="The memory whose bytes are counted; the outermost by default.")
    ] = None,
    time_limit: TimeLimitOption = None,
    memory_limit: MemoryLimitOption = DEFAULT_MEMORY,
    conv: ConvOption = None,
    gemm: GemmOption = None,
    einsum: EinsumOption = None,
    dataflow: DataflowOption = None,
    constraints: ConstraintsOption = None,
    constraint: ConstraintOption = None,
    svg: SvgOption = None,
    png: PngOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON, and nothing else.")] = False,
    _quiet: QuietOption = False,
) -> None:
    """Show how near the best mappings come to the roofs: operations per byte, and operations per second.

    Each distinct layer is searched once. Its dot is where its best mapping puts it; its diamond is on the roof, at the
    operations per byte that it would have if every word crossed once.

    \b
    tilewright roofline --network gpt2_small --arch a100 --svg roofline.svg
    tilewright roofline --network resnet50 --arch eyeriss --dataflow row-stationary
    tilewright roofline resnet50:layer1.0.conv2 --arch eyeriss --memory GLB
    tilewright roofline --gemm M=512,N=768,K=3072 --arch tpu_v1
    """
    if network is None:
        problem = problem_named(layer, conv, gemm, einsum, dim, widths)
        title, layers = problem.name, [(problem.name, 1, problem)]
    elif any(given is not None for given in (layer, conv, gemm, einsum)):
        raise TilewrightError("expected one of --network and a layer, found both", where="--network")
    else:
        title, layers = _layers(network, dim, widths)
    machine = architecture_named(arch, set_fields)
    from ..arguments import limits_of
    from ..network_roofline import RooflineSearches, searched_roofline
    from ..report.pages.roofline import draw_roofline, roofline_page
    from ..report.parts.figures import check_pictures, save_figure

    kind, _ = tiling_and_space(tiling)
    pictures = check_pictures(svg, png)
    title = f"{title} on {machine.name}, best mappings for {objective}"
    sources = constraint_sources(dataflow, constraints, constraint or ())
    limits = limits_of(time_limit, memory_limit)
    searches = RooflineSearches(machine, objective, kind, sources, limits)
    with noting_interrupts() as interrupts, progress("searching") as announce:

        def before(name: str, number: int, total: int) -> None:
            """One Ctrl-C ends the search of a layer, which hands over what it has; it must end the others too."""
            if interrupts:
                raise KeyboardInterrupt("nothing of it is kept; --time-limit SECONDS ends each search by itself")
            announce(name, number, total)

        chart, results = searched_roofline(title, searches, layers, memory, before)
    unproven = sum(not result.certificate.proven for result in results)
    if unproven:
        say(f"{unproven} of {len(results)} mappings are not proven to be the best: the time limit came first")
    for picture in pictures:
        save_figure(draw_roofline(chart), picture)
    if json:
        show_document(chart.as_dict())
    else:
        show_page(roofline_page(chart, machine))
        for picture in pictures:
            say(f"wrote {picture}")


def _layers(network: str, dims: Iterable[str] | None, widths: str) -> tuple[str, list[Layer]]:
    """The name of a network, and its layers."""
    from ..workloads import load_network

    found = load_network(network, sizes_of_symbols(dims), widths_named(widths))
    return found.name, [(row.name, row.repeat, row.problem) for row in found.layers]
