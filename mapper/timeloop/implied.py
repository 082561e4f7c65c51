"""What directives imply: a data space is in one branch of a `!Parallel`; dimensions are as large as an array allows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from ..constraints.constraints import ANY
from ..tilings import factors
from .directives import GIVE_PROBLEM, OTHERS, Directives, Loops, Names, narrow
from .nodes import TimeloopNode


def resolve(found: Directives, leaves: Sequence[TimeloopNode], names: Names) -> None:
    """Add what follows to the directives. Raises ArchitectureError with the place of what contradicts itself."""
    every = [tensor.name for tensor in names.problem.tensors] if names.problem is not None else _named(found)
    for place in dict.fromkeys(place for leaf in leaves for place, _ in leaf.branches):
        _one_branch_each(found, place, [leaf for leaf in leaves if place in dict(leaf.branches)], every)
    _maximize(found, leaves, names)


def _named(found: Directives) -> list[str]:
    """The data spaces that are named anywhere."""
    return list(dict.fromkeys(space for asked in found.targets.values() for space in asked.keeps if space != OTHERS))


def _one_branch_each(found: Directives, place: str, inside: Sequence[TimeloopNode], every: Sequence[str]) -> None:
    """Each data space is kept in one branch; the memories of the others do not keep it."""
    kept: dict[int, set[str]] = {}
    for leaf in inside:
        spaces = kept.setdefault(dict(leaf.branches)[place], set())
        spaces |= {space for space, keep in found.of(leaf.name).keeps.items() if keep}
    for (one, ours), (other, theirs) in itertools.combinations(kept.items(), 2):
        if both := ours & theirs:
            message = f"{', '.join(sorted(both))} kept in branches {one + 1} and {other + 1} of a !Parallel"
            raise inside[0].field.error(f"{message}, expected each data space in one")
    missing = [space for space in every if not any(space in spaces for spaces in kept.values())]
    if missing and inside[0].branches[0][0] == place:  # a !Parallel inside another one has what its branch has
        hint = "keep it in one of them, or in '- !Nothing {constraints: {dataspace: {keep: [...]}}}' to pass by"
        message = f"no branch of this !Parallel keeps {', '.join(missing)}, expected each data space in one"
        raise inside[0].field.error(message, hint=hint)
    for leaf in inside:
        for space in every if leaf.kind == "storage" else ():
            if space not in kept[dict(leaf.branches)[place]]:
                found.of(leaf.name).keeps.setdefault(space, False)


def _maximize(found: Directives, leaves: Sequence[TimeloopNode], names: Names) -> None:
    """Fix dimensions that are to be as large as possible: arrays first, then memories, from the inside out."""
    inward = list(reversed(leaves))
    loops = [(leaf, found.of(leaf.name).spatial) for leaf in inward]
    loops += [(leaf, found.of(leaf.name).temporal) for leaf in inward]
    wanted = [(leaf, each) for leaf, each in loops if each is not None and each.maximize]
    if wanted and names.problem is None:
        raise wanted[0][1].place.error("maximize_dims asks how large dimensions are in the problem", hint=GIVE_PROBLEM)
    left = {} if names.problem is None else dict(names.problem.sizes)
    for dim in left if wanted else ():
        for _, each in loops:
            left[dim] = math.ceil(left[dim] / ((each.exactly(dim) if each is not None else None) or 1))
    for leaf, each in wanted:
        for group in each.maximize:
            _fill(each, group, each.capacity or math.prod(leaf.mesh), left, leaf.name, names.notes)


def _fill(loops: Loops, group: Sequence[str], capacity: int, left: dict[str, int], name: str, notes: list[str]) -> None:
    """Fix the dimensions of a group; `left` is what is left of each, and shrinks."""
    if fixed := [dim for dim in group if loops.trips.get(dim, ANY) != ANY]:
        raise loops.place.error(f"{fixed[0]} is to be made as large as possible, and has a factor")
    room = capacity // math.prod(loops.exactly(dim) or 1 for dim in loops.trips)
    chosen = _largest({dim: left[dim] for dim in group}, room)
    for dim, count in chosen.items():
        narrow(loops, dim, (count, count), loops.place)
        left[dim] //= count
    words = ", ".join(f"{dim}={count}" for dim, count in chosen.items())
    notes.append(f"maximize_dims of {name} is {words}, as much as fits {room} trips")


def _largest(sizes: Mapping[str, int], room: int) -> dict[str, int]:
    """A divisor of each size, together at most `room` and as much as possible; of equal ones, the first the largest."""
    open_: list[tuple[int, ...]] = [()]
    for size in sizes.values():
        divisors = factors(size, "perfect", even=False)
        open_ = [(*some, each) for some in open_ for each in divisors if math.prod(some) * each <= max(room, 1)]
    best = max(open_, key=lambda some: (math.prod(some), some))
    return dict(zip(sizes, best, strict=True))
