"""Why a mapping costs what it costs, and what would help, as a user asks for it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Unpack

from .arch import Architecture
from .arguments import (
    ArchitectureLike,
    ConstraintsLike,
    StoreLike,
    as_architecture,
    as_problem,
    as_store,
    check_choice,
    check_layer,
    limits_of,
    question_of,
)
from .cost_models import Cost, Objective, ObjectiveLike, parse_objective
from .inputs import checks
from .ir import InfeasibleError, Mapping, MappingError, Node, Problem, TilewrightError, UndecidedError, Work
from .mapper.certificate import Certificate
from .mapper.kernel.tolerance import reaches
from .mapper.means import UNLIMITED, Means, one_call
from .mapper.question import Fuse, Limits
from .mapper.space import SPACES, Space
from .mapper.tilings import TILINGS, Tiling, tiling_for
from .options import ExplainKeywords, takes
from .report.explain.changes import Change, changes_of
from .report.explain.explanation import Explanation, explain_mapping
from .report.explain.facts import Improvement
from .report.explain.ranking import STOPPED, TOO_LATE, Searched, try_changes
from .results import SearchResult, evaluate
from .searches import find_best

SHARE = 2.0
"""Of the time that is left, a search gets so many times what each of those to come would get."""

Watch = Callable[[str, int, int], None]
"""Called ahead of every search with what is changed, the number of the search, and how many there are at most."""


def unwatched(_: str, __: int, ___: int) -> None:
    """A `Watch` that does nothing."""


def unheard(_: str) -> None:
    """For notes that nobody wants."""


@dataclass(frozen=True)
class ToExplain:
    """A mapping on its machine, and the certificate that came with it."""

    mapping: Mapping
    arch: Architecture
    certificate: Certificate | None = None


@dataclass(frozen=True)
class Searching:
    """How to search for what would help; the arguments of `explain`."""

    objective: ObjectiveLike | None = None
    tiling: Tiling | None = None
    space: Space | None = None
    constraints: ConstraintsLike = None
    limits: Limits = Limits()
    store: StoreLike | None = None
    cache: bool = True
    watch: Watch = unwatched
    note: Callable[[str], None] = unheard
    fuse: Fuse = "all"


@takes(ExplainKeywords)
def explain(
    mapping: SearchResult | Mapping | str | os.PathLike[str],
    layer: Problem | ArchitectureLike | None = None,
    arch: ArchitectureLike | None = None,
    objective: ObjectiveLike | None = None,
    tiling: Tiling | None = None,
    space: Space | None = None,
    constraints: ConstraintsLike = None,
    **options: Unpack[ExplainKeywords],
) -> Explanation:
    """Where the energy of a mapping goes, what bounds its latency, what each loop is for, how far all of it is from
    its bounds; and which changes of the machine would help most, by searching again on each.

    mapping      a result of a search; or, with layer and arch as for `evaluate`, a mapping, its path or its text. Of a
                 cascade's result, or of a fused mapping and an architecture, the facts alone: changes do not know
                 cascades
    objective    by which changes are compared; by default that of the mapping's certificate, else "edp"
    tiling, space  that are searched; by default those of the certificate, else the smallest that have the mapping
    constraints  of these searches, as for `search`; those of the certificate are not taken over
    changes      False: search for nothing
    time_limit seconds for all searches together; changes that come too late are left out
    memory_limit  of each search, as for `search`
    store, cache as for `compare`: the result store, and whether to use it

    Raises TilewrightError as `evaluate` and `search` do.
    """
    changes, cache = checks.flag(options["changes"], "changes"), checks.flag(options["cache"], "cache")
    limits = limits_of(options["time_limit"], options["memory_limit"])
    searching = Searching(objective, tiling, space, constraints, limits, as_store(options["store"]), cache)
    given, machine, proof = _found(mapping, layer, arch)
    is_tree = given.is_of_cascade
    if is_tree or not changes:
        _refuse_searching("cascades have no changes yet" if is_tree else "with changes=False there is none", searching)
    if is_tree:
        return explain_mapping(given, machine, evaluate(given, machine))
    return explain_found(ToExplain(given, machine, proof), searching, changes)


def _refuse_searching(why: str, searching: Searching) -> None:
    """TilewrightError for the first argument that is for searches, where there are none; `why` says so."""
    asked, limits = searching, searching.limits
    given: dict[str, object] = {
        "objective": asked.objective,
        "tiling": asked.tiling,
        "space": asked.space,
        "store": asked.store,
    }
    given |= {"constraints": asked.constraints, "time_limit": limits.time_s}
    given |= {"memory_limit": None if limits == Limits(limits.time_s) else limits}
    for name, value in given.items():
        if value is not None:
            raise TilewrightError(f"it is for searches, and {why}", where=name, hint="leave it out")


def explain_found(found: ToExplain, searching: Searching, changes: bool = True) -> Explanation:
    """As `explain`, of a mapping that is read already."""
    explanation = explain_mapping(found.mapping, found.arch, evaluate(found.mapping, found.arch))
    return with_changes(explanation, found, searching) if changes else explanation


def with_changes(explanation: Explanation, found: ToExplain, searching: Searching) -> Explanation:
    """An explanation with what would help, by searches on changed machines."""
    with one_call(searching.limits.time_s, searching.limits.memory_bytes) as means:
        searches = _Searches(found.mapping.problem, _asked(found, searching), searching, means)
        return replace(explanation, improvement=_improvement(found, explanation.cost, searches))


def _found(
    mapping: SearchResult | Mapping | str | os.PathLike[str],
    layer: Problem | ArchitectureLike | None,
    arch: ArchitectureLike | None,
) -> tuple[Mapping, Architecture, Certificate | None]:
    """The mapping on its machine, and the certificate that came with it."""
    if isinstance(mapping, SearchResult):
        if layer is not None or arch is not None:
            message = "a result has its own layer and architecture"
            raise TilewrightError(message, hint="explain its mapping elsewhere")
        return mapping.mapping, mapping.arch, mapping.certificate
    if arch is None and layer is not None and not isinstance(layer, Problem):
        layer, arch = None, layer
    if isinstance(mapping, Mapping):
        check_layer(layer, mapping.work)
        if arch is None:
            raise TilewrightError("no architecture is given", hint="write explain(mapping, load_arch('eyeriss'))")
        return mapping, as_architecture(arch), None
    checks.path(mapping, "the mapping", "a SearchResult, a Mapping, or the path or the text of one", MappingError)
    from .mapping_sources import load_any

    loaded = load_any(mapping, None if layer is None else as_problem(layer), arch)
    return loaded.mapping, loaded.arch, loaded.recorded.certificate if loaded.recorded else None


@dataclass(frozen=True)
class _Goal:
    """What the searches minimize, and in which space."""

    objective: Objective
    tiling: Tiling
    space: Space
    notes: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return f"{self.space} space, {self.tiling} tilings"


def _asked(found: ToExplain, searching: Searching) -> _Goal:
    certificate, notes = found.certificate, []
    stated = certificate.objective if certificate else "edp"
    wanted = parse_objective(stated if searching.objective is None else searching.objective, found.arch.clock_hz)
    if wanted.is_lexicographic:
        notes.append(f"Changes are compared by {wanted.parts[0].name}, the first part of {wanted.name}.")
        wanted = wanted.parts[0]
    if certificate is not None and certificate.constraints:
        notes.append(f"The mapping was searched for under constraints: {'; '.join(certificate.constraints)}.")
    kind, place = searching.tiling, searching.space
    if kind is None:
        kind = certificate.tiling if certificate else "ragged" if _is_ragged(found.mapping) else "perfect"
    if place is None:
        place = certificate.space if certificate else "uneven" if _is_uneven(found.mapping) else "even"
    check_choice("tiling", kind, TILINGS)
    check_choice("space", place, SPACES)
    return _Goal(wanted, kind, place, tuple(notes))


def _is_ragged(mapping: Mapping) -> bool:
    """Whether the tiles of some dimension do not divide it."""
    loops = mapping.nest.loops
    return any(math.prod(x.trips for x in loops if x.dim == dim) != size for dim, size in mapping.problem.dims)


def _is_uneven(mapping: Mapping) -> bool:
    """Whether loops stand between the nodes of some memory."""
    groups: list[str] = []
    between = True
    for item in mapping.nest:
        if not isinstance(item, Node):
            between = between or item.trips > 1
        elif between or groups[-1:] != [item.memory]:
            groups.append(item.memory)
            between = False
    return len(groups) != len(set(groups))


@dataclass
class _Searches:
    """Searches for one work on one machine after another; once interrupted, or where the time is up, it searches no
    more.

    left  searches that there may be still
    """

    work: Work
    asked: _Goal
    searching: Searching
    means: Means = UNLIMITED
    left: float = 1.0
    interrupted: bool = False

    def best(self, machine: Architecture) -> SearchResult:
        """The best mapping on a machine."""
        asked, how = self.asked, self.searching
        limits = how.limits
        if self.means.limits_time:
            limits = replace(limits, time_s=self.means.seconds_left * min(1.0, SHARE / self.left))
        question = question_of(
            self.work, machine, asked.objective, asked.tiling, asked.space, how.constraints, limits, how.fuse
        )
        result, _ = find_best(question, how.store, how.note, cached=how.cache)
        self.interrupted = self.interrupted or result.certificate.interrupted
        return result

    def best_if_any(self, machine: Architecture) -> SearchResult | None:
        """The same; None where it is not searched any more."""
        if self.interrupted or self.means.expired:
            return None
        try:
            return self.best(machine)
        except KeyboardInterrupt:  # before the search had found anything
            self.interrupted = True
        except UndecidedError:  # in its share of the time
            pass
        return None


def _improvement(found: ToExplain, cost: Cost, searches: _Searches) -> Improvement:
    """What a search says on the machine as it is, and on every changed one."""
    asked, watch = searches.asked, searches.searching.watch
    changes = changes_of(found.arch, found.mapping.problem)
    given = cost.objective(asked.objective)
    watch("the machine as it is", 1, len(changes) + 1)
    searches.left = len(changes) / 2  # what is as good as it is now is what all changes are compared with
    again = searches.best_if_any(found.arch)
    value, better, proven = given, found.mapping, False
    if again is not None and reaches(given, again.cost.objective(asked.objective)):
        value, better = again.cost.objective(asked.objective), again.mapping
        proven = again.certificate.proven
    numbers = iter(range(2, len(changes) + 2))

    def searched(change: Change) -> Searched:
        number = next(numbers)
        watch(change.text, number, len(changes) + 1)
        searches.left = len(changes) + 2 - number
        return _least(change.arch, better, searches)

    present = min(given, value)
    tried = try_changes(changes, present, searched)
    return Improvement(asked.objective, asked.kind, given, present, proven, tried, asked.notes)


def _least(machine: Architecture, known: Mapping, searches: _Searches) -> Searched:
    """The least objective on a machine, and whether it is proven; `known` is a mapping that may run there as well."""
    try:
        result = searches.best_if_any(machine)
    except InfeasibleError as error:
        return error.message
    if result is None:
        return STOPPED if searches.interrupted else TOO_LATE
    objective = searches.asked.objective
    value = result.cost.objective(objective)
    if result.certificate.proven:
        return value, True
    try:
        return min(value, evaluate(known, machine).objective(objective)), False
    except MappingError:
        return value, False


def searched_for(work: Work, arch: Architecture, searching: Searching) -> ToExplain:
    """The best mapping of a layer or of a cascade, to be explained."""
    asked = _Goal(
        parse_objective(searching.objective or "edp", arch.clock_hz),
        searching.tiling or tiling_for(),
        searching.space or "even",
    )
    result = _Searches(work, asked, searching).best(arch)
    return ToExplain(result.mapping, arch, result.certificate)
