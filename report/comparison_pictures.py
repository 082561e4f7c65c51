"""Pictures of a comparison, for papers: the price of every dataflow, and where the energy of the best mappings goes.

Every picture states the objective, the space and the tool in its caption, so that it can stand on its own.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..arch import Architecture
from .comparison import Comparison
from .comparison_rows import FREE
from .costs import LEAKAGE, MAC
from .figures import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, figure_style, new_panels, save_figure
from .summaries import Summary, network_objective

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, BLACK)
_NETWORK = "hops"
_LEVELS = {
    "outermost memory": BLUE,
    "between": ORANGE,
    "innermost memory": GREEN,
    _NETWORK: SKY,
    MAC: PURPLE,
    LEAKAGE: GREY,
}
_MANY = 10.0
"""Factors beyond this make an axis logarithmic."""


def write_pictures(comparison: Comparison, folder: Path) -> tuple[Path, ...]:
    """Write every picture as SVG and PNG. Raises TilewrightError without matplotlib, or when one cannot be written."""
    with figure_style():
        pictures = {"energy": energy_picture(comparison)}
        if FREE in comparison.dataflows and len(comparison.dataflows) > 1:
            pictures["dataflows"] = dataflow_picture(comparison)
    return tuple(
        save_figure(figure, folder / f"{name}.{ending}")
        for name, figure in pictures.items()
        for ending in ("svg", "png")
    )


def dataflow_picture(comparison: Comparison) -> Figure:
    """For every network a panel: bars of the objective of each fixed dataflow over that of the free optimum."""
    fixed = [dataflow for dataflow in comparison.dataflows if dataflow != FREE]
    figure, panels = _panels(comparison)
    for panel, network in zip(panels, comparison.networks, strict=True):
        here = [s for s in comparison.summaries() if s.network == network]
        for i, dataflow in enumerate(fixed):
            _dataflow_bars(panel, [s for s in here if s.dataflow == dataflow], i, len(fixed))
        factors = [s.penalty for s in here if s.penalty is not None]
        if max(factors, default=1.0) > _MANY:
            panel.set_yscale("log")
        else:
            panel.set_ylim(0, 1.1 * max(factors, default=1.0))
        panel.axhline(1.0, color=BLACK, linewidth=0.8)
        panel.set_ylabel(f"{_goal(comparison)} / free")
        panel.set_title(network, loc="left")
        panel.set_xticks(range(len(comparison.archs)), comparison.archs)
    _legend(figure, panels[0])
    _caption(
        figure, comparison, "Whole networks under fixed dataflows, over the free choice of mapping; x: no mapping."
    )
    return figure


def _dataflow_bars(panel: Axes, summaries: Sequence[Summary], index: int, count: int) -> None:
    width = 0.8 / count
    for place, s in enumerate(summaries):
        x = place + (index - (count - 1) / 2) * width
        label = s.dataflow if place == 0 else None
        panel.bar(x, s.penalty or 0.0, 0.92 * width, color=_COLOURS[index % len(_COLOURS)], label=label)
        if s.penalty is None:
            panel.text(x, 1.0, "x", ha="center", va="bottom", color=_COLOURS[index % len(_COLOURS)])


def energy_picture(comparison: Comparison) -> Figure:
    """For every network a panel: energy of its mappings on each architecture, by level; free ones where there are."""
    dataflow = FREE if FREE in comparison.dataflows else comparison.dataflows[0]
    figure, panels = _panels(comparison)
    for panel, network in zip(panels, comparison.networks, strict=True):
        shares = [_by_level(comparison, network, arch, dataflow) for arch in comparison.archs]
        below = [0.0] * len(shares)
        for level, colour in _LEVELS.items():
            heights = [share.get(level, 0.0) for share in shares]
            if any(heights):
                panel.bar(range(len(shares)), heights, 0.6, bottom=below, color=colour, label=level)
            below = [a + b for a, b in zip(below, heights, strict=True)]
        panel.set_ylabel("energy (mJ)")
        panel.set_title(network, loc="left")
        panel.set_xticks(range(len(comparison.archs)), comparison.archs)
    _legend(figure, panels[0])
    _caption(figure, comparison, f"Energy of whole networks by level, dataflow: {dataflow}.")
    return figure


def _by_level(comparison: Comparison, network: str, arch: str, dataflow: str) -> dict[str, float]:
    """Energy of a network by level, in mJ."""
    found: dict[str, float] = {}
    for row in comparison.of(network, arch, dataflow):
        for part in row.energy_parts:
            level = _level(row.machine, part.place)
            found[level] = found.get(level, 0.0) + row.repeat * part.energy_pj / 1e9
    return found


def _level(arch: Architecture, place: str) -> str:
    """Which of the levels a part of the energy belongs to."""
    if place in (MAC, LEAKAGE):
        return place
    if place in [fanout.name for fanout in arch.fanouts]:
        return _NETWORK
    names = [memory.name for memory in arch.memories]
    if place == names[0]:
        return "outermost memory"
    return "innermost memory" if place == names[-1] else "between"


def _panels(comparison: Comparison) -> tuple[Figure, list[Axes]]:
    wide = max(6.0, 1.3 * len(comparison.archs))
    return new_panels(wide, 1.2 + 1.9 * len(comparison.networks), len(comparison.networks))


def _legend(figure: Figure, panel: Axes) -> None:
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=len(labels), fontsize="small", handlelength=1.0)


def _caption(figure: Figure, comparison: Comparison, text: str) -> None:
    settings = comparison.settings
    asked = f"Objective {settings.objective.name}, {settings.space} space, {settings.tiling} tilings"
    machines = f"Architectures: {', '.join(comparison.archs)}."
    lines = textwrap.fill(f"{text} {machines} {asked}; {comparison.written_by}.", int(figure.get_figwidth() * 17))
    figure.supxlabel(lines, fontsize="small", x=0.01, ha="left")


def _goal(comparison: Comparison) -> str:
    return network_objective(comparison.settings.objective).name
