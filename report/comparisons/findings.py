"""What a comparison found, in sentences: the first thing that a reader of a report wants to know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...ir.units import percent, plural, significant
from ..parts.si import machines_compare, network_objective
from .compared import Summary
from .hybrid import Hybrid, hybrids
from .rows import FREE, ComparisonRows
from .summaries import NOTABLE, geometric_mean, summaries

_LARGE = 10.0
"""Factors from here on are written without decimals that nobody reads."""


def findings(comparison: ComparisonRows) -> tuple[str, ...]:
    """The findings of a comparison, the most important first; each one sentence."""
    return (
        *_best_machines(comparison),
        *_cost_of_one_dataflow(comparison),
        *_best_dataflows(comparison),
        *_worth_of_choice(comparison),
        *_without_mapping(comparison),
        _proof(comparison),
    )


def _best_machines(comparison: ComparisonRows) -> Iterator[str]:
    """For each network, the architecture that is best with a free choice: in joules and seconds."""
    if FREE not in comparison.dataflows or len(comparison.archs) < 2:
        return
    name = _goal(comparison)
    if not machines_compare(comparison.settings.objective, comparison.machines.values()):
        yield f"Architectures are not ranked: {name} counts cycles, and their clocks differ."
        return
    for network in comparison.networks:
        found = [
            (s.value, f"{s.arch}{_not_proven(s)}")
            for s in _free_summaries(comparison)
            if s.network == network and s.value is not None
        ]
        if len(found) > 1:
            (least, best), *others = sorted(found)
            value, second = others[0]
            yield (
                f"{network}: of {len(found)} architectures, {best} has the least {name} with a free choice of mapping; "
                f"{second} follows with {_times(value / least)} as much, {others[-1][1]} is last with "
                f"{_times(others[-1][0] / least)}."
                if len(others) > 1
                else f"{network}: {best} has the least {name} with a free choice of mapping; {second} has "
                f"{_times(value / least)} as much."
            )


def _free_summaries(comparison: ComparisonRows) -> list[Summary]:
    return [s for s in summaries(comparison) if s.dataflow == FREE]


def _not_proven(s: Summary) -> str:
    """After the name of an architecture whose free choice is not proven: how much better it could be."""
    if s.proven:
        return ""
    return " (not proven)" if s.gap is None else f" (not proven, gap {percent(s.gap, 1)})"


def _free_words(comparison: ComparisonRows) -> str:
    """What dataflows are compared with: the free optimum, where it is known to be one; else how far it may be off."""
    found = _free_summaries(comparison)
    if all(s.proven or s.value is None for s in found):
        return "the free optimum"
    gaps = [s.gap for s in found if not s.proven and s.value is not None]
    known = [gap for gap in gaps if gap is not None]
    most = f", gap up to {percent(max(known), 1)}" if len(known) == len(gaps) else ""
    return f"the best free choice found (not proven{most})"


def _cost_of_one_dataflow(comparison: ComparisonRows) -> Iterator[str]:
    """What the best single fixed dataflow costs against the free optimum."""
    found = [
        (h.single_value / h.free_value, h) for h in hybrids(comparison) if h.single_value is not None and h.free_value
    ]
    if not found:
        return
    mean = geometric_mean((factor, 1) for factor, _ in found)
    worst, where = max(found, key=lambda pair: pair[0])
    assert mean is not None
    name, free = _goal(comparison), _free_words(comparison)
    if worst < NOTABLE:
        yield f"A fixed dataflow costs nothing here: the best one has the {name} of {free} everywhere."
        return
    yield (
        f"The best single fixed dataflow has {_times(mean)} the {name} of {free} (geometric mean of "
        f"{plural(len(found), 'network and architecture', 'pairs of network and architecture')}), at worst "
        f"{_times(worst)} ({where.network} on {where.arch}, {where.single})."
    )


def _best_dataflows(comparison: ComparisonRows) -> Iterator[str]:
    """Which fixed dataflow comes nearest to the free optimum, over everything that it maps."""
    means = sorted(
        (mean, dataflow)
        for dataflow in comparison.dataflows
        if dataflow != FREE and (mean := _mean_penalty(summaries(comparison), dataflow)) is not None
    )
    free = _free_words(comparison)
    if means and all(hybrid.makes_no_difference for hybrid in hybrids(comparison)):
        yield f"The dataflow makes no difference here: all {len(means)} cost {_times(means[0][0])} {free}."
    elif means:
        ranking = ", ".join(f"{dataflow} {_times(mean)}" for mean, dataflow in means)
        yield f"Layer by layer against {free}, where a mapping exists (geometric means): {ranking}."


def _mean_penalty(found: Iterable[Summary], dataflow: str) -> float | None:
    return geometric_mean(
        (s.layer_penalty, s.layers - len(s.missing))
        for s in found
        if s.dataflow == dataflow and s.layer_penalty is not None
    )


def _worth_of_choice(comparison: ComparisonRows) -> Iterator[str]:
    """What it is worth to change the dataflow from layer to layer."""
    gains = [(h.gain, h) for h in hybrids(comparison) if h.gain is not None]
    if not gains:
        return
    mean = geometric_mean((gain, 1) for gain, _ in gains)
    most, where = max(gains, key=lambda pair: pair[0])
    assert mean is not None
    if most < NOTABLE:
        yield "To choose the dataflow anew for every layer buys nothing: one dataflow is the best for all of them."
        return
    yield (
        f"To choose the best fixed dataflow for every layer instead of one for all buys {_times(mean)} in geometric "
        f"mean, at most {_times(most)} ({_place(where)})."
    )


def _place(hybrid: Hybrid) -> str:
    used = ", ".join(sorted(set(hybrid.choice.values())))
    return f"{hybrid.network} on {hybrid.arch}, using {used}"


def _without_mapping(comparison: ComparisonRows) -> Iterator[str]:
    missing = [row for row in comparison.rows if row.cost is None]
    if missing:
        per_dataflow = {d: sum(row.dataflow == d for row in missing) for d in comparison.dataflows}
        counted = ", ".join(f"{n:,} under {d}" for d, n in per_dataflow.items() if n)
        yield f"No mapping: {len(missing):,} of {len(comparison.rows):,} rows ({counted}); each says why."


def _proof(comparison: ComparisonRows) -> str:
    solved = [row for row in comparison.rows if row.cost is not None]
    unproven = sum(row.status == "unproven" for row in solved)
    space = f"the {comparison.settings.space} space with {comparison.settings.tiling} tilings"
    if not unproven:
        return f"All {len(solved):,} mappings are proven optimal in {space}."
    proven = f"{len(solved) - unproven:,} of {len(solved):,} mappings"
    return f"{proven} are proven optimal in {space}; the rest ran out of time."


def _goal(comparison: ComparisonRows) -> str:
    name = network_objective(comparison.settings.objective).name
    return name.upper() if name in ("edp", "ed2p") else name


def _times(factor: float) -> str:
    return f"{factor:.2f} times" if factor < _LARGE else f"{significant(factor, 3)} times"
