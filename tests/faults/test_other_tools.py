"""Wrong files of other tools, formulas, estimates, points of sweeps and limits: one clear error each, or a machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machine_files import ACCELFORGE, ACCELFORGE_CLASSES, ART, ERT, ESTIMATED, FORMULAS, TIMELOOP, ZIGZAG
from test_readers import trees_and_texts

from commands import refusal
from fuzzing import as_yaml, from_tagged, read_or_refused, some, to_tagged
from mutations import mangled, mutated
from tilewright.arch.loader import parse_arch
from tilewright.arch.sweeps import parse_sweep
from tilewright.arch.writer import architecture_text
from tilewright.imported import timeloop_files
from tilewright.mapper.importers import read_accelforge, read_zigzag, with_tables
from tilewright.mapper.timeloop import read_parts
from tilewright.report.explorations.measures import parse_limit


def refused_or_written(read: Callable[[], Any]) -> None:
    """What is imported must be a machine that can be written and read back."""
    found = read_or_refused(read)
    text = read_or_refused(lambda: architecture_text(found.arch, found.notes)) if found is not None else None
    if text is not None:
        assert parse_arch(text) == found.arch


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("theirs")


def written(folder: Path, text: str, name: str = "theirs.yaml") -> Path:
    path = folder / name
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return path


@some(80)
@given(trees_and_texts(FORMULAS, ESTIMATED))
def test_formulas_and_estimates(text: str) -> None:
    read_or_refused(lambda: parse_arch(text))


@some(60)
@given(trees_and_texts(ZIGZAG))
def test_zigzag(folder: Path, text: str) -> None:
    refused_or_written(lambda: read_zigzag(written(folder, text)))


@some(60)
@given(
    mutated(from_tagged(ACCELFORGE)).map(as_yaml)
    | mutated(from_tagged(ACCELFORGE_CLASSES)).map(as_yaml)
    | mangled(ACCELFORGE)
)
def test_accelforge(folder: Path, text: str) -> None:
    text = to_tagged(text)
    refused_or_written(lambda: read_accelforge(written(folder, text)))


@some(60)
@given(mutated(from_tagged(TIMELOOP)).map(as_yaml) | mangled(TIMELOOP))
def test_timeloop(text: str) -> None:
    def files() -> Any:
        return timeloop_files(read_parts(texts=[("theirs.yaml", to_tagged(text))]), ["theirs.yaml"])

    found = read_or_refused(files)
    if found is not None and "machine.yaml" in found:
        parse_arch(found["machine.yaml"])


def test_timeloop_as_it_stands() -> None:
    assert read_parts(texts=[("theirs.yaml", TIMELOOP)]).constraints


@some(60)
@given(trees_and_texts(ERT, ART))
def test_accelergy(folder: Path, text: str) -> None:
    refused_or_written(lambda: with_tables("eyeriss", [written(folder, text)]))


@some(80)
@given(mangled("GLB.size,array\n64 KiB,8x8\n256 KiB,16x16\n"), st.sampled_from(["points.csv", "points.yaml"]))
def test_points_of_sweeps(folder: Path, text: str, name: str) -> None:
    path = written(folder, text, name)
    read_or_refused(lambda: parse_sweep(str(path)))


@some(80)
@given(st.sampled_from(["area <= 4 mm2", "latency < 3 ms", "GLB.size=1,2 with array=3,4"]).flatmap(mangled))
def test_limits_and_sweeps(text: str) -> None:
    read_or_refused(lambda: parse_limit(text))
    read_or_refused(lambda: parse_sweep(text))


NO_NODES = "architecture:\n  version: 0.4\n  nodes: []\n"
FILES = {
    "accelergy": (f"{ERT}\n{ART}", "a table of Accelergy", "accelergy FILE --arch MACHINE > machine.yaml"),
    "accelforge": (ACCELFORGE, "an architecture of AccelForge", "accelforge FILE > machine.yaml"),
    "zigzag": (ZIGZAG, "a hardware file of ZigZag", "zigzag FILE > machine.yaml"),
    "timeloop": (NO_NODES, "an architecture of Timeloop", "timeloop FILE ERT.yaml > machine.yaml"),
    "timeloop with its layer": (f"{NO_NODES}ERT: {{}}\nproblem: {{}}\n", "an architecture", "timeloop FILE --out DIR"),
}


FOREIGN = [
    (command, tool)
    for command in ("accelergy", "accelforge", "zigzag", "timeloop", "show")
    for tool in FILES
    if command != tool.split()[0] and (command, tool) != ("timeloop", "accelergy")
]
"""Commands that read one file, and files that are not theirs."""


@pytest.mark.parametrize(("command", "tool"), FOREIGN)
def test_the_file_of_one_tool_given_for_that_of_another(command: str, tool: str, tmp_path: Path) -> None:
    """The message says whose it is, and what reads it."""
    text, what, hint = FILES[tool]
    file = tmp_path / "file.yaml"
    file.write_text(text, encoding="utf-8")
    words = ["show", str(file)] if command == "show" else ["import", command, str(file)]
    message = refusal([*words, *(["--arch", "three_level"] if command == "accelergy" else [])])
    assert f"this is {what}" in message
    assert f"tilewright import {hint.replace('FILE', str(file))}" in message
