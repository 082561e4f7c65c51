"""`tilewright collective`: what an all-reduce or another collective costs on a system of several devices."""

from __future__ import annotations

from typing import Annotated

import typer

from . import completions
from .machines import settings_named
from .options import JsonOption, QuietOption
from .terminal import show_document, show_page


def collective(
    operation: Annotated[
        str,
        typer.Argument(
            metavar="WORD",
            autocompletion=completions.collective,
            help="all-gather, reduce-scatter, all-reduce or all-to-all.",
        ),
    ],
    size: Annotated[str, typer.Argument(metavar="SIZE", help='The whole tensor, never a shard of it: "1 GB", 64MiB.')],
    system: Annotated[
        str,
        typer.Option(
            metavar="NAME|PATH",
            autocompletion=completions.system,
            help="A system of the library (`tilewright list systems`), or a YAML file.",
        ),
    ],
    axes: Annotated[
        str | None, typer.Option(metavar="NAME,...", help="The axes that it takes place over; all, if not given.")
    ] = None,
    together: Annotated[
        bool, typer.Option("--together", help="All axes at once, each with a part of the tensor, not one by one.")
    ] = False,
    step: Annotated[
        str | None,
        typer.Option(metavar="TIME", help='Work of every device beside it, such as "50 ms": what speedup is left.'),
    ] = None,
    set_fields: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help='Set a field of the system: node.size=4, "node.latency=0 s", "device.HBM.bandwidth=2 TB/s".',
        ),
    ] = None,
    json: JsonOption = False,
    _quiet: QuietOption = False,
) -> None:
    """Show what a collective costs: bytes on every link, hops, time, energy, and the bounds that it meets.

    \b
    tilewright collective all-reduce "1 GB" --system a100x8
    tilewright collective all-reduce "1 GB" --system a100x8 --step "50 ms"
    tilewright collective all-gather 64MiB --system tpu_v4 --axes x,y --together
    tilewright collective all-to-all 1MiB --system my_box.yaml --set node.size=4 --json
    """
    from ..arch.system import load_system
    from ..arch.units import seconds
    from ..collectives import collective as cost_of_collective
    from ..ir import ArchitectureError, TilewrightError
    from ..report.pages.system import collective_document, collective_page

    try:
        beside = None if step is None else seconds(step)
    except ArchitectureError as error:
        raise error.located("--step") from None
    if beside == 0:
        raise TilewrightError("the step is 0 s, expected work beside the collective", where="--step")
    mesh = load_system(system, settings_named(set_fields or ()))
    names = None if axes is None else [name.strip() for name in axes.split(",")]
    found = cost_of_collective(operation, size, mesh, axes=names, together=together)
    if json:
        show_document(collective_document(found))
    else:
        show_page(collective_page(found, beside))
