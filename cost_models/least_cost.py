"""A lower bound on the cost of every mapping, known before any search: each point is computed once, and each compulsory
word passes the outermost memory once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..arch import Architecture, Mac
from ..ir import Cascade, Operation, Problem, Role, Tensor
from .intensity import compulsory_words
from .objective import Capped, Objective
from .padding import counted
from .ports import Port, port_cycles, run_cycles
from .sets import distinct_sums
from .traffic_bounds import done_macs


@dataclass(frozen=True)
class LeastCost:
    """Lower bounds on energy (pJ) and latency (cycles)."""

    energy_pj: float
    latency_cycles: float

    def value(self, objective: Objective) -> float:
        """Return the lower bound by an objective; of a lexicographic objective, by its first part."""
        first = objective.parts[0] if objective.is_lexicographic else objective
        return (first.base if isinstance(first, Capped) else first).value(self.energy_pj, self.latency_cycles)


def least_cost(problem: Problem, arch: Architecture) -> LeastCost:
    """Return the lower bound on the cost of every mapping of a problem."""
    problem = counted(problem, arch)
    words = compulsory_words(problem)
    if problem.has_zeros:
        from .sparse.least import nonzero_shares

        shares = nonzero_shares(problem)
        moved = {t: words[t.name] * shares[t.name] for t in problem.tensors}
    else:
        moved = {t: float(words[t.name]) for t in problem.tensors}
    return _least(arch, [(done_macs(problem), arch.mac)], moved)


def least_cost_of_cascade(cascade: Cascade, arch: Architecture, stays: Iterable[str] = ()) -> LeastCost:
    """Return the lower bound on the cost of every tree of a cascade, in any of its forms.

    stays  tensors no word of which passes the outermost memory
    """
    aside = frozenset(stays)
    found = [_least_of_form(form, arch, aside) for form in cascade.forms]
    return LeastCost(min(one.energy_pj for one in found), min(one.latency_cycles for one in found))


def cost_of_moves(arch: Architecture, moved: Mapping[Tensor, int]) -> LeastCost:
    """Return what it costs that words pass the outermost memory, which nothing is computed of."""
    return _least(arch, (), moved)


def least_port_cycles(cascade: Cascade, port: Port, arch: Architecture, stays: Iterable[str] = ()) -> float:
    """Return the least for which a port of the outermost memory is busy with the words of a cascade; `stays` as of
    `least_cost_of_cascade`."""
    forms = (_moved_by_form(form, frozenset(stays)) for form in cascade.forms)
    return min(port.busy(_passing(arch, moved)) for moved in forms)


def _least_of_form(cascade: Cascade, arch: Architecture, stays: frozenset[str]) -> LeastCost:
    points = [(float(operation.problem.macs), arch.mac.of(operation.kind)) for operation in cascade]
    return _least(arch, points, _moved_by_form(cascade, stays))


def _moved_by_form(cascade: Cascade, stays: frozenset[str]) -> dict[Tensor, float]:
    """Words of the tensors of one form that pass the outermost memory at least."""
    iterated = {one.tensor for operation in cascade for one in operation.generations}
    aside = {*cascade.intermediates, *iterated, *stays}
    moved: dict[str, tuple[Tensor, float]] = {}
    for operation in cascade:
        for tensor in operation.problem.tensors:
            if tensor.name not in aside:
                first, most = moved.get(tensor.name, (tensor, 0.0))
                moved[tensor.name] = first, max(most, float(_words(operation, tensor)))
    return dict(moved.values())


def _words(operation: Operation, tensor: Tensor) -> int:
    """Return the fewest words of a tensor that an operation touches: some of its positions may be padding."""
    words, sizes = 1, operation.problem.sizes
    for number, rank in enumerate(tensor.ranks):
        positions = distinct_sums(tuple(c for _, c in rank), tuple(sizes[dim] for dim, _ in rank), "exact")
        words *= max(0, positions - sum(operation.pad(tensor.name, number)))
    return words


def _least(arch: Architecture, points: Iterable[tuple[float, Mac]], moved: Mapping[Tensor, float]) -> LeastCost:
    """By points and the unit that computes them, and by words of tensors that pass the outermost memory."""
    energy, compute, filling, outermost = 0.0, 0.0, 0.0, arch.memories[0]
    passing = _passing(arch, moved)
    for number, unit in points:
        filling += arch.filling_cycles  # for every operation, at least once
        energy += number * unit.energy_pj
        compute += number / (arch.mac_instances * unit.per_cycle)
    read, write = (sum(bits[way] for bits in passing.values()) for way in (0, 1))
    energy += (read * outermost.read_energy_pj + write * outermost.write_energy_pj) / outermost.access_bits
    waiting = [(outermost.overlaps, port_cycles(outermost, passing))]
    cycles = float(run_cycles(compute, waiting)) + filling
    return LeastCost(energy + arch.total_leakage_pj_per_cycle * cycles, cycles)


def _passing(arch: Architecture, moved: Mapping[Tensor, float]) -> dict[Role, tuple[float, float]]:
    """Bits that the outermost memory reads and writes, by role."""
    passing: dict[Role, tuple[float, float]] = {}
    for tensor, words in moved.items():
        read, write = passing.get(tensor.role, (0.0, 0.0))
        if tensor.is_output:
            write += words * min(arch.width_bits(tensor), arch.partial_width_bits(tensor))
        else:
            read += words * arch.width_bits(tensor)
        passing[tensor.role] = read, write
    return passing
