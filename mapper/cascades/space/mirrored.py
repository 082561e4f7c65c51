"""Branches and trees that are mirror images of each other, as with tiles of some rows and of as many columns: one is
searched for both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ....arch import Architecture
from ....cost_models.layouts import has_lines
from ....ir import Cascade, Loop, Node, Operation
from ...exact.symmetry import mirror_of
from ..terms.branch import BranchMapping, BranchQuestion, Sizes
from ..terms.parts import VisitedPart
from ..terms.sharing import SharedDim
from .shared_loops import Loops, OpenLoops

Images = Mapping[str, str]
"""By dimension, the one that it changes places with."""


@dataclass(frozen=True, eq=False)
class MirroredBranches:
    """The dimensions of operations that change places without any change of cost on one machine.

    operations  by name; there may be more of them later
    """

    operations: Mapping[str, Operation]
    arch: Architecture
    _images: dict[str, Images] = field(default_factory=dict)
    _both: dict[BranchQuestion, tuple[BranchQuestion, ...]] = field(default_factory=dict)

    def images(self, operation: str) -> Images:
        """Of the dimensions of a whole operation; empty where none change places."""
        if operation not in self._images:
            self._images[operation] = self._new_images(operation)
        return self._images[operation]

    def _new_images(self, operation: str) -> Images:
        problem = self.operations[operation].problem
        if has_lines(self.arch) or any(memory.layouts for memory in self.arch.memories):
            return {}  # where words lie depends on the order of ranks
        mirror = mirror_of(problem, self.arch, told_apart=True)
        names = problem.dim_names
        return {} if mirror is None else {dim: names[mirror[d]] for d, dim in enumerate(names)}

    def one_of_two(self, question: BranchQuestion) -> BranchQuestion:
        """A question, or its mirror image, the same one for both."""
        return min(self.both(question), key=lambda one: (one.sizes, one.over, one.made, sorted(one.cut), one.beside))

    def both(self, question: BranchQuestion) -> tuple[BranchQuestion, ...]:
        """A question, and its mirror image, if it has another one."""
        if question not in self._both:
            images = self.images(question.operation)
            image = self._image(question, images) if images else question
            self._both[question] = (question,) if image == question else (question, image)
        return self._both[question]

    def sizes_of_one(self, operation: str, sizes: Sizes) -> Sizes:
        """Those of a tile, or of its mirror image, the same ones for both."""
        images = self.images(operation)
        return min(sizes, _resized(sizes, images)) if images else sizes

    def image_of(self, operation: str, mapping: BranchMapping) -> BranchMapping:
        """The mirror image of a mapping."""
        images = self.images(operation)
        return replace(mapping, items=tuple(_image_of(item, images) for item in mapping.items))

    @staticmethod
    def _image(question: BranchQuestion, images: Images) -> BranchQuestion:
        return replace(
            question,
            sizes=_resized(question.sizes, images),
            cut=frozenset(images[dim] for dim in question.cut),
            over=tuple(sorted((images[dim], n) for dim, n in question.over)),
            made=tuple(sorted((images[dim], sizes) for dim, sizes in question.made)),
            beside=tuple(((a, axis, images[dim]), least, most) for (a, axis, dim), least, most in question.beside),
        )


class MirroredTrees:
    """Trees of one cascade that are mirror images of each other: dimensions of all its operations change places."""

    def __init__(self, cascade: Cascade, arch: Architecture) -> None:
        self.cascade = cascade
        self._branches = MirroredBranches({operation.name: operation for operation in cascade}, arch)
        self._dims: dict[SharedDim, SharedDim] = {}

    @cached_property
    def images(self) -> dict[str, Images]:
        """By operation, which dimensions change places without any change of cost; empty where none do."""
        found = {operation.name: self._branches.images(operation.name) for operation in self.cascade}
        if not all(found.values()) or any(op.generations or op.iterates for op in self.cascade):
            return {}
        return found if all(self._is_alike(tensor, found) for tensor in self.cascade.tensors) else {}

    def _is_alike(self, tensor: str, images: dict[str, Images]) -> bool:
        """Whether ranks of a tensor change places in the same way for all operations that use it, with as many zeros
        around."""
        ways = set()
        for operation in self.cascade:
            for one in operation.problem.tensors:
                if one.name == tensor:
                    own = images[operation.name]
                    pads = [operation.pad(tensor, rank) for rank in range(len(one.ranks))]
                    ranks = list(zip(map(sorted, one.ranks), pads, strict=True))
                    image = [sorted((own[dim], step) for dim, step in rank) for rank in one.ranks]
                    if not all(each in ranks for each in zip(image, pads, strict=True)):
                        return False
                    ways.add(tuple(ranks.index(each) for each in zip(image, pads, strict=True)))
        return len(ways) == 1

    def one_of_two(self, part: VisitedPart, every: list[OpenLoops]) -> list[OpenLoops]:
        """Of choices of loops above a part that is its own mirror image those whose mirror image is none before."""
        if not self._is_its_own_image(part):
            return every
        place = {self._key(one.loops): i for i, one in enumerate(every)}
        return [one for i, one in enumerate(every) if place.get(self._key(one.loops, mirrored=True), i) >= i]

    def _is_its_own_image(self, part: VisitedPart) -> bool:
        images = self.images
        if not images or any(part.uneven) or any(part.over):
            return False
        if any(_resized(own, images[name]) != own for name, own in zip(part.names, part.sizes, strict=True)):
            return False
        return all({images[name][dim] for dim in own} == own for name, own in zip(part.names, part.cut, strict=False))

    def _key(self, loops: Loops, mirrored: bool = False) -> tuple[object, ...]:
        """What tells loops from others; or their mirror image from these."""
        return tuple(
            (
                self._dim_image_of(loop.dim) if mirrored else loop.dim,
                loop.trips,
                loop.passes,
                loop.generations,
                loop.tile,
            )
            for loop in loops
        )

    def _dim_image_of(self, dim: SharedDim) -> SharedDim:
        if dim not in self._dims:
            self._dims[dim] = replace(dim, dims=tuple((name, self.images[name][own]) for name, own in dim.dims))
        return self._dims[dim]


def _resized(sizes: Sizes, images: Images) -> Sizes:
    """The sizes of a tile's mirror image."""
    size = dict(sizes)
    return tuple((dim, size[images[dim]]) for dim, _ in sizes)


def _image_of(item: Loop | Node, images: Images) -> Loop | Node:
    return replace(item, dim=images[item.dim]) if isinstance(item, Loop) else item
