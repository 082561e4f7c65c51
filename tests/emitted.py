"""Mappings for the tests of emitted programs, with small integers as operands and the output that they must give."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from generators import random_architecture, random_mapping, random_problem
from point_by_point import computed, shape_of
from tilewright.arch import Architecture
from tilewright.ir import Mapping, MappingError
from tilewright.mapper.emit.lowering import lower


@dataclass(frozen=True)
class Case:
    mapping: Mapping
    arch: Architecture
    operands: list[np.ndarray]
    expected: np.ndarray


def case_of(mapping: Mapping, arch: Architecture, seed: int = 0) -> Case:
    """Small integers, which floats hold exactly, and their sums too."""
    problem, rng = mapping.problem, np.random.default_rng(seed)
    operands = [rng.integers(-4, 5, shape_of(problem, t)) for t in problem.operands]
    expected = computed(problem, operands)
    return Case(mapping, arch, [o.astype(np.float32) for o in operands], expected.astype(np.float32))


def random_case(seed: int) -> Case:
    """A random mapping that the architecture allows, every other one with loops over instances."""
    for attempt in range(100):
        rng = random.Random(seed * 100 + attempt)
        problem, arch = random_problem(rng, largest=4), random_architecture(rng)
        try:
            mapping = random_mapping(rng, problem, arch)
            lower(mapping, arch)
        except MappingError:
            continue
        if seed % 2 == 0 or any(loop.is_spatial for loop in mapping.nest.loops):
            return case_of(mapping, arch, seed)
    raise AssertionError("no mapping found")
