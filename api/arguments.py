"""The arguments of the public calls: checked, and made into what the other folders take.

A search is described by the arguments of `search`; all calls that search take them through `question_of`. What is
wrong with one of them is a TilewrightError that names it (`ir/checks.py`).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from .arch import Architecture, load_arch
from .arch.units import size_bits, size_text
from .cost_models import ObjectiveLike, parse_objective
from .inputs import checks
from .ir import ArchitectureError, Cascade, Problem, ProblemError, TilewrightError, Work, did_you_mean
from .ir.limits import check_countable
from .mapper.constraints.files import ConstraintSource, load_constraints
from .mapper.constraints.trees import TreeConstraints, read_tree_constraints
from .mapper.means import DEFAULT_MEMORY_LIMIT, LEAST_MEMORY_LIMIT
from .mapper.question import FUSES, AnyQuestion, Fuse, Limits, NestQuestion, Question, TreeQuestion
from .mapper.space import SPACES, Space
from .mapper.tilings import TILINGS, Tiling, tiling_for
from .workloads import NetworkLayer, load_layer

if TYPE_CHECKING:
    from .cost_models.sparse import DensityLike

ArchitectureLike: TypeAlias = Architecture | str | os.PathLike[str]
ConstraintsLike: TypeAlias = "ConstraintSource | Sequence[ConstraintSource] | None"
StoreLike: TypeAlias = str | os.PathLike[str]
SizeLike: TypeAlias = int | str
"""A number of bytes, or a size such as "2 GiB"."""
WeightsLike: TypeAlias = "str | Mapping[str, Sequence[str] | None] | None"
"""A memory in which all weights lie, or by memory the operations whose weights do; None: none does."""
LayoutLike: TypeAlias = "str | Mapping[str, str] | None"
"""Layouts by tensor, or by memory and tensor, such as {"O": "NHWC", "GLB.I": "any"}; or one for all tensors."""


@overload
def question_of(
    work: Problem | str,
    arch: ArchitectureLike,
    objective: ObjectiveLike,
    tiling: Tiling | None,
    space: Space,
    constraints: ConstraintsLike,
    limits: Limits,
    fuse: Fuse = "all",
) -> NestQuestion: ...
@overload
def question_of(
    work: Work,
    arch: ArchitectureLike,
    objective: ObjectiveLike,
    tiling: Tiling | None,
    space: Space,
    constraints: object,
    limits: Limits,
    fuse: Fuse = "all",
) -> AnyQuestion: ...
def question_of(
    work: Work | str,
    arch: ArchitectureLike,
    objective: ObjectiveLike,
    tiling: Tiling | None,
    space: Space,
    constraints: Any,
    limits: Limits,
    fuse: Fuse = "all",
) -> AnyQuestion:
    """The question that arguments of `search` ask about a problem or a cascade; all of them checked."""
    kind = tiling_or_default(tiling)
    check_choice("space", space, SPACES)
    if not isinstance(work, Cascade):
        layer, machine = as_problem(work), as_architecture(arch)
        wanted = parse_objective(objective, machine.clock_hz)
        return Question(layer, machine, wanted, kind, space, load_constraints(constraints, layer, machine), limits)

    check_choice("fuse", fuse, FUSES)
    machine = as_architecture(arch)
    wanted = parse_objective(objective, machine.clock_hz)
    for operation in work:
        check_countable(operation.problem)
    every_tree: TreeQuestion = Question(work, machine, wanted, kind, space, fuse=fuse, limits=limits)
    return replace(every_tree, constraints=_tree_constraints(every_tree, constraints))


def _tree_constraints(question: TreeQuestion, given: object) -> TreeConstraints:
    """What a line, such as "T in GLB", or several of them ask of trees; None: nothing."""
    given = () if given is None else given
    lines = [given] if isinstance(given, str) else checks.items(given, "constraints", "a list")
    known = [checks.text(line, "constraints", "a line such as 'T in GLB'") for line in lines]
    return read_tree_constraints(known, question.cascade, question.arch, question.fuse)


def laid_out(arch: Architecture, work: Work, layout: LayoutLike) -> Architecture:
    """The architecture with layouts of the tensors of a problem, or of a cascade, in its memories."""
    if layout is None:
        return arch
    from .cost_models.cascades import with_work_layouts

    given = {"all": layout} if isinstance(layout, str) else checks.mapping(layout, "the layout", "{'O': 'NHWC'}")
    texts = {
        checks.text(key, "a tensor of the layout", "a text such as 'O'"): checks.text(text, "a layout", "a text")
        for key, text in given.items()
    }
    return with_work_layouts(arch, work, texts)


def with_zeros(problem: Problem | str, density: Mapping[str, DensityLike] | None) -> Problem:
    """The problem, checked, with the densities of some operands in place of those that it has."""
    layer = as_problem(problem)
    if density is None:
        return layer
    from .cost_models.sparse import with_densities

    return with_densities(layer, density)


def tilings_of(problem: Problem, known: Sequence[Tiling] = TILINGS) -> Sequence[Tiling]:
    """The tilings of which a search takes one where none is asked for: where operands have zeros, perfect ones, since
    what zeros save in ragged tiles takes long to bound."""
    return ("perfect",) if problem.has_zeros else known


def as_problem(problem: object) -> Problem:
    """The problem itself, of a network's row too, or the layer of that name; not larger than can be counted."""
    if isinstance(problem, str):
        layer = load_layer(problem)
    elif isinstance(problem, NetworkLayer):
        layer = problem.problem
    elif isinstance(problem, Problem):
        layer = problem
    else:
        hint = "write gemm(M=64, N=64, K=64), or resnet50:conv1"
        raise ProblemError(f"the problem is {checks.shown(problem)}, expected a Problem or a layer's name", hint=hint)
    check_countable(layer)
    return layer


