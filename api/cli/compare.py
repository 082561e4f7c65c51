"""`tilewright compare`: dataflows across architectures for whole networks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import completions
from .groups import grouped
from .options import (
    DEFAULTS,
    BatchOptions,
    FormatsOption,
    JsonOption,
    KindOptions,
    LimitOptions,
    ObjectiveOption,
    QuietOption,
    names,
)
from .progress import remembering_progress
from .terminal import FAILED, complain, say, show_document, show_page

if TYPE_CHECKING:
    from ..report.comparisons.compared import Compared
    from ..run.batch.run import Progress


@grouped
def compare(
    context: typer.Context,
    *,
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
    objective: ObjectiveOption = DEFAULTS["objective"],
    kinds: KindOptions,
    limits: LimitOptions,
    batch: BatchOptions,
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
    from ..report.comparisons.files import write_comparison
    from ..report.comparisons.page import comparison_page
    from ..report.parts.tables import check_formats
    from ..results import prepare_folder

    batch.refuse_ignored(context, out, "dataflows")
    check_formats(names(formats))
    if out is not None:
        prepare_folder(out)
    with remembering_progress(kept=not batch.no_cache, fused=batch.is_fused) as remembered:
        comparison: Compared[Any] = comparison_of(
            names(networks),
            names(archs),
            names(dataflows),
            objective,
            *kinds.checked(),
            time_limit=limits.time_limit,
            memory_limit=limits.memory_limit,
            watch=remembered.watch,
            **batch.arguments(),
        )
    files = write_comparison(comparison, out, names(formats)) if out is not None else ()
    if json:
        show_document(comparison.data())
    else:
        show_page(comparison_page(comparison, files))
    finish(comparison, remembered.last, batch.store)


def finish(comparison: Compared[Any], progress: Progress, store: Path | None) -> None:
    """Say what the batch did, and exit with 1 if a search could not be run to its end."""
    from ..report.comparisons.page import batch_summary

    say(batch_summary(comparison, progress))
    if progress.recalled:
        from ..run.store.opening import store_path

        say(f"note: the store is {store_path(store)}; --no-cache searches again")
    failed = [(row.place, row.diagnosis) for row in comparison.failures]
    if failed:
        complain(": ".join(failed[0]))
        raise typer.Exit(FAILED)
