"""The decisions as variables: trips of every loop (as exponents of primes), loop orders, placements, and charges."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ortools.sat.python import cp_model

from ...arch import Architecture
from ...ir import Problem, TilewrightError
from ..kernel.remembered import remembered
from ..tilings import prime_exponents
from .orders import OrderClass, order_classes
from .slots import Pattern, Places, moving_dims, patterns, windows
from .windows import Chain, chains, limits

Var = cp_model.IntVar

MOST_STATES = 20_000
"""Combinations of chains of the dimensions of one window; beyond that the tables are too large to be of use."""


@dataclass(frozen=True)
class Term:
    """The loops of one dimension in one slot, as a factor of a product.

    charged_at  (tensor index, memory index): only what is charged when that node is served; None: all trips
    """

    dim: str
    slot: int
    charged_at: tuple[int, int] | None = None


@dataclass(frozen=True)
class States:
    """Dimensions that share windows, taken together: one Bool per combination of their chains."""

    dims: tuple[str, ...]
    chains: tuple[tuple[Chain, ...], ...]
    chosen: tuple[Var, ...]


class LoopVariables:
    """Variables and constraints of the even space with perfect tiling: what may be chosen, and what is charged.

    A charge is bounded from below only: every objective falls with it, so that an optimum charges what must be.
    """

    def __init__(self, problem: Problem, arch: Architecture) -> None:
        self.problem, self.arch = problem, arch
        self.places = Places.of(arch)
        self.dims = moving_dims(problem)
        self.model = cp_model.CpModel()
        self.patterns = [self._patterns(t) for t in range(len(problem.tensors))]
        self.primes = {dim: prime_exponents(problem.sizes[dim]) for dim in self.dims}
        self.exponents: dict[tuple[str, int, int], Var] = {}
        self.orders: dict[int, list[tuple[Var, OrderClass]]] = {}
        self._powers: dict[frozenset[Term], Var | int] = {}
        self._add_exponents()
        self._add_axes()
        self.states = [self._add_states(group) for group in _groups(problem)]
        self._add_orders()

    # ---- placements -----------------------------------------------------------------------------------------

    def _patterns(self, tensor: int) -> list[tuple[Pattern, Var]]:
        found = patterns(self.arch, self.problem.tensors[tensor])
        chosen = [self.model.new_bool_var("") for _ in found]
        self.model.add_exactly_one(chosen)
        return list(zip(found, chosen, strict=True))

    @cached_property
    def keeps(self) -> dict[tuple[int, int], Var]:
        """Per (memory, tensor) that may be kept: whether it is."""
        found = {}
        for t, options in enumerate(self.patterns):
            for m in range(len(self.arch.memories)):
                chosen = [y for pattern, y in options if m in pattern]
                if chosen:
                    found[m, t] = self.model.new_bool_var("")
                    self.model.add(sum(chosen) == found[m, t])
        return found

    # ---- trips ----------------------------------------------------------------------------------------------

    def _add_exponents(self) -> None:
        for dim in self.dims:
            most = limits(self.problem, self.places, dim)
            for prime, count in self.primes[dim].items():
                for s, limit in enumerate(most):
                    self.exponents[dim, prime, s] = self.model.new_int_var(0, min(count, _log(limit, prime)), "")
                self.model.add(sum(self.exponents[dim, prime, s] for s in range(len(most))) == count)
        for m, s in enumerate(self.places.node):
            keeping = [self.keeps[m, t] for t in range(len(self.problem.tensors)) if (m, t) in self.keeps]
            for dim in self.dims:
                # A memory that keeps nothing has no loops of its own.
                for prime, count in self.primes[dim].items():
                    self.model.add(self.exponents[dim, prime, s] <= count * sum(keeping))

    def _add_axes(self) -> None:
        for s in self.places.spatial(0, self.places.mac):
            size = self.places.slots[s].array_axis.size
            sums = self._sums([Term(dim, s) for dim in self.dims])
            if sums:
                primes = tuple(sums)
                counts = [range(min(most, _log(size, p)) + 1) for p, (_, most) in sums.items()]
                rows = [row for row in itertools.product(*counts) if _value(primes, row) <= size]
                self.model.add_allowed_assignments([expression for expression, _ in sums.values()], rows)

    def _sums(self, terms: Iterable[Term]) -> dict[int, tuple[cp_model.LinearExprT, int]]:
        """Per prime, the exponent of a product of trips, and the most that it can be."""
        found: dict[int, list[Var]] = {}
        most: dict[tuple[str, int], int] = {}
        for term in terms:
            for prime, count in self.primes[term.dim].items():
                variable = self._exponent(term, prime)
                if highest(variable) > 0:
                    found.setdefault(prime, []).append(variable)
                    total = most.get((term.dim, prime), 0) + highest(variable)
                    most[term.dim, prime] = min(count, total)
        return {p: (sum(vs), sum(c for (_, q), c in most.items() if q == p)) for p, vs in sorted(found.items())}

    def _exponent(self, term: Term, prime: int) -> Var:
        if term.charged_at is None or self.arch.reuse == "at_node":  # where every loop is charged
            return self.exponents[term.dim, prime, term.slot]
        return self._charge(term, prime)

    def power(self, terms: Iterable[Term], least: int = 1) -> Var | int:
        """A variable that is the product of some trips; `least` is a bound that other constraints imply."""
        wanted = frozenset(terms)
        if wanted not in self._powers:
            self._powers[wanted] = self._power(self._sums(sorted(wanted, key=repr)), least)
        return self._powers[wanted]

    def _power(self, sums: dict[int, tuple[cp_model.LinearExprT, int]], least: int) -> Var | int:
        if not sums:
            return 1
        rows_of_table = math.prod(count + 1 for _, count in sums.values())
        if len(sums) > 1 and rows_of_table > 3_000:  # a table per prime is smaller
            return self.product([self._power({prime: each}, 1) for prime, each in sums.items()])
        rows = itertools.product(*(range(count + 1) for _, count in sums.values()))
        points = [(row, value) for row in rows if (value := _value(tuple(sums), row)) >= least]
        chosen = [self.model.new_bool_var("") for _ in points]
        self.model.add_exactly_one(chosen)
        for i, (expression, _) in enumerate(sums.values()):
            self.model.add(sum(row[i] * z for (row, _), z in zip(points, chosen, strict=True) if row[i]) == expression)
        values = [value for _, value in points]
        return self.selected(values, chosen)

    def selected(self, values: Sequence[int], chosen: Sequence[Var]) -> Var:
        """A variable that is the value of the one Bool that is true."""
        variable = self.model.new_int_var_from_domain(cp_model.Domain.from_values(sorted(set(values))), "")
        self.model.add(sum(v * z for v, z in zip(values, chosen, strict=True)) == variable)
        return variable

    def product(self, factors: Sequence[Var | int]) -> Var | int:
        """A variable that is the product of some others."""
        constant = math.prod(f for f in factors if isinstance(f, int))
        variables = [f for f in factors if not isinstance(f, int)]
        if not variables:
            return constant
        if constant == 1 and len(variables) == 1:
            return variables[0]
        result = variables[0]
        for factor in variables[1:]:
            both = self.model.new_int_var(
                lowest(result) * lowest(factor), checked(highest(result) * highest(factor)), ""
            )
            self.model.add_multiplication_equality(both, [result, factor])
            result = both
        if constant == 1:
            return result
        scaled = self.model.new_int_var(lowest(result) * constant, checked(highest(result) * constant), "")
        self.model.add(scaled == constant * result)
        return scaled

    # ---- windows --------------------------------------------------------------------------------------------

    def _add_states(self, dims: tuple[str, ...]) -> States:
        most = [limits(self.problem, self.places, dim) for dim in dims]
        options = [list(chains(self.problem.sizes[dim], m)) for dim, m in zip(dims, most, strict=True)]
        if math.prod(map(len, options)) > MOST_STATES:
            raise TilewrightError(
                f"the loops over {', '.join(dims)} can be tiled in {math.prod(map(len, options)):,} ways, "
                f"and a table of more than {MOST_STATES:,} is not made",
                where=f"{self.problem.name}: cpsat",
                hint="use the exact search for windows as large as this",
            )
        states = tuple(s for s in itertools.product(*options) if self._fits_axes(s))
        chosen = tuple(self.model.new_bool_var("") for _ in states)
        self.model.add_exactly_one(chosen)
        for i, dim in enumerate(dims):
            for prime in self.primes[dim]:
                for s in range(self.places.mac):
                    powers = [prime_exponents(state[i][s]).get(prime, 0) for state in states]
                    total = sum(p * z for p, z in zip(powers, chosen, strict=True) if p)
                    self.model.add(total == self.exponents[dim, prime, s])
        return States(dims, states, chosen)

    def _fits_axes(self, state: tuple[Chain, ...]) -> bool:
        return all(
            math.prod(chain[s] for chain in state) <= self.places.slots[s].array_axis.size
            for s in self.places.spatial(0, self.places.mac)
        )

    # ---- orders and charges ---------------------------------------------------------------------------------

    def _add_orders(self) -> None:
        classes = order_classes(self.problem, self.arch.reuse)
        self.real: dict[tuple[str, int], Var] = {}
        self.moves: dict[tuple[int, int], Var] = {}
        for s in self.places.temporal_above(self.places.node[-1]):
            self.orders[s] = [(self.model.new_bool_var(""), each) for each in classes]
            self.model.add_exactly_one([chosen for chosen, _ in self.orders[s]])
            for dim in self.dims:
                self.real[dim, s] = self.model.new_bool_var("")
                for prime, count in self.primes[dim].items():
                    self.model.add(self.exponents[dim, prime, s] <= count * self.real[dim, s])
            for t, tensor in enumerate(self.problem.tensors):
                self.moves[t, s] = self.model.new_bool_var("")
                for dim in self.dims:
                    if self.arch.loop_moves(dim, tensor):
                        self.model.add_implication(self.real[dim, s], self.moves[t, s])

    @remembered
    def _charge(self, term: Term, prime: int) -> Var:
        """The exponent of what a loop multiplies the services of a node by: its own, or 0 if it is free."""
        exponent = self.exponents[term.dim, prime, term.slot]
        count = highest(exponent)
        charge = self.model.new_int_var(0, count, "")
        self.model.add(charge <= exponent)
        self.model.add(charge >= exponent - count + count * self._charged(term))
        return charge

    @remembered
    def _charged(self, term: Term) -> Var:
        """Whether a loop is charged at a node: a loop between the two, or inside it in its slot, moves the tensor."""
        assert term.charged_at is not None
        t, m = term.charged_at
        charged = self.model.new_bool_var("")
        for inner in self.slots_between(term.slot, m):
            self.model.add_implication(self.moves[t, inner], charged)
        free = [chosen for chosen, each in self.orders[term.slot] if term.dim in each.free[t]]
        self.model.add_bool_or([self.moves[t, term.slot].Not(), charged, *free])
        return charged

    def slots_between(self, slot: int, memory: int) -> tuple[int, ...]:
        """Slots in time below a slot and above a memory's nodes."""
        return tuple(s for s in self.places.temporal_above(self.places.node[memory]) if s > slot)


