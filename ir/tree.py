"""The tree of a fused mapping: loops and storage nodes, then a split into branches, each a nest or again a tree.

    DRAM keeps A B C O
    for M in 4
      GLB keeps T
      branch T
        GLB keeps A B
        for K in 8
      branch O
        GLB keeps C O
        for N in 8

Branches are done one after the other, at every step of the loops above them. A `branch` line belongs to the split whose
first `branch` line is indented as far; all other indentation is for the eye alone. A leaf names its operation
(`branch T`), an inner branch (`branch`) splits again. A nest without splits is a tree with one leaf.

A loop above a split is a loop of every operation below it, over the dimension that it names, or, where an operation
calls that dimension otherwise, over another one: `for M,K.N in 4` is over M, and over N in operation K.

`GLB renews T` instead of `GLB keeps T`: of the rows of an intermediate that the next visit reads again, none is kept;
they are computed again. It matters where operations read through windows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from .errors import MappingError, checked, entry
from .nest import Loop, LoopNest, Node, parse_line, printed_lines

_DEEPEST = 50
"""Splits inside each other; a network as one tree needs a few."""

Address = tuple[int, ...]
"""Where a tree stands in the whole: the number of each branch on the way from the root."""

Place = tuple[Address, int]
"""Where an item stands: the tree that has it, and its position there."""


@dataclass(frozen=True, slots=True)
class SharedLoop(Loop):
    """A loop above a split whose dimension has another name in some operations.

    renamed  (operation, dimension) of those
    """

    renamed: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)

    def __str__(self) -> str:
        dims = ",".join([self.dim, *(f"{operation}.{dim}" for operation, dim in self.renamed)])
        return str(Loop(dims, self.trips, self.axis))


def loop_of(loop: Loop, operation: str) -> Loop:
    """Return a loop as one operation sees it, with its own name of the dimension."""
    if not isinstance(loop, SharedLoop):
        return loop
    return Loop(dict(loop.renamed).get(operation, loop.dim), loop.trips, loop.axis)


@dataclass(frozen=True, slots=True)
class Renews(Node):
    """A node of an intermediate that keeps no rows from one visit to the next."""

    def __str__(self) -> str:
        return f"{self.memory} renews {self.tensor}"


@dataclass(frozen=True, slots=True)
class Tree:
    """Items, outermost first, and what is below them.

    items      loops and storage nodes
    branches   trees below the split, in the order in which they are done; none in a leaf
    operation  what a leaf does

    Raises MappingError for a split into a single branch, and for a tree that is neither leaf nor split.
    """

    items: tuple[Loop | Node, ...]
    branches: tuple[Tree, ...] = ()
    operation: str = ""

    def __post_init__(self) -> None:
        if len(self.branches) == 1:
            raise MappingError("a split into one branch, expected two or more", hint="leave the line 'branch' out")
        if self.branches and self.operation:
            raise MappingError(f"the branch of {self.operation} is split again", hint="write 'branch' without a name")

    @classmethod
    def of(cls, nest: LoopNest, operation: str) -> Tree:
        """An ordinary nest as a tree."""
        return cls(nest.items, (), operation)

    def at(self, address: Address) -> Tree:
        """The tree at an address."""
        tree = self
        for number in address:
            tree = tree.branches[number]
        return tree

    def walk(self, address: Address = ()) -> Iterator[tuple[Address, Tree]]:
        """All trees with their addresses: each before its branches, branches in order."""
        yield address, self
        for number, branch in enumerate(self.branches):
            yield from branch.walk((*address, number))

    def item(self, place: Place) -> Loop | Node:
        """The item at a place."""
        address, position = place
        return self.at(address).items[position]

    def above(self, address: Address, position: int | None = None) -> list[tuple[Place, Loop | Node]]:
        """All items from the root down to a position in a tree, by default to its end, with their places."""
        found: list[tuple[Place, Loop | Node]] = []
        for depth in range(len(address) + 1):
            last = position if depth == len(address) else None
            items = self.at(address[:depth]).items[:last]
            found += [((address[:depth], i), item) for i, item in enumerate(items)]
        return found

    def nodes_above(self, tensor: str, address: Address) -> list[Place]:
        """Places of a tensor's nodes from the root down to the end of a tree's items."""
        return [place for place, item in self.above(address) if isinstance(item, Node) and item.tensor == tensor]

    def split_of(self, first: str, second: str) -> Address:
        """The tree at whose split the branches of two operations part."""
        leaves = self.leaves()
        one, other = (entry(leaves, name, "operation", MappingError) for name in (first, second))
        depth = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
        return one[:depth]

    def leaves(self) -> dict[str, Address]:
        """The address of every operation's leaf, in the order in which they are done."""
        return {tree.operation: address for address, tree in self.walk() if not tree.branches}

    def __str__(self) -> str:
        return "\n".join(_lines(self, 0))

    @classmethod
    def parse(cls, text: str, operation: str = "") -> Tree:
        """Read the text form back; MappingError names the line that is not understood.

        operation  what a text without branches does
        """
        checked(text, str, "the tree", "a text of lines such as 'for M in 4' and 'branch QK'", MappingError)
        lines = []
        for number, line in enumerate(text.expandtabs(8).splitlines(), 1):
            content = line.split("#", 1)[0].rstrip()
            if content.strip():
                lines.append(_Line(number, len(content) - len(content.lstrip()), content.strip()))
        tree = _read(lines, operation)
        if lines:
            stray = lines[0]
            raise MappingError(
                f"found {stray.text!r} at an indentation of {stray.indent}, at which no split has its branches",
                where=f"line {stray.number}",
                hint="indent the branches of one split equally",
            )
        return tree


