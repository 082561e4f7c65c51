"""What zeros leave at least, whatever the machine, its formats and the mapping: words to move, operations to do.

Words are nonzero ones alone: no format takes less. Figures are means over all masks.
"""

from __future__ import annotations

import math

from ...ir import Problem, Tensor
from .densities import Density, Structured, Uniform
from .formats import nonzero_share
from .parsing import densities_of
from .savings import box


def nonzero_shares(problem: Problem) -> dict[str, float]:
    """Nonzero words of all words, by tensor."""
    densities, shares = densities_of(problem), dict.fromkeys((t.name for t in problem.tensors), 1.0)
    for tensor in problem.operands:
        if tensor.name in densities:
            shares[tensor.name] = nonzero_share(densities[tensor.name], box(tensor, problem.sizes, "exact"))
    return shares


def useful_macs(problem: Problem) -> float:
    """Multiply-accumulates that meet no zero, on average; at least.

    Where every word of an operand is as likely to be nonzero as any other, whatever the others are, that is a product.
    Of the other operands, all of whose words are used equally often unless they are windows, as many operations meet a
    zero of some operand, at most, as meet one of each.
    """
    densities, shares = densities_of(problem), nonzero_shares(problem)
    product, left = 1.0, 1.0
    for tensor in problem.operands:
        if tensor.name in densities and _is_alike(tensor, densities[tensor.name], problem):
            product *= shares[tensor.name]
        elif tensor.name in densities:
            plain = all(len(rank) <= 1 for rank in tensor.ranks)
            left -= 1.0 - shares[tensor.name] if plain else 1.0
    return problem.macs * product * max(0.0, left)


def _is_alike(tensor: Tensor, density: Density, problem: Problem) -> bool:
    """Whether every word is as likely to be nonzero, whatever those of other operands are."""
    if isinstance(density, Structured):
        return math.prod(problem.sizes[dim] for dim, _ in tensor.ranks[density.rank]) % density.block == 0
    return isinstance(density, Uniform)
