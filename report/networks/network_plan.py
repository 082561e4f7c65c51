"""A compiled network as a page of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from ...arch import Architecture
from ...cost_models import Capped
from ...ir.units import count, energy, percent, plural, seconds, significant, size
from ...mapper.fusing import on_chip
from ...mapper.segmentation import NetworkAnswer
from ...mapper.segmentation.question import RunCost, total
from ..parts.proofs import proof_rows, verdict, verdict_of
from ..parts.tables import Table, Value
from ..parts.text import architecture_rows, columns, pairs, section, wrapped

SEGMENT_COLUMNS = (
    *("group", "operations", "same_as", "times"),
    *("energy_pJ", "latency_cycles", "outer_words", "value", "lower_bound"),
)
"""Of the table of a plan's groups."""


ASSUMED = "a chain, since its table has no graph: a layer reads the one before, or, where sizes differ, its own input"
"""What is said of a network that does not say which layer reads which."""


def network_plan_page(answer: NetworkAnswer, files: Iterable[object] = ()) -> Group:
    """Which operations are mapped together, what they cost, what that saves, and what is proven."""
    question = answer.question
    counted = [segment for segment in answer.segments if segment.answer is not None]
    operations = sum(len(segment.names) for segment in counted)
    rows = [
        ("Network", f"{question.graph.network}: {plural(operations, 'operation')} in {plural(len(counted), 'group')}"),
        *([("Order", ASSUMED)] if question.graph.is_assumed else []),
        ("MACs", question.uncounted.beside(answer.macs)),
        *outside_rows(answer),
        *architecture_rows(question.arch),
    ]
    parts: list[RenderableType] = [
        pairs(rows),
        section("Groups, one after the other", _groups_shown(answer)),
        *plan_sections(answer),
    ]
    written = [str(path) for path in files]
    if written:
        parts.append(section("Files", Text("\n".join(written), no_wrap=True)))
    return Group(*parts)


OUTSIDE_TEXT = "no MACs to count"
"""Of a group that is no operation."""


def moved_text(moved: RunCost) -> str:
    """Words that are read and written where nothing is mapped."""
    return f"{count(moved.outer_words)} words moved"


def outside_rows(answer: NetworkAnswer) -> list[tuple[str, str]]:
    """What is no operation and moves words, and its share of the whole."""
    moved, every = answer.outside, [one for one in answer.segments if one.moves.outer_words]
    if not every:
        return []
    shares = f"{percent(moved.energy_pj, answer.energy_pj)} of the energy"
    shares += f", {percent(moved.latency_cycles, answer.latency_cycles)} of the cycles"
    return [("Outside", f"{plural(len(every), 'entry', 'entries')}, {moved_text(moved)}, {shares}")]


def plan_sections(answer: NetworkAnswer) -> list[RenderableType]:
    """What stays on chip, what comes ahead, what fusing saves, addresses, and what is proven."""
    has_on_chip = answer.staying or answer.left_out
    return [
        *([section("On chip between groups", _staying_shown(answer))] if has_on_chip else []),
        *([section("Weights ahead", _ahead_shown(answer))] if any(one.ahead for one in answer.segments) else []),
        section("Fusing", Group(_saved_table(answer), Text(""), Text("\n".join(wrapped(fusing_verdict(answer)))))),
        section("Addresses", _arena_table(answer)),
        section("Certificate", pairs(_certificate_rows(answer))),
    ]


def segment_table(answer: NetworkAnswer) -> Table:
    """A row for each group that costs something."""
    rows: list[tuple[Value, ...]] = []
    for number, segment in enumerate(answer.segments, 1):
        named: tuple[Value, ...] = (number, "+".join(segment.names), segment.alike + 1, segment.times)
        if segment.answer is not None:
            proof, times = segment.answer.certificate, segment.times
            rows.append((*named, *segment.totals, times * proof.value, times * proof.lower_bound))
        elif segment.moves.outer_words:
            rows.append((*named, *segment.moves, None, None))
    return Table("groups", SEGMENT_COLUMNS, rows)


def _groups_shown(answer: NetworkAnswer) -> RenderableType:
    outermost = answer.question.arch.memories[0].name
    table = columns(("#", "operations", "on chip"), ("energy", "cycles", f"words at {outermost}", "proof"))
    repeats = {number: one for one in repeats_of(answer) for number in one.others}
    for number, segment in enumerate(answer.segments, 1):
        if number - 1 in repeats:
            if number - 1 == repeats[number - 1].others.start:
                table.add_row(*_repeat_row(answer, repeats[number - 1]))
            continue
        repeated = f" ({segment.times:,} times)" if segment.times > 1 else ""
        names = "\n".join(wrapped(" + ".join(segment.names) + repeated, 34))
        found = segment.answer
        if found is None:
            moved = segment.moves
            costs = energy(moved.energy_pj), count(moved.latency_cycles), count(moved.outer_words)
            table.add_row(str(number), names, OUTSIDE_TEXT, *(costs if moved.outer_words else ("",) * 3), "")
            continue
        if segment.alike < number - 1:
            names += f"\n(as {segment.alike + 1})"
        kept = [f"{tensor} in {memory}" for tensor, memory in on_chip(found.mapping, found.cost).items()]
        kept += [f"{tensor} stays in {memory}" for tensor, memory in segment.stays]
        cost, proof = segment.totals, found.certificate
        figures = energy(cost.energy_pj), count(cost.latency_cycles), count(cost.outer_words)
        table.add_row(str(number), names, "\n".join(kept), *figures, verdict_of(proof))
    return table


