"""Words that have to cross between a memory without limit and a buffer of S words, whatever the schedule.

For a matrix product, reads and writes together are at least 2 M N K / sqrt(S) - 2 S (Smith, Lowery, Langou, van de
Geijn, "A Tight I/O Lower Bound for Matrix Multiplication", arXiv:1702.02017), and at least every word once.

The same argument bounds any product of two operands. Cut a run into phases of 2 S words that come into being in the
buffer: words that are read, and partial sums that start. A phase has at most 3 S words to work on, of all tensors
together. With a, b, c of them in the three tensors, it does at most f sqrt(a b c) multiplications, which is f S^(3/2)
at most. So at least G / (f S^(3/2)) - 1 whole phases are needed for G multiplications. Words that start are as many as
the output has; so are, at least, those that are written; therefore

    reads + writes  >=  2 G / (f sqrt(S)) - 2 S

The factor f follows from the inequality of Loomis and Whitney (in the form of Atserias, Grohe and Marx for products of
relations). Where each dimension appears in two tensors or in all three, f = 1. In a rank that is a sum, such as p + r,
one dimension, p, is looked at for fixed values of the others: r then does not appear in this tensor. A dimension that
appears in one tensor only contributes sqrt(size) to f, one in none its size. For convolutions, f = sqrt(R S) or less.

Where operands have zeros, G are the multiplications without a zero: whichever these are, phases hold for them. The
bound is linear in G, so that its mean over all masks is that of the mean G. Words are nonzero ones. Where zeros of
padding are no words, G are the multiplications without them.
"""

from __future__ import annotations

import itertools
import math

from ..ir import Problem, Tensor
from .intensity import compulsory_words
from .padding import points_with_words


def traffic_bound(problem: Problem, words: int) -> float:
    """A lower bound, in words read and written, for a buffer of so many words through which everything passes."""
    return max(float(least_words(problem)), reuse_bound(problem, words) or 0.0)


def least_words(problem: Problem) -> float:
    """Return the compulsory words of all tensors together, each word once; of operands with zeros the expected nonzero
    words."""
    words = compulsory_words(problem)
    if not problem.has_zeros:
        return sum(words.values())
    from .sparse.least import nonzero_shares

    return math.fsum(words[name] * share for name, share in nonzero_shares(problem).items())


def done_macs(problem: Problem) -> float:
    """Multiplications that have to be done, whatever is skipped; on average, at least."""
    if not problem.has_zeros:
        return problem.macs
    from .sparse.least import useful_macs

    return useful_macs(problem)


def reuse_bound(problem: Problem, words: int) -> float | None:
    """2 G / (f sqrt(words)) - 2 words, which may be negative; None where there are not two operands."""
    if len(problem.operands) != 2:
        return None
    done = points_with_words(problem) if problem.stores_less else done_macs(problem)
    return 2 * done / (sharing_factor(problem) * math.sqrt(words)) - 2 * words


def sharing_factor(problem: Problem) -> float:
    """The factor f: 1 for matrix products, batched or not; at most sqrt(R * S) for convolutions with R x S filters.

    Which dimension of a sum is looked at is free; the best choice is taken.
    """
    sums = [tuple(dim for dim, _ in rank) for tensor in problem.tensors for rank in tensor.ranks if len(rank) > 1]
    return min(_factor(problem, set(kept)) for kept in itertools.product(*sums))


def _factor(problem: Problem, kept: set[str]) -> float:
    factor = 1.0
    for dim, size in problem.dims:
        tensors = sum(_appears(tensor, dim, kept) for tensor in problem.tensors)
        factor *= size ** max(0.0, 1 - tensors / 2)
    return factor


def _appears(tensor: Tensor, dim: str, kept: set[str]) -> bool:
    """Whether a dimension moves the tensor once the dimensions of sums that are not looked at stand still."""
    return any(dim == d and (len(rank) == 1 or dim in kept) for rank in tensor.ranks for d, _ in rank)
