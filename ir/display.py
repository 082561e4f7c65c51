"""How values show themselves in notebooks. What a page looks like is for `report/` to say, which stands further up: the
program's package sets `renderer` when it is first used, and here is only where it is asked."""

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
    """What a run costs, whose text is one line of it: the fields have many."""

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
