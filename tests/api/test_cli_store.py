"""The result store on the command line: searches that are answered from it, and `tilewright results`."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tilewright as tw
from tilewright.cli import app
from tilewright.run.store import opening

GEMM = ("--gemm", "M=6,N=4,K=8", "--arch", "eyeriss")


def run(*arguments: object) -> Any:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(argument) for argument in arguments])


def good(*arguments: object) -> str:
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    return str(done.stdout)


def refused(*arguments: object) -> str:
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) <= 4
    return str(done.stderr)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with three results, one of them that there is no mapping."""
    place = tmp_path_factory.mktemp("filled") / "store.sqlite3"
    good("search", *GEMM, "--store", place)
    good("search", *GEMM, "--dataflow", "weight-stationary", "--objective", "energy", "--store", place)
    impossible = ("search", "--gemm", "M=4,N=4,K=4", "--arch", "three_level", "--constraint", "utilization>=1")
    refused(*impossible, "--store", place)
    return place


@pytest.fixture
def store(filled: Path) -> Path:
    """One like it, which a test may change."""
    place = Path(os.environ["TILEWRIGHT_STORE"])
    with contextlib.closing(sqlite3.connect(filled)) as one, contextlib.closing(sqlite3.connect(place)) as other:
        one.backup(other)
    return place


def keys() -> list[str]:
    return [line.split()[0] for line in good("results", "list").splitlines()[2:-1]]


# ---- searches ----------------------------------------------------------------------------------------------


def test_the_second_search_is_answered_from_the_store(tmp_path: Path) -> None:
    first, second = good("search", *GEMM), good("search", *GEMM, "--out", tmp_path / "out")
    assert "Recalled" not in first
    assert "Recalled     from the store, found 2" in second
    assert f"by tilewright {tw.__version__}" in second
    assert "(--no-cache searches again)" in second
    lines = set(second.splitlines()) - set(first.splitlines())
    assert len([line for line in lines if "out" not in line and line not in ("", "Files")]) <= 4
    assert tw.load_mapping(tmp_path / "out" / "mapping.json").recorded.certificate is not None


def test_the_document_says_so_on_the_side() -> None:
    first, second = run("search", *GEMM, "--json"), run("search", *GEMM, "--json")
    assert json.loads(first.stdout)["tree"] == json.loads(second.stdout)["tree"]
    assert first.stderr == ""
    assert second.stderr.startswith("note: from the store, found ")


def test_the_store_can_be_refused(store: Path) -> None:
    before = keys()
    assert "Recalled" not in good("search", *GEMM, "--no-cache")
    assert "Recalled" not in good("search", "--gemm", "M=6,N=4,K=16", "--arch", "eyeriss", "--no-cache")
    assert keys() == before


def test_another_store_can_be_named(tmp_path: Path, store: Path) -> None:
    place = tmp_path / "deep" / "other.sqlite3"
    assert "Recalled" not in good("search", *GEMM, "--store", place)
    assert "Recalled" in good("search", *GEMM, "--store", place)
    assert f"1 result in {place}" in good("results", "list", "--store", place)


def test_no_mapping_is_recalled_as_well(store: Path) -> None:
    words = ("search", "--gemm", "M=4,N=4,K=4", "--arch", "three_level", "--constraint")
    first, second = refused(*words, "utilization>=1"), refused(*words, "utilization>=1")
    assert first == second
    assert "drop or relax it" in first
    assert len(keys()) == 3


@pytest.mark.long
def test_results_without_proof_are_not_used_for_longer_searches() -> None:
    words = ("search", "resnet50:fc", "--arch", "eyeriss", "--time-limit")
    assert "not proven" in good(*words, "0")
    assert "Recalled" in good(*words, "0")
    again = good("search", "resnet50:fc", "--arch", "eyeriss")
    assert "Recalled" not in again
    assert "proven optimal" in again
    assert "Recalled" in good(*words, "0")


def test_strategies_and_the_best_few_do_not_use_the_store() -> None:
    for option in (("--strategy", "cpsat"), ("--top", 2)):
        good("search", "--gemm", "M=4,N=4,K=4", "--arch", "eyeriss", *option)
    assert "there is no result store yet" in refused("results", "list")


