"""Windows between operations: what each visit makes of an intermediate that its consumer reads as p + r.

A shared loop steps over p, and the producer makes in a visit what the consumers ask for in it and the node where they
exchange the tensor does not hold. Along one rank, with A(i) what is asked for at step i of its loop, that is

    A(i) - A(0) - ... - A(i - 1)   if the node stands above the loop: it holds what it was given
    A(i) - A(i - 1)                if the loop is the innermost one above the node, and the memory keeps halos
    A(i)                           otherwise, and where the node renews its tile: rows are computed again

and of several ranks it is the product. So along every shared dimension visits differ in the number of positions alone,
and the sum over visits is one over combinations of a few numbers. A visit is an ordinary mapping of as many positions,
numbered in order: the branch's loops cut them from the inside out, and the last tile may be ragged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from ...arch import Architecture, Memory
from ...ir import (
    Loop,
    Mapping,
    MappingError,
    Node,
    Operation,
    OperationPath,
    Place,
    Renews,
    ceil_div,
    loop_of,
    plain_rank,
)

Positions = frozenset[int]
Steps = tuple[Positions, ...]
"""Positions along one rank, at each step of the loop over it."""

Kept = Literal["all", "last", "none"]
"""What a node keeps of the steps before."""


@dataclass(frozen=True)
class Made:
    """What an operation makes along a dimension that its consumers read through a window.

    place  of the shared loop
    asked  at each step: what the consumers ask for, of the positions that there are
    new    at each step: what is made
    span   positions that a tile at the node of the output has at most, zeros that are asked for included
    """

    place: Place
    asked: Steps
    new: Steps
    span: int

    @property
    def most(self) -> int:
        """Positions that a visit makes at most: the branch's loops have to cover as many."""
        return max(map(len, self.new))


Windows = dict[str, dict[str, Made]]
"""By operation and dimension."""


def windows_of(fused: Mapping, arch: Architecture) -> Windows:
    """What every operation makes of its windowed dimensions; MappingError where the loops of a branch do not cover what
    a visit makes at most, and for what cannot be counted yet."""
    found = made_by_visits(fused, arch)
    for name, dims in found.items():
        for dim, made in dims.items():
            _check_cover(fused.paths[name], dim, made.most)
    return found


def made_by_visits(fused: Mapping, arch: Architecture) -> Windows:
    """As `windows_of`, whatever the loops inside the branches are."""
    found: Windows = {}
    for name in reversed(fused.leaves):
        path = fused.paths[name]
        if path.windows:
            _check_supported(fused, path, arch)
        found[name] = {dim: _made(fused, arch, path, dim, found) for dim in sorted(path.windows)}
    for name, made in found.items():
        if made:
            _check_consumers(fused, arch, name, found)
    return found


def exchange_of(fused: Mapping, path: OperationPath) -> Place:
    """The one node at which the output of an operation passes to its consumers."""
    tensor = path.operation.output.name
    return fused.exchange(tensor, fused.cascade.consumers[tensor][0].name)


def _refuse(path: OperationPath, what: str) -> MappingError:
    shown = ", ".join(sorted(path.windows))
    message = f"its consumers read {path.operation.output.name} through windows along {shown}, and {what}"
    return MappingError(f"{message}: not counted yet", where=path.operation.name)


def _check_supported(fused: Mapping, path: OperationPath, arch: Architecture) -> None:
    """Windows are counted between neighbouring leaves, along loops in time."""
    tensor = path.operation.output.name
    places = {fused.exchange(tensor, consumer.name) for consumer in fused.cascade.consumers[tensor]}
    if len(places) > 1 or fused.nodes_above(tensor, fused.leaves[path.operation.name])[0] not in places:
        raise _refuse(path, f"{tensor} has several nodes that they read, or one further out")
    address = fused.leaves[path.operation.name][:-1]
    if any(fused.leaves[consumer.name][:-1] != address for consumer in fused.cascade.consumers[tensor]):
        raise _refuse(path, "they do not stand in branches of one split")
    if any(loop.is_spatial and loop.trips > 1 for loop in path.shared_loops):
        raise _refuse(path, "an array is shared")
    if path.operation.generations:
        raise _refuse(path, "it uses generations of what is iterated")
    inside = fused.cascade.intermediates
    read = [t.name for t in path.operation.problem.operands if t.name in inside]
    places |= {fused.exchange(name, path.operation.name) for name in read}
    for position, item in enumerate(path.mapping.nest.items[: path.starts[-1]]):
        place = path.places[position]
        if not isinstance(item, Node) or item.memory == arch.memories[0].name or place in places:
            continue
        if any(place in other.places for name, other in fused.paths.items() if name != path.operation.name):
            raise _refuse(path, f"it shares '{item}' with another operation")
        above = path.mapping.nest.items[:position]
        moved = {loop.dim for loop in above if isinstance(loop, Loop) and loop.trips > 1} & path.windows
        if moved & path.operation.problem.tensor(item.tensor).dims:
            raise _refuse(path, f"'{item}' stands between shared loops and split")


