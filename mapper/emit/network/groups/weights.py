"""Parameters of a network as one row of doubles: what `main` reads from the file beside the program."""

from __future__ import annotations

import math

import numpy as np

from ..words.stored import DTYPES
from ..words.stored_values import Row, stored_words
from .exact import exact_magnitude
from .program import NetworkProgram


def network_weights(program: NetworkProgram, seed: int = 0) -> Row:
    """The parameters that a model states; of a network that has none, random ones of a seed: whole numbers with which
    all results are exact, or fractions that are small enough for sums to be about as large as what is summed.

    Raises MappingError for stored ones of another size than the model said, and ProblemError where they are missing.
    """
    if program.values is not None:
        return _stored(program)
    rng, largest = np.random.default_rng(seed), exact_magnitude(program)
    parts = [np.empty(0)]
    for weight in program.weights:
        if largest:
            parts.append(rng.integers(-largest, largest + 1, weight.words).astype(np.float64))
        else:
            parts.append(rng.uniform(-1, 1, weight.words) * math.sqrt(3 / weight.terms))
    return np.concatenate(parts)


def _stored(program: NetworkProgram) -> Row:
    assert program.values is not None
    values = program.values()
    parts = [np.empty(0)]
    for weight in program.weights:
        assert weight.stored is not None
        parts.append(stored_words(values, weight.stored, weight.name))
    return np.concatenate(parts)


def reference_bytes(program: NetworkProgram) -> bytes | None:
    """Inputs that were drawn, one after the other, and what the model's own definition makes of them: doubles; None
    where that is not known."""
    rows = dict(zip(program.inputs, program.rows_named, strict=True))
    found = program.reference(rows) if program.reference is not None else None
    if found is None:
        return None
    given, made = found
    every = [*(given[key] for key in program.inputs), *made]
    return weights_bytes(np.concatenate([np.ravel(one).astype(np.float64) for one in every]))


def weights_bytes(values: Row) -> bytes:
    """The file: doubles, the least significant byte first."""
    return values.astype("<f8").tobytes()


def stored_bytes(program: NetworkProgram, values: Row) -> bytes:
    """The file that the C program reads: that of `weights_bytes`, or every parameter in a type of its own."""
    if not program.is_narrow:
        return weights_bytes(values)
    parts = []
    for weight in program.weights:
        words = values[weight.offset : weight.offset + weight.words] + weight.stored_as.bias
        parts.append(words.astype(DTYPES[weight.stored_as.type]).tobytes())
    return b"".join(parts)
