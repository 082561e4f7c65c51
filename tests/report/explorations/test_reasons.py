"""Why a point of an exploration is as it is: sums, neighbours, and what is told of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tilewright as tw
from tilewright.report.explorations.exploration import Exploration
from tilewright.report.explorations.html_page import exploration_html
from tilewright.report.explorations.page import asked_rows
from tilewright.report.explorations.reasons import (
    layer_times,
    saved_by_doubling,
    smaller_sentence,
    steps_from,
    waits,
    why_sentences,
)

LAYERS = """
network: tiny
layers:
  - {name: conv, op: conv, K: 8, C: 8, P: 8, Q: 8, R: 3, S: 3, repeat: 3}
  - {name: fc, op: gemm, M: 1, N: 32, K: 64, weight: true}
"""


@pytest.fixture(scope="module")
def exploration(tmp_path_factory: pytest.TempPathFactory) -> Exploration:
    path = tmp_path_factory.mktemp("net") / "tiny.yaml"
    path.write_text(LAYERS)
    sweeps = ["array=4x4,8x8", "GLB.size=8 KiB,32 KiB"]
    return tw.explore(path, "three_level", sweeps, "edp", tiling="perfect", workers=1, store=None)


def test_layers_take_the_time_of_the_network(exploration: Exploration) -> None:
    for point in exploration.points:
        times = layer_times(exploration, point)
        assert sum(one.seconds for one in times) == pytest.approx(point.summary.latency_s)
        assert sum(waits(times).values()) == pytest.approx(point.summary.latency_s)
        assert all(one.at_work <= point.machine.mac_instances for one in times)
        assert [one.seconds for one in times] == sorted((one.seconds for one in times), reverse=True)


def test_twice_the_speed_of_what_waits_saves_at_most_half(exploration: Exploration) -> None:
    for point in exploration.points:
        times = layer_times(exploration, point)
        saved = saved_by_doubling(times)
        assert set(saved) <= set(waits(times)) | {"compute"}
        assert all(0 < part <= 0.5 for part in saved.values())


def test_neighbours_differ_in_one_axis_and_the_best_comes_first(exploration: Exploration) -> None:
    best = exploration.best
    assert best is not None
    found = steps_from(exploration, best)
    assert [len(step.changes) for step in found] == [1, 1]
    assert all(step.factor >= 1 for step in found)
    worst = max(exploration.points, key=lambda point: point.summary.value or 0.0)
    nearest = steps_from(exploration, worst)[0]
    assert nearest.factor < 1
    told = " ".join(why_sentences(exploration, worst))
    assert f"The next best change is {nearest.words}" in told
    assert "wait for" in told
    for sentence in smaller_sentence(exploration):
        assert "instead of" in sentence


def test_the_page_names_and_marks_the_best_point(exploration: Exploration) -> None:
    text = exploration_html(exploration, asked_rows(exploration))
    best = exploration.best
    assert best is not None
    values = ", ".join(f"{field}={value}" for field, value in best.values.items())
    assert f"The least EDP is at {values}" in text
    assert text.count('<tr class="best"') == 1
    before_scripts, _, _ = text.partition("<script")
    assert before_scripts.count("data-detail=") == len(exploration.points)
    commands = re.findall(r'"command":"(tilewright explore[^"]*)"', text)
    assert len(commands) == len(exploration.points) == len(set(commands))


@pytest.mark.long
def test_the_command_of_a_point_finds_that_point(exploration: Exploration, tmp_path: Path) -> None:
    point = exploration.points[3]
    again = tw.explore(
        exploration.comparison.command.split()[3],
        "three_level",
        [f"{field}={value}" for field, value in point.values.items()],
        "edp",
        tiling="perfect",
        workers=1,
        store=None,
    )
    assert [one.values for one in again.points] == [point.values]
    assert again.points[0].summary.value == point.summary.value
