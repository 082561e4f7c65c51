"""What the commands load before they answer: the start of a short command is most of its time."""

from __future__ import annotations

import subprocess
import sys

import pytest

WATCHED = {
    *("dask", "distributed", "matplotlib", "networkx", "numpy", "onnx", "ortools", "pydantic", "rich"),
    *("sqlite3", "typer", "yaml"),
    *("tilewright.cli.compare", "tilewright.cli.search", "tilewright.mapper.cpsat", "tilewright.mapper.emit"),
    *("tilewright.mapper.exact.search", "tilewright.mapper.heuristics", "tilewright.mapper.space.size"),
    *("tilewright.report.documents", "tilewright.report.html", "tilewright.report.store", "tilewright.stored"),
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


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["--help"], {"typer"}),
        (["search", "--help"], {"typer", "tilewright.cli.search"}),
        (["list", "archs"], {"typer", "pydantic", "yaml"}),
        (["list", "layers", "resnet50"], {"typer", "pydantic", "yaml"}),
        (["show", "eyeriss"], PRINTS | {"yaml"}),
        (["show", "resnet50:conv1"], PRINTS | {"yaml"}),
        (["search", "--gemm", "M=4,N=4,K=4", "--arch", "three_level", "--no-cache"], PRINTS | SEARCH | {"numpy", "yaml"}),
    ],
    ids=" ".join,
)
def test_a_command_loads_what_it_needs(command: list[str], expected: set[str]) -> None:
    # Whether pydantic checks the arguments differs between versions of typer.
    assert loaded(*command) - {"pydantic"} == expected - {"pydantic"}


def test_what_a_command_does_not_name_is_not_built() -> None:
    """The list of commands is a table; commands are built when they are used, and unknown names are still guessed at."""
    from typer.testing import CliRunner

    from tilewright.cli import app
    from tilewright.cli.commands import COMMANDS

    for name, (_, _, line) in COMMANDS.items():
        shown = CliRunner().invoke(app, [name, "--help"])
        assert shown.exit_code == 0, name
        assert f"Usage: root {name}" in shown.output or f"{name} [OPTIONS]" in shown.output
        assert line in " ".join(CliRunner().invoke(app, ["--help"]).output.split())
    assert "Did you mean 'search'?" in CliRunner().invoke(app, ["serach"]).output
