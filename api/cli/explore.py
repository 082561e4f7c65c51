"""`tilewright explore`: a network at every point of a space of architectures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from . import completions
from .compare import finish
from .groups import grouped
from .machines import settings_named
from .options import (
    DEFAULTS,
    BatchOptions,
    FormatsOption,
    JsonOption,
    KindOptions,
    LimitOptions,
    ObjectiveOption,
    QuietOption,
    SetOption,
    names,
)
from .progress import remembering_progress
from .terminal import show_document, show_page


@dataclass(frozen=True)
class SweepOptions:
    """The space of architectures."""

    network: Annotated[
        str, typer.Option(metavar="NAME|PATH", autocompletion=completions.network, help="A network, or a network file.")
    ]
    arch: Annotated[
        str,
        typer.Option(
            metavar="NAME|PATH", autocompletion=completions.arch, help="The architecture that fields are swept of."
        ),
    ]
    sweep: Annotated[
        list[str],
        typer.Option(
            metavar="FIELD=VALUES|FILE",
            help="array=8x8,16x16 or GLB.size=32KiB:1MiB:x2; may be repeated: all combinations are searched. "
            '"array=8x8,16x16 with GLB.size=64KiB,256KiB" changes fields together, as does a CSV or YAML file.',
        ),
    ]
    settings: SetOption = None
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MEASURE<=VALUE",
            help='"area <= 4 mm2"; of energy, latency, area, on_chip or macs; may be repeated. Points whose chips are '
            "beyond it are not searched.",
        ),
    ] = None
    front: Annotated[
        str | None,
        typer.Option(
            metavar="MEASURE,...",
            autocompletion=completions.measures,
            help="What the front is over, two or more of energy, latency, area, on_chip, macs; if not given, energy, "
            "latency and area, or on_chip where areas are not stated.",
        ),
    ] = None


@grouped
def explore(
    context: typer.Context,
    *,
    swept: SweepOptions,
    objective: ObjectiveOption = DEFAULTS["objective"],
    dataflow: Annotated[
        str,
        typer.Option(
            metavar="NAME|PATH", autocompletion=completions.dataflow, help="A dataflow, or a constraints file."
        ),
    ] = "free",
    kinds: KindOptions,
    limits: LimitOptions,
    batch: BatchOptions,
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
    from ..report.parts.tables import check_formats
    from ..results import prepare_folder

    batch.refuse_ignored(context, out, "dataflow")
    check_formats(names(formats))
    if out is not None:
        prepare_folder(out)
    with remembering_progress(kept=not batch.no_cache, fused=batch.is_fused) as remembered:
        exploration = exploration_of(
            swept.network,
            swept.arch,
            swept.sweep,
            objective,
            dataflow,
            *kinds.checked(),
            settings=settings_named(swept.settings or ()),
            limits=swept.limit or (),
            front=names(swept.front) if swept.front is not None else None,
            time_limit=limits.time_limit,
            memory_limit=limits.memory_limit,
            watch=remembered.watch,
            **batch.arguments(),
        )
    files = write_exploration(exploration, out, names(formats)) if out is not None else ()
    if json:
        show_document(exploration_data(exploration))
    else:
        show_page(exploration_page(exploration, files))
    finish(exploration.comparison, remembered.last, batch.store)
