"""A finished comparison of whole networks with and without fusing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....arch import Architecture
from ....ir.errors import entry
from ....ir.units import plural
from ....run.batch.plan import Settings
from ...parts.tables import Table
from ..compared import Compared, Summary
from .findings import findings
from .picture import savings_figure
from .rows import FusedRow, NetworkOutcome
from .tables import fused_tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class FusedComparison(Compared[FusedRow]):
    """Networks on architectures: the best segmentation of each, and the best with nothing fused.

    rows      one for each network and architecture
    settings  what all searches have in common; the time limit is that of each group
    command   a shell command that makes the whole comparison
    written_by  the tool and its version
    most      operations that a group has at most
    """

    most: int

    @property
    def title(self) -> str:
        """What is compared, in one line."""
        counts = plural(len(self.networks), "network"), plural(len(self.archs), "architecture")
        groups = f"groups of up to {plural(self.most, 'operation')}"
        return f"{counts[0]} on {counts[1]}, fused and not, {self.settings.objective.name}, {groups}"

    @property
    def findings(self) -> tuple[str, ...]:
        """What fusing saves, in sentences."""
        return findings(self.rows, self.settings.objective.name)

    @property
    def parts(self) -> str:
        """What a network is made of in the rows."""
        return f"groups of up to {self.most}"

    @property
    def pictures(self) -> Mapping[str, Callable[[FusedComparison], Figure]]:
        """How pictures are drawn, by their names."""
        return {"fusing": lambda every: savings_figure(every.rows, every.settings, every.written_by)}

    @property
    def savings(self) -> Mapping[tuple[str, str], float | None]:
        """By network and architecture, the part of the objective that fusing saves; None where that is not known."""
        return {(row.network, row.arch): row.saves for row in self.rows}

    @property
    def left_out(self) -> dict[str, str]:
        """By network, what of it no group has, and is in no figure."""
        return {row.network: row.left_out for row in self.rows if row.left_out}

    def row(self, network: str, arch: str) -> FusedRow:
        """A network on an architecture; TilewrightError for names that are not compared."""
        return entry({(row.network, row.arch): row for row in self.rows}, (network, arch), "network and architecture")

    def summaries(self) -> tuple[Summary, ...]:
        """Every network on every architecture, fused, as comparisons of layers have them."""
        return tuple(row.summary() for row in self.rows)

    def tables(self) -> tuple[Table, ...]:
        """Every table, under the name of the file that it goes to."""
        return fused_tables(self.rows, self.settings)


def fused_comparison_of(
    places: Iterable[tuple[str, Architecture, str]],
    outcomes: Sequence[NetworkOutcome],
    settings: Settings,
    most: int,
    command: str,
    written_by: str,
) -> FusedComparison:
    """The comparison that outcomes make; places are network, architecture and command of each."""
    rows = tuple(FusedRow(*place, outcome) for place, outcome in zip(places, outcomes, strict=True))
    return FusedComparison(rows, settings, command, written_by, most)
