"""`tilewright results`: what is in the result store, and removing what is not wanted any more."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..ir import StoreError, TilewrightError
from . import completions
from .options import JsonOption, QuietOption, StoreOption
from .terminal import near_word, show_document, show_line, show_page

if TYPE_CHECKING:
    from ..run.store import Record, Store

app = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

LayerOption = Annotated[
    str | None, typer.Option("--layer", metavar="PATTERN", help="Of this layer, such as resnet50:*.")
]
ArchOption = Annotated[str | None, typer.Option("--arch", metavar="PATTERN", help="On this architecture.")]
DataflowOption = Annotated[str | None, typer.Option("--dataflow", metavar="PATTERN", help="Under this dataflow.")]
ObjectiveOption = Annotated[
    str | None,
    typer.Option("--objective", metavar="WHAT", autocompletion=completions.objective, help="For this objective."),
]
StatusOption = Annotated[
    str | None,
    typer.Option(
        "--status",
        metavar="WORD",
        autocompletion=completions.status,
        help="proven, unproven, or infeasible: no mapping.",
    ),
]

_SECONDS = {"h": 3600, "d": 86400, "w": 7 * 86400}


@app.callback()
def start(context: typer.Context) -> None:
    """List, show, export and remove stored results."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("list", short_help="List stored results.")
def list_results(
    layer: LayerOption = None,
    arch: ArchOption = None,
    dataflow: DataflowOption = None,
    objective: ObjectiveOption = None,
    status: StatusOption = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="The N newest only.")] = None,
    json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """List stored results, oldest first. Names may have * and ? as wildcards.

    \b
    tilewright results list
    tilewright results list --layer "resnet50:*" --arch eyeriss --limit 20
    """
    from ..report.pages.stored import list_page, records_table

    with _opened(store) as opened:
        records = list(_chosen(opened, layer, arch, dataflow, objective, status))
    shown = records[-limit:] if limit else records
    if json:
        show_document(records_table(shown).records())
    else:
        show_page(list_page(shown, opened.path))


@app.command("show", short_help="Show one stored result.")
def show_result(
    key: Annotated[str, typer.Argument(metavar="KEY", help="A key of `tilewright results list`, or its beginning.")],
    json: Annotated[bool, typer.Option("--json", help="Print the mapping.json document, and nothing else.")] = False,
    store: StoreOption = None,
) -> None:
    """Show one stored result: the page of its search, or the reason why there is no mapping.

    \b
    tilewright results show 4624e1e0ef4a
    """
    from ..report.pages.stored import record_page

    with _opened(store) as opened:
        # The one record whose key begins so.
        if not re.fullmatch("[0-9a-f]{4,64}", key):
            raise TilewrightError(f"found {key!r}, expected a key, or 4 or more of its first digits", where="KEY")
        found = list(opened.records({"key": f"{key}*"}))
        if len(found) != 1:
            number = f"{len(found)} results begin" if found else "no result begins"
            raise TilewrightError(
                f"{number} with {key}", where=str(opened.path), hint="`tilewright results list` has keys"
            )
        record = found[0]
    if json:
        show_document(record.text)
    else:
        show_page(record_page(record))


@app.command("export", short_help="Write stored results to files.")
def export_results(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="A table: .csv, .json or .parquet.")],
    mappings: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the mapping.json of each result there as well.")
    ] = None,
    layer: LayerOption = None,
    arch: ArchOption = None,
    dataflow: DataflowOption = None,
    objective: ObjectiveOption = None,
    status: StatusOption = None,
    store: StoreOption = None,
    _quiet: QuietOption = False,
) -> None:
    """Write stored results as a table, with units in the names of its columns. Filters are those of `list`.

    \b
    tilewright results export results.csv --arch eyeriss
    tilewright results export results.json --mappings mappings
    """
    from ..ir.units import plural
    from ..report.pages.stored import records_table
    from ..report.parts.files import write_bytes

    with _opened(store) as opened:
        records = list(_chosen(opened, layer, arch, dataflow, objective, status))
    path = records_table(records).write(out)
    show_line(f"{plural(len(records), 'result')} in {path}")
    if mappings is not None:
        mapped = [record for record in records if record.has_mapping]
        for record in mapped:
            write_bytes(mappings / f"{record.key}.json", record.text.encode())
        show_line(f"{plural(len(mapped), 'mapping')} in {mappings}")


@app.command("gc", short_help="Remove stored results.")
def collect_garbage(
    older_than: Annotated[
        str | None, typer.Option(metavar="TIME", help="Also those found longer ago, such as 30d, 12h or 8w.")
    ] = None,
    unproven: Annotated[bool, typer.Option("--unproven", help="Also those without proof.")] = False,
    damaged: Annotated[bool, typer.Option("--damaged", help="Also records that do not match their checksums.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    store: StoreOption = None,
    _quiet: QuietOption = False,
) -> None:
    """Remove results of other cost models, which no search is answered from any more; and more, if asked for.

    \b
    tilewright results gc --dry-run
    tilewright results gc --older-than 30d --unproven
    """
    from ..ir.units import plural

    oldest = time.time() - _span(older_than) if older_than is not None else 0.0
    with _opened(store) as opened:
        broken = {record.key for record in opened.records(only="damaged")}
        if broken and not (damaged or everything):
            hint = "add --damaged to remove what cannot be read"
            message = f"{plural(len(broken), 'record')} that do not match their checksums"
            raise StoreError(message, where=str(opened.path), hint=hint)
        keys = broken | {
            r.key
            for r in opened.records(only="intact")
            if everything or not r.is_current or r.created_s < oldest or (unproven and r.status == "unproven")
        }
        if not dry_run:
            opened.remove(keys)
            opened.compact()
    show_line(f"{'would remove' if dry_run else 'removed'} {plural(len(keys), 'result')} of {opened.path}")


def _opened(path: Path | None) -> Store:
    """The store, which must be there: looking into it is no reason to make one."""
    from ..run.store import Store, store_path

    place = store_path(path)
    if not place.exists():
        hint = "`tilewright search` and `tilewright compare` fill it; another one can be named with --store PATH"
        raise TilewrightError("there is no result store yet", where=str(place), hint=hint)
    return Store(place)


def _chosen(
    store: Store, layer: str | None, arch: str | None, dataflow: str | None, objective: str | None, status: str | None
) -> Iterator[Record]:
    from ..cost_models import parse_objective
    from ..run.store.record import STATUSES

    if status is not None and status not in STATUSES:
        hint = near_word(status, STATUSES)
        raise TilewrightError(f"unknown status {status!r}, expected {', '.join(STATUSES)}", where="--status", hint=hint)
    name = parse_objective(objective).name if objective is not None else None
    asked = {"layer": layer, "arch": arch, "dataflow": dataflow, "status": status}
    found = store.records({column: value for column, value in asked.items() if value is not None})
    return (record for record in found if name is None or record.objective == name)


def _span(text: str) -> float:
    """Seconds of a text such as 30d."""
    found = re.fullmatch(r"(\d{1,6})([hdw])", text)
    if not found:
        message = f"found {text!r}, expected a number of hours, days or weeks, such as 12h, 30d or 8w"
        raise TilewrightError(message, where="--older-than")
    return int(found[1]) * _SECONDS[found[2]]
