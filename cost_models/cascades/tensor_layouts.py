"""Where the tensors of a cascade lie: one layout for each tensor and memory, whichever operations write and read it.

A layout is read with the ranks as the operation has them that writes the tensor, or the first that reads it; the others
have the same ranks under names of their own. Lines are counted in memories without bounds, between operations that read
whole tensors as they were written: no windows along shared loops, no zeros around, no generations.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC

from ...arch import Architecture, Memory
from ...ir import Cascade, Mapping, MappingError, Operation, Problem, Tensor, TilewrightError, Work
from ..cost import capacity_parts, held_width_bits
from ..layouts import has_lines, layout_in
from ..layouts.choices import is_open, with_layouts
from ..layouts.layout import ANY
from ..layouts.lines import LaidOut, laid_out


def owner_of(cascade: Cascade, name: str) -> tuple[Problem, Tensor]:
    """The problem of the operation that writes a tensor, or of the first that reads it; and the tensor there."""
    if name in cascade.producers:
        problem = cascade.producers[name].problem
        return problem, problem.output
    problem = next(o.problem for o in cascade if any(t.name == name for t in o.problem.tensors))
    return problem, problem.tensor(name)


def laid_out_for(cascade: Cascade, arch: Architecture, memory: Memory, problem: Problem, tensor: Tensor) -> LaidOut:
    """How a tensor of one operation lies in a memory with lines."""
    layout = layout_in(memory, owner_of(cascade, tensor.name)[1])
    return laid_out(arch, memory, problem, tensor, layout, held_width_bits(arch, memory, tensor))


def with_work_layouts(arch: Architecture, work: Work, given: MappingABC[str, str]) -> Architecture:
    """The machine with layouts stated for tensors of a problem, or of a cascade: as `with_layouts` of one operation.

    Raises TilewrightError where there is no such tensor, memory or rank, and where no memory has lines.
    """
    if not isinstance(work, Cascade):
        return with_layouts(arch, work, given)
    names = {tensor.name: None for operation in work for tensor in operation.problem.tensors}
    for key, text in given.items():
        memory, _, name = key.rpartition(".")
        wanted = list(names) if name == "all" else [name]
        if not set(wanted) <= set(names):
            message = f"unknown tensor {name!r}, expected one of {', '.join(names)}, or all"
            raise TilewrightError(message, where=f"layout of {key}")
        for each in wanted:
            problem, _ = owner_of(work, each)
            arch = with_layouts(arch, problem, {f"{memory}.{each}" if memory else each: text})
    return arch


def machine_for(arch: Architecture, cascade: Cascade, operation: Operation) -> Architecture:
    """The machine as one operation sees it: its units, and layouts in its own letters."""
    levels = tuple(
        level.model_copy(
            update={
                "layouts": {
                    tensor.name: _text_for(level, owner_of(cascade, tensor.name)[1], tensor)
                    for tensor in operation.problem.tensors
                }
            }
        )
        if isinstance(level, Memory) and level.line_bits is not None
        else level
        for level in arch.levels
    )
    return arch.model_copy(update={"mac": arch.mac.of(operation.kind), "levels": levels})


def _text_for(memory: Memory, owner: Tensor, tensor: Tensor) -> str:
    """The layout of a tensor in a memory, in the letters of another operation."""
    return ANY if is_open(memory, owner) else layout_in(memory, owner).text(tensor)


def check_lines(fused: Mapping, arch: Architecture) -> None:
    """MappingError for a tree on a machine with lines that are not counted."""
    if has_lines(arch):
        check_lined_cascade(fused.cascade, arch, MappingError)
        for name in fused.leaves:
            if fused.windows(name):
                message = f"{name} makes rows that are read through windows, and their lines are not counted yet"
                raise MappingError(message, where=name, hint="write a tree without such shared loops, or no line")


def check_lined_cascade(cascade: Cascade, arch: Architecture, error: type[TilewrightError] = TilewrightError) -> None:
    """The error, where a machine has lines, for what is not counted in them whatever the tree."""
    if arch.latency == "with_fill":
        hint = "leave the lines out, or ask for 'latency: steady'"
        raise error("lines of the first tiles of trees are not timed yet", where=f"{arch.name}: latency", hint=hint)
    for memory in arch.memories:
        if memory.line_bits is not None and any(capacity_parts(memory)):
            hint = f"give lines to a memory without bounds: {arch.memories[0].name}.line"
            raise error(
                "lines in which tiles of a cascade lie take no room yet",
                where=f"{arch.name}: {memory.name}.line",
                hint=hint,
            )
    for operation in cascade:
        hint = "leave the line of the memory out, or give a cascade without them"
        if operation.generations:
            raise error("generations of a tensor are not laid out in lines yet", where=operation.name, hint=hint)
        for tensor in operation.problem.operands:
            if operation.problem.extents(tensor.name) != cascade.extents(tensor.name):
                message = f"{operation.name} reads {tensor.name} with zeros around it, or a part of it"
                raise error(f"{message}: not laid out in lines yet", where=operation.name, hint=hint)
