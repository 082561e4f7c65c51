"""The tiling of a search that is not told one, and limits: chosen and checked in one place, and stated everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tilewright as tw
from batches import NETWORK
from tilewright.arguments import memory_bytes
from tilewright.cli import app
from tilewright.forms import FORMS
from tilewright.ir.units import exact_size
from tilewright.mapper import several, tilings
from tilewright.mapper.answer import Answer
from tilewright.mapper.means import DEFAULT_MEMORY_LIMIT
from tilewright.mapper.question import Limits, NestQuestion
from tilewright.mapper.strategies import STRATEGIES, Exact

LAYER = ("--gemm", "M=7,N=4,K=4")
# Timeloop's files have no port for both directions, and one factor for a dimension at a level.
PORTS = "bandwidth={read: 8 B/cycle, write: 8 B/cycle}"
ONE_WAY = [word for memory in ("DRAM", "GLB", "RF") for word in ("--set", f"{memory}.{PORTS}")]
ONE_WAY += ["--constraint", "array.y.dims=M", "--constraint", "array.x.dims=N"]


@pytest.fixture
def ragged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tilings, "DEFAULT_TILING", "ragged")


@pytest.fixture
def perfect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tilings, "DEFAULT_TILING", "perfect")


def searched(*words: object) -> Any:
    return CliRunner().invoke(app, ["search", *LAYER, "--arch", "three_level", "--no-cache", *map(str, words)])


@pytest.mark.usefixtures("ragged")
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_strategy_uses_the_tiling_that_it_knows(strategy: str) -> None:
    expected = "perfect" if strategy == "cpsat" else "ragged"
    limit = 0.0 if strategy not in ("exact", "cpsat") else None
    found = tw.search(tw.gemm(7, 4, 4), "three_level", strategy=strategy, time_limit=limit)
    assert found.certificate.tiling == expected
    done = searched("--strategy", strategy, *(("--time-limit", 0) if limit is not None else ()))
    assert done.exit_code == 0, done.output
    assert f", {expected} tilings" in done.stdout
    noted = f"note: perfect tilings, since the strategy {strategy} knows no others" in done.stderr
    assert noted == (expected == "perfect")
    assert json.loads(searched("--strategy", strategy, "--time-limit", 0, "--json").stdout)["certificate"][
        "tiling"
    ] == (expected)


@pytest.mark.usefixtures("ragged")
@pytest.mark.parametrize("form", FORMS)
def test_a_form_gets_the_tiling_that_it_knows(form: str) -> None:
    done = searched("--to", form, *ONE_WAY)
    assert done.exit_code == 0, done.output
    assert ("note: perfect tilings, since the form timeloop knows no others" in done.stderr) == (form == "timeloop")
    if form == "timeloop":
        assert "\nmapping:" in done.stdout
        refused = searched("--to", form, *ONE_WAY, "--tiling", "ragged")
        assert refused.exit_code == 2
        assert "the form timeloop knows perfect tilings only, found ragged" in refused.stderr


@pytest.mark.usefixtures("perfect")
def test_nothing_is_said_where_the_default_is_known() -> None:
    assert searched("--strategy", "cpsat").stderr == ""
    assert searched("--to", "timeloop", *ONE_WAY).stderr == ""


@pytest.mark.usefixtures("ragged")
def test_what_is_asked_for_goes_before_the_default() -> None:
    assert tw.search("resnet50:fc", "three_level", tiling="perfect").certificate.tiling == "perfect"
    assert ", perfect tilings" in searched("--tiling", "perfect").stdout
    with pytest.raises(tw.TilewrightError, match="perfect tilings of the even space only"):
        tw.search(tw.gemm(7, 4, 4), "three_level", tiling="ragged", strategy="cpsat")


@pytest.mark.long
@pytest.mark.usefixtures("ragged")
def test_batches_state_their_tiling(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(NETWORK.format(name="tiny"), encoding="utf-8")
    found = tw.compare([tmp_path / "tiny.yaml"], ["three_level"], ["free"], workers=1, cache=False)
    assert found.settings.tiling == "ragged"
    assert " --tiling ragged" in found.command
    assert all(row.command.endswith("--objective edp --tiling ragged") for row in found.rows)
    assert all(row.certificate and row.certificate.tiling == "ragged" for row in found.rows)


# ---- forms and strategies ----------------------------------------------------------------------------------


def test_only_one_form_is_printed() -> None:
    assert "expected one of --json and --to" in searched("--json", "--to", "c").stderr
    assert "--top prints a page or JSON, found c" in searched("--top", 2, "--to", "c").stderr
    assert "unknown form 'cc'" in searched("--to", "cc").stderr


def test_a_form_is_that_of_the_result() -> None:
    result = tw.search(tw.gemm(7, 4, 4), "three_level")
    assert searched("--to", "yaml").stdout == result.emit("yaml")
    assert set(FORMS) == set(tw.results.Format.__args__)  # type: ignore[attr-defined]


@pytest.mark.parametrize("strategy", ["exact", "cpsat"])
def test_a_seed_is_an_option_of_those_that_draw(strategy: str) -> None:
    with pytest.raises(tw.TilewrightError, match=f"no option of the strategy {strategy}, but of random, anneal, gen"):
        tw.search(tw.gemm(7, 4, 4), "three_level", strategy=strategy, seed=0)


# ---- limits ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "expected"), [(2**20, 2**20), ("512MiB", 2**29), ("2 GiB", 2**31), ("1 MB", 10**6), ("12345 B", 12345)]
)
def test_memory_limits_are_sizes(size: int | str, expected: int) -> None:
    assert memory_bytes(size) == expected
    assert memory_bytes(exact_size(expected)) == expected


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (0, "expected 1 or more"),
        (1.5, "expected a whole number"),
        (True, "expected a whole number"),
        (None, "expected a whole number"),
        ("2", "has no unit"),
        ("2 GG", "is not a unit"),
        ("3 bit", "expected 1 or more"),
    ],
)
def test_wrong_memory_limits(size: Any, message: str) -> None:
    with pytest.raises(tw.TilewrightError, match=message):
        tw.search(tw.gemm(7, 4, 4), "three_level", memory_limit=size)


def test_every_call_passes_its_limits_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[Limits] = []
    search_best, search = several.search_best, Exact.search

    def noted(self: Exact, question: NestQuestion) -> Answer:
        seen.append(question.limits)
        return search(self, question)

    def noted_few(question: NestQuestion, count: int) -> list[Answer]:
        seen.append(question.limits)
        return search_best(question, count)

    monkeypatch.setattr(Exact, "search", noted)
    monkeypatch.setattr(several, "search_best", noted_few)
    monkeypatch.setattr("tilewright.searches.search_best", noted_few)
    limits = ("--time-limit", 50, "--memory-limit", "3MiB")
    for words in (
        ("search", *LAYER, "--arch", "three_level", "--no-cache"),
        ("search", *LAYER, "--arch", "three_level", "--no-cache", "--top", 2),
        ("search", *LAYER, "--arch", "three_level", "--no-cache", "--pareto", "energy,latency"),
        ("search", *LAYER, "--arch", "three_level", "--store", tmp_path / "store"),
        ("explain", "--gemm", "M=7,N=4,K=4", "--arch", "three_level", "--no-cache"),
        ("roofline", *LAYER, "--arch", "three_level"),
        ("bound", *LAYER, "--sizes", "64"),
    ):
        seen.clear()
        done = CliRunner().invoke(app, [*map(str, words), *map(str, limits)])
        assert done.exit_code == 0, done.output
        if words[0] == "explain":  # its searches share one time
            assert {some.memory_bytes for some in seen} == {3 * 2**20}
            assert max(some.time_s or 1e9 for some in seen) <= 50
        else:
            assert set(seen) == {Limits(50.0, 3 * 2**20)}, words
    seen.clear()
    tw.search(tw.gemm(7, 4, 4), "three_level")
    assert set(seen) == {Limits(None, DEFAULT_MEMORY_LIMIT)}


@pytest.mark.long
def test_commands_state_limits_that_are_not_usual(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(NETWORK.format(name="tiny"), encoding="utf-8")
    options: Any = {"workers": 1, "cache": False, "time_limit": 20, "memory_limit": "300 MB"}
    found = tw.compare([tmp_path / "tiny.yaml"], ["three_level"], ["free"], **options)
    assert found.settings.limits == Limits(20.0, 300_000_000)
    assert found.command.endswith(" --time-limit 20 --memory-limit 300000000B")
