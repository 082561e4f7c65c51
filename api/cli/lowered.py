"""`tilewright search --im2col`: a convolution in its direct form and as a product, whichever is better."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .mappings import show_result
from .terminal import noting_interrupts, say, show_document, show_page, status

if TYPE_CHECKING:
    from ..mapper.question import Question


def search_both_forms(question: Question, out: Path | None, json: bool) -> None:
    """Both forms side by side, and the page of the better one."""
    from ..forms import emit_mapping
    from ..im2col import ConvolutionForms
    from ..mapper.lowering import search_forms
    from ..report.pages.lowering import form_rows
    from ..report.parts.text import pairs, section

    with noting_interrupts() as interrupts, status(f"searching both forms of {question.problem.name}"):
        forms = search_forms(question)
    if interrupts:
        say("interrupted: this is the best found so far; the same command searches to the end")
    result = ConvolutionForms.of(question, forms).better
    files = result.save(out) if out is not None else ()
    if json:
        show_document(emit_mapping(result, "json"))
        return
    show_page(section("Direct, and as a product with a lowered operand (im2col)", pairs(form_rows(forms))))
    show_result(result.mapping, result.arch, result.cost, result.certificate, files)