def _made(fused: Mapping, arch: Architecture, path: OperationPath, dim: str, known: Windows) -> Made:
    operation = path.operation
    rank = plain_rank(operation, operation.output.name, dim)
    assert rank is not None
    loops = [
        path.places[i]
        for i, item in enumerate(path.mapping.nest.items[: path.starts[-1]])
        if isinstance(item, Loop) and item.dim == dim and item.trips > 1
    ]
    if len(loops) != 1:
        raise _refuse(path, f"{len(loops)} shared loops step over {dim}")
    (place,) = loops
    extent = operation.problem.sizes[dim]
    whole = _by_all(fused, operation, rank, place, known)
    asked = tuple(frozenset(x for x in ask if 0 <= x < extent) for ask in whole)
    if len(frozenset().union(*asked)) < extent:
        raise _refuse(path, "they read some positions only")
    new = tuple(_new(fused, arch, path, place, asked))
    if any(made and max(made) - min(made) + 1 != len(made) for made in new):
        raise _refuse(path, "they ask for positions with gaps")
    above = place < exchange_of(fused, path)
    span = max(map(len, whole)) if above else len(frozenset().union(*whole))
    return Made(place, asked, new, span)


def _by_all(fused: Mapping, operation: Operation, rank: int, place: Place, known: Windows) -> list[Positions]:
    """What all consumers ask for along a rank at every step of the shared loop."""
    tensor = operation.output.name
    every = [_asked(fused, consumer, tensor, rank, place, known) for consumer in fused.cascade.consumers[tensor]]
    return [frozenset[int]().union(*asks) for asks in zip(*every, strict=True)]


def asked_by_all(fused: Mapping, operation: Operation, dim: str, found: Windows) -> list[Positions]:
    """What the consumers of an operation ask for along one of its windowed dimensions, at every step of the shared loop
    over it, zeros around included; `found` as `windows_of` gives it."""
    rank = plain_rank(operation, operation.output.name, dim)
    assert rank is not None
    return _by_all(fused, operation, rank, found[operation.name][dim].place, found)


def table_of_visits(fused: Mapping, operation: Operation, dim: str, found: Windows) -> list[tuple[int, int, int]]:
    """Along one windowed dimension of an operation, for every step of the shared loop over it: the first position that
    consumers ask for, zeros around included, the first that is made, and how many are; `found` as `windows_of` gives
    it."""
    table: list[tuple[int, int, int]] = []
    for ask, new in zip(asked_by_all(fused, operation, dim, found), found[operation.name][dim].new, strict=True):
        first = min(ask, default=table[-1][0] if table else 0)
        table.append((first, min(new, default=0), len(new)))
    return table


def _asked(
    fused: Mapping, consumer: Operation, tensor: str, rank: int, place: Place, known: Windows
) -> list[Positions]:
    """What one consumer asks for along a rank at every step of the shared loop, zeros around it included."""
    item = fused.item(place)
    assert isinstance(item, Loop)
    dim = loop_of(item, consumer.name).dim
    terms = consumer.problem.tensor(tensor).ranks[rank]
    for other, _ in terms:
        if other != dim and any(
            loop.dim == other and loop.trips > 1 for loop in fused.paths[consumer.name].shared_loops
        ):
            raise _refuse(fused.paths[consumer.name], f"a shared loop cuts {other} as well")
    steps = own_steps(fused, consumer, dim, place, known)
    return [asked_positions(consumer, tensor, rank, dim, own) for own in steps]


def asked_positions(consumer: Operation, tensor: str, rank: int, dim: str, own: Iterable[int]) -> Positions:
    """What a consumer asks for along a rank when it works on some positions of one of its dimensions, and on all of the
    others; zeros before the tensor are negative."""
    reached = {-consumer.pad(tensor, rank)[0]}
    for other, coefficient in consumer.problem.tensor(tensor).ranks[rank]:
        values = list(own) if other == dim else range(consumer.problem.sizes[other])
        reached = {first + coefficient * value for first in reached for value in values}
    return frozenset(reached)


