"""`tilewright search`: the layer, the architecture and the question, and the page of the answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..ir import TilewrightError
from . import completions
from .constraint_options import constraint_sources
from .machines import architecture_named
from .mappings import show_result, verify_mapping
from .options import (
    ArchOption,
    ConstraintOption,
    ConstraintsOption,
    ConvOption,
    DataflowOption,
    DimsOption,
    EinsumOption,
    GemmOption,
    LayerArgument,
    NoCacheOption,
    ObjectiveOption,
    QuietOption,
    SetOption,
    SpaceOption,
    StoreOption,
    TilingOption,
    TimeLimitOption,
    WidthsOption,
    refuse_given,
    tiling_and_space,
)
from .problems import problem_named
from .several import show_several
from .terminal import noting_interrupts, say, show_document, status

if TYPE_CHECKING:
    from ..results import SearchResult
    from ..stored import Stored


def search(
    context: typer.Context,
    layer: LayerArgument = None,
    arch: ArchOption = None,
    set_fields: SetOption = None,
    objective: ObjectiveOption = "edp",
    tiling: TilingOption = "perfect",
    space: SpaceOption = "even",
    strategy: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=completions.words("exact", "cpsat", "random", "anneal", "genetic"),
            help="exact; cpsat, an independent exact model; random, anneal or genetic, which prove nothing.",
        ),
    ] = "exact",
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Of the strategies that draw lots.")] = 0,
    top: Annotated[
        int | None, typer.Option(metavar="N", help="The N best mappings that differ in energy or latency.")
    ] = None,
    pareto: Annotated[
        str | None,
        typer.Option(metavar="energy,latency", help="All mappings that nothing beats in both, each proven."),
    ] = None,
    time_limit: TimeLimitOption = None,
    conv: ConvOption = None,
    gemm: GemmOption = None,
    einsum: EinsumOption = None,
    dim: DimsOption = None,
    widths: WidthsOption = "file",
    dataflow: DataflowOption = None,
    constraints: ConstraintsOption = None,
    constraint: ConstraintOption = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write mapping.json, nest.txt and reference.py there.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the mapping.json document, and nothing else.")] = False,
    quiet: QuietOption = False,
    verify: Annotated[bool, typer.Option("--verify", help="Run the numpy program of the mapping and compare.")] = False,
    store: StoreOption = None,
    no_cache: NoCacheOption = False,
) -> None:
    """Search for the best mapping of a layer, and prove that none is better.

    A result is kept in a store; the same search in any later command is answered from it, and the page says so.

    \b
    tilewright search resnet50:layer1.0.conv2 --arch eyeriss --objective edp
    tilewright search --conv K=64,C=64,P=56,Q=56,R=3,S=3,stride=1 --arch tpu_v1 --out result
    tilewright search --gemm M=512,N=768,K=3072 --arch my_chip.yaml --objective latency --verify
    tilewright search --einsum "bhqd,bhkd->bhqk" b=1,h=12,q=128,k=128,d=64 --arch eyeriss --json
    tilewright search resnet50:conv1 --arch eyeriss --objective "energy where latency <= 1e6"
    tilewright search resnet50:conv1 --arch eyeriss --space uneven --top 3
    tilewright search resnet50:conv1 --arch eyeriss --set array=16x16 --set "GLB.size=1 MiB"
    tilewright search resnet50:conv1 --arch eyeriss --pareto energy,latency
    tilewright search resnet50:conv1 --arch eyeriss --dataflow row-stationary --constraint "utilization>=0.5"
    """
    problem = problem_named(layer, conv, gemm, einsum, dim, widths)
    machine = architecture_named(arch, set_fields)
    from ..cost_models import parse_objective
    from ..mapper.strategies import STRATEGIES
    from ..results import check_choice, prepare_folder, search_top
    from ..results import search as search_for

    wanted = parse_objective(objective)
    kind, place = tiling_and_space(tiling, space)
    check_choice("strategy", strategy, STRATEGIES)
    _check_kind(top, pareto, strategy)
    _refuse_ignored(context, top, pareto, strategy, no_cache)
    if out is not None:
        prepare_folder(out)
    sources = constraint_sources(dataflow, constraints, constraint or ())
    origin = ""
    with noting_interrupts() as interrupts, status(f"searching the best mapping of {problem.name} on {machine.name}"):
        if top is not None:
            results = search_top(problem, machine, top, wanted, kind, place, sources, time_limit)
        elif pareto is not None:
            results = _search_front(store, no_cache)(problem, machine, kind, place, sources, time_limit)
        elif strategy == "exact" and not no_cache:
            from ..stored import search_stored

            found = search_stored(problem, machine, wanted, kind, place, sources, time_limit, store, say)
            results, origin = [found.result], _origin(found)
        else:
            results = [search_for(problem, machine, wanted, kind, place, sources, strategy, time_limit, seed)]
    if interrupts:
        say("interrupted: this is the best found so far; the same command searches to the end")
    if top is not None or pareto is not None:
        show_several(results, out, json)
        for result in results if verify else ():
            verify_mapping(result.mapping, machine, quiet=json)
        return
    _show(results[0], out, json, origin)
    if verify:
        verify_mapping(results[0].mapping, machine, quiet=json)


def _search_front(store: Path | None, no_cache: bool) -> Callable[..., list[SearchResult]]:
    """The search of a front, by way of the store unless it is to be left alone."""
    if no_cache:
        from ..results import search_pareto

        return search_pareto
    from ..stored import front_stored

    return partial(front_stored, store=store, note=say)


def _origin(found: Stored) -> str:
    """Where a result is from, if it was not found just now."""
    if found.record is None:
        return ""
    from ..report.stored import recalled_text

    return recalled_text(found.record)


def _show(result: SearchResult, out: Path | None, json: bool, origin: str) -> None:
    """Write the files that were asked for, and print the page or the document."""
    files = result.save(out) if out is not None else ()
    if not json:
        show_result(result.mapping, result.arch, result.cost, result.certificate, files, origin)
        return
    show_document(result.emit("json"))
    if origin:
        say(f"note: {origin}")


def _refuse_ignored(context: typer.Context, top: int | None, pareto: str | None, strategy: str, no_cache: bool) -> None:
    """TilewrightError for options that this kind of search has no use for."""
    if pareto is not None:
        refuse_given(context, "a front is over energy and latency, and has no other objective", "objective")
    if strategy in ("exact", "cpsat"):
        refuse_given(context, f"the strategy {strategy} draws no lots", "seed")
    if top is not None or strategy != "exact":
        refuse_given(context, "the store keeps no results of --top and of strategies other than exact", "store")
    if no_cache:
        refuse_given(context, "--no-cache leaves the store alone", "store")


def _check_kind(top: int | None, pareto: str | None, strategy: str) -> None:
    """At most one of --top, --pareto and another strategy."""
    given = [name for name, asked in (("--top", top), ("--pareto", pareto)) if asked is not None]
    if strategy != "exact" and given:
        raise TilewrightError(f"{given[0]} needs the exact strategy, found {strategy}", where="--strategy")
    if len(given) > 1:
        raise TilewrightError("expected one of --top and --pareto, found both")
    if pareto is not None and sorted(pareto.replace(" ", "").split(",")) != ["energy", "latency"]:
        raise TilewrightError(f"found {pareto!r}, expected energy,latency", where="--pareto")
