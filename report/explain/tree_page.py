"""The page of an explanation of a fused mapping: sentences, operation by operation, then of what they share."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from ...ir.units import count, energy, percent, plural, size
from ..parts.costs import cost_rows
from ..parts.text import pairs, section
from ..parts.work import work_rows
from .energy import energy_sentences
from .latency import latency_sentences
from .tree_facts import Lifetime, MemoryLoad, OperationFacts, SharedLoopFacts, TreeFacts

_WIDTH = 100


def tree_explanation_page(e: TreeFacts) -> Group:
    """All of it, the result first."""
    rows = [*work_rows(e.mapping.cascade), ("Architecture", e.arch.name), *cost_rows(e.cost, e.arch)]
    parts: list[RenderableType] = [pairs(rows)]
    for operation in e.operations:
        parts.append(section(f"{operation.name}: {operation.text}", _lines(_operation_sentences(operation, e))))
    parts += [
        section("What each shared loop does", _lines(_loop_sentences(e.loops))),
        section("What stays on chip", _lines(_lifetime_sentences(e.lifetimes, e.mapping.cascade.intermediates))),
        section("How full memories are", _lines(map(_load_sentence, e.loads))),
    ]
    return Group(*parts)


def _lines(sentences: Iterable[str]) -> Text:
    """One paragraph each, later lines indented."""
    lines = (textwrap.fill(s, _WIDTH, subsequent_indent="  ", break_on_hyphens=False) for s in sentences)
    return Text("\n".join(lines), no_wrap=True, overflow="fold")


def _operation_sentences(operation: OperationFacts, e: TreeFacts) -> Iterator[str]:
    share = percent(operation.energy_pj, e.cost.energy_pj)
    time = percent(operation.cycles, sum(one.cycles for one in e.operations))
    yield f"{energy(operation.energy_pj)}, {share} of the energy; {count(operation.cycles)} cycles, {time} of the time."
    yield from energy_sentences(operation.energy, operation.points)
    yield from latency_sentences(operation.latency)


def _loop_sentences(loops: Sequence[SharedLoopFacts]) -> Iterator[str]:
    if not loops:
        yield "No loop is shared: operations are done one after the other, each as a whole."
    for loop in loops:
        parts = [f"{loop.loop} steps {_listed(loop.operations)} together"]
        still = f", and not those of {_listed(loop.stays)}" if loop.stays else ""
        parts.append(f"the tiles of {_listed(loop.moves)} change{still}")
        if loop.adds:
            parts.append(f"every step adds to {_listed(loop.adds)}")
        yield "; ".join(parts) + "."


def _lifetime_sentences(lifetimes: Sequence[Lifetime], intermediates: Sequence[str]) -> Iterator[str]:
    for one in lifetimes:
        part = percent(one.words, one.of_words)
        during = f"while {one.first} works" if one.first == one.last else f"from {one.first} to {one.last}"
        words = plural(one.words, "word")
        yield f"{one.tensor} in {one.memory} {during}: {words} at a time, {size(one.bits)}, {part} of the tensor."
    stored = [tensor for tensor in intermediates if tensor not in {one.tensor for one in lifetimes}]
    if stored:
        yield f"{_listed(stored)} {'pass' if len(stored) > 1 else 'passes'} through the outermost memory."


def _load_sentence(load: MemoryLoad) -> str:
    bits = load.bits(load.fullest)
    share = percent(bits, load.capacity_bits)
    return f"{load.memory} is fullest while {load.fullest} works: {size(bits)} of {size(load.capacity_bits)}, {share}."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
