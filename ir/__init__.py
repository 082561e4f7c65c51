"""Frozen data shared by every other folder: problems, loop nests, mappings. Nothing here computes a cost."""

from .cascade import Cascade
from .errors import (
    ArchitectureError,
    ConstraintError,
    InfeasibleError,
    MappingError,
    MemoryPlanError,
    NoPlanError,
    ProblemError,
    SearchCancelledError,
    StoreError,
    TilewrightError,
    UndecidedError,
    UnwritableStoreError,
    did_you_mean,
    need_package,
)
from .expression import Call, Expression, Number, Operand
from .mapping import Mapping, OperationPath, Work
from .nest import Axis, Loop, LoopNest, Node
from .operation import Generation, Operation, Reduction, StartValue, plain_rank
from .problem import Pad, Problem, Rank, Role, Stored, Tensor
from .tiles import Digit, ceil_div, digits_by_dimension, tile_below
from .tree import Address, Place, Renews, SharedLoop, Tree, loop_of

__all__ = [
    "Address",
    "ArchitectureError",
    "Axis",
    "Call",
    "Cascade",
    "ConstraintError",
    "Digit",
    "Expression",
    "Generation",
    "InfeasibleError",
    "Loop",
    "LoopNest",
    "Mapping",
    "MappingError",
    "MemoryPlanError",
    "NoPlanError",
    "Node",
    "Number",
    "Operand",
    "Operation",
    "OperationPath",
    "Pad",
    "Place",
    "Problem",
    "ProblemError",
    "Rank",
    "Reduction",
    "Renews",
    "Role",
    "SearchCancelledError",
    "SharedLoop",
    "StartValue",
    "StoreError",
    "Stored",
    "Tensor",
    "TilewrightError",
    "Tree",
    "UndecidedError",
    "UnwritableStoreError",
    "Work",
    "ceil_div",
    "did_you_mean",
    "digits_by_dimension",
    "loop_of",
    "need_package",
    "plain_rank",
    "tile_below",
]
