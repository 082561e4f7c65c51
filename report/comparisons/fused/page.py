"""A comparison of whole networks as parts of a page of text."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table as TextTable
from rich.text import Text

from ....ir.units import count, energy, joule_seconds, plural, seconds, significant
from ...parts.proofs import verdict, verdict_of
from ...parts.text import columns, pairs, section, wrapped
from .comparison import FusedComparison
from .findings import saving_words
from .rows import FusedRow


def fused_parts(comparison: FusedComparison) -> list[RenderableType]:
    """What was asked, every network with fusing and without, what follows, what is missing."""
    lines = [line for finding in comparison.findings for line in _item(finding)]
    return [
        pairs(_asked(comparison)),
        section("Whole networks, the best with fusing and without", _networks(comparison)),
        section("What fusing saves", Text("\n".join(lines))),
    ]


def _asked(comparison: FusedComparison) -> list[tuple[str, str]]:
    settings = comparison.settings
    solved = [row for row in comparison.rows if row.answer is not None]
    unproven = sum(row.status == "unproven" for row in solved)
    proof = f"{unproven:,} of {len(solved):,} not proven: their gaps are told" if unproven else "all proven optimal"
    limit = settings.limits.time_s
    each = f", {seconds(limit)} for each" if limit is not None else ""
    return [
        ("Networks", ", ".join(comparison.networks)),
        *(("MACs", f"{network}: {told}") for network, told in comparison.left_out.items()),
        ("Architectures", ", ".join(comparison.archs)),
        ("Groups", f"of up to {plural(comparison.most, 'operation')}{each}"),
        ("Objective", f"{settings.objective.name}, {settings.space} space, {settings.tiling} tilings"),
        ("Proof", proof if solved else "nothing was found"),
    ]


def _networks(comparison: FusedComparison) -> TextTable:
    table = columns(
        ("network", "architecture", "groups"),
        ("energy", "latency", "EDP (J s)", "outermost words", "proof", "saves"),
    )
    shown = ""
    for row in comparison.rows:
        network = row.network if row.network != shown else ""
        shown = row.network
        if row.answer is None:
            table.add_row(network, row.arch, "no mapping" if row.status == "infeasible" else "failed", *("",) * 6)
            continue
        groups = f"{row.operations:,} operations in {row.groups:,}"
        table.add_row(network, row.arch, groups, *_best_cells(row))
        if row.answer.apart is not None:
            table.add_row("", "", "nothing fused", *_apart_cells(row))
    return table


def _best_cells(row: FusedRow) -> tuple[str, ...]:
    assert row.answer is not None
    answer, proof = row.answer, row.answer.certificate
    cells = _figures(row, answer.energy_pj, answer.latency_cycles, answer.outer_words)
    return (*cells, verdict_of(proof), saving_words(row) if row.saves is not None else "-")


def _apart_cells(row: FusedRow) -> tuple[str, ...]:
    assert row.answer is not None
    assert row.answer.apart is not None
    apart = row.answer.apart
    cells = _figures(row, apart.energy_pj, apart.latency_cycles, apart.outer_words)
    return (*cells, verdict(apart.value, apart.lower_bound), "")


def _figures(row: FusedRow, picojoules: float, cycles: float, words: int) -> tuple[str, ...]:
    time = cycles / row.machine.clock_hz
    return energy(picojoules), seconds(time), significant(joule_seconds(picojoules, time)), count(words)


def _item(sentence: str) -> list[str]:
    first, *rest = wrapped(sentence)
    return [f"- {first}", *(f"  {line}" for line in rest)]