def test_a_front_is_answered_from_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("search", "--gemm", "M=8,N=8,K=8", "--arch", "eyeriss", "--pareto", "energy,latency")
    uncached = good(*words, "--no-cache")
    assert "there is no result store yet" in refused("results", "list")
    assert good(*words) == uncached
    assert len(keys()) >= 3  # two searches for each point, and one that finds no more
    monkeypatch.delattr("tilewright.stored.Exact")
    assert good(*words) == uncached


def test_a_search_needs_no_store_that_nobody_chose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.delenv("TILEWRIGHT_STORE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *names, **options: tmp_path / "file" / "cache")
    done = run("search", *GEMM)
    assert done.exit_code == 0
    assert "the result is not kept" in done.stderr
    assert "cannot be made" in refused("search", *GEMM, "--store", tmp_path / "file" / "x.sqlite3")


@pytest.mark.long
def test_a_batch_needs_no_store_that_nobody_chose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.delenv("TILEWRIGHT_STORE")
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *names, **options: tmp_path / "file" / "cache")
    layers = [tw.gemm(4, 4, 4), tw.gemm(8, 4, 4)]
    with pytest.warns(RuntimeWarning, match="cannot be made: a file is in its place; results are not kept"):
        found = tw.search_many(layers, "eyeriss", workers=1)
    assert [result.certificate.proven for result in found] == [True, True]
    (tmp_path / "two.yaml").write_text(
        "network: two\nlayers:\n  - {name: a, op: gemm, M: 4, N: 4, K: 4, weight: true}\n"
    )
    batch = ("compare", "--networks", tmp_path / "two.yaml", "--archs", "eyeriss", "--dataflows", "free")
    done = run(*batch, "--workers", "1")
    assert done.exit_code == 0, done.output
    assert "results are not kept" in done.stderr
    assert "RuntimeWarning" not in done.stderr
    assert "cannot be made" in refused(*batch, "--store", tmp_path / "file" / "x.sqlite3")


