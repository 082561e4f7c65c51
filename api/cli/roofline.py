"""`tilewright roofline`: the layers of a network, or one layer, under the roofs of a machine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ..ir import TilewrightError
from .constraint_options import constraint_sources
from .machines import Settings, architecture_named
from .problems import Dims, WidthsOption, problem_named, sizes_of_symbols
from .terminal import noting_interrupts, progress, say

if TYPE_CHECKING:
    from ..network_roofline import Layer
    from ..workloads.networks import Widths


def roofline(
    layer: Annotated[str | None, typer.Argument(metavar="LAYER", help="A layer, as for `tilewright search`.")] = None,
    network: Annotated[
        str | None, typer.Option(metavar="NAME|PATH", help="All layers of a network, in place of one layer.")
    ] = None,
    dim: Dims = None,
    widths: WidthsOption = "file",
    arch: Annotated[
        str | None, typer.Option(metavar="NAME|PATH", help="An architecture of the library, or a YAML file.")
    ] = None,
    set_fields: Settings = None,
    objective: Annotated[
        str, typer.Option(metavar="WHAT", help="What the mappings minimize, as for `tilewright search`.")
    ] = "edp",
    tiling: Annotated[
        str, typer.Option(metavar="KIND", help="perfect or ragged, as for `tilewright search`.")
    ] = "perfect",
    memory: Annotated[
        str | None, typer.Option(metavar="NAME", help="The memory whose bytes are counted; the outermost by default.")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="For each layer; then take the best mapping so far.")
    ] = None,
    conv: Annotated[str | None, typer.Option(metavar="SIZES", help="A convolution, in place of the layer.")] = None,
    gemm: Annotated[str | None, typer.Option(metavar="SIZES", help="A matrix product, in place of the layer.")] = None,
    einsum: Annotated[
        str | None, typer.Option(metavar="SPEC", help="An einsum; its sizes stand in place of the layer.")
    ] = None,
    dataflow: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only mappings of a dataflow (`tilewright list dataflows`).")
    ] = None,
    constraints: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Only mappings that satisfy the constraints in a YAML file.")
    ] = None,
    constraint: Annotated[
        list[str] | None,
        typer.Option(metavar="EXPR", help='One more constraint, such as "GLB.temporal.K<=16"; may be repeated.'),
    ] = None,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the picture there.")] = None,
    png: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the picture there, as an image.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON, and nothing else.")] = False,
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
    from ..mapper.tilings import TILINGS, Tiling
    from ..network_roofline import searched_roofline
    from ..report.figures import check_pictures, save_figure
    from ..report.roofline import draw_roofline, roofline_page
    from ..report.text import write
    from ..results import check_choice

    check_choice("tiling", tiling, TILINGS)
    pictures = check_pictures(svg, png)
    title = f"{title} on {machine.name}, best mappings for {objective}"
    kind, sources = cast(Tiling, tiling), constraint_sources(dataflow, constraints, constraint or ())
    with noting_interrupts() as interrupts, progress("searching") as announce:

        def before(name: str, number: int, total: int) -> None:
            """One Ctrl-C ends the search of a layer, which hands over what it has; it must end the others too."""
            if interrupts:
                raise KeyboardInterrupt
            announce(name, number, total)

        chart, results = searched_roofline(title, machine, layers, objective, kind, sources, time_limit, memory, before)
    unproven = sum(not result.certificate.proven for result in results)
    if unproven:
        say(f"{unproven} of {len(results)} mappings are not proven to be the best: the time limit came first")
    for picture in pictures:
        save_figure(draw_roofline(chart), picture)
    if json:
        from json import dumps

        typer.echo(dumps(chart.as_dict(), indent=2))
    else:
        write(roofline_page(chart, machine))
        for picture in pictures:
            say(f"wrote {picture}")


def _layers(network: str, dims: Iterable[str] | None, widths: str) -> tuple[str, list[Layer]]:
    """The name of a network, and its layers."""
    from ..workloads import load_network

    found = load_network(network, sizes_of_symbols(dims), cast("Widths", widths))
    return found.name, [(row.name, row.repeat, row.problem) for row in found.layers]
