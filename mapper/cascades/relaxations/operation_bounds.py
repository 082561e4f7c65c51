"""What single operations of a cascade take at least, with endless room: by what the nearest memory outside the arrays
costs, or homes further out.

Energy here is that of accesses and of computing; what a machine leaks is added last (`part_bounds.py`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ....cost_models.cost import tensor_tile_words
from ....ir import Cascade, Operation, ProblemError, Role, Tensor, ceil_div
from ...canonical import form_of
from ...kernel.remembered import remembered
from ...kernel.tolerance import reaches
from ...pareto.weights import LATENCY_ALONE, UNKNOWN, LeastOfEach, Weights
from ..terms.branch import BranchQuestion, BranchSolver, Homes, Sizes
from ..terms.parts import VisitedPart
from ..terms.upper_memories import Floats, UpperMemories
from ..terms.windowed import Windowed, windowed_dims

Nearest = dict[object, tuple[float, float]]
"""By weights, and the form of an operation with the ways in which its visits may be uneven: the least energy, without
what leaks, and the least latency with all tensors near and endless room."""


@dataclass
class OperationBounds:
    """Bounds of the operations of one cascade on one machine, by one weight.

    may_be_uneven  whether shared loops step over what readers see through windows (`terms/windowed.py`)
    nearest        what is known of single operations; more is noted there
    """

    cascade: Cascade
    memories: UpperMemories
    weights: Weights
    solver: BranchSolver
    may_be_uneven: bool
    nearest: Nearest

    def __post_init__(self) -> None:
        self.leakage = self.memories.arch.total_leakage_pj_per_cycle
        self.timed = self.leakage > 0 or not self.weights.energy_only

    def tensors(self, name: str) -> list[Tensor]:
        return sorted(self.cascade.operation(name).problem.tensors, key=lambda tensor: tensor.name)

    @remembered
    def windowed(self, name: str) -> list[Windowed]:
        return list(windowed_dims(self.cascade, self.cascade.operation(name))) if self.may_be_uneven else []

    def with_leakage(self, energy_pj: float, cycles: float) -> float:
        """Energy with what leaks meanwhile."""
        return energy_pj + self.leakage * cycles if self.leakage else energy_pj

    def least_of(self, name: str, sizes: Sizes) -> tuple[float, float]:
        """Energy, without what leaks, and latency of one operation's tile at least, with all tensors near and endless
        room."""
        energy, latency = self.nearest_of(name)
        part = math.prod(size for _, size in sizes) / self.cascade.operation(name).problem.macs
        return part * energy, part * latency

    @remembered
    def nearest_of(self, name: str) -> tuple[float, float]:
        """The least energy, without what leaks, and the least latency of a whole operation with endless room, and with
        all tensors near; those that may pass the nearest memory by also further out, where ports may be wider. Where
        its visits may be uneven, of the even ones that they are parts of."""
        key = self._form(name)
        if key not in self.nearest:
            self.nearest[key] = self._nearest_of_new(name)
        return self.nearest[key]

    def _form(self, name: str) -> object:
        """What operations have in common that cost the same here."""
        operation = self.cascade.operation(name)
        names = operation.problem.dim_names
        uneven = tuple((names.index(one.dim), one.extra, tuple(one.steps)) for one in self.windowed(name))
        form = operation if operation.generations else form_of(Cascade(name, (operation,)), self.memories.arch)
        return self.weights, form, uneven

    def _nearest_of_new(self, name: str) -> tuple[float, float]:
        """What `nearest_of` says, by searches."""
        operation, energy, latency = self.cascade.operation(name), math.inf, math.inf
        for times, dims in self._covering_tiles(name):
            try:
                found = self._near(operation, dims, (energy / times, latency / times))
            except ProblemError:  # more positions than a search counts
                return 0.0, 0.0
            energy, latency = min(energy, times * found[0]), min(latency, times * found[1])
        return energy, latency

    def _covering_tiles(self, name: str) -> list[tuple[float, Sizes]]:
        """The whole operation; and where its visits may be uneven, even ones that they are parts of, with how many of
        them the whole is. Of these the largest come first: for their size they mostly take least, and others are soon
        left aside then."""
        problem = self.cascade.operation(name).problem
        found: list[tuple[float, Sizes]] = []
        for one in self.windowed(name):
            for covered in coverings(one, problem.sizes[one.dim]):
                dims = tuple((dim, covered if dim == one.dim else n) for dim, n in problem.dims)
                found.append((problem.sizes[one.dim] / covered, dims))
        return [(1.0, problem.dims), *sorted(found, key=lambda each: each[0])]

    def _near(self, operation: Operation, dims: Sizes, most: tuple[float, float]) -> tuple[float, float]:
        """The least energy, without what leaks, and the least latency of a tile of an operation with endless room,
        tensors near; or what is of interest at most."""
        energy, latency = 0.0, 0.0
        if self.weights.energy:
            energy = most[0]
            for homes in self._homes(operation, self.memories.nearer_is_cheaper):
                energy = self.solver.lower_accesses(self._roomy(operation, dims, homes), energy)
        if self.timed:
            latency = self._soonest(operation, dims, most[1])
        return energy, latency

    def _soonest(self, operation: Operation, dims: Sizes, most: float) -> float:
        """The least latency of a tile of an operation with endless room; or what is of interest at most. The nearest
        memory is asked about first: often nothing could be faster than from there."""
        latency, least = most, self.solver.at_peak(operation.name, dims)
        for homes in self._homes(operation):
            if reaches(least, latency):
                break
            latency = self._with_homes(operation, dims, homes, LATENCY_ALONE, latency)
        return latency

    def _homes(self, operation: Operation, nearest: bool = False) -> Iterator[Homes]:
        """All choices of homes for an operation's tensors that one of least weight may be among; or where the nearest
        memory is best, that alone."""
        tensors = sorted(operation.problem.tensors, key=lambda t: t.name)
        for chosen in itertools.product(*(self._possible_homes(tensor.role, nearest) for tensor in tensors)):
            yield tuple((t.name, home) for t, home in zip(tensors, chosen, strict=True))

    def _possible_homes(self, role: Role, nearest: bool) -> list[str]:
        """Memories that may be the home of a tensor, from the nearest one out. For latency that may not be best: ports
        further out may be wider, or have less to do. Also nearer ones than there may be: what homes further out cost is
        added."""
        upper = self.memories.upper
        if upper[-1].keeps[role] == "must" or nearest:
            return [upper[-1].name]
        return [memory.name for memory in reversed(upper)]

    def _with_homes(
        self, operation: Operation, dims: Sizes, homes: Homes, weights: Weights, cutoff: float = math.inf
    ) -> float:
        """What a tile of an operation weighs at least with endless room, tensors from homes; or the cutoff if that is
        less."""
        weighs_both = weights.energy and weights.latency
        apart = self.apart(operation, dims, homes) if weighs_both else UNKNOWN
        return self.solver.lower(self._roomy(operation, dims, homes), weights, cutoff, apart)

    def apart(self, operation: Operation, dims: Sizes, homes: Homes) -> LeastOfEach:
        """Energy and latency of a tile of an operation at least, its tensors from homes."""
        energy, latency = self.least_of(operation.name, dims)
        each = [self.far(operation.name, tensor, dims, home) for tensor, home in homes]
        cycles = sum((later for _, later in each), np.zeros(len(self.memories.ports)))
        slowest = max(latency, float(cycles.max(initial=0.0)))
        return LeastOfEach(self.with_leakage(energy + sum(more for more, _ in each), slowest), slowest)

    def _roomy(self, operation: Operation, dims: Sizes, homes: Homes) -> BranchQuestion:
        """What a tile of an operation is asked that has endless room."""
        room = self.memories.endless_room
        return VisitedPart((operation.name,), (dims,), homes, (1,), (room,), ((),), steps=False).question()

    @remembered
    def far(self, name: str, tensor: str, sizes: Sizes, home: str) -> tuple[float, Floats]:
        """pJ, and cycles of every port, that a tile of a tensor takes more at least in an operation, since its home is
        further out."""
        one = self.cascade.operation(name).problem.tensor(tensor)
        words = tensor_tile_words(one, dict(sizes))
        cycles = self.memories.port_cycles(self.memories.further_bits(one, words, home))
        return words * self.memories.further_pj(one, home), cycles

    def of_nearest(self, name: str) -> float:
        """What a whole operation weighs at least, by `nearest_of`."""
        energy, latency = self.nearest_of(name)
        return self.weights.of(self.with_leakage(energy, latency), latency)

    @remembered
    def weight_from(self, name: str, homes: Homes) -> float:
        """What a whole operation weighs at least with endless room; where its visits may be uneven, of the even ones
        that they are parts of."""
        operation, least = self.cascade.operation(name), math.inf
        for times, dims in self._covering_tiles(name):
            try:
                least = min(least, times * self._tile_from(operation, dims, homes, least / times))
            except ProblemError:  # more positions than a search counts
                return 0.0
        return least

    def _tile_from(self, operation: Operation, dims: Sizes, homes: Homes, most: float) -> float:
        """What a tile weighs at least with endless room, its tensors from homes; or the cutoff if that is less."""
        by_near = self.by_nearest(operation, dims, homes, most)
        return self._with_homes(operation, dims, homes, self.weights, most) if by_near is None else by_near

    def by_nearest(self, operation: Operation, dims: Sizes, homes: Homes, most: float = math.inf) -> float | None:
        """What a tile weighs at least with endless room, its tensors from homes, or the cutoff if that is less: by what
        it weighs if they come from the nearest memory instead, and what each word weighs more since they do not. None
        where that is not known."""
        nearest, more, near = self.memories.upper[-1], 0.0, []
        if self.memories.arch.fills or nearest.block_bits or nearest.line_bits:
            return None
        for name, home in homes:
            tensor = operation.problem.tensor(name)
            stays = home == nearest.name or nearest.keeps[tensor.role] == "never"
            per_word = 0.0 if stays else self.memories.further_weight(tensor, home, self.weights)
            if per_word is None:
                return None
            near.append((name, home if stays else nearest.name))
            more += per_word * tensor_tile_words(tensor, dict(dims))
        if tuple(near) == homes:
            return None
        apart = self.weights.of(*self.apart(operation, dims, homes))
        if apart >= most:
            return most
        by_both = more + self._with_homes(operation, dims, tuple(near), self.weights, most - more)
        return min(most, max(apart, by_both))


def coverings(one: Windowed, size: int) -> list[int]:
    """Positions of tiles, of one of which, or of the whole, each tile is a part that may stand for visits. A part of a
    tile costs no less than its part, so those that divide others are not needed."""
    most = {step: ceil_div(step + one.extra, step) for step in one.steps}
    found = {times * (step if size % step else size) for step, times in most.items()}
    between = {step * times for step, last in most.items() for times in range(1, last)}
    found |= {tile for tile in between if all(n % tile for n in (size, *found))}
    return sorted(n for n in found if not any(m != n and m % n == 0 for m in found))
