"""What a problem computes, by walking its iteration space."""

from __future__ import annotations

import itertools
import math

import numpy as np


def extent(problem, rank):
    return 1 + sum(coefficient * (problem.sizes[dim] - 1) for dim, coefficient in rank)


def shape_of(problem, tensor):
    return tuple(extent(problem, rank) for rank in tensor.ranks)


def computed(problem, operands):
    """The output of a problem, by walking its iteration space."""
    output = np.zeros(shape_of(problem, problem.output), dtype=np.int64)
    for point in itertools.product(*(range(size) for _, size in problem.dims)):
        value = dict(zip(problem.dim_names, point, strict=True))

        def at(tensor, value=value):
            return tuple(sum(coefficient * value[dim] for dim, coefficient in rank) for rank in tensor.ranks)

        factors = [array[at(tensor)] for tensor, array in zip(problem.operands, operands, strict=True)]
        output[at(problem.output)] += math.prod(factors)
    return output
