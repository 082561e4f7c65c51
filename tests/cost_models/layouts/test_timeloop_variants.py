"""Variants of the layout runs of Timeloop (`timeloop_layout_checks.jsonl`), against walks of a few lines written here.

Two kinds: windows laid end to end as its checks take them, with words and lines a little longer and shorter; and the
product of its runs, 32 x 16 x 32 in tiles of 16 x 16 x 16 over 4 x 4 MACs, whose transfers are taken one by one.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from test_timeloop_layouts import at_alignments

from tilewright.arch import load_arch
from tilewright.cost_models.cost import held_width_bits
from tilewright.cost_models.layouts import count_lines
from tilewright.ir import LoopNest
from tilewright.ir import Mapping as MappedProblem
from tilewright.workloads import gemm

GOLDEN = Path(__file__).parents[2] / "golden" / "timeloop_layout_checks.jsonl"

Index = dict[str, int]
Box = tuple[range, range]
TENSORS = {"A": "MK", "W": "KN", "O": "MN"}
SIZES = {"M": 32, "N": 16, "K": 32}
TILE = {"M": 16, "N": 16, "K": 16}


def windows_of_runs() -> list[tuple[int, int]]:
    """(words, words of a line) along single ranks of the runs, and their neighbours."""
    checks = (json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines())
    known = {(words, per_line) for check in checks for words, per_line, *_ in check["ranks"].values()}
    near = {(w + i, b + j) for w, b in known for i, j in itertools.product((-1, 0, 1, 5), repeat=2)}
    return sorted((words, per_line) for words, per_line in near if words > 0 and per_line > 0)


def test_windows_near_those_of_the_runs() -> None:
    for words, per_line in windows_of_runs():
        count = per_line // math.gcd(words, per_line)
        tape = [place // per_line for place in range(words * count)]
        walked = [len({*tape[k * words : (k + 1) * words]}) for k in range(count)]
        assert sorted(walked) == sorted(at_alignments(words, per_line)), (words, per_line)


def line_of(tensor: str, per_line: int, layout: str) -> tuple[int, int]:
    """Words along both ranks that a line holds: of the last rank of its layout, and of the other one what is left."""
    near, far = (1, 0) if layout == "row-major" else (0, 1)
    box = [1, 1]
    box[near] = min(per_line, SIZES[TENSORS[tensor][near]])
    box[far] = min(max(per_line // SIZES[TENSORS[tensor][near]], 1), SIZES[TENSORS[tensor][far]])
    return box[0], box[1]


def lines_in(box: Box, line: tuple[int, int]) -> set[tuple[int, int]]:
    return {(i // line[0], j // line[1]) for i in box[0] for j in box[1]}


def settings(loops: list[tuple[str, int]], tile: Mapping[str, int]) -> Iterator[Index]:
    """Where the tile of every dimension begins, step by step; loops outermost first."""
    steps, covered = {}, dict(tile)
    for place, (dim, trips) in reversed(list(enumerate(loops))):
        steps[place] = covered[dim]
        covered[dim] *= trips
    for values in itertools.product(*(range(trips) for _, trips in loops)):
        begin = dict.fromkeys(SIZES, 0)
        for place, value in enumerate(values):
            begin[loops[place][0]] += value * steps[place]
        yield begin


def walked_dram(outer: list[tuple[str, int]], lines: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """(lines read, lines written) of the outermost memory: a tile that is not the one before comes in, but sums that
    have not been there, and sums go out."""
    found = {}
    for tensor, dims in TENSORS.items():
        read = written = 0
        before, visited = None, set()
        for begin in settings(outer, TILE):
            box = tuple(range(begin[d], begin[d] + TILE[d]) for d in dims)
            if box == before:
                continue
            touched = len(lines_in((box[0], box[1]), lines[tensor]))
            written += touched if tensor == "O" else 0
            read += touched if tensor != "O" or box in visited else 0
            visited.add(box)
            before = box
        found[tensor] = read, written
    return found


def walked_glb(
    outer: list[tuple[str, int]], inner: list[tuple[str, int]], lines: Mapping[str, tuple[int, int]]
) -> dict[str, int]:
    """Lines of operands that all MACs ask for together, step by step: 4 along M, 4 along K."""
    found = dict.fromkeys("AW", 0)
    for tile in settings(outer, TILE):
        for step in settings(inner, {"M": 4, "N": 1, "K": 4}):
            ms, ks = (range(tile[d] + step[d], tile[d] + step[d] + 4) for d in "MK")
            ns = range(tile["N"] + step["N"], tile["N"] + step["N"] + 1)
            found["A"] += len(lines_in((ms, ks), lines["A"]))
            found["W"] += len(lines_in((ks, ns), lines["W"]))
    return found


@pytest.mark.some(5)
@pytest.mark.parametrize("outer", [*itertools.permutations([("M", 2), ("K", 2)])])
@pytest.mark.parametrize("inner", [[("N", 16), ("M", 4), ("K", 4)], [("K", 4), ("M", 4), ("N", 16)]])
@pytest.mark.parametrize("per_line", [3, 5, 12, 16, 20, 64])
def test_the_product_of_the_runs(outer: list[tuple[str, int]], inner: list[tuple[str, int]], per_line: int) -> None:
    loops = [f"for {dim} in {trips}" for dim, trips in outer]
    loops += ["GLB keeps A W O", *(f"for {dim} in {trips}" for dim, trips in inner)]
    text = "\n".join(["DRAM keeps A W O", *loops, "parallel M in 4 on array.y", "parallel K in 4 on array.x"])
    mapping = MappedProblem(gemm(32, 16, 32), LoopNest.parse(text))
    for layouts in itertools.product(("row-major", "column-major"), repeat=3):
        stated = dict(zip(TENSORS, layouts, strict=True))
        changes = {f"{memory}.line": f"{8 * per_line} bit" for memory in ("DRAM", "GLB")}
        arch = load_arch("three_level", changes)
        levels = [
            level.model_copy(update={"layouts": stated}) if level in arch.memories and level.line_bits else level
            for level in arch.levels
        ]
        total = count_lines(mapping, arch.model_copy(update={"levels": tuple(levels)}), held_width_bits).total
        lines = {tensor: line_of(tensor, per_line, layout) for tensor, layout in stated.items()}
        for tensor, (read, written) in walked_dram(outer, lines).items():
            counted = total["DRAM", tensor]
            assert (counted.supplied, counted.collected) == (read, written), (tensor, stated)
        for tensor, read in walked_glb(outer, inner, lines).items():
            assert total["GLB", tensor].supplied == read, (tensor, stated)
