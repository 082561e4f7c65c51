"""What the commands load before they answer: the start of a short command is most of its time."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tilewright.cli import app
from tilewright.cli.commands import COMMANDS

WATCHED = {
    *("dask", "distributed", "matplotlib", "networkx", "numpy", "onnx", "ortools", "pydantic", "rich"),
    *("sqlite3", "typer", "yaml"),
    *("tilewright.cli.compare", "tilewright.cli.search", "tilewright.mapper.cpsat", "tilewright.mapper.emit"),
    *("tilewright.mapper.exact.search", "tilewright.mapper.heuristics", "tilewright.mapper.space.size"),
    *(
        "tilewright.run.documents.mappings",
        "tilewright.report.comparisons.html",
        "tilewright.run.store",
        "tilewright.stored",
    ),
}
PRINTS = {"typer", "pydantic", "rich"}
SEARCH = {"tilewright.cli.search", "tilewright.mapper.exact.search", "tilewright.mapper.space.size"}


def loaded(*command: str) -> set[str]:
    """The watched modules that the program has loaded when it ends."""
    code = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
    code += "from tilewright.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return WATCHED & set(done.stderr.split())


CASES: dict[str, set[str]] = {
    "--help": {"typer"},
    "search --help": {"typer", "tilewright.cli.search"},
    "list archs": {"typer", "pydantic", "yaml"},
    "list layers resnet50": {"typer", "pydantic", "yaml"},
    "show eyeriss": PRINTS | {"yaml"},
    "collective all-reduce 8B --system h100x8": PRINTS | {"numpy", "yaml"},
    "show resnet50:conv1": PRINTS | {"yaml"},
    "search --gemm M=4,N=4,K=4 --arch three_level --no-cache": PRINTS | SEARCH | {"numpy", "yaml"},
}


@pytest.mark.some(3)
@pytest.mark.parametrize("command", CASES)
def test_a_command_loads_what_it_needs(command: str) -> None:
    # Whether pydantic checks the arguments differs between versions of typer.
    assert loaded(*command.split()) - {"pydantic"} == CASES[command] - {"pydantic"}


def test_the_table_of_commands_has_what_help_and_guesses_need() -> None:
    overview = " ".join(CliRunner().invoke(app, ["--help"]).output.split())
    for name, (_, _, line) in COMMANDS.items():
        assert f" {name} {line}" in overview
        shown = CliRunner().invoke(app, [name, "--help"])
        assert shown.exit_code == 0
        assert shown.output.startswith(f"Usage: tilewright {name} [OPTIONS]")
    assert "Did you mean 'search'?" in CliRunner().invoke(app, ["serach"]).output


@pytest.mark.some(1)
@pytest.mark.parametrize("command", [["--help"], ["import", "timeloop", "--help"]])
def test_help_is_the_same_where_python_drops_docstrings(command: list[str]) -> None:
    code = "from tilewright.cli import main; main()"
    plain, stripped = (
        subprocess.run([sys.executable, *options, "-c", code, *command], capture_output=True, text=True, timeout=120)
        for options in ([], ["-OO"])
    )
    assert stripped.stdout == plain.stdout
    assert stripped.returncode == 0


def test_it_runs_as_a_module() -> None:
    """`python -m tilewright`, where scripts are not on the path."""
    command = [sys.executable, "-m", "tilewright", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith("tilewright "), done.stderr
