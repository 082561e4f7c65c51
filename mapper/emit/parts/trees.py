"""What programs of all kinds take from a mapping: the ways of its operations, and what it is of."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from ....arch import Architecture
from ....cost_models.boundaries import boundaries_of
from ....cost_models.cascades import Way, ways_of, without_transfers
from ....ir import Address, Cascade, Expression, Mapping, Place, Problem


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


@dataclass(frozen=True, slots=True)
class TensorFinish:
    """What is done with every word of a tensor once it is complete.

    expression  of the word and of parameters
    word        what the expression calls it
    parameters  of each its name there, the axes of the tensor that it has, and its extents along these
    """

    expression: Expression
    word: str
    parameters: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...] = ()


def completed(fused: Mapping, branch: Address, tensors: Iterable[str]) -> Iterator[tuple[str, str, Place]]:
    """Those of some tensors whose words are complete behind a branch, as they pass from it to another one: each with
    the operation that writes it, and with the innermost node at which a reader takes it."""
    cascade, leaves = fused.cascade, set(fused.tree.at(branch).leaves())
    for tensor in tensors:
        producer, readers = cascade.producers[tensor].name, cascade.consumers[tensor]
        if not readers or producer not in leaves:
            continue
        # The tile may be kept further out than where the first reader's branch parts from the producer's.
        if max((fused.split_of(producer, reader.name) for reader in readers), key=len) == branch[:-1]:
            exchanges = (fused.exchange(tensor, reader.name) for reader in readers)
            yield tensor, producer, max(exchanges, key=lambda one: (len(one[0]), one[1]))
