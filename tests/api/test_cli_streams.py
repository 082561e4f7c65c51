"""Streams that are full, closed or read by nobody; what --quiet leaves; documents of every command that has --json."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tilewright.cli import app

PROGRAM = f"{sys.executable} -c 'from tilewright.cli import main; main()'"
GEMM = ("--gemm", "M=4,N=4,K=4", "--arch", "three_level")
SEARCH = " ".join(("search", *GEMM, "--no-cache"))


def shell(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.long
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", [SEARCH, f"{SEARCH} --json", "list archs", "--version", "--help", "show eyeriss"])
def test_a_full_output_is_one_message(words: str) -> None:
    done = shell(f"{PROGRAM} {words} > /dev/full")
    assert done.returncode == 2
    assert done.stderr == "error: the output: cannot be written: No space left on device\n"


@pytest.mark.long
def test_what_nobody_reads_ends_the_program_quietly() -> None:
    done = shell(f"({PROGRAM} show resnet50; echo $? >&2) | true")
    assert done.stderr == "141\n"


@pytest.mark.long
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_fault(closed: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = shell(f"{PROGRAM} {SEARCH} --out {out} {closed}")
    assert done.returncode == 0
    assert "Traceback" not in done.stdout + done.stderr
    assert json.loads((out / "mapping.json").read_text())["cascade"]["name"] == "gemm"


@pytest.mark.long
def test_a_mapping_from_a_closed_input_is_one_message() -> None:
    done = shell(f"{PROGRAM} evaluate - <&-")
    assert done.returncode == 2
    assert done.stderr.startswith("error: <stdin>: the file is empty")


@pytest.mark.long
def test_letters_that_an_output_does_not_know_are_replaced() -> None:
    done = shell(f"PYTHONIOENCODING=ascii {PROGRAM} {SEARCH}")
    assert done.returncode == 0, done.stderr
    assert "proven optimal" in done.stdout


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path / "store.sqlite3"))
    rows = "layers:\n  - {name: only, op: gemm, M: 4, N: 4, K: 4, weight: true}\n"
    (tmp_path / "tiny.yaml").write_text(f"network: tiny\n{rows}")
    done = CliRunner().invoke(app, ["search", *GEMM, "--out", ".", "--quiet"])
    assert (done.exit_code, done.output) == (0, "")
    return tmp_path


BATCH = ("compare", "--networks", "tiny.yaml", "--archs", "three_level", "--dataflows", "free", "--workers", "1")
EXPLORE = ("explore", "--network", "tiny.yaml", "--arch", "three_level", "--sweep", "GLB.size=64KiB", "--workers", "1")
DOCUMENTS: dict[str, tuple[tuple[str, ...], str]] = {
    "search": (("search", *GEMM), "tree"),
    "list": (("list", "archs"), "description"),
    "show an architecture": (("show", "eyeriss"), "levels"),
    "show a network": (("show", "alexnet"), "layers"),
    "show a layer": (("show", "alexnet:conv1"), "dims"),
    "show a dataflow": (("show", "weight-stationary"), "memories"),
    "compare": (BATCH, "networks"),
    "explore": (EXPLORE, "points"),
    "verify": (("verify", "mapping.json"), "words_agree"),
    "verify --sets": (("verify", "mapping.json", "--sets"), "claims"),
    "bound": (("bound", "--gemm", "M=4,N=4,K=4", "--sizes", "8"), "points"),
    "space": (("space", *GEMM), "total"),
    "results list": (("results", "list"), "key"),
}


@pytest.mark.some(6)
@pytest.mark.parametrize("command", DOCUMENTS)
def test_every_document_is_json_and_nothing_else(command: str, here: Path) -> None:
    words, member = DOCUMENTS[command]
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert member in (found[0] if isinstance(found, list) else found)


QUIET = {name: DOCUMENTS[name][0] for name in ("search", "compare", "explore", "verify", "verify --sets", "bound")}


@pytest.mark.some(3)
@pytest.mark.parametrize("command", QUIET)
def test_quiet_prints_nothing_but_errors_and_documents(command: str, here: Path) -> None:
    done = CliRunner().invoke(app, [*QUIET[command], "-q"])
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    assert json.loads(CliRunner().invoke(app, [*QUIET[command], "-q", "--json"]).stdout)
    assert CliRunner().invoke(app, ["search", "--gemm", "M=4", "-q"]).stderr.startswith("error: ")
    assert CliRunner().invoke(app, ["evaluate", "mapping.json"]).stdout, "it lasts for one command"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("search", *GEMM, "--pareto", "energy,latency", "--objective", "energy"), "--objective: a front is over"),
        (("search", *GEMM, "--seed", "3"), "seed is no option of the strategy exact"),
        (("search", *GEMM, "--top", "2", "--store", "s.sqlite3"), "--store: the store keeps no results"),
        (("search", *GEMM, "--no-cache", "--store", "s.sqlite3"), "--store: --no-cache leaves"),
        (("search", *GEMM, "--widths", "arch"), "--widths: only a layer of an ONNX file"),
        ((*BATCH, "--format", "csv"), "--format: tables are written with --out DIR"),
        ((*BATCH, "--scheduler", "tcp://host:8786"), "--workers: a cluster has its own workers"),
        (("search", *GEMM, "--out", ""), "--out: found an empty text"),
        (("search", *GEMM, "--out="), "--out: found an empty text"),
        (
            ("search", *GEMM, "--pareto", "--objective", "energy"),
            "--pareto: found the option --objective, expected energy",
        ),
        (("results", "list", "--layer", "--json"), "--layer: found the option --json, expected PATTERN"),
        (("results", "list", "--limit", "-1"), "--limit"),
        (("verify", "mapping.json", "--sets", "--floats"), "--floats: a proof by integer sets runs nothing"),
        (("explain", "mapping.json", "--no-changes", "--time-limit", "3"), "--time-limit: it is for searches"),
        (("show", "eyeriss", "--dim", "batch=1"), "--dim: symbols belong to a network"),
    ],
)
def test_what_would_be_ignored_is_refused(words: tuple[str, ...], message: str, here: Path) -> None:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 2, done.output
    assert message in done.stderr


def test_folders_are_made_for_whatever_is_written(here: Path) -> None:
    for words in (
        ("show", "eyeriss", "--svg", "a/b/eyeriss.svg"),
        ("emit", "mapping.json", "--to", "c", "--out", "c/d/layer.c"),
        ("explain", "mapping.json", "--no-changes", "--svg", "e/f/nest.svg"),
        ("roofline", *GEMM, "--svg", "g/h/roofline.svg"),
        ("gpu", "sweep", "--n", "64:64", "--svg", "i/j/sweep.svg", "--csv", "k/l/sweep.csv"),
        ("results", "export", "m/n/results.csv"),
    ):
        done = CliRunner().invoke(app, list(words))
        assert done.exit_code == 0, done.output
    assert len([path for path in here.glob("?/?/*") if path.is_file()]) == 7


def completed(*words: str) -> list[str]:
    """What bash is offered for the last of these words."""
    line = {"COMP_WORDS": " ".join(("tilewright", *words)), "COMP_CWORD": str(len(words))}
    environment = {**os.environ, **line, "_TILEWRIGHT_COMPLETE": "complete_bash"}
    command = [sys.executable, "-c", "from tilewright.cli import main; main()"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.split()


@pytest.mark.long
def test_a_shell_completes_commands_options_and_names() -> None:
    assert completed("se") == ["search"]
    assert completed("results", "li") == ["list"]
    assert completed("search", "--ob") == ["--objective"]
    assert completed("search", "--arch", "eye") == ["eyeriss", "eyeriss_like", "eyeriss_v2_like"]
    assert completed("compare", "--archs", "eyeriss,tpu_v1") == ["eyeriss,tpu_v1"]
    assert completed("search", "alexnet:conv") == [f"alexnet:conv{number}" for number in range(1, 6)]
