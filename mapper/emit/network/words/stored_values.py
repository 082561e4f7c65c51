"""Words of the parameters that a model states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .....ir import MappingError
from .operands import StoredWords

Row = np.ndarray[Any, np.dtype[np.float64]]


def stored_words(values: Mapping[str, np.ndarray[Any, Any]], stored: StoredWords, where: str) -> Row:
    """The words of a parameter. MappingError for one of another size than the model said."""
    found = _taken(values[stored.value].ravel(), stored, where)
    return found if stored.zero is None else found - stored_words(values, stored.zero, where)


def _taken(row: np.ndarray[Any, Any], stored: StoredWords, where: str) -> Row:
    if stored.take.size and stored.take.max() >= row.size:
        raise MappingError(f"{stored.value} has {row.size} words, expected more than {stored.take.max()}", where=where)
    return np.asarray(row[stored.take], np.float64)
