"""The files of a comparison: its page, its pictures, and its tables in the formats asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ..parts.figures import save_figure, svg_of
from ..parts.files import write_bytes
from ..parts.html import picture, to_html, to_list
from ..parts.tables import Table
from .compared import Compared
from .comparison import Comparison
from .fused import FusedComparison
from .fused.html_page import fused_html
from .html import html_page
from .page import comparison_page
from .pictures import has_prices


def write_comparison(comparison: Compared[Any], folder: Path, formats: Sequence[str]) -> tuple[Path, ...]:
    """Write the page, the pictures if matplotlib is there, and every table in every format; and return the paths.

    Raises TilewrightError when one cannot be written.
    """
    index = write_bytes(folder / "index.html", _page(comparison).encode())
    pictures = write_pictures(comparison, folder) if find_spec("matplotlib") else ()
    return (index, *pictures, *write_tables(comparison.tables(), folder, formats))


def write_pictures(comparison: Compared[Any], folder: Path) -> tuple[Path, ...]:
    """Write every picture as SVG and PNG. Raises TilewrightError without matplotlib, or when one cannot be written."""
    names = list(comparison.pictures)
    if isinstance(comparison, Comparison):  # what it is about is one of the others
        names = ["energy", *(["dataflows"] if has_prices(comparison) else [])]
    figures = {name: comparison.figure(name) for name in names}
    return tuple(
        save_figure(figure, folder / f"{name}.{form}") for name, figure in figures.items() for form in ("svg", "png")
    )


def write_tables(tables: Iterable[Table], folder: Path, formats: Sequence[str]) -> tuple[Path, ...]:
    """Write tables in every format under their names, and return the paths."""
    return tuple(table.write(folder / f"{table.name}.{form}") for table in tables for form in formats)


def _page(comparison: Compared[Any]) -> Markup:
    if isinstance(comparison, FusedComparison):
        return fused_html(comparison)
    assert isinstance(comparison, Comparison)
    return html_page(comparison)


def _drawn(comparison: Compared[Any]) -> Markup:
    """The picture of what was found; nothing without matplotlib."""
    if find_spec("matplotlib") is None:
        return Markup("")
    return picture(svg_of(comparison.figure()), "What the comparison found")


def shown(comparison: Compared[Any]) -> Markup:
    """What was found, the picture of it, and the page of text, for notebooks."""
    return to_list(comparison.findings) + _drawn(comparison) + to_html(comparison_page(comparison))
