"""`tilewright plan` and `tw.plan_memory`: files in, page, picture and plan.json out."""

from __future__ import annotations

import itertools
import json
import random
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import tilewright as tw
from pages import run
from tilewright.report.networks.memory_picture import memory_svg

FILE = Path(__file__).parent.parent / "golden" / "memory_plans" / "input.12.csv"


def test_the_page_says_what_is_proven() -> None:
    done = run(["plan", str(FILE)])
    assert done.exit_code == 0, done.output
    assert "Height        12 B" in done.stdout
    assert "no plan is lower" in done.stdout


def test_files_are_written(tmp_path: Path) -> None:
    svg, out = tmp_path / "plan.svg", tmp_path / "plan.json"
    done = run(["plan", str(FILE), "--capacity", "1KiB", "--svg", str(svg), "--out", str(out)])
    assert done.exit_code == 0, done.output
    document = json.loads(out.read_text())
    assert (document["height_bytes"], document["proven"], document["capacity_bytes"]) == (12, True, 1024)
    assert {buffer["id"]: buffer["size_bytes"] for buffer in document["buffers"]} == dict.fromkeys(
        ["b1", "b2", "b3", "b4", "b5"], 4
    )
    drawn = ElementTree.parse(svg).getroot()
    assert sum(1 for _ in drawn.iter("{http://www.w3.org/2000/svg}rect")) == 1 + 5


def test_colours_tell_neighbours_apart() -> None:
    """Of many more buffers than colours, no two that touch have one colour."""
    rng = random.Random(3)
    starts = [rng.randrange(60) for _ in range(40)]
    plan = tw.plan_memory([(f"b{n}", at, at + rng.randint(2, 9), 4 * rng.randint(1, 9)) for n, at in enumerate(starts)])
    rects = [one.attrib for one in ElementTree.fromstring(memory_svg(plan)).iter("{http://www.w3.org/2000/svg}rect")]
    boxes = [
        (x, y, x + float(one["width"]), y + float(one["height"]), one["class"])
        for one in rects
        if "buffer" in one["class"]
        for x, y in [(float(one["x"]), float(one["y"]))]
    ]
    assert len(boxes) == 40
    for a, b in itertools.combinations(boxes, 2):
        touch = a[0] <= b[2] + 0.02 and b[0] <= a[2] + 0.02 and a[1] <= b[3] + 0.02 and b[1] <= a[3] + 0.02
        assert not touch or a[4] != b[4]


def test_json_alone() -> None:
    done = run(["plan", str(FILE), "--json"])
    assert json.loads(done.stdout)["height_bytes"] == 12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.csv"], "no such file"),
        ([str(FILE), "--capacity", "11B"], "12 bytes are live at time 0"),
        ([str(FILE), "--capacity", "11"], "the capacity: '11' has no unit"),
    ],
)
def test_errors_are_one_message(arguments: list[str], message: str) -> None:
    done = run(["plan", *arguments])
    assert done.exit_code == 2
    assert message in done.output


def test_buffers_of_any_source() -> None:
    buffers = [("x", 0, 2, 8), ("y", 1, 3, 8)]
    assert tw.plan_memory(buffers).height == 16
    assert tw.plan_memory(buffers, in_place=[("x", "y")]).height == 8
    assert tw.plan_memory(FILE, "12 B").fits
    with pytest.raises(tw.TilewrightError, match="the capacity is -1"):
        tw.plan_memory(buffers, -1)
