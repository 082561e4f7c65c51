"""Capacity, energy and latency of the model, from its words; all figures are whole numbers of exact units."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from ...arch import Memory
from ...cost_models.ports import ports_of
from ...ir import Role, ceil_div
from ...ir.problem import ROLES
from ..kernel.remembered import remembered
from .loops import LoopVariables, Term, Var, checked, highest
from .slots import Pattern
from .words import Service, WordVariables


@dataclass(frozen=True)
class Flow:
    """Bits that pass a port of a memory: `bits` (negative: left out again) for each of some words."""

    memory: int
    reads: bool
    bits: int
    words: Var | int


@dataclass(frozen=True)
class Amount:
    """A figure as a variable: `count` units."""

    count: Var
    unit: Fraction


class Costs:
    """Energy and latency of what `loops` chooses, and the capacities that it must keep to.

    Both are bounded from below only: an objective that falls with them makes them exact.
    """

    def __init__(self, loops: LoopVariables) -> None:
        self.loops, self.words = loops, WordVariables(loops)
        self.problem, self.arch, self.places = loops.problem, loops.arch, loops.places
        for m, memory in enumerate(self.arch.memories):
            self._add_capacity(m, memory)

    # ---- capacity -------------------------------------------------------------------------------------------

    def _add_capacity(self, m: int, memory: Memory) -> None:
        shared: set[Role] = {role for role in ROLES if role not in memory.partition_bits}
        parts: list[tuple[set[Role], int]] = [({role}, bits) for role, bits in memory.partition_bits.items()]
        if memory.size_bits is not None:
            parts.append((shared, memory.size_bits))
        copies = 2 if memory.double_buffered else 1
        for roles, bits in parts:
            tensors = [t for t, x in enumerate(self.problem.tensors) if x.role in roles and (m, t) in self.loops.keeps]
            for count in range(1, len(tensors) + 1):
                for together in itertools.combinations(tensors, count):
                    needed = sum(copies * self._held_width(m, t) * self.words.tile(t, m) for t in together)
                    keep = [self.loops.keeps[m, t] for t in together]
                    self.loops.model.add(needed <= bits).only_enforce_if(keep)

    def _held_width(self, m: int, t: int) -> int:
        tensor = self.problem.tensors[t]
        return self.arch.partial_width_bits(tensor) if m else self.arch.width_bits(tensor)

    # ---- flows ----------------------------------------------------------------------------------------------

    def flows(self, t: int, pattern: Pattern, *, busiest: bool) -> Iterator[Flow]:
        """What a tensor moves if a pattern of memories keeps it: at all instances, or at the busiest one."""
        for outer, inner in zip(pattern, (*pattern[1:], None), strict=True):
            if self.problem.tensors[t].is_output:
                yield from self._partial_sums(t, outer, inner, pattern[-1], busiest)
            else:
                yield from self._operands(t, outer, inner, busiest)

    def _operands(self, t: int, outer: int, inner: int | None, busiest: bool) -> Iterator[Flow]:
        width = self.arch.width_bits(self.problem.tensors[t])
        joined = self._joined(outer, inner, "multicast")
        yield Flow(outer, True, width, self.words.served(Service(t, inner, joined, self._instance(outer, busiest))))
        if inner is not None:
            yield Flow(inner, False, width, self.words.served(Service(t, inner, (), self._instance(inner, busiest))))

    def _partial_sums(self, t: int, outer: int, inner: int | None, last: int, busiest: bool) -> Iterator[Flow]:
        tensor = self.problem.tensors[t]
        wide, narrow = self.arch.partial_width_bits(tensor), self.arch.width_bits(tensor)
        instance = self._instance(outer, busiest)
        arrivals = self.words.served(Service(t, inner, self._joined(outer, inner, "spatial_reduction"), instance))
        yield Flow(outer, False, wide, arrivals)
        yield Flow(outer, True, wide, arrivals)
        if self.arch.first_read_elision:
            yield Flow(outer, True, -wide, self.words.first_visits(t, outer, instance))
        if outer != last:
            yield Flow(outer, False, narrow - wide, self._finished_words(t, outer, instance))
        if inner is None:
            return
        instance = self._instance(inner, busiest)
        visits = self.words.served(Service(t, inner, (), instance))
        yield Flow(inner, False, wide, visits)
        if self.arch.first_read_elision:
            yield Flow(inner, False, -wide, self.words.first_visits(t, inner, instance))
        if self.arch.inner_drain_read:
            yield Flow(inner, True, wide, visits)
            if inner != last:
                yield Flow(inner, True, narrow - wide, self._finished_words(t, inner, instance))

    def _instance(self, memory: int, busiest: bool) -> int:
        return self.places.node[memory] if busiest else 0

    def _joined(self, outer: int, inner: int | None, how: str) -> tuple[int, ...]:
        last = self.places.mac if inner is None else self.places.node[inner]
        between = self.places.spatial(self.places.node[outer], last)
        return tuple(s for s in between if getattr(self.places.slots[s].fanout, how))

    def _finished_words(self, t: int, memory: int, instance: int) -> Var | int:
        """Words of a node that carry all their products at last: all, or none where instances share the sums."""
        return self._add_finished(t, memory, instance if self.places.spatial(0, instance) else 0)

    @remembered
    def _add_finished(self, t: int, memory: int, instance: int) -> Var | int:
        model, dims = self.loops.model, self.problem.tensors[t].dims
        first = self.words.first_visits(t, memory, instance)
        above = self.places.spatial(0, self.places.node[memory])
        if not any(dim not in dims and s in above for dim, _, s in self.loops.exponents):
            return first
        alone = self._alone(t, memory)
        finished = model.new_int_var(0, first if isinstance(first, int) else highest(first), "")
        model.add(finished == first).only_enforce_if(alone)
        model.add(finished == 0).only_enforce_if(alone.Not())
        return finished

    @remembered
    def _alone(self, t: int, memory: int) -> Var:
        """A Bool: whether no instances above a node share a sum."""
        model, dims = self.loops.model, self.problem.tensors[t].dims
        above = self.places.spatial(0, self.places.node[memory])
        sharing = sum(v for (dim, _, s), v in self.loops.exponents.items() if dim not in dims and s in above)
        alone = model.new_bool_var("")
        model.add(sharing == 0).only_enforce_if(alone)
        model.add(sharing >= 1).only_enforce_if(alone.Not())
        return alone

    # ---- energy ---------------------------------------------------------------------------------------------

    @cached_property
    def energy(self) -> Amount:
        """Energy of the whole run, in pJ."""
        per_bit = {
            (m, reads): fraction_of(pj) / memory.access_bits
            for m, memory in enumerate(self.arch.memories)
            for reads, pj in ((True, memory.read_energy_pj), (False, memory.write_energy_pj))
        }
        weights = {
            (t, pattern): [
                (f.bits * per_bit[f.memory, f.reads], f.words) for f in self.flows(t, pattern, busiest=False)
            ]
            for t, options in enumerate(self.loops.patterns)
            for pattern, _ in options
        }
        macs = self.problem.macs * fraction_of(self.arch.mac.energy_pj)
        unit = common_unit([macs, *(weight for terms in weights.values() for weight, _ in terms)])
        tensors = [
            self._by_pattern({y: _scaled(weights[t, pattern], unit) for pattern, y in options})
            for t, options in enumerate(self.loops.patterns)
        ]
        return Amount(self._sum([*tensors, [(int(macs / unit), 1)]]), unit)

    # ---- latency --------------------------------------------------------------------------------------------

    @cached_property
    def latency(self) -> Amount:
        """Cycles of the whole run."""
        per_cycle = 1 / fraction_of(self.arch.mac.per_cycle)
        ports = {(m, port): terms for m in range(len(self.arch.memories)) for port, terms in self._ports(m).items()}
        weights = [
            weight for by_tensor in ports.values() for each in by_tensor for _, terms in each for weight, _ in terms
        ]
        filling = fraction_of(self.arch.filling_cycles)
        unit = common_unit([per_cycle, filling, *weights])
        cycles = {
            key: self._sum([self._by_pattern({y: _scaled(terms, unit) for y, terms in each}) for each in by_tensor])
            for key, by_tensor in ports.items()
        }
        serial = []
        for m, memory in enumerate(self.arch.memories):
            mine = [variable for (n, _), variable in cycles.items() if n == m]
            if not memory.overlaps and mine:
                serial.append(self._largest(mine))
        beside = [variable for (m, _), variable in cycles.items() if self.arch.memories[m].overlaps]
        steps = self._sum([[(int(per_cycle / unit), self._steps())]])
        one_by_one: list[list[tuple[int, Var | int]]] = [[(1, v)] for v in (self._largest([steps, *beside]), *serial)]
        return Amount(self._sum([*one_by_one, [(int(filling / unit), 1)]]), unit)

    def _steps(self) -> Var | int:
        terms = [Term(dim, s) for dim in self.loops.dims for s in self.places.temporal_above(self.places.mac)]
        return self.loops.power(terms, ceil_div(self.problem.macs, self.arch.mac_instances))

    def _ports(self, m: int) -> dict[str, list[list[tuple[Var, list[tuple[Fraction, Var | int]]]]]]:
        """Cycles of every bounded port of a memory: per port and tensor, a sum for every pattern."""
        return {
            port.name: [
                [
                    (
                        y,
                        [
                            (f.bits / fraction_of(port.bits_per_cycle), f.words)
                            for f in self.flows(t, pattern, busiest=True)
                            if f.memory == m and (self.problem.tensors[t].role, f.reads) in port.kind.flows
                        ],
                    )
                    for pattern, y in options
                ]
                for t, options in enumerate(self.loops.patterns)
            ]
            for port in ports_of(self.arch.memories[m])
        }

    # ---- sums -----------------------------------------------------------------------------------------------

    def _by_pattern(self, sums: dict[Var, list[tuple[int, Var | int]]]) -> list[tuple[int, Var | int]]:
        """The sum that belongs to the pattern chosen, as one term; for a single pattern, its terms."""
        if len(sums) == 1:
            return next(iter(sums.values()))
        model = self.loops.model
        total = model.new_int_var(0, max(_highest(terms) for terms in sums.values()), "")
        for chosen, terms in sums.items():
            model.add(sum(weight * words for weight, words in terms) <= total).only_enforce_if(chosen)
        return [(1, total)]

    def _sum(self, parts: Iterable[list[tuple[int, Var | int]]]) -> Var:
        terms = [term for part in parts for term in part]
        total = self.loops.model.new_int_var(0, _highest(terms), "")
        self.loops.model.add(sum(weight * words for weight, words in terms) <= total)
        return total

    def _largest(self, figures: list[Var]) -> Var:
        if len(figures) == 1:
            return figures[0]
        largest = self.loops.model.new_int_var(0, max(map(highest, figures)), "")
        for figure in figures:
            self.loops.model.add(figure <= largest)
        return largest


def _scaled(terms: list[tuple[Fraction, Var | int]], unit: Fraction) -> list[tuple[int, Var | int]]:
    return [(int(weight / unit), words) for weight, words in terms if weight]


def _highest(terms: list[tuple[int, Var | int]]) -> int:
    """The largest value of a sum; TilewrightError if the solver cannot represent what the sum passes on its way."""
    most = [abs(weight) * (words if isinstance(words, int) else highest(words)) for weight, words in terms]
    return checked(sum(most))


def fraction_of(figure: float) -> Fraction:
    """The simplest fraction that is written as this float: 0.1 is 1/10, 34e9 * 8 / 700e6 is 2720/7."""
    exact = Fraction(figure)
    for digits in range(1, 16):
        simple = exact.limit_denominator(10**digits)
        if float(simple) == figure:
            return simple
    return exact


def common_unit(fractions: Iterable[Fraction]) -> Fraction:
    """The largest unit of which all the fractions are whole multiples; 1 if all are 0."""
    numerator, denominator = 0, 1
    for fraction in fractions:
        if fraction:
            numerator = math.gcd(numerator, fraction.numerator)
            denominator = math.lcm(denominator, fraction.denominator)
    return Fraction(numerator or 1, denominator)
