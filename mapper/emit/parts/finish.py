"""What is done with the words of a tensor once they are complete."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ....ir import Address, Expression, Mapping, Place


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
