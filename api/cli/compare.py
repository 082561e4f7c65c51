"""`tilewright compare`: dataflows across architectures for whole networks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import completions
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
from .terminal import complain, say, show_document, show_page

if TYPE_CHECKING:
    from ..report.batch.run import Progress
    from ..report.comparison import Comparison

FAILED = 1


def compare(
    context: typer.Context,
    networks: Annotated[
        str,
        typer.Option(
            metavar="NAME,...",
            autocompletion=completions.networks,
            help="Networks (`tilewright list networks`), or paths of network files.",
        ),
    ],
    archs: Annotated[
        str,
        typer.Option(
            metavar="NAME,...",
            autocompletion=completions.archs,
            help="Architectures (`tilewright list archs`), or YAML files.",
        ),
    ],
    dataflows: Annotated[
        str,
        typer.Option(
            metavar="NAME,...",
            autocompletion=completions.dataflows,
            help="Dataflows (`tilewright list dataflows`), or constraints files.",
        ),
    ] = "free,weight-stationary,output-stationary,input-stationary,row-stationary",
    objective: ObjectiveOption = "edp",
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
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the tables there.")] = None,
    formats: FormatsOption = "csv,json",
    json: JsonOption = False,
    _quiet: QuietOption = False,
) -> None:
    """Compare dataflows across architectures for whole networks: the proven best mapping of every layer under each.

    Every distinct search runs once, longest first, and its result is stored at once: after Ctrl-C or a crash, the same
    command goes on from there. The exit code is 1 if a search could not be run to its end.

    \b
    tilewright compare --networks resnet50,bert_base --archs eyeriss,tpu_v1 --out results/dataflows
    tilewright compare --networks my_net.yaml --archs my_chip.yaml --dataflows free,my_dataflow.yaml --objective energy
    """
    from ..comparisons import compare as comparison_of
    from ..report.comparison_files import write_comparison
    from ..report.comparison_page import comparison_page
    from ..report.comparison_tables import comparison_data
    from ..report.tables import check_formats
    from ..results import prepare_folder

    refuse_ignored_of_batch(context, no_cache, scheduler, out)
    check_formats(names(formats))
    if out is not None:
        prepare_folder(out)
    with remembering_progress(kept=not no_cache) as remembered:
        comparison = comparison_of(
            names(networks),
            names(archs),
            names(dataflows),
            objective,
            *tiling_and_space(tiling, space),
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
    files = write_comparison(comparison, out, names(formats)) if out is not None else ()
    if json:
        show_document(comparison_data(comparison))
    else:
        show_page(comparison_page(comparison, files))
    finish(comparison, remembered.last)


def finish(comparison: Comparison, progress: Progress) -> None:
    """Say what the batch did, and exit with 1 if a search could not be run to its end."""
    from ..report.comparison_page import batch_summary

    say(batch_summary(progress))
    if comparison.failures:
        first = comparison.failures[0]
        complain(f"{first.layer} on {first.arch}, {first.dataflow}: {first.diagnosis}")
        raise typer.Exit(FAILED)
