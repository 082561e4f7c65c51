"""The pages of all reports: one HTML file each, which opens anywhere, without a network.

template.py  a page: title, what was asked, the finding and its picture, sections, the command
blocks.py    what sections are made of: tables that sort, pages for the terminal, pictures, plots
details.py   the details of rows and dots, and the pictures in them
static/      the template, its style, and scripts

The scripts are plain JavaScript. A plotting library would be several megabytes in every page, and its charts cannot be
reached by keyboard or screen reader; here bars and dots are buttons.
"""

from __future__ import annotations

from .blocks import Column, TableCell, drawn, plot, rendered, section, sorting_table, timeline
from .details import Detail, Details, Part, page_parts, pairs_part, picture_part, rows_part, sentences_part, text_part
from .template import Page, page_html, script_data

__all__ = [
    "Column",
    "Detail",
    "Details",
    "Page",
    "Part",
    "TableCell",
    "drawn",
    "page_html",
    "page_parts",
    "pairs_part",
    "picture_part",
    "plot",
    "rendered",
    "rows_part",
    "script_data",
    "section",
    "sentences_part",
    "sorting_table",
    "text_part",
    "timeline",
]
