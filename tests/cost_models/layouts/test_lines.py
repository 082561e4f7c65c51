"""Lines that transfers touch: closed forms against a walk that looks at the lines of every transfer."""

from __future__ import annotations

import random
from functools import cache

import pytest
from line_walk import walk_lines

import longer
from generators import random_architecture, random_mapping, random_problem
from tilewright.arch import Architecture, Memory, load_arch
from tilewright.cost_models import count_words, evaluate
from tilewright.cost_models.boundaries import boundaries_of
from tilewright.cost_models.closed_form import Nest
from tilewright.cost_models.cost import held_width_bits
from tilewright.cost_models.layouts import Arrangement, count_lines
from tilewright.cost_models.layouts.choices import with_layouts as laid_out
from tilewright.cost_models.layouts.lines import LaidOut, count_layouts
from tilewright.ir import LoopNest, Mapping, Problem, Tensor
from tilewright.workloads import gemm


def with_lines(
    rng: random.Random, arch: Architecture, words: tuple[int, ...] = (1, 2, 3, 4, 8), share: float = 0.8
) -> Architecture:
    """The machine with lines of a few words in most of its memories."""
    levels = [
        level.model_copy(update={"line_bits": arch.word_bits * rng.choice(words), **random_banks(rng)})
        if isinstance(level, Memory) and rng.random() < share
        else level
        for level in arch.levels
    ]
    return arch.model_copy(update={"levels": tuple(levels)})


def random_banks(rng: random.Random) -> dict[str, int]:
    """Banks of a memory with lines, or none."""
    return {"banks": rng.choice([1, 2, 3, 4, 8]), "bank_ports": rng.choice([1, 1, 2])} if rng.random() < 0.7 else {}


def random_layout(rng: random.Random, tensor: Tensor) -> str:
    """An order of the ranks by the first of their dimensions, and up to two inner blocks."""
    names = [rank[0][0] for rank in tensor.ranks]
    rng.shuffle(names)
    blocks = [f"{rng.choice(names)}{rng.choice([2, 3, 4])}" for _ in range(rng.choice([0, 0, 1, 2]))]
    return ",".join([*names, *blocks, ""][:-1]) if len(names) + len(blocks) > 1 else names[0]


def with_layouts(rng: random.Random, problem: Problem, arch: Architecture) -> Architecture:
    """The machine with layouts of some tensors in its memories."""
    levels = [
        level.model_copy(
            update={"layouts": {t.name: random_layout(rng, t) for t in problem.tensors if rng.random() < 0.7}}
        )
        if isinstance(level, Memory)
        else level
        for level in arch.levels
    ]
    return arch.model_copy(update={"levels": tuple(levels)})


@cache
def random_case(seed: int) -> tuple[Mapping, Architecture]:
    rng = random.Random(seed)
    problem, arch = random_problem(rng), random_architecture(rng, reuse="across_levels" if seed % 3 else "at_node")
    mapping = random_mapping(rng, problem, arch, ragged=rng.random() < 0.8)
    switches = {"inner_drain_read": rng.random() < 0.7, "first_read_elision": rng.random() < 0.8}
    lined = with_lines(rng, arch.model_copy(update=switches))
    wide = seed % 2 and all(memory.line_bits is None or memory.line_bits > arch.word_bits for memory in lined.memories)
    sums = lined.model_copy(update={"partial_sum_bits": 2 * arch.word_bits}) if wide else lined
    return mapping, with_layouts(rng, problem, sums)


@pytest.mark.parametrize("seeds", longer.blocks(400, 50))
def test_closed_form_equals_walk(seeds: range) -> None:
    for seed in seeds:
        mapping, arch = random_case(seed)
        expected = walk_lines(mapping, arch, held_width_bits)
        found = count_lines(mapping, arch, held_width_bits)
        assert found.total == expected.total, f"seed {seed}\n{mapping}"
        assert found.busiest == expected.busiest, f"seed {seed}\n{mapping}"
        assert found.banks == expected.banks, f"seed {seed}\n{mapping}"


@pytest.mark.long
def test_lines_of_first_tiles_are_those_of_a_walk() -> None:
    for seed in range(150):
        mapping, arch = random_case(seed)
        arch = arch.model_copy(update={"latency": "with_fill"})
        expected = walk_lines(mapping, arch, held_width_bits).first
        assert count_lines(mapping, arch, held_width_bits).first == expected, f"seed {seed}\n{mapping}"


def test_first_tiles_take_as_long_as_their_lines() -> None:
    """A row of a matrix that lies by columns, in lines of eight words, takes eight times as long before work begins."""
    nest = "DRAM keeps A W O\nfor M in 8\n  GLB keeps A\n  for K in 64\n    RF keeps A W O"
    mapping, machine = Mapping(gemm(8, 1, 64), LoopNest.parse(nest)), {"latency": "with_fill"}
    machine |= {"DRAM.bandwidth": "64 B/cycle", "GLB.bandwidth": "1 kB/cycle"}
    rows, lined = (load_arch("three_level", machine | more) for more in ({}, {"DRAM.line": "8 B"}))
    columns = laid_out(lined, mapping.problem, {"A": "column-major"})
    filled = [evaluate(mapping, arch).fill_cycles for arch in (rows, lined, columns)]
    assert filled[1] == filled[0]
    assert filled[2] - filled[1] == pytest.approx(64 * (8 - 1) / 64)


@pytest.mark.long
def test_layouts_counted_together_are_those_counted_alone() -> None:
    """Where no step moves a tile of a rank, its lines of all lengths are counted at once."""
    for seed in range(100):
        (mapping, arch), rng = random_case(seed), random.Random(seed)
        nest, boundaries = Nest.of(mapping, arch), boundaries_of(mapping, arch)
        for memory in (memory for memory in arch.memories if memory.line_bits is not None):
            for tensor in mapping.problem.tensors:
                boxes = [tuple(rng.randint(1, 9) for _ in tensor.ranks) for _ in range(4)]
                ways = [LaidOut(one, one) for one in (Arrangement(box, (1,) * len(box)) for box in boxes)]
                together = count_layouts(nest, boundaries, memory, tensor, ways)
                alone = [count_layouts(nest, boundaries, memory, tensor, [way]) for way in ways]
                assert (together is None) == (alone[0] is None)
                if together is not None:
                    for i, one in enumerate(alone):
                        assert one is not None
                        assert together.total.of(i) == one.total.of(0), f"seed {seed}\n{mapping}"
                        assert together.busiest.of(i) == one.busiest.of(0), f"seed {seed}\n{mapping}"


def test_lines_of_one_word_are_words() -> None:
    for seed in longer.seeds(60):
        mapping, arch = random_case(seed)
        arch = with_lines(random.Random(seed), arch, words=(1,), share=1).model_copy(update={"partial_sum_bits": None})
        words, lines = count_words(mapping, arch), count_lines(mapping, arch, held_width_bits)
        for key, accesses in words.total.items():
            found = lines.total[key]
            assert found.supplied + found.drained == accesses.reads
            assert found.collected + found.filled == accesses.writes
