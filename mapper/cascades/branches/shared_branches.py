"""What is known of branches of operations, whatever cascades these are in, and whatever room is left there: groups of a
network have operations in common, and many are searched more than once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

from ....arch import Architecture
from ....cost_models.layouts import has_lines
from ....ir import Cascade, Operation
from ...canonical import form_of
from ...effort import TREE_EFFORT
from ...exact.tiles.symmetry import mirror_of
from ...kernel.remembered import remembered
from ...space import Space
from ...tilings import Tiling
from ..relaxations.known_branches import KnownBranches
from ..terms.branch import BranchQuestion
from ..terms.upper_memories import UpperMemories, with_room
from .isomorphic import Isomorphism


class KnownOperations:
    """What is known of operations on one machine. Of equal ones the first stands for all, under a name that no other
    has.

    operations  these first ones, by name
    known       answers about their branches
    """

    def __init__(self, arch: Architecture) -> None:
        self.arch = arch
        self.operations: dict[str, Operation] = {}
        self.known = KnownBranches(self.operations)
        self._firsts: dict[object, Operation] = {}

    def first(self, operation: Operation) -> Operation:
        """The first of the operations that one differs from in names alone; of what uses generations, itself."""
        form = operation if operation.generations else form_of(Cascade(operation.name, (operation,)), self.arch)
        if form not in self._firsts:
            name = operation.name
            while name in self.operations:
                name += "'"
            self._firsts[form] = self.operations[name] = replace(
                operation, problem=replace(operation.problem, name=name)
            )
        return self._firsts[form]

    @remembered
    def mirror(self, name: str) -> Isomorphism | None:
        """The dimensions of an operation that change places without any change of cost; None where none do."""
        if has_lines(self.arch) or any(memory.layouts for memory in self.arch.memories):
            return None  # where words lie depends on the order of ranks
        operation = self.operations[name]
        mirror, names = mirror_of(operation.problem, self.arch, told_apart=True), operation.problem.dim_names
        if mirror is None:
            return None
        images = {dim: names[mirror[d]] for d, dim in enumerate(names)}
        return Isomorphism(operation, images, {tensor.name: tensor.name for tensor in operation.problem.tensors})

    @remembered
    def both(self, question: BranchQuestion) -> tuple[BranchQuestion, ...]:
        """A question, and its mirror image, if it has another one."""
        mirror = self.mirror(question.operation)
        image = question if mirror is None else mirror.question(question)
        return (question,) if image == question else (question, image)

    def one_of_two(self, question: BranchQuestion) -> BranchQuestion:
        """A question, or its mirror image, the same one for both."""
        return min(self.both(question), key=lambda one: (one.sizes, one.over, one.made, sorted(one.cut), one.beside))


class SharedBranches:
    """What is known of operations, by machine, space and tiling."""

    def __init__(self) -> None:
        self._known: dict[tuple[Space, Tiling], list[KnownOperations]] = {}

    def of(self, arch: Architecture, space: Space, tiling: Tiling) -> KnownOperations:
        """On one machine, whatever room its memories outside all arrays have: questions about branches say that."""
        roomy = with_room(arch, UpperMemories(arch).endless_room)
        every = self._known.setdefault((space, tiling), [])
        found = next((one for one in every if one.arch == roomy), None)
        if found is not None and found.known.count > TREE_EFFORT.at_once:  # some kilobytes each
            every.remove(found)
            found = None
        if found is None:
            found = KnownOperations(roomy)
            every.append(found)
        return found


_SHARED: ContextVar[SharedBranches | None] = ContextVar("shared_branches", default=None)


@contextmanager
def sharing(shared: SharedBranches) -> Iterator[None]:
    """Let searches share what they learn of branches, for a while."""
    token = _SHARED.set(shared)
    try:
        yield
    finally:
        _SHARED.reset(token)


def known_operations(arch: Architecture, space: Space, tiling: Tiling) -> KnownOperations:
    """What other searches have learned that share it with this one, or nothing yet."""
    shared = _SHARED.get()
    return KnownOperations(arch) if shared is None else shared.of(arch, space, tiling)
