"""The result store: what comes back, for whom, and that nothing wrong ever comes back."""

from __future__ import annotations

import multiprocessing
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

import tilewright as tw
from tilewright.arch import Memory
from tilewright.cost_models import parse_objective
from tilewright.ir import InfeasibleError, StoreError, UnwritableStoreError
from tilewright.mapper import question as question_module
from tilewright.mapper.answer import Answer
from tilewright.mapper.constraints import Constraints
from tilewright.mapper.fusing import answer_cascade
from tilewright.mapper.question import Limits, NestQuestion, Question
from tilewright.run.store import NoMapping, Store, stored_key
from tilewright.run.store import key as key_module
from tilewright.run.store import record as record_module
from tilewright.run.store.database import SCHEMA_VERSION


def question(size: int = 4, name: str = "gemm", **changes: Any) -> NestQuestion:
    asked = Question(
        tw.gemm(M=size, N=4, K=4, name=name), tw.load_arch("three_level"), parse_objective("edp"), "perfect"
    )
    return replace(asked, **changes)


@cache
def solution(size: int = 4) -> Answer:
    asked = question(size)
    found = tw.search(asked.problem, asked.arch, tiling="perfect")
    return Answer(found.mapping, found.cost, found.certificate)


def unproven(lower_bound: float = 1.0) -> Answer:
    found = solution()
    return replace(found, certificate=replace(found.certificate, lower_bound=lower_bound))


NOTHING = NoMapping("gemm", "no mapping of gemm fits", "GLB", "make it larger")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "somewhere" / "results.sqlite3"


