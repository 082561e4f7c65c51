"""What a search is about.

Every strategy takes a `Question` and gives an `Answer` (`answer.py`). The key of a question is a hash of everything
that its answer depends on, and of nothing else: names of layers and architectures, areas, and the words in which
constraints were written, are left out, and so are the limits, for what is proven holds under any. So equal layers of
two networks have one answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, wraps
from typing import Any, Final, Protocol, TypeVar

from ..arch import Architecture
from ..cost_models import Objective
from ..ir import Problem
from .constraints import Constraints
from .means import DEFAULT_MEMORY_LIMIT, Means, within
from .model_version import MODEL_VERSION
from .space import Space
from .tilings import Tiling

FREE: Final = Constraints()
"""No constraints: the whole space."""


@dataclass(frozen=True)
class Limits:
    """What one search may take.

    time_s        seconds after which the best mapping so far is taken; None: no limit
    memory_bytes  of tables and open mappings together
    within_s      of a part of a larger search: seconds that are left for that. Those of the part are the processor's
    """

    time_s: float | None = None
    memory_bytes: int = DEFAULT_MEMORY_LIMIT
    within_s: float | None = None

    def means(self) -> Means:
        """What a search may take from now on."""
        if self.within_s is None or self.time_s is None:
            return Means.from_now(self.time_s, self.memory_bytes)
        return Means.from_now(self.within_s, self.memory_bytes).at_most(self.time_s)


DEFAULT_LIMITS: Final = Limits()


class _Limited(Protocol):
    """A question, about one operation or several."""

    @property
    def limits(self) -> Limits: ...


Asked = TypeVar("Asked", bound=_Limited)
T = TypeVar("T")


def in_one_call(search: Callable[[Asked], T]) -> Callable[[Asked], T]:
    """A search whose limits are those of all searches that it makes together."""

    @wraps(search)
    def searched(question: Asked) -> T:
        with within(question.limits.means()):
            return search(question)

    return searched


@dataclass(frozen=True)
class Question:
    """One search, with everything resolved.

    problem, arch  what is to be mapped, and on which machine
    objective    to be minimized
    tiling, space, constraints  the mappings to choose from
    limits       after which the best mapping so far is taken, with the bound proven by then
    """

    problem: Problem
    arch: Architecture
    objective: Objective
    tiling: Tiling
    space: Space = "even"
    constraints: Constraints = FREE
    limits: Limits = DEFAULT_LIMITS

    @property
    def work(self) -> Problem:
        """What is to be mapped."""
        return self.problem

    @cached_property
    def key(self) -> str:
        """SHA-256, in hexadecimal digits, of the canonical JSON of the question and `MODEL_VERSION`."""
        parts = {
            "model": MODEL_VERSION,
            "problem": plain_problem(self.problem),
            "architecture": plain_architecture(self.arch),
            "constraints": _plain(self.constraints.key()),
            "objective": self.objective.name,
            "tiling": self.tiling,
            "space": self.space,
        }
        return hashlib.sha256(canonical_json(parts).encode()).hexdigest()

    def __str__(self) -> str:
        dataflow = "" if self.constraints.is_free else f", {self.constraints.name}"
        return f"{self.problem.name} on {self.arch.name}{dataflow}, {self.objective.name}"


def canonical_json(value: object) -> str:
    """One text for equal values: keys in order, nothing between the parts."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def plain_problem(problem: Problem) -> Any:
    """Sizes and tensors. The order of dimensions is a part of it: of equally good mappings, the search takes one."""
    tensors = [
        [t.name, t.role, t.ranks, t.bits, t.partial_bits, *([] if t.density is None else [t.density])]
        for t in problem.tensors
    ]
    return [problem.dims, tensors]


@lru_cache(maxsize=256)
def _architecture_text(arch: Architecture) -> str:
    return arch.cost_text


def plain_architecture(arch: Architecture) -> Any:
    """What costs depend on, as lists and dicts."""
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
