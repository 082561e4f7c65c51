"""The best layouts, or formats of operands with zeros, for a mapping, where a machine leaves some open."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import astuple

from ..arch import Architecture, Memory
from ..ir import Mapping, MappingError, Tensor
from .cost import Cost, evaluate, held_width_bits
from .layouts import count_lines
from .layouts.choices import has_open_layouts, is_open, possible_layouts, with_layouts
from .objective import EDP, ObjectiveLike
from .sparse.choices import evaluate_zeros


def evaluate_open(mapping: Mapping, arch: Architecture, objective: ObjectiveLike = EDP) -> tuple[Cost, Architecture]:
    """The least cost of a mapping over all layouts and formats that are open, and the machine with those that have it.

    Raises MappingError when the mapping does not fit, whatever they are.
    """
    if mapping.problem.has_zeros:
        return evaluate_zeros(mapping, arch, objective)
    if not has_open_layouts(arch, mapping.problem):
        return evaluate(mapping, arch), arch
    best: tuple[float, Cost, Architecture] | None = None
    refused: MappingError | None = None
    for closed in _closed(mapping, arch):
        try:
            cost = evaluate(mapping, closed)
        except MappingError as error:
            refused = error
            continue
        value = cost.objective(objective)
        if best is None or value < best[0]:
            best = value, cost, closed
    if best is None:
        assert refused is not None
        raise refused
    return best[1:]


def _closed(mapping: Mapping, arch: Architecture) -> Iterator[Architecture]:
    """The machine with one layout in every place; of those of a tensor in a memory, the ones that no other beats in
    every kind of line: costs only grow with each."""
    problem = mapping.problem
    options: list[list[tuple[str, str]]] = []
    for memory in arch.memories:
        for tensor in problem.tensors:
            if is_open(memory, tensor):
                texts = _undominated(mapping, arch, memory, tensor)
                options.append([(f"{memory.name}.{tensor.name}", text) for text in texts])
    for chosen in itertools.product(*options):
        yield with_layouts(arch, problem, dict(chosen))


def _undominated(mapping: Mapping, arch: Architecture, memory: Memory, tensor: Tensor) -> list[str]:
    possible = possible_layouts(memory, mapping.problem, tensor, held_width_bits(arch, memory, tensor))
    counted: dict[str, tuple[int, ...]] = {}
    for text in possible.values():
        key = memory.name, tensor.name
        only = with_layouts(_without_lines(arch, memory), mapping.problem, {f"{memory.name}.{tensor.name}": text})
        lines = count_lines(mapping, only, held_width_bits, {tensor.name})
        if key not in lines.total:
            return [text]
        counted[text] = (*astuple(lines.total[key]), *astuple(lines.busiest[key]), lines.held.get(key, 0))
    kept: list[str] = []
    for text, lines_of in counted.items():
        beaten = any(
            other != lines_of and all(a <= b for a, b in zip(other, lines_of, strict=True))
            for other in counted.values()
        )
        if not beaten and all(counted[other] != lines_of for other in kept):
            kept.append(text)
    return kept


def _without_lines(arch: Architecture, but: Memory) -> Architecture:
    """The machine with the lines of one memory alone."""
    levels = tuple(
        level.model_copy(update={"line_bits": None}) if isinstance(level, Memory) and level.name != but.name else level
        for level in arch.levels
    )
    return arch.model_copy(update={"levels": levels})
