"""The question and the answer of a search over segmentations of a network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

from ...arch import Architecture
from ...cost_models import Cost, Objective
from ...cost_models.least_cost import LeastCost, cost_of_moves
from ...ir import Cascade
from ...workloads.graph import NetworkGraph, OperationGroup
from ...workloads.network import Uncounted
from ..answer import Answer
from ..certificate import Certificate
from ..fusing import outer_words
from ..memory_plan import MemoryPlan
from ..question import DEFAULT_LIMITS, Fuse, Limits, Question, TreeQuestion
from ..space import Space
from ..tilings import Tiling
from .arenas import Arena, over_the_run
from .resident_weights import WeightsIn

MOST = 4
"""Operations of a group, unless told otherwise."""


_LOST = "lost, since the processes that searched them died:"


def lost_words(groups: Iterable[str]) -> tuple[str, ...]:
    """Return the certificate's words for groups that were not searched because their worker processes died."""
    names = ", ".join(dict.fromkeys(groups))
    return (f"{_LOST} {names}; run again",) if names else ()


@dataclass(frozen=True)
class NetworkQuestion:
    """One search over segmentations, with everything resolved.

    graph          of the network
    arch           the machine
    objective      a weighted sum of energy and latency, or a product of powers of them: edp, ed2p
    tiling, space  of the mappings to choose from
    fuse           `all`, `whole` or `none`, as for cascades
    most           operations that a group has at most
    limits         of the search of each group
    stays          whether tensors may stay on chip between groups
    weights_in     weights that lie on chip before the run
    total_s        seconds for the whole, after which the best so far is taken; None: as long as it takes
    uncounted      what the network asks for beside its graph
    """

    graph: NetworkGraph
    arch: Architecture
    objective: Objective
    tiling: Tiling
    space: Space = "even"
    fuse: Fuse = "all"
    most: int = MOST
    limits: Limits = DEFAULT_LIMITS
    stays: bool = True
    weights_in: tuple[WeightsIn, ...] = ()
    total_s: float | None = None
    uncounted: Uncounted = Uncounted()

    def of_group(self, cascade: Cascade) -> TreeQuestion:
        """Return the question about one group."""
        return Question(cascade, self.arch, self.objective, self.tiling, self.space, fuse=self.fuse, limits=self.limits)


class RunCost(NamedTuple):
    """Energy, latency, and the words that the outermost memory reads and writes."""

    energy_pj: float
    latency_cycles: float
    outer_words: int

    def less(self, saved: RunCost) -> RunCost:
        """What is left of it."""
        energy, latency = self.energy_pj - saved.energy_pj, self.latency_cycles - saved.latency_cycles
        return RunCost(energy, latency, self.outer_words - saved.outer_words)


FREE = RunCost(0.0, 0.0, 0)


def cost_of_group(group: OperationGroup, arch: Architecture) -> RunCost:
    """Return the cost of what is no operation: its words pass the outermost memory."""
    least = cost_of_moves(arch, dict(group.moved))
    return RunCost(least.energy_pj, least.latency_cycles, sum(words for _, words in group.moved))


def totals_of(cost: Cost, times: int) -> RunCost:
    """Return energy, latency and words of an answer that is done several times."""
    return RunCost(times * cost.energy_pj, times * cost.latency_cycles, times * outer_words(cost))


def total(every: Iterable[RunCost]) -> RunCost:
    """The sum of some."""
    columns = list(zip(*every, strict=True))
    return RunCost(*map(sum, columns)) if columns else FREE


@dataclass(frozen=True)
class AheadTile:
    """Weights that are fetched while the group before runs.

    tensor, memory  what the group's cascade calls them, and where they come to
    words   that come ahead
    of      words of the tile, which the group holds at its start
    size    bytes that they take there while the group before runs
    """

    tensor: str
    memory: str
    words: float
    of: float
    size: int


@dataclass(frozen=True)
class Segment:
    """One group of the best segmentation.

    names   of its operations, in the order of the network
    answer  its best tree, cost and certificate; None: made in a way that is no operation here
    arenas  addresses of its tiles, and of what others have left there, in every bounded memory
    alike   the number of the first segment that differs from it in names alone; its own, where there is none before it
    stays   (tensor of its cascade, memory) of those that it finds on chip, or leaves there
    times   how often it is done, one after the other, each time by the same tree
    moves   what it costs that words pass the outermost memory, where it is no operation
    ahead   weights that come while the group before runs
    saved   by that
    """

    names: tuple[str, ...]
    answer: Answer | None
    arenas: tuple[Arena, ...]
    alike: int
    stays: tuple[tuple[str, str], ...] = ()
    times: int = 1
    moves: RunCost = FREE
    ahead: tuple[AheadTile, ...] = ()
    saved: RunCost = FREE

    @property
    def totals(self) -> RunCost:
        """Energy, latency and words, every repetition counted."""
        return self.moves if self.answer is None else totals_of(self.answer.cost, self.times).less(self.saved)


@dataclass(frozen=True)
class StayingTensor:
    """A tensor that stays on chip from the group that makes it to the last group that reads it; or a weight that lies
    there all the time.

    name         of the occurrence that makes it; of a weight its operation, and what that calls it
    memory       in which it stays
    bits         that it takes
    first, last  places of these groups among the segments
    buffers      what it is called among the addresses of each of these segments, first to last
    is_weight    whether it is a weight
    """

    name: str
    memory: str
    bits: int
    first: int
    last: int
    buffers: tuple[str, ...]
    is_weight: bool = False


