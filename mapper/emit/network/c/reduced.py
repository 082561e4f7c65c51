"""C99 source text of reductions between groups, and of what divides by them: softmax and norms over any axes."""

from __future__ import annotations

import math
from collections.abc import Iterator

from .....workloads.graph import NORMALIZING, WORD, ApartOperation
from ...c.direct import number_text, point_text
from ..words.steps import steps_along
from ..words.stored import WordType
from .places import sum_of, tables_of, times

_BEGIN = {"max": "LOWEST", "argmax": "LOWEST", "product": "1"}
_TAKEN = {
    "max": ["found = larger(found, {});"],
    "argmax": ["if ({} > found) {{", "    found = {};", "    best = taken;", "}}"],
    "product": ["found *= {};"],
}
"""What is done with a word that is taken; it is added, where nothing stands here."""

_RESULTS = {"mean": "found / (element)taken", "argmax": "(element)best"}


def _factor_tables(operation: ApartOperation) -> Iterator[str]:
    """Factors of what is taken, of the axes where they are not all one."""
    for axis, each in enumerate(operation.factors):
        if (each != 1).any():
            numbers = ", ".join(map(repr, each.ravel().tolist()))
            yield f"    static const double factor{axis}[{each.size}] = {{{numbers}}};"


def _factor(operation: ApartOperation) -> str:
    """What a word that is taken is multiplied with."""
    axes = [axis for axis, each in enumerate(operation.factors) if (each != 1).any()]
    names = [f"factor{axis}[i{axis} * {operation.factors[axis].shape[1]} + k{axis}]" for axis in axes]
    return "".join(f" * (element){name}" for name in names)


class _Walk:
    """Loops over the positions of all axes, and over all that is taken at each; afterwards `out` is the place of the
    result among those of a reduction, and `place` that of a word."""

    def __init__(self, operation: ApartOperation, stored: WordType) -> None:
        self.operation, self.read, self.stored = operation, operation.reads[0], stored
        self.checks: list[str] = []
        extents = [each.shape[0] for each in self.read.offsets]
        self.out = sum_of([times(f"i{axis}", math.prod(extents[axis + 1 :])) for axis in range(len(extents))])
        self.place = sum_of([self._along(axis) for axis in range(len(extents))])

    def _along(self, axis: int) -> str:
        each, name = self.read.offsets[axis], self.read.name
        steps = steps_along(each)
        if steps is None:
            place = f"{name}_{axis}[i{axis} * {each.shape[1]} + k{axis}]"
            self.checks += [f"{place} < 0"] if (each < 0).any() else []
            return place
        place = sum_of([times(f"i{axis}", steps[1]), times(f"k{axis}", steps[2]), str(steps[0]) if steps[0] else ""])
        return "" if place == "0" else place

    @property
    def there(self) -> str:
        """The place of a word among as many as are read, axis by axis."""
        taken = [each.shape[1] for each in self.read.offsets]
        strides = [math.prod(self.operation.shape[axis + 1 :]) for axis in range(len(taken))]
        terms = [times(f"i{axis}", taken[axis] * stride) for axis, stride in enumerate(strides)]
        return sum_of([*terms, *(times(f"k{axis}", stride) for axis, stride in enumerate(strides))])

    @property
    def word(self) -> str:
        """A word that is taken, after what is done with it."""
        word = f"{self.stored.read(f'{self.read.name}[{self.place}]')}{_factor(self.operation)}"
        expression = self.operation.expression
        if expression is None or self.operation.how in NORMALIZING:
            return word
        return point_text(expression, {self.read.name: word})

    def outer(self, *lines: str) -> Iterator[str]:
        """These lines for every result."""
        yield from self._loops("i", 0, lines, "    ")

    def inner(self, *lines: str) -> list[str]:
        """These lines for everything that is taken for one."""
        checked = [f"if ({' || '.join(self.checks)})", "    continue;"] if self.checks else []
        return list(self._loops("k", 1, (*checked, *lines), ""))

    def _loops(self, letter: str, which: int, lines: tuple[str, ...], indent: str) -> Iterator[str]:
        sizes = [each.shape[which] for each in self.read.offsets]
        for axis, size in enumerate(sizes):
            yield f"{indent}for (int64_t {letter}{axis} = 0; {letter}{axis} < {size}; {letter}{axis}++) {{"
            indent += "    "
        yield from (indent + line for line in lines)
        for _ in sizes:
            indent = indent[4:]
            yield f"{indent}}}"


def reduction(operation: ApartOperation, stored: WordType, made: WordType) -> Iterator[str]:
    """Loops over the output, in them over what is taken for each word.

    stored, made  how words are stored that are taken, and that are made
    """
    walk, how = _Walk(operation, stored), operation.how
    yield from tables_of(operation.reads)
    yield from _factor_tables(operation)
    if how == "log_sum_exp":
        yield from _log_sum_exp(walk)
        return
    result = _RESULTS.get(how, "found")
    result = f"{result} * {operation.scale!r}" if operation.scale != 1 else result
    result = point_text(operation.after, {WORD: f"({result})"}) if operation.after is not None else result
    taken = [line.format(walk.word) for line in _TAKEN.get(how, ["found += {};"])]
    yield from walk.outer(
        f"element found = {_BEGIN.get(how, '0')};",
        f"int64_t taken = 0{', best = 0' * (how == 'argmax')};",
        *walk.inner(*taken, "taken++;"),
        "(void)taken;",
        f"to[{walk.out}] = {made.written(result)};",
    )


def _log_sum_exp(walk: _Walk) -> Iterator[str]:
    """Exponentials of distances from the largest word, so that none is too large; where that is infinite, of words."""
    yield from walk.outer(
        "element largest = LOWEST, total = 0;",
        *walk.inner(f"largest = larger(largest, {walk.word});"),
        "largest = isinf((double)largest) ? 0 : largest;",
        *walk.inner(f"total += exp({walk.word} - largest);"),
        f"to[{walk.out}] = log(total) + largest;",
    )


def normalization(operation: ApartOperation, stored: WordType) -> Iterator[str]:
    """Loops over what is normalized together, and over its words, some times."""
    walk = _Walk(operation, stored)
    word, there = walk.word, f"to[{walk.there}]"
    count = math.prod(each.shape[1] for each in walk.read.offsets)
    yield from tables_of((walk.read,))
    if operation.how == "norm":
        epsilon = number_text(operation.epsilon)
        yield from walk.outer(
            "element mean = 0, variance = 0;",
            *walk.inner(f"mean += {word};"),
            f"mean /= {count};",
            *walk.inner(f"variance += ({word} - mean) * ({word} - mean);"),
            f"const element deviation = sqrt(variance / {count} + {epsilon});",
            *walk.inner(f"{there} = ({word} - mean) / deviation;"),
        )
        return
    is_log = operation.how == "log_softmax"
    last = f"{there} = {word} - largest - log(total);" if is_log else f"{there} /= total;"
    yield from walk.outer(
        "element largest = LOWEST, total = 0;",
        *walk.inner(f"largest = larger(largest, {word});"),
        *walk.inner(f"{there} = exp({word} - largest);", f"total += {there};"),
        *walk.inner(last),
    )
