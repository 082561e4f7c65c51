"""A finished comparison: every layer on every architecture under every dataflow, and what follows from it.

Comparison
  rows          one for each network, layer, architecture and dataflow
  summaries()   whole networks, repeats counted (`summaries.py`)
  winners()     the best dataflow for each kind of layer (`summaries.py`)
  hybrids()     the best dataflow for all layers against the best for each (`hybrid.py`)
  to_frame()    the rows as a pandas frame (`tables.py`)
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from ..arch import Architecture
from ..cost_models import Cost
from ..ir import Mapping as TensorMapping
from ..ir import Problem, TilewrightError, did_you_mean
from ..ir.display import Shown
from ..mapper.certificate import Certificate
from .batch.job import Failure, Outcome
from .batch.plan import Cell, Settings
from .batch.run import BatchResult
from .costs import EnergyPart, energy_parts, latency_parts, outer_bytes
from .kinds import layer_kind
from .nest import nest_lines
from .store import NoMapping, Question, Solution
from .units import plural

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from .hybrid import Hybrid
    from .summaries import Summary, Winner

Status = Literal["proven", "unproven", "infeasible", "failed"]

FREE = "free"
"""The dataflow that all others are compared with: no constraints at all."""


@dataclass(frozen=True)
class Row:
    """One layer of a network on one architecture under one dataflow.

    network, layer  their names
    kind      of layer, such as "3x3 convolution"
    repeat    how often the layer occurs in the network; all figures are of one occurrence
    problem   one occurrence of the layer
    machine   the architecture
    dataflow, objective  as asked for
    key       of the result in the store; None where no search was possible
    recalled  whether the store had it before
    command   a shell command that finds the same result
    outcome   a Solution, or why there is none
    """

    network: str
    layer: str
    kind: str
    repeat: int
    problem: Problem
    machine: Architecture
    dataflow: str
    objective: str
    key: str | None
    recalled: bool
    command: str
    outcome: Outcome

    @property
    def arch(self) -> str:
        """The name of the architecture."""
        return self.machine.name

    @property
    def status(self) -> Status:
        """`infeasible`: there is no mapping; `failed`: the search could not be run to its end."""
        if isinstance(self.outcome, Solution):
            return "proven" if self.outcome.certificate.proven else "unproven"
        return "failed" if isinstance(self.outcome, Failure) else "infeasible"

    @property
    def diagnosis(self) -> str:
        """Why there is no mapping; empty where there is one."""
        if isinstance(self.outcome, NoMapping):
            return str(self.outcome.error)
        return self.outcome.message if isinstance(self.outcome, Failure) else ""

    @property
    def solution(self) -> Solution | None:
        """What was found."""
        return self.outcome if isinstance(self.outcome, Solution) else None

    @property
    def mapping(self) -> TensorMapping | None:
        """The best mapping."""
        return self.solution.mapping if self.solution else None

    @property
    def cost(self) -> Cost | None:
        """Energy, latency and traffic of one occurrence, with all memories and tensors."""
        return self.solution.cost if self.solution else None

    @property
    def certificate(self) -> Certificate | None:
        """What is proven of the mapping."""
        return self.solution.certificate if self.solution else None

    @property
    def value(self) -> float | None:
        """What was minimized, in the unit of the objective."""
        return self.certificate.value if self.certificate else None

    @property
    def energy_parts(self) -> tuple[EnergyPart, ...]:
        """The energy by memory and tensor, and that of the MACs; together all of it."""
        return energy_parts(self.cost) if self.cost else ()

    @property
    def latency_parts(self) -> Mapping[str, float]:
        """Cycles that the computation and every memory need on their own; the latency is the most of them, plus those
        of memories that do not overlap."""
        return latency_parts(self.cost) if self.cost else {}

    @property
    def operational_intensity(self) -> float | None:
        """Multiply-accumulates per byte that the outermost memory reads or writes."""
        if self.cost is None:
            return None
        moved = outer_bytes(self.cost)
        return self.problem.macs / moved if moved else None

    @property
    def nest(self) -> str:
        """The loop nest with tile sizes; empty where there is none."""
        return "\n".join(nest_lines(self.mapping, self.machine)) if self.mapping else ""


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """The rows of a batch, with what they have in common.

    rows       one for each network, layer, architecture and dataflow
    networks, archs, dataflows  names, in the order asked for; every combination has its rows
    machines   the architectures by name
    settings   what all searches have in common
    command    a shell command that makes the whole comparison
    written_by  the tool and its version
    """

    rows: tuple[Row, ...]
    networks: tuple[str, ...]
    archs: tuple[str, ...]
    dataflows: tuple[str, ...]
    machines: Mapping[str, Architecture]
    settings: Settings
    command: str
    written_by: str

    def __str__(self) -> str:
        from .findings import findings

        return f"{self.title}\n" + "\n".join(f"- {finding}" for finding in findings(self))

    def __repr__(self) -> str:
        return f"<Comparison: {self.title}>"

    @property
    def title(self) -> str:
        """What is compared, in one line."""
        counts = (
            plural(len(self.networks), "network"),
            plural(len(self.archs), "architecture"),
            plural(len(self.dataflows), "dataflow"),
        )
        return f"{counts[0]} on {counts[1]} under {counts[2]}, {self.settings.objective.name}, {len(self.rows):,} rows"

    @cached_property
    def _by_place(self) -> dict[tuple[str, str, str], tuple[Row, ...]]:
        places: dict[tuple[str, str, str], list[Row]] = {}
        for row in self.rows:
            places.setdefault((row.network, row.arch, row.dataflow), []).append(row)
        return {place: tuple(rows) for place, rows in places.items()}

    def of(self, network: str, arch: str, dataflow: str) -> tuple[Row, ...]:
        """The layers of a network on an architecture under a dataflow, in the order of the network."""
        return self._by_place[network, arch, dataflow]

    @cached_property
    def _free_values(self) -> dict[tuple[str, str, str], float]:
        free = (row for row in self.rows if row.dataflow == FREE and row.value is not None)
        return {(row.network, row.arch, row.layer): row.value or 0.0 for row in free}

    def penalty(self, row: Row) -> float | None:
        """By what factor the row's objective is above that of the free optimum; None where one of them is missing."""
        free = self._free_values.get((row.network, row.arch, row.layer))
        return row.value / free if free and row.value is not None else None

    @cached_property
    def failures(self) -> tuple[Row, ...]:
        """Rows whose searches could not be run to their end: the same command runs them again."""
        return tuple(row for row in self.rows if row.status == "failed")

    def summaries(self) -> tuple[Summary, ...]:
        """Every network on every architecture under every dataflow, repeats counted."""
        from .summaries import summaries

        return summaries(self)

    def winners(self) -> tuple[Winner, ...]:
        """How dataflows fare with every kind of layer, on every architecture."""
        from .summaries import winners

        return winners(self)

    def hybrids(self) -> tuple[Hybrid, ...]:
        """What it is worth to change the dataflow from layer to layer, for every network and architecture."""
        from .hybrid import hybrids

        return hybrids(self)

    def to_frame(self, table: str = "layers") -> pandas.DataFrame:
        """A table as a pandas frame, with units in the names of its columns.

        table  "layers", "energy" and "latency" of every layer in parts, "networks", "kinds" or "hybrids"

        Raises TilewrightError for another table, and when pandas is not installed.
        """
        from .comparison_tables import all_tables

        tables = {found.name: found for found in all_tables(self)}
        if table not in tables:
            raise TilewrightError(f"unknown table {table!r}", where="to_frame", hint=did_you_mean(table, tables))
        return tables[table].to_frame()

    def figure(self, picture: str = "finding") -> Figure:
        """A picture as a matplotlib figure: "finding", what the comparison is about; "energy", by level of memory;
        "dataflows", their price over the free choice.

        Raises TilewrightError for another picture, and when matplotlib is not installed.
        """
        from .comparison_pictures import PICTURES
        from .figures import figure_style

        if picture not in PICTURES:
            raise TilewrightError(f"unknown picture {picture!r}", where="figure", hint=did_you_mean(picture, PICTURES))
        with figure_style():
            return PICTURES[picture](self)


def comparison_of(
    cells: Iterable[Cell], found: BatchResult, settings: Settings, command: str, written_by: str
) -> Comparison:
    """The comparison that a plan and the outcomes of its searches make."""
    rows = tuple(_row(cell, found, settings) for cell in cells)
    return Comparison(
        rows,
        tuple(dict.fromkeys(row.network for row in rows)),
        tuple(dict.fromkeys(row.arch for row in rows)),
        tuple(dict.fromkeys(row.dataflow for row in rows)),
        {row.arch: row.machine for row in rows},
        settings,
        command,
        written_by,
    )


def _row(cell: Cell, found: BatchResult, settings: Settings) -> Row:
    asked, layer = cell.question, cell.layer
    key = asked.key if isinstance(asked, Question) else None
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
        key=key,
        recalled=key in found.recalled,
        command=_search_command(cell, settings),
        outcome=outcome,
    )


def _search_command(cell: Cell, settings: Settings) -> str:
    words = ["tilewright", "search", f"{cell.workload.reference}:{cell.layer.name}"]
    words += [*cell.workload.options, *cell.machine.options, *cell.dataflow.options, *settings.options]
    return shlex.join(words)
