"""Operands with zeros, as pages have them: densities, what the zeros save, how every tensor is held."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...ir import Cascade, Problem, Work
from ...ir.units import count, energy, percent, size

if TYPE_CHECKING:  # numpy comes with them, and not every page is about a mapping
    from ...arch import Architecture
    from ...cost_models import Cost

MEANS = "Cost, a mean over all places of the zeros"


def density_rows(work: Work) -> list[tuple[str, str]]:
    """The densities of a problem's operands; none, where it has none: those of cascades have none."""
    if isinstance(work, Cascade) or not work.has_zeros:
        return []
    from ...cost_models.sparse import densities_of, density_text

    found = densities_of(work)
    return [("Density", ", ".join(f"{name} {density_text(d, work.tensor(name))}" for name, d in found.items()))]


def format_choices(problem: Problem, arch: Architecture) -> int:
    """Choices of formats of a mapping where every memory keeps what it may; a search takes the best of them.

    Raises TilewrightError for a machine, or a problem, that zeros are not known to.
    """
    from ...cost_models.sparse import densities_of
    from ...cost_models.sparse.formats import possible_formats
    from ...cost_models.sparse.shares import check_known

    check_known(problem, arch)
    densities = densities_of(problem)
    return math.prod(
        len(possible_formats(memory, tensor, densities[tensor.name]))
        for memory in arch.memories
        for tensor in problem.operands
        if tensor.name in densities and memory.keeps[tensor.role] != "never"
    )


def zero_rows(cost: Cost) -> list[tuple[str, str]]:
    """What zeros save, beside the same mapping without them."""
    zeros = cost.zeros
    if zeros is None:
        return []
    operations = zeros.operations
    return [
        (
            "Zeros",
            f"{percent(operations.done, cost.macs)} of {count(cost.macs)} MACs done, "
            f"{percent(operations.gated, cost.macs)} gated, {percent(operations.skipped, cost.macs)} skipped",
        ),
        (
            "",
            f"energy is {percent(cost.energy_pj, zeros.dense_energy_pj)} of {energy(zeros.dense_energy_pj)} without "
            f"them, latency {percent(cost.latency_cycles, zeros.dense_latency_cycles)} of "
            f"{count(zeros.dense_latency_cycles)} cycles",
        ),
    ]


ZERO_COLUMNS = (
    ("memory", "tensor", "held as"),
    ("words held", "metadata", "gated", "skipped", "metadata moved"),
)
"""Of `zero_table_rows`: texts, and numbers."""


def zero_table_rows(cost: Cost) -> list[tuple[str, ...]]:
    """How every tensor is held, and what passes of it, by memory; words are those that are held."""
    found: list[tuple[str, ...]] = []
    last = ""
    for each in cost.traffic:
        zeros = each.zeros
        if zeros is None:
            continue
        found.append(
            (
                "" if each.memory == last else each.memory,
                each.tensor,
                zeros.format,
                count(zeros.stored_words),
                size(round(zeros.stored_metadata_bits)) if zeros.stored_metadata_bits else "-",
                *(count(words) if words else "-" for words in (zeros.gated, zeros.skipped)),
                size(round(zeros.metadata_bits)) if zeros.metadata_bits else "-",
            )
        )
        last = each.memory
    return found
