"""Mappings for the tests of emitted programs, with small integers as operands and the output that they must give."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from generators import memory, random_architecture, random_mapping, random_problem, tensor
from point_by_point import computed, shape_of
from tilewright.arch import Architecture, Keeps, Mac, Reuse
from tilewright.cost_models import count_words
from tilewright.ir import LoopNest, Mapping, MappingError, Problem, Tensor
from tilewright.mapper.emit import Element
from tilewright.mapper.emit.lowering.lowering import lower

NUMPY = {"float": np.float32, "double": np.float64, "int32": np.int32}


@dataclass(frozen=True)
class Case:
    mapping: Mapping
    arch: Architecture
    operands: list[np.ndarray]
    expected: np.ndarray
    element: Element
    copied: list[str] | None = None

    @property
    def options(self) -> dict[str, Any]:
        return {"element": self.element, "copied": self.copied}


def case_of(mapping: Mapping, arch: Architecture, seed: int = 0, copied: list[str] | None = None) -> Case:
    """Small integers, which floats hold exactly, and their sums too."""
    problem, rng = mapping.problem, np.random.default_rng(seed)
    element: Element = get_args(Element)[seed % 3]
    operands = [rng.integers(-4, 5, shape_of(problem, t)) for t in problem.operands]
    expected = computed(problem, operands).astype(NUMPY[element])
    return Case(mapping, arch, [o.astype(NUMPY[element]) for o in operands], expected, element, copied)


def random_case(seed: int) -> Case:
    """A random mapping that the architecture allows, every other one with loops over instances; a third of them copy
    only what some memories keep."""
    for attempt in range(100):
        rng = random.Random(seed * 100 + attempt)
        problem, arch = random_problem(rng, largest=4), random_architecture(rng)
        names = [m.name for m in arch.memories]
        copied = rng.choice([None, None, rng.sample(names, rng.randint(0, len(names)))])
        try:
            mapping = random_mapping(rng, problem, arch)
            lower(mapping, arch)
        except MappingError:
            continue
        if seed % 2 == 0 or any(loop.is_spatial for loop in mapping.nest.loops):
            return case_of(mapping, arch, seed, copied)
    raise AssertionError("no mapping found")


def plain_cases() -> list[Case]:
    """What random problems do not have: outputs without axes, axes without dimensions, nests without loops."""
    arch = Architecture(
        name="plain",
        clock_hz=1e9,
        word_bits=8,
        levels=(memory("DRAM"), memory("L1", keeps=Keeps(input="may", weight="may", output="may"))),
        mac=Mac(energy_pj=1.0),
    )

    def case(size: int, operand: Tensor, output: Tensor, *loops: str) -> Case:
        problem = Problem("plain", (("K", size),), (operand, tensor("B", "weight", "K"), output))
        nest = LoopNest.parse("\n".join(["DRAM keeps A B O", "L1 keeps A O", *loops]))
        return case_of(Mapping(problem, nest), arch)

    line, scalar = tensor("A", "input", "K"), tensor("O", "output")
    row = Tensor("A", ((), (("K", 1),)), "input")
    return [
        case(5, line, scalar, "for K in 2", "for K in 3"),
        case(1, line, scalar),
        case(3, row, tensor("O", "output", "K"), "for K in 3"),
    ]


def random_triple(seed: int, largest: int = 5) -> tuple[Problem, Architecture, Mapping]:
    """A random mapping that the architecture allows; a seed without one is followed by another."""
    for attempt in range(100):
        rng = random.Random(seed * 100 + attempt)
        reuse: Reuse = "at_node" if seed % 4 == 0 else "across_levels"
        problem, arch = random_problem(rng, largest), random_architecture(rng, reuse=reuse)
        try:
            mapping = random_mapping(rng, problem, arch)
            count_words(mapping, arch)
        except MappingError:
            continue
        return problem, arch, mapping
    raise AssertionError("no mapping found")
