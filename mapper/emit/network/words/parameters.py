"""The row of all parameters of a network: which words each operation reads, and where they lie in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .....ir import Cascade
from .....workloads.graph import ApartRead, CascadeParameter, NetworkGraph
from .finishes import placed_finish
from .known_words import KnownWords, known_values, whole
from .operands import Finished, StoredWords, Weight
from .stored import stored_of
from .stored_values import stored_words


class ParameterRow:
    """Parameters one after the other, in the order in which they are asked for.

    weights  those so far
    is_narrow  whether they are stored in types of their own
    """

    def __init__(self, graph: NetworkGraph, *, is_narrow: bool = False) -> None:
        self.graph, self.meaning = graph, graph.meaning
        self.values = graph.meaning.values() if graph.meaning is not None and is_narrow else None
        self.weights: list[Weight] = []

    def of_apart(self, name: str, read: ApartRead) -> Weight:
        """All words of a parameter that are read, as they are stored."""
        assert read.value is not None
        words = 1 + sum(int(each.max(initial=0)) for each in read.offsets)
        stored = StoredWords(read.value, np.arange(words))
        return self._new(f"{name}: {read.value}", (words,), 1, stored)

    def of_operand(self, cascade: Cascade, tensor: str, names: Sequence[str], parameter: CascadeParameter) -> Weight:
        """An operand of a group, with these names, that nobody makes."""
        reader = cascade.consumers[tensor][0]
        terms = math.prod(reader.problem.sizes[dim] for dim in reader.reduced_dims)
        stored = None if self.meaning is None else self._stored(parameter)
        return self._new(f"{'+'.join(names)}: {tensor}", cascade.extents(tensor), terms, stored)

    def _new(self, name: str, shape: tuple[int, ...], terms: int, stored: StoredWords | None) -> Weight:
        last = self.weights[-1] if self.weights else None
        weight = Weight(name, shape, last.offset + last.words if last else 0, terms, stored)
        if self.values is not None and stored is not None:
            known, place = self._known(stored, name), last.place + last.words * last.stored_as.bytes if last else 0
            weight = replace(weight, place=place, stored_as=stored_of(known), known=known)
        self.weights.append(weight)
        return self.weights[-1]

    def _known(self, stored: StoredWords, where: str) -> KnownWords:
        """What is known of a parameter: of whole numbers by their type, so that equal layers stay so, but for few of
        them, such as zero points."""
        assert self.values is not None
        kind, found = self.values[stored.value].dtype, known_values(stored_words(self.values, stored, where))
        if kind.kind not in "iu" or kind.itemsize > 4 or stored.take.size < 64:
            return found
        low, high = float(np.iinfo(kind).min), float(np.iinfo(kind).max)
        if stored.zero is not None:
            zeros = stored_words(self.values, stored.zero, where)
            low, high = low - float(zeros.max()), high - float(zeros.min())
        return whole(low, high)

    def _stored(self, parameter: CascadeParameter) -> StoredWords:
        """The words of an operand that a model states: a row in the order of the operand's ranks."""
        assert self.meaning is not None
        problem = self.graph.by_name[parameter.occurrence].problem
        assert problem is not None
        found = self.meaning.stored[parameter.occurrence, parameter.operand]
        letters = [rank[0][0].lower() for rank in problem.tensor(parameter.operand).ranks]
        sizes = {dim.lower(): size for dim, size in problem.dims}
        stated = {**sizes, **{letter: size for letter, size, _ in found.taken}}
        lies = np.arange(math.prod(stated[letter] for letter in letters)).reshape([stated[one] for one in found.order])
        for letter, _, positions in found.taken:
            lies = lies.take(positions, found.order.index(letter))
        order = [found.order.index(letter) for letter in letters]
        zero = None
        if found.zero is not None:
            at = np.zeros_like(lies)
            if found.along is not None:
                axis = found.order.index(found.along)
                at = at + np.arange(lies.shape[axis]).reshape([-1 if i == axis else 1 for i in range(lies.ndim)])
            zero = StoredWords(found.zero, at.transpose(order).ravel())
        return StoredWords(found.value, lies.transpose(order).ravel(), zero)

    def of_finish(self, key: str, names: Sequence[str], extents: tuple[int, ...]) -> Finished | None:
        """What is done with the words of a tensor of a group with these names, if anything."""
        finish = self.meaning.finishes.get(key) if self.meaning is not None else None
        if finish is None:
            return None
        placed, parameters = placed_finish(finish, extents)
        weights = [
            self._new(f"{'+'.join(names)}: {name} of {key}", shape, 1, stored)
            for (name, _, shape), stored in zip(placed.parameters, parameters, strict=True)
        ]
        return Finished(placed, tuple(weights))
