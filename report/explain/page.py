"""The page of an explanation: sentences, and tables where there are many numbers."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple
from math import inf

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...arch import Architecture, Memory
from ...cost_models import Cost, TensorTraffic
from ...cost_models.cost import held_width_bits
from ...cost_models.layouts import has_lines, layout_in
from ...ir import Mapping
from ...ir.units import count, energy, percent, plural, size
from ..parts.costs import cost_rows
from ..parts.lines import other_layout_rows
from ..parts.sparse import density_rows, zero_rows
from ..parts.text import columns, pairs, section
from ..parts.work import padding_rows, work_rows
from .distance import distance_sentences
from .energy import energy_sentences
from .facts import Facts, Improvement, Lifetime, MemoryLoad, OperationFacts, SharedLoopFacts
from .latency import latency_sentences
from .loops import LoopRole, loop_sentence
from .ranking import Tried, best_changes, change_sentence, useless_sentences
from .reuse import reuse_rows, reuse_sentences
from .utilization import utilization_sentences

_WIDTH = 100
_NARROWEST = 48
_TOP = 3


def explanation_page(e: Facts) -> Group:
    """All of it, the result first; then operation by operation, and what several of them share."""
    work, cost = e.mapping.work, e.cost
    head = [*work_rows(work), *padding_rows(work, e.arch), *density_rows(work), ("Architecture", e.arch.name)]
    if not e.mapping.is_of_cascade:
        parts: list[RenderableType] = [pairs([*head, *cost_rows(cost, e.arch)[:3], *zero_rows(cost)])]
        parts += _layer_parts(e, e.operations[0], cost)
    else:
        parts = [pairs([*head, *cost_rows(cost, e.arch)])]
        for operation in e.operations:
            parts.append(section(f"{operation.name}: {operation.text}", _operation_part(operation, e)))
        parts += _shared_parts(e)
    return Group(*parts, improvement_page(e))


def improvement_page(e: Facts) -> Group:
    """What would help, if it was searched for: the end of the page."""
    return Group(*([] if e.improvement is None else [section("What would help", _improvement(e.improvement))]))


def _layer_parts(e: Facts, operation: OperationFacts, cost: Cost) -> list[RenderableType]:
    problem = e.mapping.problem
    done = cost.macs if cost.zeros is None else cost.zeros.operations.done
    parts: list[RenderableType] = [
        section("Where the energy goes", _sentences(energy_sentences(operation.energy, cost.macs, done))),
        section("What bounds the latency", _sentences(_time_sentences(operation))),
        section("What each loop does", _loops(operation.loops)),
        section("How often words are used", Group(_sentences(reuse_sentences(problem, e.reuse)), _reuse(e))),
    ]
    if e.distance is not None:  # the bounds are those of dense layers
        parts.append(section("How far from the bounds", _sentences(distance_sentences(e.distance))))
    if lying := line_sentences(e.mapping, e.arch, cost):
        parts.append(section("Where words lie", _sentences(lying)))
    return parts


def _time_sentences(operation: OperationFacts) -> list[str]:
    return [*latency_sentences(operation.latency), *utilization_sentences(operation.utilization, operation.latency)]


def _operation_part(operation: OperationFacts, e: Facts) -> Group:
    """One of several operations: its share of all, where its energy goes, what bounds it, what its own loops do."""
    share = percent(operation.energy_pj, e.cost.energy_pj)
    time = percent(operation.cycles, sum(one.cycles for one in e.operations))
    spent = f"{energy(operation.energy_pj)}, {share} of the energy"
    told = [
        f"{spent}; {count(operation.cycles)} cycles, {time} of the time.",
        *energy_sentences(operation.energy, operation.points),
        *_time_sentences(operation),
    ]
    loops = (Text(""), _loops(operation.loops)) if operation.loops else ()
    return Group(_sentences(told), *loops)


def _shared_parts(e: Facts) -> list[RenderableType]:
    """What several operations share: loops, tiles on chip, memories."""
    intermediates = e.mapping.cascade.intermediates
    return [
        section("What each shared loop does", _sentences(_loop_sentences(e.shared_loops))),
        section("What stays on chip", _sentences(_lifetime_sentences(e.lifetimes, intermediates))),
        section("How full memories are", _sentences(map(_load_sentence, e.memories))),
    ]


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


def _sentences(sentences: Iterable[str]) -> Text:
    """One paragraph each, later lines indented."""
    lines = (textwrap.fill(s, _WIDTH, subsequent_indent="  ", break_on_hyphens=False) for s in sentences)
    return Text("\n".join(lines), no_wrap=True, overflow="fold")


def _loops(roles: Sequence[LoopRole]) -> Table:
    """The loops as in the nest, and beside each what it does."""
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    loops = [" " * role.depth + role.loop for role in roles]
    room = max(_NARROWEST, _WIDTH - 3 - max(map(len, loops), default=0))
    for loop, role in zip(loops, roles, strict=True):
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


def line_sentences(mapping: Mapping, arch: Architecture, cost: Cost) -> list[str]:
    """Of a machine with lines, what costs most first; none of other machines."""
    if not has_lines(arch):
        return []
    found = sorted(_lost(mapping, arch, cost), reverse=True)
    sentences = [text for _, text in found] or ["All lines that pass are full."]
    sentences += _banks(arch, cost)
    _, full, *others = other_layout_rows(mapping, arch, cost)
    return [*sentences, *(f"{name}, this mapping takes {figures}." for name, figures in (full, *others))]


def _lost(mapping: Mapping, arch: Architecture, cost: Cost) -> Iterator[tuple[float, str]]:
    """Per tensor in a memory with lines: pJ of what is not wanted of them, and a sentence."""
    for memory, traffic in _lined(arch, cost):
        assert traffic.lines is not None
        assert memory.line_bits is not None
        tensor = mapping.problem.tensor(traffic.tensor)
        lines = sum(astuple(traffic.lines))
        wanted = (traffic.reads + traffic.writes) * held_width_bits(arch, memory, tensor)
        passed = lines * memory.line_bits
        if wanted >= passed:
            continue
        lost = traffic.energy_pj * (1 - wanted / passed)
        text = layout_in(memory, tensor).text(tensor)
        what = (
            f"{traffic.tensor} in {memory.name} lies {text}: {plural(lines, 'line')} pass, {wanted / passed:.1%} full"
        )
        yield lost, f"{what}; the rest of them costs {energy(lost)}, {lost / cost.energy_pj:.1%} of all."


def _banks(arch: Architecture, cost: Cost) -> Iterator[str]:
    uses = {use.name: use for use in cost.memories}
    for memory, traffic in _lined(arch, cost):
        if traffic.bank_cycles is not None and memory.banks is not None:
            cycles = sum(astuple(traffic.bank_cycles))
            part = f"{cycles / uses[memory.name].cycles:.1%} of its time" if cycles else "no time"
            most = plural(memory.banks * memory.bank_ports, "line")
            busy = f"{traffic.tensor} keeps a bank of {memory.name} busy for {count(cycles)} cycles, {part}"
            yield f"{busy}; its banks move {most} a cycle at most."


def _lined(arch: Architecture, cost: Cost) -> Iterator[tuple[Memory, TensorTraffic]]:
    memories = {memory.name: memory for memory in arch.memories}
    for traffic in cost.traffic:
        if traffic.lines is not None:
            yield memories[traffic.memory], traffic
