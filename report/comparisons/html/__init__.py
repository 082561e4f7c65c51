"""The page of a comparison: one HTML file that opens anywhere, without a network.

data.py   what the page shows, as one JSON document
page.py   the file: that document, and what is in static/
static/   style and scripts

The scripts are plain JavaScript. A plotting library would be several megabytes in every page, and its charts cannot be
reached by keyboard or screen reader; here bars and dots are buttons.
"""

from .page import html_page

__all__ = ["html_page"]
