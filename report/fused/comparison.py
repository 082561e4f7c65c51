"""A finished comparison of whole networks with and without fusing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...arch import Architecture
from ...ir.display import Shown
from ...ir.errors import entry
from ...ir.units import plural
from ...run.batch.plan import Settings
from ..comparisons.summaries import Summary
from .findings import findings
from .picture import savings_figure
from .rows import FusedRow, NetworkOutcome
from .tables import fused_tables

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class FusedComparison(Shown):
    """Networks on architectures: the best segmentation of each, and the best with nothing fused.

    rows      one for each network and architecture
    settings  what all searches have in common; the time limit is that of each group
    most      operations that a group has at most
    command   a shell command that makes the whole comparison
    written_by  the tool and its version
    """

    rows: tuple[FusedRow, ...]
    settings: Settings
    most: int
    command: str
    written_by: str

    def __str__(self) -> str:
        return f"{self.title}\n" + "\n".join(f"- {finding}" for finding in self.findings)

    def __repr__(self) -> str:
        return f"<FusedComparison: {self.title}>"

    @property
    def title(self) -> str:
        """What is compared, in one line."""
        counts = plural(len(self.networks), "network"), plural(len(self.archs), "architecture")
        groups = f"groups of up to {plural(self.most, 'operation')}"
        return f"{counts[0]} on {counts[1]}, fused and not, {self.settings.objective.name}, {groups}"

    @property
    def networks(self) -> tuple[str, ...]:
        """Names, in the order asked for."""
        return tuple(dict.fromkeys(row.network for row in self.rows))

    @property
    def archs(self) -> tuple[str, ...]:
        """Names, in the order asked for."""
        return tuple(dict.fromkeys(row.arch for row in self.rows))

    @property
    def machines(self) -> Mapping[str, Architecture]:
        """The architectures by name."""
        return {row.arch: row.machine for row in self.rows}

    @property
    def failures(self) -> tuple[FusedRow, ...]:
        """Rows whose searches could not be run to their end: the same command runs them again."""
        return tuple(row for row in self.rows if row.status == "failed")

    @property
    def left_out(self) -> dict[str, str]:
        """By network, what of it no group has, and is in no figure."""
        return {row.network: row.left_out for row in self.rows if row.left_out}

    @property
    def findings(self) -> tuple[str, ...]:
        """What fusing saves, in sentences."""
        return findings(self.rows, self.settings.objective.name)

    def row(self, network: str, arch: str) -> FusedRow:
        """A network on an architecture; TilewrightError for names that are not compared."""
        return entry({(row.network, row.arch): row for row in self.rows}, (network, arch), "network and architecture")

    def summaries(self) -> tuple[Summary, ...]:
        """Every network on every architecture, fused, as comparisons of layers have them."""
        return tuple(row.summary() for row in self.rows)

    def to_frame(self, table: str = "networks") -> pandas.DataFrame:
        """A table as a pandas frame, with units in the names of its columns: "networks", or the "groups" of each.

        Raises TilewrightError for another table, and when pandas is not installed.
        """
        tables = {found.name: found for found in fused_tables(self.rows, self.settings)}
        return entry(tables, table, "table", where="to_frame").to_frame()

    def figure(self) -> Figure:
        """What fusing saves of every network on every architecture, as a matplotlib figure, with what is proven of it.

        Raises TilewrightError when matplotlib is not installed.
        """
        return savings_figure(self.rows, self.settings, self.written_by)


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
    return FusedComparison(rows, settings, most, command, written_by)
