"""The HTML file of a comparison, complete in itself."""

from __future__ import annotations

import json
from importlib.resources import files

from markupsafe import Markup

from ..comparison import Comparison
from .data import page_data

SCRIPTS = ("format.js", "bars.js", "plots.js", "finding.js", "details.js", "tables.js", "views.js")


def html_page(comparison: Comparison) -> Markup:
    """The page as one text. It loads nothing: data, style and scripts are in it."""
    data = page_data(comparison)
    return _static("page.html").format(
        title=data["title"],
        style=_static("style.css"),
        data=_as_script(json.dumps(data, separators=(",", ":"), allow_nan=False)),
        scripts=Markup("\n").join(_static(name) for name in SCRIPTS),
    )


def _static(name: str) -> Markup:
    return Markup((files(__package__) / "static" / name).read_text(encoding="utf-8"))


def _as_script(document: str) -> Markup:
    """JSON that may stand inside a script element: nothing in it can end that element, or start a comment."""
    return Markup(document.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