@dataclass(frozen=True)
class Repeat:
    """Segments of a block, and those of blocks behind it that differ from them in names alone.

    start   of the first ones
    length  of the block
    times   that it is done, the first included
    """

    start: int
    length: int
    times: int

    @property
    def others(self) -> range:
        """The segments of all blocks but the first."""
        return range(self.start + self.length, self.start + self.length * self.times)


def repeats_of(answer: NetworkAnswer) -> list[Repeat]:
    """Blocks that follow one another three times or more, mapped alike."""
    occurrences, keys, found = answer.question.graph.by_name, list[object](), list[Repeat]()
    for number, segment in enumerate(answer.segments):
        entries = [(occurrences[name].entry, occurrences[name].local) for name in segment.names]
        mapped = segment.moves if segment.answer is None else segment.alike
        keys.append((entries, mapped) if all(local for _, local in entries) else number)
    start = 0
    while start < len(keys):
        lengths = range(1, (len(keys) - start) // 3 + 1)
        every = (Repeat(start, length, _times(keys, start, length)) for length in lengths)
        found += sorted((one for one in every if one.times > 2), key=lambda one: len(one.others))[-1:]
        start = found[-1].others.stop if found and found[-1].start == start else start + 1
    return found


def _times(keys: Sequence[object], start: int, length: int) -> int:
    """How often some keys stand one after the other."""
    times = 1
    while keys[start + times * length : start + (times + 1) * length] == keys[start : start + length]:
        times += 1
    return times


def _repeat_row(answer: NetworkAnswer, repeat: Repeat) -> list[str]:
    """What stands in place of the blocks after the first."""
    others = [answer.segments[number] for number in repeat.others]
    cost = total(segment.totals for segment in others)
    told = f"{others[0].names[0]} to {others[-1].names[-1]}\n(as {repeat.start + 1} to {repeat.others.start})"
    figures = energy(cost.energy_pj), count(cost.latency_cycles), count(cost.outer_words)
    return [f"{repeat.others.start + 1}-{repeat.others.stop}", told, f"x {repeat.times} in all", *figures, ""]


def _saved_table(answer: NetworkAnswer) -> RenderableType:
    outermost = answer.question.arch.memories[0].name
    table = columns(("",), ("energy", "cycles", "EDP (pJ x cycles)", f"words at {outermost}", "proof"))
    apart, proof = answer.apart, answer.certificate
    rows = [("best", answer.energy_pj, answer.latency_cycles, answer.outer_words, proof.value, proof.lower_bound)]
    if answer.passing is not None:
        one = answer.passing
        figures = one.energy_pj, one.latency_cycles, one.outer_words, one.value, one.lower_bound
        rows.append(("nothing stays", *figures))
    if apart is not None:
        figures = apart.energy_pj, apart.latency_cycles, apart.outer_words, apart.value, apart.lower_bound
        rows.append(("nothing fused", *figures))
    for name, picojoules, cycles, words, value, bound in rows:
        shown = energy(picojoules), count(cycles), significant(picojoules * cycles), count(words)
        table.add_row(name, *shown, verdict(value, bound))
    return table


def _staying_shown(answer: NetworkAnswer) -> RenderableType:
    table = columns(("tensor", "memory", "from group", "to group"), ("size",))
    repeats = repeats_of(answer)
    times = {number: one.times for one in repeats for number in range(one.start, one.start + one.length)}
    skipped = {number for one in repeats for number in one.others}
    for one in answer.staying:
        if one.is_weight:
            table.add_row(one.name, one.memory, "weight", "all the time", size(one.bits))
        elif one.first not in skipped:
            name = f"{one.name} (x {times[one.first]})" if one.first in times else one.name
            table.add_row(name, one.memory, str(one.first + 1), str(one.last + 1), size(one.bits))
    for left in answer.left_out:
        table.add_row(left.name, "", "not kept", left.why, size(left.bits))
    bits = sum(one.bits for one in answer.staying if one.is_weight)
    if not bits:
        return table
    told = f"Weights of {size(bits)} are read in once, for many runs; what a run costs does not count it."
    return Group(table, Text(""), Text("\n".join(wrapped(told))))


def _ahead_shown(answer: NetworkAnswer) -> RenderableType:
    """Which weights are fetched while the group before runs."""
    table = columns(("tensor", "memory", "before group"), ("words ahead", "of its first tile", "saves cycles"))
    skipped = {number for one in repeats_of(answer) for number in one.others}
    for number, segment in enumerate(answer.segments):
        for one in segment.ahead if number not in skipped else ():
            words, of = count(round(one.words)), count(round(one.of))
            saves = count(segment.saved.latency_cycles) if one is segment.ahead[-1] else ""
            table.add_row(one.tensor, one.memory, str(number + 1), words, of, saves)
    return Group(table, Text(""), Text("\n".join(wrapped(ahead_verdict(answer)))))


def ahead_verdict(answer: NetworkAnswer) -> str:
    """What it saves that weights are fetched ahead, in a sentence; nothing where none are."""
    tiles, saved = sum(len(one.ahead) for one in answer.segments), answer.saved_ahead.latency_cycles
    if not tiles:
        return ""
    of = answer.latency_cycles + saved
    share = f"{count(saved)} of {count(of)} cycles, {percent(saved, of)}" if saved else "no cycles"
    return f"Weights of {plural(tiles, 'tile')} are fetched while the group before runs, which saves {share}."


def fusing_verdict(answer: NetworkAnswer) -> str:
    """What fusing saves, and by what, in a sentence or two."""
    if answer.saves is None and isinstance(answer.question.objective, Capped):
        return "With nothing fused no way was found that keeps the limit: there is nothing to compare with."
    if answer.saves is None:
        return "Some operation was found no mapping for on its own: there is nothing to compare with."
    objective, proof = answer.certificate.objective, answer.certificate
    if not answer.saves and not proof.proven:
        return f"No better groups were found in time; they may save up to {percent(proof.gap, 1)} of {objective}."
    if not answer.saves:
        return f"Fusing wins nothing for {objective}."
    told_apart = answer.apart and verdict(answer.apart.value, answer.apart.lower_bound)
    least = "at least " if told_apart == "proven" and not proof.proven else ""
    told = f"Fusing saves {least}{percent(answer.saves, 1)} of {objective}, by {fused_by(answer)}."
    if told_apart and told_apart != "proven":
        told += f" That is of the best found with nothing fused ({told_apart})."
    if answer.staying_saves is not None:
        told += f" What stays on chip saves {percent(answer.staying_saves, 1)} of what is best without."
    return told


def fused_by(answer: NetworkAnswer) -> str:
    """What is saved by: groups of several operations, tensors that stay on chip between groups, and what stays there
    inside a single one, such as a softmax, which is several steps."""
    counted = [segment for segment in answer.segments if segment.answer is not None]
    several = sum(len(segment.names) > 1 for segment in counted)
    stays = sum(not one.is_weight for one in answer.staying)
    inside = [
        f"{tensor} of {'+'.join(segment.names)} in {memory}"
        for segment in counted
        if segment.answer is not None and len(segment.names) == 1
        for tensor, memory in on_chip(segment.answer.mapping, segment.answer.cost).items()
    ]
    by = [f"{plural(several, 'group')} of several operations"] if several else []
    by += [f"{plural(stays, 'tensor')} on chip between groups"] if stays else []
    weights = sum(one.is_weight for one in answer.staying)
    by += [f"{plural(weights, 'weight')} on chip all the time"] if weights else []
    if inside and not by:
        more = len(inside) - _NAMED
        by = [", ".join(inside[:_NAMED]) + (f" and {more:,} more like these" if more > 0 else "")]
    return " and ".join(by) or "loops that operations share"


_NAMED = 2
"""Tensors that are named of many."""


def _arena_table(answer: NetworkAnswer) -> RenderableType:
    arch = answer.question.arch
    table = columns(("memory", "most in use in"), ("tiles", "height", "capacity", "share"))
    for (memory, roles), plan in answer.arenas.items():
        heights = [
            (arena.plan.height, number)
            for number, segment in enumerate(answer.segments, 1)
            for arena in segment.arenas
            if (arena.memory, arena.roles) == (memory, roles)
        ]
        height, number = max(heights, key=lambda found: (found[0], -found[1]))
        capacity = plan.capacity or height
        figures = count(len(plan.buffers.buffers)), size(8 * height), size(8 * capacity), percent(height, capacity)
        table.add_row(part_name(arch, memory, roles), f"group {number}", *figures)
    return table


def part_name(arch: Architecture, memory: str, roles: tuple[str, ...]) -> str:
    """A memory, and which part of it where it has several."""
    parted = next(level.partition_bits for level in arch.memories if level.name == memory)
    return f"{memory} ({', '.join(roles)})" if parted else memory


def _certificate_rows(answer: NetworkAnswer) -> list[tuple[str, str]]:
    proof = answer.certificate
    return [
        *proof_rows(proof),
        ("Space", _space(answer)),
        ("Groups", f"{count(answer.groups)} there may be, {plural(answer.searched, 'search', 'searches')}"),
        ("Time", seconds(proof.seconds)),
    ]


def _space(answer: NetworkAnswer) -> str:
    """What was chosen from, in words."""
    question, proof = answer.question, answer.certificate
    outermost = question.arch.memories[0].name
    between = f"between groups every tensor passes through {outermost}"
    if question.stays:
        between += " or stays on chip"
    groups, trees = "; ".join(proof.constraints), f"each group the best tree, {proof.space}, {proof.tiling} tilings"
    return f"{groups}, in any order; {between}; {trees}"
