"""What `import tilewright` gives, with which signatures, and that it gives it for next to nothing.

`golden/public_interface.txt` has every public name with its signature. When a change of the interface is meant, and
docs/api.md ("What stays") allows it:

    PYTHONPATH=docs python tests/api/test_public_names.py
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tilewright
from make_api import interface_lines, public_objects, reference

GOLDEN = Path(__file__).parent.parent / "golden" / "public_interface.txt"
NAMES = """
    Architecture Cascade CompiledNetwork CompiledSystem InfeasibleError LoopNest Mapping Problem SearchResult
    System TilewrightError __version__ batched_gemm cascade cascade_of collective compare compile conv2d einsum evaluate
    explain explore gemm list_archs list_dataflows list_networks list_systems load_arch load_layer load_mapping
    load_network load_network_plan load_system load_system_plan padded
    plan_layouts plan_memory roofline search search_im2col search_many search_pareto search_top simulate
"""
HEAVY = {"networkx", "numpy", "onnx", "pydantic", "yaml", "rich", "typer"}


def modules_after(code: str) -> set[str]:
    """Heavy modules that are loaded once `code` has run in a fresh interpreter."""
    program = f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return HEAVY & set(done.stderr.split())


def test_the_exported_names_are_pinned() -> None:
    assert sorted(tilewright.__all__) == sorted(NAMES.split())
    assert set(tilewright.__all__) <= set(dir(tilewright))


def test_the_interface_is_the_one_that_was_agreed() -> None:
    changed = set(interface_lines()) ^ set(GOLDEN.read_text(encoding="utf-8").splitlines())
    assert not changed, "the interface has changed (see this file's top)"


def test_the_reference_has_every_exported_name() -> None:
    assert set(tilewright.__all__) <= {name for name, _ in public_objects()} | {"__version__"}
    assert {name for name, _ in public_objects()} <= set(re.findall(r"^### (.*)", reference(), re.MULTILINE))


def test_every_parameter_is_described() -> None:
    for name, function in public_objects():
        doc = " ".join((inspect.getdoc(function) or "").split())
        assert doc, name
        if inspect.isclass(function) or "those of `" in doc:
            continue
        missing = [p for p in inspect.signature(function).parameters if not re.search(rf"\b{p}\b", doc)]
        assert not missing, f"{name}: {missing}"


def test_every_export_is_documented_where_it_is_pointed_to() -> None:
    anchors = {f"#{name.lower()}" for name, _ in public_objects()}
    titles = {"#" + title.lower().replace(" ", "-") for title in re.findall(r"^## (.*)", reference(), re.MULTILINE)}
    assert set(re.findall(r"\]\((#[^)]*)\)", reference())) <= anchors | titles


def test_every_exported_name_can_be_had() -> None:
    for name in tilewright.__all__:
        assert getattr(tilewright, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="serch"):
        _ = tilewright.serch  # type: ignore[attr-defined]


def test_names_are_those_of_the_folders() -> None:
    from tilewright.ir import Problem
    from tilewright.searches import search

    assert tilewright.Problem is Problem
    assert tilewright.search is search


def test_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert tilewright.__version__ == version("tilewright")


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("code", "loaded"),
    [
        ("import tilewright", set()),
        ("import tilewright; tilewright.gemm(M=4, N=4, K=4)", set()),
        ("import tilewright.cli", {"typer"}),
        ("import tilewright.cli; tilewright.cli.app(['--help'], standalone_mode=False)", {"typer"}),
        ("import tilewright; tilewright.load_arch('eyeriss')", {"pydantic", "yaml"}),
        ("import tilewright; tilewright.load_network('alexnet')", {"yaml"}),
    ],
)
def test_heavy_modules_are_loaded_only_when_needed(code: str, loaded: set[str]) -> None:
    assert modules_after(code) == loaded


if __name__ == "__main__":
    GOLDEN.write_text("\n".join(interface_lines()) + "\n", encoding="utf-8")
