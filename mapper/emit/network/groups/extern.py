"""Operators that no mapping has, in C: the functions that a program declares, and leaves to link where it has none."""

from __future__ import annotations

from .....workloads.graph import Computed

EXTERN = "network_extern_"
"""What the names of functions begin with that a program declares and does not have."""


def extern_name(computed: Computed) -> str:
    """The function that computes an operator."""
    return f"{EXTERN}{computed.name}"
