"""A comparison as a page of text: of layers, networks, dataflows and what they cost against the free optimum."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table as TextTable
from rich.text import Text

from ...ir.units import count, energy, percent, plural, seconds, significant
from ...run.batch.run import Progress
from ..parts.si import si_unit
from ..parts.text import columns, pairs, section
from .compared import Compared, Summary
from .comparison import Comparison
from .fused import FusedComparison
from .fused.page import fused_parts
from .rows import FREE, Row
from .summaries import tied_best

_MOST_DIAGNOSES = 8


def comparison_page(comparison: Compared[Any], files: Iterable[object] = ()) -> Group:
    """The whole page, and the files that were written."""
    if isinstance(comparison, Comparison):
        parts = _layer_parts(comparison)
    else:
        assert isinstance(comparison, FusedComparison)
        parts = fused_parts(comparison)
    written = [str(path) for path in files]
    if written:
        parts.append(section("Files", Text("\n".join(written), no_wrap=True)))
    return Group(*parts)


def _layer_parts(comparison: Comparison) -> list[RenderableType]:
    """What was asked, every network under every dataflow, kinds of layers, hybrids, what is missing."""
    parts: list[RenderableType] = [
        pairs(_asked(comparison)),
        section("Networks, repeats counted", _networks(comparison)),
    ]
    if comparison.winners():
        parts.append(section("Best dataflow by kind of layer", _kinds(comparison)))
        parts.append(section("One dataflow for all layers, or the best for each", _hybrids(comparison)))
    missing = [row for row in comparison.rows if row.cost is None]
    if missing:
        parts.append(section("No mapping", _diagnoses(missing)))
    return parts


def batch_summary(comparison: Compared[Any], progress: Progress) -> str:
    """What the batch of a comparison did, in one line."""
    if isinstance(comparison, FusedComparison):
        what, parts = ("whole network", "whole networks"), [f"{progress.done:,} done in {seconds(progress.seconds)}"]
    else:
        what = "distinct search", "distinct searches"
        parts = [f"{progress.recalled:,} from the store", f"{progress.done:,} searched in {seconds(progress.seconds)}"]
    parts += [f"{progress.no_mapping:,} without a mapping"] if progress.no_mapping else []
    parts += [f"{progress.unproven:,} not proven"] if progress.unproven else []
    parts += [f"{progress.retried:,} run again after their worker died"] if progress.retried else []
    parts += [f"{progress.failed:,} failed"] if progress.failed else []
    return f"{plural(progress.total, *what)}: {', '.join(parts)}"


def _asked(comparison: Comparison) -> list[tuple[str, str]]:
    settings = comparison.settings
    unproven = sum(row.status == "unproven" for row in comparison.rows)
    solved = sum(row.cost is not None for row in comparison.rows)
    proof = "all mappings proven optimal" if not unproven else f"{unproven:,} of {solved:,} mappings not proven"
    return [
        ("Networks", ", ".join(comparison.networks)),
        ("Architectures", ", ".join(comparison.archs)),
        ("Dataflows", ", ".join(comparison.dataflows)),
        ("Objective", f"{settings.objective.name}, {settings.space} space, {settings.tiling} tilings"),
        ("Proof", proof),
    ]


def _networks(comparison: Comparison) -> TextTable:
    unit = si_unit(comparison.settings.objective).replace("formula", "of pJ and cycles")
    table = columns(
        ("network", "architecture", "dataflow"),
        ("energy", "latency", f"objective ({unit})", "proof", "utilization", "x free", "x free, layers"),
    )
    before: Summary | None = None
    for s in comparison.summaries():
        names = (
            "" if before and before.network == s.network else s.network,
            "" if before and (before.network, before.arch) == (s.network, s.arch) else s.arch,
            s.dataflow,
        )
        table.add_row(*names, *_network_cells(s))
        before = s
    return table


def _network_cells(s: Summary) -> tuple[str, ...]:
    layers = _factor(s.layer_penalty) if s.dataflow != FREE else ""
    if s.energy_pj is None or s.latency_s is None or s.value is None or s.utilization is None:
        return (f"{plural(len(s.missing), 'layer')} without", "", "", "", "", "", layers)
    penalty = _factor(s.penalty) if s.dataflow != FREE else ""
    figures = (energy(s.energy_pj), seconds(s.latency_s), significant(s.value), proof_words(s))
    return (*figures, percent(s.utilization, 1), penalty, layers)


def proof_words(s: Summary) -> str:
    """Whether all mappings of a network are proven, or how much better it could be."""
    if s.proven:
        return "proven"
    return "not proven" if s.gap is None else f"gap {percent(s.gap, 1)}"


def _kinds(comparison: Comparison) -> TextTable:
    table = columns(("architecture", "kind of layer", "best dataflow"), ("layers", "won", "x free", "others, x free"))
    shown = ""
    for (arch, kind), found in itertools.groupby(comparison.winners(), key=lambda w: (w.arch, w.kind)):
        group = list(found)
        complete = [w for w in group if w.mapped == w.layers]
        if complete:
            best, *others = sorted(complete, key=lambda w: (w.layer_penalty or 0.0, -w.wins))
            beside = ", ".join(f"{w.dataflow} {_factor(w.layer_penalty)}" for w in others)
            ties = tied_best((w.dataflow, w.layer_penalty or 0.0) for w in (best, *others))
            figures = (count(best.layers), count(best.wins), _factor(best.layer_penalty), beside)
            table.add_row("" if arch == shown else arch, kind, best_text(ties, [w.dataflow for w in group]), *figures)
            shown = arch
    return table


def best_text(ties: Sequence[str], compared: Sequence[str]) -> str:
    """The best of some dataflows: its name, those of all that tie, or that there is nothing to choose."""
    others = [name for name in compared if name not in ties]
    if len(compared) > 1 and not others:
        return "makes no difference"
    return f"all but {others[0]}" if len(others) == 1 and len(ties) > 1 else " = ".join(ties)


def _hybrids(comparison: Comparison) -> TextTable:
    table = columns(("network", "architecture", "best single"), ("single / best for each", "best for each / free"))
    for h in comparison.hybrids():
        gain = _factor(h.gain) or "-"
        rest = _factor(h.hybrid_value / h.free_value) if h.hybrid_value and h.free_value else "-"
        single = best_text(h.ties, h.compared) if h.single else "none maps all layers"
        table.add_row(h.network, h.arch, single, gain, rest)
    return table


def _diagnoses(rows: list[Row]) -> Text:
    """Every reason once, with how many rows it holds for."""
    reasons: dict[str, list[Row]] = {}
    for row in rows:
        first = row.diagnosis.splitlines()[0].replace(f"{row.problem.name} ", "the layer ")
        reasons.setdefault(f"{row.arch}, {row.dataflow}: {first}", []).append(row)
    lines = [f"{reason} ({plural(len(found), 'layer')})" for reason, found in reasons.items()]
    if len(lines) > _MOST_DIAGNOSES:
        lines = [*lines[:_MOST_DIAGNOSES], f"and {len(lines) - _MOST_DIAGNOSES:,} more: see the table of layers"]
    return Text("\n".join(lines))


def _factor(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