def own_steps(fused: Mapping, operation: Operation, dim: str, place: Place, known: Windows) -> list[Positions]:
    """The positions of a dimension that an operation works on at each step of a shared loop over it."""
    if dim in known[operation.name]:
        return list(known[operation.name][dim].new)
    path = fused.paths[operation.name]
    items = path.mapping.nest.items
    position = path.places.index(place)
    loops = [(i, item) for i, item in enumerate(items) if isinstance(item, Loop) and item.dim == dim and item.trips > 1]
    if [i for i, _ in loops if i < path.starts[-1]] != [position]:
        raise MappingError(
            f"several shared loops step over {dim}: windows are not counted there yet", where=path.operation.name
        )
    tile = math.prod(loop.trips for i, loop in loops if i > position)
    size = operation.problem.sizes[dim]
    trips = dict(loops)[position].trips
    return [frozenset(range(i * tile, min(size, (i + 1) * tile))) for i in range(trips)]


def _new(fused: Mapping, arch: Architecture, path: OperationPath, place: Place, asked: Steps) -> Iterator[Positions]:
    exchange = exchange_of(fused, path)
    kept: Kept = "none"
    if not isinstance(fused.item(exchange), Renews):
        kept = "all" if exchange < place else "last" if keeps_rows(fused, arch, path, place) else "none"
    return new_positions(asked, kept)


def new_positions(asked: Iterable[Positions], kept: Kept) -> Iterator[Positions]:
    """At each step: what is asked for, and is not held from the steps before.

    kept  of these: all that was asked for, the last step's, or nothing
    """
    held: Positions = frozenset()
    for ask in asked:
        yield ask - held
        if kept != "none":
            held = held | ask if kept == "all" else ask


def keeps_rows(fused: Mapping, arch: Architecture, path: OperationPath, place: Place) -> bool:
    """Whether a node that stands below a shared loop keeps what the next step of the loop reads again."""
    exchange = exchange_of(fused, path)
    above = [at for at, item in fused.above(*exchange) if isinstance(item, Loop) and item.trips > 1]
    return _halo(fused, arch, exchange) != "none" and above[-1:] == [place] and place[0] == exchange[0]


def _check_cover(path: OperationPath, dim: str, most: int) -> None:
    """The branch's loops over a dimension cover what a visit makes of it at most."""
    own = [loop.trips for loop in own_loops(path) if loop.dim == dim and loop.trips > 1]
    inner = math.prod(own[1:])
    needed, found = ceil_div(most, inner), own[0] if own else 1
    if needed != found:
        shown = " x ".join(map(str, own)) or "no loop"
        raise MappingError(
            f"a visit makes up to {most} positions of {path.operation.output.name} along {dim}, and the branch's loops "
            f"over it are {shown}",
            where=path.operation.name,
            hint=f"the outermost of them must have {needed} trips, since those inside cover {inner}",
        )


def _check_consumers(fused: Mapping, arch: Architecture, name: str, found: Windows) -> None:
    """What is made is what one of the consumers asks for, and nothing that slides back over it is kept."""
    path = fused.paths[name]
    tensor = path.operation.output.name
    consumers = fused.cascade.consumers[tensor]
    for made in found[name].values():
        rank = plain_rank(path.operation, tensor, _dim_at(fused, name, made.place))
        assert rank is not None
        if len(consumers) > 1:
            asks = {tuple(_asked(fused, c, tensor, rank, made.place, found)) for c in consumers}
            if len(asks) > 1:
                raise _refuse(path, "they ask for different positions")
        exchange = exchange_of(fused, path)
        outer = any(other.place < made.place for other in found[name].values())
        exact = _halo(fused, arch, exchange) == "exact"
        if exact and outer and made.place < exchange and made.asked[0] & made.asked[-1]:
            raise _refuse(path, "a step of an outer window would find rows of the last one")


def _halo(fused: Mapping, arch: Architecture, place: Place) -> str:
    node = fused.item(place)
    assert isinstance(node, Node)
    memory = arch.level(node.memory)
    assert isinstance(memory, Memory)
    return "none" if isinstance(node, Renews) else memory.halo


def _dim_at(fused: Mapping, name: str, place: Place) -> str:
    item = fused.item(place)
    assert isinstance(item, Loop)
    return loop_of(item, name).dim


def own_loops(path: OperationPath) -> list[Loop]:
    """The loops inside an operation's branch."""
    return [item for item in path.mapping.nest.items[path.starts[-1] :] if isinstance(item, Loop)]
