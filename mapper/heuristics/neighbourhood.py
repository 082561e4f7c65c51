"""Mappings near a given one: a first few, found at once, for a search that wants many."""

from __future__ import annotations

import random
from collections.abc import Iterator

from ...arch import Architecture
from ...ir import Mapping
from .moves import neighbour
from .sample import GenomeSpace


def neighbourhood(mapping: Mapping, arch: Architecture, draws: int = 400) -> Iterator[Mapping]:
    """Some mappings a few moves away from one of the even space with perfect tiling, all of which fit; the same ones
    every time.

    draws  of neighbours: enough for a handful of good ones, and done in less time than a search takes
    """
    space, rng = GenomeSpace(mapping.problem, arch, "perfect"), random.Random(0)
    genome = space.genome(mapping)
    seen = {genome}
    for _ in range(draws):
        near = neighbour(space, genome, rng)
        if near not in seen and space.fits(near):
            seen.add(near)
            yield space.mapping(near)
