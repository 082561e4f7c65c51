"""Complete rows become mappings, and the cost model has the last word on them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from ....arch import Architecture
from ....ir import Loop, LoopNest, Mapping, Node
from ....ir.nest import is_temporal
from ...constraints import Constraints
from ...constraints.violations import violations
from ...kernel.states import Closed
from ..counting.cost_columns import all_ports
from ..growing.batch import Batch
from ..growing.context import SearchContext
from ..growing.nest_builder import build_mapping
from ..question.canonical import CanonicalForm
from ..question.single_axes import on_both_axes
from .found import BestFound
from .orders import moves_windows_of_others, useful_orders


@dataclass
class Finishing:
    """Finishing evaluates the complete rows of one search.

    canonical  from the problem of the rows back to that of the machine
    """

    context: SearchContext
    best: BestFound
    canonical: CanonicalForm
    machine: Architecture
    constraints: Constraints
    _known: set[bytes] = field(default_factory=set)

    def finish(self, batch: Batch) -> Iterator[Closed[Mapping]]:
        """Yield the mappings of complete rows in the order of their bounds, while they may be better."""
        for row, bound in enumerate(batch.bound.tolist()):
            self.context.means.check()
            if bound >= self.best.cutoff:
                self.context.leave_aside("bound", len(batch) - row)
                return
            columns = batch.costs[:, row].tobytes() + batch.steps[row].tobytes()
            if columns in self._known:
                continue
            for canonical in self.mappings(batch, row):
                mapping = self.canonical.restore(on_both_axes(canonical))
                if not self.constraints.is_free and violations(mapping, self.machine, self.constraints):
                    self.context.leave_aside("constraint", 1)
                    continue
                yield Closed(bound, mapping)
                if self._columns_tell_all(batch):
                    self._known.add(columns)

    def _columns_tell_all(self, batch: Batch) -> bool:
        """Whether complete rows with equal columns cost the same: these are exact, unless something is pending as at
        the end of a dive, and nothing else counts. Fill times depend on the tiles too, and lines on where they begin;
        and for energy alone there are no columns of ports."""
        arch = self.context.hierarchy.arch
        every_port = len(self.context.costs.cost_columns.ports) == len(all_ports(arch))
        steady = arch.latency == "steady" and (self.context.zeros is None or self.context.zeros.rules.columns_tell)
        exact = self.context.tiling == "perfect" and not self.context.hierarchy.problem.stores_less
        exact = exact and not batch.pending and not self._has_exact_halo(batch)
        every_visit = not self.best.surroundings.short
        return exact and every_port and steady and every_visit and self.context.costs.lines is None

    def mappings(self, batch: Batch, row: int) -> Iterator[Mapping]:
        """Return the mapping of a complete row; with all its loop orders where every order counts: with an exact halo,
        and where loops come down to one trip in some visits, after which others may move nothing."""
        mapping = build_mapping(
            batch.path,
            self.context.visit,
            self.context.reduced_spread,
            [t[row].tolist() for t in batch.rows.tiles],
            [a[row].tolist() for a in batch.rows.arrays],
            [self.context.orders[i] for i in batch.orders[row].tolist()],
            [self.context.limits.spans(f) for f in range(len(self.context.hierarchy.fanouts))],
        )
        start = len(mapping.problem.tensors) + self.context.visit.loops_outside
        if self._has_exact_halo(batch) and self._few_orders(mapping):
            yield from useful_orders(mapping, self.context.hierarchy, start)
            return
        every_order = self._has_exact_halo(batch) or bool(self.best.surroundings.short)
        yield from all_orders(mapping, start) if every_order else (mapping,)

    def _few_orders(self, mapping: Mapping) -> bool:
        """Whether it is known which orders of loops may be best (`orders.py`): where the best mapping alone is wanted,
        and no array moves windows that another loop moves inside it."""
        hierarchy = self.context.hierarchy
        if not hierarchy.follows_halos or self.context.every_mapping or hierarchy.arch.latency != "steady":
            return False
        if any(fanout.hop_pj_per_bit for fanout in hierarchy.fanouts):
            return False
        return not moves_windows_of_others(mapping)

    def _has_exact_halo(self, batch: Batch) -> bool:
        hierarchy = self.context.hierarchy
        return any(
            hierarchy.memories[m].halo == "exact" and m != hierarchy.home(t)
            for t, held in enumerate(batch.path.placement)
            if not hierarchy.problem.tensors[t].is_output
            for m in held
        )


def all_orders(mapping: Mapping, start: int) -> Iterator[Mapping]:
    """Yield every mapping that differs only in the order of temporal loops between the same nodes and spatial loops,
    from some position on: above it stand nodes, and loops over visits."""
    above, below = mapping.nest.items[:start], mapping.nest.items[start:]
    runs: list[list[tuple[Loop | Node, ...]]] = []
    for temporal, group in itertools.groupby(below, key=is_temporal):
        items = tuple(group)
        runs.append(list(itertools.permutations(items)) if temporal else [items])
    for chosen in itertools.product(*runs):
        yield Mapping(mapping.problem, LoopNest((*above, *itertools.chain.from_iterable(chosen))))
