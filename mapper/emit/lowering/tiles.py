"""The arrays of a program: what every node holds, and where in the tensor its first word is.

An array is indexed by the position in the tensor itself, not by a reader's: readers may see zeros around it, or have
other dimensions.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, replace

from ....arch import Architecture
from ....cost_models.cascades import fillers_of, home_of
from ....cost_models.cascades.windows import exchange_of, keeps_rows, table_of_visits
from ....ir import Cascade, Mapping, MappingError, Node, Pad, Place, Tensor
from ..parts.steps import Step
from ..parts.trees import ways_through
from .loop_program import Affine, Array, Index, LookUp, MoveUp, Statement, Variable, WholeLying
from .operation import OperationLowering, Orders


@dataclass(frozen=True)
class NodeTile:
    """What a node holds: an array, whose element 0 is at `base`, per rank a position in the tensor."""

    array: Array
    base: Index


class TreeTiles:
    """Arrays of all nodes of a tree.

    with_margins  whether the caller gives inputs with the zeros around them that readers see (`margins_of`), or
                  the program puts zeros there where it reads them
    lying         of tensors that are on chip before the run, or are left there, in their second node, how they lie
    copied        the nodes that are arrays of their own; None: all. What is left out is read and written where the
                  next node outwards has it; nodes in which operations pass an intermediate are arrays everywhere
    orders        of axes, where they are stated

    Raises MappingError for trees whose programs cannot be written yet.
    """

    def __init__(
        self,
        fused: Mapping,
        arch: Architecture,
        *,
        with_margins: bool,
        lying: MappingABC[str, WholeLying],
        copied: frozenset[Node] | None,
        orders: Orders,
    ) -> None:
        self.with_margins, self.lying, self.copied = with_margins, lying, copied
        self.fused, self.outermost = fused, arch.memories[0].name
        self.ways = ways_through(fused, arch, self.lying)
        variables: dict[Place, Variable] = {}
        numbers: Counter[str] = Counter()
        self.of = {name: OperationLowering(way, variables, numbers, orders) for name, way in self.ways.items()}
        self.windows = TreeWindows(fused, arch, self.of)
        self.owners = dict(self._owners())
        self.tiles = {place: self._tile(place, *owner) for place, owner in self.owners.items()}

    def refused(self, why: str) -> MappingError:
        """The error for a tree whose program cannot be written."""
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
            is_passed = node.tensor in self.fused.cascade.intermediates and len({name for name, _ in found}) > 1
            is_needed = self.is_whole(place) or is_passed
            if self.copied is not None and node not in self.copied and not is_needed:
                continue
            writer = producers[node.tensor].name if node.tensor in producers else ""
            mine = [user for user in found if user[0] == writer]
            yield place, (mine or [fillers.get(place, found[0])])[0]

    def tensor(self, place: Place, name: str) -> Tensor:
        """The tensor of a node, as an operation has it."""
        node = self.fused.item(place)
        assert isinstance(node, Node)
        return self.of[name].problem.tensor(node.tensor)

    def is_whole(self, place: Place) -> bool:
        """Whether a node holds a whole tensor of the caller, or an intermediate in the outermost memory."""
        node = self.fused.item(place)
        assert isinstance(node, Node)
        is_given = node.tensor in self.lying or node.tensor not in self.fused.cascade.intermediates
        return node.memory == self.outermost or (is_given and place in self.homes)

    def _tile(self, place: Place, name: str, position: int) -> NodeTile:
        owner, tensor = self.of[name], self.tensor(place, name)
        if self.is_whole(place):
            return self._whole(owner, tensor, position)
        home, is_passed = owner.home(tensor, position), tensor.name in self.fused.cascade.intermediates
        array = owner.array(tensor, position, home, strided=not is_passed and len(self.users[place]) == 1)
        array = replace(array, position=list(self.owners).index(place))  # equal nodes of two branches are two arrays
        if not is_passed:
            return NodeTile(array, owner.base(tensor, home))
        return self._union(array, place, owner, home)

    def _whole(self, owner: OperationLowering, tensor: Tensor, position: int) -> NodeTile:
        """A whole tensor, with the zeros around it that readers see; one that stays as it lies there."""
        cascade, stays = self.fused.cascade, self.lying.get(tensor.name)
        if stays is not None:
            array = replace(owner.array(tensor, position, None), shape=stays.made, edges=stays.edges)
            return NodeTile(array, tuple(map(Affine.of, stays.first)))
        array = replace(owner.array(tensor, position, None), is_local=tensor.name in cascade.intermediates)
        margins = margins_of(cascade, tensor.name)
        if not array.is_local and not self.with_margins:
            edges = frozenset(axis for axis, zeros in enumerate(margins) if any(zeros))
            shape = cascade.extents(tensor.name)
            return NodeTile(replace(array, shape=shape, edges=edges), (Affine(),) * len(shape))
        base = tuple(Affine.of(-before) for before, _ in margins)
        shape = tuple(n + sum(zeros) for n, zeros in zip(cascade.extents(tensor.name), margins, strict=True))
        return NodeTile(replace(array, shape=shape), base)

    def _union(self, array: Array, place: Place, owner: OperationLowering, at: int) -> NodeTile:
        """The array of an intermediate that its producer or reader, the owner, fills inside the loops above a position,
        with the zeros around the tile that readers see. Along what slides it begins with what is asked for first."""
        base = owner.base(owner.problem.tensor(array.tensor.name), at)
        ends = [b + Affine.of(n) for b, n in zip(base, array.shape, strict=True)]
        low, high = list(base), list(ends)
        sliding = self.windows.sliding(place, owner)
        for name, _ in self.users[place]:
            reader, tensor = self.of[name], self.tensor(place, name)
            if tensor.is_output:
                continue
            home = reader.position(owner.way.place(at))
            theirs = reader.base(tensor, home)
            for i, (begin, span) in enumerate(zip(theirs, reader.spans(tensor, home), strict=True)):
                if i in sliding:
                    continue
                less, more = begin - base[i], begin + Affine.of(span) - ends[i]
                if less.terms or more.terms:
                    raise self.refused(f"{array.tensor.name} is read by other steps than it is written")
                low[i] = begin if (begin - low[i]).constant < 0 else low[i]
                end = begin + Affine.of(span)
                high[i] = end if (end - high[i]).constant > 0 else high[i]
        for i, step in sliding.items():
            low[i] = Affine.of(owner.looked_up(step, "asked"))
            high[i] = low[i] + Affine.of(owner.way.made[step.dim].span)
        shape = tuple((h - b).constant for h, b in zip(high, low, strict=True))
        return NodeTile(replace(array, shape=shape), tuple(low))

    def access(self, owner: OperationLowering, tensor: Tensor, tile: NodeTile, place: int) -> Index:
        """Where in the array of a node that is which is inside the loops above a place."""
        found = zip(owner.base(tensor, place), tile.base, tile.array.steps, strict=True)
        return tuple((at - base).divided(step) for at, base, step in found)


def margins_of(cascade: Cascade, tensor: str) -> tuple[Pad, ...]:
    """The most zeros that any reader sees before and after each rank of a tensor."""
    readers = cascade.consumers[tensor]
    pads = [[reader.pad(tensor, i) for reader in readers] for i in range(len(cascade.extents(tensor)))]
    return tuple(
        (max((low for low, _ in rank), default=0), max((high for _, high in rank), default=0)) for rank in pads
    )


class TreeWindows:
    """The windows of a tree.

    operations  of the tree, by name
    """

    def __init__(self, fused: Mapping, arch: Architecture, operations: MappingABC[str, OperationLowering]) -> None:
        self.fused, self.arch, self.operations = fused, arch, operations

    def are_seen(self, place: Place, owner: OperationLowering) -> bool:
        """Whether readers see what visits of an operation make at a node, through windows."""
        return bool(owner.way.made) and place == exchange_of(self.fused, owner.way.path)

    def sliding(self, place: Place, owner: OperationLowering) -> dict[int, Step]:
        """The ranks of an operation's output along which a node has just what readers ask for in one step of a shared
        loop above it, with that loop."""
        if not self.are_seen(place, owner):
            return {}
        slide = (step for step in owner.visits if owner.way.made[step.dim].place < place)
        return {self._rank(owner, step): step for step in slide}

    def kept(self, place: Place, owner: OperationLowering) -> Step | None:
        """The shared loop from whose last step a node keeps rows, if it does."""
        steps = self.sliding(place, owner).values()
        path = owner.way.path
        return next((s for s in steps if keeps_rows(self.fused, self.arch, path, owner.way.made[s.dim].place)), None)

    def moved_up(self, array: Array, owner: OperationLowering, step: Step) -> tuple[LookUp, MoveUp]:
        """What becomes of the rows that are kept, at each step of the loop: at the first one nothing is."""
        axis = self._rank(owner, step)
        asked = [row[0] for row in self._table(owner, step)]
        shifts = (array.shape[axis], *(after - before for before, after in itertools.pairwise(asked)))
        shift, rows = owner.looked_up(step, "shift"), tuple((each,) for each in shifts)
        table = LookUp((shift,), rows, *self._shared(owner.way.place(step.position)))
        return table, MoveUp(array, axis, shift)

    def looked_up(self, place: Place) -> Iterator[Statement]:
        """What is known of visits by the step of a loop."""
        for owner in self.operations.values():
            for step in owner.visits:
                if owner.way.place(step.position) == place:
                    names = tuple(owner.looked_up(step, kind) for kind in ("asked", "first", "made"))
                    yield LookUp(names, tuple(self._table(owner, step)), *self._shared(place))

    def stepping(self, place: Place) -> tuple[OperationLowering, Step]:
        """An operation that a loop cuts into tiles, and the loop as its own."""
        every = ((owner, step) for owner in self.operations.values() for step in owner.steps)
        here = ((owner, step) for owner, step in every if owner.way.place(step.position) == place)
        return next((owner, step) for owner, step in here if not owner.is_visit(step))

    def _shared(self, place: Place) -> tuple[Variable, int]:
        """The variable of a loop, and by how much it steps."""
        owner, step = self.stepping(place)
        return owner.variables[step], step.tile

    def _rank(self, owner: OperationLowering, step: Step) -> int:
        return next(i for i, rank in enumerate(owner.operation.output.ranks) if rank[0][0] == step.dim)

    def _table(self, owner: OperationLowering, step: Step) -> list[tuple[int, int, int]]:
        made = {name: one.way.made for name, one in self.operations.items()}
        return table_of_visits(self.fused, owner.operation, step.dim, made)
