"""Lines that the boundaries of an operation's way through a tree touch, in closed form: the same as its walk's."""

from __future__ import annotations

from collections.abc import Sequence

from ...arch import Architecture
from ...ir import Cascade, Mapping, OperationPath
from ..boundaries import Boundary
from ..closed_form import Nest
from ..layouts import LineCounts, Lines, has_lines
from ..layouts.lines import count_layouts
from .tensor_layouts import laid_out_for
from .ways import Way, ways_of


def lines_of_tree(fused: Mapping, arch: Architecture) -> dict[str, LineCounts]:
    """What passes the ports of memories with lines, by operation in the order in which they are done."""
    return {name: lines_of_way(way, fused.cascade, arch) for name, way in ways_of(fused, arch).items()}


def lines_of_way(way: Way, cascade: Cascade, arch: Architecture) -> LineCounts:
    """What passes the ports of memories with lines for one operation; nothing, where none has."""
    counts = LineCounts()
    if not has_lines(arch):
        return counts
    _count(counts, way.path, way.boundaries, cascade, arch)
    for borrowed in way.borrowed:
        _count(counts, borrowed.path, (borrowed.boundary,), cascade, arch)
    return counts


def _count(
    counts: LineCounts, path: OperationPath, boundaries: Sequence[Boundary], cascade: Cascade, arch: Architecture
) -> None:
    nest, problem = Nest.of(path.mapping, arch, path.starts), path.operation.problem
    for memory in (memory for memory in arch.memories if memory.line_bits is not None):
        for tensor in problem.tensors:
            way = laid_out_for(cascade, arch, memory, problem, tensor)
            found = count_layouts(nest, boundaries, memory, tensor, [way])
            if found is not None:
                key = memory.name, tensor.name
                for table, figures in ((counts.total, found.total), (counts.busiest, found.busiest)):
                    table[key] = table.get(key, Lines()) + figures.of(0)
                if found.banks is not None:
                    counts.banks[key] = counts.banks.get(key, Lines()) + found.banks.of(0)
