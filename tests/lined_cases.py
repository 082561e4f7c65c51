"""Machines with lines, banks and layouts for brute force over mappings and layouts, and small problems for them."""

from __future__ import annotations

import itertools
import math
import random
from functools import cache

import brute_force
from generators import random_architecture, random_problem
from tilewright.arch import Architecture, Memory
from tilewright.cost_models.cost import held_width_bits
from tilewright.cost_models.layouts import parse_layout, rank_names
from tilewright.cost_models.layouts.lines import laid_out
from tilewright.ir import Problem

MOST_MAPPINGS = 250
"""Mappings that the oracle tries per case at most, once for every layout."""


def lined(rng: random.Random, arch: Architecture) -> Architecture:
    """The machine with lines in some of its memories."""
    levels = [
        level.model_copy(update={"line_bits": arch.word_bits * rng.choice([1, 2, 3, 4])})
        if isinstance(level, Memory) and (rng.random() < 0.6 or level is arch.memories[0])
        else level
        for level in arch.levels
    ]
    return arch.model_copy(update={"levels": tuple(levels)})


def banked(rng: random.Random, arch: Architecture) -> Architecture:
    """The machine with its lines in banks."""
    levels = [
        level.model_copy(update={"banks": rng.choice([1, 2, 3, 4]), "bank_ports": rng.choice([1, 1, 2])})
        if isinstance(level, Memory) and level.line_bits
        else level
        for level in arch.levels
    ]
    return arch.model_copy(update={"levels": tuple(levels)})


def orders(problem: Problem, name: str) -> list[str]:
    """All orders of a tensor's ranks, as texts."""
    names = [rank[0] for rank in rank_names(problem.tensor(name))]
    return [",".join(order) if len(order) > 1 else order[0] for order in itertools.permutations(names)]


def different_layouts(problem: Problem, arch: Architecture, memory: Memory, name: str) -> list[str]:
    """Orders of a tensor's ranks with blocks inside them for which a line has room: one text for each way in which
    words may lie then."""
    of, width = problem.tensor(name), held_width_bits(arch, memory, problem.tensor(name))
    names = [rank[0] for rank in rank_names(of)]
    found: dict[object, str] = {}
    for order in orders(problem, name):
        for words in itertools.product(*(range(1, extent + 1) for extent in problem.extents(of.name))):
            if math.prod(words) * width <= (memory.line_bits or 0):
                blocks = [f"{rank}{count}" for rank, count in zip(names, words, strict=True) if count > 1]
                text = ",".join([order, *blocks])
                found.setdefault(laid_out(arch, memory, problem, of, parse_layout(of, text), width), text)
    return list(found.values())


def stated(arch: Architecture, layouts: dict[tuple[str, str], str]) -> Architecture:
    """The machine with layouts by memory and tensor."""
    levels = [
        level.model_copy(update={"layouts": {t: text for (m, t), text in layouts.items() if m == level.name}})
        if isinstance(level, Memory)
        else level
        for level in arch.levels
    ]
    return arch.model_copy(update={"levels": tuple(levels)})


@cache
def case_of(seed: int) -> tuple[Problem, Architecture, bool]:
    """A problem, a machine with lines, and whether tiles may be ragged, with few mappings."""
    rng = random.Random(seed)
    while True:
        problem = random_problem(rng, 3)
        arch = random_architecture(rng, memories=rng.randint(0, 2), capacity=24)
        ragged = rng.random() < 0.5
        few = problem.macs <= 200 and brute_force.count(problem, arch, ragged, MOST_MAPPINGS) < MOST_MAPPINGS
        if few and (seed % 3 or arch.fanouts):
            return problem, lined(rng, arch), ragged