def _lines(tree: Tree, depth: int) -> Iterator[str]:
    for line in printed_lines(tree.items):
        yield "  " * depth + line
        depth += line.startswith(("for ", "parallel "))
    for branch in tree.branches:
        yield "  " * depth + f"branch {branch.operation}".rstrip()
        yield from _lines(branch, depth + 1)


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    indent: int
    text: str

    @property
    def opens_branch(self) -> bool:
        return re.fullmatch(r"branch( .*)?", self.text) is not None


def _read(lines: list[_Line], operation: str, least: int = 0, depth: int = 0) -> Tree:
    """The tree at the front of the lines, which are taken away; its branches are indented by `least` or more."""
    if depth > _DEEPEST:
        raise MappingError(
            f"splits inside more than {_DEEPEST} others", where=f"line {lines[0].number}" if lines else None
        )
    items: list[Loop | Node] = []
    branches: list[Tree] = []
    while lines and not lines[0].opens_branch:
        line = lines.pop(0)
        items += _items(line)
    if lines and lines[0].indent >= least:
        indent = lines[0].indent
        where = f"line {lines[0].number}"
        while lines and lines[0].opens_branch and lines[0].indent == indent:
            line = lines.pop(0)
            names = line.text.split()[1:]
            if len(names) > 1:
                hint = "write 'branch' and the name of one operation"
                raise MappingError(f"cannot read {line.text[:80]!r}", where=f"line {line.number}", hint=hint)
            branches.append(_branch(lines, names, line, depth + 1))
        if len(branches) == 1 or operation:
            name = f"branch {operation}" if operation else "a split"
            expected = "no further split" if operation else "two branches or more"
            raise MappingError(f"{name} has the branches that begin here, expected {expected}", where=where)
    return Tree(tuple(items), tuple(branches), operation)


def _branch(lines: list[_Line], names: list[str], line: _Line, depth: int) -> Tree:
    tree = _read(lines, names[0] if names else "", line.indent + 1, depth)
    if not tree.branches and not names:
        hint = "write 'branch' and the name of the operation, or branches inside it"
        raise MappingError("a branch without an operation", where=f"line {line.number}", hint=hint)
    return tree


_RENEWS = re.compile(r"(\S+) renews (.+)")


def _items(line: _Line) -> list[Loop | Node]:
    if match := _RENEWS.fullmatch(line.text):
        return [Renews(match[1], tensor) for tensor in match[2].split()]
    return [_shared(item, line) if isinstance(item, Loop) else item for item in parse_line(line.text, line.number)]


def _shared(loop: Loop, line: _Line) -> Loop:
    """A loop whose text names dimensions of operations, such as `M,K.N`."""
    dim, *others = loop.dim.split(",")
    if not others:
        return loop
    renamed = tuple(other.rpartition(".")[::2] for other in others)
    if not dim or any(not operation or not name for operation, name in renamed):
        hint = "write 'for M,K.N in 4' for a loop over M that is over N in operation K"
        raise MappingError(f"cannot read {line.text[:80]!r}", where=f"line {line.number}", hint=hint)
    return SharedLoop(dim, loop.trips, loop.axis, renamed=renamed)
