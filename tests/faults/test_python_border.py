"""Wrong values for every argument of every public function, and of what results can be asked.

Nothing here knows a single argument: signatures say what is taken. What is wrong for all is refused with a
`TilewrightError`, and never passed over; in long runs also what is right for some, and that may be answered.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import longer
import tilewright as tw

WRONG: tuple[Any, ...] = ([3], np.array([1, 2]))
"""Wrong for every argument that there is."""

UNLIKELY: tuple[Any, ...] = (
    -1,
    3,
    "nonsense",
    1.5,
    float("nan"),
    None,
    "",
    {3: 4},
    {"x": 3},
    b"x",
    object(),
    (1, 2),
    10**30,
    True,
    lambda *_: None,
)
"""Right for some."""

TABLE = """network: pair
layers:
  - {name: up, op: gemm, M: 2, N: 4, K: 2, weight: true}
  - {name: down, op: gemm, M: 2, N: 2, K: 4, weight: true}
graph: [up, down]
"""

Call = tuple[Callable[..., object], dict[str, Any]]


class Border:
    """Right calls of all that is public, by name; results of a few are asked in turn."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        network, batch = folder / "pair.yaml", {"workers": 1, "cache": False, "tiling": "perfect"}
        network.write_text(TABLE, encoding="utf-8")
        arch, layer = tw.load_arch("three_level"), tw.gemm(2, 2, 2)
        pair = tw.cascade(["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"], m=2, n=2, k=2, p=2)
        one, two = tw.search(layer, arch), tw.search(pair, arch)
        whole = tw.compile(network, arch, tiling="perfect", most=1)
        one.save(folder / "one")
        two.save(folder / "two")
        whole.save(folder / "whole")
        mesh = tw.load_system("a100x8", set={"node.size": 2})
        divided = tw.compile(network, system=mesh, tiling="perfect", workers=1)
        divided.save(folder / "divided")
        lined = tw.load_arch("three_level", {"DRAM.line": "8 B"})
        self.calls: dict[str, Call] = {
            "batched_gemm": (tw.batched_gemm, {"B": 2, "M": 2, "N": 2, "K": 2}),
            "cascade": (tw.cascade, {"operations": ["T[m] += A[m,k]"], "sizes": {"m": 2, "k": 2}}),
            "cascade_of": (tw.cascade_of, {"network": network, "layers": "up+down"}),
            "collective": (tw.collective, {"operation": "all_reduce", "size": 8, "system": "h100x8"}),
            "compare": (tw.compare, {"networks": [network], "archs": [arch], "dataflows": ["free"], **batch}),
            "compare fused": (tw.compare, {"networks": [network], "archs": [arch], "fuse": True, **batch}),
            "compile": (tw.compile, {"network": network, "arch": arch, "tiling": "perfect", "most": 1}),
            "compile system": (tw.compile, {"network": network, "system": mesh, "fix": ["up: m@node"], "workers": 1}),
            "conv2d": (tw.conv2d, {"K": 2, "C": 2, "P": 2, "Q": 2, "R": 1, "S": 1}),
            "einsum": (tw.einsum, {"spec": "mk,kn->mn", "sizes": {"m": 2, "k": 2, "n": 2}}),
            "evaluate": (tw.evaluate, {"mapping": one.mapping, "arch": arch}),
            "evaluate tree": (tw.evaluate, {"mapping": two.mapping, "layer": arch}),
            "explain": (tw.explain, {"mapping": one, "changes": False}),
            "explain tree": (tw.explain, {"mapping": two}),
            "explore": (
                tw.explore,
                {"network": network, "arch": "three_level", "sweeps": ["GLB.size=1KiB,2KiB"], **batch},
            ),
            "gemm": (tw.gemm, {"M": 2, "N": 2, "K": 2}),
            "list_archs": (tw.list_archs, {}),
            "list_networks": (tw.list_networks, {}),
            "list_systems": (tw.list_systems, {}),
            "load_system": (tw.load_system, {"name_or_path": "h100x8"}),
            "load_arch": (tw.load_arch, {"name_or_path": "three_level"}),
            "load_layer": (tw.load_layer, {"reference": f"{network}:up"}),
            "load_mapping": (tw.load_mapping, {"text_or_path": folder / "one" / "mapping.json"}),
            "load_mapping tree": (tw.load_mapping, {"text_or_path": folder / "two" / "mapping.json"}),
            "load_network": (tw.load_network, {"name_or_path": network}),
            "load_network_plan": (tw.load_network_plan, {"path": folder / "whole" / "plan.json"}),
            "load_system_plan": (tw.load_system_plan, {"path": folder / "divided" / "plan.json"}),
            "padded": (tw.padded, {"problem": tw.conv2d(K=2, C=2, P=4, Q=4, R=3, S=3), "pad": 1}),
            "plan_layouts": (
                tw.plan_layouts,
                {"network": network, "arch": lined, "tiling": "perfect", "layouts": ["row-major"]},
            ),
            "plan_memory": (tw.plan_memory, {"buffers": [("x", 0, 3, 4), ("y", 1, 2, 4)]}),
            "search": (tw.search, {"problem": layer, "arch": arch}),
            "list_dataflows": (tw.list_dataflows, {}),
            "roofline": (tw.roofline, {"layers": [layer], "arch": arch}),
            "search tree": (tw.search, {"problem": pair, "arch": arch, "tiling": "perfect"}),
            "search zeros": (tw.search, {"problem": layer, "arch": arch, "density": {"W": 0.5}}),
            "search lines": (tw.search, {"problem": layer, "arch": lined, "layout": "any", "tiling": "perfect"}),
            "search_im2col": (
                tw.search_im2col,
                {
                    "problem": tw.conv2d(K=2, C=2, P=2, Q=2, R=2, S=1),
                    "arch": lined,
                    "layout": "any",
                    "tiling": "perfect",
                },
            ),
            "search_many": (tw.search_many, {"layers": [layer], "arch": arch, **batch}),
            "search_pareto": (tw.search_pareto, {"problem": layer, "arch": arch, "tiling": "perfect"}),
            "search_pareto tree": (tw.search_pareto, {"problem": pair, "arch": arch, "tiling": "perfect"}),
            "search_top": (tw.search_top, {"problem": layer, "arch": arch, "count": 1, "tiling": "perfect"}),
            "search_top tree": (tw.search_top, {"problem": pair, "arch": arch, "count": 1, "tiling": "perfect"}),
            "simulate": (tw.simulate, {"mapping": one.mapping, "arch": arch}),
        }
        asked = [one, two, whole, divided, pair, layer, two.mapping, tw.load_network(network)]
        asked += [function(**right) for function, right in (self.calls[n] for n in ("compare", "compare fused"))]
        asked += [tw.explore(network, "three_level", ["GLB.size=1KiB,2KiB"], **batch)]
        self.calls |= dict(methods(asked, folder))


