"""`tilewright bound`: its page, its files, its errors, and the committed example."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tilewright.cli import app
from tilewright.cli.bound import sizes_named
from tilewright.ir import TilewrightError
from tilewright.mapper.ski_slope import ski_slope
from tilewright.report.pages.bound import draw
from tilewright.workloads import gemm

EXAMPLE = Path(__file__).parents[2] / "results" / "bound"
SMALL = ("--gemm", "M=16,N=16,K=16", "--sizes", "3:1024:x4", "--tiling", "perfect")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["bound", *map(str, arguments)])


def rows(text: str) -> list[list[str]]:
    """Lines of figures: buffer, least traffic, bound, above it."""
    return [line.replace("|", " ").split() for line in text.splitlines() if re.match(r"^[ |]+[0-9,]+ .*%", line)]


def test_the_page() -> None:
    done = run(*SMALL)
    assert done.exit_code == 0, done.output
    assert [row[:2] for row in rows(done.stdout)] == [
        ["3", "8,448"],
        ["12", "4,352"],
        ["48", "1,792"],
        ["192", "1,024"],
        ["768", "768"],
    ]
    assert "2 MACs / sqrt(S) - 2 S" in done.stdout
    assert "Compulsory  768 words" in done.stdout


def test_the_files(tmp_path: Path) -> None:
    done = run(*SMALL, "--out", tmp_path / "new")
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["README.md", "traffic.png", "traffic.svg"]
    page = (tmp_path / "new" / "README.md").read_text(encoding="utf-8")
    assert rows(page) == rows(done.stdout)
    assert (tmp_path / "new" / "traffic.svg").read_text(encoding="utf-8").lstrip().startswith("<?xml")
    assert (tmp_path / "new" / "traffic.png").read_bytes().startswith(b"\x89PNG")


def test_pictures_are_the_same_every_time(tmp_path: Path) -> None:
    layer, paths = gemm(8, 8, 8), [tmp_path / "one.svg", tmp_path / "two.svg"]
    points = list(ski_slope(layer, [2, 3, 64]))
    for path in paths:
        draw(layer, points, [path])
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_buffer_that_is_too_small() -> None:
    done = run("--gemm", "M=8,N=8,K=8", "--sizes", "2,3")
    assert done.exit_code == 0
    assert "nothing fits" in done.stdout


def test_three_operands() -> None:
    done = run("i=4,l=4,j=4", "--einsum", "il,lj,j->i", "--sizes", "64")
    assert done.exit_code == 0, done.output
    assert "compulsory traffic alone" in done.stdout


@pytest.mark.parametrize(
    ("text", "sizes"), [("64:300:x2", [64, 128, 256]), ("3:3:x10", [3]), ("5, 7", [5, 7]), ("100", [100])]
)
def test_ranges(text: str, sizes: list[int]) -> None:
    assert sizes_named(text) == sizes


@pytest.mark.parametrize(
    "text", ["", "0", "64:32:x2", "1:2:x1", "1:2:2", "1e4", "0:4:x2", "3,", "-1", ",".join("7" * 201)]
)
def test_ranges_that_are_refused(text: str) -> None:
    with pytest.raises(TilewrightError, match="expected sizes in words\nhint: write 64:1048576:x2"):
        sizes_named(text)


def test_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert run(*SMALL, "--out", tmp_path / "file").exit_code == 2
    monkeypatch.setattr("tilewright.ir.errors.find_spec", lambda name: None)
    done = run(*SMALL, "--out", tmp_path / "new")
    assert done.exit_code == 2
    assert "matplotlib is not installed\nhint: pip install 'tilewright[plots]'" in done.output


def test_the_committed_example() -> None:
    """The command at its top has the same figures."""
    committed = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    command = re.search(r"^    tilewright bound (.*) --out results/bound$", committed, re.MULTILINE)
    assert command is not None
    done = run(*shlex.split(command[1]))
    assert done.exit_code == 0, done.output
    assert rows(done.stdout) == rows(committed)
    assert len(rows(committed)) == 15
    assert {path.name for path in EXAMPLE.iterdir()} == {"README.md", "traffic.png", "traffic.svg"}
