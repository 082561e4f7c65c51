"""What a search is about.

Every strategy takes a `Question` and gives an `Answer` (`answer.py`). The key of a question is a hash of everything
that its answer depends on, and of nothing else: names of layers and architectures, areas, and the words in which
constraints were written, are left out, and so are the limits, for what is proven holds under any. So equal layers of
two networks have one answer.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import cached_property, lru_cache, wraps
from typing import Any, Final, Generic, Literal, TypeAlias, TypeGuard, TypeVar, cast

from ..arch import Architecture
from ..cost_models import Objective
from ..cost_models.padding import counted, is_padded, with_padding_read
from ..ir import Cascade, Mapping, Problem, Work
from .constraints import Constraints
from .constraints.trees import ANY_TREE, TreeConstraints
from .means import DEFAULT_MEMORY_LIMIT, Means, within
from .model_version import MODEL_VERSION
from .space import Space
from .tilings import Tiling

FREE: Final = Constraints()
"""No constraints: the whole space."""

W = TypeVar("W", bound=Work, covariant=True)
K = TypeVar("K", bound=Constraints | TreeConstraints, covariant=True)


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


Asked = TypeVar("Asked", bound="Question[Any, Any]")
T = TypeVar("T")


def in_one_call(search: Callable[[Asked], T]) -> Callable[[Asked], T]:
    """A search whose limits are those of all searches that it makes together."""

    @wraps(search)
    def searched(question: Asked) -> T:
        with within(question.limits.means()):
            return search(question)

    return searched


Fuse: TypeAlias = Literal["all", "plain", "whole", "none"]
FUSES: Final[tuple[Fuse, ...]] = ("all", "plain", "whole", "none")


@dataclass(frozen=True)
class Question(Generic[W, K]):
    """One search, with everything resolved.

    work, arch   what is to be mapped, a problem or a cascade, and on which machine
    objective    to be minimized
    tiling, space, constraints  the mappings to choose from; without constraints all of the space
    limits       after which the best mapping so far is taken, with the bound proven by then
    fuse         of a cascade: `all` of the space, `plain` without shared loops along windows, `whole` intermediates on
                 chip but no shared loops, or `none`
    stays        of a cascade: (tensor, memory) of tensors from outside that lie there whole before the run, or are left
                 there after it: no word of them passes the outermost memory
    known        a mapping of one operation that the search may begin with
    below        of a cascade: only mappings whose objective is less than this are of interest
    floor        of a cascade: none has less, as is known: of least energy alone. It ends a search that has found as
                 much
    """

    work: W
    arch: Architecture
    objective: Objective
    tiling: Tiling
    space: Space = "even"
    constraints: K = cast("K", None)
    limits: Limits = DEFAULT_LIMITS
    fuse: Fuse = "all"
    stays: tuple[tuple[str, str], ...] = ()
    known: Mapping | None = None
    below: float = math.inf
    floor: float = 0.0

    def __post_init__(self) -> None:
        if self.constraints is None:
            object.__setattr__(self, "constraints", ANY_TREE if isinstance(self.work, Cascade) else FREE)
        if isinstance(self.work, Cascade) and is_padded(self.work):
            object.__setattr__(self, "arch", with_padding_read(self.arch))

    @property
    def problem(self: NestQuestion) -> Problem:
        """What is to be mapped, where it is one operation."""
        return self.work

    @property
    def cascade(self: TreeQuestion) -> Cascade:
        """What is to be mapped, where it is a cascade."""
        return self.work

    @cached_property
    def key(self) -> str:
        """SHA-256, in hexadecimal digits, of the canonical JSON of the question and `MODEL_VERSION`.

        Names of operations and tensors of a cascade are part of it, since trees are written with them.
        """
        parts = {
            "model": MODEL_VERSION,
            "architecture": plain_architecture(self.arch),
            "objective": self.objective.name,
            "tiling": self.tiling,
            "space": self.space,
        }
        asked: AnyQuestion = self
        parts |= _parts_of_cascade(asked) if is_about_cascade(asked) else _parts_of_layer(asked)
        return hashlib.sha256(canonical_json(parts).encode()).hexdigest()

    def __str__(self) -> str:
        name = self.constraints.name if isinstance(self.constraints, Constraints) else ""
        dataflow = f", {name}" if name and not self.constraints.is_free else ""
        return f"{self.work.name} on {self.arch.name}{dataflow}, {self.objective.name}"


NestQuestion: TypeAlias = Question[Problem, Constraints]
"""About one operation."""

TreeQuestion: TypeAlias = Question[Cascade, TreeConstraints]
"""About a cascade."""

AnyQuestion: TypeAlias = Question[Any, Any]
"""About either."""


def is_about_cascade(question: AnyQuestion) -> TypeGuard[TreeQuestion]:
    """Whether what is to be mapped is a cascade."""
    return isinstance(question.work, Cascade)


def _parts_of_layer(question: NestQuestion) -> dict[str, Any]:
    problem = counted(question.work, question.arch)
    return {"problem": plain_problem(problem), "constraints": _plain(question.constraints.key())}


def _parts_of_cascade(question: TreeQuestion) -> dict[str, Any]:
    parts: dict[str, Any] = {"cascade": plain_cascade(question.work), "fuse": question.fuse}
    if not question.constraints.is_free:
        parts["constraints"] = sorted(question.constraints.lines)
    if question.stays:
        parts["stays"] = sorted(question.stays)
    if question.below < math.inf:  # what is found out then depends on the time too
        parts["below"] = repr(question.below), question.limits.time_s
    return parts


def canonical_json(value: object) -> str:
    """One text for equal values: keys in order, nothing between the parts."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def plain_problem(problem: Problem) -> Any:
    """Sizes and tensors. The order of dimensions is a part of it: of equally good mappings, the search takes one."""
    tensors = [
        [t.name, t.role, t.ranks, t.bits, t.partial_bits, *(each for each in (t.density, t.stored) if each)]
        for t in problem.tensors
    ]
    return [problem.dims, tensors]


def plain_cascade(cascade: Cascade) -> Any:
    """The operations of a cascade as lists, in a fixed order; of several forms, those of each."""
    if cascade.others:
        return [[form.form, plain_cascade(form)] for form in cascade.forms]
    plain = [[o.name, plain_problem(o.problem), str(o.expression), o.reduction, o.pads] for o in cascade]
    return [
        [*one, [astuple(made) for made in o.generations], repr(o.start)] if o.generations else one
        for o, one in zip(cascade, plain, strict=True)
    ]


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
