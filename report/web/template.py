"""A page of a report as one HTML file, complete in itself: it loads nothing, and runs no script but its own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from ...run.documents.mappings import written_by
from ..parts.html import joined, to_list
from ..parts.palette import colour_variables

SCRIPTS = ("format.js", "keys.js", "details.js", "tables.js", "plots.js", "timeline.js")
"""Of every page, in this order; `start.js` comes after those that a page brings itself."""


@dataclass(frozen=True)
class Page:
    """What a page shows.

    title     of the page
    asked     what was asked, as pairs of name and value
    findings  what was found, in a sentence or a few
    picture   that shows the finding
    sections  what follows: tables, plots, lists
    command   a shell command that makes the same page; empty where there is none
    tool      that made it, with its version; by default this one
    data      for the scripts: `plots`, `timelines`, `details`, `shared`, `pictures`, and what scripts of its own read
    scripts   of its own
    style     of its own
    """

    title: str
    asked: Sequence[tuple[str, str]] = ()
    findings: Sequence[str] = ()
    picture: Markup = Markup("")
    sections: Sequence[Markup] = ()
    command: str = ""
    tool: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    scripts: Sequence[Markup] = ()
    style: Markup = Markup("")


def page_html(page: Page) -> Markup:
    """The page as the text of an HTML file."""
    style = joined([Markup(colour_variables()), static_text("style.css"), page.style])
    scripts = [*map(static_text, SCRIPTS), *page.scripts, static_text("start.js")]
    return static_text("page.html").format(
        title=page.title,
        style=style,
        asked=_asked(page.asked),
        findings=_findings(page),
        picture=page.picture,
        command=_command(page.command),
        body=joined(page.sections),
        tool=page.tool or written_by(),
        data=script_data(page.data),
        scripts=Markup("\n").join(scripts),
    )


def static_text(name: str, package: str | None = __package__) -> Markup:
    """The text of a file of a package's folder `static`."""
    return Markup((files(package or "") / "static" / name).read_text(encoding="utf-8"))


def script_data(document: Mapping[str, Any]) -> Markup:
    """JSON that may stand inside a script element: nothing in it can end that element, or start a comment."""
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _asked(pairs: Sequence[tuple[str, str]]) -> Markup:
    if not pairs:
        return Markup("")
    shown = (Markup("<span><b>{}</b> {}</span>").format(name, value) for name, value in pairs)
    return Markup('<p class="asked quiet">{}</p>').format(Markup(" ").join(shown))


def _findings(page: Page) -> Markup:
    if not page.findings:
        return Markup("")
    first, *others = page.findings
    more = to_list(others) if others else ""
    return Markup('<div id="findings"><p class="finding">{}</p>{}</div>').format(first, more)


def _command(text: str) -> Markup:
    if not text:
        return Markup("")
    made = '<p class="command"><code id="command">{0}</code><button type="button" data-copy="{0}">Copy</button></p>'
    return Markup(made).format(text)
