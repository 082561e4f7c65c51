"""The best layouts for the tensors of a network, with the conversions that they take.

A stored tensor lies in the outermost memory in one layout, and in copies in others where that pays. A layer reads one
of them, and writes in any layout; if that is not the one in which the tensor is stored, it is converted. A conversion
reads every line once and writes every line of the other layout once.

What a layer costs depends on the layouts of what it reads and writes; its weights, and what inner memories hold, have
the best ones (`any`). Those costs take a search each, so they are asked for only where it matters: no layout makes a
layer cheaper than full lines do, so the best choice by what is known, and else by full lines, is looked at, and its
unknown costs are searched, until all of the best choice are known. Then no other choice costs less. Where the time is
up before, what the best choice costs at least is still a bound.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...cost_models import Objective
from ...cost_models.cost import held_width_bits
from ...cost_models.layouts import line_box, parse_layout
from ...cost_models.ports import port_cycles
from ...ir import Problem, TilewrightError, ceil_div
from ...workloads.graph import NetworkGraph, Occurrence
from ..kernel.remembered import remembered_by
from ..kernel.tolerance import RELATIVE_TOLERANCE
from ..means import Means
from ..pareto.weights import Weights, weights_of
from ..progress import SearchProgress, tell
from .elimination import CostTerm, least_sum
from .layer_searches import LayerSearches, StatedLayouts, SumsOfLayer
from .stored import StoredTensor, Use, stored_tensors


@dataclass(frozen=True)
class Conversion:
    """A tensor is written anew in another layout.

    before   the layer that has written it in the old layout; none: it is stored so, and a copy is made for readers
    value    what it costs
    energy_pj, latency_cycles  it takes
    """

    tensor: str
    old: str
    new: str
    before: str
    lines_read: int
    lines_written: int
    value: float
    energy_pj: float
    latency_cycles: float


@dataclass(frozen=True)
class LayerLayouts:
    """A layer of the plan.

    reads, writes  (tensor, layout)
    value          of its best mapping with these, as often as it is done; `bound`: no mapping with them costs less
    energy_pj, latency_cycles  of the mapping, as often
    """

    name: str
    reads: tuple[tuple[str, str], ...]
    writes: tuple[str, str]
    value: float
    bound: float
    energy_pj: float
    latency_cycles: float


@dataclass(frozen=True)
class PlanProduct:
    """The product of a plan's energy and latency (`products.py`).

    objective     its name
    value, bound  of the plan, and what no plan has less of
    searched      as of a plan, over all weighted sums
    """

    objective: str
    value: float
    bound: float
    searched: int


@dataclass(frozen=True)
class LayoutPlan:
    """The layouts of a network's tensors.

    stored      by tensor, its layout
    choices     by tensor, the layouts that it may have
    value       of all layers and conversions
    bound       no choice of layouts and mappings costs less
    agreed      the least without any conversion
    as_written  with the first layout of every tensor, which is the one that it is written in
    full_lines  if all lines were full: no layouts cost less
    searched    layers and layouts that a search was made for
    objective   a weighted sum of energy and latency, of which all these are
    product     of a plan that was asked for the least product of the two: it
    """

    layers: tuple[LayerLayouts, ...]
    conversions: tuple[Conversion, ...]
    stored: Mapping[str, str]
    choices: Mapping[str, tuple[str, ...]]
    value: float
    bound: float
    agreed: float
    as_written: float
    full_lines: float
    searched: int
    objective: str
    product: PlanProduct | None = None

    @property
    def energy_pj(self) -> float:
        """Of all layers and conversions."""
        return sum(one.energy_pj for one in self.layers) + sum(one.energy_pj for one in self.conversions)

    @property
    def latency_cycles(self) -> float:
        """Of all layers and conversions, one after the other."""
        return sum(one.latency_cycles for one in self.layers) + sum(one.latency_cycles for one in self.conversions)

    @property
    def open_part(self) -> float:
        """By which part another choice may cost less, of what was asked for."""
        asked = self.product or self
        return max(0.0, 1 - asked.bound / asked.value)

    @property
    def proven(self) -> bool:
        """Whether no other choice costs less."""
        return self.open_part <= RELATIVE_TOLERANCE

    def __str__(self) -> str:
        verdict = "proven the best" if self.proven else f"others may cost {self.open_part:.1%} less"
        return f"layouts of {len(self.stored)} tensors, {len(self.conversions)} conversions, {verdict}"


State = tuple[str, frozenset[str]]
"""The layout in which a tensor is stored, and all in which it can be read."""


def plan_sum(
    graph: NetworkGraph, costs: LayerSearches, objective: Objective, only: Sequence[str], means: Means
) -> LayoutPlan:
    """The plan that is best for a weighted sum of energy and latency, which adds up over layers.

    costs  what is known of layers, and what searches them
    means  where their time is up, the best plan of what is known is taken, and its bound says how far off it may be

    Raises TilewrightError for other objectives.
    """
    weights = weights_of(objective)
    if weights is None:
        raise TilewrightError(
            f"objective {objective.name} does not add up over layers",
            where="layouts of a network",
            hint="use energy, latency, edp, ed2p, or a weighted sum such as 'energy + 100 * latency'",
        )
    return _Planning(graph, costs, objective, weights, only, means).plan()


Texts = tuple[str, ...]
"""The layouts of what a layer reads, and last of what it writes."""


class _Planning:
    def __init__(
        self,
        graph: NetworkGraph,
        costs: LayerSearches,
        objective: Objective,
        weights: Weights,
        only: Sequence[str],
        means: Means,
    ) -> None:
        self.costs, self.arch, self.objective, self.weights, self.means = costs, costs.arch, objective, weights, means
        self.outer = self.arch.memories[0]
        assert self.outer.line_bits is not None
        line_bits = self.outer.line_bits

        self.tensors = stored_tensors(graph, lambda t: line_bits // held_width_bits(self.arch, self.outer, t), only)
        self.layers = [occurrence for occurrence in graph if occurrence.multiplies and occurrence.problem is not None]
        self.uses: dict[str, list[tuple[Use, StoredTensor]]] = {layer.name: [] for layer in self.layers}
        for tensor in self.tensors:
            for use in tensor.uses:
                self.uses[use.occurrence.name].append((use, tensor))
        for pairs in self.uses.values():
            pairs.sort(key=lambda pair: pair[0].tensor.is_output)
        self.searched_before = costs.searched
        self._value, self._proven = math.inf, 0.0
        self._costs: dict[tuple[str, Texts], tuple[float, float]] = {}

    # ---- what things cost ----------------------------------------------------------------------------------

    def cost(self, layer: Occurrence, layouts: Texts) -> tuple[float, float]:
        """The value of a layer with such layouts, as far as it is known, and what no mapping has less of."""
        if (layer.name, layouts) not in self._costs:
            value, bound, *_ = (layer.times * one for one in self.known(layer, layouts).of(self.weights))
            self._costs[layer.name, layouts] = value, max(bound, min(value, self.least(layer)))
        return self._costs[layer.name, layouts]

    def least(self, layer: Occurrence, means: Means | None = None) -> float:
        """What no layouts make a layer cheaper than: full lines."""
        once = self.costs.full_lines(_unnamed(layer), self.objective, self.weights, means or self.means)
        return layer.times * once

    def known(self, layer: Occurrence, layouts: Texts) -> SumsOfLayer:
        """What searches have told of a layer with such layouts."""
        return self.costs.of(_unnamed(layer), self.stated(layer, layouts))

    def stated(self, layer: Occurrence, layouts: Texts) -> StatedLayouts:
        pairs = zip(self.uses[layer.name], layouts, strict=True)
        return tuple((use.tensor.name, use.text(text)) for (use, _), text in pairs)

    def find_out(self, layer: Occurrence, layouts: Texts, means: Means) -> None:
        """Search a layer with such layouts."""
        self._tell(f"{layer.name} as {', '.join(layouts)}")
        self.costs.find_out(_unnamed(layer), self.stated(layer, layouts), self.objective, self.weights, means)
        self._costs.clear()

    def conversion(self, tensor: StoredTensor, old: str, new: str, before: str = "") -> Conversion:
        """Of one layout into another."""
        read, written = self.lines(tensor, old), self.lines(tensor, new)
        memory, arch = self.outer, self.arch
        assert memory.line_bits is not None
        bits = read * memory.line_bits, written * memory.line_bits
        cycles = port_cycles(memory, {tensor.writers[0].tensor.role: bits})
        energy = (bits[0] * memory.read_energy_pj + bits[1] * memory.write_energy_pj) / memory.access_bits
        energy += cycles * arch.total_leakage_pj_per_cycle
        value = self.weights.of(energy, cycles)
        return Conversion(tensor.name, old, new, before, read, written, value, energy, cycles)

    @remembered_by(lambda _, tensor, old, new: (tensor.name, old, new))
    def converting(self, tensor: StoredTensor, old: str, new: str) -> float:
        """The value of a conversion."""
        return self.conversion(tensor, old, new).value

    def lines(self, tensor: StoredTensor, layout: str) -> int:
        """Of the whole tensor."""
        use = tensor.writers[0]
        width = held_width_bits(self.arch, self.outer, use.tensor)
        box = line_box(self.outer, use.problem, use.tensor, parse_layout(use.tensor, use.text(layout)), width)
        return math.prod(map(ceil_div, use.problem.extents(use.tensor.name), box))

    # ---- the choice ----------------------------------------------------------------------------------------

    def plan(self) -> LayoutPlan:
        self.bound_by_full_lines()
        as_written = self.as_written()
        bound = self.settle(convert=True)
        self.settle(convert=False)
        value, chosen = self.best(convert=True, known=True)
        layers, conversions = [], []
        for layer in self.layers:
            layouts = self.choice(layer, chosen, convert=True, known=True)[1]
            layers.append(self._layer(layer, layouts))
            _, written = self.uses[layer.name][-1]
            if layouts[-1] != chosen[written.name][0]:
                conversions.append(self.conversion(written, layouts[-1], chosen[written.name][0], layer.name))
        for tensor in self.tensors:
            stored, copies = chosen[tensor.name]
            conversions += [self.conversion(tensor, stored, other) for other in sorted(copies - {stored})]
        return LayoutPlan(
            layers=tuple(layers),
            conversions=tuple(conversions),
            stored={tensor.name: chosen[tensor.name][0] for tensor in self.tensors},
            choices={tensor.name: tensor.layouts for tensor in self.tensors},
            value=value,
            bound=min(bound, value),
            agreed=self.best(convert=False, known=True)[0],
            as_written=as_written,
            full_lines=sum(map(self.least, self.layers)),
            searched=self.costs.searched - self.searched_before,
            objective=self.objective.name,
        )

    def _layer(self, layer: Occurrence, layouts: Texts) -> LayerLayouts:
        names = [tensor.name for _, tensor in self.uses[layer.name]]
        found = (layer.times * one for one in self.known(layer, layouts).of(self.weights))
        *reads, writes = zip(names, layouts, strict=True)
        return LayerLayouts(layer.name, tuple(reads), writes, *found)

    def bound_by_full_lines(self) -> None:
        """Each layer in an equal part of the time."""
        layers = list({_unnamed(layer): layer for layer in self.layers}.values())
        for left, layer in zip(range(len(layers), 0, -1), layers, strict=True):
            self._tell(f"{layer.name} with full lines")
            self.least(layer, self.means.share().share(1 / left))

    def as_written(self) -> float:
        """With the first layout that every tensor may have, which is the one that it is written in: the first of all,
        so that there is a plan when the time is up, whatever else is known by then."""
        unknown = {}
        for layer in self.layers:
            layouts = tuple(tensor.layouts[0] for _, tensor in self.uses[layer.name])
            if not self.known(layer, layouts).tells(self.weights):
                unknown[_unnamed(layer), self.stated(layer, layouts)] = layer, layouts
        for left, (layer, layouts) in zip(range(len(unknown), 0, -1), unknown.values(), strict=True):
            if not (self.means.expired and self.known(layer, layouts).found):
                self.find_out(layer, layouts, self.means.share().share(1 / left))
        texts = [tuple(tensor.layouts[0] for _, tensor in self.uses[layer.name]) for layer in self.layers]
        self._value = sum(self.cost(layer, layouts)[0] for layer, layouts in zip(self.layers, texts, strict=True))
        return self._value

    def _tell(self, doing: str) -> None:
        """Tell whoever watches how far it is; what is known from the start is the plan with layouts as written."""
        text = f"search {self.costs.searched - self.searched_before + 1:,}: {doing}"
        tell(SearchProgress(doing=text, objective=self.objective.name, value=self._value, bound=self._proven))

    def settle(self, convert: bool) -> float:
        """Find out all costs of the best choice; what no choice costs less than."""
        while True:
            bound, chosen = self.best(convert, known=False)
            self._proven = max(self._proven, bound if convert else 0.0)
            unknown = {}
            for layer in self.layers:
                layouts = self.choice(layer, chosen, convert, known=False)[1]
                if not self.known(layer, layouts).tells(self.weights):
                    unknown[_unnamed(layer), self.stated(layer, layouts)] = layer, layouts
            if not unknown or self.means.expired:
                return bound
            for layer, layouts in unknown.values():
                if not self.means.expired:
                    self.find_out(layer, layouts, self.means)

    def best(self, convert: bool, known: bool) -> tuple[float, dict[str, State]]:
        """The least sum of all layers and conversions, and the state of every tensor.

        known  of costs that are known; else of what nothing costs less than
        """
        states = {tensor.name: list(_states(tensor, convert)) for tensor in self.tensors}
        terms = []
        for tensor in self.tensors:
            costs = [
                sum(self.converting(tensor, stored, other) for other in copies if other != stored)
                for stored, copies in states[tensor.name]
            ]
            terms.append(CostTerm((tensor.name,), np.array(costs)))
        for layer in self.layers:
            names = list(dict.fromkeys(tensor.name for _, tensor in self.uses[layer.name]))
            costs = [
                self.choice(layer, dict(zip(names, chosen, strict=True)), convert, known)[0]
                for chosen in itertools.product(*(states[name] for name in names))
            ]
            terms.append(CostTerm(tuple(names), np.array(costs).reshape([len(states[name]) for name in names])))
        value, found = least_sum(terms, {name: len(each) for name, each in states.items()})
        return value, {name: states[name][i] for name, i in found.items()}

    def choice(self, layer: Occurrence, chosen: Mapping[str, State], convert: bool, known: bool) -> tuple[float, Texts]:
        """The least that a layer costs where tensors are stored so, with what it converts of what it writes; and its
        layouts."""
        *reads, (_, written) = self.uses[layer.name]
        readable = [sorted(chosen[tensor.name][1]) for _, tensor in reads]
        stored = chosen[written.name][0]
        best: tuple[float, Texts] | None = None
        for layouts in itertools.product(*readable, written.layouts if convert else [stored]):
            value, bound = self.cost(layer, layouts)
            total = value if known else bound
            if layouts[-1] != stored:
                total += self.converting(written, layouts[-1], stored)
            if best is None or total < best[0]:
                best = total, layouts
        assert best is not None
        return best


def _states(tensor: StoredTensor, convert: bool) -> Iterator[State]:
    """Ways to store a tensor: a layout, and copies in others."""
    for stored in tensor.layouts:
        others = [layout for layout in tensor.layouts if layout != stored] if convert else []
        for count in range(len(others) + 1):
            for copies in itertools.combinations(others, count):
                yield stored, frozenset((stored, *copies))


def _unnamed(layer: Occurrence) -> Problem:
    assert layer.problem is not None
    return replace(layer.problem, name="")
