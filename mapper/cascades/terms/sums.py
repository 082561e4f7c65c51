"""Where partial sums are wider than finished words: what a search over trees takes for granted of them.

A node of an intermediate takes the room of partial sums while its producer works if unfinished sums reach it, and while
others do that a loop goes on with the sums of (`parts.py`), else that of finished words. Which of the two a branch
makes is known only once it is mapped. So trees are first searched as if all words were finished (no tree takes less);
where the cost model does not agree with what is found, of one node after the other, known by its tensor and its memory,
all trees are searched in which it is *wide*, and all in which words come there *finished*
(`objectives/weighted_sums.py`): these together are all trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ....arch import Architecture
from ....ir import Cascade, Node, Operation, Tree
from ...constraints import Constraints
from .parts import FoundPart, HeldSums
from .upper_memories import SumNode, UpperMemories


@dataclass(frozen=True)
class Sums:
    """Of which nodes of intermediates something is taken for granted.

    wide      take the room of partial sums while they are written
    finished  are reached by finished words alone
    """

    wide: frozenset[SumNode] = frozenset()
    finished: frozenset[SumNode] = frozenset()

    def both_ways(self, node: SumNode) -> tuple[Sums, Sums]:
        """All trees of these, in two parts."""
        return replace(self, wide=self.wide | {node}), replace(self, finished=self.finished | {node})


NARROW = Sums()
"""Nothing is: no tree has less room than so."""


def all_wide(cascade: Cascade, memories: UpperMemories) -> Sums:
    """Every tensor that an operation writes takes the room of partial sums, wherever it lies."""
    return Sums(wide=frozenset((tensor, memory.name) for tensor in cascade.producers for memory in memories.upper))


def open_node(
    cascade: Cascade, arch: Architecture, sums: Sums, found: FoundPart, stays: Iterable[tuple[str, str]]
) -> SumNode | None:
    """A node of a tree that may be wider than it was taken to be; None: there is none.

    stays  (tensor, memory) of those that lie somewhere whole
    """
    known = sums.wide | sums.finished
    for tensor, memory in (*(one for one in stays if one[0] in cascade.producers), *_exchanged(cascade, found.tree)):
        output = cascade.producers[tensor].output
        is_wider = arch.partial_width_bits(output) > arch.width_bits(output)
        if is_wider and memory != arch.memories[0].name and (tensor, memory) not in known:
            return tensor, memory
    return None


def _exchanged(cascade: Cascade, tree: Tree) -> Iterator[SumNode]:
    """The nodes of intermediates above splits of which one branch writes them."""
    for _, below in tree.walk():
        if below.branches:
            written = {cascade.operation(name).output.name for name in below.leaves()} & set(cascade.intermediates)
            nodes = (item for item in below.items if isinstance(item, Node))
            yield from ((node.tensor, node.memory) for node in nodes if node.tensor in written)


def sums_of_stays(
    cascade: Cascade, memories: UpperMemories, wide: Iterable[SumNode], names: Sequence[str]
) -> Iterator[HeldSums]:
    """Those of tensors that lie in a memory as a whole, of which some take the room of partial sums while they are
    written."""
    for tensor, memory in wide:
        writer, users = cascade.producers[tensor], [cascade.producers[tensor], *cascade.consumers[tensor]]
        words = memories.words_of_stay(users, tensor)
        if writer.iterates is None:
            yield HeldSums(writer.name, tensor, memories.wider_by(writer, users, names, memory, words))


def finishing(operation: Operation, arch: Architecture, home: str, sizes: dict[str, int]) -> Iterator[Constraints]:
    """Sets of constraints on the mappings of a branch: each mapping by which finished words alone come to the home of
    the output satisfies one of them.

    A word comes once if the outermost of the branch's own nodes of the output (or the MACs, if it has none) lets go of
    its tile once: no loop above it that moves the output stands inside one over what is summed. Take the memory at
    which the outermost loop over a sum above that node stands: further out there are none, further in no loop moves the
    output, and at that memory those that do stand outside. What MACs hold leaves at every step, and instances that do
    not add up what they hold send a part each.
    """
    summed = frozenset(dim for dim in operation.reduced_dims if sizes[dim] > 1)
    if not summed:
        yield Constraints()
        return
    names, output = [memory.name for memory in arch.memories], operation.output
    moving = frozenset(dim for dim in output.dims if sizes[dim] > 1)
    for holder in _holders(operation, arch, home):
        held = names.index(holder) if holder else len(names)
        keeps = {(name, output.name): name == holder for name in names[names.index(home) + 1 : held + 1]}
        apart = _apart(arch, holder, summed)
        yield Constraints(keeps=keeps, spatial=apart, temporal=_none(names[:held], summed))
        if not holder or arch.reuse == "at_node":
            continue
        for place, memory in enumerate(names[:held]):
            none = {**_none(names[:place], summed), **_none(names[place + 1 : held], moving)}
            yield Constraints(keeps=keeps, spatial=apart, temporal=none, orders={memory: (moving, summed)})


def _holders(operation: Operation, arch: Architecture, home: str) -> Iterator[str]:
    """Memories inside the home that may have the outermost node of an output in a branch; "": it has none."""
    names = [memory.name for memory in arch.memories]
    for memory in arch.memories[names.index(home) + 1 :]:
        if memory.keeps[operation.output.role] != "never":
            yield memory.name
        if memory.keeps[operation.output.role] == "must":
            return
    yield ""


def _apart(arch: Architecture, holder: str, summed: frozenset[str]) -> dict[tuple[str, int, str], tuple[int, int]]:
    """No instances, outside a memory, that do not add up sums have parts of one."""
    levels = [level.name for level in arch.levels]
    end = levels.index(holder) if holder else len(levels)
    above = (fanout for fanout in arch.fanouts if levels.index(fanout.name) < end and not fanout.spatial_reduction)
    return {(one.name, axis, dim): (1, 1) for one in above for axis in range(len(one.axes)) for dim in summed}


def _none(memories: Sequence[str], dims: frozenset[str]) -> dict[tuple[str, str], tuple[int, int]]:
    """No loops over some dimensions at some memories."""
    return {(memory, dim): (1, 1) for memory in memories for dim in dims}
