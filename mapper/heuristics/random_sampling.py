"""Random sampling: every genome is drawn on its own."""

from __future__ import annotations

import random

from .sample import GenomeSpace
from .trajectory import Proposals


def random_sampling(space: GenomeSpace, rng: random.Random) -> Proposals:
    """Independent draws, without end. What does not fit is rejected, as by Timeloop's random-pruned mapper."""
    while True:
        yield space.draw(rng)
