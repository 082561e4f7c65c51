"""Names of the types that rows of partial mappings are made of."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Flags: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Columns: TypeAlias = dict[str, NDArray[Any]]
"""What is known of rows, by name."""

Rank: TypeAlias = tuple[tuple[int, int], ...]
"""Of a tensor: its dimensions, each with its coefficient."""
