"""`tilewright import`: other tools' files, read and evaluated."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .mappings import show_result
from .options import QuietOption
from .terminal import show_document

imports = typer.Typer(
    help="Read a mapping from the files of another tool, and evaluate it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@imports.callback()
def import_files() -> None:
    """Read a mapping from the files of another tool, and evaluate it."""


@imports.command("timeloop", short_help="Read Timeloop v0.4 architecture, problem and mapping.")
def import_timeloop(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="With architecture, problem and mapping; and an ERT, if there is one."),
    ],
    json: Annotated[
        bool, typer.Option("--json", help="Print a mapping.json, which holds all three, and nothing else.")
    ] = False,
    _quiet: QuietOption = False,
) -> None:
    """Evaluate a mapping that is given as Timeloop v0.4 files, under Timeloop's rules.

    \b
    tilewright import timeloop arch.yaml problem.yaml mapping.yaml ERT.yaml
    tilewright import timeloop arch.yaml problem.yaml mapping.yaml ERT.yaml --json > mapping.json
    tilewright emit result/mapping.json --to timeloop > case.yaml
    """
    from ..mapper.timeloop import read_timeloop
    from ..results import evaluate

    mapping, arch = read_timeloop(files)
    cost = evaluate(mapping, arch)
    if json:
        from ..report.documents import dump_mapping

        show_document(dump_mapping(mapping, arch, cost))
    else:
        show_result(mapping, arch, cost)
