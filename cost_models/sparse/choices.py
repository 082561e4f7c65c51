"""The best formats for a mapping, where memories may hold tensors with zeros in several."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass

from ...arch import Architecture, Memory
from ...arch.spec import SparseFormat
from ...ir import Mapping, MappingError, Role, Tensor
from ..cost import Cost
from ..objective import EDP, ObjectiveLike
from .cost import evaluate_sparse, tile_bits
from .densities import Density
from .formats import possible_formats
from .parsing import densities_of
from .shares import SparseMapping


def evaluate_zeros(mapping: Mapping, arch: Architecture, objective: ObjectiveLike = EDP) -> tuple[Cost, Architecture]:
    """The least mean cost of a mapping, whose problem has densities, over all formats that memories may have; and the
    machine with the formats that have it.

    Raises MappingError when the mapping does not fit, whatever the formats.
    """
    densities = densities_of(mapping.problem)
    best: tuple[float, Cost, Architecture] | None = None
    refused: MappingError | None = None
    for chosen in _choices(SparseMapping(mapping, arch, densities)):
        machine = with_formats(arch, chosen)
        try:
            cost = evaluate_sparse(mapping, machine, densities)
        except MappingError as error:
            refused = refused or error
            continue
        value = cost.objective(objective)
        if best is None or value < best[0]:
            best = value, cost, machine
    if best is None:
        assert refused is not None
        raise refused
    return best[1:]


Place = tuple[str, Role]
"""A memory, and the role of what it holds."""


@dataclass(frozen=True)
class _Option:
    """A format, and the bits that tensors take in it: those that pass for a word, on average, and those of the fullest
    tiles."""

    kind: SparseFormat
    per_word: tuple[float, ...]
    most_bits: tuple[int, ...]

    def beats(self, other: _Option) -> bool:
        """Whether it is no worse in anything."""
        mine, others = (*self.per_word, *self.most_bits), (*other.per_word, *other.most_bits)
        return all(a <= b for a, b in zip(mine, others, strict=True))


def open_places(arch: Architecture, densities: MappingABC[str, Density], tensors: tuple[Tensor, ...]) -> set[Place]:
    """Where a memory may choose between formats."""
    return {
        (memory.name, tensor.role)
        for memory in arch.memories
        for tensor in tensors
        if tensor.name in densities and len(possible_formats(memory, tensor, densities[tensor.name])) > 1
    }


def _choices(sparse: SparseMapping) -> Iterator[dict[Place, SparseFormat]]:
    """A format for every place that is open; of those of a place, only the ones that no other beats: costs only grow
    with the bits that pass, and room only shrinks with those that are held."""
    found: dict[Place, list[_Option]] = {}
    for memory, role in sorted(open_places(sparse.arch, sparse.densities, sparse.mapping.problem.operands)):
        options = _options(sparse, memory, role)
        if options:
            found[memory, role] = options
    for chosen in itertools.product(*found.values()):
        yield {place: option.kind for place, option in zip(found, chosen, strict=True)}


def _options(sparse: SparseMapping, memory_name: str, role: Role) -> list[_Option]:
    held = [
        (boundary.outer, tensor, boundary.outer_position)
        for tensor in sparse.mapping.problem.operands
        if tensor.role == role and tensor.name in sparse.densities
        for boundary in sparse.chains[tensor.name]
        if boundary.outer.name == memory_name
    ]
    if not held:
        return []
    kinds = set.intersection(*({*possible_formats(m, t, sparse.densities[t.name])} for m, t, _ in held))
    kept: list[_Option] = []
    for kind in possible_formats(held[0][0], held[0][1], sparse.densities[held[0][1].name]):
        if kind in kinds:
            option = _option(sparse, held, kind)
            if not any(other.beats(option) for other in kept):
                kept = [other for other in kept if not option.beats(other)] + [option]
    return kept


def _option(sparse: SparseMapping, held: list[tuple[Memory, Tensor, int]], kind: SparseFormat) -> _Option:
    per_word, most = [], []
    for memory, tensor, position in held:
        words, stored, metadata, most_bits = tile_bits(sparse, memory, tensor, position, kind)
        per_word.append((stored * sparse.arch.width_bits(tensor) + metadata) / words)
        most.append(most_bits)
    return _Option(kind, tuple(per_word), tuple(most))


def with_formats(arch: Architecture, chosen: MappingABC[Place, SparseFormat]) -> Architecture:
    """The machine with one format in some places."""
    if not chosen:
        return arch
    levels = []
    for level in arch.levels:
        if isinstance(level, Memory):
            named = {role: (kind,) for (memory, role), kind in chosen.items() if memory == level.name}
            if named:
                level = level.model_copy(update={"formats": {**level.formats, **named}})
        levels.append(level)
    return arch.model_copy(update={"levels": tuple(levels)})
