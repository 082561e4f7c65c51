"""What every comparison has, of layers and of whole networks: rows with an outcome each, and what is made of all.

    rows       one for each place that is compared
    findings   what follows from them, in sentences
    tables()   the same for programs
    pictures   what is drawn of them

`page.py` and `files.py` make one page, and one folder of files, of any of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from ...arch import Architecture
from ...ir.display import Shown
from ...ir.errors import entry
from ...run.batch.job import Failure
from ...run.batch.plan import Settings
from ...run.store import NoMapping
from ..parts.figures import figure_style
from ..parts.tables import Table

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

Status = Literal["proven", "unproven", "infeasible", "failed"]


@dataclass(frozen=True)
class ComparedRow(ABC):
    """One place of a comparison, and what came of it.

    network  its name
    machine  the architecture
    command  a shell command that finds the same result
    outcome  what was found, or why there is nothing
    """

    network: str
    machine: Architecture
    command: str
    outcome: Any

    @property
    def arch(self) -> str:
        """The name of the architecture."""
        return self.machine.name

    @property
    @abstractmethod
    def place(self) -> str:
        """Where it stands, in messages."""

    @property
    def answer(self) -> Any:
        """What was found; None where there is nothing."""
        return None if isinstance(self.outcome, NoMapping | Failure) else self.outcome

    @property
    def status(self) -> Status:
        """`infeasible`: there is no mapping, or none was found in time; `failed`: the search could not be run to its
        end."""
        if self.answer is not None:
            return "proven" if self.answer.certificate.proven else "unproven"
        return "failed" if isinstance(self.outcome, Failure) else "infeasible"

    @property
    def diagnosis(self) -> str:
        """Why there is no mapping; empty where there is one."""
        if isinstance(self.outcome, NoMapping):
            return str(self.outcome.error)
        return self.outcome.message if isinstance(self.outcome, Failure) else ""


@dataclass(frozen=True)
class Summary:
    """A network on an architecture under a dataflow; under the free one, each of its layers has whichever of its
    mappings in the comparison makes the network best, so that no dataflow is better.

    network, arch, dataflow  their names
    layers           occurrences of layers in the network
    missing          names of the layers without a mapping; if there are any, the figures of the network are None
    proven           whether every layer's mapping is
    energy_pj, latency_cycles, latency_s  sums over all occurrences: layers run one after the other
    value            the objective of these sums, in joules and seconds: with EDP, all energy times all latency
    lower_bound      no mappings of the layers under the dataflow have a lower value; None where that is not known
    utilization      MACs of the network / (MACs per cycle of the architecture x latency)
    penalty          `value` over that of the free optimum
    layer_penalty    geometric mean over all occurrences that have a mapping of their own factors; 1 or more
    """

    network: str
    arch: str
    dataflow: str
    layers: int
    missing: tuple[str, ...]
    proven: bool
    energy_pj: float | None
    latency_cycles: float | None
    latency_s: float | None
    value: float | None
    utilization: float | None
    penalty: float | None
    layer_penalty: float | None
    lower_bound: float | None = None

    @property
    def gap(self) -> float | None:
        """How much better the network could be at most, where not all of its mappings are proven: a part of the value;
        None where that is not known."""
        if self.proven:
            return 0.0
        return max(0.0, 1 - self.lower_bound / self.value) if self.value and self.lower_bound is not None else None


RowT = TypeVar("RowT", bound=ComparedRow)


@dataclass(frozen=True, repr=False)
class Compared(ABC, Shown, Generic[RowT]):
    """Rows of a batch, with what they have in common.

    rows      one for each place
    settings  what all searches have in common
    command   a shell command that makes the whole comparison
    written_by  the tool and its version
    """

    rows: tuple[RowT, ...]
    settings: Settings
    command: str
    written_by: str

    def __str__(self) -> str:
        return f"{self.title}\n" + "\n".join(f"- {finding}" for finding in self.findings)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.title}>"

    @property
    @abstractmethod
    def title(self) -> str:
        """What is compared, in one line."""

    @property
    @abstractmethod
    def findings(self) -> tuple[str, ...]:
        """What follows, in sentences."""

    @property
    @abstractmethod
    def parts(self) -> str:
        """What a network is made of in the rows, such as "layers"."""

    @property
    @abstractmethod
    def pictures(self) -> Mapping[str, Callable[[Any], Figure]]:
        """How pictures are drawn, by their names."""

    @abstractmethod
    def summaries(self) -> tuple[Summary, ...]:
        """Whole networks."""

    @abstractmethod
    def tables(self) -> tuple[Table, ...]:
        """Every table, under the name of the file that it goes to."""

    @cached_property
    def networks(self) -> tuple[str, ...]:
        """Names, in the order asked for."""
        return tuple(dict.fromkeys(row.network for row in self.rows))

    @cached_property
    def archs(self) -> tuple[str, ...]:
        """Names, in the order asked for."""
        return tuple(dict.fromkeys(row.arch for row in self.rows))

    @cached_property
    def machines(self) -> Mapping[str, Architecture]:
        """The architectures by name."""
        return {row.arch: row.machine for row in self.rows}

    @cached_property
    def failures(self) -> tuple[RowT, ...]:
        """Rows whose searches could not be run to their end: the same command runs them again."""
        return tuple(row for row in self.rows if row.status == "failed")

    @property
    def savings(self) -> Mapping[tuple[str, str], float | None] | None:
        """By network and architecture, the part of the objective that fusing saves; None where nothing was fused."""
        return None

    @property
    def left_out(self) -> dict[str, str]:
        """By network, what of it no group has, and is in no figure; nothing where nothing was fused."""
        return {}

    def data(self) -> dict[str, Any]:
        """All tables by their names, with the findings, for programs."""
        tables = {table.name: table.records() for table in self.tables()}
        return {"command": self.command, "findings": list(self.findings), **tables}

    def to_frame(self, table: str | None = None) -> pandas.DataFrame:
        """A table as a pandas frame, with units in the names of its columns.

        table  of layers "layers", "energy" and "latency" of every layer in parts, "networks", "kinds" or "hybrids";
               with fusing "networks", or the "groups" of each; None: the first of these

        Raises TilewrightError for another table, and when pandas is not installed.
        """
        tables = {found.name: found for found in self.tables()}
        return entry(tables, next(iter(tables)) if table is None else table, "table", where="to_frame").to_frame()

    def figure(self, picture: str | None = None) -> Figure:
        """A picture as a matplotlib figure.

        picture  of layers "finding", what the comparison is about; "energy", by level of memory; "dataflows", their
                 price over the free choice; with fusing "fusing", what it saves of every network on every architecture,
                 with what is proven of it; None: the first of these

        Raises TilewrightError for another picture, and when matplotlib is not installed.
        """
        draw = entry(
            self.pictures, next(iter(self.pictures)) if picture is None else picture, "picture", where="figure"
        )
        with figure_style():
            return draw(self)
