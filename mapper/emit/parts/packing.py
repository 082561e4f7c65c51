"""Which operands programs have packed."""

from __future__ import annotations

from ....arch import Architecture
from ....cost_models.sparse import Density, Structured, densities_of
from ....cost_models.sparse.formats import possible_formats
from ....ir import Problem, Tensor


def packed_kind(problem: Problem, arch: Architecture, tensor: Tensor) -> Structured | str:
    """How the outermost memory holds an operand, as far as programs have it packed: N:M, "bitmask", or nothing.

    Of several formats that it may have, the first counts.
    """
    density: Density | None = densities_of(problem).get(tensor.name)
    if density is None:
        return ""
    kind = possible_formats(arch.memories[0], tensor, density)[0]
    largest = 256
    if kind == "blocks" and isinstance(density, Structured) and density.block <= largest:
        return density
    return "bitmask" if kind == "bitmask" else ""
