"""The picture of a nest: well-formed, all of the nest in it, and no text over another or beyond its frame."""

from __future__ import annotations

import itertools
import random
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

import tilewright as tw
from generators import random_architecture, random_mapping, random_problem
from pictures import SVG, boxes, check_texts
from tilewright.arch import Architecture, Keeps, load_arch
from tilewright.cost_models import cost_of, count_words
from tilewright.ir import Loop, Mapping, Node, Problem, Tensor
from tilewright.report.explain.explanation import Explanation, explain_mapping

LAYERS = {
    "eyeriss": tw.conv2d(K=8, C=4, P=12, Q=7, R=3, S=3),
    "tpu_v1": tw.gemm(64, 512, 64),
    "simba": tw.conv2d(K=16, C=16, P=6, Q=6, R=3, S=3, stride=2),
    "cpu": tw.gemm(64, 64, 64),
    "h100": tw.gemm(256, 256, 256),
    "three_level": tw.einsum("bhqd,bhkd->bhqk", b=2, h=3, q=8, k=8, d=8),
}


LONG = "a_name_that_says_very_much"


def with_long_names() -> Explanation:
    """Names of memories, an array, tensors and dimensions that are longer than there is room for."""
    nest = f"""
        DRAM keeps A{LONG} W{LONG} O{LONG}
        for M{LONG} in 64
          {LONG}_buffer_of_all keeps A{LONG} O{LONG}
          for N{LONG} in 32
            parallel K{LONG} in 12 on {LONG}_of_elements.y
              parallel K{LONG} in 14 on {LONG}_of_elements.x
                {LONG}_file_of_a_single_element keeps W{LONG}
                for K{LONG} in 64
    """
    dims = tuple((f"{dim}{LONG}", size) for dim, size in (("M", 64), ("N", 32), ("K", 168 * 64)))
    m, n, k = (((name, 1),) for name, _ in dims)
    tensors = (
        Tensor(f"A{LONG}", (m, k), "input"),
        Tensor(f"W{LONG}", (k, n), "weight"),
        Tensor(f"O{LONG}", (m, n), "output"),
    )
    eyeriss = load_arch("eyeriss")
    names = {
        "GLB": f"{LONG}_buffer_of_all",
        "array": f"{LONG}_of_elements",
        "spad": f"{LONG}_file_of_a_single_element",
    }
    may = Keeps(input="may", weight="may", output="may")
    levels = [level.model_copy(update={"name": names.get(level.name, level.name)}) for level in eyeriss.levels]
    levels[1:] = [level.model_copy(update={"keeps": may}) if level.kind == "memory" else level for level in levels[1:]]
    arch = eyeriss.model_copy(update={"levels": tuple(levels), "name": LONG * 9})
    return explained(Mapping(Problem("gemm", dims, tensors), tw.LoopNest.parse(nest)), arch)


@cache
def case(name: str) -> Explanation:
    """A searched mapping on a machine of the library, one with long names, or a random one."""
    if name == "long names":
        return with_long_names()
    if name in LAYERS:
        found = tw.search(LAYERS[name], name, "energy", space="uneven" if name == "three_level" else "even")
        return explained(found.mapping, found.arch)
    rng = random.Random(name)
    arch = random_architecture(rng)
    return explained(random_mapping(rng, random_problem(rng), arch), arch)


def explained(mapping: Mapping, arch: Architecture) -> Explanation:
    return explain_mapping(mapping, arch, cost_of(mapping, arch, count_words(mapping, arch)))


CASES = [*LAYERS, "long names", *(f"random {i}" for i in range(12))]


def drawn(name: str) -> ElementTree.Element:
    return ElementTree.fromstring(case(name).svg())


@pytest.mark.some(4)
@pytest.mark.parametrize("name", CASES)
def test_no_text_is_over_another_or_cut_off(name: str) -> None:
    check_texts(drawn(name))


@pytest.mark.parametrize("name", CASES)
def test_shapes_stay_on_the_page_and_off_the_texts(name: str) -> None:
    root = drawn(name)
    _, _, width, height = map(float, root.get("viewBox", "").split())
    for rect in root.iter(f"{SVG}rect"):
        x, y, wide, high = (float(rect.get(key, "")) for key in ("x", "y", "width", "height"))
        assert min(x, y, wide, high) >= 0
        assert x + wide <= width
        assert y + high <= height
        kind = (rect.get("class") or "").split()[0]
        if kind in ("page", "frame", "box", "mac"):
            continue
        for words, left, right, top, bottom in boxes(root):  # bars and grids
            assert x + wide <= left or right <= x or y + high <= top or bottom <= y, (words, kind)


