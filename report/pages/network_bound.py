"""The page of the least traffic of a whole network against the size of a buffer: the sum over its layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group

from ...cost_models.traffic_bounds import least_words
from ...ir.units import count, percent, plural
from ...mapper.ski_slope import SlopePoint
from ...workloads import Network, NetworkLayer
from ..parts.text import columns, pairs, section
from .bound import bound_data


@dataclass(frozen=True)
class LayerSlope:
    """A layer with the least traffic of one occurrence, for each size of the buffer."""

    layer: NetworkLayer
    points: tuple[SlopePoint, ...]


@dataclass(frozen=True)
class NetworkPoint:
    """All occurrences of all layers for one size of the buffer, in words.

    traffic  of the best mappings; None where one of them does not fit
    least    no mappings move fewer
    bound    no schedules whatever move fewer
    """

    words: int
    traffic: float | None
    least: float
    bound: float


def network_points(slopes: Sequence[LayerSlope]) -> list[NetworkPoint]:
    """The sums, for each size of the buffer that was searched."""
    found = []
    for points in zip(*(slope.points for slope in slopes), strict=True):
        times = [slope.layer.repeat for slope in slopes]
        each = list(zip(times, points, strict=True))
        fits = all(point.traffic is not None for point in points)
        traffic = sum(n * (point.traffic or 0) for n, point in each) if fits else None
        bound = sum(n * (point.bound or 0) for n, point in each)
        found.append(NetworkPoint(points[0].words, traffic, sum(n * point.least for n, point in each), bound))
    return found


def network_bound_page(network: Network, slopes: Sequence[LayerSlope], kind: str) -> Group:
    """A line for each size of the buffer; `kind` says which mappings were searched."""
    occurrences = sum(slope.layer.repeat for slope in slopes)
    rows = [
        ("Network", f"{network.name}: {plural(occurrences, 'layer')}, {plural(len(slopes), 'distinct one')}"),
        ("MACs", count(network.macs)),
        ("Traffic", "words between a memory without limit and a buffer of so many words, one layer after the other"),
        ("Least", f"proven over all mappings: {kind}"),
        ("Compulsory", f"{count(_compulsory(slopes))} words, every one of every layer once"),
    ]
    table = columns((), ("buffer", "least traffic", "bound", "above it"))
    for point in network_points(slopes):
        table.add_row(count(point.words), _traffic(point), count(round(point.bound)), _above(point))
    return Group(pairs(rows), section("Words moved, by words of the buffer", table))


def _compulsory(slopes: Sequence[LayerSlope]) -> float:
    return sum(slope.layer.repeat * least_words(slope.layer.problem) for slope in slopes)


def _traffic(point: NetworkPoint) -> str:
    if point.traffic is None:
        return "nothing fits"
    return count(point.traffic) + ("" if point.least >= point.traffic else f" ({count(round(point.least))} or more)")


def _above(point: NetworkPoint) -> str:
    if point.traffic is None or not point.bound:
        return "-"
    return percent(max(0.0, point.traffic - point.bound), point.bound)


def network_bound_data(network: Network, slopes: Sequence[LayerSlope], kind: str) -> dict[str, Any]:
    """The same for programs, with the points of every layer."""
    points = [{f"{name}_words": value for name, value in vars(point).items()} for point in network_points(slopes)]
    for point in points:
        point["buffer_words"] = point.pop("words_words")
    layers = [{"repeat": slope.layer.repeat, **bound_data(slope.layer.problem, slope.points, kind)} for slope in slopes]
    return {
        "network": network.name,
        "macs": network.macs,
        "searched": kind,
        "compulsory_words": _compulsory(slopes),
        "points": points,
        "layers": layers,
    }
