"""C99 source text of what is done with complete words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from ...c.direct import point_text
from ...c.text import c_names
from ...parts.trees import TensorFinish
from ..words.kinds import ApartKinds
from ..words.stored import ELEMENT, WordType


def finish_text(
    finish: TensorFinish,
    word: str,
    names: Mapping[str, str],
    position: Sequence[str],
    kinds: Mapping[str, WordType] = MappingProxyType({}),
) -> str:
    """What becomes of a word.

    word      its text
    names     of the parameters
    position  texts of the word's place in the tensor
    kinds     how the parameters are stored, if not as elements
    """
    words = {finish.word: word}
    for name, axes, extents in finish.parameters:
        terms = [
            _scaled(position[axis], math.prod(extents[i + 1 :])) for i, axis in enumerate(axes) if position[axis] != "0"
        ]
        words[name] = kinds.get(name, ELEMENT).read(f"{names[name]}[{' + '.join(terms) or '0'}]")
    return point_text(finish.expression, words)


def _scaled(text: str, stride: int) -> str:
    if stride == 1:
        return text
    return f"({text}) * {stride}" if " " in text else f"{text} * {stride}"


def finish_function(
    function: str, finish: TensorFinish, extents: Sequence[int], kinds: ApartKinds | None = None
) -> Iterator[str]:
    """A function that changes all words of a tensor, from the tensor and the parameters; where words are stored in
    types of their own, it puts them into another array: its first parameter."""
    names = c_names()
    words = names.unique("words")
    parameters = {name: names.unique(name) for name, _, _ in finish.parameters}
    index = [names.unique(f"i{axis}") for axis in range(len(extents))]
    made, finished = (kinds.made, kinds.finished or kinds.made) if kinds is not None else (ELEMENT, ELEMENT)
    stored = dict(zip(parameters, kinds.parameters, strict=True)) if kinds is not None else {}
    given = [f"{finished.pointed} *restrict {words}"]
    source = names.unique("unfinished") if kinds is not None else words
    given += [f"const {made.pointed} *restrict {source}"] if kinds is not None else []
    given += [f"const {stored.get(n, ELEMENT).pointed} *restrict {name}" for n, name in parameters.items()]
    yield f"static APART void {function}({', '.join(given)})"
    yield "{"
    indent = "    "
    for name, extent in zip(index, extents, strict=True):
        yield f"{indent}for (int64_t {name} = 0; {name} < {extent}; {name}++)"
        indent += "    "
    terms = [_scaled(name, math.prod(extents[i + 1 :])) for i, name in enumerate(index)]
    place = f"[{' + '.join(terms) or '0'}]"
    found = finish_text(finish, made.read(f"{source}{place}"), parameters, index, stored)
    yield f"{indent}{words}{place} = {finished.written(found)};"
    yield "}"
    yield ""
