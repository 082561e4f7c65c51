"""Plans that people would choose: one device, data parallel alone, and Megatron's, found by a network's structure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ...ir.sharding import REPLICATED, Deal, Placement, Split
from ...workloads.graph import OUTSIDE, Occurrence
from .memory import weights_of_operation
from .space import ShardingSpace

ONE_DEVICE = "one device"
"""The name of the plan in which nothing is divided: every device does the same."""

_WHOLE = ("add", "layernorm", "rmsnorm")
"""Operations between layers that take whole rows in Megatron's plan."""


@dataclass(frozen=True)
class UsualPlan:
    """A plan by its splits.

    name    "one device", "data parallel", "Megatron"
    splits  of all operations; none: the network has no such plan
    why     it has none, or what is dealt
    """

    name: str
    splits: dict[str, Split] = field(default_factory=dict)
    why: str = ""


def usual_plans(space: ShardingSpace) -> tuple[UsualPlan, ...]:
    """All of them."""
    axes = [i for i, size in enumerate(space.sizes) if size > 1]
    alone = UsualPlan(ONE_DEVICE, {name: _nothing(space) for name in space.names})
    return (alone, _data(space, axes), _megatron(space, axes)) if axes else (alone,)


def _nothing(space: ShardingSpace) -> Split:
    return (None,) * len(space.sizes)


def _data(space: ShardingSpace, axes: list[int]) -> UsualPlan:
    """The batch dealt along some axes; what has too few samples by tokens, images by rows."""
    best, most, told = (
        UsualPlan("data parallel", why="neither the batch nor tokens have a point for each device"),
        0,
        [],
    )
    for kind, words in (("data", "the batch"), ("sequence", "tokens"), ("spatial", "rows of images")):
        told.append((kind, words))
        kinds = {name: _of_kind(space, name, axes, [one for one, _ in told]) for name in space.names}
        macs = sum(space.graph.by_name[name].macs for name, (own, _) in kinds.items() if own)
        if macs > most:
            used = {own for own, _ in kinds.values()}
            by = " and ".join(words for one, words in told if one in used)
            best, most = (
                UsualPlan("data parallel", {name: split for name, (_, split) in kinds.items()}, f"by {by}"),
                macs,
            )
    return best


def _of_kind(space: ShardingSpace, name: str, axes: list[int], kinds: list[str]) -> tuple[str, Split]:
    """The first split of an operation along some axes that the field calls so, and how; none where it has none."""
    allowed = set(space.splits(name))
    for kind in kinds:
        for dim, _ in space.rows(name).dims:
            split = _dealt(space, dim, axes)
            if split in allowed and space.parallelism(name, split)[axes[0]] == kind:
                return kind, split
    return "", _nothing(space)


def _dealt(space: ShardingSpace, dim: str, axes: list[int]) -> Split:
    return tuple(dim if i in axes else None for i in range(len(space.sizes)))


def _megatron(space: ShardingSpace, axes: list[int]) -> UsualPlan:
    """Along the innermost axis: products whose words other products read are dealt by output features, those that read
    them by what they sum, what lies between as they do, with all-reduces behind. Data parallel along the others."""
    axis, others = axes[0], axes[1:]
    plan = _Columns(space, axis, _data(space, others).splits if others else {})
    why = plan.fill()
    return UsualPlan("Megatron", why=why) if why else UsualPlan("Megatron", plan.splits)


class _Columns:
    """Splits by columns and rows in the making, along one axis.

    held   by who makes it, how a tensor lies along the axis when it is read
    pairs  operations between two tensors of which both are dealt: heads of attention
    """

    def __init__(self, space: ShardingSpace, axis: int, others: dict[str, Split]) -> None:
        self.space, self.axis = space, axis
        self.splits = {name: others.get(name, _nothing(space)) for name in space.names}
        self.held: dict[str, Placement] = {}
        self.pairs = self.rows = 0

    def fill(self) -> str:
        """Find all splits; why there are none, if so."""
        for name in self.space.names:
            occurrence = self.space.graph.by_name[name]
            dealt = [i for i, read in enumerate(self.space.reads(name)) if self._is_dealt(read)]
            self.held[name] = REPLICATED
            wanted = list(self._dims(occurrence, bool(dealt)))
            chosen = next((dim for dim in wanted if self._reads_as_held(name, dim, dealt)), None)
            if chosen is None and dealt:
                read = self.space.reads(name)[dealt[0]]
                return f"{name} cannot be divided as {read} is dealt to {self.space.sizes[self.axis]} devices"
            if chosen is not None:
                self.splits[name] = self._with(name, chosen)
                made = self.space.made(name, self.splits[name])[self.axis]
                self.held[name] = made if isinstance(made, Deal) else REPLICATED
                self.pairs += len(dealt) > 1 and occurrence.multiplies
                self.rows += not isinstance(made, Deal)
        return "" if self.pairs and self.rows else "no attention between products is found"

    def _is_dealt(self, name: str) -> bool:
        return isinstance(self.held.get(name, REPLICATED), Deal)

    def _with(self, name: str, dim: str) -> Split:
        return tuple(dim if i == self.axis else own for i, own in enumerate(self.splits[name]))

    def _dims(self, occurrence: Occurrence, reads_dealt: bool) -> Iterator[str]:
        """Dimensions by which an operation may be divided there, the best first."""
        dims = dict(self.space.rows(occurrence.name).dims)
        weights = weights_of_operation(occurrence)
        if weights and occurrence.problem is not None:
            read, made = occurrence.problem.operands[0].dims, occurrence.problem.output.dims
            if reads_dealt:
                own = weights[0].dims & read - made
            elif self._is_read_by_products(occurrence.name):
                own = weights[0].dims & made - read
            else:
                own = frozenset()
            yield from sorted((dim for dim in dims if dim in own), key=lambda dim: -dims[dim])
        elif reads_dealt:
            yield from dims

    def _reads_as_held(self, name: str, dim: str, dealt: list[int]) -> bool:
        split, reads = self._with(name, dim), self.space.reads(name)
        if split not in self.space.splits(name):
            return False
        return all(self.space.needed(name, split, i)[self.axis] == self.held[reads[i]] for i in dealt)

    def _is_read_by_products(self, name: str) -> bool:
        """Whether what an operation makes reaches a product with weights through what deals it on."""
        waiting, seen = [name], {name}
        while waiting:
            for reader, _ in self.space.readers.get(waiting.pop(), ()):
                occurrence = self.space.graph.by_name[reader]
                if weights_of_operation(occurrence):
                    return True
                moves = occurrence.kind == OUTSIDE and occurrence.role is None
                if occurrence.kind not in _WHOLE and not moves and reader not in seen:
                    seen.add(reader)
                    waiting.append(reader)
        return False
