"""C99 source text of what is done with complete words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from ..c_direct import point_text
from ..c_text import c_names
from ..loop_program import TensorFinish


def finish_text(finish: TensorFinish, word: str, names: Mapping[str, str], position: Sequence[str]) -> str:
    """What becomes of a word.

    word      its text
    names     of the parameters
    position  texts of the word's place in the tensor
    """
    words = {finish.word: word}
    for name, axes, extents in finish.parameters:
        terms = [
            _scaled(position[axis], math.prod(extents[i + 1 :])) for i, axis in enumerate(axes) if position[axis] != "0"
        ]
        words[name] = f"{names[name]}[{' + '.join(terms) or '0'}]"
    return point_text(finish.expression, words)


def _scaled(text: str, stride: int) -> str:
    if stride == 1:
        return text
    return f"({text}) * {stride}" if " " in text else f"{text} * {stride}"


def finish_function(function: str, finish: TensorFinish, extents: Sequence[int]) -> Iterator[str]:
    """A function that changes all words of a tensor, from the tensor and the parameters."""
    names = c_names()
    words = names.unique("words")
    parameters = {name: names.unique(name) for name, _, _ in finish.parameters}
    index = [names.unique(f"i{axis}") for axis in range(len(extents))]
    given = [f"element *restrict {words}", *(f"const element *restrict {name}" for name in parameters.values())]
    yield f"static APART void {function}({', '.join(given)})"
    yield "{"
    indent = "    "
    for name, extent in zip(index, extents, strict=True):
        yield f"{indent}for (int64_t {name} = 0; {name} < {extent}; {name}++)"
        indent += "    "
    terms = [_scaled(name, math.prod(extents[i + 1 :])) for i, name in enumerate(index)]
    word = f"{words}[{' + '.join(terms) or '0'}]"
    yield f"{indent}{word} = {finish_text(finish, word, parameters, index)};"
    yield "}"
    yield ""
