"""`tilewright compare`: dataflows across architectures for whole networks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from . import completions
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
from .terminal import FAILED, complain, say, show_document, show_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..report.comparisons.comparison import Comparison
    from ..report.fused import FusedComparison
    from ..run.batch.run import Progress


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
    fuse: FusedOption = False,
    group: GroupOption = MOST_OF_GROUP,
    objective: ObjectiveOption = "edp",
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
    tilewright compare --networks mobilenet_v2,bert_base --archs eyeriss,three_level --fuse --group 3 --objective energy
    """
    from ..comparisons import compare as comparison_of
    from ..report.fused import FusedComparison
    from ..report.parts.tables import check_formats
    from ..results import prepare_folder

    refuse_ignored_of_batch(context, no_cache, scheduler, out)
    refuse_ignored_of_fusing(context, fuse, "dataflows")
    check_formats(names(formats))
    if out is not None:
        prepare_folder(out)
    with remembering_progress(kept=not no_cache, fused=fuse) as remembered:
        comparison: Comparison | FusedComparison = comparison_of(
            names(networks),
            names(archs),
            names(dataflows),
            objective,
            *tiling_and_space(tiling, space),
            fuse=cast(Any, fuse),  # its overloads are for True and for False, each with its own result
            most=group,
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
    if isinstance(comparison, FusedComparison):
        _show_fused(comparison, out, names(formats), json)
    else:
        _show_layers(comparison, out, names(formats), json)
    finish(comparison, remembered.last)


def _show_layers(comparison: Comparison, out: Path | None, formats: Sequence[str], json: bool) -> None:
    from ..report.comparisons.files import write_comparison
    from ..report.comparisons.page import comparison_page
    from ..report.comparisons.tables import comparison_data

    files = write_comparison(comparison, out, formats) if out is not None else ()
    if json:
        show_document(comparison_data(comparison))
    else:
        show_page(comparison_page(comparison, files))


def _show_fused(comparison: FusedComparison, out: Path | None, formats: Sequence[str], json: bool) -> None:
    from ..report.fused.files import write_fused
    from ..report.fused.page import fused_page
    from ..report.fused.tables import fused_data

    files = write_fused(comparison, out, formats) if out is not None else ()
    if json:
        show_document(fused_data(comparison.rows, comparison.settings, comparison.command))
    else:
        show_page(fused_page(comparison, files))


def finish(comparison: Comparison | FusedComparison, progress: Progress) -> None:
    """Say what the batch did, and exit with 1 if a search could not be run to its end."""
    from ..report.comparisons.page import batch_summary
    from ..report.fused import FusedComparison
    from ..report.fused.page import calls_summary

    say(calls_summary(progress) if isinstance(comparison, FusedComparison) else batch_summary(progress))
    failed = [(row.place, row.diagnosis) for row in comparison.failures]
    if failed:
        complain(": ".join(failed[0]))
        raise typer.Exit(FAILED)
