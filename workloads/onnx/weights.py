"""The stored weights of one layer, in the shape of its tensor: where they are zero is counted from them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...ir import Problem, ProblemError
from .expanded import read_expanded
from .files import Given
from .graph import nodes_of
from .values import stored_values

if TYPE_CHECKING:
    import numpy as np

_WEIGHTS = {"Conv": 1, "Gemm": 1, "MatMul": 1}
"""By operator, which of its inputs are its weights."""


def stored_weights(path: Path, dims: Given, name: str, problem: Problem) -> np.ndarray[Any, Any]:
    """The weights of a layer, with the ranks of the problem's tensor W.

    name     of the node
    problem  that it is

    Raises ProblemError for a node that has no stored weights, or whose weights lie otherwise than the tensor does.
    """
    node = next((node for node in nodes_of(read_expanded(path, dims)) if node.name == name), None)
    where = f"{path}: {name}"
    if node is None or node.op not in _WEIGHTS:
        raise ProblemError(
            f"weights are counted of {', '.join(_WEIGHTS)}", where=where, hint="give the density, or a .npy file"
        )
    value = node.input(_WEIGHTS[node.op])
    found = stored_values(path, dims).get(value.name)
    if found is None:
        raise ProblemError(f"{value.name} is not stored in the file, so that its zeros are not known", where=where)
    if node.op == "Gemm" and node.integer("transB", 0):
        found = found.T
    shape = tuple(math.prod(problem.sizes[dim] for dim, _ in rank) for rank in problem.tensor("W").ranks)
    if node.op == "Conv" and found.size == math.prod(shape):
        found = found.reshape(shape)  # groups, where there are some, are the outermost of the output channels
    if found.shape != shape:
        raise ProblemError(
            f"weights of shape {found.shape} lie otherwise than {problem.tensor('W')}, of shape {shape}",
            where=where,
            hint="give the density, or a .npy file of that shape",
        )
    return found
