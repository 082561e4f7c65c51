"""The meaning of lines: walk a mapping, and look at the lines in which the words of every transfer lie."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Set
from collections.abc import Mapping as MappingABC
from dataclasses import astuple

from tilewright.arch import Architecture, Memory
from tilewright.cost_models.boundaries import Boundary
from tilewright.cost_models.counts import FirstTile
from tilewright.cost_models.layouts.layout import layout_in
from tilewright.cost_models.layouts.lines import FirstLines, LaidOut, LineCounts, Lines, LineTable, Width, laid_out
from tilewright.cost_models.simulator import Coordinates, Element, Walk
from tilewright.ir import Mapping, Tensor

Passed = dict[tuple[str, str, Coordinates], dict[str, int]]
"""By memory, tensor, instance; and kind."""


class LinesSeen:
    """The lines of transfers, as a walk comes by them, and the cycles for which they keep banks busy.

    ways  by memory and tensor, how it lies there
    """

    def __init__(self, ways: MappingABC[tuple[str, str], LaidOut]) -> None:
        self.ways = ways
        self.lines: Passed = defaultdict(lambda: defaultdict(int))
        self.bank_cycles: Passed = defaultdict(lambda: defaultdict(int))
        self.first: FirstLines = {}

    @classmethod
    def of(
        cls, arch: Architecture, tensors: Collection[Tensor], lay_out: Callable[[Memory, Tensor], LaidOut]
    ) -> LinesSeen:
        """Of all memories that have lines.

        lay_out  how a tensor lies in one of them
        """
        lined = [memory for memory in arch.memories if memory.line_bits is not None]
        return cls({(memory.name, tensor.name): lay_out(memory, tensor) for memory in lined for tensor in tensors})

    def touched(self, memory: Memory, tensor: Tensor, words: Set[Element], finished: bool) -> int:
        """Lines of a memory that some words lie in."""
        way = self.ways[memory.name, tensor.name]
        line = (way.words if finished or not tensor.is_output else way.sums).line
        return len({tuple(x // b for x, b in zip(word, line, strict=True)) for word in words})

    def see(self, kind: str, memory: Memory | None, instance: Coordinates, tensor: Tensor, words: Set[Element]) -> None:
        """Some words pass a port of a memory's instance together."""
        if memory is None or (memory.name, tensor.name) not in self.ways:
            return
        way = self.ways[memory.name, tensor.name]
        held = way.sums if tensor.is_output and kind != "finished" else way.words
        touched = {tuple(x // b for x, b in zip(word, held.line, strict=True)) for word in words}
        place, name = (memory.name, tensor.name, instance), "collected" if kind == "finished" else kind
        self.lines[place][name] += len(touched)
        if memory.banks is not None:
            lines_of = Counter(tuple(x % n for x, n in zip(line, held.banks, strict=True)) for line in touched)
            self.bank_cycles[place][name] += -(-max(lines_of.values(), default=0) // memory.bank_ports)

    def counts(self) -> LineCounts:
        """Lines of the whole walk; what tiles lie in is not counted."""
        counts = LineCounts()
        for (memory, tensor, _), kinds in self.lines.items():
            counts.total[memory, tensor] = counts.total.get((memory, tensor), Lines()) + Lines(**kinds)
        _busiest(counts.busiest, self.lines)
        _busiest(counts.banks, self.bank_cycles)
        counts.first = self.first
        return counts


class LineWalk(Walk):
    """One walk over one mapping, that counts lines as well."""

    def __init__(self, mapping: Mapping, arch: Architecture, width: Width) -> None:
        super().__init__(mapping, arch)

        def lay_out(memory: Memory, tensor: Tensor) -> LaidOut:
            layout, bits = layout_in(memory, tensor), width(arch, memory, tensor)
            return laid_out(arch, memory, mapping.problem, tensor, layout, bits)

        self.seen = LinesSeen.of(arch, mapping.problem.tensors, lay_out)

    def transfer(
        self, kind: str, memory: Memory | None, instance: Coordinates, tensor: Tensor, words: Set[Element]
    ) -> None:
        """Some words pass a port of a memory's instance together."""
        self.seen.see(kind, memory, instance, tensor, words)

    def _first_tile(self, boundary: Boundary, inner: str) -> FirstTile:
        """The first tiles, and the lines in which they lie."""
        first, tensor = super()._first_tile(boundary, inner), boundary.tensor
        assert boundary.inner is not None
        if boundary.outer.line_bits is not None:
            groups = self.first_groups(boundary).values()
            self.seen.first[first.outer, inner, tensor.name] = max(
                sum(self.seen.touched(boundary.outer, tensor, words, first.outer_finishes) for words in each.values())
                for each in groups
            )
        if boundary.inner.line_bits is not None:
            tiles = self.holders[boundary.inner_position].tile.values()
            self.seen.first[inner, first.outer, tensor.name] = max(
                self.seen.touched(boundary.inner, tensor, tile, first.inner_finishes) for tile in tiles
            )
        return first


def _busiest(table: LineTable, passed: Passed) -> None:
    """Enter what passes at the busiest instance, of each kind."""
    for (memory, tensor, _), kinds in passed.items():
        both = zip(astuple(table.get((memory, tensor), Lines())), astuple(Lines(**kinds)), strict=True)
        table[memory, tensor] = Lines(*map(max, both))


def walk_lines(mapping: Mapping, arch: Architecture, width: Width) -> LineCounts:
    """Walk a mapping, and count the lines that pass the ports of memories that have lines; as `count_lines` does."""
    walk = LineWalk(mapping, arch, width)
    walk.run()
    return walk.seen.counts()
