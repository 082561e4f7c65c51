"""How values show themselves in notebooks: the package sets `renderer` when it is first used, since pages are drawn by
`report/`, which `ir` may not import."""

from __future__ import annotations

from collections.abc import Callable

renderer: Callable[[object], str] | None = None
"""From a value to HTML, self-contained."""


class Shown:
    """A value with a page of its own in notebooks."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        """For IPython and whatever asks as it does; None: the text will do."""
        return renderer(self) if renderer is not None else None


class ShownCost(Shown):
    """A cost that shows itself as one line of text."""

    __slots__ = ()

    energy_pj: float
    latency_cycles: float
    clock_hz: float

    @property
    def edp(self) -> float:
        """Energy-delay product, in pJ x cycles."""
        return self.energy_pj * self.latency_cycles

    @property
    def latency_s(self) -> float:
        """The whole run, in seconds."""
        return self.latency_cycles / self.clock_hz

    def __str__(self) -> str:
        return f"{self.energy_pj:,.0f} pJ, {self.latency_cycles:,.0f} cycles"
