"""Where operations of one run exchange what they make, and into how many parts loops have to cut it there.

An intermediate that is exchanged in a memory takes room there from the operation that writes it to the last that reads
it, with what each of these exchanges on chip besides: of that, a word at least. Where it has no room as a whole, loops
cut it that stand above the split at which these operations part. All operations below that split make their steps, so
that of a run of operations, whichever part first, all make the steps that cut what is exchanged there. The same goes
for what is left on both sides.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ....cost_models.cost import capacity_parts, tensor_tile_words
from ....ir import Cascade, Operation, Tensor, ceil_div
from ..terms.sharing import SharedDim
from ..terms.upper_memories import UpperMemories
from .shared_steps import Homes, LyingTensors, SharedSteps

IMPOSSIBLE = 1 << 62
"""Parts of what has no room however it is cut."""


class RunExchange(NamedTuple):
    """Where operations of a run exchange what they make.

    memories  by intermediate
    coming    by intermediate, the reader that finds it there for sure
    """

    memories: dict[str, str]
    coming: dict[str, str]


@dataclass
class RunExchanges:
    """Exchanges inside runs of one cascade on one machine.

    stays   (tensor, memory) of tensors from outside that lie there whole
    shared  dimensions of which some operations may share loops
    """

    cascade: Cascade
    memories: UpperMemories
    stays: Mapping[str, str]
    shared: Callable[[tuple[str, ...]], Sequence[SharedDim]]
    _room: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        taken = self.memories.bits_of_stays(self.cascade, self.stays.items())
        self._room = {}
        for level in self.memories.upper:
            parts = [part.bits for part in capacity_parts(level)]
            staying = (
                0
                if level.partition_bits
                else min(
                    (sum(bits for memory, _, bits in room if memory == level.name) for room in taken.values()),
                    default=0,
                )
            )
            self._room[level.name] = max(parts) - staying if parts else IMPOSSIBLE

    def choices(self, names: Sequence[str]) -> Iterator[RunExchange]:
        """Where every intermediate that operations of a run alone use may be exchanged. Further out than where all of
        it has room, nothing is better. Of several readers one comes there for sure; others may find it further in, at
        a node that it has passed."""
        inside = [tensor for tensor in self.cascade.intermediates if self._users(tensor) <= set(names)]
        for chosen in itertools.product(*map(self._ways, inside)):
            memories = dict(zip(inside, (memory for memory, _ in chosen), strict=True))
            coming = dict(zip(inside, (reader for _, reader in chosen), strict=True))
            yield RunExchange(memories, coming)

    def home(self, exchange: RunExchange, operation: Operation, tensor: Tensor) -> str | None:
        """The memory that an operation finds an intermediate in, or writes it to, at the innermost; None: it is not
        exchanged in the run."""
        memory = exchange.memories.get(tensor.name)
        if memory is None or tensor.is_output or exchange.coming[tensor.name] == operation.name:
            return memory
        inner = self.memories.upper[self.memories.depth[memory] :]
        return [one.name for one in inner if one.name == memory or one.keeps[tensor.role] != "never"][-1]

    def between(self, tensor: str, names: Sequence[str]) -> tuple[int, int]:
        """The places of the operations from the one that writes it to the last that reads it."""
        places = [place for place, name in enumerate(names) if name in self._users(tensor)]
        return min(places), max(places) + 1

    def parts(self, tensor: str, exchanged: Mapping[str, str], names: Sequence[str]) -> int:
        """Into how many parts loops have to cut an intermediate at least.

        exchanged  the memories of all that the run exchanges
        names      of the operations from the one that writes it to the last that reads it
        """
        memory, most = exchanged[tensor], 1
        if memory == self.memories.outermost:
            return most
        for name in names:
            others = (one.name for one in self.cascade.operation(name).problem.tensors if one.name != tensor)
            beside = sum(self._word(one) for one in others if exchanged.get(one) == memory)
            room = self._room[memory] - beside
            most = max(most, ceil_div(self._bits(tensor), room) if room > 0 else IMPOSSIBLE)
        return most

    def _ways(self, tensor: str) -> Iterator[tuple[str, str]]:
        """Memories that may exchange an intermediate, innermost first, to the first in which all of it has room, with
        the reader that comes there."""
        readers = [user.name for user in self.cascade.consumers[tensor]]
        for memory in reversed(self.memories.exchanging(self.cascade, tensor)):
            for reader in readers if memory != self.memories.nearest else readers[:1]:  # nothing is further in there
                yield memory, reader
            if self._bits(tensor) <= self._room[memory] // 2:
                break

    def _word(self, tensor: str) -> int:
        return self.memories.arch.width_bits(self.cascade.producers[tensor].output)

    def _users(self, tensor: str) -> set[str]:
        return {self.cascade.producers[tensor].name, *(user.name for user in self.cascade.consumers[tensor])}

    def _bits(self, tensor: str) -> int:
        """Of all words that are written."""
        writer = self.cascade.producers[tensor]
        words = tensor_tile_words(writer.output, writer.problem.sizes, self.memories.arch.footprint)
        return words * self.memories.arch.width_bits(writer.output)


@dataclass
class CutRun:
    """What steps of loops that cut what operations exchange add to what these weigh.

    homes      by operation, the memory of each of its tensors
    plain      what each operation weighs at least, whatever its steps
    exchanged  the memories of what is exchanged among them
    passed_on  intermediates that others use as well: they lie in their homes as a whole
    """

    operations: Sequence[Operation]
    homes: Sequence[Homes]
    plain: Sequence[float]
    exchanged: Mapping[str, str]
    passed_on: frozenset[str]
    exchanges: RunExchanges
    steps: SharedSteps
    shared: Callable[[tuple[str, ...]], Sequence[SharedDim]]
    _known: dict[tuple[int, int], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._names = [operation.name for operation in self.operations]
        self._spans = {t: (*self.exchanges.between(t, self._names), self._parts(t)) for t in self.exchanged}

    def of(self, start: int, end: int) -> float:
        """What operations from one place to another weigh more at least."""
        if end - start < 2 or not any(
            start <= first and last <= end and n > 1 for first, last, n in self._spans.values()
        ):
            return 0.0
        if (start, end) not in self._known:
            self._known[start, end] = min(self._parting(start, end, place) for place in range(start + 1, end))
        return self._known[start, end]

    def _parting(self, start: int, end: int, place: int) -> float:
        """The same if those before a place part from the others first."""
        apart = self.of(start, place) + self.of(place, end)
        spans = self._spans.items()
        inside = {t: n for t, (first, last, n) in spans if start <= first < place < last <= end}
        parts = max(inside.values(), default=1)
        if parts == 1:
            return apart
        used, at_once = slice(start, end), len(self.operations) == 2
        cut_here = frozenset(t for t, n in inside.items() if n > 1)  # others may as well lie further out
        lying, dims = LyingTensors(self.passed_on, cut_here), self._dims(start, end)
        cut = self.steps.least(self.operations[used], self.homes[used], dims, parts, lying, at_once)
        return max(apart, cut - sum(self.plain[used]))

    def _dims(self, start: int, end: int) -> list[SharedDim]:
        """Dimensions of loops that may stand above where some operations part: shared by these, or by more that have
        them in one branch."""
        found = {}
        for first in range(start + 1):
            for last in range(end, len(self._names) + 1):
                for dim in self.shared(tuple(self._names[first:last])):
                    own = tuple(pair for pair in dim.dims if pair[0] in self._names[start:end])
                    found[own] = SharedDim(own, tuple(name for name in dim.uneven if name in self._names[start:end]))
        return list(found.values())

    def _parts(self, tensor: str) -> int:
        first, last = self.exchanges.between(tensor, self._names)
        return self.exchanges.parts(tensor, self.exchanged, self._names[first:last])
