"""`tilewright search`: the layer, the architecture and the question, and the page of the answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ..ir import Problem, TilewrightError
from . import completions
from .cascade_search import CascadeOptions, search_cascade_named
from .cascades import cascade_named, is_cascade
from .constraint_options import constraint_sources
from .lowered import search_both_forms
from .machines import architecture_named, laid_out
from .mappings import show_result, verify_mapping
from .options import (
    DEFAULT_MEMORY,
    ArchOption,
    ConstraintOption,
    ConstraintsOption,
    ConvOption,
    DataflowOption,
    DensityOption,
    DimsOption,
    EinsumOption,
    FuseOption,
    GemmOption,
    LayoutOption,
    MemoryLimitOption,
    NoCacheOption,
    ObjectiveOption,
    OpOption,
    QuietOption,
    SetOption,
    SpaceOption,
    StoreOption,
    TilingOption,
    TimeLimitOption,
    WidthsOption,
    WorkArgument,
    refuse_given,
)
from .problems import problem_named
from .several import show_several
from .sparse import refuse_densities, with_density
from .terminal import noting_interrupts, say, show_document, status

if TYPE_CHECKING:
    from ..mapper.certificate import Points
    from ..mapper.question import Question
    from ..mapper.space import Space
    from ..mapper.strategies import Strategy
    from ..mapper.tilings import Tiling
    from ..results import NestResult
    from ..stored import Stored


def search(
    context: typer.Context,
    layer: WorkArgument = None,
    arch: ArchOption = None,
    set_fields: SetOption = None,
    objective: ObjectiveOption = "edp",
    tiling: TilingOption = None,
    space: SpaceOption = "even",
    strategy: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=completions.words("exact", "cpsat", "random", "anneal", "genetic"),
            help="exact; cpsat, an independent exact model; random, anneal or genetic, which prove nothing.",
        ),
    ] = "exact",
    density: DensityOption = None,
    layout: LayoutOption = None,
    seed: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Of the strategies that draw lots; 0, if not given.")
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="The N best mappings that differ in energy or latency; of a cascade, in how it is fused."
        ),
    ] = None,
    pareto: Annotated[
        str | None,
        typer.Option(metavar="energy,latency", help="All mappings that nothing beats in both, each proven."),
    ] = None,
    time_limit: TimeLimitOption = None,
    memory_limit: MemoryLimitOption = DEFAULT_MEMORY,
    conv: ConvOption = None,
    gemm: GemmOption = None,
    einsum: EinsumOption = None,
    op: OpOption = None,
    fuse: FuseOption = "all",
    dim: DimsOption = None,
    widths: WidthsOption = "file",
    dataflow: DataflowOption = None,
    constraints: ConstraintsOption = None,
    constraint: ConstraintOption = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write mapping.json, nest.txt and reference.py there.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the mapping.json document, and nothing else.")] = False,
    _quiet: QuietOption = False,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="FORM",
            autocompletion=completions.form,
            help="Print the mapping in a form of `tilewright emit`, nothing else.",
        ),
    ] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Run the numpy program of the mapping and compare.")] = False,
    im2col: Annotated[
        bool,
        typer.Option("--im2col", help="Of a convolution: also as a product with a lowered operand; the better one."),
    ] = False,
    store: StoreOption = None,
    no_cache: NoCacheOption = False,
) -> None:
    """Search for the best mapping of a layer or of a cascade of operations, and prove that none is better.

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
    tilewright search --gemm M=512,N=512,K=512 --arch sparse_tensor_core --density W=2:4
    tilewright search resnet50:layer1.0.conv2 --arch eyeriss --set "DRAM.line=64 B" --layout any
    tilewright search resnet50:layer1.0.conv2 --arch eyeriss --im2col
    tilewright search resnet50:conv1 --arch eyeriss --dataflow row-stationary --constraint "utilization>=0.5"
    tilewright search --op "T[m,n] += A[m,k] * B[k,n]" --op "O[m,p] += T[m,n] * C[n,p]" m=64,k=64,n=64,p=64
      --arch my_chip.yaml --objective edp
    tilewright search cascade.yaml --arch my_chip.yaml --objective "energy where latency <= 2e6"
    """
    if op or (einsum is None and is_cascade(layer, op, dim)):
        refuse_given(context, "a cascade is given already", "conv", "gemm", "einsum")
        refuse_densities(context)
        refuse_given(context, "cascades have no such form", "im2col")
        _check_kind(top, pareto, strategy, _form(json, to))
        _refuse_ignored(context, top, pareto, strategy, no_cache)
        limits_given = (
            time_limit,
            memory_limit,
            out,
            _form(json, to),
            verify,
            store,
            no_cache,
            tuple(constraint or ()),
        )
        options = CascadeOptions(objective, tiling, space, fuse, top, pareto, *limits_given)
        cascade = cascade_named(layer, op, dim, widths)
        search_cascade_named(context, cascade, laid_out(architecture_named(arch, set_fields), cascade, layout), options)
        return
    from ..arguments import limits_of, question_of, tiling_or_default

    refuse_given(context, "one layer has nothing to fuse", "fuse")
    problem = with_density(problem_named(layer, conv, gemm, einsum, dim, widths), density, layer, dim)
    machine = laid_out(architecture_named(arch, set_fields), problem, layout)

    if im2col:
        unknown_to_forms = ("strategy", "seed", "top", "pareto", "density", "to", "verify", "store", "no_cache")
        refuse_given(context, "it is not known to --im2col; leave it out", *unknown_to_forms)
        chosen_space = (_space(space), constraint_sources(dataflow, constraints, constraint or ()))
        asked = question_of(
            problem,
            machine,
            objective,
            tiling_or_default(cast("Tiling | None", tiling)),
            *chosen_space,
            limits_of(time_limit, memory_limit),
        )
        search_both_forms(asked, out, json)
        return
    from ..mapper.strategies import strategy_named
    from ..results import prepare_folder

    chosen, form = strategy_named(strategy, seed=seed), _form(json, to)
    _check_kind(top, pareto, strategy, form)
    _refuse_ignored(context, top, pareto, strategy, no_cache)
    (kind, note), limits = _tiling(tiling, chosen, form, problem), limits_of(time_limit, memory_limit)
    sources = constraint_sources(dataflow, constraints, constraint or ())
    question = question_of(problem, machine, objective, kind, _space(space), sources, limits)
    if out is not None:
        prepare_folder(out)
    searches = _CommandSearches(question, chosen, not no_cache, store)
    with noting_interrupts() as interrupts, status(f"searching the best mapping of {problem.name} on {machine.name}"):
        if top is not None or pareto is not None:
            results = searches.several(top)
        else:
            found, origin = searches.one()
    if note:
        say(note)
    if interrupts:
        say("interrupted: this is the best found so far; the same command searches to the end")
    if top is not None or pareto is not None:
        show_several(results, pareto is not None, out, form == "json")
        for result in results if verify else ():
            verify_mapping(result.mapping, machine, quiet=form is not None)
        return
    _show(found, out, form, origin)
    if verify:
        verify_mapping(found.mapping, machine, quiet=form is not None)


@dataclass(frozen=True)
class _CommandSearches:
    """The searches of one command."""

    question: Question
    strategy: Strategy
    cached: bool
    store: Path | None

    def one(self) -> tuple[NestResult, str]:
        """The best mapping, and where it is from, if it was not found just now."""
        from ..results import SearchResult

        if self.strategy.name != "exact" or not self.cached:
            return SearchResult.of(self.question, self.strategy.search(self.question)), ""
        from ..stored import search_stored

        found = search_stored(self.question, self.store, say)
        return found.result, _origin(found)

    def several(self, top: int | None) -> Points[NestResult]:
        """The best few, or the front."""
        from ..results import SearchResult
        from ..searches import best_few

        if top is not None:
            return best_few(self.question, top)
        if self.cached:
            from ..stored import front_stored

            return front_stored(self.question, self.store, say)
        from ..mapper.several import search_front

        return search_front(self.question).each(lambda answer: SearchResult.of(self.question, answer))


def _form(json: bool, to: str | None) -> str | None:
    """The form that is printed in place of the page."""
    if json and to is not None:
        raise TilewrightError("expected one of --json and --to, found both", where="--to")
    if to is None:
        return "json" if json else None
    from ..forms import form_named

    form_named(to)
    return to


def _tiling(asked: str | None, strategy: Strategy, form: str | None, problem: Problem) -> tuple[Tiling, str]:
    """The tiling that is asked for, else the default; or what the strategy and the form know in its place, and a note
    that says so."""
    from ..arguments import tiling_or_default, tilings_of
    from ..forms import form_named
    from ..mapper.tilings import TILINGS, tiling_for

    knowing = {f"the strategy {strategy.name}": strategy.tilings}
    if form is not None:
        knowing[f"the form {form}"] = form_named(form).tilings
    known = [tiling for tiling in TILINGS if all(tiling in tilings for tilings in knowing.values())]
    found = tiling_or_default(cast("Tiling | None", asked), known if asked else tilings_of(problem, known))
    note = ""
    for who, tilings in knowing.items():
        if found not in tilings:
            message = f"{who} knows {' and '.join(tilings)} tilings only, found {found}"
            raise TilewrightError(message, where="--tiling")
        if asked is None and tiling_for() not in tilings:
            note = f"note: {found} tilings, since {who} knows no others"
    return found, note


def _space(space: str) -> Space:
    from ..arguments import check_choice
    from ..mapper.space import SPACES

    check_choice("space", space, SPACES)
    return cast("Space", space)


def _origin(found: Stored[Any, Any]) -> str:
    """Where a result is from, if it was not found just now."""
    if found.record is None:
        return ""
    from ..report.pages.stored import recalled_text

    return recalled_text(found.record)


def _show(result: NestResult, out: Path | None, form: str | None, origin: str) -> None:
    """Write the files that were asked for, and print the page, or the form that is asked for."""
    from ..forms import emit_mapping

    files = result.save(out) if out is not None else ()
    if form is None:
        show_result(result.mapping, result.arch, result.cost, result.certificate, files, origin)
        return
    show_document(emit_mapping(result, form))
    if origin:
        say(f"note: {origin}")


def _refuse_ignored(context: typer.Context, top: int | None, pareto: str | None, strategy: str, no_cache: bool) -> None:
    """TilewrightError for options that this kind of search has no use for."""
    if pareto is not None:
        refuse_given(context, "a front is over energy and latency, and has no other objective", "objective")
    if top is not None or strategy != "exact":
        refuse_given(context, "the store keeps no results of --top and of strategies other than exact", "store")
    if no_cache:
        refuse_given(context, "--no-cache leaves the store alone", "store")


def _check_kind(top: int | None, pareto: str | None, strategy: str, form: str | None) -> None:
    """At most one of --top, --pareto and another strategy; and no form of one mapping where there are several."""
    given = [name for name, asked in (("--top", top), ("--pareto", pareto)) if asked is not None]
    if strategy != "exact" and given:
        raise TilewrightError(f"{given[0]} needs the exact strategy, found {strategy}", where="--strategy")
    if len(given) > 1:
        raise TilewrightError("expected one of --top and --pareto, found both")
    if given and form not in (None, "json"):
        raise TilewrightError(f"{given[0]} prints a page or JSON, found {form}", where="--to")
    if pareto is not None and sorted(pareto.replace(" ", "").split(",")) != ["energy", "latency"]:
        raise TilewrightError(f"found {pareto!r}, expected energy,latency", where="--pareto")
