"""`tilewright explain`: why a mapping costs what it costs, what each loop is for, and what would help."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ..ir import TilewrightError, Work
from . import completions
from .groups import grouped
from .machines import architecture_named
from .mappings import MappingOptions, evaluated
from .options import (
    DEFAULTS,
    FuseOption,
    HtmlOption,
    MemoryLimitOption,
    QuietOption,
    RuleOptions,
    StoreOptions,
    SvgOption,
    refuse_given,
    seconds_option,
    tiling_and_space,
)
from .problems import cascade_named, is_cascade, refuse_unknown_to_cascades
from .sources import MappingSource, read_source
from .terminal import noting_interrupts, own_command, say, show_document, show_line, show_page, signs

if TYPE_CHECKING:
    from ..explanations import Searching, ToExplain
    from ..mapper.question import Fuse
    from ..report.explain.explanation import Explanation

_TIME_LIMIT = 30.0
_FOR_SEARCHES = (
    *("objective", "tiling", "space", "dataflow", "constraints", "constraint", "fuse"),
    *("time_limit", "memory_limit", "store", "no_cache"),
)


@dataclass(frozen=True)
class AgainOptions:
    """How to search for what would help, or for the mapping."""

    objective: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            autocompletion=completions.objective,
            help="What changes should lower; else what the mapping was searched for, or edp.",
        ),
    ] = None
    tiling: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            autocompletion=completions.tiling,
            help="perfect or ragged; else as the mapping was searched for.",
        ),
    ] = None
    space: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            autocompletion=completions.space,
            help="even or uneven; else as the mapping was searched for.",
        ),
    ] = None
    no_changes: Annotated[bool, typer.Option("--no-changes", help="Search for nothing: leave out what would help.")] = (
        False
    )
    time_limit: Annotated[
        float,
        seconds_option(
            "For all searches of what would help together, and for that of the mapping if none is given; then it "
            "takes the best so far, not proven, and leaves out the changes that remain.",
        ),
    ] = _TIME_LIMIT
    memory_limit: MemoryLimitOption = DEFAULTS["memory_limit"]


@dataclass(frozen=True)
class PageOptions:
    """Where the explanation goes."""

    svg: SvgOption = None
    html: HtmlOption = None
    as_json: Annotated[bool, typer.Option("--json", help="Print all facts as JSON, and nothing else.")] = False
    quiet: QuietOption = False


@grouped
def explain(
    context: typer.Context,
    on: MappingOptions,
    again: AgainOptions,
    rules: RuleOptions,
    kept: StoreOptions,
    shown: PageOptions,
    mapping: Annotated[
        str | None,
        typer.Argument(
            metavar="MAPPING",
            help="A mapping.json of `tilewright search`, or a mapping file in YAML; - reads standard input. "
            "Without it, the layer is searched for on the architecture.",
        ),
    ] = None,
    fuse: FuseOption = DEFAULTS["fuse"],
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
    from ..arguments import limits_of
    from ..explanations import Searching, explain_found, with_changes
    from ..report.explain.page import explanation_page, improvement_page
    from ..report.parts.figures import check_pictures

    check_pictures(shown.svg, None)
    source = read_source(mapping) if mapping is not None else None
    of_cascade = _is_of_cascade(source, on)
    if of_cascade:
        refuse_given(context, "a cascade is given already", *(["layer"] if source is not None else []))
        refuse_unknown_to_cascades(context)
        source = source or read_source(on.layer or "")
    else:
        refuse_given(context, "one layer has nothing to fuse", "fuse")
    has_changes = not (of_cascade or again.no_changes)
    given = source if source is not None and (source.is_fused or on.tree is not None or not of_cascade) else None
    if given is not None and not has_changes:
        why = "the tree is given" if of_cascade else "with --no-changes there is none"
        refuse_given(context, f"it is for searches, and {why}", *_FOR_SEARCHES)
    tiling, space = tiling_and_space(again.tiling, again.space or "even")
    place, limits = space if again.space is not None else None, limits_of(again.time_limit, again.memory_limit)
    rule, fused = rules.of_kind(of_cascade), cast("Fuse", fuse)
    how = Searching(again.objective, tiling, place, rule, limits, kept.store, not kept.no_cache, note=say, fuse=fused)
    with noting_interrupts() as interrupts:
        found = _read(context, given, on, of_cascade) if given is not None else _searched(_work(source, on), on, how)
        explanation = explain_found(found, how, changes=False)
        if not shown.as_json:
            show_page(explanation_page(explanation))
        if has_changes:
            with signs("searching what would help") as seen:
                explanation = with_changes(explanation, found, replace(how, watch=seen.begin))
            if not shown.as_json:
                show_page(improvement_page(explanation))
    if interrupts:
        say("interrupted: what was not searched to its end is not proven, or left out")
    _write(explanation, shown)


def _is_of_cascade(source: MappingSource | None, on: MappingOptions) -> bool:
    """Whether a cascade, or a tree of one, is to be explained; files that hold mappings are no names of cascades."""
    name = on.layer if source is None else source.given
    is_named = on.einsum is None and name is not None and name != "-" and not name.endswith(".json")
    fused = source is not None and source.is_fused
    return bool(on.op or on.tree) or fused or (is_named and is_cascade(name, None))


def _read(context: typer.Context, source: MappingSource, on: MappingOptions, of_cascade: bool) -> ToExplain:
    """The mapping of a file, of standard input, or one written by hand."""
    from ..explanations import ToExplain

    name = source.given
    if not of_cascade and ":" in name and not Path(name).exists():
        raise TilewrightError(f"found {name!r}, expected the file of a mapping", hint=f"write --layer {name}")
    found = evaluated(on.loaded(context, source))
    return ToExplain(found.mapping, found.arch, found.certificate)


def _work(cascade: MappingSource | None, on: MappingOptions) -> Work:
    """The layer or the cascade that the arguments name."""
    if cascade is not None:
        if not cascade.given:
            raise TilewrightError("expected a cascade, found none", hint="name a file, or sizes beside --op")
        return cascade_named(cascade.given, on.op)
    layer = on.problem()
    if layer is None:
        raise TilewrightError("expected a mapping or a layer, found neither", hint="give a mapping.json, or --layer")
    return layer


def _searched(work: Work, on: MappingOptions, how: Searching) -> ToExplain:
    """The best mapping."""
    from ..explanations import searched_for

    machine = architecture_named(on.arch, on.set_fields)
    with signs(f"searching the best mapping of {work.name} on {machine.name}"):
        return searched_for(work, machine, how)


def _write(explanation: Explanation, shown: PageOptions) -> None:
    """Print an explanation as JSON, and write the files that are asked for."""
    from ..results import write_file

    if shown.as_json:
        show_document(explanation.to_json())
    files = []
    if shown.svg is not None:
        files.append(write_file(shown.svg, explanation.svg()))
    if shown.html is not None:
        files.append(write_file(shown.html, explanation.html(own_command())))
    if files and not shown.as_json:
        show_line("\n".join(["", "Files", *(f"  {file}" for file in files)]))
