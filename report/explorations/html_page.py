"""An exploration as an HTML page: the best point and why it is, the front, every point with its layers."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from ...ir.units import count, energy, joule_seconds, percent, plural, seconds, significant, size
from ..comparisons.comparison import Comparison
from ..explain.picture import mapping_svg
from ..parts.text import pairs
from ..web import (
    Column,
    Detail,
    Details,
    Page,
    TableCell,
    page_html,
    pairs_part,
    picture_part,
    plot,
    rendered,
    rows_part,
    section,
    sentences_part,
    sorting_table,
)
from .exploration import Exploration
from .points import Point, drawn_points
from .reasons import layer_times, of_kinds, point_words, shown_name, smaller_sentence, steps_from, waits, why_sentences

_MOST_NAMED = 12
_MOST_LAYERS = 10
_FAR = 5
"""An axis is logarithmic where its values differ by more than this factor."""
_BEATEN = 7
"""The number of the mark for points that are not on the front; of the others 0."""


def exploration_html(exploration: Exploration, asked: Sequence[tuple[str, str]]) -> str:
    """The page as the text of one HTML file, complete in itself.

    asked  what was asked, proven and noted, as the page for the terminal has it
    """
    order = _best_first(exploration)
    details = Details()
    for point in order:
        _add_detail(exploration, point, details)
    network = exploration.comparison.networks[0]
    page = Page(
        title=f"{network} on machines over {exploration.sweep}",
        asked=[pair for pair in asked if pair[0] in ("Objective", "Front", "Proof")],
        findings=_findings(exploration),
        picture=plot("front"),
        sections=[
            section(
                "Points",
                _table(exploration, order),
                note="Sums over the whole network; ★ is the best. Select a point for its reasons, a heading to sort.",
            ),
            section("What was asked", rendered(pairs(asked))),
        ],
        command=exploration.comparison.command,
        tool=exploration.comparison.written_by,
        data={"plots": {"front": _plot(exploration)}, **details.data()},
    )
    return page_html(page)


def _name(exploration: Exploration, point: Point) -> str:
    return f"point-{exploration.points.index(point)}"


def _best_first(exploration: Exploration) -> list[Point]:
    points = list(exploration.points)
    if not exploration.compares:
        return points
    last = float("inf")
    return sorted(points, key=lambda one: last if one.summary.value is None else one.summary.value)


def _findings(exploration: Exploration) -> list[str]:
    best = exploration.best
    if best is None:
        return []
    s = best.summary
    figures = f"{energy(s.energy_pj or 0.0)} and {seconds(s.latency_s or 0.0)}"
    told = f"The least {shown_name(exploration)} is at {point_words(best.values.items())}: {figures}."
    return [told, *smaller_sentence(exploration), *why_sentences(exploration, best)]


def _plot(exploration: Exploration) -> dict[str, Any]:
    """Energy against latency; a measure of the chip is the area of a dot, and the best point has a ring."""
    third, mapped, largest = drawn_points(exploration)
    front = [id(point) for point in exploration.front]
    best = exploration.best
    dots: list[dict[str, Any]] = []
    for point, (pj, latency, of_chip) in mapped:
        is_best, on_front = point is best, id(point) in front
        named = is_best or (on_front and len(front) <= _MOST_NAMED) or len(mapped) <= _MOST_NAMED
        words = point_words(point.values.items())
        dots.append(
            {
                "x": latency,
                "y": pj,
                "r": round(4 + 8 * (of_chip / largest) ** 0.5, 1),
                "series": 0 if on_front else _BEATEN,
                "best": is_best,
                "rank": 0 if is_best else 1 if on_front else 2,
                "name": ("best: " if is_best else "") + ", ".join(point.values.values()) if named else "",
                "label": f"{words}: {seconds(latency)}, {energy(pj)}, {third.words} {third.show(of_chip)}",
                "detail": _name(exploration, point),
            }
        )
    kinds = [(0, f"on the front over {exploration.front_words}"), (_BEATEN, "beaten")]
    seen = {dot["series"] for dot in dots}
    return {
        "label": "Energy against latency of every point",
        "x": {"title": "latency of the network", "unit": "s", "log": _are_far([one[1][1] for one in mapped])},
        "y": {
            "title": f"energy; area of a dot: {third.words}",
            "unit": "pJ",
            "log": _are_far([one[1][0] for one in mapped]),
        },
        "series": [{"name": name, "number": number} for number, name in kinds if number in seen],
        "lines": [],
        "dots": dots,
        "dodge": True,
    }


def _are_far(values: Sequence[float]) -> bool:
    return bool(values) and max(values) > _FAR * min(values) > 0


def _table(exploration: Exploration, order: Sequence[Point]) -> Any:
    is_fused = exploration.comparison.savings is not None
    titles = ("MACs", "on chip", "area (mm2)", "energy", "latency", "EDP (J s)", "utilization", "waits for", "front")
    columns = [Column(field) for field in exploration.fields]
    columns += [Column(title, title in ("waits for", "front")) for title in titles]
    columns += [Column("fusing saves")] if is_fused else []
    front = {id(point) for point in exploration.front}
    best = exploration.best
    rows = []
    for point in order:
        cells: list[TableCell | str] = [*point.values.values(), *_cells(exploration, point)]
        cells.append("on it" if id(point) in front else "")
        saves = exploration.saves(point)
        cells += [percent(saves, 1) if saves is not None else "-"] if is_fused else []
        rows.append(cells)
    marked = next((number for number, point in enumerate(order) if point is best), None)
    return sorting_table("points", columns, rows, [_name(exploration, point) for point in order], marked)


def _cells(exploration: Exploration, point: Point) -> list[TableCell | str]:
    s, macs = point.summary, point.machine.mac_instances
    area: TableCell | str = TableCell(significant(point.area_mm2), point.area_mm2) if point.area_mm2 else "-"
    place = [TableCell(count(macs), macs), TableCell(size(point.on_chip_bytes * 8), point.on_chip_bytes), area]
    if s.energy_pj is None or s.latency_s is None or s.utilization is None:
        return [*place, f"{plural(len(s.missing), 'layer')} without", "", "", "", ""]
    edp = joule_seconds(s.energy_pj, s.latency_s)
    return [
        *place,
        TableCell(energy(s.energy_pj), s.energy_pj),
        TableCell(seconds(s.latency_s), s.latency_s),
        TableCell(significant(edp), edp),
        TableCell(percent(s.utilization, 1), s.utilization),
        _waits(exploration, point),
    ]


def _waits(exploration: Exploration, point: Point) -> str:
    times = layer_times(exploration, point)
    found, whole = waits(times), sum(one.seconds for one in times)
    return next((f"{place} {percent(part, whole)}" for place, part in found.items()), "")


def _add_detail(exploration: Exploration, point: Point, details: Details) -> None:
    s = point.summary
    times = layer_times(exploration, point)
    figures = "No mapping: " + ", ".join(s.missing)
    if s.energy_pj is not None and s.latency_s is not None and s.utilization is not None:
        figures = f"{energy(s.energy_pj)}, {seconds(s.latency_s)}, {percent(s.utilization, 1)} of the MACs busy"
        figures += f", {significant(point.area_mm2)} mm2." if point.area_mm2 else "."
    parts = [sentences_part("Why", why_sentences(exploration, point))] if times else []
    parts += _time_parts(exploration, point) if times else []
    parts += _step_parts(exploration, point)
    parts += [pairs_part("Certificate", _proof(exploration, point))]
    parts += _picture_parts(exploration, point, details)
    title = f"{s.network} at {point_words(point.values.items())}"
    details.add(_name(exploration, point), Detail(title, figures, parts, _command(exploration, point)))


def _time_parts(exploration: Exploration, point: Point) -> list[Any]:
    """What takes the time: kinds of layers, and the layers that take most."""
    times = layer_times(exploration, point)
    whole = sum(one.seconds for one in times)
    kinds = [
        (
            kind,
            plural(sum(one.repeat for one in layers), "layer"),
            seconds(sum(one.seconds for one in layers)),
            percent(sum(one.seconds for one in layers), whole),
            next(iter(waits(layers))),
        )
        for kind, layers in of_kinds(times).items()
    ]
    layers = [
        (
            one.name,
            f"{one.repeat}",
            seconds(one.seconds),
            percent(one.seconds, whole),
            one.cost.limited_by,
            f"{significant(one.at_work, 3)} of {count(point.machine.mac_instances)}",
        )
        for one in times[:_MOST_LAYERS]
    ]
    shown = [("kind", True), ("layers", False), ("time", False), ("share", False), ("waits for", True)]
    each = [
        ("layer", True),
        ("times", False),
        ("time", False),
        ("share", False),
        ("waits for", True),
        ("MACs at work", False),
    ]
    of = f"Layers that take most of the time ({len(layers)} of {len(times)})"
    by_kind = [rows_part("What takes the time", shown, kinds)] if len(kinds) > 1 else []
    return [*by_kind, rows_part(of, each, layers)]


def _step_parts(exploration: Exploration, point: Point) -> list[Any]:
    """What single changes of the machine are worth, within the sweep."""
    rows = []
    for step in steps_from(exploration, point):
        s, area = step.point.summary, step.point.area_mm2
        change = f"{percent(abs(1 - step.factor), 1)} {'less' if step.factor < 1 else 'more'}"
        figures = energy(s.energy_pj or 0.0), seconds(s.latency_s or 0.0), significant(area) if area else "-"
        rows.append((step.words, change if abs(1 - step.factor) > 5e-5 else "the same", *figures))
    shown = [
        ("change", True),
        (shown_name(exploration), False),
        ("energy", False),
        ("latency", False),
        ("area (mm2)", False),
    ]
    return [rows_part("What single changes are worth", shown, rows)] if rows else []


def _proof(exploration: Exploration, point: Point) -> list[tuple[str, str]]:
    s, settings = point.summary, exploration.comparison.settings
    if s.missing:
        proof = "not all layers have a mapping"
    elif s.proven:
        proof = "every mapping is proven optimal"
    else:
        proof = "not proven" if s.gap is None else f"not proven, gap {percent(s.gap, 1)}"
    return [
        ("Objective", f"{settings.objective.name}: {proof}"),
        ("Space", f"{settings.space}, {settings.tiling} tilings"),
    ]


def _picture_parts(exploration: Exploration, point: Point, details: Details) -> list[Any]:
    """The mapping of the layer that takes most of the time."""
    comparison = exploration.comparison
    times = layer_times(exploration, point)
    if not isinstance(comparison, Comparison) or not times:
        return []
    rows = comparison.of(point.summary.network, point.summary.arch, comparison.dataflows[0])
    row = next(row for row in rows if row.layer == times[0].name)
    mapping = row.mapping
    assert mapping is not None
    number = details.picture((mapping, row.arch), lambda: mapping_svg(mapping, row.machine))
    return [
        picture_part(f"Mapping of {row.layer}, which takes most of the time", number, f"The loop nest of {row.layer}")
    ]


def _command(exploration: Exploration, point: Point) -> str:
    """The command of the exploration, with this point alone."""
    words = shlex.split(exploration.comparison.command)
    kept, skipped = [], False
    for word in words:
        skipped, skip = word == "--sweep", skipped or word == "--sweep"
        kept += [] if skip else [word]
    for axis in exploration.axes:
        kept += ["--sweep", " with ".join(f"{field}={point.values[field]}" for field in axis)]
    return shlex.join(kept)