def change(path: Path, statement: str, *values: object) -> None:
    """Change the file behind the back of the store."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement, values)
    connection.close()


# ---- keys --------------------------------------------------------------------------------------------------


def test_names_do_not_matter() -> None:
    arch = question().arch
    renamed = arch.model_copy(
        update={"name": "other", "description": "x", "source": "y", "technology": "z", "settings": {"a": "b"}}
    )
    named = Constraints(name="anything")
    assert question().key == question(name="other", arch=renamed, constraints=named).key


def other_width() -> tw.Problem:
    return tw.gemm(M=4, N=4, K=4, bits={"input": 4})


def other_machine() -> tw.Architecture:
    arch = question().arch
    levels = tuple(
        level.model_copy(update={"read_energy_pj": 1.25}) if isinstance(level, Memory) else level
        for level in arch.levels
    )
    return arch.model_copy(update={"levels": levels})


@pytest.mark.parametrize(
    "changes",
    [
        {"work": tw.gemm(M=4, N=4, K=8)},
        {"work": other_width()},
        {"work": tw.batched_gemm(1, M=4, N=4, K=4)},
        {"arch": tw.load_arch("eyeriss")},
        {"arch": other_machine()},
        {"objective": parse_objective("energy")},
        {"objective": parse_objective("edp where latency <= 100")},
        {"tiling": "ragged"},
        {"space": "uneven"},
        {"constraints": Constraints(temporal={("GLB", "K"): (1, 2)})},
        {"constraints": Constraints(orders={"GLB": (frozenset("MK"), frozenset("N"))})},
    ],
)
def test_everything_that_a_result_depends_on_matters(changes: dict[str, Any]) -> None:
    assert question(**changes).key != question().key


def test_sets_have_one_order() -> None:
    one = Constraints(orders={"GLB": (frozenset(["M", "K"]), frozenset("N"))})
    other = Constraints(orders={"GLB": (frozenset(["K", "M"]), frozenset("N"))})
    assert question(constraints=one).key == question(constraints=other).key


# ---- what comes back ---------------------------------------------------------------------------------------


def test_an_answer_comes_back_whole(path: Path) -> None:
    with Store(path) as store:
        assert store.recall(question()) is None
        store.keep(question(), solution(), seconds=1.5)
    with Store(path) as store:
        recalled = store.recall(question())
        assert recalled is not None
        assert recalled.result == solution()
        assert recalled.record.seconds == 1.5
        assert recalled.record.written_by == f"tilewright {tw.__version__}"
        assert store.recall(question(8)) is None


def test_an_equal_layer_gets_it_under_its_own_name(path: Path) -> None:
    with Store(path) as store:
        store.keep(question(), solution())
        store.keep(question(8), NOTHING)
        recalled = store.recall(question(name="net:other"))
        assert recalled is not None
        assert isinstance(recalled.result, Answer)
        assert recalled.result.mapping.problem.name == "net:other"
        assert recalled.result.mapping.nest == solution().mapping.nest
        missing = store.recall(question(8, name="net:other"))
        assert missing is not None
        assert isinstance(missing.result, NoMapping)
        assert isinstance(missing.result.error, InfeasibleError)
        assert "no mapping of net:other fits" in str(missing.result.error)


@pytest.mark.parametrize(
    ("kept_under", "asked_under", "answered"),
    [
        *[(10.0, 10.0, True), (10.0, 5.0, True), (10.0, 20.0, False), (10.0, None, False), (None, 10.0, True)],
        *[((10.0, 64), (10.0, 64), True), ((10.0, 64), (10.0, 32), True), ((10.0, 64), (10.0, 65), False)],
        *[((None, 64), (None, 64), True), ((None, 64), (1.0, 65), False), ((10.0, 64), (11.0, 32), False)],
    ],
)
def test_a_result_without_proof_answers_no_search_with_larger_limits(
    path: Path, kept_under: Any, asked_under: Any, answered: bool
) -> None:
    with Store(path) as store:
        store.keep(question(limits=limits(kept_under)), unproven())
        assert (store.recall(question(limits=limits(asked_under))) is not None) == answered


def limits(given: Any) -> Limits:
    """Seconds, or seconds and bytes."""
    return Limits(*given) if isinstance(given, tuple) else Limits(given)


def test_a_proven_result_answers_every_search(path: Path) -> None:
    with Store(path) as store:
        store.keep(question(limits=Limits(10.0, 64)), solution())
        assert store.recall(question(limits=Limits(None))) is not None
        assert store.recall(question(limits=Limits(100.0, 2**40))) is not None


def test_the_better_result_stays(path: Path) -> None:
    def kept(store: Store) -> tuple[str, float | None, int | None]:
        (record,) = store.records()
        return record.status, record.time_limit_s, record.memory_limit_bytes

    with Store(path) as store:
        for limits, stays in [
            (Limits(10.0, 64), Limits(10.0, 64)),
            (Limits(5.0, 64), Limits(10.0, 64)),
            (Limits(10.0, 32), Limits(10.0, 64)),
            (Limits(20.0, 64), Limits(20.0, 64)),
            (Limits(20.0, 128), Limits(20.0, 128)),
            (Limits(None, 128), Limits(None, 128)),
            (Limits(50.0, 128), Limits(None, 128)),
        ]:
            store.keep(question(limits=limits), unproven())
            assert kept(store) == ("unproven", stays.time_s, stays.memory_bytes)
        store.keep(question(limits=Limits(1.0, 64)), solution())
        store.keep(question(limits=Limits(None, 2**40)), unproven())
        assert kept(store) == ("proven", 1.0, 64)


def test_two_results_without_proof_are_merged(path: Path) -> None:
    """The better mapping and the higher bound stay, whatever the limits were."""
    good, dear = unproven(3.0), unproven(5.0)
    dear = replace(dear, certificate=replace(dear.certificate, value=2 * good.certificate.value))
    for first, then in ((good, dear), (dear, good)):
        with Store(path) as store:
            store.keep(question(limits=Limits(20.0)), first)
            found = store.keep_best(question(name="other", limits=Limits(1.0)), then)
            assert isinstance(found, Answer)
            assert (found.certificate.value, found.certificate.lower_bound) == (good.certificate.value, 5.0)
            assert found.mapping.problem.name == "other"
            (record,) = store.records()
            assert (record.value, record.time_limit_s, record.status) == (good.certificate.value, 20.0, "unproven")
            met = replace(good.certificate, lower_bound=good.certificate.value, value=2 * good.certificate.value)
            found = store.keep_best(question(), replace(dear, certificate=met))
            assert isinstance(found, Answer)
            assert found.certificate.proven
            store.remove([record.key])


def test_a_cascade_without_a_limit_had_the_time_that_it_took(path: Path) -> None:
    """Its search ends by itself before all is proven: one with more time may find more."""
    pair = tw.cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"], m=2, k=2, n=2, p=2)
    asked = Question(pair, question().arch, parse_objective("energy"), "perfect")
    answer = answer_cascade(asked)
    cut = replace(answer, certificate=replace(answer.certificate, lower_bound=1.0))
    with Store(path) as store:
        store.keep_best(asked, cut, 20.0)
        for seconds, answered in ((None, True), (10.0, True), (30.0, False)):
            found = store.recall(replace(asked, limits=Limits(seconds)))
            assert (found is not None) == answered, seconds


def test_a_store_without_memory_limits_goes_on_being_used(path: Path) -> None:
    with Store(path) as store:
        record = store.keep(question(), unproven())
    without = replace(record, memory_limit_bytes=None)
    change(path, "UPDATE results SET checksum = ?", record_module.checksum_of(without))
    change(path, "ALTER TABLE results DROP COLUMN memory_limit_bytes")
    change(path, "PRAGMA user_version = 1")
    with Store(path) as store:
        assert list(store.records()) == [replace(without, checksum=record_module.checksum_of(without))]
        assert store.recall(question(limits=Limits(None, 2**40))) is not None
        store.keep(question(8), solution(8))
        assert len(list(store.records(only="intact"))) == 2


def test_another_cost_model_has_results_of_its_own(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(path) as store:
        store.keep(question(), solution())
        for module in (question_module, record_module):
            monkeypatch.setattr(module, "MODEL_VERSION", -1)
        assert store.recall(question()) is None
        (record,) = store.records()
        assert not record.is_current


def test_another_format_has_results_of_its_own(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(path) as store:
        store.keep(question(), solution())
        monkeypatch.setattr(key_module, "FORMAT", "other")
        assert store.recall(question()) is None


def test_records_are_filtered(path: Path) -> None:
    with Store(path) as store:
        for size, name in ((4, "net:one"), (8, "net:two"), (16, "other:one")):
            store.keep(question(size, name), solution() if size < 16 else NOTHING)
        assert [r.layer for r in store.records()] == ["net:one", "net:two", "other:one"]
        assert [r.layer for r in store.records({"layer": "net:*"})] == ["net:one", "net:two"]
        assert [r.layer for r in store.records({"layer": "*:one", "status": "proven"})] == ["net:one"]
        assert store.remove([stored_key(question(4)), stored_key(question(8)), "no such key"]) == 2
        store.compact()
        assert [r.layer for r in store.records()] == ["other:one"]


# ---- what must not come back -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE results SET energy_pj = energy_pj * 2",
        "UPDATE results SET layer = 'other'",
        "UPDATE results SET status = 'infeasible'",
        "UPDATE results SET payload = substr(payload, 1, 50)",
        "UPDATE results SET checksum = 'nonsense'",
        "UPDATE results SET written_by = NULL",
    ],
)
def test_a_changed_record_is_an_error(path: Path, statement: str) -> None:
    with Store(path) as store:
        store.keep(question(), solution())
        store.keep(question(8), solution(8))
        change(path, f"{statement} WHERE key = ?", stored_key(question()))
        with pytest.raises(StoreError, match="gc --damaged"):
            store.recall(question())
        with pytest.raises(StoreError, match="checksum"):
            list(store.records())
        assert store.recall(question(8)) is not None
        (damaged,) = store.records(only="damaged")
        store.remove([damaged.key])
        assert len(list(store.records())) == 1


def garbage(path: Path) -> None:
    path.write_bytes(b"this is no database, " * 400)


def torn(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:5000] + b"\0" * (len(data) - 5000))


def newer(path: Path) -> None:
    change(path, f"PRAGMA user_version = {SCHEMA_VERSION + 1}")


def older(path: Path) -> None:
    change(path, "PRAGMA user_version = 0")


def foreign(path: Path) -> None:
    change(path, "PRAGMA application_id = 7")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (garbage, "is damaged: file is not a database"),
        (torn, "damaged|malformed"),
        (newer, f"version {SCHEMA_VERSION + 1}, of a newer tilewright, expected {SCHEMA_VERSION}"),
        (older, "version 0, of an older tilewright"),
        (foreign, "another program"),
        (folder, "is a directory"),
    ],
)
def test_a_file_that_cannot_be_used_says_how_to_go_on(path: Path, spoil: Callable[[Path], None], message: str) -> None:
    with Store(path) as store:
        for size in range(1, 30):
            store.keep(question(size), solution())
    spoil(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(StoreError, match=message) as caught, Store(path) as store:
        list(store.records())
    assert caught.value.where == str(path)
    assert not isinstance(caught.value, UnwritableStoreError)
    assert "--store" in str(caught.value) or spoil is folder
    assert path.is_dir() or path.read_bytes() == before


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UnwritableStoreError, match="--store"):
        Store(tmp_path / "file" / "results.sqlite3")


def test_a_full_disk_loses_nothing(
    path: Path, small_disk: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = []

    def keep_many(store: Store) -> None:
        for size in range(1, 100):
            store.keep(question(size), solution())
            kept.append(stored_key(question(size)))

    small_disk(12)
    with Store(path) as store, pytest.raises(UnwritableStoreError, match="no room") as caught:
        keep_many(store)
    monkeypatch.undo()
    assert "what is stored stays" in str(caught.value)
    with Store(path) as store:
        assert kept
        assert {record.key for record in store.records()} == set(kept)


class BrokenDisk(sqlite3.Connection):
    """A connection that cannot insert."""

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql.startswith("INSERT"):
            raise sqlite3.OperationalError("disk I/O error")
        return super().execute(sql, *values)


@pytest.mark.parametrize(("free", "told"), [(8_192, "no room left on the disk"), (2**30, "cannot be written")])
def test_an_error_of_a_full_disk_names_it(path: Path, monkeypatch: pytest.MonkeyPatch, free: int, told: str) -> None:
    """SQLite calls it an I/O error where not even its journal has room."""
    usage = shutil.disk_usage(Path.cwd())._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *told, **options: connect(*told, **options, factory=BrokenDisk))
    with Store(path) as store, pytest.raises(UnwritableStoreError, match=told):
        store.keep(question(), solution())


# ---- several processes -------------------------------------------------------------------------------------


def fill(path: Path, start: int) -> None:
    with Store(path) as store:
        for size in range(start, start + 15):
            store.keep(question(size), solution())


@pytest.mark.long
def test_several_processes_write_at_once(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=fill, args=(path, start)) for start in (1, 11, 21)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    with Store(path) as store:
        assert len(list(store.records())) == 35


def test_what_was_kept_survives_a_kill(path: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_store as t\n"
        "from pathlib import Path; import itertools\n"
        "with t.Store(Path(sys.argv[2])) as store:\n"
        "    for size in itertools.count(1):\n"
        "        print(store.keep(t.question(size), t.solution()).key, flush=True)\n"
    )
    words = [sys.executable, "-c", code, str(Path(__file__).parent), str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        keys = [process.stdout.readline().strip() for _ in range(10)]
        process.kill()
        keys += process.stdout.read().split()[:-1]
    with Store(path) as store:
        assert set(keys) <= {record.key for record in store.records()}


# ---- many results ------------------------------------------------------------------------------------------


@pytest.mark.long
def test_what_is_filtered_out_of_ten_thousand_results_is_not_looked_at(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(path) as store:
        record = record_module.record_of(question(), solution(), 0.1)
        with closing(sqlite3.connect(path)) as connection, connection:
            for number in range(10_000):
                one = replace(record, key=f"{number:064x}", layer=f"net{number % 10}:layer{number}")
                one = replace(one, checksum=record_module.checksum_of(one))
                parts = [getattr(one, column) for column in record_module.COLUMNS]
                connection.execute(f"INSERT INTO results VALUES ({', '.join('?' * len(parts))})", parts)
        looked_at: list[str] = []
        checksum_of = record_module.checksum_of
        monkeypatch.setattr(record_module, "checksum_of", lambda one: looked_at.append(one.layer) or checksum_of(one))
        assert len(list(store.records({"layer": "net3:*"}))) == len(looked_at) == 1000
        assert len(list(store.records())) == 10_000
        assert len(looked_at) == 11_000


def test_threads_make_one_store_at_once(tmp_path: Path) -> None:
    for attempt in range(20):
        place, ready = tmp_path / f"{attempt}.sqlite3", Barrier(4)

        def opened(place: Path = place, ready: Barrier = ready) -> None:
            ready.wait()
            Store(place).close()

        with ThreadPoolExecutor(4) as threads:
            for call in [threads.submit(opened) for _ in range(4)]:
                call.result()
