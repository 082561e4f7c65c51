"""Counting the mapping space."""
from __future__ import annotations
from ..arch import Architecture
from ..ir import Problem
from .tilings import Tiling
def count_mappings(problem: Problem, arch: Architecture, tiling: Tiling) -> int:
    return 0
