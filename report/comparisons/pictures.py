"""Pictures of a comparison, for papers: the price of every dataflow, and where the energy of the best mappings goes.

Every picture states the objective, the space and the tool in its caption, so that it can stand on its own.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ...arch import Architecture
from ..parts import palette
from ..parts.figures import fitting, new_panels, plain_ticks
from ..parts.palette import BLACK, BLUE, BROWN, GREEN, GREY, ORANGE, PURPLE
from ..parts.si import network_objective
from .compared import Summary
from .costs import LEAKAGE, MAC
from .rows import FREE, ComparisonRows
from .summaries import summaries

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHAPES = "osD^vPX"
_NETWORK = "hops"
_LEVELS = {
    "outermost memory": BLUE,
    "between": ORANGE,
    "innermost memory": GREEN,
    _NETWORK: BROWN,
    MAC: PURPLE,
    LEAKAGE: GREY,
}
_MANY = 10.0
"""Factors beyond this make the axis logarithmic, in all panels."""
_WIDTH = 6.4  # inches, on a phone as wide as its screen
_ROW = 0.3  # inches for an architecture


def has_prices(comparison: ComparisonRows) -> bool:
    """Whether there are fixed dataflows, and the free choice to compare them with."""
    return FREE in comparison.dataflows and len(comparison.dataflows) > 1


def finding_picture(comparison: ComparisonRows) -> Figure:
    """What the comparison is about: the price of dataflows; where there are none to compare, energy by level."""
    return dataflow_picture(comparison) if has_prices(comparison) else energy_picture(comparison)


def dataflow_picture(comparison: ComparisonRows) -> Figure:
    """For every network a panel, in it a line for each architecture: the objective under each fixed dataflow over that
    of the free optimum, as a mark of its colour and shape. Marks stand a little above one another, so that equal ones
    are all seen; all panels have one axis.
    """
    fixed = [dataflow for dataflow in comparison.dataflows if dataflow != FREE]
    figure, panels = _panels(comparison)
    found = summaries(comparison)
    most = max((s.penalty for s in found if s.penalty is not None), default=1.0)
    for panel, network in zip(panels, comparison.networks, strict=True):
        for i, dataflow in enumerate(fixed):
            here = [s for s in found if (s.network, s.dataflow) == (network, dataflow)]
            _dataflow_marks(panel, here, i, len(fixed))
        panel.axvline(1.0, color=BLACK, linewidth=0.8)
        panel.set_title(network, loc="left")
        _name_rows(panel, comparison.archs)
        _scale(panel, most)
    panels[-1].set_xlabel(f"{_goal(comparison)} / free")
    proven = all(s.proven or s.value is None for s in found)
    _legend(figure, panels[0], title=f"best {'proven' if proven else 'found, not all proven,'} under the dataflow")
    _caption(
        figure, comparison, "Whole networks under fixed dataflows, over the free choice of mapping; x: no mapping."
    )
    return figure


def _dataflow_marks(panel: Axes, here: Sequence[Summary], index: int, count: int) -> None:
    shade, lane = palette.colour(index), _lane(index, count)
    mapped = [(place, s.penalty) for place, s in enumerate(here) if s.penalty is not None]
    panel.plot(
        [factor for _, factor in mapped],
        [place + lane for place, _ in mapped],
        linestyle="",
        marker=_SHAPES[index % len(_SHAPES)],
        markersize=5.5,
        color=shade,
        label=here[0].dataflow,
    )
    for place, s in enumerate(here):
        if s.penalty is None:
            left = panel.get_yaxis_transform()  # of the panel, whatever the axis
            panel.text(0.02, place + lane, "x", ha="center", va="center", color=shade, transform=left)


def _lane(index: int, count: int) -> float:
    """How far above or below its line a mark stands."""
    return 0.7 * ((index + 0.5) / count - 0.5)


def _scale(panel: Axes, most: float) -> None:
    if most > _MANY:
        panel.set_xscale("log")
        plain_ticks(panel.xaxis)
        panel.set_xlim(0.8, 1.3 * most)
    else:
        beyond = max(most - 1, 0.05)
        panel.set_xlim(1 - 0.08 * beyond, 1 + 1.06 * beyond)


def energy_picture(comparison: ComparisonRows) -> Figure:
    """For every network a panel: energy of its mappings on each architecture, by level; free ones where there are."""
    dataflow = FREE if FREE in comparison.dataflows else comparison.dataflows[0]
    shares_of = {
        network: [_by_level(comparison, network, arch, dataflow) for arch in comparison.archs]
        for network in comparison.networks
    }
    there = {level for shares in shares_of.values() for share in shares for level, pj in share.items() if pj}
    used = {level: colour for level, colour in _LEVELS.items() if level in there}
    figure, panels = _panels(comparison)
    for panel, (network, shares) in zip(panels, shares_of.items(), strict=True):
        before = [0.0] * len(shares)
        for level, colour in used.items():
            lengths = [share.get(level, 0.0) for share in shares]
            panel.barh(range(len(shares)), lengths, 0.6, left=before, color=colour, label=level)
            before = [a + b for a, b in zip(before, lengths, strict=True)]
        for place, share in enumerate(shares):
            if not share:
                panel.text(0, place, " no mapping", va="center", fontsize="small")
        panel.set_title(network, loc="left")
        _name_rows(panel, comparison.archs)
    panels[-1].set_xlabel("energy (mJ)")
    _legend(figure, panels[0])
    _caption(figure, comparison, f"Energy of whole networks by level, dataflow: {dataflow}.")
    return figure


PICTURES: Mapping[str, Callable[[ComparisonRows], Figure]] = {
    "finding": finding_picture,
    "energy": energy_picture,
    "dataflows": dataflow_picture,
}
"""By name, for `Comparison.figure`."""


def _name_rows(panel: Axes, archs: Sequence[str]) -> None:
    """Architectures from the top down."""
    panel.set_yticks(range(len(archs)), list(map(fitting, archs)))
    panel.set_ylim(len(archs) - 0.5, -0.5)
    panel.grid(axis="y", visible=False)
    for place in range(1, len(archs)):
        panel.axhline(place - 0.5, color="#DDDDDD", linewidth=0.6)


def _by_level(comparison: ComparisonRows, network: str, arch: str, dataflow: str) -> dict[str, float]:
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


def _panels(comparison: ComparisonRows) -> tuple[Figure, list[Axes]]:
    rows = max(len(comparison.archs), 2)
    return new_panels(_WIDTH, 1.5 + (0.55 + _ROW * rows) * len(comparison.networks), len(comparison.networks))


def _legend(figure: Figure, panel: Axes, title: str | None = None) -> None:
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside upper left",
        ncols=3,
        fontsize="small",
        handlelength=1.0,
        title=title,
        alignment="left",
        title_fontsize="small",
    )


def _caption(figure: Figure, comparison: ComparisonRows, text: str) -> None:
    settings = comparison.settings
    asked = f"Objective {settings.objective.name}, {settings.space} space, {settings.tiling} tilings"
    machines = f"Architectures: {', '.join(comparison.archs)}."
    lines = textwrap.fill(f"{text} {machines} {asked}; {comparison.written_by}.", int(figure.get_figwidth() * 15))
    figure.supxlabel(lines, fontsize="small", x=0.01, ha="left")


def _goal(comparison: ComparisonRows) -> str:
    return network_objective(comparison.settings.objective).name
