"""`tilewright explain` of a cascade: the tree of a file, or the best one, and where it is written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from ..ir import TilewrightError
from .cascades import FusedToShow, cascade_named, fused_named
from .machines import architecture_named
from .options import tiling_and_space
from .sources import MappingSource
from .terminal import noting_interrupts, say, show_document, show_line, show_page, status

if TYPE_CHECKING:
    from ..mapper.cascades import Fuse
    from ..results import TreeResult


@dataclass(frozen=True)
class TreeQuestion:
    """How to search for the tree that is explained, as it stands on the command line."""

    objective: str | None
    tiling: str | None
    space: str | None
    fuse: str
    constraint: tuple[str, ...]
    time_limit: float
    memory_limit: str
    store: Path | None
    no_cache: bool


@dataclass(frozen=True)
class Written:
    """Where an explanation goes besides the terminal.

    as_json  whether all facts are printed in place of the page
    """

    svg: Path | None
    html: Path | None
    as_json: bool


class Pictured(Protocol):
    """An explanation with a picture and a page."""

    def svg(self) -> str: ...
    def html(self) -> str: ...


def explain_cascade(
    source: MappingSource,
    op: list[str] | None,
    tree: Path | None,
    arch: str | None,
    set_fields: list[str] | None,
    asked: TreeQuestion,
    written: Written,
) -> None:
    """Print the explanation of a tree; of a cascade without one, that of the best."""
    from ..report.explain.tree_page import tree_explanation_page
    from ..report.explain.trees import explain_tree

    if source.is_fused or tree is not None:
        found = fused_named(source, op, tree, arch, set_fields)
    else:
        best = _searched(source, op, arch, set_fields, asked)
        found = FusedToShow(best.mapping, best.arch, best.cost)
    explanation = explain_tree(found.mapping, found.arch, found.cost)
    if written.as_json:
        show_document(explanation.to_json())
    else:
        show_page(tree_explanation_page(explanation))
    write_explanation(explanation, written)


def write_explanation(explanation: Pictured, written: Written) -> None:
    """Write the files that are asked for, and say so."""
    from ..results import write_file

    files = []
    if written.svg is not None:
        files.append(write_file(written.svg, explanation.svg()))
    if written.html is not None:
        files.append(write_file(written.html, explanation.html()))
    if files and not written.as_json:
        show_line("\n".join(["", "Files", *(f"  {file}" for file in files)]))


def _searched(
    source: MappingSource, op: list[str] | None, arch: str | None, set_fields: list[str] | None, asked: TreeQuestion
) -> TreeResult:
    from ..arguments import cascade_question_of, constrained, limits_of
    from ..mapper.fusing import answer_cascade
    from ..results import SearchResult
    from ..stored import search_stored

    if not source.given:
        raise TilewrightError("expected a cascade, found none", hint="name a file, or sizes beside --op")
    cascade, machine = cascade_named(source.given, op), architecture_named(arch, set_fields)
    tiling, space = tiling_and_space(asked.tiling, asked.space or "even")
    limits = limits_of(asked.time_limit, asked.memory_limit)
    fuse = cast("Fuse", asked.fuse)
    every_tree = cascade_question_of(cascade, machine, asked.objective or "edp", tiling, space, fuse, limits)
    question = constrained(every_tree, asked.constraint)
    what = f"searching the best mapping of {cascade.name} on {machine.name}"
    with noting_interrupts(), status(what):
        if asked.no_cache:
            return SearchResult.of(question, answer_cascade(question))
        return search_stored(question, asked.store, say).result
