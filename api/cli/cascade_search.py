"""`tilewright search` of a cascade: the question, and the page of the answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from ..ir import Cascade, TilewrightError
from .mappings import say_verified
from .options import refuse_given, tiling_and_space
from .terminal import is_quiet, noting_interrupts, say, show_document, show_page, status

if TYPE_CHECKING:
    from ..arch import Architecture
    from ..mapper.cascades import CascadeQuestion, Fuse
    from ..mapper.certificate import Points
    from ..results import TreeResult

_PROGRAM = "reference.py"


@dataclass(frozen=True)
class CascadeOptions:
    """The options of a search that cascades know, as they stand on the command line."""

    objective: str
    tiling: str | None
    space: str
    fuse: str
    top: int | None
    pareto: str | None
    time_limit: float | None
    memory_limit: str
    out: Path | None
    form: str | None
    verify: bool
    store: Path | None
    no_cache: bool
    constraint: tuple[str, ...]


def search_cascade_named(
    context: typer.Context, cascade: Cascade, machine: Architecture, options: CascadeOptions
) -> None:
    """Search, write the files that are asked for, and print the page or a document."""
    from ..arguments import cascade_question_of, constrained, limits_of
    from ..forms import check_knows_trees
    from ..results import prepare_folder

    refuse_of_cascades(context, "strategy", "seed", "dataflow", "constraints")
    if options.form is not None:
        check_knows_trees(options.form)
    if options.pareto is not None:
        refuse_given(context, "the store keeps no fronts of cascades yet", "store")
    tiling, space = tiling_and_space(options.tiling, options.space)
    limits = limits_of(options.time_limit, options.memory_limit)
    wanted = "edp" if options.pareto is not None else options.objective
    every_tree = cascade_question_of(cascade, machine, wanted, tiling, space, cast("Fuse", options.fuse), limits)
    question = constrained(every_tree, options.constraint)
    is_several = options.top is not None or options.pareto is not None
    if options.out is not None:
        prepare_folder(options.out)
    what = f"searching the best mapping of {cascade.name} on {machine.name}"
    with noting_interrupts() as interrupts, status(what):
        if is_several:
            several = _several(question, options)
        else:
            result, origin = _best(question, options)
    if interrupts:
        say("interrupted: this is the best found so far; the same command searches to the end")
    if is_several:
        _show_several(several, options)
    else:
        _show(result, question, options, origin)
    for one in (several if is_several else [result]) if options.verify else ():
        with status(f"running the program of {cascade.name}"):
            verification = one.verify()
        say_verified(verification, quiet=options.form is not None)


def refuse_of_cascades(context: typer.Context, *options: str) -> None:
    """TilewrightError for the first of these options that the command line has: cascades do not know them."""
    try:
        refuse_given(context, "this option does not know cascades yet", *options)
    except TilewrightError as error:
        raise TilewrightError(error.message, where=error.where, hint="leave it out, or give a single layer") from None


def _several(question: CascadeQuestion, options: CascadeOptions) -> Points[TreeResult]:
    """The best few, or the front."""
    from ..searches import best_fusings, cascade_front

    return cascade_front(question) if options.top is None else best_fusings(question, options.top)


def _best(question: CascadeQuestion, options: CascadeOptions) -> tuple[TreeResult, str]:
    """The best mapping, and where it is from, if it was not found just now."""
    if options.no_cache:
        from ..mapper.fusing import answer_cascade
        from ..results import SearchResult

        return SearchResult.of(question, answer_cascade(question)), ""
    from ..report.pages.stored import recalled_text
    from ..stored import search_stored

    found = search_stored(question, options.store, say)
    return found.result, "" if found.record is None else recalled_text(found.record)


def _show(result: TreeResult, question: CascadeQuestion, options: CascadeOptions, origin: str) -> None:
    from ..forms import emit_mapping
    from ..report.pages.result import result_page

    files = _saved(result, options.out)
    if options.form is not None:
        show_document(emit_mapping(result, options.form))
        if origin:
            say(f"note: {origin}")
        return
    reason = None
    if result.saves == 0 and result.certificate.proven and not is_quiet():
        from ..mapper.fusing_reasons import why_nothing_is_won

        with status("searching for what fusing lacks"):
            reason = why_nothing_is_won(question, lambda one: _best(one, options)[0].answer)
    show_page(result_page(result.answer, result.arch, files, origin, reason))


def _show_several(results: Points[TreeResult], options: CascadeOptions) -> None:
    """One line for each result, or one document of all in JSON; files go to folders 1, 2, ... of `out`."""
    from ..report.pages.result import best_few_page, front_page

    for number, result in enumerate(results, 1):
        _saved(result, options.out and options.out / str(number))
    if options.form == "json":
        from ..report.parts.proofs import points_json

        show_document(points_json(results, (result.emit("json") for result in results)))
    else:
        page = front_page if options.top is None else best_few_page
        show_page(page(results.each(lambda result: result.answer), results[0].arch, options.out))


def _saved(result: TreeResult, out: Path | None) -> tuple[Path, ...]:
    """The files that are written, and a note where no program can be."""
    if out is None:
        return ()
    files = result.save(out)
    if all(file.name != _PROGRAM for file in files):
        say(f"note: no {_PROGRAM}: no program can be written for this mapping yet (`tilewright emit` says why)")
    return files
