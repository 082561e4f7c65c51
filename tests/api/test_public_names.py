"""What `import tilewright` gives, and that it gives it for next to nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tilewright

NAMES = """
    Architecture LoopNest Mapping Problem SearchResult TilewrightError __version__ batched_gemm compare conv2d einsum
    evaluate explore gemm list_archs list_networks load_arch load_layer load_mapping load_network search search_many
    search_pareto search_top simulate
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


def test_every_exported_name_can_be_had() -> None:
    for name in tilewright.__all__:
        assert getattr(tilewright, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="serch"):
        _ = tilewright.serch  # type: ignore[attr-defined]


def test_names_are_those_of_the_folders() -> None:
    from tilewright.ir import Problem
    from tilewright.results import search

    assert tilewright.Problem is Problem
    assert tilewright.search is search


def test_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert tilewright.__version__ == version("tilewright")


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
