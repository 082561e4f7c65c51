"""From a mapping to its scalar program (`loop_program.py`), whose loops hold branches, one after the other.

Every operation is lowered along its way through the tree as a nest of its own (`operation.py`); what stands above a
split is made once, by the operation that fills it. The arrays are those of `tiles.py`.

A tile is copied where it changes: just inside the innermost temporal loop above its node that moves the tensor, or
where the visit of its branch begins. Loops between that place and the node leave the tile as it is, but for spatial
ones: the buffer holds what the instances hold together, so that a tile that stays in an array while loops above the
array run is not copied again.

    for C in 4                        for c0:
      for P in 8            ->          spad_W = copy of W[8 x 16 filters, c0]
        parallel K in 8                 for p0:
          spad keeps W                    for k0, on the array:
          for K in 16                       for k1: ... spad_W[k1] ...

A tile of partial sums enters as zeros and is added to the next buffer outwards when it leaves. That is right wherever
the reduction loops stand, spatial ones too; and nothing has to be known of the order of visits. An intermediate begins
where its tile changes, is filled by its producer, and leaves only if a node further out keeps it as well.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field
from types import MappingProxyType

from ....arch import Architecture
from ....cost_models.cascades import home_of
from ....cost_models.layouts import layout_in
from ....cost_models.layouts.layout import ANY
from ....ir import Loop, Mapping, MappingError, Node, Place, Tensor, did_you_mean
from ..parts.trees import TensorFinish, completed
from .bands import with_better_bands
from .loop_program import (
    Access,
    Affine,
    Allocate,
    Begin,
    Compute,
    Drain,
    Fill,
    Finish,
    Index,
    LoopProgram,
    Statement,
    WholeLying,
    Zero,
)
from .operation import OperationLowering, Orders
from .tiles import NodeTile, TreeTiles


def lower(
    mapping: Mapping,
    arch: Architecture,
    copied: Collection[str] | None = None,
    *,
    laid_out: bool | Orders = False,
    with_margins: bool = False,
    finishes: MappingABC[str, TensorFinish] | None = None,
    lying: MappingABC[str, WholeLying] | None = None,
) -> LoopProgram:
    """The scalar program of a mapping.

    A nest keeps the order of its loops, and buffers of memories that state a layout of what they keep are packed so. Of
    a tree, loops with nothing between them are put into a better order.

    copied        what is copied into local buffers: "GLB", all tensors that this memory keeps, or "GLB.W", one of them;
                  None: everything. What is left out is read and written where the next copy outwards has it, as caches
                  do, but for tensors that operations pass to one another
    laid_out      of a nest, whether the arrays of the caller lie as the outermost memory states it, too; else as
                  tensors are written. Or of some nodes of whole tensors, in which order their axes lie, slowest first
    with_margins  whether the caller gives inputs with the zeros around them that readers see (`margins_of`), or
                  the program puts zeros there where it reads them
    finishes      of tensors that operations write, what is done with their words once they are complete
    lying         of tensors that are on chip before the run, or are left there, in their second node, how they lie

    Raises MappingError when a node or loop stands where the architecture has no place for it, `copied` names something
    else than memories, and for trees whose programs cannot be written yet.
    """
    stated = {} if mapping.is_of_cascade else _stated_orders(mapping, arch)
    if laid_out is not True:
        stated = {node: order for node, order in stated.items() if node.memory != arch.memories[0].name}
    lowering = Lowering(
        mapping,
        arch,
        with_margins=with_margins,
        finishes=finishes,
        lying=lying,
        copied=None if copied is None else _nodes_named(mapping.cascade.tensors, arch, copied),
        orders=stated if isinstance(laid_out, bool) else {**stated, **laid_out},
    )
    return lowering.program(in_order=not mapping.is_of_cascade)


def _stated_orders(mapping: Mapping, arch: Architecture) -> dict[Node, tuple[int, ...]]:
    """The order of a tensor's ranks, slowest first, where a memory states its layout; ranks that have a block inside of
    the others last, as tiles have them that are no larger than a block."""
    found = {}
    for memory in arch.memories:
        for tensor in mapping.problem.tensors:
            stated = memory.layouts.get(tensor.name, memory.layouts.get(tensor.role))
            if stated is not None and stated != ANY:
                digits = layout_in(memory, tensor).digits(tensor)
                last = {rank: position for position, (rank, _) in enumerate(digits)}
                found[Node(memory.name, tensor.name)] = tuple(sorted(last, key=last.__getitem__))
    return found


def _nodes_named(tensors: Collection[str], arch: Architecture, copied: Collection[str]) -> frozenset[Node]:
    """Every memory with every tensor that is to be copied into it."""
    pairs = [Node(memory.name, tensor) for memory in arch.memories for tensor in tensors]
    known = {name for node in pairs for name in (node.memory, f"{node.memory}.{node.tensor}")}
    for name in copied:
        if name not in known:
            hint = did_you_mean(name, sorted(known))
            raise MappingError(f"cannot copy into {name!r}, which is no memory", where=arch.name, hint=hint)
    return frozenset(n for n in pairs if n.memory in copied or f"{n.memory}.{n.tensor}" in copied)


@dataclass
class _Around:
    """Statements just before a place of the tree, and after all that follows it there."""

    before: list[Statement] = field(default_factory=list)
    after: list[Statement] = field(default_factory=list)


class Lowering(TreeTiles):
    """Arrays of all nodes, and the statements around them; parameters as of `lower`."""

    def __init__(
        self,
        fused: Mapping,
        arch: Architecture,
        *,
        with_margins: bool = False,
        finishes: MappingABC[str, TensorFinish] | None = None,
        lying: MappingABC[str, WholeLying] | None = None,
        copied: frozenset[Node] | None = None,
        orders: Orders = MappingProxyType({}),
    ) -> None:
        super().__init__(fused, arch, with_margins=with_margins, lying=lying or {}, copied=copied, orders=orders)
        self.finishes = finishes or {}
        self.around: dict[Place, _Around] = {}
        self.begun: dict[str, Statement] = {}
        for place, (name, position) in sorted(self.owners.items(), key=lambda each: each[1][1]):
            self._copies(place, self.of[name], position)

    # ---- statements ----------------------------------------------------------------------------------------

    def _copies(self, place: Place, owner: OperationLowering, position: int) -> None:
        """What is done where the tile of a node changes."""
        tensor, tile = self.tensor(place, owner.operation.name), self.tiles[place]
        local, home = tile.array.is_local, 0 if self.is_whole(place) else owner.home(tensor, position)
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
                raise self.refused(f"{tensor.name} leaves with zeros around it")
            around.after.insert(0, Drain(tile.array, outer.array, at, extents))
        if not tensor.is_output or owner.operation.iterates:
            pairs = zip(tile.array.steps, outer.array.steps, strict=True)
            steps = tuple(max(inner // further, 1) for inner, further in pairs)
            around.before.append(Fill(tile.array, outer.array, at, extents, steps))

    def _begin(self, owner: OperationLowering, tile: NodeTile, inside: Index, extents: Index, around: _Around) -> None:
        """What a tile of sums or maxima begins with; zeros around maxima stay zeros."""
        is_maximum, whole = owner.operation.reduction == "max", tuple(map(Affine.of, tile.array.shape))
        if not is_maximum or extents != whole:
            has_zeros = is_maximum or tile.array.tensor.name in self.fused.cascade.intermediates
            around.before.append(Zero(tile.array, whole if has_zeros else extents))
        if is_maximum:
            around.before.append(Begin(tile.array, inside, extents, -math.inf))

    def _renewed(self, place: Place, owner: OperationLowering, around: _Around) -> None:
        """What is done where readers see what visits make through windows. Rows that the node keeps move up, and each
        visit begins with nothing where it makes something."""
        output, array = owner.problem.output, self.tiles[place].array
        kept = self.windows.kept(place, owner)
        if kept is not None:
            self.around.setdefault(owner.way.place(kept.position), _Around()).before.append(Allocate(array))
            around.before += self.windows.moved_up(array, owner, kept)
        else:
            around.before += [Allocate(array), Zero(array, tuple(map(Affine.of, array.shape)))]
        begun = owner.way.path.starts[-1]
        at, extents = self.access(owner, output, self.tiles[place], begun), owner.extents(array, begun)
        is_maximum = owner.operation.reduction == "max"
        self.begun[owner.operation.name] = (
            Begin(array, at, extents, -math.inf) if is_maximum else Zero(array, extents, at)
        )

    def _outer(self, owner: OperationLowering, tensor: Tensor, position: int) -> NodeTile | None:
        """The next node of a tensor further out on an operation's way."""
        home = home_of(owner.way.mapping, tensor.name, self.lying)
        outwards = [p for p in self._arrays_of(owner, tensor) if home <= p < position]
        return self.tiles[owner.way.place(outwards[-1])] if outwards else None

    def _arrays_of(self, owner: OperationLowering, tensor: Tensor) -> list[int]:
        """The positions of a tensor's nodes on an operation's way that are arrays, outermost first."""
        return [p for p in owner.nest.node_positions(tensor.name) if owner.way.place(p) in self.tiles]

    def _points(self, owner: OperationLowering) -> Compute:
        end = len(owner.nest.items)
        accesses = []
        for tensor in (*owner.problem.operands, owner.problem.output):
            tile = self.tiles[owner.way.place(self._arrays_of(owner, tensor)[-1])]
            accesses.append(Access(tile.array, self.access(owner, tensor, tile, end)))
        return Compute(owner.operation, accesses[-1], tuple(accesses[:-1]))

    # ---- the program ---------------------------------------------------------------------------------------

    def program(self, in_order: bool) -> LoopProgram:
        """From the tree's items, and what is done just before each of them.

        in_order  whether loops with nothing between them stay in their order, and not in one that is better
        """
        cascade = self.fused.cascade
        whole = {tile.array.tensor.name: tile.array for tile in self.tiles.values() if not tile.array.is_local}
        inputs = tuple(whole[name] for name in cascade.tensors if name not in cascade.producers)
        outputs = tuple(whole[op.output.name] for op in cascade if op.output.name in whole)
        if not outputs:
            raise self.refused("every tensor that it writes is read by one of its operations: it hands out nothing")
        places = {tile.array: place for place, tile in self.tiles.items() if tile.array.is_local}
        last = tuple(
            Finish(array, start, tuple(map(Affine.of, array.shape)), start, self.finishes[array.tensor.name])
            for array in outputs
            if array.tensor.name in self.finishes
            for start in [(Affine(),) * len(array.shape)]
        )
        body = (*self._body((), 0), *last)
        if not in_order:
            body, packed = with_better_bands(body)
            places = {packed.get(array, array): place for array, place in places.items()}
        return LoopProgram(self.fused, inputs, outputs, body, places)

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
        for tensor, producer, place in completed(self.fused, branch, self.finishes):
            owner, tile = self.of[producer], self.tiles[place]
            at, output = owner.position((branch, 0)), owner.problem.output
            first, position = self.access(owner, output, tile, at), owner.base(output, at)
            yield Finish(tile.array, first, owner.extents(tile.array, at), position, self.finishes[tensor])

    def _item(self, place: Place, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """A loop around a body; nodes are in the statements around places."""
        item = self.fused.item(place)
        if not isinstance(item, Loop) or item.trips == 1:
            return body
        owner, step = self.windows.stepping(place)
        return (owner.loop(step, (*self.windows.looked_up(place), *body)),)
