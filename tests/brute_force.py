"""Every mapping of the even space, one by one: the oracle that the search is compared with.

It shares the cost model with the search, and nothing else: no orders left out, no factors left out, no bounds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from tilewright.arch import Architecture, Fanout, Memory
from tilewright.cost_models import Objective, evaluate
from tilewright.ir import Axis, Loop, LoopNest, Mapping, MappingError, Node, Problem, ceil_div

Slot = tuple[str, Axis | None]
"""A place for one loop of each dimension: ("time", None) in a gap, or an axis of a fanout."""


def placements(problem: Problem, arch: Architecture) -> Iterator[list[tuple[Memory, list[str]]]]:
    """Which memory keeps which tensors, outermost first; memories that keep nothing are left out."""
    options = []
    for memory in arch.memories:
        per_tensor = [
            {"must": [True], "may": [True, False], "never": [False]}[memory.keeps[t.role]] for t in problem.tensors
        ]
        options.append(
            [
                [t.name for t, k in zip(problem.tensors, keep, strict=True) if k]
                for keep in itertools.product(*per_tensor)
            ]
        )
    for chosen in itertools.product(*options):
        yield [(m, names) for m, names in zip(arch.memories, chosen, strict=True) if names]


def structure(arch: Architecture, placement: list[tuple[Memory, list[str]]]) -> list[list[Node] | Axis | str]:
    """The nest's skeleton, outermost first: nodes of a memory, "time" for its temporal loops, then fanout axes."""
    keeping = {m.name: names for m, names in placement}
    parts: list[list[Node] | Axis | str] = []
    pending: list[Axis] = []
    for level in arch.levels:
        if isinstance(level, Fanout):
            pending += [Axis(level.name, i) for i in reversed(range(len(level.axes)))]
        elif level.name in keeping:
            parts += pending
            pending = []
            parts += [[Node(level.name, t) for t in keeping[level.name]], "time"]
    return parts + pending


def chains(size: int, slots: int, ragged: bool) -> Iterator[tuple[int, ...]]:
    """Trip counts of one dimension over some slots, innermost first, that cover its size."""
    if slots == 0:
        if size == 1:
            yield ()
        return
    for trips in range(1, size + 1):
        if ragged or size % trips == 0:
            for rest in chains(ceil_div(size, trips), slots - 1, ragged):
                yield (trips, *rest)


def all_mappings(problem: Problem, arch: Architecture, ragged: bool) -> Iterator[Mapping]:
    """All placements, factorizations, spatial assignments and permutations; capacities and axes unchecked."""
    for placement in placements(problem, arch):
        parts = structure(arch, placement)
        slots = [i for i, part in enumerate(parts) if not isinstance(part, list)][::-1]
        per_dim = [list(chains(size, len(slots), ragged)) for _, size in problem.dims]
        for chosen in itertools.product(*per_dim):
            yield from _nests(problem, parts, slots, chosen)


def _nests(
    problem: Problem, parts: list[list[Node] | Axis | str], slots: list[int], chosen: tuple[tuple[int, ...], ...]
) -> Iterator[Mapping]:
    ways: list[list[tuple[Loop | Node, ...]]] = []
    for i, part in enumerate(parts):
        if isinstance(part, list):
            ways.append([tuple(part)])
            continue
        axis = part if isinstance(part, Axis) else None
        trips = [chain[slots.index(i)] for chain in chosen]
        loops = [Loop(d, t, axis) for d, t in zip(problem.dim_names, trips, strict=True) if t > 1]
        ways.append([tuple(loops)] if axis else list(itertools.permutations(loops)))
    for nest in itertools.product(*ways):
        yield Mapping(problem, LoopNest(tuple(itertools.chain.from_iterable(nest))))


def count(problem: Problem, arch: Architecture, ragged: bool, limit: int) -> int:
    """How many mappings `all_mappings` yields, counting stopped at a limit."""
    total = 0
    for placement in placements(problem, arch):
        parts = structure(arch, placement)
        slots = [part for part in reversed(parts) if not isinstance(part, list)]
        per_dim = [list(chains(size, len(slots), ragged)) for _, size in problem.dims]
        if math.prod(map(len, per_dim)) > limit:
            return limit
        for chosen in itertools.product(*per_dim):
            total += math.prod(
                math.factorial(sum(chain[i] > 1 for chain in chosen)) for i, slot in enumerate(slots) if slot == "time"
            )
            if total >= limit:
                return limit
    return total


def best(
    problem: Problem, arch: Architecture, ragged: bool, objectives: tuple[Objective, ...]
) -> dict[Objective, float]:
    """The least value of each objective over all mappings that fit; infinite if none does."""
    values = {o: float("inf") for o in objectives}
    for mapping in all_mappings(problem, arch, ragged):
        try:
            cost = evaluate(mapping, arch)
        except MappingError:
            continue
        for o in objectives:
            values[o] = min(values[o], cost.objective(o))
    return values
