"""`tilewright explain`: why a mapping costs what it costs, what each loop is for, and what would help."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ..ir import Problem, TilewrightError
from . import completions
from .cascade_explain import TreeQuestion, Written, explain_cascade, write_explanation
from .cascade_search import refuse_of_cascades
from .cascades import is_cascade
from .constraint_options import constraint_sources
from .machines import architecture_named
from .mappings import cost_of, load_on
from .options import (
    DEFAULT_MEMORY,
    ConstraintOption,
    ConstraintsOption,
    ConvOption,
    DataflowOption,
    EinsumOption,
    FuseOption,
    GemmOption,
    MemoryLimitOption,
    NoCacheOption,
    OpOption,
    QuietOption,
    SetOption,
    StoreOption,
    SvgOption,
    TreeOption,
    refuse_given,
)
from .problems import problem_named
from .sources import MappingSource, read_source
from .terminal import noting_interrupts, progress, say, show_document, show_page

if TYPE_CHECKING:
    from ..explanations import Searching, ToExplain
    from ..mapper.space import Space
    from ..mapper.tilings import Tiling

_TIME_LIMIT = 10.0


def explain(
    context: typer.Context,
    mapping: Annotated[
        str | None,
        typer.Argument(
            metavar="MAPPING",
            help="A mapping.json of `tilewright search`, or a mapping file in YAML; - reads standard input. "
            "Without it, the layer is searched for on the architecture.",
        ),
    ] = None,
    arch: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|PATH", autocompletion=completions.arch, help="On this architecture, not on the file's own."
        ),
    ] = None,
    layer: Annotated[
        str | None,
        typer.Option(
            metavar="LAYER",
            autocompletion=completions.layer,
            help="The layer to search for, or that a mapping file is for.",
        ),
    ] = None,
    conv: ConvOption = None,
    gemm: GemmOption = None,
    einsum: EinsumOption = None,
    op: OpOption = None,
    tree: TreeOption = None,
    fuse: FuseOption = "all",
    set_fields: SetOption = None,
    objective: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            autocompletion=completions.objective,
            help="What changes should lower; else what the mapping was searched for, or edp.",
        ),
    ] = None,
    tiling: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            autocompletion=completions.tiling,
            help="perfect or ragged; else as the mapping was searched for.",
        ),
    ] = None,
    space: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            autocompletion=completions.space,
            help="even or uneven; else as the mapping was searched for.",
        ),
    ] = None,
    dataflow: DataflowOption = None,
    constraints: ConstraintsOption = None,
    constraint: ConstraintOption = None,
    no_changes: Annotated[
        bool, typer.Option("--no-changes", help="Search for nothing: leave out what would help.")
    ] = False,
    time_limit: Annotated[
        float, typer.Option(metavar="SECONDS", help="For each search; then it takes the best so far, not proven.")
    ] = _TIME_LIMIT,
    memory_limit: MemoryLimitOption = DEFAULT_MEMORY,
    svg: SvgOption = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write page and picture there, as one HTML file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all facts as JSON, and nothing else.")] = False,
    _quiet: QuietOption = False,
    store: StoreOption = None,
    no_cache: NoCacheOption = False,
) -> None:
    """Explain a mapping: where its energy goes, what bounds its latency, what each loop does, and what would help.

    What would help is found by searching again, on the machine as it is and on changed ones: memories and ports twice
    and four times as large, longer arrays, and what they lack. Every gain is that of the best mapping there.

    \b
    tilewright explain result/mapping.json
    tilewright explain --layer resnet50:layer1.0.conv2 --arch eyeriss --svg nest.svg
    tilewright explain mine.yaml --layer resnet50:layer1.0.conv2 --arch eyeriss --no-changes
    tilewright explain result/mapping.json --objective latency --json
    tilewright explain cascade.yaml --arch my_chip.yaml --html tree.html
    """
    source = read_source(mapping) if mapping is not None else None
    work = layer if mapping is None else mapping
    if op or tree or (source is not None and source.is_fused) or (einsum is None and _is_cascade(work)):
        named = read_source(work or "") if source is None else source
        if mapping is not None:
            refuse_given(context, "a cascade is given already", "layer")
        refuse_of_cascades(context, "dataflow", "constraints", "conv", "gemm", "einsum")
        if tree is not None or named.is_fused:
            searching = ("constraint", "fuse", "objective", "tiling", "space", "time_limit", "memory_limit", "store")
            refuse_given(context, "it is for searches, and the tree is given", *searching)
        lines = tuple(constraint or ())
        asked = TreeQuestion(objective, tiling, space, fuse, lines, time_limit, memory_limit, store, no_cache)
        explain_cascade(named, op, tree, arch, set_fields, asked, Written(svg, html, as_json))
        return
    refuse_given(context, "one layer has nothing to fuse", "fuse")
    if mapping is not None and no_changes:
        why = "it is for searches, and with --no-changes there is none"
        rules = ("dataflow", "constraints", "constraint", "time_limit", "memory_limit")
        refuse_given(context, why, "objective", "tiling", "space", *rules, "store", "no_cache")
    given = any(text is not None for text in (layer, conv, gemm, einsum))
    problem = problem_named(layer, conv, gemm, einsum) if given else None
    sources = constraint_sources(dataflow, constraints, constraint or ())
    from ..arguments import limits_of
    from ..explanations import Searching, explain_found
    from ..report.explain.page import explanation_page
    from ..report.parts.figures import check_pictures

    check_pictures(svg, None)

    kind, place = cast("Tiling | None", tiling), cast("Space | None", space)
    with noting_interrupts() as interrupts, progress("searching") as watch:
        limits = limits_of(time_limit, memory_limit)
        how = Searching(objective, kind, place, sources, limits, store, not no_cache, watch, say)
        if source is not None:
            found = _read(source, problem, arch, set_fields)
        else:
            found = _searched(problem, arch, set_fields, how)
        result = explain_found(found, how, not no_changes)
    if interrupts:
        say("interrupted: changes that were not searched are left out")
    if as_json:
        show_document(result.to_json())
    else:
        show_page(explanation_page(result))
    write_explanation(result, Written(svg, html, as_json))


def _is_cascade(work: str | None) -> bool:
    """Whether a name is of a cascade; files that hold mappings are not."""
    return work is not None and work != "-" and not work.endswith(".json") and is_cascade(work, None)


def _read(source: MappingSource, layer: Problem | None, arch: str | None, set_fields: list[str] | None) -> ToExplain:
    """The mapping of a file, or of standard input."""
    from ..explanations import ToExplain

    given = source.given
    if ":" in given and not Path(given).exists():
        raise TilewrightError(f"found {given!r}, expected the file of a mapping", hint=f"write --layer {given}")
    loaded = load_on(source, layer, arch, set_fields)
    cost_of(given, loaded)
    return ToExplain(loaded.mapping, loaded.arch, loaded.recorded.certificate if loaded.recorded else None)


def _searched(layer: Problem | None, arch: str | None, set_fields: list[str] | None, how: Searching) -> ToExplain:
    """The best mapping of a layer."""
    from ..explanations import searched_for

    if layer is None:
        raise TilewrightError("expected a mapping or a layer, found neither", hint="give a mapping.json, or --layer")
    return searched_for(layer, architecture_named(arch, set_fields), how)
