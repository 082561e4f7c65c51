"""From a fused mapping to a scalar program (`loop_program.py`) whose loops hold branches, one after the other.

Every operation is lowered along its way through the tree as a mapping of its own (`lowering.py`); what stands above a
split is made once, by the operation that fills it. Three things differ. A copy inside a branch is made at every visit
of the branch. An intermediate begins where its tile changes, is filled by its producer, and leaves only if a node
further out keeps it as well. And an array is indexed by the position in the tensor itself, not by a reader's: readers
may see zeros around it, or have other dimensions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ...arch import Architecture
from ...cost_models.cascades import fillers_of, home_of, ways_of, without_transfers
from ...ir import Cascade, FusedMapping, Loop, MappingError, Node, Pad, Place, Tensor
from .bands import with_better_bands
from .loop_program import (
    Access,
    Affine,
    Allocate,
    Array,
    Begin,
    Compute,
    Drain,
    Fill,
    Finish,
    Index,
    Statement,
    TensorFinish,
    Variable,
    Zero,
)
from .tree_operation import OperationLowering
from .tree_scalar_program import TreeProgram, WholeLying
from .tree_windows import TreeWindows


@dataclass(frozen=True)
class _Tile:
    """What a node holds: an array, whose element 0 is at `base`, per rank a position in the tensor."""

    array: Array
    base: Index


@dataclass
class _Around:
    """Statements just before a place of the tree, and after all that follows it there."""

    before: list[Statement] = field(default_factory=list)
    after: list[Statement] = field(default_factory=list)


class TreeLowering:
    """Arrays of all nodes, and the statements around them.

    with_margins  whether the caller gives inputs with the zeros around them that readers see (`margins_of`), or
                  the program puts zeros there where it reads them
    finishes      of tensors that operations write, what is done with their words
    lying         of tensors that are on chip before the run, or are left there, in their second node, how they lie

    Raises MappingError for trees whose programs cannot be written yet.
    """

    def __init__(
        self,
        fused: FusedMapping,
        arch: Architecture,
        *,
        with_margins: bool = False,
        finishes: Mapping[str, TensorFinish] | None = None,
        lying: Mapping[str, WholeLying] | None = None,
    ) -> None:
        self.with_margins, self.finishes, self.lying = with_margins, finishes or {}, lying or {}
        self.fused, self.outermost = fused, arch.memories[0].name
        self.ways = {name: without_transfers(way, arch, self.lying) for name, way in ways_of(fused, arch).items()}
        variables: dict[Place, Variable] = {}
        numbers: Counter[str] = Counter()
        self.of = {name: OperationLowering(way, variables, numbers) for name, way in self.ways.items()}
        self.windows = TreeWindows(fused, arch, self.of)
        self.owners = dict(self._owners())
        self.tiles = {place: self._tile(place, *owner) for place, owner in self.owners.items()}
        self.around: dict[Place, _Around] = {}
        self.begun: dict[str, Statement] = {}
        for place, (name, position) in sorted(self.owners.items(), key=lambda each: each[1][1]):
            self._copies(place, self.of[name], position)

    def _refused(self, why: str) -> MappingError:
        return MappingError(why, where=self.fused.cascade.name)

    def _owners(self) -> Iterator[tuple[Place, tuple[str, int]]]:
        """For every node of the tree the operation that fills or drains it, and the node's position on its way."""
        producers = self.fused.cascade.producers
        fillers = fillers_of(self.ways)
        users: dict[Place, list[tuple[str, int]]] = {}
        self.homes: set[Place] = set()
        for name, way in self.ways.items():
            homes = {t.name: home_of(way.mapping, t.name, self.lying) for t in way.mapping.problem.tensors}
            self.homes |= {way.place(home) for home in homes.values()}
            for position, item in enumerate(way.mapping.nest.items):
                if isinstance(item, Node) and position >= homes[item.tensor]:
                    users.setdefault(way.place(position), []).append((name, position))
        self.users = users
        for place, found in users.items():
            node = self.fused.item(place)
            assert isinstance(node, Node)
            writer = producers[node.tensor].name if node.tensor in producers else ""
            mine = [user for user in found if user[0] == writer]
            yield place, (mine or [fillers.get(place, found[0])])[0]

    # ---- arrays --------------------------------------------------------------------------------------------

    def _tensor(self, place: Place, name: str) -> Tensor:
        node = self.fused.item(place)
        assert isinstance(node, Node)
        return self.of[name].problem.tensor(node.tensor)

    def _is_whole(self, place: Place) -> bool:
        """Whether a node holds a whole tensor of the caller, or an intermediate in the outermost memory."""
        node = self.fused.item(place)
        assert isinstance(node, Node)
        return node.memory == self.outermost or (node.tensor in self.lying and place in self.homes)

    def _tile(self, place: Place, name: str, position: int) -> _Tile:
        owner, tensor = self.of[name], self._tensor(place, name)
        if self._is_whole(place):
            return self._whole(owner, tensor, position)
        home = owner.home(tensor, position)
        array = owner.array(tensor, position, home)
        number = list(self.owners).index(place)  # equal nodes of two branches are two arrays
        array = replace(array, shape=owner.spans(tensor, home), steps=(1,) * len(tensor.ranks), position=number)
        if tensor.name not in self.fused.cascade.intermediates:
            return _Tile(array, owner.base(tensor, home))
        return self._union(array, place, owner, home)

    def _whole(self, owner: OperationLowering, tensor: Tensor, position: int) -> _Tile:
        """A whole tensor, with the zeros around it that readers see; one that stays as it lies there."""
        cascade, stays = self.fused.cascade, self.lying.get(tensor.name)
        if stays is not None:
            array = replace(owner.array(tensor, position, None), shape=stays.made, steps=(1,) * len(stays.made))
            return _Tile(replace(array, edges=stays.edges), tuple(map(Affine.of, stays.first)))
        array = replace(owner.array(tensor, position, None), is_local=tensor.name in cascade.intermediates)
        margins = margins_of(cascade, tensor.name)
        if not array.is_local and not self.with_margins:
            edges = frozenset(axis for axis, zeros in enumerate(margins) if any(zeros))
            shape = cascade.extents(tensor.name)
            array = replace(array, shape=shape, steps=(1,) * len(shape), edges=edges)
            return _Tile(array, (Affine(),) * len(shape))
        base = tuple(Affine.of(-before) for before, _ in margins)
        shape = tuple(n + sum(zeros) for n, zeros in zip(cascade.extents(tensor.name), margins, strict=True))
        return _Tile(replace(array, shape=shape, steps=(1,) * len(shape)), base)

    def _union(self, array: Array, place: Place, owner: OperationLowering, at: int) -> _Tile:
        """The array of an intermediate that its producer or reader, the owner, fills inside the loops above a position,
        with the zeros around the tile that readers see. Along what slides it begins with what is asked for first."""
        base = owner.base(owner.problem.tensor(array.tensor.name), at)
        ends = [b + Affine.of(n) for b, n in zip(base, array.shape, strict=True)]
        low, high = list(base), list(ends)
        sliding = self.windows.sliding(place, owner)
        for name, _ in self.users[place]:
            reader, tensor = self.of[name], self._tensor(place, name)
            if tensor.is_output:
                continue
            home = reader.position(owner.way.place(at))
            theirs = reader.base(tensor, home)
            for i, (begin, span) in enumerate(zip(theirs, reader.spans(tensor, home), strict=True)):
                if i in sliding:
                    continue
                less, more = begin - base[i], begin + Affine.of(span) - ends[i]
                if less.terms or more.terms:
                    raise self._refused(f"{array.tensor.name} is read by other steps than it is written")
                low[i] = begin if (begin - low[i]).constant < 0 else low[i]
                end = begin + Affine.of(span)
                high[i] = end if (end - high[i]).constant > 0 else high[i]
        for i, step in sliding.items():
            low[i] = Affine.of(owner.looked_up(step, "asked"))
            high[i] = low[i] + Affine.of(owner.way.made[step.dim].span)
        shape = tuple((h - b).constant for h, b in zip(high, low, strict=True))
        return _Tile(replace(array, shape=shape), tuple(low))

    def access(self, owner: OperationLowering, tensor: Tensor, tile: _Tile, place: int) -> Index:
        """Where in the array of a node that is which is inside the loops above a place."""
        return tuple(at - base for at, base in zip(owner.base(tensor, place), tile.base, strict=True))

    # ---- statements ----------------------------------------------------------------------------------------

    def _copies(self, place: Place, owner: OperationLowering, position: int) -> None:
        """What is done where the tile of a node changes."""
        tensor, tile = self._tensor(place, owner.operation.name), self.tiles[place]
        local, home = tile.array.is_local, 0 if self._is_whole(place) else owner.home(tensor, position)
        around = self.around.setdefault(owner.way.place(home), _Around())
        if tensor.is_output and self.windows.are_seen(place, owner):
            self._renewed(place, owner, around)
            return
        if local:
            around.before.append(Allocate(tile.array))
        inside = self.access(owner, tensor, tile, home)
        extents = owner.extents(tile.array, home)
        if tensor.is_output and not owner.operation.iterates:
            self._begin(owner, tile, inside, extents, around)
        outer = self._outer(owner, tensor, position)
        if outer is None:
            if owner.operation.start is not None and tensor.is_output:
                around.before.append(Begin(tile.array, inside, extents, owner.operation.start))
            return
        at = self.access(owner, tensor, outer, home)
        if tensor.is_output:
            if any(index != Affine() for index in inside):
                raise self._refused(f"{tensor.name} leaves with zeros around it")
            around.after.insert(0, Drain(tile.array, outer.array, at, extents))
        if not tensor.is_output or owner.operation.iterates:
            around.before.append(Fill(tile.array, outer.array, at, extents, (1,) * len(at)))

    def _begin(self, owner: OperationLowering, tile: _Tile, inside: Index, extents: Index, around: _Around) -> None:
        """What a tile of sums or maxima begins with; zeros around maxima stay zeros."""
        is_maximum, whole = owner.operation.reduction == "max", tuple(map(Affine.of, tile.array.shape))
        if not is_maximum or extents != whole:
            around.before.append(Zero(tile.array, whole))
        if is_maximum:
            around.before.append(Begin(tile.array, inside, extents, -math.inf))

    def _renewed(self, place: Place, owner: OperationLowering, around: _Around) -> None:
        """What is done where readers see what visits make through windows. Rows that the node keeps move up, and each
        visit begins with nothing where it makes something."""
        output, array = owner.problem.output, self.tiles[place].array
        kept = self.windows.kept(place, owner)
        if kept is not None:
            self.around.setdefault(owner.way.place(kept.position), _Around()).before.append(Allocate(array))
            around.before.append(self.windows.moved_up(array, owner, kept))
        else:
            around.before += [Allocate(array), Zero(array, tuple(map(Affine.of, array.shape)))]
        begun = owner.way.path.starts[-1]
        at, extents = self.access(owner, output, self.tiles[place], begun), owner.extents(array, begun)
        is_maximum = owner.operation.reduction == "max"
        self.begun[owner.operation.name] = (
            Begin(array, at, extents, -math.inf) if is_maximum else Zero(array, extents, at)
        )

    def _outer(self, owner: OperationLowering, tensor: Tensor, position: int) -> _Tile | None:
        """The next node of a tensor further out on an operation's way."""
        home = home_of(owner.way.mapping, tensor.name, self.lying)
        outwards = [p for p in owner.nest.node_positions(tensor.name) if home <= p < position]
        return self.tiles[owner.way.place(outwards[-1])] if outwards else None

    def _points(self, owner: OperationLowering) -> Compute:
        end = len(owner.nest.items)
        accesses = []
        for tensor in (*owner.problem.operands, owner.problem.output):
            tile = self.tiles[owner.way.place(owner.nest.node_positions(tensor.name)[-1])]
            accesses.append(Access(tile.array, self.access(owner, tensor, tile, end)))
        return Compute(owner.operation, accesses[-1], tuple(accesses[:-1]))

    # ---- the program ---------------------------------------------------------------------------------------

    def program(self) -> TreeProgram:
        """From the tree's items, and what is done just before each of them."""
        cascade = self.fused.cascade
        whole = {tile.array.tensor.name: tile.array for tile in self.tiles.values() if not tile.array.is_local}
        inputs = tuple(whole[name] for name in cascade.tensors if name not in cascade.producers)
        outputs = tuple(whole[op.output.name] for op in cascade if op.output.name in whole)
        if not outputs:
            raise self._refused("every tensor that it writes is read by one of its operations: it hands out nothing")
        places = {tile.array: place for place, tile in self.tiles.items() if tile.array.is_local}
        last = tuple(
            Finish(array, start, tuple(map(Affine.of, array.shape)), start, self.finishes[array.tensor.name])
            for array in outputs
            if array.tensor.name in self.finishes
            for start in [(Affine(),) * len(array.shape)]
        )
        body, packed = with_better_bands((*self._body((), 0), *last))
        places = {packed.get(array, array): place for array, place in places.items()}
        return TreeProgram(cascade, inputs, outputs, body, places)

    def _body(self, address: tuple[int, ...], number: int) -> tuple[Statement, ...]:
        tree = self.fused.tree.at(address)
        around = self.around.get((address, number), _Around())
        if number < len(tree.items):
            inner = self._item((address, number), self._body(address, number + 1))
        elif tree.branches:
            inner = tuple(each for i in range(len(tree.branches)) for each in self._branch((*address, i)))
        else:
            assert tree.operation is not None
            inner = (self._points(self.of[tree.operation]),)
        return (*around.before, *inner, *around.after)

    def _branch(self, address: tuple[int, ...]) -> tuple[Statement, ...]:
        body = (*self._body(address, 0), *self._finished(address))
        operation = self.fused.tree.at(address).operation
        if operation not in self.begun:
            return body
        return self.of[operation].visit((self.begun[operation], *body))

    def _finished(self, branch: tuple[int, ...]) -> Iterator[Statement]:
        """What is done with the words of intermediates that are complete behind a branch: those that pass from it to
        another one. Of a tile of which each visit makes a part, it is that part."""
        cascade, leaves = self.fused.cascade, set(self.fused.tree.at(branch).leaves())
        for tensor, finish in self.finishes.items():
            producer = cascade.producers[tensor]
            if not cascade.consumers[tensor] or producer.name not in leaves:
                continue
            exchanges = [self.fused.exchange(tensor, reader.name) for reader in cascade.consumers[tensor]]
            place = max(exchanges, key=lambda one: (len(one[0]), one[1]))
            # The tile may be kept further out than where the first reader's branch parts from the producer's.
            parts = [self.fused.split_of(producer.name, reader.name) for reader in cascade.consumers[tensor]]
            if max(parts, key=len) == branch[:-1]:
                owner, tile = self.of[producer.name], self.tiles[place]
                at = owner.position((branch, 0))
                first = self.access(owner, producer.output, tile, at)
                position = owner.base(producer.output, at)
                yield Finish(tile.array, first, owner.extents(tile.array, at), position, finish)

    def _item(self, place: Place, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """A loop around a body; nodes are in the statements around places."""
        item = self.fused.item(place)
        if not isinstance(item, Loop) or item.trips == 1:
            return body
        owner, step = self.windows.stepping(place)
        return (owner.loop(step, (*self.windows.looked_up(place), *body)),)


def margins_of(cascade: Cascade, tensor: str) -> tuple[Pad, ...]:
    """The most zeros that any reader sees before and after each rank of a tensor."""
    readers = cascade.consumers[tensor]
    pads = [[reader.pad(tensor, i) for reader in readers] for i in range(len(cascade.extents(tensor)))]
    return tuple(
        (max((low for low, _ in rank), default=0), max((high for _, high in rank), default=0)) for rank in pads
    )


def lower_tree(
    fused: FusedMapping,
    arch: Architecture,
    *,
    with_margins: bool = False,
    finishes: Mapping[str, TensorFinish] | None = None,
    lying: Mapping[str, WholeLying] | None = None,
) -> TreeProgram:
    """The scalar program of a fused mapping.

    with_margins  whether the caller gives inputs with the zeros around them that readers see (`margins_of`), or
                  the program puts zeros there where it reads them
    finishes      of tensors that operations write, what is done with their words once they are complete
    lying         of tensors that are on chip before the run, or are left there, in their second node, how they lie

    Raises MappingError when a node or loop stands where the architecture has no place for it, and for trees whose
    programs cannot be written yet.
    """
    return TreeLowering(fused, arch, with_margins=with_margins, finishes=finishes, lying=lying).program()
