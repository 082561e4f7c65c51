"""`tilewright roofline`: the layers of a network, or one layer, under the roofs of a machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..ir import TilewrightError
from . import completions
from .groups import grouped
from .machines import MachineOptions
from .options import (
    DEFAULTS,
    ConvOption,
    EinsumOption,
    GemmOption,
    HtmlOption,
    LayerArgument,
    LimitOptions,
    ObjectiveOption,
    PngOption,
    QuietOption,
    RuleOptions,
    SizeOptions,
    SvgOption,
    TilingOption,
    WidthsOption,
    tiling_and_space,
    widths_named,
)
from .problems import names_network, problem_named
from .terminal import noting_interrupts, own_command, say, show_document, show_page, signs

if TYPE_CHECKING:
    from ..network_roofline import Layer
    from ..report.pages.roofline import RooflineChart
    from ..results import SearchResult
    from ..workloads.network import Sizes


@dataclass(frozen=True)
class LayerOptions(SizeOptions):
    """A layer, by its name or its sizes."""

    layer: LayerArgument = None
    conv: ConvOption = None
    gemm: GemmOption = None
    einsum: EinsumOption = None
    widths: WidthsOption = DEFAULTS["widths"]


@dataclass(frozen=True)
class PictureOptions:
    """Where the picture goes, and the page in a browser."""

    svg: SvgOption = None
    png: PngOption = None
    html: HtmlOption = None


@grouped
def roofline(
    machine: MachineOptions,
    rules: RuleOptions,
    limits: LimitOptions,
    one: LayerOptions,
    drawn: PictureOptions,
    network: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|PATH",
            autocompletion=completions.network,
            help="All layers of a network, in place of one layer.",
        ),
    ] = None,
    objective: ObjectiveOption = DEFAULTS["objective"],
    tiling: TilingOption = DEFAULTS["tiling"],
    memory: Annotated[
        str | None, typer.Option(metavar="NAME", help="The memory whose bytes are counted; the outermost by default.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON, and nothing else.")] = False,
    _quiet: QuietOption = False,
) -> None:
    """Show how near the best mappings come to the roofs: operations per byte, and operations per second.

    Each distinct layer is searched once. Its dot is where its best mapping puts it; its diamond is on the roof, at the
    operations per byte that it would have if every word crossed once.

    A network may stand in place of a layer, too.

    \b
    tilewright roofline model.onnx --arch a100
    tilewright roofline --network gpt2_small --arch a100 --svg roofline.svg
    tilewright roofline --network resnet50 --arch eyeriss --dataflow row-stationary
    tilewright roofline resnet50:layer1.0.conv2 --arch eyeriss --memory GLB
    tilewright roofline --gemm M=512,N=768,K=3072 --arch tpu_v1
    """
    if network is None and one.layer is not None and names_network(one.layer):
        network, one = one.layer, replace(one, layer=None)
    if network is None:
        problem = problem_named(one.layer, one.conv, one.gemm, one.einsum, one, one.widths)
        title, layers = problem.name, [(problem.name, 1, problem)]
    elif any(given is not None for given in (one.layer, one.conv, one.gemm, one.einsum)):
        raise TilewrightError("expected one of --network and a layer, found both", where="--network")
    else:
        title, layers = _layers(network, one.sizes, one.widths)
    chip = machine.named()
    from ..network_roofline import RooflineSearches, searched_roofline
    from ..report.pages.roofline import draw_roofline, roofline_page
    from ..report.parts.figures import check_pictures, save_figure

    kind, _ = tiling_and_space(tiling)
    pictures = check_pictures(drawn.svg, drawn.png)
    title = f"{title} on {chip.name}, best mappings for {objective}"
    searches = RooflineSearches(chip, objective, kind, rules.sources(), limits.limits())
    with noting_interrupts() as interrupts, signs("searching") as shown:

        def before(name: str, number: int, total: int) -> None:
            """One Ctrl-C ends the search of a layer, which hands over what it has; it must end the others too."""
            if interrupts:
                raise KeyboardInterrupt("nothing of it is kept; --time-limit SECONDS ends each search by itself")
            shown.begin(name, number, total)

        chart, results = searched_roofline(title, searches, layers, memory, before)
    unproven = sum(not result.certificate.proven for result in results)
    if unproven:
        say(f"{unproven} of {len(results)} mappings are not proven to be the best: the time limit came first")
    for picture in pictures:
        save_figure(draw_roofline(chart), picture)
    files = [*pictures, *_written_page(drawn.html, chart, results, network)]
    if json:
        show_document(chart.as_dict())
        return
    show_page(roofline_page(chart, chip))
    for file in files:
        say(f"wrote {file}")


def _written_page(
    path: Path | None, chart: RooflineChart, results: list[SearchResult], network: str | None
) -> tuple[Path, ...]:
    """The page in a browser, where one is asked for; of a network each dot has the command for its layer."""
    if path is None:
        return ()
    from ..report.pages.html_pages import roofline_html
    from ..report.pages.roofline import roofline_page
    from ..results import write_file

    arch = results[0].arch
    answers = [result.answer for result in results]
    files = ("--html", "--svg", "--png")
    layers = (f"{network}:{dot.name.partition(' (and ')[0]}" for dot in chart.dots)
    commands = [own_command(files, {network: layer, "--network": ""} if network else {}) for layer in layers]
    page = roofline_html(chart, arch, answers, roofline_page(chart, arch), own_command(), commands)
    return (write_file(path, page),)


def _layers(network: str, sizes: Sizes, widths: str) -> tuple[str, list[Layer]]:
    """The name of a network, and its layers."""
    from ..workloads.networks import network_at

    found = network_at(network, sizes, widths_named(widths))
    return found.name, [(row.name, row.repeat, row.problem) for row in found.layers]
