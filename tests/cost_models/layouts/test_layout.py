"""Layouts: texts, addresses, what a line holds of them."""

from __future__ import annotations

import itertools

import pytest

from tilewright.arch import load_arch
from tilewright.cost_models.layouts import Layout, layout_in, line_box, parse_layout
from tilewright.cost_models.layouts.choices import possible_layouts, with_layouts
from tilewright.ir import Problem, Tensor, TilewrightError
from tilewright.workloads import conv2d, gemm

IMAGE = conv2d(K=4, C=3, P=3, Q=3, R=1, S=1)
CONV = conv2d(K=32, C=16, P=14, Q=14, R=3, S=3)


@pytest.mark.parametrize(
    ("tensor", "text", "order", "blocks"),
    [
        ("I", "NHWC", (0, 2, 3, 1), ()),
        ("I", "nhwc", (0, 2, 3, 1), ()),
        ("I", "HWC_C8", (0, 2, 3, 1), ((1, 8),)),
        ("I", "HWC_C4W8", (0, 2, 3, 1), ((1, 4), (3, 8))),
        ("O", "NCHW16c", (0, 1, 2, 3), ((1, 16),)),
        ("O", "NKPQ", (0, 1, 2, 3), ()),
        ("O", "K32", None, ((1, 32),)),
        ("W", "K,C,R,S,K8", (0, 1, 2, 3), ((0, 8),)),
        ("W", "row-major", None, ()),
        ("W", "column-major", (3, 2, 1, 0), ()),
    ],
)
def test_texts(tensor: str, text: str, order: tuple[int, ...] | None, blocks: tuple[tuple[int, int], ...]) -> None:
    of = CONV.tensor(tensor)
    found = parse_layout(of, text)
    assert found == Layout(order, blocks)
    again = parse_layout(of, found.text(of))
    assert again.digits(of) == found.digits(of)


def test_ranks_with_longer_names() -> None:
    tensor = Tensor("O", ((("row", 1),), (("column", 1),)), "output")
    assert parse_layout(tensor, "column,row,column2") == Layout((1, 0), ((1, 2),))


def test_ranks_whose_names_end_in_digits() -> None:
    """`N2` was read as a block of two along N."""
    of = Tensor("O", ((("M", 1),), (("N2", 1),)), "output")
    layout = parse_layout(of, "N2,M,N24")
    assert layout == Layout((1, 0), ((1, 4),))
    assert parse_layout(of, layout.text(of)) == layout


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("NHXC", "O has no rank X"),
        ("NHHC", "H stands there twice"),
        ("C0", "a block of 0 words"),
        ("NHW", "K or C is left out"),
        ("N,H,W,H", "H stands there twice"),
        ("N-C", "found 'N-C'"),
    ],
)
def test_wrong_texts_say_what_there_is(text: str, found: str) -> None:
    with pytest.raises(TilewrightError, match=found) as error:
        parse_layout(CONV.tensor("O"), text)
    assert "K or C" in error.value.message


def strides(problem: Problem, layout: str) -> dict[str, int]:
    """Words between neighbours along each rank of the input of a 1 x 1 convolution."""
    tensor = problem.tensor("I")
    parsed, extents = parse_layout(tensor, layout), problem.extents(tensor.name)
    one = {"C": (0, 1, 0, 0), "H": (0, 0, 1, 0), "W": (0, 0, 0, 1)}
    return {rank: parsed.address(tensor, extents, place) for rank, place in one.items()}


def test_element_orders_of_a_small_image() -> None:
    """3 x 3 pixels of 3 channels: channel-last, the channels of a pixel are neighbours; channel-first, pixels are."""
    assert strides(IMAGE, "NHWC") == {"C": 1, "W": 3, "H": 9}
    assert strides(IMAGE, "NCHW") == {"W": 1, "H": 3, "C": 9}


def test_addresses_are_all_words_once() -> None:
    tensor, extents = CONV.tensor("O"), CONV.extents("O")
    for text in ("NHWC", "NCHW", "NCHW16c", "HWC_C4W2"):
        layout = parse_layout(tensor, text)
        places = itertools.product(*(range(extent) for extent in extents))
        found = {layout.address(tensor, extents, place) for place in places}
        assert found == set(range(32 * 14 * 14))


@pytest.mark.parametrize(
    ("layout", "words", "box"),
    [
        ("NCHW", 8, (1, 1, 1, 8)),
        ("NCHW", 32, (1, 1, 2, 14)),
        ("NHWC", 32, (1, 32, 1, 1)),
        ("NHWC", 64, (1, 32, 1, 2)),
        ("NCHW16c", 32, (1, 16, 1, 2)),
        ("NCHW16c", 6, (1, 4, 1, 1)),
        ("HWC_C4W8", 32, (1, 4, 1, 8)),
    ],
)
def test_what_a_line_holds(layout: str, words: int, box: tuple[int, ...]) -> None:
    """Whole inner ranks, then a part of the next; of a block, equal parts."""
    memory = load_arch("eyeriss", {"DRAM.line": f"{16 * words} bit"}).memories[0]
    tensor = CONV.tensor("O")
    assert line_box(memory, CONV, tensor, parse_layout(tensor, layout), 16) == box


def test_a_line_has_room_for_a_word() -> None:
    memory = load_arch("eyeriss", {"DRAM.line": "8 bit"}).memories[0]
    with pytest.raises(TilewrightError, match="a word of W has 16 bit, a line 8; expected lines of whole words"):
        line_box(memory, CONV, CONV.tensor("W"), Layout(), 16)


def test_layouts_are_stated_by_tensor_and_by_memory() -> None:
    arch = load_arch("eyeriss", {"DRAM.line": "64 B", "GLB.line": "8 B"})
    found = with_layouts(arch, CONV, {"all": "row-major", "O": "NHWC", "GLB.I": "NHWC"})
    dram, glb, spad = found.memories
    assert dram.layouts == {"I": "row-major", "W": "row-major", "O": "NHWC"}
    assert glb.layouts == {"I": "NHWC", "W": "row-major", "O": "NHWC"}
    assert not spad.layouts
    assert layout_in(glb, CONV.tensor("I")) == Layout((0, 2, 3, 1))
    (opened, *_) = with_layouts(arch, CONV, {"all": "any"}).memories
    assert len(possible_layouts(arch, dram, CONV, CONV.tensor("I"), 16)) == 1
    assert len(possible_layouts(arch, opened, CONV, CONV.tensor("I"), 16)) > 3


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"X": "NHWC"}, "unknown tensor 'X'"),
        ({"spad.I": "NHWC"}, "'spad' is no memory with lines"),
        ({"I": "QQ"}, "twice"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, str], found: str) -> None:
    with pytest.raises(TilewrightError, match=found):
        with_layouts(load_arch("eyeriss", {"DRAM.line": "64 B"}), CONV, given)


def test_no_lines_no_layouts() -> None:
    with pytest.raises(TilewrightError, match="no memory of eyeriss has lines"):
        with_layouts(load_arch("eyeriss"), gemm(4, 4, 4), {"all": "any"})
