"""The graph of a network: which layer reads which, and what is done between layers; cascades of parts of it.

occurrences.py  what a graph is made of, and its names
meaning.py      what a network computes beyond what its operations cost
tables.py       the `graph:` of a network file
between.py      operations that do not multiply: additions, softmax, norms, pooling
atoms.py        how a reader's dimensions lie in what it reads: heads, groups, flattening
joining.py      occurrences that read one another as a cascade
readings.py     what a cascade's tensors are in the network: who makes them, with which zeros around
groups.py       which occurrences can be mapped as one
specs.py        `expand+dw+project` and `conv1..conv3`: which occurrences a text means
"""

from .between import BETWEEN
from .groups import GraphReading, OperationGroup, bits_of, mask_of, operation_groups
from .joining import SOFTMAX_FORMS, SoftmaxForm, joined
from .meaning import (
    NORMALIZING,
    REDUCING,
    WORD,
    Apart,
    ApartOperation,
    ApartRead,
    Computed,
    ComputedTensor,
    FinishParameter,
    ModelTensor,
    NetworkMeaning,
    Reference,
    ReferenceRows,
    StoredOperand,
    Values,
    WordFinish,
)
from .occurrences import OUTSIDE, NetworkGraph, Occurrence, Source
from .readings import CascadeParameter, CascadeTensor, cascade_parameters, cascade_tensors
from .specs import chosen, is_joined

__all__ = [
    "BETWEEN",
    "NORMALIZING",
    "OUTSIDE",
    "REDUCING",
    "SOFTMAX_FORMS",
    "WORD",
    "Apart",
    "ApartOperation",
    "ApartRead",
    "CascadeParameter",
    "CascadeTensor",
    "Computed",
    "ComputedTensor",
    "FinishParameter",
    "GraphReading",
    "ModelTensor",
    "NetworkGraph",
    "NetworkMeaning",
    "Occurrence",
    "OperationGroup",
    "Reference",
    "ReferenceRows",
    "SoftmaxForm",
    "Source",
    "StoredOperand",
    "Values",
    "WordFinish",
    "bits_of",
    "cascade_parameters",
    "cascade_tensors",
    "chosen",
    "is_joined",
    "joined",
    "mask_of",
    "operation_groups",
]
