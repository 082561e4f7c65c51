"""The best layouts, or formats of operands with zeros, for a mapping, where a machine leaves some open.

What passes a memory, and what it holds, depends on the layouts that it has alone. So of the layouts of one tensor those
are left aside that another one beats in energy, in the cycles of every port and in room; of the choices for the tensors
of one memory the same, whatever the others; and then of those for all memories.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arch import Architecture, Memory
from ..ir import Mapping, Tensor
from .boundaries import boundaries_of
from .cascades.cost import evaluate_tree
from .cascades.open_layouts import with_best_layouts
from .closed_form import Nest
from .cost import Cost, capacity_parts, evaluate_nest, held_width_bits
from .layouts.choices import has_open_layouts, is_open, possible_layouts, with_layouts
from .layouts.lines import LayoutCounts, PortFigures, count_layouts
from .objective import EDP, ObjectiveLike
from .ports import ports_of
from .sparse.choices import evaluate_zeros

Figures = npt.NDArray[np.float64]
Chosen = dict[str, str]


def evaluate(mapping: Mapping, arch: Architecture, stays: Collection[str] = ()) -> Cost:
    """The cost of a mapping, by the closed forms.

    stays  of a cascade, tensors that are there before the run, or are left there after it, as `evaluate_tree` has them

    Raises MappingError when the mapping does not fit: a node or loop in the wrong place, an array axis that is too
    short, a dimension that the axis does not allow, tiles larger than a memory; of a cascade also for what cannot be
    counted yet. Raises TilewrightError for operands with zeros, which `evaluate_open` knows.
    """
    return evaluate_tree(mapping, arch, stays) if mapping.is_of_cascade else evaluate_nest(mapping, arch)


def evaluate_open(mapping: Mapping, arch: Architecture, objective: ObjectiveLike = EDP) -> tuple[Cost, Architecture]:
    """The least cost of a mapping over all layouts and formats that are open, and the machine with those that have it;
    of a cascade, with the layouts of least energy.

    Raises MappingError when the mapping does not fit, whatever they are, and TilewrightError where open layouts are not
    known (`possible_layouts`).
    """
    if mapping.is_of_cascade:
        closed = with_best_layouts(mapping, arch)
        return evaluate_tree(mapping, closed), closed
    if mapping.problem.has_zeros:
        return evaluate_zeros(mapping, arch, objective)
    if not has_open_layouts(arch, mapping.problem):
        return evaluate_nest(mapping, arch), arch
    best: tuple[float, Cost, Architecture] | None = None
    for chosen in _worth_trying(mapping, arch):
        closed = with_layouts(arch, mapping.problem, chosen)
        cost = evaluate_nest(mapping, closed)
        value = cost.objective(objective)
        if best is None or value < best[0]:
            best = value, cost, closed
    assert best is not None
    return best[1:]


def best_choices(mapping: Mapping, arch: Architecture, objective: ObjectiveLike = EDP) -> Architecture:
    """The machine with the layouts and formats that are best for a mapping; itself, where none is open."""
    if mapping.is_of_cascade:
        return with_best_layouts(mapping, arch)
    is_open_here = mapping.problem.has_zeros or has_open_layouts(arch, mapping.problem)
    return evaluate_open(mapping, arch, objective)[1] if is_open_here else arch


@dataclass(frozen=True)
class _LayoutChoices:
    """Ways to choose layouts, and (choices, figures) of each; less is better in all figures."""

    chosen: list[Chosen]
    figures: Figures

    def best(self) -> _LayoutChoices:
        """Without those that another one beats, or equals."""
        order = np.lexsort(self.figures.T[::-1])
        kept: list[int] = []
        for i in order.tolist():
            if not (kept and (self.figures[kept] <= self.figures[i]).all(axis=1).any()):
                kept.append(i)
        return self.take(kept)

    def take(self, rows: Sequence[int]) -> _LayoutChoices:
        return _LayoutChoices([self.chosen[i] for i in rows], self.figures[list(rows)])

    def with_other(self, other: _LayoutChoices, is_largest: npt.NDArray[np.bool_]) -> _LayoutChoices:
        """All pairs of two ways: figures add up, but for those of which the largest counts."""
        pairs = [{**one, **another} for one in self.chosen for another in other.chosen]
        one, another = self.figures[:, None, :], other.figures[None, :, :]
        figures: Figures = np.where(is_largest, np.maximum(one, another), one + another)
        return _LayoutChoices(pairs, figures.reshape(len(pairs), -1)).best()


def _worth_trying(mapping: Mapping, arch: Architecture) -> list[Chosen]:
    """Layouts for all that is open, among them the best; some that do not fit, where none do."""
    nest, boundaries = Nest.of(mapping, arch), boundaries_of(mapping, arch)
    # Energy; cycles that add to the others; cycles of the slowest of those that overlap; whether all fits.
    every = _LayoutChoices([{}], np.zeros((1, 4)))
    for memory in arch.memories:
        if memory.line_bits is not None:
            tensors, nothing = [], np.zeros((1, _FIGURES + 2 * len(list(ports_of(memory)))))
            for tensor in mapping.problem.tensors:
                ways = possible_layouts(arch, memory, mapping.problem, tensor, held_width_bits(arch, memory, tensor))
                counts = count_layouts(nest, boundaries, memory, tensor, list(ways))
                texts = list(ways.values()) if is_open(memory, tensor) else [""]
                if counts is None:
                    tensors.append(_LayoutChoices([_stated(memory, tensor, texts[0])], nothing))
                else:
                    chosen = [_stated(memory, tensor, text) for text in texts]
                    tensors.append(_LayoutChoices(chosen, _figures(memory, tensor, counts, len(chosen))).best())
            every = every.with_other(_of_memory(memory, tensors), np.array([False, False, True, True]))
    return every.chosen


def _stated(memory: Memory, tensor: Tensor, text: str) -> Chosen:
    return {f"{memory.name}.{tensor.name}": text} if text else {}


_FIGURES = 4
"""Of one tensor in one memory: energy, room by role; then cycles at every port, and in banks for every port."""
_ROLES = "input", "weight", "output"


def _figures(memory: Memory, tensor: Tensor, counts: LayoutCounts, layouts: int) -> Figures:
    """(layouts, figures)"""
    assert memory.line_bits is not None
    ports = list(ports_of(memory))
    found = np.zeros((_FIGURES + 2 * len(ports), layouts))
    beside = _FIGURES + len(ports)
    reads, writes = _both_ways(counts.total, layouts)
    energy = reads * memory.read_energy_pj + writes * memory.write_energy_pj
    found[0] = energy * (memory.line_bits / memory.access_bits)
    if ports:
        reads, writes = _both_ways(counts.busiest, layouts)
        bits = memory.line_bits * reads, memory.line_bits * writes
        found[_FIGURES:beside] = [port.cycles(tensor.role, *bits) for port in ports]
    if counts.held is not None and capacity_parts(memory):
        found[1 + _ROLES.index(tensor.role)] = counts.held * memory.line_bits
    if counts.banks is not None:
        found[beside:] = [port.carried(tensor.role, *_both_ways(counts.banks, layouts)) for port in ports]
    return found.T


def _both_ways(passing: PortFigures, layouts: int) -> tuple[Figures, Figures]:
    supplied, drained, collected, filled = (np.broadcast_to(each, layouts) for each in passing)
    return (supplied + drained).astype(np.float64), (collected + filled).astype(np.float64)


def _of_memory(memory: Memory, tensors: Iterable[_LayoutChoices]) -> _LayoutChoices:
    """Layouts for all tensors of a memory: (choices, 4) as in `_worth_trying`."""
    ports = len(list(ports_of(memory)))
    together = _LayoutChoices([{}], np.zeros((1, _FIGURES + 2 * ports)))
    for each in tensors:
        together = together.with_other(each, np.arange(_FIGURES + 2 * ports) >= _FIGURES + ports)
    figures = together.figures
    found = np.zeros((len(figures), 4))
    found[:, 0] = figures[:, 0]
    found[:, 2 if memory.overlaps else 1] = figures[:, _FIGURES:].max(axis=1, initial=0.0)
    copies = 2 if memory.double_buffered else 1
    for part in capacity_parts(memory):
        roles = [1 + _ROLES.index(role) for role in part.roles]
        found[:, 3] = np.maximum(found[:, 3], copies * figures[:, roles].sum(axis=1) > part.bits)
    choices = _LayoutChoices(together.chosen, found)
    fits = np.flatnonzero(found[:, 3] == 0)
    return choices.take(fits.tolist() or [0]).best()
