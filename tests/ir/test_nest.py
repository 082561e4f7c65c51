"""The loop nest and its text form."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.ir import Axis, Loop, LoopNest, MappingError, Node

words = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True)
axes = st.builds(Axis, words, st.integers(0, 1))
loops = st.builds(Loop, words, st.integers(1, 999), st.none() | axes)
nodes = st.builds(Node, words, words)

EXAMPLE = """\
DRAM keeps I W O
for K in 4
  GLB keeps I O
  for P in 4
    parallel P in 14 on array.x
      parallel K in 2 on array.y
        spad keeps I W O
        for R in 3"""


@settings(derandomize=True)
@given(st.lists(loops | nodes))
def test_text_parses_back(items: list[Loop | Node]) -> None:
    nest = LoopNest(tuple(items))
    assert LoopNest.parse(str(nest)) == nest


def test_example() -> None:
    nest = LoopNest.parse(EXAMPLE)
    assert str(nest) == EXAMPLE
    assert nest.items[:4] == (Node("DRAM", "I"), Node("DRAM", "W"), Node("DRAM", "O"), Loop("K", 4))
    assert nest.loops == (
        Loop("K", 4),
        Loop("P", 4),
        Loop("P", 14, Axis("array")),
        Loop("K", 2, Axis("array", 1)),
        Loop("R", 3),
    )
    assert [loop.is_spatial for loop in nest.loops] == [False, False, True, True, False]
    assert nest.nodes[3:] == (*(Node("GLB", t) for t in "IO"), *(Node("spad", t) for t in "IWO"))
    assert nest.node_positions("W") == (1, 10)
    assert len(nest) == len(list(nest)) == 13


def test_indentation_blank_lines_and_comments_do_not_matter() -> None:
    text = "# the layer\n\nDRAM keeps I W O  # all of it\n for K in 4\nGLB keeps I\n\tGLB keeps  O"
    assert LoopNest.parse(text) == LoopNest.parse("DRAM keeps I W O\nfor K in 4\nGLB keeps I O")
    assert LoopNest.parse("") == LoopNest(())


def test_nodes_of_one_memory_share_a_line_only_side_by_side() -> None:
    nest = LoopNest((Node("L1", "I"), Loop("K", 2), Node("L1", "W"), Node("L2", "W"), Node("L1", "O")))
    assert str(nest).split("\n") == ["L1 keeps I", "for K in 2", "  L1 keeps W", "  L2 keeps W", "  L1 keeps O"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("DRAM keeps I\nfor K", "line 2: cannot read 'for K'\nhint: write 'for K in 4', "),
        ("\n\nfor K in four", "line 3: cannot read 'for K in four'"),
        ("for K in -1", "line 1: cannot read 'for K in -1'"),
        ("parallel K in 4", "line 1: cannot read 'parallel K in 4'"),
        ("parallel K in 4 on array.z", "line 1: cannot read 'parallel K in 4 on array.z'"),
        ("for K in 2\n  GLB keeps", "line 2: cannot read 'GLB keeps'"),
        ("# one\nfor K in 0", "line 2: a loop of 0 trips, expected 1 or more"),
        ("parallel K in 0 on array.x", "line 1: a loop of 0 trips, expected 1 or more"),
    ],
)
def test_lines_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(MappingError, match="^" + re.escape(message)):
        LoopNest.parse(text)


def test_nests_are_values() -> None:
    nest, same = LoopNest.parse(EXAMPLE), LoopNest.parse(EXAMPLE)
    assert nest == same
    assert len({nest, same}) == 1
    with pytest.raises(AttributeError):
        nest.items = ()  # type: ignore[misc]
