"""What the operations below a node ask it for, where several use it: the tile that it holds is the union.

Along a rank that loops above the node cut, all ask alike. Along another rank each may read in its own way (p + r, p,
2 * p), with zeros around: positions are numbered as the tensor has them, zeros before the first are negative.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Hashable, Iterable, Sequence
from collections.abc import Mapping as MappingABC

from ...arch import Architecture, Footprint
from ...ir import Loop, Mapping, MappingError, Node, Operation, OperationPath, Place

Positions = frozenset[int]


def readers_of(fused: Mapping, place: Place) -> list[OperationPath]:
    """The operations that read the tile of a node, in the order in which they are done; those that fill from it, or
    from nodes further in."""
    item = fused.item(place)
    assert isinstance(item, Node)
    producer = fused.cascade.producers.get(item.tensor)
    return [path for path in fused.paths.values() if place in path.places and path.operation is not producer]


def widest(readers: Sequence[OperationPath], node: Node, place: Place, footprint: Footprint) -> OperationPath:
    """Of some readers the one that asks for all that the others ask for.

    Raises MappingError where there is none: unions are not counted yet.
    """
    first = readers[0]
    asks = {reader.operation.name: _asks(reader, node.tensor, place) for reader in readers}
    if len(set(asks.values())) == 1:
        return first
    for reader in readers:
        mine = asks[reader.operation.name]
        if all(includes(mine, asks[other.operation.name], footprint) for other in readers):
            return reader
    names = ", ".join(asks)
    raise MappingError(
        f"'{node}' stands above {names}, none of which asks it for all of {node.tensor} that the others ask for: "
        "not counted yet",
        hint=f"give each of them a node of its own in {node.memory}",
    )


Ask = tuple[tuple[tuple[int, int, tuple[Hashable, ...]], ...], int]
"""Of one rank, each dimension's coefficient, size and loops above the node; and the zeros before it."""


def _asks(path: OperationPath, tensor: str, place: Place) -> tuple[Ask, ...]:
    position = path.places.index(place)
    above = [
        (path.places[i], item.dim)
        for i, item in enumerate(path.mapping.nest.items[:position])
        if isinstance(item, Loop) and item.trips > 1
    ]
    problem = path.operation.problem
    found = []
    for i, rank in enumerate(problem.tensor(tensor).ranks):
        terms = [
            (coefficient, problem.sizes[dim], tuple(at for at, loop in above if loop == dim))
            for dim, coefficient in rank
            if problem.sizes[dim] > 1
        ]
        found.append((tuple(sorted(terms)), path.operation.pad(tensor, i)[0]))
    return tuple(found)


def includes(one: tuple[Ask, ...], other: tuple[Ask, ...], footprint: Footprint) -> bool:
    """Whether one reader asks for all that another one asks for, by rank, whatever the loops above are at."""
    for mine, yours in zip(one, other, strict=True):
        if mine == yours:
            continue
        if any(loops for terms, _ in (mine, yours) for _, _, loops in terms):
            return False
        if not _positions(yours, footprint) <= _positions(mine, footprint):
            return False
    return True


def _positions(ask: Ask, footprint: Footprint = "exact") -> Positions:
    terms, before = ask
    reached = {-before}
    for coefficient, size, _ in terms:
        reached = {first + coefficient * i for first in reached for i in range(size)}
    return frozenset(range(min(reached), max(reached) + 1) if footprint == "box" else reached)


def exchanged_words(fused: Mapping, place: Place, arch: Architecture, spans: MappingABC[str, int]) -> int:
    """Words of an intermediate's tile at the node where it is exchanged, or passes outwards: what the producer makes
    and a consumer reads, and the zeros that consumers read around it.

    spans  positions of the ranks that consumers read through windows, by the producer's dimension
    """
    node = fused.item(place)
    assert isinstance(node, Node)
    producer = fused.paths[fused.cascade.producers[node.tensor].name]
    readers = [path.operation for path in readers_of(fused, place)]
    below = producer.mapping.nest.items[producer.places.index(place) :]
    tile = {
        dim: spans[dim] if dim in spans else math.prod(i.trips for i in below if isinstance(i, Loop) and i.dim == dim)
        for ((dim, _),) in producer.operation.output.ranks
    }
    return words_exchanged(producer.operation, readers, tile, frozenset(spans), arch.footprint)


