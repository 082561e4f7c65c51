"""What fusing saves, as a picture: a panel for each network, a line for each architecture."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....run.batch.plan import Settings
from ...parts.figures import figure_style, fitting, new_panels
from ...parts.palette import BLUE, GREY
from .rows import FusedRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH = 6.4  # inches
_ROW = 0.26  # inches for an architecture


def savings_figure(rows: Sequence[FusedRow], settings: Settings, written_by: str) -> Figure:
    """As `FusedComparison.figure`: a bar as long as what the best that was found saves, and a line over all that is not
    ruled out by what is proven."""
    networks = list(dict.fromkeys(row.network for row in rows))
    archs = list(dict.fromkeys(row.arch for row in rows))
    most = max((found[1] for row in rows if (found := row.saves_between) is not None), default=0.0)
    with figure_style():
        height = 1.3 + (0.5 + _ROW * max(len(archs), 2)) * len(networks)
        figure, panels = new_panels(_WIDTH, height, len(networks))
        for panel, network in zip(panels, networks, strict=True):
            _draw(panel, [row for row in rows if row.network == network])
            panel.set_title(network, loc="left")
            panel.set_xlim(0, 100 * min(1.0, max(1.08 * most, 0.01)))
        panels[-1].set_xlabel(f"saved by fusing (% of {settings.objective.name})")
        words = (
            f"How far {settings.objective.name} of whole networks is below the best with nothing fused. Bars: what was "
            f"found; lines: what is not ruled out, where not all is proven. {settings.space.capitalize()} space, "
            f"{settings.tiling} tilings; {written_by}."
        )
        figure.supxlabel(textwrap.fill(words, int(_WIDTH * 15)), fontsize="small", x=0.01, ha="left")
    return figure


def _draw(panel: Axes, rows: Sequence[FusedRow]) -> None:
    for place, row in enumerate(rows):
        if row.saves is None:
            reason = " no mapping" if row.answer is None else " nothing to compare with"
            panel.text(0, place, reason, va="center", fontsize="small")
            continue
        panel.barh(place, 100 * row.saves, 0.6, color=BLUE)
        if row.saves_between is not None and row.status == "unproven":
            least, most = row.saves_between
            panel.plot([100 * least, 100 * most], [place, place], color=GREY, linewidth=1.2, marker="|", markersize=6)
    panel.set_yticks(range(len(rows)), [fitting(row.arch) for row in rows])
    panel.set_ylim(len(rows) - 0.5, -0.5)
    panel.grid(axis="y", visible=False)
