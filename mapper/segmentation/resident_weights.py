"""Weights that lie on chip before a run and after it: they were read in once, for many runs.

Each lies whole in a memory outside all arrays, as a tensor does that stays between groups (`residency.py`), but at its
place all the time: every group has so much less room, and those that read it find it there. No word of it passes the
outermost memory while the network runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...arch import Architecture
from ...cost_models.cost import tensor_tile_words
from ...ir import InfeasibleError, MappingError, Tensor, did_you_mean
from ...ir.errors import entry
from ...workloads.graph import GraphReading, Occurrence, OperationGroup, cascade_parameters
from ..cascades.upper_memories import UpperMemories
from .residency import Taken


@dataclass(frozen=True)
class WeightsIn:
    """Which weights lie in which memory.

    memory      its name
    operations  whose weights these are, as the network calls them; none: all operations'
    """

    memory: str
    operations: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"weights in {self.memory}" + (f": {', '.join(self.operations)}" if self.operations else "")


@dataclass(frozen=True)
class ResidentWeight:
    """A weight that lies on chip all the time.

    name    of its operation, and what that calls it
    memory  in which it lies, whole: its number among those in which tensors may stay
    bits    that it takes, in whole bytes
    """

    name: str
    memory: int
    bits: int


class ResidentWeights:
    """All of them, and those of each group.

    total  bits of each memory in which tensors may stay that they take
    """

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

    def of(self, group: int) -> dict[str, ResidentWeight]:
        """Those of a group, by what its cascade calls them."""
        return self._of_group[group]

    def hint(self) -> str:
        """What to try where nothing else fits; nothing where there are no such weights."""
        taken = zip(self._memories, self.total, strict=True)
        told = " and ".join(f"{bits // 8:,} bytes of {memory}" for memory, bits in taken if bits)
        return f"weights take {told} all the time: let fewer of them lie there" if told else ""

    def others(self, group: int) -> Taken:
        """Bits of each memory that the weights of all other operations take."""
        own = self._taken(tuple(self._of_group[group].values()))
        return tuple(all_bits - bits for all_bits, bits in zip(self.total, own, strict=True))

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
        found = {}
        for tensor, parameter in cascade_parameters(self._reading.graph, members, group.cascade).items():
            number = self._wanted.get(parameter.occurrence)
            if number is not None:
                reader = group.cascade.consumers[tensor][0].problem
                bits = self._whole_bytes(reader.tensor(tensor), reader.sizes, number)
                found[tensor] = ResidentWeight(f"{parameter.occurrence}.{parameter.operand}", number, bits)
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
                hint = "name the operations whose weights are to lie there, or another memory"
                raise InfeasibleError(message, where=self._reading.graph.network, hint=hint)
