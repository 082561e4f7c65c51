"""`tilewright explore` and `tw.explore`: every point, the front, the files, the picture."""

from __future__ import annotations

import csv
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tilewright as tw
from batches import NETWORK
from tilewright.cli import app
from tilewright.report.explorations.exploration import Exploration
from tilewright.report.explorations.measures import on_chip_bytes
from tilewright.report.parts.figures import save_figure

SWEEPS = ("--sweep", "glb.size=4KiB:16KiB:x4", "--sweep", "array=2x2,4x4")


def run(*arguments: object) -> Any:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("networks") / "tiny.yaml"
    path.write_text(NETWORK.format(name="tiny"), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def exploration(tiny: Path) -> Exploration:
    return tw.explore(tiny, "eyeriss", SWEEPS[1::2], tiling="perfect", workers=1)


def test_a_space_is_explored_written_and_repeated(tiny: Path, tmp_path: Path) -> None:
    how = ("--tiling", "perfect", "--workers", 1)
    words = ("explore", "--network", tiny, "--arch", "eyeriss", *SWEEPS, *how, "--out", tmp_path / "out")
    first = run(*words)
    assert first.exit_code == 0, first.output
    assert "12 distinct searches: 0 from the store, 12 searched" in first.stderr
    for part in ("GLB.size x array, 4 points", "all mappings proven optimal", "16 KiB", "front.svg"):
        assert part in first.stdout
    again = run(*words)
    assert again.stdout == first.stdout
    assert "12 from the store" in again.stderr
    page = (tmp_path / "out" / "index.html").read_text()
    for part in ("<!doctype html>", 'data-plot="front"', "all mappings proven optimal", "GLB.size"):
        assert part in page
    assert "index.html" in first.stdout
    with (tmp_path / "out" / "points.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["GLB.size"], row["array"]) for row in rows] == [
        ("4 KiB", "2x2"), ("4 KiB", "4x4"), ("16 KiB", "2x2"), ("16 KiB", "4x4"),
    ]  # fmt: skip
    with (tmp_path / "out" / "layers.csv").open() as file:
        layer = list(csv.DictReader(file))[-1]
    alone = run(*shlex.split(layer["command"])[1:], "--json")
    assert f'"energy_pj": {float(layer["energy_pJ"])}' in alone.stdout
    assert "from the store" in alone.stderr


@pytest.mark.long
def test_points_are_the_searches_of_their_machines(exploration: Exploration, tiny: Path) -> None:
    for point in exploration.points:
        arch = tw.load_arch("eyeriss", dict(point.values))
        energy = sum(
            layer.repeat * tw.search(layer.problem, arch, tiling="perfect").cost.energy_pj
            for layer in tw.load_network(tiny).layers
        )
        assert point.summary.energy_pj == pytest.approx(energy)
        assert point.on_chip_bytes == on_chip_bytes(arch)
        spads = arch.mac_instances * (12 * 16 + 224 * 16 + 24 * 16) / 8
        assert point.on_chip_bytes == point.machine.level("GLB").size_bits / 8 + spads  # type: ignore[union-attr]


@pytest.mark.long
def test_the_front_has_what_nothing_beats(exploration: Exploration) -> None:
    figures = {id(point): point.figures(exploration.measures) or () for point in exploration.points}

    def beaten(point: object) -> bool:
        mine = figures[id(point)]
        return any(o != mine and all(a <= b for a, b in zip(o, mine, strict=True)) for o in figures.values())

    assert {id(p) for p in exploration.front} == {id(p) for p in exploration.points if not beaten(p)}
    assert exploration.best is not None
    assert exploration.best.summary.value == min(p.summary.value or 0 for p in exploration.points)
    assert len(exploration.to_frame()) == 4
    assert exploration.to_frame()["on_front"].sum() == len(exploration.front)


@pytest.mark.long
def test_the_picture_is_the_same_every_time(exploration: Exploration, tmp_path: Path) -> None:
    one, other = (save_figure(exploration.figure(), tmp_path / f"{name}.svg").read_text() for name in "ab")
    assert one == other
    best = ", ".join(exploration.front[0].values.values())
    for text in ("latency of the network", "on the front", "tiny, edp, GLB.size x array", best):
        assert text in one


@pytest.mark.long
def test_limits_leave_points_out(tiny: Path, tmp_path: Path) -> None:
    sweeps = ["GLB.size=4KiB,16KiB,64KiB with array=2x2,2x4,4x4"]
    whole = tw.explore(tiny, "eyeriss", sweeps, tiling="perfect", workers=1)
    assert [dict(point.values)["array"] for point in whole.points] == ["2x2", "2x4", "4x4"]
    latencies = sorted(point.summary.latency_s or 0 for point in whole.points)
    limits = ["macs <= 8", f"latency <= {latencies[-2] * 1e6} us"]
    found = tw.explore(tiny, "eyeriss", sweeps, limits=limits, front=["latency", "macs"], tiling="perfect", workers=1)
    assert [point.values["array"] for point in found.points] == ["2x2", "2x4"]
    assert [(beyond.values["array"], beyond.limit.text) for beyond in found.beyond] == [("4x4", "macs <= 8")]
    kept = [point for point in found.points if point.summary.latency_s <= latencies[-2]]  # type: ignore[operator]
    assert set(map(id, found.front)) <= set(map(id, kept))
    assert found.best in kept
    assert (found.axes, found.sweep) == ((("GLB.size", "array"),), "GLB.size with array")
    assert [measure.name for measure in found.measures] == ["latency", "macs"]
    words = ["explore", "--network", tiny, "--arch", "eyeriss", "--sweep", sweeps[0]]
    words += ["--tiling", "perfect", "--workers", 1]
    done = run(*words, "--limit", limits[0], "--front", "latency,macs", "--out", tmp_path / "out")
    assert "macs <= 8: 1 point is beyond it, not searched" in done.stdout
    assert "over latency and MAC units" in done.stdout
    page = (tmp_path / "out" / "page.txt").read_text()
    assert "macs <= 8: 1 point is beyond it, not searched" in page
    again = shlex.split(found.comparison.command)
    assert "--limit" in again
    assert run(*again[1:], "--workers", 1).exit_code == 0


@pytest.mark.long
def test_sizes_that_change_alone_are_told(exploration: Exploration, tiny: Path) -> None:
    assert len(exploration.notes) == 1
    assert "GLB has sizes from 4 KiB to 16 KiB, and an access costs 6 pJ at all of them" in exploration.notes[0]
    shown = run(
        "explore", "--network", tiny, "--arch", "eyeriss", *SWEEPS, "--tiling", "perfect", "--workers", 1
    ).stdout
    assert "GLB has sizes from 4 KiB to 16 KiB" in shown
    followed = {"GLB.read": "6 pJ * (size / 108 KiB)**0.5", "GLB.write": "read", "GLB.area": "1 mm2 * (size / 1 MiB)"}
    assert tw.explore(tiny, "eyeriss", SWEEPS[1::2], settings=followed, tiling="perfect", workers=1).notes == ()
    only_area = tw.explore(
        tiny, "eyeriss", SWEEPS[1::2], settings=followed | {"GLB.area": "1 mm2"}, tiling="perfect", workers=1
    )
    assert "it takes 1 mm2 at all of them" in only_area.notes[0]
    estimated = {"GLB.read": "estimate", "GLB.write": "estimate"}
    assert tw.explore(tiny, "eyeriss", SWEEPS[1::2], settings=estimated, tiling="perfect", workers=1).notes == ()
    assert tw.explore(tiny, "eyeriss", ["array=2x2,4x4"], tiling="perfect", workers=1).notes == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"--sweep": "array"}, "expected FIELD=VALUES"),
        ({"--sweep": "nowhere=1,2"}, "there is no 'nowhere'"),
        ({"--network": "alexnot"}, "unknown network 'alexnot'"),
        ({"--arch": "eyerisss"}, "did you mean 'eyeriss'?"),
        ({"--set": "clock"}, "--set"),
        ({"--dataflow": "weight"}, "no dataflow is named 'weight'"),
        ({"--limit": "on_chip <= 1 KiB"}, "no point is within the limits: the least on-chip bytes is 110"),
        ({"--limit": "aria <= 1 mm2"}, "did you mean 'area'?"),
        ({"--front": "energy"}, "expected two or more of energy, latency, area, on_chip, macs"),
    ],
)
def test_bad_input_is_one_message(tiny: Path, changes: dict[str, object], message: str) -> None:
    options = {"--network": tiny, "--arch": "eyeriss", "--sweep": "array=2x2,4x4"} | changes
    done = run("explore", *(word for option in options.items() for word in option))
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
