"""The tensors that may stay on chip from the group that makes them to the last group that reads them.

Such a tensor lies whole in one of the memories outside all arrays, at one place, while all groups work from the one
that writes it to the last that reads it: as a node above the branches of the whole network's tree. No word of it passes
to or from the outermost memory, and every group in between has so much less room. It is a candidate where

- an operation makes it, operations alone read it, all in the form in which it is made, and nobody else is handed it;
- the memory may hold it in all its roles, roles do not divide the memory, and it has the room;
- some reader reads all of it (what would be held of one that is read in part is not counted, as in cascades).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...arch import Architecture, Memory
from ...cost_models.cost import tensor_tile_words
from ...ir import Cascade, Operation, Role
from ...workloads.graph import GraphReading, OperationGroup, bits_of
from ..cascades.terms.upper_memories import UpperMemories

Taken = tuple[int, ...]
"""Bits of each of the memories in which tensors may stay."""


@dataclass(frozen=True)
class StayCandidate:
    """A tensor that may stay.

    place     of the occurrence that makes it
    bits      that it takes, with the zeros around it that readers ask for
    memories  in which it may stay: their numbers among `Residency.memories`
    """

    place: int
    bits: int
    memories: tuple[int, ...]


@dataclass(frozen=True)
class Residency:
    """The tensors of a network that may stay, with the memories in which each may.

    memories    in which tensors may stay, outermost first
    sizes       bits of each; None: as many as it takes
    candidates  by the place of the occurrence that makes it
    """

    memories: tuple[str, ...]
    sizes: tuple[int | None, ...]
    candidates: Mapping[int, StayCandidate]

    def taken_by(self, stays: Sequence[tuple[int, int]]) -> Taken:
        """Bits of each memory that some tensors take.

        stays  (place of who makes it, number of the memory)
        """
        found = [0] * len(self.memories)
        for place, memory in stays:
            found[memory] += self.candidates[place].bits
        return tuple(found)

    def fits(self, taken: Taken) -> bool:
        """Whether a memory has this much room at all."""
        return all(size is None or bits <= size for bits, size in zip(taken, self.sizes, strict=True))

    def without(self, taken: Taken) -> Residency:
        """Return the same tensors with less room in a memory."""
        left = (None if size is None else size - bits for size, bits in zip(self.sizes, taken, strict=True))
        return replace(self, sizes=tuple(left))

    def less(self, arch: Architecture, taken: Taken) -> Architecture:
        """The machine with so much less room.

        A full memory has a bit, since none has no room: what would lie there does not fit beside the rest.
        """
        bits = dict(zip(self.memories, taken, strict=True))
        if not any(taken):
            return arch
        levels = []
        for level in arch.levels:
            less = bits.get(level.name, 0) if isinstance(level, Memory) else 0
            if less and isinstance(level, Memory) and level.size_bits is not None:
                level = level.model_copy(update={"size_bits": max(1, level.size_bits - less)})
            levels.append(level)
        return arch.model_copy(update={"levels": tuple(levels)})


NOTHING_STAYS = Residency((), (), {})
"""Every tensor between groups in the outermost memory."""


def rooms_of(arch: Architecture) -> Residency:
    """The memories of a machine in which tensors may stay; none does."""
    memories = [memory for memory in UpperMemories(arch).upper[1:] if not memory.partition_bits]
    return Residency(tuple(memory.name for memory in memories), tuple(memory.size_bits for memory in memories), {})


def residency_of(reading: GraphReading, groups: Sequence[OperationGroup], arch: Architecture) -> Residency:
    """All candidates of a network on a machine.

    groups  that operations may be mapped in: what they ask of a tensor says how large it is
    """
    upper, rooms = UpperMemories(arch), rooms_of(arch)
    asked = _asked(reading, groups, arch)
    candidates = {}
    for place, users in asked.items():
        written = next((user.words for user in users if user.writes), 0)
        whole = any(user.words >= written and not user.writes for user in users)
        if not whole or not _passes_between_operations(reading, place):
            continue
        bits = max(user.words for user in users) * max(user.width for user in users)
        roles = {user.role for user in users}
        where = tuple(
            number
            for number, (memory, size) in enumerate(zip(rooms.memories, rooms.sizes, strict=True))
            if upper.may_hold(memory, roles) and (size is None or bits <= size)
        )
        if where:
            candidates[place] = StayCandidate(place, bits, where)
    return replace(rooms, candidates=candidates)


def most_held(cascade: Cascade, tensor: str, arch: Architecture) -> int:
    """Bits that a group holds at most of a tensor that stays: without zeros that others ask for, in partial sums where
    it makes the tensor."""
    users = [one for operation in cascade for one in _users(operation, tensor, arch)]
    return max(user.words for user in users) * max(user.widest for user in users)


@dataclass(frozen=True)
class _User:
    """
    width, widest  bits of a word, and of a partial sum where it makes sums
    """

    words: int
    width: int
    widest: int
    role: Role
    writes: bool


def _asked(reading: GraphReading, groups: Sequence[OperationGroup], arch: Architecture) -> dict[int, list[_User]]:
    """By the place of who makes it, what operations of groups ask of every tensor that enters or leaves a group."""
    found: dict[int, list[_User]] = {}
    for group in groups:
        if group.cascade is None:
            continue
        inside = group.cascade.intermediates
        for name, tensor in group.tensors.items():
            place = reading.place.get(name)
            if place is None or tensor in inside:
                continue
            for operation in group.cascade:
                found.setdefault(place, []).extend(_users(operation, tensor, arch))
    return found


def _users(operation: Operation, tensor: str, arch: Architecture) -> Iterator[_User]:
    """Count how often an operation reads a tensor."""
    for one in operation.problem.tensors:
        if one.name == tensor:
            words, width = tensor_tile_words(one, operation.problem.sizes, arch.footprint), arch.width_bits(one)
            widest = arch.partial_width_bits(one) if one.is_output else width
            yield _User(words, width, widest, one.role, one.is_output)


def _passes_between_operations(reading: GraphReading, place: int) -> bool:
    """Whether a tensor is made by an operation, and read by operations alone, in the form in which it is made."""
    meaning, made = reading.graph.meaning, reading.occurrences[place]
    readers = [reading.occurrences[i] for i in bits_of(reading.readers[place])]
    if made.is_apart or not readers or any(reader.is_apart for reader in readers):
        return False
    if reading.handed_out >> place & 1:
        return False
    if meaning is None:
        return True
    return made.name not in meaning.copies and all((reader.name, made.name) not in meaning.forms for reader in readers)
