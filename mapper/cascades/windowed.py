"""Shared loops along which readers see an intermediate through a window: what every visit makes of it.

A loop steps over rows of a reader that asks for more rows of an intermediate than it steps over. So the visits of its
producer are *uneven*: the first one makes more rows than the others, or all of them make some again, and the last ones
may make fewer (`cost_models/cascades/windows.py`). What a producer reads itself is uneven in turn.

Loops inside an uneven branch cut the rows by which the loop moves on; where a visit makes more, one more loop stands
outside them. Bounds take visits that make fewer for their part of an even one, and those that make more for an even one:
tiles inside divide an even visit, so a part of it costs no less than its part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...cost_models.cascades.windows import Kept, Positions, asked_positions, new_positions
from ...ir import Cascade, Loop, Node, Operation, ceil_div, plain_rank
from .sharing import Pass, SharedDim, is_window


@dataclass(frozen=True)
class Uneven:
    """What the visits of an operation make along one dimension, while a loop above its split steps.

    dim     of the operation
    step    positions by which the loop moves on: what an even visit makes
    visits  all of them
    most    positions that a visit makes at most
    part    of the positions of as many even visits: at least what all visits make, none of them more than an even one
    span    positions of a tile where the reader finds it, zeros around included
    """

    dim: str
    step: int
    visits: int
    most: int
    part: float
    span: int


def uneven_visits(
    cascade: Cascade, names: Sequence[str], dim: SharedDim, trips: int, passes: Sequence[Pass]
) -> dict[str, Uneven] | None:
    """The uneven operations below a loop, by name; None where what they make cannot be counted: positions that no one
    reads, gaps, readers that ask for different positions.

    passes  for each of them, where its output passes, and what is kept there
    """
    kept = {tensor: keeps for tensor, _, keeps in passes}
    steps: dict[str, list[Positions]] = {}
    moved: dict[str, int] = {}
    found: dict[str, Uneven] = {}
    for name in reversed(names):
        operation, own = cascade.operation(name), dim.of(name)
        size = operation.problem.sizes[own]
        if name not in dim.uneven:
            moved[name] = size // trips
            steps[name] = [frozenset(range(i * moved[name], (i + 1) * moved[name])) for i in range(trips)]
            continue
        made = _made(cascade, operation, dim, steps, kept[operation.output.name])
        if made is None:
            return None
        steps[name], span = made
        moved[name] = _moved(cascade, operation, dim, moved)
        found[name] = _uneven(own, moved[name], [len(new) for new in steps[name]], span)
    return found


def _made(
    cascade: Cascade, operation: Operation, dim: SharedDim, steps: dict[str, list[Positions]], kept: Kept
) -> tuple[list[Positions], int] | None:
    """What an operation makes at each step, and the span of what its readers ask for."""
    tensor, own = operation.output.name, dim.of(operation.name)
    rank = plain_rank(operation, tensor, own)
    assert rank is not None
    asks = {
        tuple(asked_positions(reader, tensor, rank, dim.of(reader.name), at) for at in steps[reader.name])
        for reader in cascade.consumers[tensor]
    }
    if len(asks) > 1:
        return None
    (whole,) = asks
    extent = operation.problem.sizes[own]
    asked = [frozenset(x for x in ask if 0 <= x < extent) for ask in whole]
    new = list(new_positions(asked, kept))
    gaps = any(made and max(made) - min(made) + 1 != len(made) for made in new)
    if gaps or len(frozenset().union(*asked)) < extent:
        return None
    span = max(map(len, whole)) if kept != "all" else len(frozenset().union(*whole))
    return new, span


def _moved(cascade: Cascade, operation: Operation, dim: SharedDim, moved: dict[str, int]) -> int:
    """Positions by which a step of the loop moves an operation on."""
    reader = cascade.consumers[operation.output.name][0]
    rank = plain_rank(operation, operation.output.name, dim.of(operation.name))
    assert rank is not None
    coefficient = dict(reader.problem.tensor(operation.output.name).ranks[rank])[dim.of(reader.name)]
    return min(coefficient * moved[reader.name], operation.problem.sizes[dim.of(operation.name)])


def _uneven(dim: str, step: int, made: Sequence[int], span: int) -> Uneven:
    counts, visits = Counter(made), len(made)
    positions = sum(times * min(number, step) for number, times in counts.items())
    return Uneven(dim, step, visits, max(counts), positions / (visits * step), span)


def covering(items: tuple[Loop | Node, ...], uneven: Sequence[Uneven]) -> tuple[Loop | Node, ...]:
    """The items of a branch for even visits, with loops that cover the longest one."""
    for one in uneven:
        items = _covering(items, one)
    return items


def _covering(items: tuple[Loop | Node, ...], uneven: Uneven) -> tuple[Loop | Node, ...]:
    if uneven.most > uneven.step:
        return (Loop(uneven.dim, ceil_div(uneven.most, uneven.step)), *items)
    found, inside, left = list(items), uneven.step, uneven.most
    for place, item in enumerate(items):
        if isinstance(item, Loop) and item.dim == uneven.dim and item.trips > 1 and left < inside:
            inside //= item.trips
            found[place] = replace(item, trips=ceil_div(left, inside))
    return tuple(item for item in found if not (isinstance(item, Loop) and item.trips == 1))


# ---- before it is known which loops there are --------------------------------------------------------------


@dataclass(frozen=True)
class Windowed:
    """A dimension of an operation that may become uneven.

    dim    of the operation
    steps  positions by which a loop may move on
    extra  positions that the first visit may make more than the others, at most
    """

    dim: str
    steps: frozenset[int]
    extra: int


def windowed_dims(cascade: Cascade, operation: Operation) -> Iterator[Windowed]:
    """The dimensions of an operation that a shared loop may make uneven, by way of any of its readers."""
    tensor = operation.output.name
    for reader in cascade.consumers[tensor]:
        ranks = reader.problem.tensor(tensor).ranks
        own = {windowed.dim: windowed for windowed in windowed_dims(cascade, reader)}
        for i, rank in enumerate(ranks):
            made = next((dim for dim, _ in operation.problem.dims if plain_rank(operation, tensor, dim) == i), None)
            for dim, coefficient in rank:
                if made is None or not (is_window(cascade, operation, made, reader, dim) or dim in own):
                    continue
                size = reader.problem.sizes[dim]
                steps = {n for n in range(1, size) if size % n == 0} | (own[dim].steps if dim in own else set())
                reach = sum(c * (reader.problem.sizes[other] - 1) for other, c in rank if other != dim)
                extra = reach + (coefficient * own[dim].extra if dim in own else 0)
                extent = operation.problem.sizes[made]
                yield Windowed(made, frozenset(min(coefficient * n, extent) for n in steps), extra)
