"""The page of a mapping: what is mapped, how, what it costs, what limits it; of a search what is proven, and what
fusing saves. A layer has one operation, a cascade several; several results are a line each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from ...arch import Architecture
from ...cost_models import Cost, parse_objective
from ...cost_models.parallel import most_at_work, ragged_at_work
from ...ir import Mapping, Problem
from ...ir.units import count, energy, percent, plural, power_of_ten, seconds, significant, size
from ...mapper.answer import Answer
from ...mapper.certificate import Certificate, Points
from ...mapper.fusing import on_chip, outer_words
from ...mapper.fusing_reasons import Reason
from ...mapper.fusings import fusing_of
from ..parts.costs import cost_rows, intermediate_table, roofline_table, table_parts
from ..parts.lines import line_parts
from ..parts.nest import mapping_lines
from ..parts.proofs import front_words, proof_rows, pruned_row, ranking_words, verdict_of
from ..parts.sparse import MEANS, density_rows, zero_rows
from ..parts.text import architecture_rows, columns, pairs, section, wrapped
from ..parts.work import padding_rows, work_rows

NOT_IN_THE_SPACE = "parts of an array that work on different operations at once"


def result_page(
    answer: Answer,
    arch: Architecture,
    files: Iterable[object] = (),
    origin: str = "",
    reason: Reason | None = None,
) -> Group:
    """The whole page of a search.

    files   that it was written to
    origin  where the result is from, if it was not found just now
    reason  why fusing wins nothing, if it does
    """
    mapping, cost, proof = answer.mapping, answer.cost, answer.certificate
    parts = _sections(mapping, arch, cost)
    if mapping.is_of_cascade:
        parts.append(section("Fusing", _fusing(answer, reason)))
        parts += [section("Forms", _forms(answer))] if answer.forms else []
        rows = certificate_rows(proof, origin, is_tree=True)
    else:
        rows = [*certificate_rows(proof, origin), *beyond_rows(proof, cost, mapping.problem, arch)]
    parts.append(section("Certificate", pairs(rows)))
    return Group(*parts, *_files(files))


def evaluated_page(mapping: Mapping, arch: Architecture, cost: Cost, files: Iterable[object] = ()) -> Group:
    """The whole page of a mapping that was evaluated, and not searched for."""
    return Group(*_sections(mapping, arch, cost), *_files(files))


def mapping_page(mapping: Mapping) -> Group:
    """What a mapping says by itself."""
    nest = Text(str(mapping), no_wrap=True)
    return Group(pairs(work_rows(mapping.work)), section(_form_of(mapping), nest))


def _form_of(mapping: Mapping) -> str:
    return "Tree" if mapping.is_of_cascade else "Loop nest"


def _files(files: Iterable[object]) -> list[RenderableType]:
    written = [str(path) for path in files]
    return [section("Files", Text("\n".join(written), no_wrap=True))] if written else []


def _sections(mapping: Mapping, arch: Architecture, cost: Cost) -> list[RenderableType]:
    work, parts = mapping.work, cost.parts.values()
    zeros = [row for part in parts for row in zero_rows(part)]
    lines = mapping_lines(mapping, arch, cost)
    found: list[RenderableType] = [
        pairs([*work_rows(work), *padding_rows(work, arch), *density_rows(work), *architecture_rows(arch)]),
        section(_form_of(mapping), Text("\n".join(lines), no_wrap=True)),
    ]
    if cost.operations and mapping.cascade.intermediates:
        found.append(section("Intermediates", intermediate_table(mapping, cost)))
    return [
        *found,
        section(MEANS if zeros else "Cost", pairs([*cost_rows(cost, arch), *zeros])),
        *table_parts(cost),
        *line_parts(mapping, arch, cost),
        section("Roofline, in MACs per cycle", roofline_table(mapping, arch, cost)),
    ]


# ---- several -----------------------------------------------------------------------------------------------


def front_page(answers: Points[Any], arch: Architecture, out: object | None = None) -> Group:
    """A line for each mapping of the front, and where its files are."""
    gaps = "The gap of a point is how much faster a mapping of as little energy could be."
    return _several_page(answers, arch, [front_words(answers)], gaps, [], out)


def best_few_page(answers: Points[Any], arch: Architecture, out: object | None = None) -> Group:
    """A line for each of the best few, best first, and where its files are; of trees, how they are fused."""
    told = [] if answers.complete else [ranking_words(answers)]
    fused = [answer for answer in answers if answer.mapping.is_of_cascade]
    if not fused:
        return _several_page(answers, arch, told, "", [], out)
    told.insert(
        0,
        f"By {fused[0].certificate.objective}, the best trees that are fused in different ways: of each way the best.",
    )
    rows = [
        (str(number), "; ".join(str(passing) for passing in fusing_of(answer.mapping)) or "nothing to fuse")
        for number, answer in enumerate(fused, 1)
    ]
    gaps = "The gap of a tree is how much better one could be that is fused otherwise than those before."
    return _several_page(answers, arch, told, gaps, [section("How intermediates pass", pairs(rows))], out)


def _several_page(
    answers: Sequence[Answer],
    arch: Architecture,
    told: list[str],
    gaps: str,
    more: Iterable[RenderableType],
    out: object | None,
) -> Group:
    """A line for each answer.

    told  whether any is missing
    gaps  what their gaps mean
    """
    table = columns(["#"], ["energy", "cycles", "EDP (pJ x cycles)", "utilization", "objective", "proof"])
    for number, answer in enumerate(answers, 1):
        cost, proof = answer.cost, answer.certificate
        figures = energy(cost.energy_pj), count(cost.latency_cycles), significant(cost.edp, 6)
        table.add_row(str(number), *figures, percent(cost.utilization, 1), proof.objective, verdict_of(proof))
    sentences = [*told, *([gaps] if gaps and not all(answer.certificate.proven for answer in answers) else [])]
    words = [Text("\n" + "\n".join(sentences))] if sentences else []
    files = [section("Files", f"{out}/1 to {out}/{len(answers)}")] if out is not None else []
    head = pairs([*work_rows(answers[0].mapping.work), *architecture_rows(arch)])
    return Group(head, section("Mappings", Group(table, *words)), *more, *files)


# ---- what is proven ----------------------------------------------------------------------------------------


def certificate_rows(certificate: Certificate, origin: str = "", *, is_tree: bool = False) -> list[tuple[str, str]]:
    """What was minimized, what is proven, and what the proof took.

    is_tree  whether trees were searched, and not nests
    """
    kind = f"{certificate.space}, {certificate.tiling} tilings"
    if is_tree:
        space = f"trees, {kind}; `tilewright space` says which trees"
        spaces = [("Space", space), ("", f"not in the space: {NOT_IN_THE_SPACE}")]
        searched = ("Searched", plural(certificate.evaluated, "branch of one operation", "branches of one operation"))
    else:
        placements = plural(certificate.placements, "placement")
        spaces = [("Space", f"{kind}, {_space(certificate.space_size)}, {placements}")]
        searched = ("Evaluated", plural(certificate.evaluated, "complete mapping"))
    return [
        *proof_rows(certificate),
        *([("Open", str(certificate.open_part))] if certificate.open_part else []),
        *spaces,
        *([("Constraints", "; ".join(certificate.constraints))] if certificate.constraints else []),
        *([("Strategy", certificate.strategy)] if certificate.strategy != "exact" else []),
        searched,
        pruned_row(certificate),
        ("Time", seconds(certificate.seconds)),
        *([("Recalled", origin)] if origin else []),
    ]


def _space(mappings: int | None) -> str:
    if mappings is None:
        return "not counted"
    return f"{power_of_ten(mappings)} mappings" if mappings >= 10**6 else plural(mappings, "mapping")


LOW_UTILIZATION = 0.6
"""Part of the MACs at work below which more of them are worth a hint."""

NOTABLY_MORE = 1.1
"""Times as many MACs are notably more of them."""


def beyond_rows(certificate: Certificate, cost: Cost, problem: Problem, arch: Architecture) -> list[tuple[str, str]]:
    """Where a space that was not searched is likely to hold something better: few of the MACs are at work, what is
    minimized would gain by more of them, no port is what the latency waits for, and perfect tiles are why they are
    idle, since few instances divide a dimension that is prime to the array."""
    if certificate.tiling != "perfect" or cost.utilization >= LOW_UTILIZATION or cost.limited_by != "compute":
        return []
    objective = parse_objective(certificate.objective)
    first = objective.parts[0] if objective.is_lexicographic else objective
    if first.value(cost.energy_pj, cost.latency_cycles / 2) >= first.value(cost.energy_pj, cost.latency_cycles):
        return []
    most, ragged = most_at_work(problem, arch), ragged_at_work(problem, arch)
    if ragged < NOTABLY_MORE * most:
        return []
    words = f"{percent(cost.utilization, 1)} of the MACs are at work, and perfect tiles can have {percent(most, 1)}"
    return [("Beyond", f"{words}: --tiling ragged may use more of them")]


# ---- fusing ------------------------------------------------------------------------------------------------


def _forms(answer: Answer) -> Group:
    """What is known of each way to compute the cascade, and which of them is the best."""
    table = columns(("form",), ("best found", "at least"))
    unit = parse_objective(answer.certificate.objective).unit
    for one in answer.forms:
        found = "-" if one.value is None else f"{significant(one.value, 6)} {unit}"
        least = "does not fit" if one.lower_bound is None else f"{significant(one.lower_bound, 6)} {unit}"
        table.add_row(one.form, found, least)
    told = f"The best is {answer.mapping.cascade.form}. Of the others, what is no better than that is not looked for."
    return Group(table, Text(""), Text("\n".join(wrapped(told)), no_wrap=True))


def _fusing(answer: Answer, reason: Reason | None) -> Group:
    """The best mapping beside the best one without fusing, and what that means."""
    if answer.unfused is None:
        if not answer.mapping.cascade.intermediates:
            told = "There is nothing to fuse: no operation reads what another one writes."
        elif any(operation.iterates for operation in answer.mapping.cascade):
            told = "An iteration is fused: its operations share the loop from one generation to the next."
        elif answer.certificate.constraints and not on_chip(answer.mapping, answer.cost):
            told = "Nothing was to be fused."
        else:
            told = "No mapping without fusing was found to compare with."
        return Group(Text(told))
    apart, cost = answer.unfused, answer.cost
    table = columns(("",), ("energy", "cycles", "EDP (pJ x cycles)", f"words at {cost.memories[0].name}", "proof"))
    rows = (
        ("best", cost.energy_pj, cost.latency_cycles, outer_words(cost), answer.certificate),
        ("nothing fused", apart.energy_pj, apart.latency_cycles, apart.outer_words, apart.certificate),
    )
    for name, picojoules, cycles, words, proof in rows:
        verdict = verdict_of(proof)
        table.add_row(name, energy(picojoules), count(cycles), significant(picojoules * cycles), count(words), verdict)
    return Group(table, Text(""), Text("\n".join(wrapped(_verdict(answer, reason))), no_wrap=True))


def _verdict(answer: Answer, reason: Reason | None) -> str:
    objective, saves = answer.certificate.objective, answer.saves
    if saves:
        kept = ", ".join(f"{tensor} in {memory}" for tensor, memory in on_chip(answer.mapping, answer.cost).items())
        passing = (
            f"{kept} on the way from one operation to the next"
            if kept
            else "operations share loops, and no intermediate stays on chip"
        )
        apart = answer.unfused and answer.unfused.certificate
        least = "at least " if apart and apart.proven and not answer.certificate.proven else ""
        told = f"Fusing saves {least}{percent(saves, 1)} of {objective}: {passing}."
        if apart and not apart.proven:
            told += f" That is of the best found with nothing fused ({verdict_of(apart)})."
        return told
    if not answer.certificate.proven:
        left = percent(answer.certificate.gap, 1)
        return f"No better fused mapping was found in time or memory; one may save up to {left} of {objective}."
    told = f" {reason_sentence(reason, answer)}" if reason is not None else ""
    return f"Fusing wins nothing for {objective}.{told}"


def reason_sentence(reason: Reason, answer: Answer) -> str:
    """Why fusing wins nothing, in a sentence."""
    outermost, names = answer.cost.memories[0].name, ", ".join(reason.memories)
    what = " and ".join(answer.mapping.cascade.intermediates)
    if not reason.memories:
        return f"No memory between {outermost} and the arrays may keep {what}."
    if reason.memory is None:
        if not reason.is_known:
            return "Whether more room would help was not found in time."
        return f"It is not for want of room: to keep {what} in {names}, however large, would save nothing either."
    saves = percent(reason.saves, 1)
    if reason.enough_bits is None:
        return f"{reason.memory} is too small: with room without end fusing would save {saves}."
    now, enough = size(reason.size_bits), size(reason.enough_bits)
    return f"{reason.memory} is too small: with {enough} in place of {now} fusing saves {saves}."