# What is said of a result by those who make it, or asked with parts of it; not for users to name.
_INNER = (
    *("SearchResult.of", "Comparison.penalty", "Exploration.saves", "Exploration.is_within"),
    *("Mapping.above", "Mapping.item", "Mapping.nodes_above"),
)


def _is_of_class(member: object) -> bool:
    return isinstance(member, classmethod)


def methods(results: list[Any], folder: Path) -> Iterator[tuple[str, Call]]:
    """Everything that results can be asked with an argument."""
    for result in results:
        for name, _ in inspect.getmembers_static(type(result), lambda of: inspect.isfunction(of) or _is_of_class(of)):
            method = getattr(result, name)
            full = f"{type(result).__name__}.{name}"
            if not name.startswith("_") and full not in _INNER and method.__doc__:
                required = [p.name for p in inspect.signature(method).parameters.values() if p.default is p.empty]
                if inspect.signature(method).parameters:
                    right = {one: folder / "out" if one == "folder" else None for one in required}
                    yield full, (method, right)


@pytest.fixture(scope="module")
def border(tmp_path_factory: pytest.TempPathFactory) -> Border:
    return Border(tmp_path_factory.mktemp("border"))


@pytest.mark.long
def test_every_public_function_is_called(border: Border) -> None:
    functions = {name for name in tw.__all__ if inspect.isroutine(getattr(tw, name))}
    assert functions == {name.split()[0] for name in border.calls if "." not in name}
    assert {"SearchResult.emit", "Comparison.of", "CompiledNetwork.emit", "Cascade.extents"} <= set(border.calls)


@pytest.mark.long
def test_right_calls_are_answered(border: Border) -> None:
    """Or else nothing below would mean anything; the three that start processes have been made."""
    for name, (function, right) in border.calls.items():
        if "." not in name and "workers" not in right:
            function(**right)


@pytest.mark.long
def test_a_wrong_value_is_refused(border: Border) -> None:
    for name, (function, right) in border.calls.items():
        for argument in arguments_of(function):
            for value in WRONG:
                with pytest.raises(tw.TilewrightError):
                    pytest.fail(f"{name}({argument}={value!r}) is {function(**(right | {argument: value}))}")


@pytest.mark.skipif(longer.TIMES == 1, reason="starts hundreds of processes: TILEWRIGHT_TESTS=2")
@pytest.mark.filterwarnings("ignore")
def test_an_unlikely_value_is_answered_or_refused(border: Border, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(border.folder)
    monkeypatch.setenv("TILEWRIGHT_STORE", str(border.folder / "store.sqlite3"))
    for function, right in border.calls.values():
        for argument in arguments_of(function):
            for value in UNLIKELY:
                with contextlib.suppress(tw.TilewrightError):
                    function(**(right | {argument: value}))


def arguments_of(function: Callable[..., object]) -> list[str]:
    """The names of a function's arguments, but for those that any word may name."""
    parameters = inspect.signature(function).parameters.values()
    return [one.name for one in parameters if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
