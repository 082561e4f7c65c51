"""The page of a fused mapping: its tree, what is held while each operation works, what it costs, what fusing saves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...arch import Architecture
from ...cost_models import parse_objective
from ...cost_models.cascades import FusedCost
from ...cost_models.cascades.cost import occupied_bits
from ...ir import FusedMapping
from ...ir.units import clock, count, energy, percent, plural, seconds, significant, size
from ...mapper.certificate import Certificate, Points
from ...mapper.fusing import FusedAnswer, on_chip, outer_words
from ...mapper.fusing_reasons import Reason
from ...mapper.fusings import fusing_of
from ..parts.proofs import front_words, proof_rows, pruned_row, ranking_words, verdict_of
from ..parts.text import architecture_rows, columns, pairs, section, wrapped
from ..parts.tree import tree_lines
from .cascade_page import cascade_rows

NOT_IN_THE_SPACE = "parts of an array that work on different operations at once"


def fused_page(fused: FusedMapping, arch: Architecture, cost: FusedCost) -> Group:
    """The whole page of a fused mapping that was evaluated."""
    return Group(*_sections(fused, arch, cost))


def fused_result_page(
    answer: FusedAnswer,
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
    fused, cost = answer.mapping, answer.cost
    parts = [*_sections(fused, arch, cost), section("Fusing", _fusing(answer, reason))]
    if answer.forms:
        parts.append(section("Forms", _forms(answer)))
    parts.append(section("Certificate", pairs(tree_certificate_rows(answer.certificate, origin))))
    written = [str(path) for path in files]
    if written:
        parts.append(section("Files", Text("\n".join(written), no_wrap=True)))
    return Group(*parts)


def fused_cost_page(cost: FusedCost) -> Group:
    """What a cost says by itself."""
    return Group(
        Text(str(cost)),
        section("Operations, one after the other", operation_table(cost)),
        section("In use while an operation works", occupancy_table(cost)),
        section("Words moved, by memory, operation and tensor", fused_traffic_table(cost)),
    )


def _sections(fused: FusedMapping, arch: Architecture, cost: FusedCost) -> list[RenderableType]:
    return [
        pairs([*cascade_rows(fused.cascade), *architecture_rows(arch)]),
        section("Tree", Text("\n".join(tree_lines(fused, arch, cost.occupancy)), no_wrap=True)),
        section("Intermediates", intermediate_table(fused, cost)),
        section("Cost", pairs(fused_cost_rows(cost, arch))),
        section("Operations, one after the other", operation_table(cost)),
        section("In use while an operation works", occupancy_table(cost)),
        section("Words moved, by memory, operation and tensor", fused_traffic_table(cost)),
        *_line_parts(fused, arch, cost),
    ]


def _line_parts(fused: FusedMapping, arch: Architecture, cost: FusedCost) -> list[RenderableType]:
    """Of a machine with lines: which of them pass for each operation."""
    from ...cost_models.cascades.tensor_layouts import machine_for
    from ...cost_models.layouts import has_lines
    from ..parts.lines import LINE_COLUMNS, line_rows

    if not has_lines(arch):
        return []
    texts, figures = LINE_COLUMNS
    table = columns(("operation", *texts), figures)
    for name, part in cost.operations.items():
        path = fused.paths[name]
        rows = line_rows(path.mapping, machine_for(arch, fused.cascade, path.operation), part)
        for i, row in enumerate(rows):
            table.add_row("" if i else name, *row)
    return [section("Lines, by layout", table)]


def front_page(answers: Points[FusedAnswer], arch: Architecture, out: object | None = None) -> Group:
    """A line for each mapping of the front, and where its files are."""
    told = [front_words(answers)]
    if not all(answer.certificate.proven for answer in answers):
        told.append("The gap of a point is how much faster a mapping of as little energy could be.")
    return _several_page(answers, arch, told, (), out)


def best_few_page(answers: Points[FusedAnswer], arch: Architecture, out: object | None = None) -> Group:
    """A line for each of the best trees that are fused in different ways, how they are, and where their files are."""
    objective = answers[0].certificate.objective
    told = [f"By {objective}, the best trees that are fused in different ways: of each way the best."]
    if not answers.complete:
        told.append(ranking_words(answers))
    if not all(answer.certificate.proven for answer in answers):
        told.append("The gap of a tree is how much better one could be that is fused otherwise than those before.")
    rows = [
        (str(number), "; ".join(str(passing) for passing in fusing_of(answer.mapping)) or "nothing to fuse")
        for number, answer in enumerate(answers, 1)
    ]
    return _several_page(answers, arch, told, [section("How intermediates pass", pairs(rows))], out)


def _several_page(
    answers: Sequence[FusedAnswer],
    arch: Architecture,
    told: Iterable[str],
    more: Iterable[RenderableType],
    out: object | None,
) -> Group:
    table = columns(["#"], ["energy", "cycles", "EDP (pJ x cycles)", "utilization", "proof"])
    for number, answer in enumerate(answers, 1):
        cost, proof = answer.cost, answer.certificate
        verdict = verdict_of(proof)
        figures = energy(cost.energy_pj), count(cost.latency_cycles), significant(cost.edp, 6)
        table.add_row(str(number), *figures, percent(cost.utilization, 1), verdict)
    parts: list[RenderableType] = [
        pairs([*cascade_rows(answers[0].mapping.cascade), *architecture_rows(arch)]),
        section("Mappings", Group(table, Text(""), Text("\n".join(told)))),
        *more,
    ]
    if out is not None:
        parts.append(section("Files", f"{out}/1 to {out}/{len(answers)}"))
    return Group(*parts)


def tree_certificate_rows(certificate: Certificate, origin: str = "") -> list[tuple[str, str]]:
    """What was minimized, what is proven over which trees, and what the proof took."""
    return [
        *proof_rows(certificate),
        ("Space", f"trees, {certificate.space}, {certificate.tiling} tilings; `tilewright space` says which trees"),
        ("", f"not in the space: {NOT_IN_THE_SPACE}"),
        *([("Constraints", "; ".join(certificate.constraints))] if certificate.constraints else []),
        ("Searched", plural(certificate.evaluated, "branch of one operation", "branches of one operation")),
        pruned_row(certificate),
        ("Time", seconds(certificate.seconds)),
        *([("Recalled", origin)] if origin else []),
    ]


def _forms(answer: FusedAnswer) -> Group:
    """What is known of each way to compute the cascade, and which of them is the best."""
    table = columns(("form",), ("best found", "at least"))
    unit = parse_objective(answer.certificate.objective).unit
    for one in answer.forms:
        found = "-" if one.value is None else f"{significant(one.value, 6)} {unit}"
        least = "does not fit" if one.lower_bound is None else f"{significant(one.lower_bound, 6)} {unit}"
        table.add_row(one.form, found, least)
    told = f"The best is {answer.mapping.cascade.form}. Of the others, what is no better than that is not looked for."
    return Group(table, Text(""), Text("\n".join(wrapped(told)), no_wrap=True))


def _fusing(answer: FusedAnswer, reason: Reason | None) -> Group:
    """The best mapping beside the best one without fusing, and what that means."""
    if answer.unfused is None:
        if not answer.mapping.cascade.intermediates:
            told = "There is nothing to fuse: no operation reads what another one writes."
        elif any(operation.iterates for operation in answer.mapping.cascade):
            told = "An iteration is fused: its operations share the loop from one generation to the next."
        elif answer.certificate.constraints and not answer.is_fused:
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


def _verdict(answer: FusedAnswer, reason: Reason | None) -> str:
    objective, saves = answer.certificate.objective, answer.saves
    if saves:
        kept = ", ".join(f"{tensor} in {memory}" for tensor, memory in on_chip(answer.mapping, answer.cost).items())
        passing = (
            f"{kept} on the way from one operation to the next"
            if kept
            else "operations share loops, and no intermediate stays on chip"
        )
        told = f"Fusing saves {percent(saves, 1)} of {objective}: {passing}."
        apart = answer.unfused and answer.unfused.certificate
        if apart and not apart.proven:
            told += f" That is of the best found with nothing fused ({verdict_of(apart)})."
        return told
    if not answer.certificate.proven:
        left = percent(answer.certificate.gap, 1)
        return f"No better fused mapping was found in time or memory; one may save up to {left} of {objective}."
    told = f" {reason_sentence(reason, answer)}" if reason is not None else ""
    return f"Fusing wins nothing for {objective}.{told}"


def reason_sentence(reason: Reason, answer: FusedAnswer) -> str:
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


def intermediate_table(fused: FusedMapping, cost: FusedCost) -> Table:
    """Where each intermediate passes from one operation to the next, and how much of it is there at a time."""
    table = columns(("tensor", "in", "while"), ("words at a time", "size", "of all its words"))
    outermost = cost.memories[0].name
    for tensor in fused.cascade.intermediates:
        whole = prod(fused.cascade.extents(tensor))
        tiles: dict[str, dict[str, tuple[int, int]]] = {}
        for name, held in cost.occupancy.items():
            for tile in held:
                if tile.tensor == tensor and tile.is_intermediate:
                    tiles.setdefault(tile.memory, {})[name] = (tile.words, tile.bits)
        for memory, by_operation in tiles.items():
            words, bits = max(by_operation.values())
            during = f"{next(iter(by_operation))} to {list(by_operation)[-1]}"
            if memory == outermost:  # all of it, whatever zeros a consumer reads around it
                words, bits, during = whole, bits * whole // words, ""
            table.add_row(tensor, memory, during, count(words), size(bits), percent(words, whole))
    return table


def fused_cost_rows(cost: FusedCost, arch: Architecture) -> list[tuple[str, str]]:
    """Energy, latency, their product and utilization."""
    peak = arch.mac_instances * arch.mac.per_cycle
    return [
        ("Energy", f"{energy(cost.energy_pj)}, {energy(cost.energy_pj / cost.macs)} per point"),
        ("Latency", f"{count(cost.latency_cycles)} cycles, {seconds(cost.latency_s)} at {clock(cost.clock_hz)}"),
        ("EDP", f"{significant(cost.edp)} pJ x cycles, {significant(cost.edp * 1e-12 / cost.clock_hz)} J s"),
        ("Utilization", f"{percent(cost.utilization, 1)} of {significant(peak)} MACs per cycle"),
    ]


def operation_table(cost: FusedCost) -> Table:
    """What each operation does, costs and waits for."""
    table = columns(("operation", "bound by"), ("points", "cycles", "energy", "share"))
    for name, part in cost.operations.items():
        share = percent(part.energy_pj, cost.energy_pj)
        figures = count(part.macs), count(part.latency_cycles), energy(part.energy_pj), share
        table.add_row(name, part.limited_by, *figures)
    return table


def occupancy_table(cost: FusedCost) -> Table:
    """Of each bounded memory, what is in use in each branch, and of which tensors."""
    table = columns(("memory", "operation", "tensors"), ("in use", "capacity", "share"))
    for use in cost.memories:
        if use.capacity_bits is None:
            continue
        for i, (name, tiles) in enumerate(cost.occupancy.items()):
            bits = occupied_bits(tiles, use.name)
            tensors = " ".join(tile.tensor for tile in tiles if tile.memory == use.name)
            figures = size(bits), size(use.capacity_bits), percent(bits, use.capacity_bits)
            table.add_row("" if i else use.name, name, tensors, *figures)
    return table


def fused_traffic_table(cost: FusedCost) -> Table:
    """Words and energy of every memory, operation and tensor, and of all else; shares are of the total energy."""
    table = columns(("memory", "operation", "tensor"), ("words read", "words written", "energy", "share"))
    for use in cost.memories:
        shown = False
        for name, part in cost.operations.items():
            rows = [traffic for traffic in part.traffic if traffic.memory == use.name]
            for i, traffic in enumerate(rows):
                figures = count(traffic.reads), count(traffic.writes), energy(traffic.energy_pj)
                share = percent(traffic.energy_pj, cost.energy_pj)
                table.add_row("" if shown else use.name, "" if i else name, traffic.tensor, *figures, share)
                shown = True
    for name, part in cost.operations.items():
        for network in part.networks:
            share = percent(network.energy_pj, cost.energy_pj)
            row = f"{network.fanout} hops", name, network.tensor, "", "", energy(network.energy_pj), share
            table.add_row(*row)
    for i, (name, part) in enumerate(cost.operations.items()):
        share = percent(part.mac_energy_pj, cost.energy_pj)
        table.add_row("" if i else "MAC", name, "", "", "", energy(part.mac_energy_pj), share)
    if cost.leakage_pj:
        table.add_row("leakage", "", "", "", "", energy(cost.leakage_pj), percent(cost.leakage_pj, cost.energy_pj))
    whole = energy(cost.energy_pj), percent(cost.energy_pj, cost.energy_pj)
    table.add_row("total", "", "", "", "", *whole, style="bold")
    return table
