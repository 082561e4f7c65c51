"""`tilewright explore`: a network at every point of a space of architectures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import completions
from .compare import finish
from .machines import settings_named
from .options import (
    DEFAULT_MEMORY,
    MOST_OF_GROUP,
    DimsOption,
    FormatsOption,
    FusedOption,
    GroupOption,
    JsonOption,
    MemoryLimitOption,
    NoCacheOption,
    ObjectiveOption,
    QuietOption,
    SchedulerOption,
    SetOption,
    SpaceOption,
    StoreOption,
    TilingOption,
    TimeLimitOption,
    TotalLimitOption,
    WidthsOption,
    WorkersOption,
    names,
    refuse_ignored_of_batch,
    refuse_ignored_of_fusing,
    tiling_and_space,
    widths_named,
)
from .problems import sizes_of_symbols
from .progress import remembering_progress
from .terminal import show_document, show_page


def explore(
    context: typer.Context,
    network: Annotated[
        str, typer.Option(metavar="NAME|PATH", autocompletion=completions.network, help="A network, or a network file.")
    ],
    arch: Annotated[
        str,
        typer.Option(
            metavar="NAME|PATH", autocompletion=completions.arch, help="The architecture that fields are swept of."
        ),
    ],
    sweep: Annotated[
        list[str],
        typer.Option(
            metavar="FIELD=VALUES|FILE",
            help="array=8x8,16x16 or GLB.size=32KiB:1MiB:x2; may be repeated: all combinations are searched. "
            '"array=8x8,16x16 with GLB.size=64KiB,256KiB" changes fields together, as does a CSV or YAML file.',
        ),
    ],
    settings: SetOption = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MEASURE<=VALUE",
            help='"area <= 4 mm2"; of energy, latency, area, on_chip or macs; may be repeated. Points whose chips are '
            "beyond it are not searched.",
        ),
    ] = None,
    front: Annotated[
        str | None,
        typer.Option(
            metavar="MEASURE,...",
            autocompletion=completions.measures,
            help="What the front is over, two or more of energy, latency, area, on_chip, macs; if not given, energy, "
            "latency and area, or on_chip where areas are not stated.",
        ),
    ] = None,
    objective: ObjectiveOption = "edp",
    dataflow: Annotated[
        str,
        typer.Option(
            metavar="NAME|PATH", autocompletion=completions.dataflow, help="A dataflow, or a constraints file."
        ),
    ] = "free",
    fuse: FusedOption = False,
    group: GroupOption = MOST_OF_GROUP,
    tiling: TilingOption = None,
    space: SpaceOption = "even",
    dim: DimsOption = None,
    widths: WidthsOption = "file",
    time_limit: TimeLimitOption = None,
    total_limit: TotalLimitOption = None,
    memory_limit: MemoryLimitOption = DEFAULT_MEMORY,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    store: StoreOption = None,
    no_cache: NoCacheOption = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write index.html, the tables and a picture of the front there.")
    ] = None,
    formats: FormatsOption = "csv,json",
    json: JsonOption = False,
    _quiet: QuietOption = False,
) -> None:
    """Explore a space of architectures: the proven best mappings of a network at every point, and the Pareto front.

    The front is over energy and latency of the network, and the area of the chip. Results are stored as those of all
    searches.

    \b
    tilewright explore --network resnet50 --arch eyeriss --sweep GLB.size=32KiB:1MiB:x2 --sweep array=8x8,12x14,16x16
    tilewright explore --network alexnet --arch systolic --sweep array=32x32,64x64,128x128 --objective energy
    tilewright explore --network alexnet --arch eyeriss --sweep GLB.size=32KiB:8MiB:x4 --limit "area <= 20 mm2"
    tilewright explore --network alexnet --arch eyeriss --sweep designs.csv
    tilewright explore --network bert_base --arch three_level --sweep GLB.size=64KiB:1MiB:x2 --fuse --objective energy
    """
    from ..explorations import explore as exploration_of
    from ..report.explorations.page import exploration_data, exploration_page, write_exploration
    from ..report.parts.figures import figure_style
    from ..report.parts.tables import check_formats
    from ..results import prepare_folder

    refuse_ignored_of_batch(context, no_cache, scheduler, out)
    refuse_ignored_of_fusing(context, fuse, "dataflow")
    check_formats(names(formats))
    if out is not None:
        with figure_style():  # pictures can be drawn
            prepare_folder(out)
    with remembering_progress(kept=not no_cache, fused=fuse) as remembered:
        exploration = exploration_of(
            network,
            arch,
            sweep,
            objective,
            dataflow,
            *tiling_and_space(tiling, space),
            fuse=fuse,
            most=group,
            settings=settings_named(settings or ()),
            limits=limit or (),
            front=names(front) if front is not None else None,
            dims=sizes_of_symbols(dim),
            widths=widths_named(widths),
            time_limit=time_limit,
            total_limit=total_limit,
            memory_limit=memory_limit,
            workers=workers,
            scheduler=scheduler,
            store=store,
            cache=not no_cache,
            watch=remembered.watch,
        )
    files = write_exploration(exploration, out, names(formats), picture=True) if out is not None else ()
    if json:
        show_document(exploration_data(exploration))
    else:
        show_page(exploration_page(exploration, files))
    finish(exploration.comparison, remembered.last)
