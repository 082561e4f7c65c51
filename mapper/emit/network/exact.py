"""With which inputs and parameters all results of a network are exact."""

from __future__ import annotations

from ..exactness import largest_exact
from .program import NetworkProgram


def exact_magnitude(program: NetworkProgram) -> int:
    """The largest magnitude of inputs and parameters with which all results are exact; 0 where there is none, and for
    parameters that a model states."""
    if program.values is not None:
        return 0
    return largest_exact([(operation, call.keys) for call in program.calls for operation in call.cascade])
