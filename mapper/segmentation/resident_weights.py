"""Weights that lie on chip before a run and after it: they were read in once, for many runs.

Each lies whole in a memory outside all arrays, as a tensor does that stays between groups (`residency.py`), but at its
place all the time: every group has so much less room, and those that read it find it there. No word of it passes the
outermost memory while the network runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...arch import Architecture
from ...cost_models.cost import tensor_tile_words
from ...ir import InfeasibleError, MappingError, Tensor, did_you_mean
from ...ir.errors import entry
from ...workloads.graph import GraphReading, Occurrence, OperationGroup, cascade_parameters
from ..cascades.terms.upper_memories import UpperMemories
from .residency import Taken


@dataclass(frozen=True)
class WeightsIn:
    """Which weights lie in which memory.

    memory      its name
    operations  whose weights these are, as the network calls them; none: all operations'
    are_chosen  whether the search chooses some of these, those that are best to keep
    """

    memory: str
    operations: tuple[str, ...] = ()
    are_chosen: bool = False

    def __str__(self) -> str:
        told = f"the best weights in {self.memory}" if self.are_chosen else f"weights in {self.memory}"
        return told + (f": {', '.join(self.operations)}" if self.operations else "")


@dataclass(frozen=True)
class ResidentWeight:
    """A weight that lies on chip all the time.

    name       of its operation, and what that calls it
    memory     in which it lies, whole: its number among those in which tensors may stay
    bits       that it takes, in whole bytes
    operation  whose weight it is
    """

    name: str
    memory: int
    bits: int
    operation: str


OwnWeights = Mapping[str, ResidentWeight]
"""Weights of a group that lie on chip, by what its cascade calls them."""


class ResidentWeights:
    """All of them, and those of each group.

    total  bits of each memory in which tensors may stay that they take
    most   bits that they may take of the memory that some are chosen for; None: all lie there
    """

    most: int | None = None

    def __init__(
        self,
        reading: GraphReading,
        groups: Sequence[OperationGroup],
        arch: Architecture,
        asked: Sequence[WeightsIn],
        memories: Sequence[str],
    ) -> None:
        """
        memories  in which tensors may stay, outermost first

        Raises MappingError for operations and memories that there are not, or that have no weights or hold none;
        InfeasibleError where the weights are larger than a memory.
        """
        self._reading, self._arch, self._memories = reading, arch, memories
        self._upper = UpperMemories(arch)
        self._wanted = self._memory_of_operations(asked)
        self._of_group = [self._in(group) for group in groups]
        every = {weight.name: weight for found in self._of_group for weight in found.values()}
        self.every = tuple(every.values())
        self.total = self._taken(self.every)
        self._check(asked)

    def choices(self, group: int) -> Sequence[OwnWeights]:
        """Which of a group's weights may lie on chip."""
        return (self._of_group[group],)

    def hint(self) -> str:
        """The advice where nothing else fits; empty where no weights are resident."""
        taken = zip(self._memories, self.total, strict=True)
        told = " and ".join(f"{bits // 8:,} bytes of {memory}" for memory, bits in taken if bits)
        return f"weights take {told} all the time: name fewer operations, or none" if told else ""

    def others(self, own: OwnWeights) -> Taken:
        """Bits of each memory that the weights of all other operations take, beside a group's own."""
        taken = self._taken(tuple(own.values()))
        return tuple(max(0, all_bits - bits) for all_bits, bits in zip(self.total, taken, strict=True))

    def _taken(self, weights: Sequence[ResidentWeight]) -> Taken:
        found = [0] * len(self._memories)
        for weight in weights:
            found[weight.memory] += weight.bits
        return tuple(found)

    def _memory_of_operations(self, asked: Sequence[WeightsIn]) -> dict[str, int]:
        """By occurrence the number of the memory that its weights lie in."""
        numbers = {memory: number for number, memory in enumerate(self._memories)}
        known = {one.name: one for one in self._reading.occurrences}
        found: dict[str, int] = {}
        for one in asked:
            number = entry(numbers, one.memory, "memory outside all arrays", MappingError, self._arch.name)
            for name in one.operations or known:
                entry(known, name, "operation", MappingError, self._reading.graph.network)
                if found.setdefault(name, number) != number:
                    first = self._memories[found[name]]
                    raise MappingError(f"the weights of {name} are to lie in {first} and in {one.memory}")
        return found

    def _in(self, group: OperationGroup) -> dict[str, ResidentWeight]:
        if group.cascade is None or not self._wanted:
            return {}
        members: list[Occurrence] = [self._reading.occurrences[place] for place in group.places]
        if any(member.is_apart for member in members):  # which of its operands are weights, each time, is not told
            return {}
        found = {}
        for tensor, parameter in cascade_parameters(self._reading.graph, members, group.cascade).items():
            number = self._wanted.get(parameter.occurrence)
            if number is not None:
                reader = group.cascade.consumers[tensor][0].problem
                bits = self._whole_bytes(reader.tensor(tensor), reader.sizes, number)
                name = f"{parameter.occurrence}.{parameter.operand}"
                found[tensor] = ResidentWeight(name, number, bits, parameter.occurrence)
        return found

    def _whole_bytes(self, tensor: Tensor, sizes: Mapping[str, int], number: int) -> int:
        memory = self._memories[number]
        if not self._upper.may_hold(memory, {tensor.role}):
            hint = "an architecture's `keeps` says what its memories hold"
            raise MappingError(f"{memory} may not hold {tensor.role}s, or not alone", where=self._arch.name, hint=hint)
        bits = tensor_tile_words(tensor, sizes, self._arch.footprint) * self._arch.width_bits(tensor)
        return 8 * -(-bits // 8)

    def _check(self, asked: Sequence[WeightsIn]) -> None:
        """Whether there are such weights, and room for them."""
        having = {weight.name.rpartition(".")[0] for weight in self.every}
        for one in asked:
            for name in one.operations:
                if name not in having:
                    hint = did_you_mean(name, having)
                    raise MappingError(f"{name} has no weights", where=self._reading.graph.network, hint=hint)
        for memory, bits in zip(self._memories, self.total, strict=True):
            size = self._upper.of(memory).size_bits
            if size is not None and bits > size:
                message = f"weights take {-(-bits // 8):,} bytes, and {memory} has {size // 8:,}"
                hint = "name fewer operations, or none: those that are best to keep are chosen then"
                raise InfeasibleError(message, where=self._reading.graph.network, hint=hint)


class OpenWeights(ResidentWeights):
    """Weights of which some are to be chosen, so that they take at least and at most so many bits of their memory.

    What groups cost is what they cost beside the least: no choice within these bounds makes them cheaper. A way may
    take fewer bits than the least, and is bounded as if it took so many.
    """

    def __init__(
        self,
        reading: GraphReading,
        groups: Sequence[OperationGroup],
        arch: Architecture,
        asked: WeightsIn,
        memories: Sequence[str],
        between: tuple[int, int],
    ) -> None:
        """
        between  the least and the most bits

        Raises MappingError for memories that there are not, or that hold no weights.
        """
        self._between = between
        super().__init__(reading, groups, arch, (asked,), memories)
        least, self.most = between
        number = memories.index(asked.memory)
        self.total = tuple(least if one == number else 0 for one in range(len(memories)))

    def choices(self, group: int) -> Sequence[OwnWeights]:
        """All choices of operations whose weights lie on chip, none first."""
        of_group = self._of_group[group]
        bits: dict[str, int] = {}
        for weight in of_group.values():
            bits[weight.operation] = bits.get(weight.operation, 0) + weight.bits
        some = [one for one, taken in bits.items() if taken <= self._between[1]]
        chosen = itertools.chain.from_iterable(itertools.combinations(some, n) for n in range(len(some) + 1))
        return [{tensor: one for tensor, one in of_group.items() if one.operation in names} for names in chosen]

    def _check(self, asked: Sequence[WeightsIn]) -> None:
        """They need not all have room."""
