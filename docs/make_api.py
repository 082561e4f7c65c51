"""The reference of the Python interface, from the docstrings: the site has it below the text of docs/api.md.

python docs/make_api.py > reference.md
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from interface import Entry, members, signature, split_docstring


@dataclass(frozen=True)
class Section:
    """A part of the page: its names, and the module under `tilewright` that they are taken from ("": itself)."""

    title: str
    text: str
    module: str
    names: tuple[str, ...]


SECTIONS = (
    Section(
        "Layers and networks",
        "Functions that make or load a [`Problem`](#problem).",
        "",
        (
            "conv2d",
            "gemm",
            "padded",
            "batched_gemm",
            "einsum",
            "cascade",
            "cascade_of",
            "load_layer",
            "load_network",
            "list_networks",
        ),
    ),
    Section("Architectures", "", "", ("load_arch", "list_archs", "list_dataflows")),
    Section("Searches", "", "", ("search", "search_top", "search_pareto", "search_many", "search_im2col", "roofline")),
    Section("Networks as a whole", "", "", ("compare", "explore")),
    Section("Mappings of any source", "", "", ("evaluate", "explain", "load_mapping", "simulate")),
    Section("Results", "", "", ("SearchResult",)),
    Section("", "", "network_roofline", ("RooflineResult",)),
    Section("", "", "report.pages.roofline", ("RooflineChart", "Dot")),
    Section("", "", "mapper.certificate", ("Certificate", "OpenPart", "PartProof", "Points")),
    Section("", "", "cost_models", ("Cost", "MemoryUse", "PortUse", "TensorTraffic", "NetworkUse")),
    Section("", "", "mapper.emit", ("Verification",)),
    Section("", "", "report.explain.explanation", ("Explanation",)),
    Section("", "", "report.explain.facts", ("Facts", "OperationFacts", "SharedLoopFacts", "Lifetime", "MemoryLoad")),
    Section("", "", "run.documents.mappings", ("LoadedMapping", "Recorded")),
    Section("", "", "cost_models.counts", ("Counts", "Accesses", "FirstTile")),
    Section("Problems and mappings", "", "", ("Problem",)),
    Section("", "", "ir", ("Tensor",)),
    Section("", "", "", ("Mapping", "LoopNest")),
    Section("", "", "ir", ("Loop", "Node", "Axis")),
    Section("Cascades", "", "", ("Cascade",)),
    Section("", "", "ir", ("Operation", "Tree", "SharedLoop")),
    Section("", "", "cost_models", ("Held",)),
    Section("", "", "mapper.answer", ("Answer", "Unfused", "TriedForm")),
    Section("Machines", "", "", ("Architecture",)),
    Section("", "", "arch", ("Memory", "Fanout", "ArrayAxis", "Keeps", "Mac")),
    Section("Systems of several devices", "", "", ("collective", "load_system", "list_systems", "System")),
    Section("", "", "arch.system", ("MeshAxis",)),
    Section("", "", "cost_models.collectives", ("Collective", "Phase")),
    Section(
        "Whole networks",
        "",
        "",
        ("compile", "CompiledNetwork", "CompiledSystem", "load_network_plan", "load_system_plan", "plan_layouts"),
    ),
    Section("", "", "compiled", ("NetworkCost",)),
    Section(
        "",
        "",
        "run.documents.network_plans",
        ("NetworkPlanDocument", "PlanSummary", "ApartPart", "GroupPart", "ArenaPart", "BufferPart"),
    ),
    Section("", "", "mapper.segmentation", ("NetworkAnswer", "Segment", "Apart", "Arena")),
    Section("Memory plans", "", "", ("plan_memory",)),
    Section("", "", "mapper.memory_plan", ("MemoryPlan", "LiveBuffer", "InPlace", "BufferSet")),
    Section("Forms of a convolution", "", "im2col", ("ConvolutionForms",)),
    Section("Networks", "", "workloads", ("Network", "NetworkLayer")),
    Section("Objectives", "", "cost_models", ("Objective",)),
    Section("Batches", "", "run.batch.run", ("Progress",)),
    Section("", "", "mapper.question", ("Question", "Limits")),
    Section("", "", "run.store", ("NoMapping",)),
    Section("", "", "run.batch.job", ("Failure",)),
    Section("Comparisons and explorations", "", "report.comparisons.comparison", ("Comparison",)),
    Section("", "", "report.comparisons.compared", ("Compared", "ComparedRow", "Summary")),
    Section("", "", "report.comparisons.rows", ("ComparisonRows", "Row")),
    Section("", "", "run.batch.plan", ("Settings",)),
    Section("", "", "report.comparisons.costs", ("EnergyPart",)),
    Section("", "", "report.comparisons.summaries", ("Winner",)),
    Section("", "", "report.comparisons.hybrid", ("Hybrid",)),
    Section("", "", "report.comparisons.fused", ("FusedComparison", "FusedRow")),
    Section("", "", "report.explorations.exploration", ("Exploration", "Point", "Beyond")),
    Section("", "", "report.explorations.measures", ("Measure", "Budget")),
    Section("", "", "arch.sweeps", ("Sweep",)),
    Section("", "", "report.parts.tables", ("Table",)),
    Section(
        "Errors", "`import tilewright.ir` has all of them; `TilewrightError` is their base.", "", ("TilewrightError",)
    ),
    Section(
        "",
        "",
        "ir",
        (
            *("ProblemError", "ArchitectureError", "ConstraintError", "MappingError", "InfeasibleError"),
            *("MemoryPlanError", "NoPlanError"),
            *("UndecidedError", "SearchCancelledError", "StoreError", "UnwritableStoreError"),
        ),
    ),
)

ALIASES = (
    ("arguments", ("ArchitectureLike", "ConstraintsLike", "SizeLike", "StoreLike")),
    ("forms", ("Format",)),
    ("mapper.emit", ("Element",)),
    ("mapper.constraints.files", ("ConstraintSource",)),
    ("cost_models", ("ObjectiveLike",)),
    ("mapper.question", ("NestQuestion", "TreeQuestion", "AnyQuestion")),
    ("results", ("ManyResult",)),
    ("many", ("NetworkLike", "LayersLike")),
    ("mapper.tilings", ("Tiling",)),
    ("mapper.space", ("Space",)),
    ("workloads.network", ("Widths",)),
    ("workloads.arguments", ("Bits", "Pair")),
    ("ir", ("Role", "Rank", "Work")),
    ("arch", ("Keep", "Halo", "Reuse", "Footprint")),
    ("arch.spec", ("Latency",)),
    ("arch.settings", ("Setting",)),
    ("mapper.emit", ("Element",)),
    ("mapper.emit.numpy.verify", ("WordTable",)),
    ("cost_models.counts", ("AccessTable",)),
    ("run.batch.run", ("Watch",)),
    ("run.batch.job", ("Outcome",)),
    ("report.comparisons.compared", ("Status",)),
    ("report.parts.tables", ("Value",)),
)
"""Types that signatures call by a name, and the modules that they are taken from."""


def public_objects() -> Iterator[tuple[str, Any]]:
    """Every name of the page that is a function or a class."""
    for section in SECTIONS:
        for name in section.names:
            yield name, getattr(_module(section.module), name)


def interface_lines() -> list[str]:
    """The whole interface, a line for each name, attribute and method, and for each type that signatures name."""
    lines = []
    for name, value in public_objects():
        if not inspect.isclass(value):
            lines.append(signature(name, value))
            continue
        bases = [base.__name__ for base in value.__bases__ if base.__module__.startswith("tilewright")]
        lines.append(f"class {name}" + (f"({', '.join(bases)})" if bases else ""))
        lines += [f"{name}.{member.signature}" for member in members(value)]
    return lines + [f"{name} = {text}" for name, text in _aliases()]


def reference() -> str:
    """Every public name with its text, as Markdown."""
    parts = []
    for section in SECTIONS:
        parts += [f"## {section.title}"] if section.title else []
        parts += [section.text] if section.text else []
        for name in section.names:
            parts.append("\n\n".join(_page_of(name, getattr(_module(section.module), name))))
    parts.append("## Types in signatures")
    parts.append("\n".join(f"- `{name}`: `{text}`" for name, text in _aliases()))
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _page_of(name: str, value: Any) -> Iterable[str]:
    yield f"### {name}"
    doc = inspect.getdoc(value) or ""
    if not inspect.isclass(value):
        names = (*inspect.signature(value).parameters, "returns")
        yield f"```python\n{_folded(signature(name, value))}\n```"
        yield from _rendered(split_docstring(doc, names))
        return
    found = members(value)
    parts = split_docstring(doc, [member.name for member in found])
    yield from _rendered([part for part in parts if isinstance(part, str)])
    for member in found:
        if not member.text:
            raise SystemExit(f"{name}.{member.name} has no text: give it a docstring, or a line in that of its class")
    lines = [_bullet(f"`{_plain(member.signature)}`", member.text) for member in found]
    if lines:
        yield "\n".join(lines)


def _bullet(head: str, text: str) -> str:
    """A line of a list; further paragraphs of its text are indented."""
    first, *others = (_escaped(paragraph) for paragraph in inspect.cleandoc(text).split("\n\n"))
    return "\n\n".join([f"- {head}: {_joined(first)}", *(f"  {_joined(other)}" for other in others)])


def _rendered(parts: Iterable[str | Entry]) -> Iterator[str]:
    """Paragraphs and lists of entries as markdown."""
    entries: list[str] = []
    for part in parts:
        if isinstance(part, Entry):
            entries.append(_bullet(", ".join(f"`{name}`" for name in part.names), part.text))
            continue
        if entries:
            yield "\n".join(entries)
            entries = []
        yield part if part.startswith(" ") else _escaped(_joined(part))
    if entries:
        yield "\n".join(entries)


def _joined(text: str) -> str:
    return " ".join(line.strip() for line in text.split("\n"))


def _escaped(text: str) -> str:
    """Asterisks as they are, outside code."""
    pieces = text.split("`")
    return "`".join(piece.replace("*", r"\*") if i % 2 == 0 else piece for i, piece in enumerate(pieces))


def _folded(text: str) -> str:
    """A signature on one line if it fits, else with a line for each parameter."""
    if len(text) <= 100:
        return text
    head, _, rest = text.partition("(")
    inside, _, result = rest.rpartition(") -> ")
    parameters = re.split(r", (?=\*|\w+:)", inside)
    return f"{head}(\n" + "".join(f"    {parameter},\n" for parameter in parameters) + f") -> {result}"


def _aliases() -> Iterator[tuple[str, str]]:
    for module, names in ALIASES:
        for name in names:
            value = getattr(_module(module), name)
            text = value if isinstance(value, str) else str(value)
            yield name, re.sub(r"\b(?:[a-z_]+\.)+(?=\w)", "", text).replace("NoneType", "None")


def _plain(text: str) -> str:
    """Types by the names of this page: the source calls some otherwise, where two would have one name."""
    return text.replace("TensorMapping", "Mapping").replace("MappingABC", "collections.abc.Mapping")


def _module(name: str) -> Any:
    return import_module(f"tilewright.{name}" if name else "tilewright")


if __name__ == "__main__":
    print(reference(), end="")
