"""What every memory holds while each operation of a cascade works, and whether it fits.

In the branch of an operation these take room: nodes above it that are not intermediates; intermediates that are live in
it; its own nodes. An intermediate is live from the branch that writes it (of generations, the first that reads one) to
the last that reads it; in the whole of a sub-tree that reads it; and in all branches below, if a shared loop stands
between its node and the split, or the node carries generations from step to step, since the next step finds it in use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...arch import Architecture, Memory
from ...ir import Loop, Mapping, MappingError, Node, Operation, OperationPath, Place, Role, Tree
from ..closed_form import Nest, arriving_sums
from ..cost import Held, Occupancy, Part, capacity_parts, held_width_bits, tile_words
from .asks import exchanged_words, widest
from .visits import largest_visit, whole_mapping
from .ways import Way
from .windows import exchange_of, keeps_rows


def occupancy(
    fused: Mapping, arch: Architecture, ways: dict[str, Way], stays: frozenset[str] = frozenset()
) -> Occupancy:
    """All tiles that are held in the branch of each operation, in every memory.

    ways   of this tree on this architecture
    stays  tensors that stay where their second node is before or after the run, as an intermediate of a larger tree
    """
    held: dict[str, list[Held]] = {name: [] for name in fused.leaves}
    for address, tree in fused.tree.walk():
        for position, item in enumerate(tree.items):
            if isinstance(item, Node):
                place = address, position
                for name in live_in(fused, place, keeps_rows=_keeps_rows(fused, arch, ways, place)):
                    stay = item.tensor in stays and not address and item.memory != arch.memories[0].name
                    held[name].append(_held(fused, arch, ways, place, item, name, stay))
    return {name: tuple(sorted(tiles, key=lambda tile: tile.place)) for name, tiles in held.items()}


def check_capacity(occupied: Occupancy, arch: Architecture) -> None:
    """MappingError for the first memory that is too small, with the operation, the tiles and the room."""
    for name, tiles in occupied.items():
        for memory in arch.memories:
            for part in capacity_parts(memory):
                bits = {tile.tensor: tile.bits for tile in tiles_in(tiles, part)}
                needed = sum(bits.values())
                if needed > part.bits:
                    largest = max(bits, key=bits.__getitem__)
                    raise MappingError(
                        f"while {name} works, tiles of {', '.join(bits)} need {needed / 8:,.10g} B, "
                        f"capacity is {part.bits / 8:,.10g} B",
                        where=memory.name,
                        hint=f"{largest} takes {bits[largest] / 8:,.10g} B: tile it smaller, or keep it further out",
                    )


def tiles_in(tiles: Iterable[Held], part: Part) -> Iterator[Held]:
    """The tiles that take room in one part of a memory."""
    return (tile for tile in tiles if tile.memory == part.memory.name and tile.role in part.roles)


# ---- when --------------------------------------------------------------------------------------------------


def live_in(fused: Mapping, place: Place, *, keeps_rows: bool = False) -> list[str]:
    """The operations during which a node's tile takes room.

    keeps_rows  whether it keeps rows of an intermediate from one visit to the next
    """
    address, position = place
    tree = fused.tree.at(address)
    if keeps_rows or not is_exchanged(fused, place) or _steps(tree.items[position + 1 :]) or _carries(fused, place):
        return list(tree.leaves())
    tensor = _node(fused, place).tensor
    consumers = (consumer.name for consumer in fused.cascade.consumers[tensor])
    users = {name for name in consumers if fused.exchange(tensor, name) == place}
    users.add(fused.cascade.producers[tensor].name)
    first = next(name for name in fused.leaves if name in users)
    return _lifetime(tree, first, users, to_the_end=False)


def _carries(fused: Mapping, place: Place) -> bool:
    """Whether a node carries generations from one step to the next: it stands below the loop that steps."""
    path = fused.paths[fused.cascade.producers[_node(fused, place).tensor].name]
    loops = (
        (at, item) for at, item in zip(path.places, path.mapping.nest.items, strict=True) if isinstance(item, Loop)
    )
    return any(at < place and loop.trips > 1 and loop.dim == path.operation.iterates for at, loop in loops)


def _keeps_rows(fused: Mapping, arch: Architecture, ways: dict[str, Way], place: Place) -> bool:
    windowed = (way for way in ways.values() if way.made and exchange_of(fused, way.path) == place)
    return any(keeps_rows(fused, arch, way.path, made.place) for way in windowed for made in way.made.values())


def is_exchanged(fused: Mapping, place: Place) -> bool:
    """Whether a node holds an intermediate that one of the branches below it writes."""
    tensor = _node(fused, place).tensor
    below = fused.tree.at(place[0])
    return (
        tensor in fused.cascade.intermediates
        and bool(below.branches)
        and (fused.cascade.producers[tensor].name in below.leaves())
    )


def _lifetime(tree: Tree, writer: str, readers: set[str], *, to_the_end: bool) -> list[str]:
    """The leaves from the one that writes to the last that reads, or to the end of the tree."""
    if not tree.branches:
        return [tree.operation]
    names = [list(branch.leaves()) for branch in tree.branches]
    first = next(i for i, below in enumerate(names) if writer in below)
    last = max((i for i, below in enumerate(names) if readers & set(below)), default=first)
    last = len(names) - 1 if to_the_end else max(first, last)
    branch = tree.branches[first]
    if _steps(branch.items) and branch.branches:
        found = names[first]
    else:
        found = _lifetime(branch, writer, readers, to_the_end=to_the_end or last > first)
    return found + [name for below in names[first + 1 : last + 1] for name in below]


def _steps(items: Iterable[Loop | Node]) -> bool:
    return any(isinstance(item, Loop) and item.trips > 1 and not item.is_spatial for item in items)


# ---- how much ----------------------------------------------------------------------------------------------


def _held(
    fused: Mapping, arch: Architecture, ways: dict[str, Way], place: Place, node: Node, operation: str, stay: bool
) -> Held:
    users = [path for path in fused.paths.values() if place in path.places]
    exchanged = is_exchanged(fused, place)
    memory = next(memory for memory in arch.memories if memory.name == node.memory)
    words = _words(fused, arch, ways, place, node, users)
    roles = {path.operation.name: path.operation.problem.tensor(node.tensor).role for path in users}
    doubles = memory.double_buffered and not stay
    copies = 2 if doubles and _is_doubled(fused, arch, place, users[0], exchanged) else 1
    return Held(
        place=place,
        memory=node.memory,
        tensor=node.tensor,
        words=words,
        bits=copies * words * _width(fused, arch, ways, place, memory, operation, exchanged or stay),
        role=roles.get(operation) or _role_of_larger_part(memory, roles.values()),
        is_shared=bool(fused.tree.at(place[0]).branches),
        is_intermediate=exchanged,
    )


def _words(
    fused: Mapping, arch: Architecture, ways: dict[str, Way], place: Place, node: Node, users: list[OperationPath]
) -> int:
    """Words of a tile: all that the operations below ask for."""
    user = users[0]
    if any(path.operation.output.name == node.tensor for path in users):
        if is_exchanged(fused, place):
            made = ways[fused.cascade.producers[node.tensor].name].made
            return exchanged_words(fused, place, arch, {dim: m.span for dim, m in made.items()})
    else:
        user = widest(users, node, place, arch.footprint)
    mapping, made = user.mapping, ways[user.operation.name].made
    if made:
        is_own = user.places.index(place) >= user.starts[-1]
        mapping = largest_visit(user, made) if is_own else whole_mapping(user, node.tensor)
    return tile_words(mapping, arch.footprint)[node.memory, node.tensor]


def _width(
    fused: Mapping,
    arch: Architecture,
    ways: dict[str, Way],
    place: Place,
    memory: Memory,
    operation: str,
    exchanged: bool,
) -> int:
    """Bits of a word: of an intermediate those of partial sums only while its producer adds to them there, and while
    other operations work in the meantime."""
    tensor = _node(fused, place).tensor
    users = [path for path in fused.paths.values() if place in path.places]
    producer = fused.cascade.producers.get(tensor)
    if producer is None or all(path.operation is not producer for path in users):
        return arch.width_bits(users[0].operation.problem.tensor(tensor))
    output = producer.output
    if not exchanged:
        return held_width_bits(arch, memory, output)
    adds = operation == producer.name or _go_on(fused, producer, operation)
    wide = adds and _is_unfinished(ways[producer.name], arch, place)
    return arch.partial_width_bits(output) if wide else arch.width_bits(output)


def _go_on(fused: Mapping, producer: Operation, operation: str) -> bool:
    """Whether a loop above both operations goes over what one of them sums: its sums are unfinished from visit to
    visit, while the other one works. Not what iterates: of its generations each is finished where the next begins."""
    if producer.iterates is not None:
        return False
    path, address = fused.paths[producer.name], fused.paths[operation].places[-1][0]
    loops = (
        (at, item) for at, item in zip(path.places, path.mapping.nest.items, strict=True) if isinstance(item, Loop)
    )
    return any(
        loop.trips > 1 and not loop.is_spatial and loop.dim in producer.reduced_dims and address[: len(at)] == at
        for (at, _), loop in loops
    )


def _is_unfinished(way: Way, arch: Architecture, place: Place) -> bool:
    """Whether words of the output arrive at a node more than once."""
    nest = Nest.of(way.mapping, arch, way.path.starts)
    boundary = next(b for b in way.boundaries if b.tensor.is_output and way.place(b.outer_position) == place)
    arrivals, first = arriving_sums(nest, boundary)
    return arrivals > first


def _is_doubled(fused: Mapping, arch: Architecture, place: Place, path: OperationPath, exchanged: bool) -> bool:
    """Whether a double-buffered memory has two copies: of a branch's own tiles, and of those that move with shared
    loops; of an intermediate only where operations overlap."""
    if not fused.tree.at(place[0]).branches:
        return True
    position = path.places.index(place)
    tensor = path.operation.problem.tensor(_node(fused, place).tensor)
    serving = Nest.of(path.mapping, arch, path.starts).innermost_serving(tensor, position)
    return serving >= 0 and (not exchanged or arch.overlap == "across_operations")


def _role_of_larger_part(memory: Memory, roles: Iterable[Role]) -> Role:
    """Where a tile lies while an operation works that does not use it."""
    room = {role: next((p.bits for p in capacity_parts(memory) if role in p.roles), 0) for role in roles}
    return max(room, key=room.__getitem__)


def _node(fused: Mapping, place: Place) -> Node:
    item = fused.item(place)
    assert isinstance(item, Node)
    return item
