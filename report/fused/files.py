"""The files of a comparison of whole networks: its page, its picture, its tables."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from ..comparisons.files import write_tables
from ..parts.figures import save_figure
from ..parts.files import write_bytes
from .comparison import FusedComparison
from .page import fused_html
from .tables import fused_tables


def write_fused(comparison: FusedComparison, folder: Path, formats: Sequence[str]) -> tuple[Path, ...]:
    """Write the page, the picture if matplotlib is there, and every table in every format; and return the paths.

    Raises TilewrightError when one cannot be written.
    """
    page = write_bytes(folder / "index.html", fused_html(comparison).encode())
    pictures: tuple[Path, ...] = ()
    if find_spec("matplotlib"):
        figure = comparison.figure()
        pictures = tuple(save_figure(figure, folder / f"fusing.{ending}") for ending in ("svg", "png"))
    tables = write_tables(fused_tables(comparison.rows, comparison.settings), folder, formats)
    return (page, *pictures, *tables)