def check_layer(layer: object, work: Work) -> None:
    """TilewrightError for a layer beside a mapping that is of other work."""
    if layer is None:
        return
    if isinstance(work, Cascade):
        raise TilewrightError("a cascade has its own operations", where="layer", hint="leave it out")
    if as_problem(layer).dense != work.dense:  # a mapping is one of a layer with zeros and without
        raise TilewrightError(f"the mapping is of {work.name}, and not of the layer that is given")


def as_architecture(arch: ArchitectureLike) -> Architecture:
    """The architecture itself, or the one of that name or path."""
    return arch if isinstance(arch, Architecture) else load_arch(arch)


def tiling_or_default(tiling: Tiling | None, known: Sequence[Tiling] = TILINGS) -> Tiling:
    """The tiling that is asked for; where none is, the default, or what a strategy or a form knows instead of it."""
    if tiling is None:
        return tiling_for(known)
    check_choice("tiling", tiling, TILINGS)
    return tiling


def limits_of(time_limit: float | None = None, memory_limit: SizeLike = DEFAULT_MEMORY_LIMIT) -> Limits:
    """The limits of one search: seconds, or None; bytes, or a text such as "2 GiB"."""
    time_s = None if time_limit is None else checks.seconds(time_limit, "the time limit")
    memory = memory_bytes(memory_limit)
    if memory < LEAST_MEMORY_LIMIT:
        raise TilewrightError(f"the memory limit is {memory:,} B, expected {size_text(8 * LEAST_MEMORY_LIMIT)} or more")
    return Limits(time_s, memory)


def memory_bytes(size: SizeLike, what: str = "the memory limit") -> int:
    """Bytes, from a number of them or from a text such as "512 MiB"; `what` is how messages call them."""
    if not isinstance(size, str):
        return checks.whole(size, what)
    try:
        bits = size_bits(size)
    except ArchitectureError as error:
        raise TilewrightError(error.message, where=what, hint=error.hint) from None
    return checks.whole(bits // 8, f"{what} in bytes")


def as_store(store: StoreLike | None) -> StoreLike | None:
    """The path of a store, or None."""
    return None if store is None else checks.path(store, "the store", "the path of a result store")


def check_choice(what: str, value: str, known: Collection[str]) -> None:
    """TilewrightError, with the nearest known word, for a word that is not known."""
    if not isinstance(value, str) or value not in known:
        message = f"unknown {what} {value!r}, expected {' or '.join(known)}"
        near = did_you_mean(str(value), known)
        raise TilewrightError(message, hint=near if near.startswith("did you mean") else None)
