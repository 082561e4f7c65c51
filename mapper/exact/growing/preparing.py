"""The context of a search, before anything is decided: columns, bounds, and which trips are tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ....arch import Architecture
from ....cost_models import EDP, Cost, Objective
from ....cost_models.ports import Port
from ...effort import Effort
from ...means import Means
from ...tilings import has_few_tiles, linear_growth
from ..bounds.bounds import Bounds, cells_for, lattice_of
from ..bounds.loop_charges import LoopCharges
from ..bounds.table_columns import TableColumns
from ..counting.charges import BoundaryCosts
from ..counting.cost_columns import CostColumns, rounds_unequally
from ..counting.footprints import Footprints
from ..counting.lines import LineBounds
from ..counting.zeros import ZeroBounds
from ..question.limits import SearchLimits, wants_more
from ..question.reduced import ReducedQuestion
from ..question.single_axes import on_single_axes
from ..table_memo import TableBudget
from .context import SearchContext


def prepare(
    question: ReducedQuestion,
    objective: Objective,
    known: Cost | None,
    several: bool,
    means: Means,
    effort: Effort,
    pruned: Counter[str],
) -> SearchContext:
    """Make all that the steps of a search have in common.

    known    the cost of a good mapping: which ports may be slow, and what a cycle is worth
    several  whether more than the best mapping is wanted
    pruned   where what is left aside is counted
    """
    hierarchy, tiling = question.hierarchy, question.counted
    lines = LineBounds.of(question.original, question.machine, hierarchy) if question.has_lines else None
    zeros = None if question.zeros is None else ZeroBounds(question.zeros, hierarchy)
    rate = _exchange_rate(objective, question.arch, known)
    cost_columns = CostColumns.of(question.arch, rate, objective, question.surroundings, lines, zeros)
    every = several or (question.zeros is not None and question.zeros.orders_count)
    even = _even(question, every, lines)
    room = effort.share * means.memory_limit
    limits = SearchLimits(hierarchy, on_single_axes(question.constraints, question.machine))
    charges = LoopCharges(hierarchy, limits)
    columns = TableColumns.of(cost_columns, _busy_ports(cost_columns.ports, known, question, effort))
    most_cells = cells_for(charges, columns.tables.count, room)
    lattice = lattice_of(hierarchy, tiling, even, min(effort.first_cells, most_cells), effort)
    footprints = Footprints(hierarchy, zeros)
    equally = not rounds_unequally(question.arch, tiling)
    return SearchContext(
        hierarchy,
        footprints,
        Bounds(hierarchy, footprints, lattice, columns, budget=TableBudget(means, room), moves=charges),
        BoundaryCosts(hierarchy, cost_columns, equally, ragged=tiling == "ragged"),
        limits,
        objective,
        question.visit,
        even,
        pruned,
        every_mapping=every,
        mirror=question.mirror,
        means=means,
        effort=effort,
    )


def _even(question: ReducedQuestion, every: bool, lines: LineBounds | None) -> tuple[bool, ...]:
    """Tell for each dimension whether the fewest trips and instances suffice, of all that leave as many tiles.

    Where there are few tiles, all are tried: nothing has to be argued about. Constraints may ask for more trips, or
    instances, than anyone needs; more instances may fill their last blocks better; and where several mappings are
    wanted (`every`), those that only cost more count too.
    """
    every_trip = every or has_few_tiles(question.problem) or (question.zeros is not None and question.zeros.trips_count)
    unequal = rounds_unequally(question.arch, question.counted)
    fewest = not every_trip and not wants_more(question.constraints) and not unequal
    return tuple(
        fewest and linear_growth(question.problem, dim) and (lines is None or lines.are_words(d))
        for d, dim in enumerate(question.problem.dim_names)
    )


def _exchange_rate(objective: Objective, arch: Architecture, known: Cost | None) -> float | None:
    """Return pJ per cycle for bounds on a product (`CostColumns.exchange_rate`): any rate is valid, a typical one
    bounds best."""
    if objective != EDP:
        return None
    if known is not None:
        return known.energy_pj / max(known.latency_cycles, 1.0)
    innermost = arch.memories[-1]
    per_mac = arch.mac.energy_pj + 4 * arch.word_bits * innermost.read_energy_pj / innermost.access_bits
    return max(2 * per_mac, 1e-3) * arch.mac_instances * arch.mac.per_cycle


def _busy_ports(ports: Sequence[Port], known: Cost | None, question: ReducedQuestion, effort: Effort) -> Sequence[Port]:
    """Return the ports that may be the slowest, going by a good mapping; all ports where none is known. Waiting for
    banks has no bound."""
    ports = [port for port in ports if port.waits_for is None]
    if known is None:
        return ports
    uses = {use.name: use for use in known.memories}
    fewest = question.problem.macs / (question.arch.mac_instances * question.arch.mac.per_cycle)
    found = []
    for port in ports:
        cycles = next((use.cycles for use in uses[port.memory.name].ports if use.name == port.name), 0.0)
        if not port.memory.overlaps or cycles > effort.busy * fewest:
            found.append(port)
    return found
