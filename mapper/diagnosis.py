"""Why nothing fits."""
from __future__ import annotations
from ..arch import Architecture
from ..ir import Problem
def explain_infeasible(problem: Problem, arch: Architecture) -> tuple[str]:
    return ("nothing fits",)
