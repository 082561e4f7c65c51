"""A mapping: a problem together with the loop nest that executes it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .display import Shown
from .errors import MappingError, checked, did_you_mean
from .nest import Loop, LoopNest, Node
from .problem import Problem
from .tiles import ceil_div


@dataclass(frozen=True)
class Mapping(Shown):
    """A nest that covers its problem.

    problem  that is computed
    nest     loops and storage nodes

    Tile sizes nest exactly; only the outermost loop of a dimension may leave a ragged last tile, so its
    trip count is the dimension divided by the tile below it, rounded up.

    Raises MappingError when a loop's dimension or a node's tensor is unknown, when a dimension is not
    covered, or when a tensor is kept twice by one memory or nowhere.
    """

    problem: Problem
    nest: LoopNest

    def __post_init__(self) -> None:
        checked(self.problem, Problem, "the problem of a mapping", "a Problem", MappingError)
        checked(self.nest, LoopNest, "the nest of a mapping", "a LoopNest, as LoopNest.parse makes one", MappingError)
        _check_names(self.problem, self.nest)
        for dim, size in self.problem.dims:
            check_cover(self.nest, dim, size)
        for tensor in self.problem.tensors:
            if not self.nest.node_positions(tensor.name):
                raise MappingError(
                    f"no memory keeps tensor {tensor.name}",
                    hint=f"add a line such as 'DRAM keeps {tensor.name}' at the top",
                )

    def of(self, problem: Problem) -> Mapping:
        """The same nest for a problem that differs in its name alone."""
        return self if problem.name == self.problem.name else Mapping(problem, self.nest)

    def __str__(self) -> str:
        return str(self.nest)


def _check_names(problem: Problem, nest: LoopNest) -> None:
    seen: set[Node] = set()
    for item in nest:
        if isinstance(item, Loop):
            if item.dim not in problem.sizes:
                raise MappingError(
                    f"loop over unknown dimension {item.dim!r}", hint=did_you_mean(item.dim, problem.sizes)
                )
            continue
        checked(item, Node, "a line of the nest", "a Loop or a Node", MappingError)
        if item.tensor not in {t.name for t in problem.tensors}:
            names = [t.name for t in problem.tensors]
            raise MappingError(
                f"{item.memory} keeps unknown tensor {item.tensor!r}", hint=did_you_mean(item.tensor, names)
            )
        if item in seen:
            raise MappingError(f"{item.memory} keeps {item.tensor} twice")
        seen.add(item)


def check_cover(nest: LoopNest, dim: str, size: int) -> None:
    """MappingError where the loops of a dimension do not cover its elements exactly, but for a ragged last tile."""
    trips = [loop.trips for loop in nest.loops if loop.dim == dim and loop.trips > 1]
    inner = math.prod(trips[1:])
    needed = ceil_div(size, inner)
    found = trips[0] if trips else 1
    if found != needed:
        shown = " x ".join(map(str, trips)) or "no loop"
        raise MappingError(
            f"dimension {dim} has {size} elements, and its loops are {shown}",
            hint=f"the outermost loop over {dim} must have {needed} trips, since the loops inside cover {inner}",
        )
