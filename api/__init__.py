"""tilewright: the proven best mapping of a tensor operation on an accelerator.

    import tilewright as tw
    result = tw.search(tw.conv2d(K=64, C=64, P=56, Q=56, R=3, S=3), tw.load_arch("eyeriss"), objective="edp")
    print(result.mapping)
    result.cost.energy_pj, result.certificate.proven, result.emit("numpy"), result.verify()

Names are loaded when they are first used, so that `import tilewright` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .arch import Architecture, list_archs, load_arch
    from .arch.system import System, list_systems, load_system
    from .collectives import collective
    from .comparisons import compare
    from .compiled import CompiledNetwork, compile, load_network_plan
    from .cost_models import simulate
    from .explanations import explain
    from .explorations import explore
    from .im2col import search_im2col
    from .ir import Cascade, InfeasibleError, LoopNest, Mapping, Problem, TilewrightError
    from .layout_plans import plan_layouts
    from .many import search_many
    from .mapper.constraints.files import list_dataflows
    from .memory import plan_memory
    from .network_roofline import roofline
    from .results import SearchResult, evaluate
    from .run.documents.mappings import load_mapping
    from .searches import search, search_pareto, search_top
    from .sharded import CompiledSystem, load_system_plan
    from .workloads import (
        batched_gemm,
        cascade,
        cascade_of,
        conv2d,
        einsum,
        gemm,
        list_networks,
        load_layer,
        load_network,
        padded,
    )

    __version__: str

__all__ = [
    "Architecture",
    "Cascade",
    "CompiledNetwork",
    "CompiledSystem",
    "InfeasibleError",
    "LoopNest",
    "Mapping",
    "Problem",
    "SearchResult",
    "System",
    "TilewrightError",
    "__version__",
    "batched_gemm",
    "cascade",
    "cascade_of",
    "collective",
    "compare",
    "compile",
    "conv2d",
    "einsum",
    "evaluate",
    "explain",
    "explore",
    "gemm",
    "list_archs",
    "list_dataflows",
    "list_networks",
    "list_systems",
    "load_arch",
    "load_layer",
    "load_mapping",
    "load_network",
    "load_network_plan",
    "load_system",
    "load_system_plan",
    "padded",
    "plan_layouts",
    "plan_memory",
    "roofline",
    "search",
    "search_im2col",
    "search_many",
    "search_pareto",
    "search_top",
    "simulate",
]

_HOME = {
    "Architecture": "arch",
    "Cascade": "ir",
    "CompiledNetwork": "compiled",
    "CompiledSystem": "sharded",
    "InfeasibleError": "ir",
    "LoopNest": "ir",
    "Mapping": "ir",
    "Problem": "ir",
    "SearchResult": "results",
    "System": "arch.system",
    "TilewrightError": "ir",
    "batched_gemm": "workloads",
    "cascade": "workloads",
    "cascade_of": "workloads",
    "collective": "collectives",
    "compare": "comparisons",
    "compile": "compiled",
    "conv2d": "workloads",
    "einsum": "workloads",
    "evaluate": "results",
    "explain": "explanations",
    "explore": "explorations",
    "gemm": "workloads",
    "list_archs": "arch",
    "list_dataflows": "mapper.constraints.files",
    "list_networks": "workloads",
    "list_systems": "arch.system",
    "load_arch": "arch",
    "load_layer": "workloads",
    "load_mapping": "run.documents.mappings",
    "load_network": "workloads",
    "load_network_plan": "compiled",
    "load_system": "arch.system",
    "load_system_plan": "sharded",
    "padded": "workloads",
    "plan_layouts": "layout_plans",
    "plan_memory": "memory",
    "roofline": "network_roofline",
    "search": "searches",
    "search_im2col": "im2col",
    "search_many": "many",
    "search_pareto": "searches",
    "search_top": "searches",
    "simulate": "cost_models",
}
"""The module that each public name lives in."""


def __getattr__(name: str) -> object:
    """Load a public name at its first use (PEP 562)."""
    if name == "__version__":
        from importlib.metadata import version

        value: object = version("tilewright")
    elif name in _HOME:
        from importlib import import_module

        from .ir import display

        display.renderer = _html_of
        value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def _html_of(value: object) -> str:
    """The page of a value in a notebook."""
    from .report.notebook import html_of

    return html_of(value)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
