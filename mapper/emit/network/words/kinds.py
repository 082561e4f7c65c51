"""In which types programs of quantized networks store the words of every tensor, and why these hold them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .....ir import Call, Cascade, Expression, Operand, Operation
from .....workloads.graph import WORD, ApartOperation, NetworkMeaning
from .....workloads.onnx.quantized import RANGES
from ...lowering.loop_program import Array
from .known_words import UNKNOWN, KnownWords, either, known_value, known_words, whole
from .operands import Finished, Weight
from .stored import WordType, stored_as, stored_of


@dataclass(frozen=True)
class GroupKinds:
    """How a group stores words.

    whole       by tensor, those of the caller's arrays
    tiles       by tensor, those of the program's own
    parameters  by tensor and parameter, of what is done with its words
    summed      tensors whose points are whole numbers of 32 bits, as all their sums are
    """

    whole: Mapping[str, WordType]
    tiles: Mapping[str, WordType]
    parameters: Mapping[tuple[str, str], WordType]
    summed: frozenset[str]

    def of(self, array: Array) -> WordType:
        """How the words of an array are stored."""
        return (self.tiles if array.is_local else self.whole)[array.tensor.name]

    def alike(self, made: Iterable[str]) -> tuple[object, ...]:
        """What groups that differ in names alone have in common; by those that are made."""
        parts = (self.whole, self.tiles, self.parameters)
        return (*(tuple(part.values()) for part in parts), tuple(name in self.summed for name in made))


@dataclass(frozen=True)
class ApartKinds:
    """How what is done between groups stores words.

    reads       of what is read, in order
    made        of what is made of it
    finished    of what has been done with these words, if anything
    parameters  of that, in order
    """

    reads: tuple[WordType, ...]
    made: WordType
    finished: WordType | None
    parameters: tuple[WordType, ...]


@dataclass
class NetworkKinds:
    """What is known of all tensors that have been made so far, by who makes them.

    meaning  whose inputs and outputs have the types that it states
    """

    meaning: NetworkMeaning
    words: dict[str, KnownWords] = field(default_factory=dict)
    stored: dict[str, WordType] = field(default_factory=dict)

    def given(self, key: str) -> KnownWords:
        """What is known of a tensor; of one that nothing has made, by its type."""
        if key not in self.words:
            kind = self.meaning.types.get(key, "")
            single = KnownWords(is_single=True) if kind == "FLOAT" else UNKNOWN
            self._make(key, whole(*RANGES[kind]) if kind in RANGES else single, is_caller=True)
        return self.words[key]

    def of_group(
        self,
        cascade: Cascade,
        keys: Mapping[str, str],
        weights: Mapping[str, Weight],
        finished: Mapping[str, Finished],
    ) -> GroupKinds:
        """Of a group, and of what it makes.

        weights  of its tensors, those that are parameters
        """
        words = {name: w.known for name, w in weights.items()}
        stored = {name: w.stored_as for name, w in weights.items()}
        for name in cascade.tensors:
            if name not in weights and name not in cascade.producers:
                words[name] = self.given(keys[name]).with_zero()
                stored[name] = self.stored[keys[name]]
        tiles, summed = dict(stored), set()
        parameters: dict[tuple[str, str], WordType] = {}
        for operation in cascade:
            name = operation.output.name
            done = finished.get(name)
            raw = _summed(operation, words, done)
            made = raw if done is None else _finished(done, raw)
            words[name] = made.with_zero()
            stored[name] = self._make(keys[name], made, is_caller=keys[name] in self.meaning.outputs)
            tiles[name] = stored_of(either(raw, made) if cascade.consumers[name] else raw)
            parameters |= {(name, p): w.stored_as for p, w in _parameters(done).items()}
            if _is_whole_product(operation.expression) and stored_of(raw).is_whole:
                summed.add(name)
        return GroupKinds(stored, tiles, parameters, frozenset(summed))

    def of_apart(
        self, key: str, operation: ApartOperation, inputs: Sequence[str | Weight], done: Finished | None
    ) -> ApartKinds:
        """Of what is done between groups, and of what it makes."""
        words = [self.given(one) if isinstance(one, str) else one.known for one in inputs]
        reads = tuple(self.stored[one] if isinstance(one, str) else one.stored_as for one in inputs)
        raw = _apart(operation, words)
        final = raw if done is None else _finished(done, raw)
        stored = self._make(key, final, is_caller=key in self.meaning.outputs)
        parameters = tuple(w.stored_as for w in _parameters(done).values())
        if done is None:
            return ApartKinds(reads, stored, None, ())
        return ApartKinds(reads, stored_of(raw), stored, parameters)

    def _make(self, key: str, words: KnownWords, *, is_caller: bool) -> WordType:
        self.words[key] = words
        found = stored_as(self.meaning.types.get(key, ""), words) if is_caller else stored_of(words)
        self.stored[key] = found
        return found


def _parameters(done: Finished | None) -> dict[str, Weight]:
    if done is None:
        return {}
    return {name: w for (name, _, _), w in zip(done.finish.parameters, done.parameters, strict=True)}


def _finished(done: Finished, raw: KnownWords) -> KnownWords:
    known = {name: w.known for name, w in _parameters(done).items()}
    return known_words(done.finish.expression, {**known, WORD: raw})


def _summed(operation: Operation, words: Mapping[str, KnownWords], done: Finished | None) -> KnownWords:
    """The words that an operation makes, and all sums on the way to them."""
    if operation.iterates or operation.start is not None:
        return UNKNOWN
    given = {tensor.name: words[tensor.name] for tensor in operation.problem.operands}
    point = known_words(operation.expression, given)
    if operation.reduction == "max":
        return point
    terms = math.prod(operation.problem.sizes[dim] for dim in operation.reduced_dims)
    if terms == 1 and not point.is_exact:
        only_single = done is not None and _is_rounded_first(done.finish.expression)
        return KnownWords(point.low, point.high, point.is_whole, point.is_single or only_single, point.may_be_none)
    return point.times(terms)


def _is_rounded_first(expression: Expression) -> bool:
    """Whether the word is rounded to single precision before anything else is done with it."""
    if not isinstance(expression, Call):
        return not (isinstance(expression, Operand) and expression.tensor == WORD)
    if expression.function == "single" and expression.arguments == (Operand(WORD),):
        return True
    return all(map(_is_rounded_first, expression.arguments))


def _is_whole_product(expression: Expression) -> bool:
    """Whether it is an operand, or a product of two: no part of it is larger than all of it may be."""
    if isinstance(expression, Operand):
        return True
    is_product = isinstance(expression, Call) and expression.function == "mul"
    return is_product and all(isinstance(one, Operand) for one in expression.arguments)  # type: ignore[union-attr]


def _apart(operation: ApartOperation, words: Sequence[KnownWords]) -> KnownWords:
    """The words that are made between groups, before anything is done with them."""
    if operation.how == "move":
        covered = sum(math.prod(map(len, read.positions)) for read in operation.reads) >= math.prod(operation.shape)
        found = words[0] if covered else either(words[0], known_value(operation.fill))
        for one in words[1:]:
            found = either(found, one)
        return found
    if operation.how == "gather":
        return words[0]
    names = {read.name: one for read, one in zip(operation.reads, words, strict=True)}
    if operation.how == "words" and operation.expression is not None:
        return known_words(operation.expression, names)
    if operation.how == "max" and operation.after is None and operation.scale == 1:
        one = words[0]
        return one if operation.expression is None else known_words(operation.expression, names)
    return UNKNOWN
