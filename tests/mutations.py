"""Valid documents made wrong: values dropped, doubled, moved and replaced by hostile ones, and bytes changed."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

Path = tuple[str | int, ...]

HOSTILE_NUMBERS: tuple[Any, ...] = (0, -1, 1, 2, 3, 7, 2**31, 2**53, 2**53 + 1, 2**64, 10**30, -0.5, 0.5, 1e308, 1e-320)
HOSTILE_TEXTS = (
    *("", " ", "\n", "0", "-1", "1e999", "nan", "inf", "NaN", "null", "true", "~", "None"),
    *("K", "DRAM", "GLB", "I", "loop", "node", "edp", "x", "K,K", "a:b", "*", "..", "$", "$array.x", "${x}"),
    *("'", '"', "\\", "`", "#", "*/", "//", "{", "}", "[", "%s", "{0}", "<b>", "\x00", "\x1b[31m", "\r", "\t"),
    *("__import__('os')", "\u202e", "\u2028", "é", "名", "\U0001f600", "\ud7ff", "9" * 40, "9" * 5000, "a" * 3000),
)
HOSTILE: tuple[Any, ...] = (
    *HOSTILE_NUMBERS,
    *HOSTILE_TEXTS,
    *(None, True, False, [], {}, [[]], [None], {"": 1}, {"K": 1}, ["K", 1]),
)


def places(data: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of all values of a tree of dicts and lists, the root's first."""
    yield path
    members = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, member in members:
        yield from places(member, (*path, key))


def at(data: Any, path: Path) -> Any:
    """The value at a path."""
    for key in path:
        data = data[key]
    return data


@st.composite
def mutated(draw: st.DrawFn, original: Any, values: tuple[Any, ...] = HOSTILE, most: int = 3) -> Any:
    """A copy of a tree of dicts and lists with one to three changes."""
    data = copy.deepcopy(original)
    for _ in range(draw(st.integers(1, most))):
        path = draw(st.sampled_from(list(places(data))))
        kind = draw(st.sampled_from(("replace", "replace", "drop", "double", "add", "rename", "graft")))
        if not path or kind == "add":
            _add(draw, at(data, path), values)
        else:
            _change(draw, data, path, kind, values)
    return data


def _add(draw: st.DrawFn, target: Any, values: tuple[Any, ...]) -> None:
    value = copy.deepcopy(draw(st.sampled_from(values)))
    if isinstance(target, dict):
        target[draw(st.sampled_from(HOSTILE_TEXTS))] = value
    elif isinstance(target, list):
        target.insert(draw(st.integers(0, len(target))), value)


def _change(draw: st.DrawFn, data: Any, path: Path, kind: str, values: tuple[Any, ...]) -> None:
    parent, key = at(data, path[:-1]), path[-1]
    if kind == "drop":
        del parent[key]
    elif kind == "double" and isinstance(parent, list):
        parent.insert(int(key), copy.deepcopy(parent[int(key)]))
    elif kind == "rename" and isinstance(parent, dict):
        parent[draw(st.sampled_from(HOSTILE_TEXTS))] = parent.pop(key)
    elif kind == "graft":
        parent[key] = copy.deepcopy(at(data, draw(st.sampled_from(list(places(data))))))
    else:
        parent[key] = copy.deepcopy(draw(st.sampled_from(values)))


@st.composite
def mangled(draw: st.DrawFn, original: str) -> str:
    """A text with one to four changes of characters: some dropped, doubled, moved, or hostile ones put in."""
    text = original
    for _ in range(draw(st.integers(1, 4))):
        first, second = sorted(draw(st.tuples(*2 * [st.integers(0, len(text))])))
        second = min(second, first + 40)
        put = draw(st.sampled_from((*HOSTILE_TEXTS, text[first:second] * 2, "")) | st.text(max_size=3))
        text = text[:first] + put + text[second:]
    return text