@pytest.mark.parametrize("name", CASES)
def test_all_of_the_nest_is_in_the_picture(name: str) -> None:
    e = case(name)
    root = drawn(name)
    texts = [text.text or "" for text in root.iter(f"{SVG}text")]
    items = [x for x in e.mapping.nest if isinstance(x, Node) or x.trips > 1]
    loops = [t.removesuffix("...") for t in texts if t.startswith(("for ", "parallel "))]
    whole = [str(x) for x in items if isinstance(x, Loop)]
    assert loops == (whole if name != "long names" else [x[: len(t)] for x, t in zip(whole, loops, strict=True)])
    groups = [memory for memory, _ in itertools.groupby(x.memory if isinstance(x, Node) else None for x in items)]
    rects = [rect for rect in root.iter(f"{SVG}rect") if rect.get("class") in ("box", "mac")]
    assert len(rects) == sum(memory is not None for memory in groups) + 1
    frames = [rect for rect in root.iter(f"{SVG}rect") if rect.get("class") == "frame"]
    assert len(frames) >= len(e.arch.fanouts)
    for fanout in e.arch.fanouts if name != "long names" else ():
        assert any(text.startswith(f"{fanout.name}  ") and " of " in text for text in texts)
    kept = len(e.mapping.nest.nodes)
    assert sum(text[:1].isdigit() and text.endswith((" word", " words")) for text in texts) == kept
    for rect in rects:  # texts of a box stay in it
        x, y, width, height = (float(rect.get(key, "")) for key in ("x", "y", "width", "height"))
        inside = [box for box in boxes(root) if x <= box[1] < x + width and y <= box[3] < y + height]
        assert inside
        for words, _, right, _, bottom in inside:
            assert right <= x + width, words
            assert bottom <= y + height, words


@pytest.mark.parametrize("name", CASES)
def test_a_mark_for_every_effect(name: str) -> None:
    root = drawn(name)
    kinds = [effect.kind for role in case(name).loops for effect in role.effects]
    polygons = [polygon.get("class") or "" for polygon in root.iter(f"{SVG}polygon")]
    rings = [circle for circle in root.iter(f"{SVG}circle") if "hollow" in (circle.get("class") or "")]
    grounds = [rect for rect in root.iter(f"{SVG}rect") if rect.get("class") == "ground"]
    again = sum(kind.endswith("hollow") for kind in polygons)
    assert (len(polygons) - again - 1, again - 1, len(rings) - 1) == tuple(
        kinds.count(kind) for kind in ("moves", "again", "stays")
    )
    assert len(grounds) - 3 == sum(kinds.count(kind) for kind in ("split", "shared", "apart"))


def test_bars_are_logarithmic_and_parts_to_scale() -> None:
    e = case("eyeriss")
    root = drawn("eyeriss")
    bars = [rect for rect in root.iter(f"{SVG}rect") if rect.get("height") == "9"]
    lengths = [float(bar.get("width", "")) for bar in bars]
    words = [t.tile_words for t in e.cost.traffic if t.tile_words]
    assert sorted(zip(words, lengths, strict=True)) == sorted(zip(sorted(words), sorted(lengths), strict=True))
    assert max(lengths) == 130


def test_idle_instances_are_hollow() -> None:
    mapping = Mapping(tw.gemm(4, 4, 13), tw.LoopNest.parse(
        "DRAM keeps A W O\nGLB keeps A O\nparallel K in 13 on array.x\nspad keeps A W O\nfor M in 4\nfor N in 4"
    ))  # fmt: skip
    text = explained(mapping, load_arch("eyeriss")).svg()
    squares = {
        path.get("class"): (path.get("d") or "").count("M") for path in ElementTree.fromstring(text).iter(f"{SVG}path")
    }
    assert squares == {"cell": 11 * 1, "idle": 12 * 12 - 11}  # 13 of 14 columns, one of 12 rows: of 12 x 12 cells


def test_texts_are_escaped() -> None:
    e = case("eyeriss")
    arch = e.arch.model_copy(update={"name": "a<b>&\x00" + "x" * 200})
    texts = [text.text for text in ElementTree.fromstring(explained(e.mapping, arch).svg()).iter(f"{SVG}text")]
    assert (texts[0] or "").startswith("conv2d on a<b>&?")
    assert (texts[0] or "").endswith("...")


def test_the_picture_of_the_documentation_is_up_to_date() -> None:
    found = tw.search("resnet50:layer1.0.conv2", "eyeriss", "edp", "ragged")
    path = Path(__file__).parents[3] / "docs" / "pictures" / "nest.svg"
    assert path.read_text(encoding="utf-8") == explained(found.mapping, found.arch).svg()
