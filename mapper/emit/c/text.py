"""Pieces of C99 source text: comments and identifiers that are safe whatever users call things, and expressions."""

from __future__ import annotations

import re

from ..lowering.loop_program import Affine, Variable
from ..parts.names import FreshNames, printable

RESERVED = """
    auto break case char const default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    alignas alignof bool constexpr false nullptr static_assert thread_local true typeof asm near far
    linux unix i386 stdin stdout stderr errno null index
    element allocate least run direct difference random_element seconds main sum total at
    larger smaller magnitude erf exp log sqrt tanh
    arenas arena scratch from to data type larger_whole lanes lanes_anywhere lane words load_part row row0 row1 row2
""".split()  # noqa: SIM905
"""Keywords of C99 and later ones, macros of the headers that are included, and what the file itself defines."""


def c_names() -> FreshNames:
    """Gives out identifiers that mean nothing else in the file."""
    return FreshNames(RESERVED)


def c_comment(text: str, indent: str = "") -> list[str]:
    """A comment of its own for each line: no text can end it, begin another one, or join the next line."""
    return [f"{indent}/* {_tame(line)} */" for line in text.split("\n")]


def _tame(text: str) -> str:
    plain = printable(text).replace("*/", "* /").replace("/*", "/ *")
    return re.sub(r"\?(?=\?)", "? ", plain).rstrip()


def affine_text(expression: Affine, names: dict[Variable, str]) -> str:
    """`4 * k0 + c1 - 3`: what is added comes first."""
    parts = [(c, names[v] if abs(c) == 1 else f"{abs(c)} * {names[v]}") for v, c in expression.terms]
    if expression.constant:
        parts.append((expression.constant, str(abs(expression.constant))))
    parts.sort(key=lambda part: part[0] < 0)
    text = ""
    for coefficient, part in parts:
        sign = "-" if coefficient < 0 else "+"
        text += f" {sign} {part}" if text else f"-{part}" if coefficient < 0 else part
    return text or "0"


def c_string(text: str) -> str:
    """A string literal: what is not plain ASCII, and what could begin a trigraph, is escaped."""
    plain = printable(text).replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return f'"{plain}"'
