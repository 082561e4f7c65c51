"""The HTML file of a comparison, complete in itself."""

from __future__ import annotations

from markupsafe import Markup

from ...web import Page, page_html
from ...web.template import static_text
from ..comparison import Comparison
from ..findings import findings
from .data import asked, page_data, page_title

SCRIPTS = ("bars.js", "scatter.js", "finding.js", "tables.js", "views.js")
"""Of this page, beside those of every page."""


def html_page(comparison: Comparison) -> Markup:
    """The page as one text. It loads nothing: data, style and scripts are in it."""
    page = Page(
        title=page_title(comparison),
        asked=asked(comparison),
        findings=findings(comparison),
        picture=Markup('<div id="finding-section"><div id="finding" class="plot"></div></div>'),
        sections=[static_text("body.html", __package__)],
        command=comparison.command,
        tool=comparison.written_by,
        data=page_data(comparison),
        scripts=[static_text(name, __package__) for name in SCRIPTS],
    )
    return page_html(page)