@pytest.mark.long
@pytest.mark.parametrize("chosen", [True, False])
def test_a_batch_goes_on_where_its_store_fills_up(
    chosen: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that was found is lost, and what cannot be kept is said twice: at once, and at the end."""
    from tilewright.ir import UnwritableStoreError
    from tilewright.run.store import Store

    def full(*arguments: object) -> None:
        raise UnwritableStoreError("no room", where="s.sqlite3")

    monkeypatch.setattr(Store, "write", full)
    monkeypatch.delenv("TILEWRIGHT_STORE")
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *names, **options: tmp_path / "cache")
    layers = [tw.gemm(4, 4, 4), tw.gemm(8, 4, 4)]
    store = tmp_path / "s.sqlite3" if chosen else None
    with pytest.warns(RuntimeWarning) as warned:
        found = tw.search_many(layers, "eyeriss", workers=1, store=store)
    assert [result.certificate.proven for result in found] == [True, True]
    first, last = (str(warning.message) for warning in warned)
    assert "no room; results are not kept for now: the batch goes on" in first
    assert "2 of the results are not kept" in last


@pytest.mark.long
def test_what_could_not_be_kept_is_kept_when_there_is_room_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tilewright.ir import UnwritableStoreError
    from tilewright.run.store import Store

    write, seen = Store.write, []

    def full_at_first(store: Store, record: object) -> None:
        seen.append(record)
        if len(seen) == 1:
            raise UnwritableStoreError("no room", where="s.sqlite3")
        write(store, record)  # type: ignore[arg-type]

    monkeypatch.setattr(Store, "write", full_at_first)
    layers = [tw.gemm(4, 4, 4), tw.gemm(8, 4, 4)]
    with pytest.warns(RuntimeWarning, match="for now") as warned:
        tw.search_many(layers, "eyeriss", workers=1, store=tmp_path / "s.sqlite3")
    assert len(warned) == 1
    with Store(tmp_path / "s.sqlite3") as kept:
        assert len(list(kept.records())) == 2


def test_a_store_that_fills_up_costs_no_result(small_disk: Callable[[int], None]) -> None:
    small_disk(4)
    done = [run("search", "--gemm", f"M={size},N=4,K=4", "--arch", "eyeriss") for size in (2, 4, 8, 16)]
    assert all(search.exit_code == 0 and "proven optimal" in search.stdout for search in done)
    assert "no room left on the disk for the result store; the result is not kept" in done[-1].stderr


def test_a_newer_store_is_refused_before_the_search(store: Path) -> None:
    connection = sqlite3.connect(store)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert "of a newer tilewright" in refused("search", *GEMM)
    assert "Recalled" not in good("search", *GEMM, "--no-cache")


def test_the_default_place_is_the_cache_of_the_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import platformdirs

    monkeypatch.delenv("TILEWRIGHT_STORE")
    assert opening.store_path().parent == platformdirs.user_cache_path("tilewright", appauthor=False)
    assert opening.store_path(tmp_path / "x") == tmp_path / "x"
    assert opening.is_default()
    assert not opening.is_default(tmp_path)


# ---- results -----------------------------------------------------------------------------------------------


def test_results_are_listed_and_filtered(store: Path) -> None:
    text = good("results", "list")
    for part in ("weight-stationary", "no mapping", "proven", f"3 results in {store}"):
        assert part in text
    assert "1 result in" in good("results", "list", "--arch", "three*")
    assert "1 result in" in good("results", "list", "--status", "infeasible")
    assert "1 result in" in good("results", "list", "--objective", "energy")
    assert "2 results in" in good("results", "list", "--layer", "gemm", "--arch", "eyeriss")
    assert "0 results in" in good("results", "list", "--dataflow", "output-stationary")
    assert len(good("results", "list", "--limit", 1).splitlines()) == 4


def test_one_result_is_shown(store: Path) -> None:
    first, _, last = keys()
    page = good("results", "show", first)
    for part in (first, "O[m, n] += A[m, k] * W[k, n]", "proven optimal", "Recalled"):
        assert part in page
    assert json.loads(good("results", "show", first[:6], "--json"))["cascade"]["name"] == "gemm"
    assert "drop or relax it" in good("results", "show", last)


def test_results_are_exported(store: Path, tmp_path: Path) -> None:
    words = ("results", "export", tmp_path / "all.csv", "--mappings", tmp_path / "maps")
    assert good(*words) == f"3 results in {tmp_path / 'all.csv'}\n2 mappings in {tmp_path / 'maps'}\n"
    header, *rows = (tmp_path / "all.csv").read_text().splitlines()
    assert "energy_pJ,latency_cycles" in header
    assert len(rows) == 3
    for file in (tmp_path / "maps").iterdir():
        assert tw.evaluate(file).energy_pj == tw.load_mapping(file).recorded.cost.energy_pj
    good("results", "export", tmp_path / "some.json", "--arch", "eyeriss")
    assert len(json.loads((tmp_path / "some.json").read_text())) == 2


def test_garbage_is_collected(store: Path) -> None:
    assert "would remove 0 results" in good("results", "gc", "--dry-run")
    connection = sqlite3.connect(store, isolation_level=None)
    connection.execute("UPDATE results SET energy_pj = 1 WHERE objective = 'energy'")
    connection.close()
    message = refused("results", "list")
    assert "does not match its checksum" in message
    assert "gc --damaged" in message
    assert "--damaged" in refused("results", "gc")
    assert "removed 1 result " in good("results", "gc", "--damaged")
    assert len(keys()) == 2
    assert "removed 0 results" in good("results", "gc", "--older-than", "1h", "--unproven")
    assert "removed 2 results" in good("results", "gc", "--all")
    assert "0 results in" in good("results", "list")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("show", "zz"), "expected a key"),
        (("show", "0000"), "no result begins with 0000"),
        (("list", "--status", "prove"), "did you mean 'proven'?"),
        (("list", "--objective", "enrgy"), "did you mean 'energy'?"),
        (("gc", "--older-than", "soon"), "such as 12h, 30d or 8w"),
        (("export", "results.xls"), "unknown format 'xls'"),
    ],
)
def test_what_makes_no_sense_is_refused(store: Path, words: tuple[str, ...], message: str) -> None:
    assert message in refused("results", *words)


def test_the_group_explains_itself() -> None:
    for command in ("list", "show", "export", "gc"):
        assert command in good("results")
        assert "--store" in good("results", command, "--help")
