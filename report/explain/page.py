"""The page of an explanation: sentences, and tables where there are many numbers."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from math import inf

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...ir.units import percent
from ..parts.costs import cost_rows
from ..parts.sparse import density_rows, zero_rows
from ..parts.text import columns, pairs, section
from ..parts.work import work_rows
from .distance import distance_sentences
from .energy import energy_sentences
from .facts import Facts, Improvement
from .latency import latency_sentences
from .lines import line_sentences
from .loops import loop_sentence
from .ranking import Tried, best_changes, change_sentence, useless_sentences
from .reuse import reuse_rows, reuse_sentences
from .utilization import utilization_sentences

_WIDTH = 100
_NARROWEST = 48
_TOP = 3


def explanation_page(e: Facts) -> Group:
    """All of it, the result first."""
    layer = [*work_rows(e.mapping.problem), *density_rows(e.mapping.problem)]
    rows = [*layer, ("Architecture", e.arch.name), *cost_rows(e.cost, e.arch)[:3], *zero_rows(e.cost)]
    done = e.cost.macs if e.cost.zeros is None else e.cost.zeros.operations.done
    time = [*latency_sentences(e.latency), *utilization_sentences(e.utilization, e.latency)]
    parts: list[RenderableType] = [
        pairs(rows),
        section("Where the energy goes", _sentences(energy_sentences(e.energy, e.cost.macs, done))),
        section("What bounds the latency", _sentences(time)),
        section("What each loop does", _loops(e)),
        section("How often words are used", Group(_sentences(reuse_sentences(e.mapping.problem, e.reuse)), _reuse(e))),
    ]
    if e.cost.zeros is None:  # the bounds are those of dense layers
        parts.append(section("How far from the bounds", _sentences(distance_sentences(e.distance))))
    if lying := line_sentences(e.mapping, e.arch, e.cost):
        parts.append(section("Where words lie", _sentences(lying)))
    if e.improvement is not None:
        parts.append(section("What would help", _improvement(e.improvement)))
    return Group(*parts)


def _sentences(sentences: Iterable[str]) -> Text:
    """One paragraph each, later lines indented."""
    lines = (textwrap.fill(s, _WIDTH, subsequent_indent="  ", break_on_hyphens=False) for s in sentences)
    return Text("\n".join(lines), no_wrap=True, overflow="fold")


def _loops(e: Facts) -> Table:
    """The loops as in the nest, and beside each what it does."""
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    loops = [" " * role.depth + role.loop for role in e.loops]
    room = max(_NARROWEST, _WIDTH - 3 - max(map(len, loops), default=0))
    for loop, role in zip(loops, e.loops, strict=True):
        effects = textwrap.fill(loop_sentence(role), room, break_on_hyphens=False, break_long_words=False)
        table.add_row(loop, effects)
    return table


def _reuse(e: Facts) -> Group:
    table = columns(("tensor", "memory"), ("words in", "words out", "each used", "sharing", "halo saves"))
    for row in reuse_rows(e.reuse):
        table.add_row(*row)
    return Group(Text(""), table)


def _improvement(found: Improvement) -> Group:
    name = found.objective.name
    parts: list[RenderableType] = [_sentences([_present(found)])]
    best = best_changes(found.tried)
    for number, one in enumerate(best[:_TOP], 1):
        parts.append(_sentences([f"{number}. {change_sentence(one, name)}"]))
    if best:
        parts += [Text(""), _table((one for one in found.tried if one.helps), name)]
    parts.append(_sentences([*useless_sentences(found.tried), *found.notes]))
    return Group(*parts)


def _present(found: Improvement) -> str:
    if found.given == inf:
        return f"The mapping does not keep to the limits of {found.objective}, and others do ({found.kind})."
    verdict = "proven" if found.proven else "not proven to be the least"
    if found.given > found.present * (1 + 1e-9):
        less = percent(1 - found.present / found.given, 1)
        return f"On the same machine another mapping has {less} less {found.objective} ({found.kind}; {verdict})."
    if found.proven:
        return f"On this machine no mapping has less {found.objective} ({found.kind}; proven)."
    return f"On this machine the search found no mapping with less {found.objective} ({found.kind}; {verdict})."


def _table(best: Iterable[Tried], objective: str) -> Table:
    """What is left of the objective, and what would be if every doubling did as much."""
    table = columns(("--set",), (f"{objective} left", "per doubling", "adds"))
    for one in best:
        table.add_row(one.change.setting, percent(1, one.gain), percent(2**-one.score, 1), one.change.adds)
    return table
