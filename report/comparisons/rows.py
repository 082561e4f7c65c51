"""The rows of a comparison: one for each layer on each architecture under each dataflow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ...cost_models import Cost, parse_objective
from ...ir import Mapping as TensorMapping
from ...ir import Problem
from ...ir.errors import entry
from ...mapper.answer import Answer
from ...mapper.certificate import Certificate
from ...run.batch.job import Outcome
from ..parts.nest import mapping_lines
from ..parts.si import in_si
from .compared import Compared, ComparedRow
from .costs import EnergyPart, energy_parts, latency_parts, outer_bytes

FREE = "free"
"""The dataflow that all others are compared with: no constraints at all."""


@dataclass(frozen=True)
class Row(ComparedRow):
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
    outcome   an `Answer`, or why there is none
    """

    outcome: Outcome
    layer: str
    kind: str
    repeat: int
    problem: Problem
    dataflow: str
    objective: str
    key: str | None
    recalled: bool

    @property
    def place(self) -> str:
        """Where it stands, in messages."""
        return f"{self.layer} on {self.arch}, {self.dataflow}"

    @property
    def answer(self) -> Answer | None:
        """What was found."""
        return self.outcome if isinstance(self.outcome, Answer) else None

    @property
    def mapping(self) -> TensorMapping | None:
        """The best mapping."""
        return self.answer.mapping if self.answer else None

    @property
    def cost(self) -> Cost | None:
        """Energy, latency and traffic of one occurrence, with all memories and tensors."""
        return self.answer.cost if self.answer else None

    @property
    def certificate(self) -> Certificate | None:
        """What is proven of the mapping."""
        return self.answer.certificate if self.answer else None

    @property
    def value(self) -> float | None:
        """What was minimized, in joules and seconds: an EDP in J s. A formula has the value that it has in pJ and
        cycles."""
        return self._in_si(self.certificate.value) if self.certificate else None

    @property
    def lower_bound(self) -> float | None:
        """What no mapping is below, in the unit of the value."""
        return self._in_si(self.certificate.lower_bound) if self.certificate else None

    def _in_si(self, value: float) -> float:
        return in_si(parse_objective(self.objective), value, self.machine.clock_hz)

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
        return "\n".join(mapping_lines(self.mapping, self.machine)) if self.mapping else ""


class ComparisonRows(Compared[Row]):
    """The layers of some networks on some architectures under some dataflows."""

    @cached_property
    def dataflows(self) -> tuple[str, ...]:
        """Names, in the order asked for; every network and architecture has rows of each."""
        return tuple(dict.fromkeys(row.dataflow for row in self.rows))

    @cached_property
    def _by_place(self) -> dict[tuple[str, str, str], tuple[Row, ...]]:
        places: dict[tuple[str, str, str], list[Row]] = {}
        for row in self.rows:
            places.setdefault((row.network, row.arch, row.dataflow), []).append(row)
        return {place: tuple(rows) for place, rows in places.items()}

    def of(self, network: str, arch: str, dataflow: str) -> tuple[Row, ...]:
        """The layers of a network on an architecture under a dataflow, in the order of the network.

        Raises TilewrightError for names that are not compared.
        """
        return entry(self._by_place, (network, arch, dataflow), "network, architecture and dataflow")

    @cached_property
    def _free_values(self) -> dict[tuple[str, str, str], float]:
        free = (row for row in self.rows if row.dataflow == FREE and row.value is not None)
        return {(row.network, row.arch, row.layer): row.value or 0.0 for row in free}

    def penalty(self, row: Row) -> float | None:
        """By what factor the row's objective is above that of the free optimum; None where one of them is missing."""
        free = self._free_values.get((row.network, row.arch, row.layer))
        return row.value / free if free and row.value is not None else None
