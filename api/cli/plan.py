"""`tilewright plan`: addresses for buffers with lifetimes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import DEFAULTS, HtmlOption, QuietOption, SvgOption, seconds_option
from .terminal import own_command, say, show_document, show_page, signs


def plan(
    buffers: Annotated[
        Path, typer.Argument(metavar="FILE", help="A CSV file with the columns id, lower, upper, size.")
    ],
    capacity: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Of the memory, such as 1MiB; else as much as it takes.")
    ] = None,
    least: Annotated[
        bool | None,
        typer.Option(
            "--least/--fits", help="Find the least height, or any plan that fits: the latter with --capacity."
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        seconds_option("Then it takes the best plan so far, and says how much lower another one can be."),
    ] = None,
    memory_limit: Annotated[str, typer.Option(metavar="SIZE", help="Memory of the search, such as 512MiB.")] = (
        DEFAULTS["memory_limit"]
    ),
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the plan there, as JSON.")] = None,
    svg: SvgOption = None,
    html: HtmlOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON, and nothing else.")] = False,
    _quiet: QuietOption = False,
) -> None:
    """Plan the addresses of buffers, so that no two that are live together share any.

    Lifetimes are half-open: a buffer is live from lower up to, not including, upper. Columns alignment, copies (2: a
    double buffer), offset (where it has to lie), gaps (3-5 8-9: not live then) and in_place (ids of buffers that may be
    updated in place) are optional.

    \b
    tilewright plan buffers.csv
    tilewright plan buffers.csv --capacity 1MiB --svg plan.svg --out plan.json
    """
    from ..memory import plan_memory
    from ..report.networks.memory_picture import memory_svg
    from ..report.networks.memory_plan import plan_document, plan_json, plan_page
    from ..report.parts.files import write_bytes

    with signs("planning"):
        found = plan_memory(buffers, capacity, least=least, time_limit=time_limit, memory_limit=memory_limit)
    if json:
        show_document(plan_document(found))
    else:
        show_page(plan_page(found, buffers.stem))
    for path, text in ((out, plan_json), (svg, memory_svg)):
        if path is not None:
            write_bytes(path, text(found).encode())
            say(f"wrote {path}")
    if html is not None:
        from ..report.pages.html_pages import memory_html

        write_bytes(html, memory_html(found, buffers.stem, plan_page(found, buffers.stem), own_command()).encode())
        say(f"wrote {html}")
    if not found.fits:
        say("no plan that fits was found in time, and none is ruled out")
