"""Parameters of a network as one row of doubles: what `main` reads from the file beside the program."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ....ir import MappingError
from .exact import exact_magnitude
from .operands import StoredWords
from .program import NetworkProgram

Row = np.ndarray[Any, np.dtype[np.float64]]


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
        parts.append(_words(values, weight.stored, weight.name))
    return np.concatenate(parts)


def _words(values: Mapping[str, np.ndarray[Any, Any]], stored: StoredWords, where: str) -> Row:
    found = _taken(values[stored.value].ravel(), stored, where)
    return found if stored.zero is None else found - _words(values, stored.zero, where)


def _taken(row: np.ndarray[Any, Any], stored: StoredWords, where: str) -> Row:
    if stored.take.size and stored.take.max() >= row.size:
        raise MappingError(f"{stored.value} has {row.size} words, expected more than {stored.take.max()}", where=where)
    return np.asarray(row[stored.take], np.float64)


def weights_bytes(values: Row) -> bytes:
    """The file: doubles, the least significant byte first."""
    return values.astype("<f8").tobytes()
