"""`tilewright search`: the layer or the cascade, the architecture and the question, and the page of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ..ir import Cascade, Problem, TilewrightError, Work
from . import completions
from .groups import grouped
from .machines import MachineOptions, laid_out
from .mappings import verify_mapping
from .options import (
    DEFAULTS,
    FuseOption,
    HtmlOption,
    KindOptions,
    LayoutOption,
    LimitOptions,
    ObjectiveOption,
    QuietOption,
    RuleOptions,
    StoreOptions,
    option,
    refuse_given,
)
from .problems import WorkOptions
from .terminal import is_quiet, noting_interrupts, own_command, say, show_document, show_page, signs

if TYPE_CHECKING:
    from ..mapper.certificate import Points
    from ..mapper.fusing_reasons import Reason
    from ..mapper.question import AnyQuestion, Fuse, NestQuestion, TreeQuestion
    from ..mapper.strategies import Strategy
    from ..mapper.tilings import Tiling
    from ..report.parts.progress import Signs
    from ..results import SearchResult

_PROGRAM = "reference.py"
_LONG = 2.0  # seconds after which a quicker question that would have done is named


@dataclass(frozen=True)
class WayOptions:
    """How it is searched, and for how many mappings."""

    strategy: Annotated[str, option("strategy")] = DEFAULTS["strategy"]
    seed: Annotated[int | None, option("seed")] = DEFAULTS["seed"]
    top: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="The N best mappings that differ in energy or latency; of a cascade, in how it is fused."
        ),
    ] = None
    pareto: Annotated[
        str | None,
        typer.Option(metavar="energy,latency", help="All mappings that nothing beats in both, each proven."),
    ] = None
    im2col: Annotated[
        bool,
        typer.Option("--im2col", help="Of a convolution: also as a product with a lowered operand; the better one."),
    ] = False

    @property
    def is_for_several(self) -> bool:
        """Whether more than one mapping is asked for."""
        return self.top is not None or self.pareto is not None

    def check(self, context: typer.Context, form: str | None) -> None:
        """At most one of --top, --pareto and another strategy; no form of one mapping where there are several; and
        no options that this kind of search has no use for."""
        given = [name for name, asked in (("--top", self.top), ("--pareto", self.pareto)) if asked is not None]
        if self.strategy != "exact" and given:
            raise TilewrightError(f"{given[0]} needs the exact strategy, found {self.strategy}", where="--strategy")
        if len(given) > 1:
            raise TilewrightError("expected one of --top and --pareto, found both")
        if given:
            refuse_given(
                context, f"{given[0]} has no page of its own in a browser yet; see explore and compare", "html"
            )
        if given and form not in (None, "json"):
            raise TilewrightError(f"{given[0]} prints a page or JSON, found {form}", where="--to")
        if self.pareto is not None:
            if sorted(self.pareto.replace(" ", "").split(",")) != ["energy", "latency"]:
                raise TilewrightError(f"found {self.pareto!r}, expected energy,latency", where="--pareto")
            refuse_given(context, "a front is over energy and latency, and has no other objective", "objective")
        if self.top is not None or self.strategy != "exact":
            refuse_given(context, "the store keeps no results of --top and of strategies other than exact", "store")


@dataclass(frozen=True)
class OutOptions:
    """What is printed and written."""

    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write mapping.json, nest.txt and reference.py there.")
    ] = None
    html: HtmlOption = None
    json: Annotated[bool, typer.Option("--json", help="Print the mapping.json document, and nothing else.")] = False
    quiet: QuietOption = False
    to: Annotated[
        str | None,
        typer.Option(
            metavar="FORM",
            autocompletion=completions.form,
            help="Print the mapping in a form of `tilewright emit`, nothing else.",
        ),
    ] = None
    verify: Annotated[bool, typer.Option("--verify", help="Run the numpy program of the mapping and compare.")] = False

    def form(self) -> str | None:
        """The form that is printed in place of the page."""
        if self.json and self.to is not None:
            raise TilewrightError("expected one of --json and --to, found both", where="--to")
        if self.to is None:
            return "json" if self.json else None
        from ..forms import form_named

        form_named(self.to)
        return self.to


@grouped
def search(
    context: typer.Context,
    *,
    work: WorkOptions,
    machine: MachineOptions,
    layout: LayoutOption = DEFAULTS["layout"],
    objective: ObjectiveOption = DEFAULTS["objective"],
    kinds: KindOptions,
    fuse: FuseOption = DEFAULTS["fuse"],
    rules: RuleOptions,
    way: WayOptions,
    limits: LimitOptions,
    shown: OutOptions,
    kept: StoreOptions,
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
    from ..mapper.strategies import strategy_named
    from ..results import prepare_folder

    asked = work.named(context)
    arch, form = laid_out(machine.named(), asked, layout), shown.form()
    way.check(context, form)
    kept.refuse_ignored(context)
    if way.im2col:
        unknown = ("strategy", "seed", "top", "pareto", "density", "to", "html", "verify", "store", "no_cache")
        refuse_given(context, "it is not known to --im2col; leave it out", *unknown)
    strategy = strategy_named(way.strategy, seed=way.seed)
    tiling, note = _tiling(kinds.checked()[0], strategy, form, asked)
    question = _question(asked, arch, objective, tiling, kinds, rules, limits, fuse)
    if isinstance(asked, Cascade):
        _check_tree(context, way, form)
    if shown.out is not None:
        prepare_folder(shown.out)
    if way.im2col:
        _search_both_forms(cast("NestQuestion", question), shown)
        return
    search = _CommandSearch(question, strategy, kept)
    with (
        noting_interrupts() as interrupts,
        signs(f"searching the best mapping of {asked.name} on {arch.name}") as signs_seen,
    ):
        if way.is_for_several:
            results = search.several(way.top)
        else:
            result, origin = search.best()
    _say_how_it_went(note, bool(interrupts), signs_seen)
    if way.is_for_several:
        _show_several(results, way.top is None, shown)
    else:
        _show(result, search, origin, shown)
    for one in (results if way.is_for_several else [result]) if shown.verify else ():
        verify_mapping(one.mapping, arch, quiet=form is not None)


def _say_how_it_went(note: str, interrupted: bool, seen: Signs) -> None:
    """Say what is worth knowing of a search; of a long one also a cheaper question with the same answer."""
    if note:
        say(note)
    cheaper, took = seen.search.now().cheaper, seen.seconds
    if interrupted:
        say("interrupted: this is the best found so far; the same command searches to the end")
    elif cheaper is not None and took > max(_LONG, 2 * cheaper[1]):
        say(f"note: --{cheaper[0]} has the same value, in {cheaper[1]:.1f} s of these {took:.1f} s")


def _question(
    work: Work,
    arch: Any,
    objective: str,
    tiling: Tiling,
    kinds: KindOptions,
    rules: RuleOptions,
    limits: LimitOptions,
    fuse: str,
) -> AnyQuestion:
    """The question that the options ask."""
    from ..arguments import question_of

    rule = rules.of_kind(isinstance(work, Cascade))
    return question_of(work, arch, objective, tiling, kinds.checked()[1], rule, limits.limits(), cast("Fuse", fuse))


def _check_tree(context: typer.Context, way: WayOptions, form: str | None) -> None:
    """TilewrightError for a form that does not know cascades, and for a store of what it does not keep."""
    from ..forms import check_knows_trees

    if form is not None:
        check_knows_trees(form)
    if way.pareto is not None:
        refuse_given(context, "the store keeps no fronts of cascades yet", "store")


@dataclass(frozen=True)
class _CommandSearch:
    """The search of one command."""

    question: AnyQuestion
    strategy: Strategy
    kept: StoreOptions

    def best(self, question: AnyQuestion | None = None) -> tuple[SearchResult, str]:
        """The best mapping, of another question if one is given; and where it is from, if not found just now."""
        from ..searches import find_best

        cached = self.strategy.name == "exact" and not self.kept.no_cache
        asked = question or self.question
        result, record = find_best(asked, self.kept.store, say, cached=cached, strategy=self.strategy)
        if record is None:
            return result, ""
        from ..report.pages.stored import recalled_text
        from ..run.store.opening import store_path

        return result, f"{recalled_text(record)}, in {store_path(self.kept.store)} (--no-cache searches again)"

    def several(self, top: int | None) -> Points[SearchResult]:
        """The best few, or the front."""
        from ..searches import find_few, find_front

        if top is not None:
            return find_few(self.question, top)
        return find_front(self.question, self.kept.store, say, cached=not self.kept.no_cache)

    def reason(self, result: SearchResult) -> Reason | None:
        """Why fusing wins nothing, where it is proven to."""
        if result.saves != 0 or not result.certificate.proven or is_quiet():
            return None
        from ..mapper.fusing_reasons import why_nothing_is_won

        with signs("searching for what fusing lacks"):
            asked = cast("TreeQuestion", self.question)
            return why_nothing_is_won(asked, lambda one: self.best(one)[0].answer)


def _tiling(asked: Tiling | None, strategy: Strategy, form: str | None, work: Work) -> tuple[Tiling, str]:
    """The tiling that is asked for, else the default; or what the strategy and the form know in its place, and a note
    that says so."""
    from ..arguments import tiling_or_default, tilings_of
    from ..forms import form_named
    from ..mapper.tilings import TILINGS, tiling_for

    knowing = {f"the strategy {strategy.name}": strategy.tilings}
    if form is not None:
        knowing[f"the form {form}"] = form_named(form).tilings
    known: Sequence[Tiling] = [tiling for tiling in TILINGS if all(tiling in tilings for tilings in knowing.values())]
    if asked is None and isinstance(work, Problem):
        known = tilings_of(work, known)
    found, note = tiling_or_default(asked, known), ""
    for who, tilings in knowing.items():
        if found not in tilings:
            message = f"{who} knows {' and '.join(tilings)} tilings only, found {found}"
            raise TilewrightError(message, where="--tiling")
        if asked is None and tiling_for() not in tilings:
            note = f"note: {found} tilings, since {who} knows no others"
    return found, note


def _show(result: SearchResult, search: _CommandSearch, origin: str, shown: OutOptions) -> None:
    """Write the files that were asked for, and print the page, or the form that is asked for."""
    from ..forms import emit_mapping
    from ..report.pages.result import result_page

    files, form = _saved(result, shown.out), shown.form()
    if form is None or shown.html is not None:
        page = result_page(result.answer, result.arch, files, origin, search.reason(result))
    if shown.html is not None:
        from ..report.pages.html_pages import search_html
        from ..results import write_file

        write_file(shown.html, search_html(result.answer, result.arch, page, own_command()))
    if form is None:
        show_page(page)
        return
    show_document(emit_mapping(result, form))
    if origin:
        say(f"note: {origin}")


def _show_several(results: Points[SearchResult], is_front: bool, shown: OutOptions) -> None:
    """One line for each result, or one document of all in JSON; files go to folders 1, 2, ... of `out`."""
    for number, result in enumerate(results, 1):
        _saved(result, shown.out and shown.out / str(number))
    if shown.json:
        from ..report.parts.proofs import points_json

        show_document(points_json(results, (result.emit("json") for result in results)))
        return
    from ..report.pages.result import best_few_page, front_page

    page = front_page if is_front else best_few_page
    show_page(page(results.each(lambda result: result.answer), results[0].arch, shown.out))


def _saved(result: SearchResult, out: Path | None) -> tuple[Path, ...]:
    """The files that are written, and a note where no program can be."""
    if out is None:
        return ()
    files = result.save(out)
    if all(file.name != _PROGRAM for file in files):
        say(f"note: no {_PROGRAM}: no program can be written for this mapping yet (`tilewright emit` says why)")
    return files


def _search_both_forms(question: NestQuestion, shown: OutOptions) -> None:
    """A convolution in its direct form and as a product side by side, and the page of the better one."""
    from ..im2col import ConvolutionForms
    from ..mapper.lowering import search_forms
    from ..report.pages.lowering import form_rows
    from ..report.pages.result import result_page
    from ..report.parts.text import pairs, section

    with noting_interrupts() as interrupts, signs(f"searching both forms of {question.problem.name}"):
        forms = search_forms(question)
    if interrupts:
        say("interrupted: this is the best found so far; the same command searches to the end")
    result = ConvolutionForms.of(question, forms).better
    files = result.save(shown.out) if shown.out is not None else ()
    if shown.json:
        show_document(result.emit("json"))
        return
    show_page(section("Direct, and as a product with a lowered operand (im2col)", pairs(form_rows(forms))))
    show_page(result_page(result.answer, result.arch, files))
