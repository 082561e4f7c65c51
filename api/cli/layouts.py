"""`--layout`: tensors whose words lie in lines, in `tilewright evaluate` (docs/layouts.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir import Problem, TilewrightError
from .terminal import show_document, show_page

if TYPE_CHECKING:
    from ..arch import Architecture
    from ..cost_models.layouts import Layouts
    from ..mapping_sources import AnyMapping


def evaluate_with_layouts(source: str, loaded: AnyMapping, given: list[str], json: bool) -> None:
    """What a mapping costs where tensors have layouts, as a page or as data."""
    from ..cost_models.layouts import evaluate_layouts
    from ..report.layouts import layout_data, layout_page

    layouts = _layouts(given, loaded.mapping.problem, loaded.arch)
    try:
        cost = evaluate_layouts(loaded.mapping, loaded.arch, layouts)
    except TilewrightError as error:
        raise error.located(source) from None
    if json:
        show_document(layout_data(loaded.mapping, loaded.arch, cost))
    else:
        show_page(layout_page(loaded.mapping, loaded.arch, cost))


def _layouts(given: list[str], problem: Problem, arch: Architecture) -> Layouts:
    from ..cost_models.layouts import parse_layouts

    try:
        return parse_layouts(given, problem, arch)
    except TilewrightError as error:
        raise error.located("--layout") from None
