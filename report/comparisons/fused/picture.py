"""What fusing saves, as a picture: a tile for each network on each machine."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ....ir.units import percent
from ....run.batch.plan import Settings
from ...parts.figures import figure_style, fitting, new_figure
from ...parts.palette import BLUE
from .findings import is_notable
from .rows import FusedRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TILE = 1.25, 0.62  # inches
_DARK = 0.55  # of the largest saving: from here on a tile is so dark that its words are light


def savings_figure(rows: Sequence[FusedRow], settings: Settings, written_by: str) -> Figure:
    """As `FusedComparison.figure`: a row for each network, a column for each machine, a tile as dark as what is saved,
    with how much and by what."""
    networks = list(dict.fromkeys(row.network for row in rows))
    archs = list(dict.fromkeys(row.arch for row in rows))
    most = max((row.saves or 0.0 for row in rows), default=0.0) or 1.0
    with figure_style():
        from matplotlib.colors import LinearSegmentedColormap

        shades = LinearSegmentedColormap.from_list("saved", ["#ffffff", BLUE])
        words = (
            f"Saved of {settings.objective.name} against the best with nothing fused, and by what: groups of several "
            f"operations, tensors that stay on chip between groups; ? where more is not ruled out. "
            f"{settings.space.capitalize()} space, {settings.tiling} tilings; {written_by}."
        )
        longest = max(len(fitting(network)) for network in networks)
        width = max(1.8, 0.1 * longest) + _TILE[0] * len(archs)
        lines = textwrap.wrap(words, int(16 * width))
        figure, axes = new_figure(width, 1.3 + _TILE[1] * len(networks) + 0.17 * len(lines))
        for row in rows:
            place = archs.index(row.arch), networks.index(row.network)
            _draw(axes, row, place, shades((row.saves or 0.0) / most), (row.saves or 0.0) > _DARK * most)
        axes.set_xlim(-0.5, len(archs) - 0.5)
        axes.set_ylim(len(networks) - 0.5, -0.5)
        axes.set_xticks(range(len(archs)), [fitting(arch) for arch in archs])
        axes.set_yticks(range(len(networks)), [fitting(network) for network in networks])
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        figure.supxlabel("\n".join(lines), fontsize="small", x=0.01, ha="left")
    return figure


def _draw(axes: Axes, row: FusedRow, place: tuple[int, int], shade: Any, is_dark: bool) -> None:
    from matplotlib.patches import Rectangle

    x, y = place
    axes.add_patch(Rectangle((x - 0.48, y - 0.48), 0.96, 0.96, facecolor=shade, edgecolor="#DDDDDD"))
    if row.saves is None:
        words = "no mapping" if row.answer is None else "nothing to\ncompare with"
    else:
        unsure = " ?" if row.status == "unproven" else ""
        by = row.saved_by_short.replace(", ", "\n") if is_notable(row) else ""
        words = f"{percent(row.saves, 1)}{unsure}\n{by}".rstrip()
    axes.text(x, y, words, ha="center", va="center", fontsize="small", color="#ffffff" if is_dark else "#101418")
