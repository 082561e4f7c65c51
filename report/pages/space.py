"""The page of a mapping space: how many mappings every operation has, by what they come from, and what textbooks
estimate; of a cascade, which trees a search chooses from."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import islice
from typing import Any, NamedTuple

from rich.console import Group
from rich.table import Table
from rich.text import Text

from ...arch import Architecture
from ...ir import Cascade, Problem, Work
from ...ir.units import count, plural, power_of_ten, significant
from ...mapper.cascades import iterates
from ...mapper.cascades.terms.operation_orders import orders
from ...mapper.cascades.terms.sharing import SharedDim, shared_dims
from ...mapper.effort import TREE_EFFORT
from ...mapper.space.size import SpaceSize
from ...mapper.space.textbook import TextbookEstimate
from ..parts.sparse import density_rows, format_choices
from ..parts.text import architecture_rows, columns, pairs, section, wrapped
from ..parts.work import work_rows
from .result import NOT_IN_THE_SPACE

_WRITTEN_OUT = 10**6
"""From here on, figures are written as powers of ten."""


class Counted(NamedTuple):
    """How many mappings an operation has, and what texts on accelerators would estimate."""

    size: SpaceSize
    estimate: TextbookEstimate


Counts = Mapping[str, Counted | None]
"""By operation; None: too many to be counted."""

_SENTENCES = (
    "Splits nest: neighbouring operations may be a branch that is split again. All splits stand outside all arrays: "
    "loops inside a branch may be parallel, loops above a split are not.",
    "Above the split of a branch of several operations stand shared loops, at most one for each dimension, in every "
    "order; at the root there may be none. Where the tiling is ragged, the last step of a loop over a dimension that "
    "is alone in its ranks may be shorter than the others: below it, tiles divide its own. Of dimensions of more than "
    f"{TREE_EFFORT.some} elements only some tiles are tried: for each number of steps the smallest that is a multiple "
    "of 1, of an array's axis, or of all of its instances.",
    "Each intermediate is exchanged directly above its split, in any memory outside all arrays that may keep it, or in "
    "the outermost one. Each other tensor may stay in any such memory above or between the shared loops.",
    "Inside a branch every mapping of the operation is searched, as of a single layer.",
    "A shared loop may step over rows that the next operation reads through a window: they are kept, or made again. "
    "Both operations are branches of their own then, and all tiles divide; what such visits cost is bounded, and a gap "
    "may stay.",
    f"Not in the space: {NOT_IN_THE_SPACE}; whole operations that are computed again.",
)

_ITERATES = (
    "From one generation to the next goes one loop, with all its steps, above a split of all who use generations of a "
    "step. These stand directly above it, in any such memory; or, where the last one is read outside, pass there."
)


def space_page(work: Work, arch: Architecture, kind: str, counts: Counts) -> Group:
    """What is searched; `kind` says which mappings of each operation."""
    head = [*work_rows(work), *density_rows(work), *architecture_rows(arch)]
    if isinstance(work, Problem):
        counted = counts[work.name]
        assert counted is not None
        return Group(pairs([*head, ("Space", kind)]), *_counted_sections(work, arch, counted))
    memories = ", ".join(memory.name for memory in arch.memories_outside)
    kinds = _kinds(work)
    orders_of = [(name, f"{_orders_text(_orders(form))} in which the operations can be done") for name, form in kinds]
    rows = [
        ("Space", f"trees, {kind} in branches"),
        *(("" if i else "Orders", f"{name}: {told}" if name else told) for i, (name, told) in enumerate(orders_of)),
        ("Exchange", f"in {memories}"),
    ]
    sentences = "\n".join("\n".join(wrapped(sentence)) for sentence in _sentences(work))
    title = "Loops that operations may share, in the order given"
    return Group(
        pairs([*head, *rows]),
        *(section(f"{title}: {name}" if name else title, _shared_table(form)) for name, form in kinds),
        section("Mappings of each operation by itself", _counts_table(counts)),
        section("Trees", Text(sentences, no_wrap=True)),
    )


def _counted_sections(problem: Problem, arch: Architecture, counted: Counted) -> list[Group]:
    """The four factors of a space and their product, over the estimates."""
    size, estimate = counted
    exact = [
        ("Placements", f"{_figure(size.placements):10} memories that keep each tensor"),
        ("Tilings", f"{_figure(size.tilings):10} for each placement, in time"),
        ("Spatial", f"{_figure(size.spatial):10} times as many with loops on arrays"),
        ("Orders", f"{_figure(size.orders):10} loop orders for each of these"),
        ("Total", f"{_figure(size.total):10} mappings, before capacities are looked at"),
    ]
    if problem.has_zeros:
        formats = format_choices(problem, arch)
        exact.append(("Formats", f"{_figure(formats):10} at most for each, the best of which counts"))
    estimates = [
        ("Timeloop", f"{_figure(estimate.timeloop):10} permutations x bypasses x co-factor sets"),
        ("Rule of thumb", f"{_figure(estimate.rule_of_thumb):10} (choices^components x orders)^memories"),
    ]
    return [section("Exact count", pairs(exact)), section("Textbook estimates", pairs(estimates))]


def _counts_table(counts: Counts) -> Table:
    """The four factors of every operation and their product, as a layer by itself would have them."""
    table = columns(("operation",), ("placements", "tilings", "spatial", "orders", "total"))
    for name, counted in counts.items():
        if counted is None:
            table.add_row(name, *("",) * 4, "too many to be counted")
            continue
        size = counted.size
        figures = (size.placements, size.tilings, size.spatial, size.orders, size.total)
        table.add_row(name, *[_figure(figure) for figure in figures])
    return table


def space_data(work: Work, arch: Architecture, kind: str, counts: Counts) -> dict[str, Any]:
    """The same for programs; factors that are averages are rounded to doubles."""
    if isinstance(work, Problem):
        counted = counts[work.name]
        assert counted is not None
        formats = {"formats": format_choices(work, arch)} if work.has_zeros else {}
        return {
            "layer": work.name,
            "architecture": arch.name,
            "space": kind,
            **_factors(counted.size),
            **formats,
            "estimates": {"timeloop": counted.estimate.timeloop, "rule_of_thumb": counted.estimate.rule_of_thumb},
        }
    return {
        "cascade": work.name,
        "architecture": arch.name,
        "searched": f"trees, {kind} in branches",
        "orders": _orders(work),
        "exchanges_in": [memory.name for memory in arch.memories_outside],
        "shared": [
            {"operations": list(names), "dimensions": [dict(dim.dims) for dim in dims]}
            for names, dims in _intervals(work.forms[0])
        ],
        "forms": [form.form for form in work.forms if form.form],
        "mappings": {name: None if counted is None else _factors(counted.size) for name, counted in counts.items()},
        "rules": _sentences(work),
    }


def _factors(size: SpaceSize) -> dict[str, int | float]:
    return {
        "placements": size.placements,
        "tilings": float(size.tilings),
        "spatial": float(size.spatial),
        "orders": float(size.orders),
        "total": size.total,
    }


def _figure(value: int | Fraction) -> str:
    """A whole number in full or as a power of ten, an average to a few digits."""
    if value >= _WRITTEN_OUT:
        return power_of_ten(round(value))
    return f"{int(value):,}" if value == int(value) else significant(float(value), 6)


def _kinds(cascade: Cascade) -> list[tuple[str, Cascade]]:
    """Of forms that differ in sizes alone, the first one, with what tells it from others; of one form alone, it without
    a name."""
    found: dict[tuple[str, ...], list[Cascade]] = {}
    for form in cascade.forms:
        found.setdefault(tuple(operation.name for operation in form), []).append(form)
    if len(found) == 1:
        return [("", cascade.forms[0])]
    return [(f"{some[0].form}, and the like" if len(some) > 1 else some[0].form, some[0]) for some in found.values()]


def _sentences(cascade: Cascade) -> list[str]:
    """What trees there are; more of a cascade that iterates."""
    return [*_SENTENCES, *([_ITERATES] if any(map(iterates, cascade.forms)) else [])]


def _orders(cascade: Cascade) -> int | None:
    """How many there are; None: more than are searched."""
    number = len(list(islice(orders(cascade), TREE_EFFORT.many + 1)))
    return number if number <= TREE_EFFORT.many else None


def _orders_text(number: int | None) -> str:
    return plural(number, "order") if number is not None else f"more than {count(TREE_EFFORT.many)} orders"


def _intervals(cascade: Cascade) -> list[tuple[tuple[str, ...], tuple[SharedDim, ...]]]:
    """Neighbouring operations, in the order of the cascade, and what they may share."""
    names = tuple(operation.name for operation in cascade)
    spans = ((first, last) for last in range(2, len(names) + 1) for first in range(last - 1))
    found = [names[first:last] for first, last in spans]
    return [
        (some, shared_dims(cascade, some)) for some in sorted(found, key=lambda some: (len(some), names.index(some[0])))
    ]


def _shared_table(cascade: Cascade) -> Table:
    table = columns(("operations", "dimensions"), ())
    for names, dims in _intervals(cascade):
        table.add_row(" ".join(names), ", ".join(_dim_text(dim, names) for dim in dims) or "none")
    return table


def _dim_text(dim: SharedDim, names: tuple[str, ...]) -> str:
    """As trees write it: M, or M,K.N where operation K has another name for it."""
    first = dim.of(names[0])
    return ",".join([first, *(f"{name}.{dim.of(name)}" for name in names if dim.of(name) != first)])
