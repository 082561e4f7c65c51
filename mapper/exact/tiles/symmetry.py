"""Dimensions that may change places without any change of cost, as rows and columns of a square convolution may; and
those of a square matrix multiplication, if its operands change places too, and the machine treats both alike.

Of two mappings that are mirror images of each other only one is searched: the one whose arrays, and then innermost
tile, come first when they are compared dimension by dimension. Everything further out is searched in full, so that no
other rule which leaves a mapping aside in favour of another one can depend on the mirror image of either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from ....arch import Architecture
from ....ir import Problem
from ...canonical import treatment
from ..rows import Ints

Mirror = tuple[int, ...]
"""Per dimension, the one that it changes places with: its own index where it stays."""


def mirror_of(problem: Problem, arch: Architecture, told_apart: bool = False) -> Mirror | None:
    """Pairs of dimensions that change places all together; None if there are no such pairs.

    told_apart  whether no tensor may change places with another one, as where operands have zeros
    """
    dims = problem.dim_names
    allowed = [tuple(axis.allows(problem, dim) for fanout in arch.fanouts for axis in fanout.axes) for dim in dims]
    alike = [(problem.sizes[dim], allowed[i]) for i, dim in enumerate(dims)]
    itself = {dim: dim for dim in dims}
    tensors = _images(problem, arch, itself, told_apart)
    for mirror in _pairings(alike, ()):
        image = {dim: dims[mirror[d]] for d, dim in enumerate(dims)}
        if image != itself and _images(problem, arch, image, told_apart) == tensors:
            return mirror
    return None


def _pairings(alike: Sequence[object], chosen: Mirror) -> Iterator[Mirror]:
    """Every way to let equal dimensions change places in pairs; dimensions that do so first."""
    d = len(chosen)
    if d == len(alike):
        yield chosen
        return
    if d in chosen:  # an earlier one has changed places with it
        yield from _pairings(alike, (*chosen, chosen.index(d)))
        return
    for other in range(d + 1, len(alike)):
        if alike[other] == alike[d] and other not in chosen:
            yield from _pairings(alike, (*chosen, other))
    yield from _pairings(alike, (*chosen, d))


def _images(problem: Problem, arch: Architecture, image: dict[str, str], told_apart: bool) -> Counter[object]:
    """The tensors with other dimensions in the place of theirs: their ranks, and how the machine treats them."""
    ranks = (
        sorted(str((sorted((image[dim], c) for dim, c in rank), stored)) for rank, stored in t.stored_ranks)
        for t in problem.tensors
    )
    treatments = ((treatment(arch, t), t.name if told_apart else None) for t in problem.tensors)
    return Counter((str(each), treatment) for each, treatment in zip(ranks, treatments, strict=True))


def compared(parts: Sequence[Ints], mirror: Mirror, count: int) -> Ints:
    """(rows,) 1 where rows of some parts, (rows, dims) each, come after their mirror images, -1 where they come before
    them, 0 where both are the same."""
    found = np.zeros(count, dtype=np.int64)
    for part in parts:
        for d, other in enumerate(mirror):
            if other > d:
                found = np.where(found == 0, np.sign(part[:, d] - part[:, other]), found)
    return found
