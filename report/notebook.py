"""What values show in a notebook: the page that the command line prints of them, and the pictures of reports."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..arch import Architecture
from ..arch.system import System
from ..cost_models import Cost
from ..cost_models.collectives import Collective
from ..ir import Cascade, LoopNest, Mapping, Problem, Work
from ..mapper.memory_plan import MemoryPlan
from ..mapper.segmentation import NetworkAnswer
from ..workloads import Network
from .comparisons.compared import Compared
from .comparisons.comparison import Comparison
from .comparisons.fused import FusedComparison
from .explain.explanation import Explanation
from .explorations.exploration import Exploration
from .parts.html import picture, to_html

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def html_of(value: Any) -> str:
    """The page of a value, pictures in it, and nothing outside of it.

    value  a problem, mapping, loop nest, cost, architecture, system, collective, network, comparison, exploration,
           explanation or memory plan, or a result, which has a mapping, an architecture, a cost and a certificate
    """
    for kind, show in _PAGES.items():
        if isinstance(value, kind):
            return show(value)
    if isinstance(getattr(value, "answer", None), NetworkAnswer):
        return _compiled(value.answer)
    return _roofline(value) if hasattr(value, "chart") else _result(value)


def _compiled(answer: NetworkAnswer) -> str:
    from .networks.network_plan import network_plan_page

    return to_html(network_plan_page(answer))


def _result(result: Any) -> str:
    from .pages.result import result_page

    return to_html(result_page(result.answer, result.arch))


def _roofline(found: Any) -> str:
    from .pages.roofline import roofline_page

    return _drawn(found.figure, found.chart.title) + to_html(roofline_page(found.chart, found.results[0].arch))


def _cost(cost: Cost) -> str:
    from .parts.costs import cost_page

    return to_html(cost_page(cost))


def _memory_plan(plan: MemoryPlan) -> str:
    from .networks.memory_picture import memory_svg
    from .networks.memory_plan import plan_page

    return picture(memory_svg(plan), "Addresses against time") + to_html(plan_page(plan, "the plan"))


def _mapping(mapping: Mapping) -> str:
    from .pages.result import mapping_page

    return to_html(mapping_page(mapping))


def _nest(nest: LoopNest) -> str:
    from rich.text import Text

    return to_html(Text(str(nest), no_wrap=True))


def _collective(found: Collective) -> str:
    from .pages.system import collective_page

    return to_html(collective_page(found))


def _described(found: Architecture | System | Network | Work) -> str:
    from .pages.describe import page_of

    return to_html(page_of(found))


def _architecture(arch: Architecture) -> str:
    from .pages.arch_picture import architecture_svg

    return picture(architecture_svg(arch), f"The architecture {arch.name}") + _described(arch)


def _comparison(comparison: Compared[Any]) -> str:
    from .comparisons.files import shown

    return shown(comparison)


def _exploration(exploration: Exploration) -> str:
    from .explorations.page import exploration_page

    seen = _drawn(lambda: exploration.figure(), "Points and front of the exploration")
    return seen + to_html(exploration_page(exploration))


def _explanation(explanation: Explanation) -> str:
    from .explain.page import explanation_page

    return picture(explanation.svg(), explanation.caption) + to_html(explanation_page(explanation))


def _drawn(draw: Callable[[], Figure], what: str) -> str:
    """A picture, where matplotlib is there to draw it."""
    if find_spec("matplotlib") is None:
        return ""
    from .parts.figures import svg_of

    return picture(svg_of(draw()), what)


_PAGES: dict[type, Callable[[Any], str]] = {
    Cost: _cost,
    MemoryPlan: _memory_plan,
    Mapping: _mapping,
    Cascade: _described,
    LoopNest: _nest,
    Architecture: _architecture,
    Network: _described,
    System: _described,
    Collective: _collective,
    Problem: _described,
    Comparison: _comparison,
    FusedComparison: _comparison,
    Exploration: _exploration,
    Explanation: _explanation,
}
