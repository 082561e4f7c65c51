"""Names of users in emitted programs and files: whatever they hold, they end no comment, end no text, are no code."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import tokenize

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from fuzzing import some
from generators import memory
from mutations import HOSTILE_TEXTS
from tilewright.arch import Architecture, ArrayAxis, Fanout, Mac
from tilewright.ir import Axis, Loop, Node, Tensor
from tilewright.results import SearchResult

MARK = "EVIL"
BREAKERS = (
    *(
        "\n",
        "\r",
        "\r\n",
        "\x0b",
        "\x0c",
        "\x1c",
        "\x85",
        "\u2028",
        "\u2029",
        "\x00",
        "*/",
        "/*",
        "//",
        "#",
        "\\",
        "\\\n",
    ),
    *(
        "'",
        '"',
        "'''",
        '"""',
        "`",
        "${",
        "{",
        "}",
        "%",
        "%>",
        "<!--",
        "-->",
        "]]>",
        "<",
        ">",
        "&",
        ":",
        "- ",
        ",",
        "\u202e",
    ),
    *("??/", "\\u000a", "\\x0a", "\\N{DIGIT ONE}", ";", "}}", "import os", "é", "\U0001f600"),
)
PARTS = st.sampled_from(BREAKERS + HOSTILE_TEXTS[:40]).filter(lambda text: len(text) < 50)


@st.composite
def names(draw: st.DrawFn, count: int) -> list[str]:
    """Different names, each with the mark behind something that may end what it stands in."""
    return [f"n{number}{''.join(draw(st.lists(PARTS, max_size=3)))}{MARK}" for number in range(count)]


def result_with(names: list[str]) -> SearchResult:
    """A mapping in which problem, dimensions, tensors, machine, memories and array have these names."""
    problem, m, n, k, a, w, o, machine, dram, glb, array, note = names
    sizes = ((m, 2), (n, 3), (k, 4))
    tensors = (
        Tensor(a, (((m, 1),), ((k, 1),)), "input"),
        Tensor(w, (((k, 1),), ((n, 1),)), "weight"),
        Tensor(o, (((m, 1),), ((n, 1),)), "output"),
    )
    levels = (memory(dram), Fanout(name=array, axes=(ArrayAxis(size=2),)), memory(glb, size_bits=8 * 40))
    arch = Architecture(
        name=machine,
        description=note,
        source=note,
        clock_hz=1e9,
        word_bits=8,
        levels=levels,
        mac=Mac(energy_pj=1.0),
        footprint="box",
    )
    nest = [
        *(Node(dram, tensor) for tensor in (a, w, o)),
        Loop(n, 3),
        Loop(m, 2, Axis(array, 0)),
        *(Node(glb, tensor) for tensor in (a, w, o)),
        Loop(k, 4),
    ]
    mapping = tw.Mapping(tw.Problem(problem, sizes, tensors), tw.LoopNest(tuple(nest)))
    found = tw.search(mapping.problem, arch, time_limit=0.0)
    return SearchResult(mapping.problem, arch, mapping, tw.evaluate(mapping, arch), found.certificate)


def code_of_python(text: str) -> str:
    compile(text, "program.py", "exec")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return " ".join(token.string for token in tokens if token.type not in (tokenize.COMMENT, tokenize.STRING))


def code_of_c(text: str) -> str:
    """A backslash at the end of a line would carry a comment on to the next one."""
    assert not re.search(r"(\\|\?\?/)\s*\n", text)
    return code_of_mlir(text)


def code_of_mlir(text: str) -> str:
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.DOTALL)


CODE = {"numpy": code_of_python, "tvm": code_of_python, "c": code_of_c, "mlir": code_of_mlir}


@some(15)
@given(names(12))
def test_programs_have_names_in_comments_and_texts_only(given_names: list[str]) -> None:
    result = result_with(given_names)
    for form, code_of in CODE.items():
        try:
            text = result.emit(form)  # type: ignore[arg-type]
        except tw.TilewrightError:
            continue  # a form may refuse a name
        assert MARK not in code_of(text), form
        assert all(character == "\n" or character.isprintable() for character in text), form
        assert text.isascii(), form


@some(15)
@given(names(12))
def test_files_have_the_names_as_they_are(given_names: list[str]) -> None:
    result = result_with(given_names)
    data = json.loads(result.emit("json"))
    assert data["cascade"]["name"] == given_names[0]
    assert data["architecture"]["name"] == given_names[7]
    plain = result_with([f"n{number}{MARK}" for number in range(12)])
    for form in ("yaml", "timeloop"):
        try:
            text = result.emit(form)  # type: ignore[arg-type]
        except tw.TilewrightError:
            continue
        found, expected = (_shape(yaml.load(t, Loader=_Marked)) for t in (text, plain.emit(form)))  # type: ignore[arg-type]
        assert found == expected, form
    assert len(result.emit("nest").splitlines()) == len(plain.emit("nest").splitlines())


class _Marked(yaml.SafeLoader):
    """A loader that takes Timeloop's tags."""


_Marked.add_multi_constructor("!", lambda loader, suffix, node: loader.construct_mapping(node, deep=True))


def _shape(value: object) -> object:
    """The tree of a file, with a mark in place of every text that holds one."""
    if isinstance(value, dict):
        return {_shape(key): _shape(member) for key, member in value.items()} | {"members": len(value)}
    if isinstance(value, list):
        return [_shape(element) for element in value]
    return MARK if isinstance(value, str) and MARK in value else value


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_a_compiler_takes_c_with_hostile_names() -> None:
    result = result_with([f"n{number}{''.join(BREAKERS[number::12])}{MARK}" for number in range(12)])
    words = ["gcc", "-std=c99", "-Wall", "-Wcomment", "-fsyntax-only", "-x", "c", "-"]
    done = subprocess.run(words, input=result.emit("c"), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert MARK not in done.stderr
