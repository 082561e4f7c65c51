"""A network on a machine: the best with fusing, the best without, and what is proven of the difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ....cost_models import parse_objective
from ....ir.units import plural
from ....mapper.fusing import memories_of_exchange
from ....mapper.segmentation import NetworkAnswer
from ....run.batch.job import Failure
from ....run.store import NoMapping
from ....workloads.network import Uncounted
from ...networks.network_plan import fused_by
from ...parts.si import in_si
from ..compared import ComparedRow, Summary

NetworkOutcome: TypeAlias = NetworkAnswer | NoMapping | Failure
FUSED = "fused"
"""Where a summary names a dataflow."""


@dataclass(frozen=True)
class FusedRow(ComparedRow):
    """A network on an architecture.

    network  its name
    machine  the architecture
    command  a shell command that finds the same, with every group
    outcome  what was found, or why there is nothing
    """

    outcome: NetworkOutcome

    @property
    def place(self) -> str:
        """Where it stands, in messages."""
        return f"{self.network} on {self.arch}"

    @property
    def answer(self) -> NetworkAnswer | None:
        """The best groups, and the cost with nothing fused beside them."""
        return self.outcome if isinstance(self.outcome, NetworkAnswer) else None

    @property
    def saves(self) -> float | None:
        """The part of the objective by which the best that was found is below the best with nothing fused."""
        return self.answer.saves if self.answer else None

    @property
    def saves_between(self) -> tuple[float, float] | None:
        """The parts of the objective that fusing is proven to save at least and at most; equal where all is proven."""
        answer = self.answer
        if answer is None or answer.apart is None:
            return None
        apart, proof = answer.apart, answer.certificate
        if not apart.lower_bound or not apart.value:
            return 0.0, 1.0 if apart.value else 0.0
        least, most = 1 - proof.value / apart.lower_bound, 1 - proof.lower_bound / apart.value
        return max(0.0, least), max(0.0, most)

    @property
    def groups(self) -> int:
        """Groups that are counted."""
        return len(self.answer.answers) if self.answer else 0

    @property
    def operations(self) -> int:
        """Operations in these groups; a softmax or a norm is one."""
        return sum(len(one.names) for one in self.answer.segments if one.answer is not None) if self.answer else 0

    @property
    def fused_groups(self) -> int:
        """Groups of several operations."""
        counted = (one for one in self.answer.segments if one.answer is not None) if self.answer else ()
        return sum(len(one.names) > 1 for one in counted)

    @property
    def staying(self) -> int:
        """Tensors that stay on chip between groups."""
        return len(self.answer.staying) if self.answer else 0

    @property
    def saved_by(self) -> str:
        """What fusing saves by: groups of several operations, and what stays on chip."""
        return fused_by(self.answer) if self.answer else ""

    @property
    def saved_by_short(self) -> str:
        """The same in little room: `18 groups, 20 stay`."""
        parts = [plural(self.fused_groups, "group")] if self.fused_groups else []
        return ", ".join([*parts, *([f"{self.staying} stay"] if self.staying else [])]) or "inside operations"

    @property
    def saved_by_kind(self) -> str:
        """The same without numbers, for sentences that have others."""
        weights = any(one.is_weight for one in self.answer.staying) if self.answer else False
        kept = any(not one.is_weight for one in self.answer.staying) if self.answer else False
        ways = ["groups of several operations"] if self.fused_groups else []
        ways += ["tensors that stay on chip"] if kept else []
        ways += ["weights that stay on chip"] if weights else []
        return " and ".join(ways) or "what stays on chip inside operations"

    @property
    def outermost(self) -> str:
        """The name of the outermost memory."""
        return self.machine.memories[0].name

    @property
    def left_out(self) -> str:
        """What of the network no group has, and is in no figure; nothing where there is none."""
        rest = self.answer.question.uncounted if self.answer else Uncounted()
        return rest.beside(self.answer.macs) if self.answer and rest.names else ""

    @property
    def fewer_words(self) -> float | None:
        """The part of the words at the outermost memory that fusing saves; None where there is nothing to compare."""
        if self.answer is None or self.answer.apart is None or not self.answer.apart.outer_words:
            return None
        return 1 - self.answer.outer_words / self.answer.apart.outer_words

    @property
    def why_nothing(self) -> str:
        """Why fusing saves nothing, where it does not: a part of a sentence, after `since`."""
        if not memories_of_exchange(self.machine):
            return f"no memory but {self.outermost} may keep what one operation writes and the next one reads"
        if self.answer is not None and self.answer.groups == len(self.answer.segments):
            several = "what one writes is read by several, shapes do not connect, or operators are several problems"
            return f"no operations may be a group: {several}"
        if self.status != "proven":
            return "no group that costs less was found in time"
        return "every group of several operations is proven to cost as much as they do alone, or more"

    def summary(self) -> Summary:
        """The network as a whole, as comparisons of layers have it."""
        answer, clock = self.answer, self.machine.clock_hz
        cycles = answer.latency_cycles if answer else 0.0
        counted = [one for one in answer.segments if one.answer is not None] if answer else []
        units = sum(one.answer.cost.utilization * one.totals.latency_cycles for one in counted if one.answer)
        return Summary(
            network=self.network,
            arch=self.arch,
            dataflow=FUSED,
            layers=self.operations,
            missing=() if answer else (self.network,),
            proven=self.status == "proven",
            energy_pj=answer.energy_pj if answer else None,
            latency_cycles=cycles if answer else None,
            latency_s=cycles / clock if answer else None,
            value=value_in_si(self, answer.certificate.value) if answer else None,
            utilization=units / cycles if cycles else None,
            penalty=None,
            layer_penalty=None,
            lower_bound=value_in_si(self, answer.certificate.lower_bound) if answer else None,
        )


def value_in_si(row: FusedRow, value: float) -> float:
    """A value of what was minimized on the machine of a row, in joules and seconds."""
    assert row.answer is not None
    return in_si(parse_objective(row.answer.certificate.objective), value, row.machine.clock_hz)
