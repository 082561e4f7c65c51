"""Lines that trees touch: the closed form against a walk that looks at the lines of every transfer."""

from __future__ import annotations

import random

import pytest

import tilewright as tw
from generators import random_architecture
from longer import TIMES
from tilewright.arch import Architecture, load_arch
from tilewright.cost_models.cascades import evaluate_tree, ways_of, with_tree_layouts
from tilewright.cost_models.cascades.lines import lines_of_way
from tilewright.cost_models.cascades.simulator import walk_tree_lines
from tilewright.ir import Cascade, FusedMapping, MappingError, TilewrightError
from trees import random_cascade, random_tree

PAIR = ["T[m,n] += A[m,k] * B[k,n]", "O[m,p] += T[m,n] * C[n,p]"]


def with_lines(rng: random.Random, arch: Architecture, cascade: Cascade) -> Architecture:
    """The machine with lines and random orders of ranks in its memories without bounds."""
    levels = []
    for level in arch.levels:
        if level in arch.memories and level.size_bits is None and rng.random() < 0.8:
            banks = {"banks": rng.choice([2, 3, 4])} if rng.random() < 0.3 else {}
            level = level.model_copy(update={"line_bits": arch.word_bits * rng.choice([2, 3, 4, 8]), **banks})
        levels.append(level)
    machine = arch.model_copy(update={"levels": tuple(levels)})
    given = {}
    for memory in (memory for memory in machine.memories if memory.line_bits):
        for name in {t.name for o in cascade for t in o.problem.tensors}:
            given[f"{memory.name}.{name}"] = rng.choice(["row-major", "column-major"])
    return with_tree_layouts(machine, cascade, given) if given else machine


def case_of(seed: int) -> tuple[FusedMapping, Architecture]:
    rng = random.Random(seed)
    arch = random_architecture(rng)
    cascade = random_cascade(rng, largest=4)
    tree = random_tree(rng, cascade, arch)
    return tree, with_lines(rng, arch, cascade)


@pytest.mark.parametrize("block", range(4))
def test_lines_of_trees_are_those_of_a_walk(block: int) -> None:
    counted = 0
    for seed in range(block, 160 * TIMES, 4):
        tree, arch = case_of(seed)
        try:
            ways = ways_of(tree, arch)
        except MappingError:
            continue
        expected = walk_tree_lines(tree, arch)
        for name, way in ways.items():
            found = lines_of_way(way, tree.cascade, arch)
            assert found.total == expected[name].total, f"seed {seed}\n{tree}"
            assert found.busiest == expected[name].busiest, f"seed {seed}\n{tree}"
            assert found.banks == expected[name].banks, f"seed {seed}\n{tree}"
        counted += any(memory.line_bits for memory in arch.memories)
    assert counted > 10
