"""Pictures: an empty figure in the style of this program, and a file of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...ir import TilewrightError, need_package
from .files import make_parent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

_STYLE: Any = {
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.titlesize": "large",
    "font.size": 9,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text, so that it can be searched and read out
    "text.parse_math": False,  # a dollar in a name is a dollar
    "svg.hashsalt": "tilewright",  # the same picture is the same file
}
_DOTS_PER_INCH = 150
_LONGEST_NAME = 32


@contextmanager
def figure_style() -> Iterator[None]:
    """The style in which a picture is drawn and saved. Raises TilewrightError without matplotlib."""
    need_package("matplotlib", "plots", "pictures")
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        yield


def new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    """An empty figure, sizes in inches, and its one pair of axes."""
    figure, (axes,) = new_panels(width, height, 1)
    return figure, axes


def new_panels(width: float, height: float, count: int) -> tuple[Figure, list[Axes]]:
    """An empty figure, sizes in inches, and pairs of axes below one another."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = _shown_figure()(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)  # which can tell how much room a text takes
    return figure, list(figure.subplots(count, squeeze=False)[:, 0])


@cache
def _shown_figure() -> type[Figure]:
    """A figure that shows itself in a notebook, where nothing has told pyplot of it."""
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        """A figure with the picture of its contents."""

        def _repr_svg_(self) -> str:
            return svg_of(self)

    return ShownFigure


def fitting(name: str) -> str:
    """A name as it may stand beside an axis: one that is long would leave no room for what is drawn."""
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3]}..."


def plain_ticks(axis: Axis) -> None:
    """Label a logarithmic axis with plain numbers: no text of a picture is read as a formula."""
    from matplotlib.ticker import LogFormatter

    axis.set_major_formatter(LogFormatter())
    axis.set_minor_formatter(LogFormatter())


def legend_above(axes: Axes, columns: int, title: str | None = None, markers: float = 1.0) -> None:
    """The legend between the title and the axes, where it covers nothing; `markers` enlarges what it shows."""
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=columns,
        borderaxespad=0.3,
        columnspacing=1.4,
        handletextpad=0.4,
        title=title,
        alignment="left",
        markerscale=markers,
    )


def check_pictures(svg: Path | None, png: Path | None) -> list[Path]:
    """The paths that are given, if pictures can be written there, in folders that are made if need be; better to know
    before a search than after it.

    Raises TilewrightError for other endings, and for folders that cannot be made.
    """
    for path, ending in ((svg, ".svg"), (png, ".png")):
        if path is not None and path.suffix.lower() != ending:
            raise TilewrightError(f"found the ending {path.suffix!r}, expected {ending}", where=str(path))
        if path is not None:
            make_parent(path)
    return [path for path in (svg, png) if path is not None]


def svg_of(figure: Figure) -> str:
    """A picture as the text of an SVG file."""
    import io

    text = io.StringIO()
    with figure_style():
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a picture as its ending says, without the date, so that it only changes when its contents do.

    Raises TilewrightError when the file cannot be written.
    """
    metadata = {"Date": None} if path.suffix.lower() == ".svg" else {}
    try:
        with figure_style():
            figure.savefig(path, dpi=_DOTS_PER_INCH, metadata=metadata)
    except OSError as error:
        raise TilewrightError(f"the picture cannot be written: {error.strerror}", where=str(path)) from None
    return path
