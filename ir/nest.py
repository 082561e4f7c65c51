"""The loop nest: one sequence, outermost first, of loops and storage nodes. Its text form parses back.

    DRAM keeps I W O
    for K in 4
      GLB keeps I O
      for P in 4
        parallel P in 14 on array.x
          spad keeps I W O
          for R in 3

Every line is inside the line above it, so indentation is for the eye alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .display import Shown
from .errors import MappingError, checked


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a fanout.

    fanout  its name
    index   0 is x, 1 is y
    """

    fanout: str
    index: int = 0

    def __str__(self) -> str:
        return f"{self.fanout}.{'xy'[self.index]}"


@dataclass(frozen=True, slots=True)
class Loop:
    """Steps along a problem dimension: in time, or over the instances of a fanout's axis.

    dim    name of the dimension
    trips  how many steps, 1 or more
    axis   whose instances take a step each; None: one after the other, in time

    Raises MappingError for less than one trip.
    """

    dim: str
    trips: int
    axis: Axis | None = None

    def __post_init__(self) -> None:
        if self.trips < 1:
            raise MappingError(f"a loop over {self.dim} of {self.trips} trips, expected 1 or more")

    @property
    def is_spatial(self) -> bool:
        """Whether the steps are taken side by side, by instances of an array."""
        return self.axis is not None

    def __str__(self) -> str:
        if self.axis is None:
            return f"for {self.dim} in {self.trips}"
        return f"parallel {self.dim} in {self.trips} on {self.axis}"


@dataclass(frozen=True, slots=True)
class Node:
    """From here inwards, every instance of a memory holds the tile of a tensor that all loops below touch.

    memory, tensor  their names
    """

    memory: str
    tensor: str

    def __str__(self) -> str:
        return f"{self.memory} keeps {self.tensor}"


def is_temporal(item: Loop | Node) -> bool:
    """Whether it is a loop whose steps are taken one after the other."""
    return isinstance(item, Loop) and not item.is_spatial


@dataclass(frozen=True, slots=True)
class LoopNest(Shown):
    """Loops and storage nodes; iterating over it gives them as `items` does.

    items  all of them, outermost first
    """

    items: tuple[Loop | Node, ...]

    def __iter__(self) -> Iterator[Loop | Node]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops, outermost first."""
        return tuple(item for item in self.items if isinstance(item, Loop))

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The storage nodes, outermost first."""
        return tuple(item for item in self.items if isinstance(item, Node))

    def node_positions(self, tensor: str) -> tuple[int, ...]:
        """Return the positions of a tensor's nodes, outermost first."""
        return tuple(i for i, item in enumerate(self.items) if isinstance(item, Node) and item.tensor == tensor)

    def __str__(self) -> str:
        lines: list[str] = []
        depth = 0
        for group in printed_lines(self.items):
            lines.append("  " * depth + group)
            depth += group.startswith(("for ", "parallel "))
        return "\n".join(lines)

    @classmethod
    def parse(cls, text: str) -> LoopNest:
        """Read the text form back; MappingError names the line that is not understood."""
        checked(text, str, "the nest", "a text of lines such as 'for K in 4' and 'GLB keeps I W'", MappingError)
        items: list[Loop | Node] = []
        for number, line in enumerate(text.splitlines(), 1):
            stripped = line.split("#", 1)[0].strip()
            if stripped:
                items.extend(parse_line(stripped, number))
        return cls(tuple(items))


def printed_lines(items: Iterable[Loop | Node]) -> Iterator[str]:
    """Yield a line per loop, and a line per run of nodes of the same memory and kind."""
    run: list[Node] = []
    for item in items:
        if run and isinstance(item, Node) and item.memory == run[-1].memory and type(item) is type(run[-1]):
            run.append(item)
            continue
        if run:
            yield _nodes_line(run)
        run = [item] if isinstance(item, Node) else []
        if not run:
            yield str(item)
    if run:
        yield _nodes_line(run)


def _nodes_line(nodes: list[Node]) -> str:
    return " ".join([str(nodes[0]), *(node.tensor for node in nodes[1:])])


_TEMPORAL = re.compile(r"for (\S+) in ([0-9]{1,18})")
_SPATIAL = re.compile(r"parallel (\S+) in ([0-9]{1,18}) on (\S+)\.([xy])")
_NODES = re.compile(r"(\S+) keeps (.+)")


def parse_line(line: str, number: int) -> list[Loop | Node]:
    """Parse the loop, or the nodes, of a line of text; MappingError names a line that is not understood."""
    if match := _TEMPORAL.fullmatch(line):
        return [Loop(match[1], _trips(match[2], number))]
    if match := _SPATIAL.fullmatch(line):
        return [Loop(match[1], _trips(match[2], number), Axis(match[3], "xy".index(match[4])))]
    if match := _NODES.fullmatch(line):
        return [Node(match[1], tensor) for tensor in match[2].split()]
    raise MappingError(
        f"cannot read {line if len(line) <= 80 else line[:77] + '...'!r}",
        where=f"line {number}",
        hint="write 'for K in 4', 'parallel K in 4 on array.x' or 'GLB keeps I W'",
    )


def _trips(text: str, number: int) -> int:
    trips = int(text)
    if trips < 1:
        raise MappingError(f"a loop of {trips} trips, expected 1 or more", where=f"line {number}")
    return trips
