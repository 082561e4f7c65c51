"""Options that all commands with many searches have in common: where they run, and where results are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store", metavar="PATH", help="The result store; else TILEWRIGHT_STORE, or one in the user's cache."
    ),
]
NoCacheOption = Annotated[
    bool, typer.Option("--no-cache", help="Search again, and keep nothing: neither read nor write the result store.")
]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", metavar="N", help="Searches at once; one for each core, if not given.")
]
SchedulerOption = Annotated[
    str | None, typer.Option("--scheduler", metavar="ADDRESS", help="A Dask cluster, such as tcp://host:8786.")
]
TimeLimitOption = Annotated[
    float | None,
    typer.Option("--time-limit", metavar="SECONDS", help="For each search; then it takes the best so far, not proven."),
]


def names(text: str) -> list[str]:
    """The names in a text such as `resnet50,bert_base`."""
    return [name for part in text.split(",") if (name := part.strip())]
