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
    DimsOption,
    FormatsOption,
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
    WidthsOption,
    WorkersOption,
    names,
    refuse_ignored_of_batch,
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
            metavar="FIELD=VALUES",
            help="array=8x8,16x16 or GLB.size=32KiB:1MiB:x2; may be repeated: all combinations are searched.",
        ),
    ],
    settings: SetOption = None,
    objective: ObjectiveOption = "edp",
    dataflow: Annotated[str, typer.Option(metavar="NAME|PATH", help="A dataflow, or a constraints file.")] = "free",
    tiling: TilingOption = None,
    space: SpaceOption = "even",
    dim: DimsOption = None,
    widths: WidthsOption = "file",
    time_limit: TimeLimitOption = None,
    memory_limit: MemoryLimitOption = DEFAULT_MEMORY,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    store: StoreOption = None,
    no_cache: NoCacheOption = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the tables and a picture of the front there.")
    ] = None,
    formats: FormatsOption = "csv,json",
    json: JsonOption = False,
    _quiet: QuietOption = False,
) -> None:
    """Explore a space of architectures: the proven best mappings of a network at every point, and the Pareto front.

    The front is over energy, latency and on-chip bytes of the network. Results are stored as those of all searches.

    \b
    tilewright explore --network resnet50 --arch eyeriss --sweep GLB.size=32KiB:1MiB:x2 --sweep array=8x8,12x14,16x16
    tilewright explore --network alexnet --arch systolic --sweep array=32x32,64x64,128x128 --objective energy
    """
    from ..explorations import explore as exploration_of
    from ..report.exploration_page import exploration_data, exploration_page, write_exploration
    from ..report.figures import figure_style
    from ..report.tables import check_formats
    from ..results import prepare_folder

    refuse_ignored_of_batch(context, no_cache, scheduler, out)
    check_formats(names(formats))
    if out is not None:
        with figure_style():  # pictures can be drawn
            prepare_folder(out)
    with remembering_progress(kept=not no_cache) as remembered:
        exploration = exploration_of(
            network,
            arch,
            sweep,
            objective,
            dataflow,
            *tiling_and_space(tiling, space),
            settings=settings_named(settings or ()),
            dims=sizes_of_symbols(dim),
            widths=widths_named(widths),
            time_limit=time_limit,
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
