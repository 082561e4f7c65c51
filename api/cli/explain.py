"""`tilewright explain`: why a mapping costs what it costs, what each loop is for, and what would help."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ..ir import Problem, TilewrightError
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
    from ..mapping_sources import EvaluatedMapping
    from ..report.explain.explanation import Explanation
    from ..results import SearchResult

_TIME_LIMIT = 30.0


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
    from ..report.parts.figures import check_pictures

    check_pictures(shown.svg, None)
    source = read_source(mapping) if mapping is not None else None
    work = on.layer if mapping is None else mapping
    is_tree = source is not None and source.is_fused
    if on.op or on.tree or is_tree or (on.einsum is None and _is_cascade(work)):
        if mapping is not None:
            refuse_given(context, "a cascade is given already", "layer")
        refuse_unknown_to_cascades(context)
        _show(_of_tree(context, source or read_source(work or ""), on, again, rules, kept, fuse), shown)
        return
    refuse_given(context, "one layer has nothing to fuse", "fuse")
    if mapping is not None and again.no_changes:
        why = "it is for searches, and with --no-changes there is none"
        rule = ("dataflow", "constraints", "constraint", "time_limit", "memory_limit")
        refuse_given(context, why, "objective", "tiling", "space", *rule, "store", "no_cache")
    _of_nest(context, source, on, again, rules, kept, shown)


def _is_cascade(work: str | None) -> bool:
    """Whether a name is of a cascade; files that hold mappings are not."""
    return work is not None and work != "-" and not work.endswith(".json") and is_cascade(work, None)


def _of_nest(
    context: typer.Context,
    source: MappingSource | None,
    on: MappingOptions,
    again: AgainOptions,
    rules: RuleOptions,
    kept: StoreOptions,
    shown: PageOptions,
) -> None:
    """Explain a layer's mapping, of a file or the best one: what is known is printed before anything is searched."""
    from ..arguments import limits_of
    from ..explanations import Searching, explain_found, with_changes
    from ..report.explain.page import explanation_page, improvement_page

    tiling, space = tiling_and_space(again.tiling, again.space or "even")
    place = space if again.space is not None else None
    problem, sources = on.problem(), rules.sources()
    limits, cached = limits_of(again.time_limit, again.memory_limit), not kept.no_cache
    how = Searching(again.objective, tiling, place, sources, limits, kept.store, cached, note=say)
    with noting_interrupts() as interrupts:
        if source is None:
            with signs("searching the mapping"):
                found = _searched(problem, on, how)
        else:
            found = _read(context, source, on)
        explanation = explain_found(found, how, changes=False)
        if not shown.as_json:
            show_page(explanation_page(explanation))
        if not again.no_changes:
            with signs("searching what would help") as seen:
                explanation = with_changes(explanation, found, replace(how, watch=seen.begin))
            if not shown.as_json:
                show_page(improvement_page(explanation))
    if interrupts:
        say("interrupted: changes that were not searched are left out")
    _write(explanation, shown)


def _read(context: typer.Context, source: MappingSource, on: MappingOptions) -> ToExplain:
    """The mapping of a file, or of standard input."""
    from ..explanations import ToExplain

    given = source.given
    if ":" in given and not Path(given).exists():
        raise TilewrightError(f"found {given!r}, expected the file of a mapping", hint=f"write --layer {given}")
    found = evaluated(on.loaded(context, source))
    return ToExplain(found.mapping, found.arch, found.certificate)


def _searched(layer: Problem | None, on: MappingOptions, how: Searching) -> ToExplain:
    """The best mapping of a layer."""
    from ..explanations import searched_for

    if layer is None:
        raise TilewrightError("expected a mapping or a layer, found neither", hint="give a mapping.json, or --layer")
    return searched_for(layer, architecture_named(on.arch, on.set_fields), how)


def _of_tree(
    context: typer.Context,
    source: MappingSource,
    on: MappingOptions,
    again: AgainOptions,
    rules: RuleOptions,
    kept: StoreOptions,
    fuse: str,
) -> Explanation:
    """The explanation of a tree: of a file's, of one written by hand, or of the best one of a cascade."""
    from ..report.explain.explanation import explain_mapping

    found: EvaluatedMapping | SearchResult
    if source.is_fused or on.tree is not None:
        searching = ("constraint", "fuse", "objective", "tiling", "space", "time_limit", "memory_limit", "store")
        refuse_given(context, "it is for searches, and the tree is given", *searching)
        found = evaluated(on.loaded(context, source))
    else:
        found = _best_tree(source, on, again, rules, kept, fuse)
    return explain_mapping(found.mapping, found.arch, found.cost)


def _best_tree(
    source: MappingSource,
    on: MappingOptions,
    again: AgainOptions,
    rules: RuleOptions,
    kept: StoreOptions,
    fuse: str,
) -> SearchResult:
    from ..arguments import limits_of, question_of
    from ..searches import find_best

    if not source.given:
        raise TilewrightError("expected a cascade, found none", hint="name a file, or sizes beside --op")
    cascade, machine = cascade_named(source.given, on.op), architecture_named(on.arch, on.set_fields)
    kinds = tiling_and_space(again.tiling, again.space or "even")
    limits, lines = limits_of(again.time_limit, again.memory_limit), tuple(rules.constraint or ())
    question = question_of(cascade, machine, again.objective or "edp", *kinds, lines, limits, cast("Fuse", fuse))
    with noting_interrupts(), signs(f"searching the best mapping of {cascade.name} on {machine.name}"):
        return find_best(question, kept.store, say, cached=not kept.no_cache)[0]


def _show(explanation: Explanation, shown: PageOptions) -> None:
    """Print an explanation, and write the files that are asked for."""
    from ..report.explain.page import explanation_page

    if not shown.as_json:
        show_page(explanation_page(explanation))
    _write(explanation, shown)


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
