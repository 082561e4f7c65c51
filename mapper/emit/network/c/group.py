"""C99 source text of one group of a network: its tree, with buffers at addresses of the arenas."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from ...c.direct import point_text
from ...c.nests import CNest
from ...c.schedule import LARGEST_ON_STACK, LARGEST_UNROLLED, CSchedule, plus
from ...c.text import c_comment
from ...lowering.bands import LEAST_PARALLEL_MACS, threaded, unrolled
from ...lowering.loop_program import (
    Array,
    Begin,
    Compute,
    Drain,
    Fill,
    Finish,
    For,
    RegisterTile,
    Statement,
    buffers_of,
)
from ..groups.addresses import ArenaKey
from ..groups.program import GroupProgram
from ..words.stored import ELEMENT, WordType
from .finish import finish_text


def threads_of(group: GroupProgram) -> list[For]:
    """The loops whose iterations threads share: what these keep is in the inner memories, of which each thread has a
    part."""
    outermost = group.arch.memories[0].name
    found = threaded(group.body)
    return [loop for loop in found if all(array.memory != outermost for array in buffers_of(loop.body))]


def tiles_shared(group: GroupProgram) -> list[RegisterTile]:
    """The tiles of registers whose outermost loop threads share: those that stand in no loop, with enough to do."""
    tiles = [one for one in group.body if isinstance(one, RegisterTile) and one.shared is not None]
    return [one for one in tiles if math.prod(one.nest.extents.values()) >= LEAST_PARALLEL_MACS]


class CGroup(CSchedule):
    """Names for everything in the function of a group, and its text.

    members    of the struct that holds all arenas
    heights    elements of each
    outermost  the memory whose buffers are in the group's scratch
    """

    def __init__(
        self, group: GroupProgram, members: Mapping[ArenaKey, str], heights: Mapping[ArenaKey, int], outermost: str
    ) -> None:
        super().__init__(group.tree)
        self.group, self.members, self.heights, self.outermost = group, members, heights, outermost
        self.parameters = {
            (tensor, name): self.fresh.unique(f"{tensor}_{name}")
            for tensor, finish in group.finishes.items()
            for name, _, _ in finish.parameters
        }
        sums = [buffer for buffer in buffers_of(group.body) if buffer not in self.array]
        self.array |= {buffer: self.fresh.unique(f"{buffer.tensor.name}_sums") for buffer in sums}
        self.stored = {key: group.kinds.parameters[key] if group.kinds else ELEMENT for key in self.parameters}
        self.arena = {array: key for key, found in group.addresses.items() for array in found.offsets}
        shared = threads_of(group)
        self.unrolled |= {loop.variable for loop in unrolled(group.tree.body, LARGEST_UNROLLED)}
        self.threads = {loop.variable for loop in shared}
        self.unrolled -= self.threads
        self.own = {array for loop in shared for array in buffers_of(loop.body)}

    @property
    def function(self) -> str:
        return f"group{self.group.number}"

    def function_lines(self) -> Iterator[str]:
        """The function, `groupN(inputs..., outputs..., parameters of finishes..., arena, scratch)`."""
        group = self.group
        yield from c_comment(f"Group {group.number}: {' + '.join(group.segment.names)}")
        assert group.segment.answer is not None
        for line in str(group.segment.answer.mapping).split("\n"):
            yield from c_comment(f"    {line}")
        for (memory, roles), addresses in group.addresses.items():
            if not addresses.is_planned and memory != self.outermost:
                part = f"{memory} ({', '.join(roles)})" if roles else memory
                yield from c_comment(f"{part}: not at the addresses of plan.json, which do not hold here")
        arrays = self.program.arrays
        given = [f"{self.const(a)}{self.kind(a)} *restrict {self.data[a]}" for a in arrays]
        given += [f"const {self.stored[p].pointed} *restrict {name}" for p, name in self.parameters.items()]
        scratch = f"{'unsigned char' if group.kinds else 'element'} *scratch"
        yield f"static APART void {self.function}({', '.join([*given, 'arenas *arena', scratch])})"
        yield "{"
        yield "    (void)arena;"
        yield "    (void)scratch;"
        yield from self.given_lines()
        yield from self.body_lines(group.body, "    ")
        yield "}"

    # ---- how words are stored ----

    def stored_in(self, array: Array) -> WordType:
        """How an array stores its words."""
        return self.group.kinds.of(array) if self.group.kinds else ELEMENT

    def kind(self, array: Array) -> str:
        return self.stored_in(array).pointed

    def zero(self, array: Array) -> str:
        return str(self.stored_in(array).bias)

    def begun(self, statement: Begin) -> str:
        is_lowest = statement.value == -math.inf
        return self.stored_in(statement.array).lowest if is_lowest else super().begun(statement)

    def word(self, array: Array, index: list[str]) -> str:
        """A word: a whole number of 32 bits, where it is stored as one."""
        return self.inside(array, index, self.stored_in(array).read_whole(self.element(array, index)), "0")

    def value(self, statement: Compute) -> str:
        """A point; in elements where its words, or sums of them, may be no whole numbers of 32 bits."""
        if self.group.kinds is None or statement.operation.output.name in self.group.kinds.summed:
            return super().value(statement)
        accesses = zip(statement.operation.problem.operands, statement.operands, strict=True)
        words = {}
        for name, one in [*((t.name, a) for t, a in accesses), (statement.operation.output.name, statement.target)]:
            index = self.index(one)
            word = self.stored_in(one.array).read(self.element(one.array, index))
            words[name] = self.inside(one.array, index, word, "0")
        return point_text(statement.operation.expression, words)

    def sum_kind(self, statement: Compute) -> str:
        is_whole = self.group.kinds is not None and statement.operation.output.name in self.group.kinds.summed
        return "int32_t" if is_whole else "element"

    def joined(self, array: Array, index: list[str], value: str) -> str:
        stored, tensor = self.stored_in(array), array.tensor.name
        if stored.type == "element" or tensor not in self.maxima:
            return super().joined(array, index, value)  # what is added needs no bias
        target = self.element(array, index)
        larger = "larger_whole" if stored.is_whole else "larger"
        return f"{target} = {stored.written(f'{larger}({self.word(array, index)}, {value})')};"

    def copied_text(self, statement: Fill | Drain, index: list[str], there: list[str]) -> str:
        if isinstance(statement, Drain):
            return super().copied_text(statement, index, there)
        inner, outer = statement.buffer, statement.source
        target, source = self.element(inner, index), self.element(outer, there)
        if self.stored_in(inner) == self.stored_in(outer):
            return f"{target} = {self.inside(outer, there, source, self.zero(outer))};"
        return f"{target} = {self.stored_in(inner).written(self.word(outer, there))};"

    def is_small(self, key: ArenaKey) -> bool:
        """Whether the tiles of a memory are variables."""
        return key[0] != self.outermost and self.heights[key] <= LARGEST_ON_STACK

    @property
    def pragma(self) -> str:
        return f"{super().pragma} num_threads(THREADS)"

    def body_lines(self, body: tuple[Statement, ...], indent: str) -> Iterator[str]:
        """Statements as trees have them, and what is done with complete words."""
        for statement in body:
            if isinstance(statement, Finish):
                yield from self.finish_lines(statement, indent)
            elif isinstance(statement, RegisterTile):
                pragma = self.pragma if statement in tiles_shared(self.group) else None
                yield from CNest(self, statement.nest).tile_lines(statement, indent, pragma)
            else:
                yield from super().body_lines((statement,), indent)

    def finished(self, finish: Finish, value: str, position: list[str]) -> str:
        names = {name: self.parameters[finish.array.tensor.name, name] for name, _, _ in finish.finish.parameters}
        return finish_text(finish.finish, value, names, position)

    def finish_lines(self, statement: Finish, indent: str) -> Iterator[str]:
        """Loops over complete words."""
        index = self._copied(statement.extents)
        at = [plus(self.text(first), i) for first, i in zip(statement.at, index, strict=True)]
        there = [plus(self.text(first), i) for first, i in zip(statement.position, index, strict=True)]
        tensor, stored = statement.array.tensor.name, self.stored_in(statement.array)
        word = self.element(statement.array, at)
        names = {name: self.parameters[tensor, name] for name, _, _ in statement.finish.parameters}
        kinds = {name: self.stored[tensor, name] for name in names}
        found = finish_text(statement.finish, stored.read(word), names, there, kinds)
        if statement.target is not None:
            stored, word = self.stored_in(statement.target), self.element(statement.target, there)
        action = f"{word} = {stored.written(found)};"
        yield from self._box_lines(statement.array, statement.extents, action, indent)

    def scope_lines(self, body: tuple[Statement, ...], indent: str) -> Iterator[str]:
        """Nothing is allocated."""
        yield from self.body_lines(body, indent)

    def local_lines(self, buffer: Array, indent: str) -> Iterator[str]:
        """A pointer into an arena. Others may have its addresses before and after, so that nothing is `restrict`. Tiles
        of a small memory are variables: of these compilers know that nothing else has their address."""
        key = self.arena[buffer]
        base = "scratch" if key[0] == self.outermost else f"arena->{self.members[key]}"
        if buffer in self.own:
            base += f" + THREAD * {self.heights[key]}"
        source = f"({base} + {self.group.addresses[key].offsets[buffer]})"
        if self.is_small(key):
            yield from c_comment(f"{buffer.memory} keeps {buffer.tensor}", indent)
            first = buffer.shape[buffer.order[0]] if buffer.order else 1
            typed = f"{self.stored_in(buffer).type}, " if self.group.kinds else ""
            yield f"{indent}TILE({typed}{self.array[buffer]}, [{first}], {self.row_type(buffer)}, {source});"
            return
        yield from self.pointer_lines(buffer, "", source, indent, restrict="")