@dataclass(frozen=True)
class LeftOutWeight:
    """A weight that is not kept on chip, where those are to be that are best.

    name  of its operation, and what that calls it
    bits  that it takes
    why   it is not kept, in words
    """

    name: str
    bits: int
    why: str


@dataclass(frozen=True)
class Apart:
    """The best plan without some freedom, to compare with: each operation on its own, or nothing on chip between
    groups.

    energy_pj, latency_cycles  of the whole run
    outer_words                that the outermost memory reads and writes
    value, lower_bound         of the objective, and what is proven of it
    """

    energy_pj: float
    latency_cycles: float
    outer_words: int
    value: float
    lower_bound: float


@dataclass(frozen=True)
class NetworkAnswer:
    """The answer of a search over segmentations.

    question     that was asked
    segments     of the network, in its order
    apart        what it costs with nothing fused; None where that is not known of every operation
    certificate  what is proven of the whole
    groups       that a segmentation may have
    searched     questions about them that were searched
    staying      tensors that stay on chip between groups
    passing      the best where nothing stays between groups; None where that is not known
    in_order     whether other orders of operations than the network's were left aside, since there are too many
    all_pass     whether it was left aside that tensors stay on chip between groups, since there are too many ways
    left_out     weights that are not kept on chip, where those are that are best
    least_pj     by occurrence of one operation, what it takes at least in any group, near and inside the arrays
    least_of_groups  no plan costs less, whatever stays on chip; None where that is not known
    """

    question: NetworkQuestion
    segments: tuple[Segment, ...]
    apart: Apart | None
    certificate: Certificate
    groups: int
    searched: int
    staying: tuple[StayingTensor, ...] = ()
    passing: Apart | None = None
    in_order: bool = False
    all_pass: bool = False
    left_out: tuple[LeftOutWeight, ...] = ()
    least_pj: Mapping[str, float] = field(default_factory=dict)
    least_of_groups: LeastCost | None = None

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers of all segments that are counted."""
        return tuple(segment.answer for segment in self.segments if segment.answer is not None)

    @cached_property
    def macs(self) -> int:
        """Multiply-accumulates of all segments that are counted."""
        occurrences, counted = self.question.graph.by_name, (one for one in self.segments if one.answer is not None)
        return sum(occurrences[name].macs for one in counted for name in one.names)

    @cached_property
    def outside(self) -> RunCost:
        """What it costs that words pass the outermost memory for what is no operation."""
        return total(segment.moves for segment in self.segments)

    @cached_property
    def totals(self) -> RunCost:
        """Energy, latency and words of the whole run."""
        return total(segment.totals for segment in self.segments)

    @property
    def energy_pj(self) -> float:
        """Energy of the whole run, in pJ."""
        return self.totals.energy_pj

    @property
    def latency_cycles(self) -> float:
        """Latency of the whole run, in cycles."""
        return self.totals.latency_cycles

    @property
    def outer_words(self) -> int:
        """Words that the outermost memory reads and writes."""
        return self.totals.outer_words

    @cached_property
    def saved_ahead(self) -> RunCost:
        """What it saves that weights are fetched while the group before runs."""
        return total(segment.saved for segment in self.segments)

    @property
    def lost(self) -> tuple[str, ...]:
        """The certificate's words for groups that were not searched because their worker processes died."""
        return tuple(line for line in self.certificate.constraints if line.startswith(_LOST))

    @cached_property
    def arenas(self) -> dict[tuple[str, tuple[str, ...]], MemoryPlan]:
        """The addresses of all tiles over the run, by memory and the roles that its part is for. A moment is the place
        of an operation among all that are done, or of an entry without operation during which something stays; a tensor
        that stays is one tile."""
        found: dict[tuple[str, tuple[str, ...]], list[tuple[int, Callable[[str], str], Arena]]] = {}
        moment = 0
        for number, one in enumerate(self.segments):
            for arena in one.arenas:
                name_of = partial(self._name_over_the_run, number, arena.memory)
                found.setdefault((arena.memory, arena.roles), []).append((moment, name_of, arena))
            moment += bool(one.arenas) if one.answer is None else len(one.answer.cost.occupancy)
        return {part: over_the_run(arenas) for part, arenas in found.items()}

    @cached_property
    def _names_of_stays(self) -> dict[tuple[int, str, str], str]:
        """The tensors that stay, by segment, memory and name among the addresses there."""
        return {
            (number, one.memory, buffer): f"{one.name} (stays)"
            for one in self.staying
            for number, buffer in enumerate(one.buffers, one.first)
        }

    def _name_over_the_run(self, segment: int, memory: str, buffer: str) -> str:
        return self._names_of_stays.get((segment, memory, buffer), f"{segment + 1}.{buffer}")

    @property
    def staying_saves(self) -> float | None:
        """The part of the objective that what stays on chip saves; None where there is nothing to compare with."""
        if self.passing is None or not self.passing.value:
            return None
        return max(0.0, 1 - self.certificate.value / self.passing.value)

    @property
    def saves(self) -> float | None:
        """The part of the objective that fusing saves, with what stays on chip; None: nothing to compare with."""
        if self.apart is None:
            return None
        return max(0.0, 1 - self.certificate.value / self.apart.value) if self.apart.value else 0.0
