"""What programs of all kinds take from a mapping: the ways of its operations, and what it is of."""

from __future__ import annotations

from collections.abc import Collection

from ....arch import Architecture
from ....cost_models.boundaries import boundaries_of
from ....cost_models.cascades import Way, ways_of, without_transfers
from ....ir import Cascade, Mapping, Problem


def ways_through(fused: Mapping, arch: Architecture, stays: Collection[str] = ()) -> dict[str, Way]:
    """The way of every operation through a tree; of a nest all is known, also where its cost as a cascade is not.

    stays  tensors that are on chip before the run, or are left there

    Raises MappingError when a node or loop stands where the architecture has no place for it, and for trees that are
    not understood yet.
    """
    if fused.tree.branches:
        ways = ways_of(fused, arch)
    else:
        ways = {name: Way(path, boundaries_of(path.mapping, arch)) for name, path in fused.paths.items()}
    return {name: without_transfers(way, arch, stays) for name, way in ways.items()}


def layer_of(cascade: Cascade) -> Problem | None:
    """The problem of a cascade that is one sum of products, and nothing more, as layers are; else None."""
    first, *others = cascade.operations
    return first.problem if first.is_layer and not others else None


def heading(fused: Mapping, arch: Architecture) -> str:
    """What a program is of, for the comment at its top."""
    layer, lines = layer_of(fused.cascade), [f"Architecture  {arch.name}"]
    if arch.description:
        lines += [f"              {line}" for line in arch.description.split("\n")]
    if layer is not None:
        before, what = [f"Layer         {layer}"], "Mapping"
    else:
        shown = (f"              {line}" for line in str(fused.cascade).split("\n"))
        before, what = [f"Cascade       {fused.cascade.name}", *shown], "Tree"
    return "\n".join([*before, *lines, what, *(f"    {line}" for line in str(fused).split("\n"))])
