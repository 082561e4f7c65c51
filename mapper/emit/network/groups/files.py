"""What lies beside the program of a network, and which elements it may have."""

from __future__ import annotations

from typing import Literal

WEIGHTS_FILE = "weights.bin"
"""Beside the program."""

REFERENCE_FILE = "reference.bin"
"""Beside it: inputs, and outputs by the model's own definition."""

NetworkElement = Literal["double", "float"]
"""Kinds of elements that programs of networks may have."""
