"""`tilewright plan` and `tw.plan_memory`: files in, page, picture and plan.json out."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import tilewright as tw
from pages import run

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
