"""Branches that are mirror images of each other, as with tiles of some rows and of as many columns: one is searched for
both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ....arch import Architecture
from ....cost_models.layouts import has_lines
from ....ir import Loop, Node, Operation
from ...exact.tiles.symmetry import mirror_of
from ..terms.branch import BranchMapping, BranchQuestion, Sizes

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


def _resized(sizes: Sizes, images: Images) -> Sizes:
    """The sizes of a tile's mirror image."""
    size = dict(sizes)
    return tuple((dim, size[images[dim]]) for dim, _ in sizes)


def _image_of(item: Loop | Node, images: Images) -> Loop | Node:
    return replace(item, dim=images[item.dim]) if isinstance(item, Loop) else item