def _groups(problem: Problem) -> list[tuple[str, ...]]:
    """Dimensions that share windows, directly or through others."""
    groups: list[set[str]] = []
    for tensor in problem.tensors:
        for rank in windows(problem, tensor):
            dims = {dim for dim, _ in rank}
            joined = [g for g in groups if g & dims]
            groups = [g for g in groups if not g & dims] + [dims.union(*joined)]
    return [tuple(dim for dim in problem.dim_names if dim in group) for group in groups]


def _log(limit: int, prime: int) -> int:
    """The largest exponent of a power of `prime` that is at most `limit`."""
    return next(e for e in itertools.count() if prime ** (e + 1) > limit)


def _value(primes: Sequence[int], row: Sequence[int]) -> int:
    return math.prod(p**e for p, e in zip(primes, row, strict=True))


def lowest(variable: Var) -> int:
    """The least value of a variable's domain."""
    return int(variable.proto.domain[0])


def highest(variable: Var) -> int:
    """The largest value of a variable's domain."""
    domain = variable.proto.domain
    return int(domain[len(domain) - 1])  # it knows no negative indices


MOST = 1 << 60
"""Numbers from here on are refused: sums of a few of them no longer fit the 64 bits of the solver."""


def checked(number: int) -> int:
    """The number, if the solver can represent it; TilewrightError otherwise."""
    if number >= MOST:
        raise TilewrightError(
            f"a figure of {number:.3g} units is needed, and the solver's numbers end at {MOST:.3g}",
            where="cpsat",
            hint="use the exact search for problems as large as this",
        )
    return number
