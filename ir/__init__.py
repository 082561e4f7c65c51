"""Frozen data shared by every other folder: problems, loop nests, mappings. Nothing here computes a cost."""

from .errors import (
    ArchitectureError,
    ConstraintError,
    InfeasibleError,
    MappingError,
    ProblemError,
    SearchCancelledError,
    StoreError,
    TilewrightError,
    UndecidedError,
    UnwritableStoreError,
    did_you_mean,
    need_package,
)
from .mapping import Mapping
from .nest import Axis, Loop, LoopNest, Node
from .problem import Problem, Rank, Role, Tensor
from .tiles import Digit, ceil_div, digits_by_dimension, tile_below

__all__ = [
    "ArchitectureError",
    "Axis",
    "ConstraintError",
    "Digit",
    "InfeasibleError",
    "Loop",
    "LoopNest",
    "Mapping",
    "MappingError",
    "Node",
    "Problem",
    "ProblemError",
    "Rank",
    "Role",
    "SearchCancelledError",
    "StoreError",
    "Tensor",
    "TilewrightError",
    "UndecidedError",
    "UnwritableStoreError",
    "ceil_div",
    "did_you_mean",
    "digits_by_dimension",
    "need_package",
    "tile_below",
]
