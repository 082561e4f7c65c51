"""C99 source text of one group of a network: its tree, with buffers at addresses of the arenas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..c_text import c_comment
from ..c_tree import CTree
from ..loop_program import Array, Statement
from .addresses import ArenaKey
from .program import GroupProgram


class CGroup(CTree):
    """Names for everything in the function of a group, and its text.

    members    of the struct that holds all arenas
    outermost  the memory whose buffers are in the group's scratch
    """

    def __init__(self, group: GroupProgram, members: Mapping[ArenaKey, str], outermost: str) -> None:
        super().__init__(group.tree)
        self.group, self.members, self.outermost = group, members, outermost
        self.arena = {array: key for key, found in group.addresses.items() for array in found.offsets}

    @property
    def function(self) -> str:
        return f"group{self.group.number}"

    def function_lines(self) -> Iterator[str]:
        """The function, `groupN(inputs..., outputs..., arena, scratch)`."""
        group = self.group
        yield from c_comment(f"Group {group.number}: {' + '.join(group.segment.names)}")
        assert group.segment.answer is not None
        for line in str(group.segment.answer.mapping).split("\n"):
            yield from c_comment(f"    {line}")
        for (memory, roles), addresses in group.addresses.items():
            if not addresses.is_planned and memory != self.outermost:
                part = f"{memory} ({', '.join(roles)})" if roles else memory
                yield from c_comment(f"{part}: not at the addresses of plan.json, which do not hold here")
        given = [f"const element *restrict {self.data[a]}" for a in self.tree.inputs]
        given += [f"element *restrict {self.data[a]}" for a in self.tree.outputs]
        yield f"static void {self.function}({', '.join([*given, 'arenas *arena', 'element *scratch'])})"
        yield "{"
        yield "    (void)arena;"
        yield "    (void)scratch;"
        for array in (*self.tree.inputs, *self.tree.outputs):
            const = "const " if array in self.tree.inputs else ""
            yield from self.pointer_lines(array, const, self.data[array], "    ")
        yield from self.body_lines(group.body, "    ")
        yield "}"

    def scope_lines(self, body: tuple[Statement, ...], indent: str) -> Iterator[str]:
        """Nothing is allocated."""
        yield from self.body_lines(body, indent)

    def local_lines(self, buffer: Array, indent: str) -> Iterator[str]:
        """A pointer into an arena. Others may have its addresses before and after, so that nothing is `restrict`."""
        key = self.arena[buffer]
        base = "scratch" if key[0] == self.outermost else f"arena->{self.members[key]}"
        source = f"({base} + {self.group.addresses[key].offsets[buffer]})"
        yield from self.pointer_lines(buffer, "", source, indent, restrict="")
