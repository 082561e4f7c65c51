"""Lines in closed form against the walk that lays words into them, and both against lines worked out by hand."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter

import pytest

from generators import memory, random_architecture, random_mapping, random_problem, tensor
from longer import blocks
from tilewright.arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from tilewright.cost_models import count_words
from tilewright.cost_models.layouts import (
    Layout,
    LayoutDigit,
    LineAccesses,
    count_lines,
    parse_layouts,
    walk_lines,
)
from tilewright.cost_models.layouts.layout import shape_of
from tilewright.cost_models.layouts.parsing import parse_layout
from tilewright.cost_models.layouts.walk import words_in_lines
from tilewright.ir import Axis, Loop, LoopNest, Mapping, Node, Problem, Tensor

LineCase = tuple[Mapping, Architecture, dict[tuple[str, str], Layout]]


def random_layout(rng: random.Random, of: Tensor) -> Layout:
    digits = [LayoutDigit(rank) for rank in rng.sample(range(len(of.ranks)), len(of.ranks))]
    for _ in range(rng.choice([0, 0, 1, 2])):
        rank = rng.randrange(len(of.ranks))
        digits.insert(
            rng.randint(digits.index(LayoutDigit(rank)) + 1, len(digits)), LayoutDigit(rank, rng.randint(1, 4))
        )
    return Layout(tuple(digits))


def random_case(seed: int) -> LineCase:
    rng = random.Random(seed)
    problem = random_problem(rng)
    arch = random_architecture(rng, reuse=rng.choice(["across_levels", "across_levels", "at_node"]))
    switches = {
        "inner_drain_read": rng.random() < 0.7,
        "first_read_elision": rng.random() < 0.8,
        "footprint": rng.choice(["exact", "box"]),
        "levels": tuple(
            level.model_copy(update={"line_bits": 8 * rng.randint(3, 12)}) if isinstance(level, Memory) else level
            for level in arch.levels
        ),
    }
    arch = arch.model_copy(update=switches)
    mapping = random_mapping(rng, problem, arch, ragged=rng.random() < 0.8)
    keys = [(m.name, t.name) for m in arch.memories for t in problem.tensors if rng.random() < 0.8]
    return mapping, arch, {(m, t): random_layout(rng, problem.tensor(t)) for m, t in keys}


@pytest.mark.parametrize("seeds", blocks(120, 30), ids=str)
def test_closed_form_equals_the_walk(seeds: range) -> None:
    for seed in seeds:
        mapping, arch, layouts = random_case(seed)
        expected, found = walk_lines(mapping, arch, layouts), count_lines(mapping, arch, layouts)
        for table, other in ((found.total, expected.total), (found.busiest, expected.busiest)):
            nothing = LineAccesses()
            assert {key: lines for key, lines in table.items() if lines != nothing} == other, f"seed {seed}\n{mapping}"


@pytest.mark.parametrize("seed", range(60))
def test_lines_hold_boxes(seed: int) -> None:
    """Words lie in one line if they lie in one line along every rank; no line holds more than it has room for."""
    rng = random.Random(seed)
    of = rng.choice(random_problem(rng).tensors)
    shape, room = tuple(rng.randint(1, 6) for _ in of.ranks), rng.randint(1, 20)
    layout = random_layout(rng, of)
    places = words_in_lines(layout, shape, room)
    assert set(places) == set(itertools.product(*map(range, shape)))
    assert len(set(places.values())) == len(places)
    assert all(place < room for _, place in places.values())
    ranks = layout.lines(shape, room)
    boxes: dict[tuple[int, ...], set[int]] = {}
    for index, (line, _) in places.items():
        box = tuple(rank.number(place) for rank, place in zip(ranks, index, strict=True))
        boxes.setdefault(box, set()).add(line)
    assert all(len(lines) == 1 for lines in boxes.values())
    assert len(boxes) == len({line for line, _ in places.values()})


@pytest.mark.parametrize("seed", range(40))
def test_lines_carry_their_words(seed: int) -> None:
    """Lines have room for all words that pass; a line of one word is passed once for each."""
    mapping, arch, layouts = random_case(seed)
    single = arch.model_copy(
        update={
            "levels": tuple(
                each.model_copy(update={"line_bits": 8}) if isinstance(each, Memory) else each for each in arch.levels
            )
        }
    )
    words = count_words(mapping, arch)
    for key, lines in count_lines(mapping, arch, layouts).total.items():
        room = next(m for m in arch.memories if m.name == key[0]).line_bits // 8  # type: ignore[operator]
        assert words.total[key].reads <= lines.reads * room
        assert words.total[key].writes <= lines.writes * room
    for key, lines in count_lines(mapping, single, layouts).total.items():
        assert (lines.reads, lines.writes) == (words.total[key].reads, words.total[key].writes)


# ---- by hand ------------------------------------------------------------------------------------------------------

IMAGE = Problem(
    "image",
    (("C", 3), ("H", 3), ("W", 3)),
    (tensor("I", "input", "C", "H", "W"), tensor("O", "output", "C", "H", "W")),
)


@pytest.mark.parametrize(
    ("text", "strides"),
    [("HWC", {"H": 9, "W": 3, "C": 1}), ("CHW", {"C": 9, "H": 3, "W": 1})],
)
def test_an_image_of_three_by_three_by_three(text: str, strides: dict[str, int]) -> None:
    """Element orders of a small image: channels last, neighbours along W stand 3 words apart; channels first, 1."""
    image = IMAGE.tensor("I")
    layout = parse_layout(text, image, IMAGE, "here")
    shape = shape_of(image, IMAGE)
    names = [image.ranks[digit.rank][0][0] for digit in layout.digits]
    assert dict(zip(names, layout.strides(shape), strict=True)) == strides
    places = words_in_lines(layout, shape, 27)
    order = [index for index, _ in sorted(places.items(), key=lambda item: item[1])]
    first = [(0, 0, 0), (1, 0, 0), (2, 0, 0), (0, 0, 1)] if text == "HWC" else [(0, 0, 0), (0, 0, 1), (0, 0, 2)]
    assert order[: len(first)] == first
    lines = layout.lines(shape, 3)
    pixel = math.prod(rank.touched(0, words) for rank, words in zip(lines, (3, 1, 1), strict=True))
    assert pixel == (1 if text == "HWC" else 3)


def test_blocks_that_do_not_divide_are_filled_up() -> None:
    """20 channels in blocks of 16 take two blocks: 12 places of the second stay empty."""
    problem = Problem("wide", (("C", 20), ("W", 5)), (tensor("I", "input", "C", "W"), tensor("O", "output", "C", "W")))
    layout = parse_layout("CW16c", problem.tensor("I"), problem, "here")
    assert layout.extents((20, 5)) == (2, 5, 16)
    assert layout.strides((20, 5)) == (80, 16, 1)
    places = words_in_lines(layout, (20, 5), 16)
    assert len({line for line, _ in places.values()}) == 10
    fill = Counter(line for line, _ in places.values())
    assert sorted(fill.values()) == [4] * 5 + [16] * 5


def product_mapping(*, spread: bool) -> tuple[Mapping, Architecture]:
    """A 2 x 8 product with 8 K, from a memory straight to the MACs: one, or 8 along K."""
    tensors = (tensor("A", "input", "M", "K"), tensor("B", "weight", "K", "N"), tensor("O", "output", "M", "N"))
    problem = Problem("product", (("M", 2), ("N", 1), ("K", 8)), tensors)
    levels: list[Memory | Fanout] = [memory("DRAM", line_bits=32, keeps=Keeps())]
    levels += [Fanout(name="array", axes=(ArrayAxis(size=8),))] if spread else []
    arch = Architecture(name="flat", clock_hz=1e9, word_bits=8, levels=tuple(levels), mac=Mac(energy_pj=1.0))
    nodes = tuple(Node("DRAM", t.name) for t in tensors)
    inner = Loop("K", 8, Axis("array") if spread else None)
    return Mapping(problem, LoopNest((*nodes, Loop("M", 2), inner))), arch


@pytest.mark.parametrize(("spread", "text", "reads"), [(False, "MK", 16), (True, "MK", 4), (True, "KM", 8)])
def test_what_is_asked_for_together_shares_lines(spread: bool, text: str, reads: int) -> None:
    """One MAC reads a line for every word; 8 along K read 2 lines of 4 words a step, or 4 across (2 words each)."""
    mapping, arch = product_mapping(spread=spread)
    layouts = parse_layouts([f"A={text}"], mapping.problem, arch)
    assert count_lines(mapping, arch, layouts).total["DRAM", "A"].reads == reads
    assert walk_lines(mapping, arch, layouts).total["DRAM", "A"].reads == reads
