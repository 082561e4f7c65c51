"""Lines as boxes of words, against words that are laid into lines one after the other."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict

import pytest

import longer
from generators import memory, random_problem, tensor
from tilewright.cost_models.layouts import Layout, line_box, parse_layout
from tilewright.ir import Problem, Tensor, TilewrightError

Place = tuple[int, ...]


def laid_out(layout: Layout, of: Tensor, extents: Place, room: int) -> dict[Place, int]:
    """The line of every word, by its index along each rank, in lines with room for so many words.

    Words follow one another as the layout says, padding included. Those of the inner ranks that fit in whole stay
    together; of the next one, as many as there is room for, or of a block equal parts; then a new line begins.
    """
    counts, inside = [], [1] * len(extents)
    for rank, block in reversed(layout.digits(of)):
        counts.insert(0, (rank, block or -(-extents[rank] // inside[rank]), block is not None))
        inside[rank] *= counts[0][1]
    split, together = len(counts), 1
    while split and together * counts[split - 1][1] <= room:
        split -= 1
        together *= counts[split][1]
    _, steps, is_block = counts[split - 1] if split else (0, 1, False)
    fitting = [n for n in range(1, steps + 1) if n * together <= room and (steps % n == 0 or not is_block)]
    found: dict[Place, int] = {}
    line = -1
    for outer in itertools.product(*(range(count) for _, count, _ in counts[:split])):
        line += not outer or outer[-1] % max(fitting) == 0
        for inner in itertools.product(*(range(count) for _, count, _ in counts[split:])):
            index = [0] * len(extents)
            for (rank, count, _), value in zip(counts, (*outer, *inner), strict=True):
                index[rank] = index[rank] * count + value
            if all(at < extent for at, extent in zip(index, extents, strict=True)):
                found[tuple(index)] = line
    return found


@pytest.mark.parametrize("seed", longer.seeds(200))
def test_words_share_a_line_where_they_share_a_box(seed: int) -> None:
    rng = random.Random(seed)
    problem = random_problem(rng)
    of = rng.choice(problem.tensors)
    ranks = rng.sample(range(len(of.ranks)), len(of.ranks))
    blocks = tuple((rng.choice(ranks), rng.choice([2, 3, 4])) for _ in range(rng.choice([0, 0, 1, 2])))
    layout, room = Layout(tuple(ranks), blocks), rng.randint(1, 20)
    extents = problem.extents(of.name)
    box = line_box(memory("L", line_bits=8 * room), problem, of, layout, 8)
    lines = defaultdict(set)
    for index, line in laid_out(layout, of, extents, room).items():
        lines[tuple(at // per_line for at, per_line in zip(index, box, strict=True))].add(line)
    assert all(len(found) == 1 for found in lines.values())
    assert len(set.union(*lines.values())) == len(lines)


IMAGE = Problem(
    "image",
    (("C", 3), ("H", 3), ("W", 3)),
    (tensor("I", "input", "C", "H", "W"), tensor("O", "output", "C", "H", "W")),
)


@pytest.mark.parametrize(("text", "strides"), [("HWC", (1, 9, 3)), ("CHW", (9, 3, 1)), ("row-major", (9, 3, 1))])
def test_an_image_of_three_by_three_by_three(text: str, strides: Place) -> None:
    """Element orders of a small image: with channels last, neighbours along W stand three words apart."""
    image = IMAGE.tensor("I")
    layout, extents = parse_layout(image, text), IMAGE.extents(image.name)
    neighbours = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    assert tuple(layout.address(image, extents, place) for place in neighbours) == strides
    places = itertools.product(range(3), repeat=3)
    assert sorted(layout.address(image, extents, place) for place in places) == list(range(27))


CONVOLUTION = Problem(
    "conv",
    (("N", 1), ("K", 64), ("C", 20), ("P", 8), ("Q", 8), ("R", 3), ("S", 3)),
    (
        tensor("I", "input", "N", "C", {"P": 1, "R": 1}, {"Q": 1, "S": 1}),
        tensor("W", "weight", "K", "C", "R", "S"),
        tensor("O", "output", "N", "K", "P", "Q"),
    ),
)


@pytest.mark.parametrize(
    ("text", "order", "blocks"),
    [
        ("NHWC", (0, 2, 3, 1), ()),
        ("NCHW16c", (0, 1, 2, 3), ((1, 16),)),
        ("nchw16c", (0, 1, 2, 3), ((1, 16),)),
        ("NCHW8h16c", (0, 1, 2, 3), ((2, 8), (1, 16))),
        ("HWC_C32", (0, 2, 3, 1), ((1, 32),)),
        ("HWC_C4W8", (0, 2, 3, 1), ((1, 4), (3, 8))),
        ("C32", None, ((1, 32),)),
    ],
)
def test_the_names_that_frameworks_give(text: str, order: Place | None, blocks: tuple[Place, ...]) -> None:
    for name in ("I", "O"):
        assert parse_layout(CONVOLUTION.tensor(name), text) == Layout(order, blocks)


def test_a_block_that_does_not_divide_is_padded() -> None:
    """20 channels in blocks of 16: the second block of a pixel has 4, and a line of its own."""
    image = CONVOLUTION.tensor("I")
    layout, extents = parse_layout(image, "NCHW16c"), CONVOLUTION.extents(image.name)
    lines = laid_out(layout, image, extents, 16)
    assert len(set(lines.values())) == 2 * 10 * 10
    assert layout.address(image, extents, (0, 16, 0, 0)) == 10 * 10 * 16


@pytest.mark.parametrize("text", ["NHWX", "NHWCC", "NCHW0c", "16", "", "NH?C"])
def test_what_is_no_layout_is_refused(text: str) -> None:
    with pytest.raises(TilewrightError, match="layout"):
        parse_layout(CONVOLUTION.tensor("I"), text)
