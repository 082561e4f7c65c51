"""The best layouts for the tensors of a cascade, where a machine leaves them open, of a tree that is given.

What passes a memory depends on the layout of each tensor alone, so of each the one is taken whose lines cost the least
energy over all operations that write and read it; of equals, the first.
"""

from __future__ import annotations

import numpy as np

from ...arch import Architecture, Memory
from ...ir import Mapping, Tensor
from ..closed_form import Nest
from ..cost import held_width_bits
from ..layouts.choices import is_open, possible_layouts
from ..layouts.lines import LaidOut, PortFigures, count_layouts
from .tensor_layouts import owner_of, with_work_layouts
from .ways import Way, ways_of


def with_best_layouts(fused: Mapping, arch: Architecture) -> Architecture:
    """The machine with a layout in place of every open one; itself, where none is."""
    chosen: dict[str, str] = {}
    ways: dict[str, Way] = {}
    for memory in arch.memories:
        for name in fused.cascade.tensors:
            problem, tensor = owner_of(fused.cascade, name)
            if not is_open(memory, tensor):
                continue
            ways = ways or ways_of(fused, arch)
            texts = possible_layouts(arch, memory, problem, tensor, held_width_bits(arch, memory, tensor))
            energies = sum(_energy_pj(way, arch, memory, tensor, list(texts)) for way in ways.values())
            chosen[f"{memory.name}.{name}"] = list(texts.values())[int(np.argmin(energies))]
    return with_work_layouts(arch, fused.cascade, chosen) if chosen else arch


def _energy_pj(way: Way, arch: Architecture, memory: Memory, tensor: Tensor, layouts: list[LaidOut]) -> np.ndarray:
    """(layouts,) of the lines of a tensor that pass a memory for one operation, without the width of a line."""
    found = np.zeros(len(layouts))
    for path, boundaries in ((way.path, way.boundaries), *((b.path, (b.boundary,)) for b in way.borrowed)):
        nest = Nest.of(path.mapping, arch, path.starts)
        for own in path.operation.problem.tensors:
            if own.name == tensor.name:
                counts = count_layouts(nest, boundaries, memory, own, layouts)
                passed = PortFigures() if counts is None else counts.total
                reads, writes = passed.supplied + passed.drained, passed.collected + passed.filled
                found += reads * memory.read_energy_pj + writes * memory.write_energy_pj
    return found