def words_exchanged(
    producer: Operation,
    readers: Sequence[Operation],
    tile: MappingABC[str, int],
    windowed: frozenset[str],
    footprint: Footprint,
) -> int:
    """Words of an intermediate's tile, of what its producer makes in a visit and some operations read.

    tile      positions along each of the producer's dimensions
    windowed  those of them that shared loops step over and readers see through windows
    """
    words, uncut = 1, []
    for i, ((dim, _),) in enumerate(producer.output.ranks):
        size = producer.problem.sizes[dim]
        asks = [_whole_ask(reader, producer.output.name, i) for reader in readers]
        if dim in windowed:
            words *= tile[dim]
        elif tile[dim] < size or all(_is_plain(ask, size) for ask in asks):
            words *= min(tile[dim], size)
        else:
            uncut.append([_positions(ask, footprint) for ask in asks])
    return words * _union(list(zip(*uncut, strict=True))) if uncut else words


def reads_all(reader: Operation, tensor: str, extents: Sequence[int], windowed: Collection[int] = ()) -> bool:
    """Whether an operation reads every position of a tensor, along all ranks but some."""
    asks = [(_whole_ask(reader, tensor, i), extent) for i, extent in enumerate(extents) if i not in windowed]
    return all(_is_plain(ask, extent) or set(range(extent)) <= _positions(ask) for ask, extent in asks)


def reads_plainly(reader: Operation, tensor: str, extents: Sequence[int]) -> bool:
    """Whether an operation reads a tensor as it was written: without windows, and without zeros around it."""
    return all(_is_plain(_whole_ask(reader, tensor, i), extent) for i, extent in enumerate(extents))


def _whole_ask(reader: Operation, tensor: str, rank: int) -> Ask:
    """What an operation asks of a rank that no loop above cuts."""
    sizes = reader.problem.sizes
    terms = [(step, sizes[dim], ()) for dim, step in reader.problem.tensor(tensor).ranks[rank] if sizes[dim] > 1]
    return tuple(sorted(terms)), reader.pad(tensor, rank)[0]


def _is_plain(ask: Ask, extent: int) -> bool:
    """Whether a rank is read as it was written: seen without looking at every position."""
    terms, before = ask
    sizes = [(coefficient, size) for coefficient, size, _ in terms]
    return before == 0 and sizes == ([(1, extent)] if extent > 1 else [])


def _union(boxes: Sequence[Sequence[Positions]]) -> int:
    """Points of a union of products of sets, by inclusion and exclusion."""
    total = 0
    for number in range(1, len(boxes) + 1):
        for chosen in itertools.combinations(boxes, number):
            common = math.prod(len(frozenset.intersection(*sets)) for sets in zip(*chosen, strict=True))
            total += common if number % 2 else -common
    return total


def check_asks(fused: Mapping, arch: Architecture) -> None:
    """MappingError for what operations ask of common nodes and cannot be counted yet."""
    for address, tree in fused.tree.walk():
        for position, item in enumerate(tree.items):
            place = address, position
            if not isinstance(item, Node):
                continue
            readers = readers_of(fused, place)
            producer = fused.cascade.producers.get(item.tensor)
            if producer is not None and place in fused.paths[producer.name].places:
                _check_exchange(fused, place, item, readers, arch)
            elif len(readers) > 1:
                widest(readers, item, place, arch.footprint)


def _check_exchange(
    fused: Mapping, place: Place, node: Node, readers: Iterable[OperationPath], arch: Architecture
) -> None:
    extents, producer = fused.cascade.extents(node.tensor), fused.cascade.producers[node.tensor]
    readers = list(readers)
    windowed = [i for i, ((dim, _),) in enumerate(producer.output.ranks) if dim in fused.windows(producer.name)]
    for reader in readers:
        for i, ask in enumerate(_asks(reader, node.tensor, place)):
            cut = any(loops for _, _, loops in ask[0])
            if i not in windowed and cut and any(reader.operation.pad(node.tensor, i)):
                message = f"{reader.operation.name} reads zeros along a rank of {node.tensor} that shared loops cut"
                raise MappingError(f"{message}: not counted yet")
    whole = any(reads_all(reader.operation, node.tensor, extents, windowed) for reader in readers)
    if readers and not whole and node.memory != arch.memories[0].name:
        raise MappingError(
            f"no operation reads all of {node.tensor}, and '{node}' would hold a part of it: not counted yet",
            hint=f"keep {node.tensor} in {arch.memories[0].name} between these operations",
        )
