"""The page of a comparison, by the template of all pages (`report/web/`).

data.py   what the page shows, as one JSON document
page.py   the file: that document, and what is in static/
static/   sections and scripts of this page
"""

from .page import html_page

__all__ = ["html_page"]
