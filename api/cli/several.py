"""Showing more than one mapping: the best few, or a Pareto front."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .terminal import show_document, show_page

if TYPE_CHECKING:
    from ..mapper.certificate import Points
    from ..results import NestResult


def show_several(results: Points[NestResult], is_front: bool, out: Path | None, json: bool) -> None:
    """One line for each result, or one document of all in JSON; files go to folders 1, 2, ... of `out`.

    is_front  of energy and latency; else it is a ranking
    """
    from ..report.parts.proofs import points_json

    if out is not None:
        for number, result in enumerate(results, 1):
            result.save(out / str(number))
    if json:
        show_document(points_json(results, (result.emit("json") for result in results)))
        return
    from ..mapper.answer import Answer
    from ..report.pages.result import best_few_page, front_page

    answers = results.each(lambda r: Answer(r.mapping, r.cost, r.certificate))
    page = front_page if is_front else best_few_page
    show_page(page(answers, results[0].arch, out))
