"""What an exact search is about, and the key that its result is stored under.

The key is a hash of everything that the result depends on, and of nothing else: names of layers and architectures,
areas, and the words in which constraints were written, are left out. So equal layers of two networks have one result.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any, Final

from ...arch import Architecture
from ...cost_models import Cost, MemoryUse, NetworkUse, Objective, TensorTraffic
from ...ir import Problem
from ...mapper.certificate import Certificate
from ...mapper.constraints import Constraints
from ...mapper.model_version import MODEL_VERSION
from ...mapper.space import Space
from ...mapper.tilings import Tiling
from ..documents import SCHEMA_VERSION


def canonical_json(value: object) -> str:
    """One text for equal values: keys in order, nothing between the parts."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


_PARTS = (Cost, MemoryUse, NetworkUse, TensorTraffic, Certificate)
FORMAT: Final = hashlib.sha256(
    canonical_json([SCHEMA_VERSION, *([field.name for field in fields(part)] for part in _PARTS)]).encode()
).hexdigest()[:12]
"""Of stored answers: it changes with the figures that a mapping.json has, so that none is read with some missing."""


@dataclass(frozen=True)
class Question:
    """One exact search, with everything resolved.

    problem, arch, objective, tiling, space, constraints  as of `search`
    """

    problem: Problem
    arch: Architecture
    objective: Objective
    tiling: Tiling = "perfect"
    space: Space = "even"
    constraints: Constraints = Constraints()

    @cached_property
    def key(self) -> str:
        """SHA-256, in hexadecimal digits, of the canonical JSON of the question, `MODEL_VERSION` and `FORMAT`."""
        parts = {
            "model": MODEL_VERSION,
            "format": FORMAT,
            "problem": _problem(self.problem),
            "architecture": _architecture(self.arch),
            "constraints": _plain(self.constraints.key()),
            "objective": self.objective.name,
            "tiling": self.tiling,
            "space": self.space,
        }
        return hashlib.sha256(canonical_json(parts).encode()).hexdigest()

    def __str__(self) -> str:
        dataflow = "" if self.constraints.is_free else f", {self.constraints.name}"
        return f"{self.problem.name} on {self.arch.name}{dataflow}, {self.objective.name}"


def _problem(problem: Problem) -> Any:
    """Sizes and tensors. The order of dimensions is a part of it: of equally good mappings, the search takes one."""
    tensors = [[t.name, t.role, t.ranks, t.bits, t.partial_bits] for t in problem.tensors]
    return [problem.dims, tensors]


@lru_cache(maxsize=256)
def _architecture_text(arch: Architecture) -> str:
    return arch.cost_text


def _architecture(arch: Architecture) -> Any:
    try:
        text = _architecture_text(arch)
    except TypeError:  # a dict inside it cannot be hashed
        text = _architecture_text.__wrapped__(arch)
    return json.loads(text)


def _plain(value: object) -> Any:
    """Nested tuples, sets and dicts as lists, in a fixed order."""
    if isinstance(value, frozenset):
        return sorted(map(_plain, value))
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value
