"""The meaning of lines: walk a mapping, and look at the lines in which the words of every transfer lie."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Set
from collections.abc import Mapping as MappingABC
from dataclasses import astuple

from ...arch import Architecture, Memory
from ...ir import Mapping, Tensor
from ..closed_form import LineBox
from ..simulator import Coordinates, Element, Walk
from .layout import layout_in
from .lines import LineCounts, Lines, line_box


class LineWalk(Walk):
    """One walk over one mapping, that counts lines as well."""

    def __init__(self, mapping: Mapping, arch: Architecture, width: Callable[..., int]) -> None:
        super().__init__(mapping, arch)
        self.boxes: MappingABC[tuple[str, str], LineBox] = {
            (memory.name, tensor.name): line_box(
                memory, mapping.problem, tensor, layout_in(memory, tensor), width(arch, memory, tensor)
            )
            for memory in arch.memories
            if memory.line_bits is not None
            for tensor in mapping.problem.tensors
        }
        outermost, output = arch.memories[0], mapping.problem.output
        self.unfinished: LineBox | None = None
        if outermost.line_bits is not None:
            wide = arch.partial_width_bits(output)
            self.unfinished = line_box(outermost, mapping.problem, output, layout_in(outermost, output), wide)
        self.lines: dict[tuple[str, str, Coordinates], dict[str, int]] = defaultdict(lambda: defaultdict(int))

    def transfer(
        self, kind: str, memory: Memory | None, instance: Coordinates, tensor: Tensor, words: Set[Element]
    ) -> None:
        """Some words pass a port of a memory's instance together."""
        box = self.boxes.get((memory.name, tensor.name)) if memory is not None else None
        if memory is not None and box is not None:
            if tensor.is_output and memory is self.arch.memories[0] and kind != "finished" and self.unfinished:
                box = self.unfinished
            touched = {tuple(x // b for x, b in zip(word, box, strict=True)) for word in words}
            self.lines[memory.name, tensor.name, instance]["collected" if kind == "finished" else kind] += len(touched)

    def line_counts(self) -> LineCounts:
        """Lines of the whole walk; what tiles lie in is not counted."""
        counts = LineCounts()
        for (memory, tensor, _), kinds in self.lines.items():
            key, lines = (memory, tensor), Lines(**kinds)
            counts.total[key] = counts.total.get(key, Lines()) + lines
            both = zip(astuple(counts.busiest.get(key, Lines())), astuple(lines), strict=True)
            counts.busiest[key] = Lines(*map(max, both))
        return counts


def walk_lines(mapping: Mapping, arch: Architecture, width: Callable[..., int]) -> LineCounts:
    """Walk a mapping, and count the lines that pass the ports of memories that have lines; as `count_lines` does."""
    walk = LineWalk(mapping, arch, width)
    walk.run()
    return walk.line_counts()
