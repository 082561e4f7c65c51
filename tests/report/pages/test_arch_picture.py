"""Pictures of architectures: well-formed, with all figures, and no text over another or beyond its frame."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from pictures import SVG, boxes, check_texts
from tilewright.arch import Architecture, list_archs, load_arch
from tilewright.report.pages.arch_picture import architecture_svg


def drawn(arch: Architecture) -> ElementTree.Element:
    return ElementTree.fromstring(architecture_svg(arch))


def words(root: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("name", list_archs())
def test_no_text_is_over_another_or_cut_off(name: str) -> None:
    check_texts(drawn(load_arch(name)))


@pytest.mark.parametrize("name", list_archs())
def test_texts_of_a_box_stay_in_it(name: str) -> None:
    root = drawn(load_arch(name))
    rects = [rect for rect in root.iter(f"{SVG}rect") if rect.get("class") in ("box", "mac")]
    arch = load_arch(name)
    assert len(rects) == len(arch.memories) + 1
    for rect in rects:
        x, y, width, height = (float(rect.get(key, "")) for key in ("x", "y", "width", "height"))
        inside = [box for box in boxes(root) if x <= box[1] < x + width and y <= box[3] < y + height]
        assert len(inside) >= 2
        for words, _, right, _, bottom in inside:
            assert right <= x + width, words
            assert bottom <= y + height, words


@pytest.mark.parametrize("name", list_archs())
def test_marks_say_what_each_memory_keeps(name: str) -> None:
    arch = load_arch(name)
    marks = [circle.get("class") for circle in drawn(arch).iter(f"{SVG}circle")]
    for role in ("input", "weight", "output"):
        legend = 1 if role == "input" else 0
        assert marks.count(role) - legend == sum(memory.keeps[role] == "must" for memory in arch.memories)  # type: ignore[index]
        may = sum(memory.keeps[role] == "may" for memory in arch.memories)  # type: ignore[index]
        assert marks.count(f"{role} may") - legend == may


def test_figures_of_eyeriss() -> None:
    root = drawn(load_arch("eyeriss"))
    texts = words(root)
    for text in (
        "DRAM",
        "GLB",
        "spad",
        "MAC",
        "array  14 x 12",
        "108 KiB, 0.7218 mm2",
        "x 168",
        "multicast, spatial reduction",
    ):
        assert text in texts
    assert "read 6 pJ, write 6 pJ for 16 bit" in texts
    assert "one port, 16 B per cycle, 3.2 GB/s" in texts
    assert "input 24 B + weight 448 B + output 48 B, 0.01116 mm2" in texts
    assert root.get("role") == "img"
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert description is not None
    assert title.text == "Architecture eyeriss"
    assert description.text is not None
    assert description.text.endswith("From the outside in: DRAM, GLB, array, spad, MAC.")


def test_what_was_set_is_in_the_picture() -> None:
    assert "set array.x=28" in words(drawn(load_arch("eyeriss", set={"array.x": 28})))


def test_texts_are_escaped_and_broken_into_lines() -> None:
    told = "<b>&amp; \"quoted\" 'x' \x00 " + "long words " * 40
    arch = load_arch("eyeriss").model_copy(update={"description": told, "name": "a<b"})
    texts = words(drawn(arch))
    assert texts[0] == "a<b"
    assert texts[1].startswith("<b>&amp; \"quoted\" 'x' ? long words")
    assert max(len(text) for text in texts) < 115


def test_the_picture_of_the_documentation_is_up_to_date() -> None:
    path = Path(__file__).parents[3] / "docs" / "pictures" / "eyeriss.svg"
    assert path.read_text(encoding="utf-8") == architecture_svg(load_arch("eyeriss"))
