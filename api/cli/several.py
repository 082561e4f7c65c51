"""Showing more than one mapping: the best few, or a Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .terminal import show_document, show_page

if TYPE_CHECKING:
    from ..results import SearchResult


def show_several(results: Sequence[SearchResult], out: Path | None, json: bool) -> None:
    """One line for each result, or one document for each as a JSON list; files go to folders 1, 2, ... of `out`."""
    if out is not None:
        for number, result in enumerate(results, 1):
            result.save(out / str(number))
    if json:
        documents = ",\n".join(result.emit("json").rstrip() for result in results)
        show_document(f"[\n{documents}\n]")
        return
    from ..mapper.question import Answer
    from ..report.pages.several import several_page

    answers = [Answer(r.mapping, r.cost, r.certificate) for r in results]
    show_page(several_page(answers, results[0].arch, out))
