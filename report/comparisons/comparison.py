"""A finished comparison: every layer on every architecture under every dataflow, and what follows from it.

Comparison
  rows          one for each network, layer, architecture and dataflow (`rows.py`)
  summaries()   whole networks, repeats counted (`summaries.py`)
  winners()     the best dataflow for each kind of layer (`summaries.py`)
  hybrids()     the best dataflow for all layers against the best for each (`hybrid.py`)
  tables()      the rows, their parts and the rest as tables (`tables.py`)
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from ...ir.units import plural
from ...mapper.question import Question
from ...run.batch.job import Failure, Outcome
from ...run.batch.plan import Cell, Settings
from ...run.batch.run import BatchResult
from ...run.store import stored_key
from ..parts.tables import Table
from .compared import Summary
from .findings import findings
from .hybrid import Hybrid, hybrids
from .kinds import layer_kind
from .pictures import PICTURES
from .rows import ComparisonRows, Row
from .summaries import Winner, summaries, winners
from .tables import all_tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Comparison(ComparisonRows):
    """The rows of a batch, with what they have in common, and what follows from them."""

    @property
    def title(self) -> str:
        """What is compared, in one line."""
        counts = (
            plural(len(self.networks), "network"),
            plural(len(self.archs), "architecture"),
            plural(len(self.dataflows), "dataflow"),
        )
        return f"{counts[0]} on {counts[1]} under {counts[2]}, {self.settings.objective.name}, {len(self.rows):,} rows"

    @property
    def findings(self) -> tuple[str, ...]:
        """What follows, in sentences."""
        return findings(self)

    @property
    def parts(self) -> str:
        """What a network is made of in the rows."""
        return "layers"

    @property
    def pictures(self) -> Mapping[str, Callable[[ComparisonRows], Figure]]:
        """How pictures are drawn, by their names."""
        return PICTURES

    def summaries(self) -> tuple[Summary, ...]:
        """Every network on every architecture under every dataflow, repeats counted."""
        return summaries(self)

    def winners(self) -> tuple[Winner, ...]:
        """How dataflows fare with every kind of layer, on every architecture."""
        return winners(self)

    def hybrids(self) -> tuple[Hybrid, ...]:
        """What it is worth to change the dataflow from layer to layer, for every network and architecture."""
        return hybrids(self)

    def tables(self) -> tuple[Table, ...]:
        """Every table, under the name of the file that it goes to."""
        return all_tables(self)


def comparison_of(
    cells: Iterable[Cell], found: BatchResult, settings: Settings, command: str, written_by: str
) -> Comparison:
    """The comparison that a plan and the outcomes of its searches make."""
    rows = tuple(_row(cell, found, settings) for cell in cells)
    return Comparison(rows, settings, command, written_by)


def _row(cell: Cell, found: BatchResult, settings: Settings) -> Row:
    asked, layer = cell.question, cell.layer
    searched = asked if isinstance(asked, Question) else None
    outcome: Outcome = found.outcomes[asked.key] if isinstance(asked, Question) else asked
    if not isinstance(outcome, Failure):
        outcome = outcome.of(layer.problem)
    return Row(
        network=cell.workload.network.name,
        layer=layer.name,
        kind=layer_kind(layer),
        repeat=layer.repeat,
        problem=layer.problem,
        machine=cell.machine.arch,
        dataflow=cell.dataflow.name,
        objective=settings.objective.name,
        key=stored_key(searched) if searched else None,
        recalled=searched is not None and searched.key in found.recalled,
        command=_search_command(cell, settings),
        outcome=outcome,
    )


def _search_command(cell: Cell, settings: Settings) -> str:
    words = ["tilewright", "search", f"{cell.workload.reference}:{cell.layer.name}"]
    words += [*cell.workload.options, *cell.machine.options, *cell.dataflow.options, *settings.options]
    return shlex.join(words)
