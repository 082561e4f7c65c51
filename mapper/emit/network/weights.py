"""Parameters of a network as one row of doubles: what `main` reads from the file beside the program."""

from __future__ import annotations

import math

import numpy as np

from .program import NetworkProgram


def seeded_weights(program: NetworkProgram, largest: int, seed: int = 0) -> np.ndarray:
    """Random parameters, of a network that has none.

    largest  magnitude of whole numbers with which all results are exact; 0: fractions instead, small enough for sums
             to be about as large as what is summed
    """
    rng = np.random.default_rng(seed)
    parts = [np.empty(0)]
    for weight in program.weights:
        if largest:
            parts.append(rng.integers(-largest, largest + 1, weight.words).astype(np.float64))
        else:
            parts.append(rng.uniform(-1, 1, weight.words) * math.sqrt(3 / weight.terms))
    return np.concatenate(parts)


def weights_bytes(values: np.ndarray) -> bytes:
    """The file: doubles, the least significant byte first."""
    return values.astype("<f8").tobytes()
