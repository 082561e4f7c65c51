"""Words that cross boundaries, as variables: the counting rules of docs/cost-model.md for perfect tilings.

A node of a tensor is served once for every trip of every temporal loop above it that is charged. Each service moves
the tile, once per instance, or once per group of instances that a read serves together. Tiles times the trips of the
loops that move the tensor are the whole tensor, so what is left are the loops that do not:

    words = |tensor| x product over dimensions that do not move it of (charged trips x instances counted)

Ranks with windows are the exception: their tiles overlap, and tables (`windows.py`) take the place of |tensor|.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...arch import Architecture
from ...ir import Problem, Rank, Tensor, TilewrightError, ceil_div
from ..kernel.remembered import remembered
from ..means import check_call
from .loops import LoopVariables, States, Term, Var, checked
from .slots import windows
from .windows import View, kept, tile_words, wanted


@dataclass(frozen=True)
class Service:
    """The words given to the instances at a node, or to the MACs.

    tensor    index
    node      memory index; None is the MAC
    joined    spatial slots whose instances are served together
    instance  count for one instance of the level whose nodes are at this position; 0: for all of them
    """

    tensor: int
    node: int | None
    joined: tuple[int, ...] = ()
    instance: int = 0


def refuse_exact_halos(problem: Problem, arch: Architecture) -> None:
    """TilewrightError for windows in a memory that keeps their whole overlap: this needs loop orders in full."""
    for memory in arch.memories[1:]:
        for tensor in problem.operands:
            if memory.halo == "exact" and memory.keeps[tensor.role] != "never" and windows(problem, tensor):
                raise TilewrightError(
                    f"{memory.name} has 'halo: exact', and tiles of {tensor} overlap: this cannot be modelled",
                    where=f"{arch.name}: cpsat",
                    hint="set 'halo: innermost' or 'halo: none', or use the exact search",
                )


def refuse_boxes(problem: Problem, arch: Architecture) -> None:
    """TilewrightError for tiles whose box has gaps: here words are counted that they touch."""
    for tensor in problem.operands:
        gaps = any(c > 1 and problem.sizes[dim] > 1 for rank in tensor.ranks for dim, c in rank)
        if arch.footprint == "box" and gaps:
            raise TilewrightError(
                f"'footprint: box' is given, and tiles of {tensor} may have gaps: this cannot be modelled",
                where=f"{arch.name}: cpsat",
                hint="set 'footprint: exact', or use the exact search",
            )


class WordVariables:
    """Variables for words; each is made once."""

    def __init__(self, loops: LoopVariables) -> None:
        self.loops = loops
        self.places = loops.places

    @remembered
    def tile(self, number: int, memory: int) -> Var | int:
        """Words of the tile that one instance of a memory holds."""
        tensor, position = self.loops.problem.tensors[number], self.places.node[memory]
        plain = self._plain_dims(tensor)
        below = range(position, self.places.mac)
        factors = [self.loops.power(Term(dim, s) for dim in plain for s in below)]
        for rank in windows(self.loops.problem, tensor):
            states = self._states(rank)
            values = [tile_words(rank, position, _part(states, rank, state)) for state in states.chains]
            factors.append(self.loops.selected(values, states.chosen))
        return self.loops.product(factors)

    def served(self, service: Service) -> Var | int:
        """Words given in all services together."""
        if not self.places.spatial(0, service.instance):
            service = Service(service.tensor, service.node, service.joined)
        return self._served(service)

    @remembered
    def _served(self, service: Service) -> Var | int:
        tensor = self.loops.problem.tensors[service.tensor]
        position = self._position(service)
        node = None if service.node is None else (service.tensor, service.node)
        counted = [s for s in self.places.spatial(service.instance, position) if s not in service.joined]
        terms = [
            Term(dim, s, charged_at)
            for dim in self.loops.dims
            if dim not in tensor.dims
            for slots, charged_at in ((counted, None), (self.places.temporal_above(position), node))
            for s in slots
        ]
        factors = self._tensor_factors(service.tensor, service.instance, terms)
        factors += [self._window_factor(service, rank) for rank in windows(self.loops.problem, tensor)]
        return self.loops.product(factors)

    def first_visits(self, tensor: int, memory: int, instance: int = 0) -> Var | int:
        """Distinct words of an output in each instance of a memory, added up over those that are counted."""
        return self._first_visits(tensor, memory, instance if self.places.spatial(0, instance) else 0)

    @remembered
    def _first_visits(self, tensor: int, memory: int, instance: int) -> Var | int:
        irrelevant = [dim for dim in self.loops.dims if dim not in self.loops.problem.tensors[tensor].dims]
        above = self.places.spatial(instance, self.places.node[memory])
        terms = [Term(dim, s) for dim in irrelevant for s in above]
        return self.loops.product(self._tensor_factors(tensor, instance, terms))

    def _tensor_factors(self, tensor: int, instance: int, terms: list[Term]) -> list[Var | int]:
        """Trips, times the words of the tensor along its plain ranks, or of the part of it that one instance sees."""
        plain = self._plain_dims(self.loops.problem.tensors[tensor])
        sizes = [self.loops.problem.sizes[dim] for dim in plain]
        if instance:
            above = self.places.spatial(0, instance)
            terms = terms + [Term(dim, s) for dim in plain for s in range(self.places.mac) if s not in above]
            instances = math.prod(self.places.slots[s].array_axis.size for s in above)
            return [self.loops.power(terms, ceil_div(math.prod(sizes), instances))]
        return [self.loops.power(terms), *sizes]

    def _plain_dims(self, tensor: Tensor) -> list[str]:
        summed = {dim for rank in windows(self.loops.problem, tensor) for dim, _ in rank}
        return [dim for dim in self.loops.dims if dim in tensor.dims and dim not in summed]

    def _position(self, service: Service) -> int:
        return self.places.mac if service.node is None else self.places.node[service.node]

    # ---- windows --------------------------------------------------------------------------------------------

    def _states(self, rank: Rank) -> States:
        return next(states for states in self.loops.states if rank[0][0] in states.dims)

    def _window_factor(self, service: Service, rank: Rank) -> Var | int:
        """Words along a rank with a window, over all tiles and instances that are counted."""
        check_call()
        position = self._position(service)
        counted = tuple(s for s in self.places.spatial(service.instance, position) if s not in service.joined)
        view = View(position, service.joined, counted)
        states = self._states(rank)
        parts = [_part(states, rank, state) for state in states.chains]
        full = [wanted(self.places, view, rank, part) for part in parts]
        if service.node is None or self.loops.arch.memories[service.node].halo == "none":
            return self.loops.selected(full, states.chosen)
        saved: dict[tuple[int, int], list[int]] = {}
        for slot in self.places.temporal_above(position):
            for i in range(len(rank)):
                check_call()
                values = [kept(self.places, view, rank, part, slot, i) for part in parts]
                if any(values):
                    saved[slot, i] = values
        return self._with_halo(service, rank, states, full, saved)

    def _with_halo(
        self, service: Service, rank: Rank, states: States, full: list[int], saved: dict[tuple[int, int], list[int]]
    ) -> Var | int:
        """The words wanted, less those kept by the loop that moves innermost: one of `saved`, or none."""
        if not saved:
            return self.loops.selected(full, states.chosen)
        model = self.loops.model
        words = model.new_int_var(0, checked(max(full)), "")
        assert service.node is not None
        movers = [self._innermost(service.tensor, service.node, slot, rank[i][0]) for slot, i in saved]
        least = [f - max(values) for f, *values in zip(full, *saved.values(), strict=True)]
        model.add(sum(v * z for v, z in zip(least, states.chosen, strict=True)) <= words)
        for mover, values in zip(movers, saved.values(), strict=True):
            left = sum((f - v) * z for f, v, z in zip(full, values, states.chosen, strict=True))
            model.add(left <= words).only_enforce_if(mover)
        everything = sum(f * z for f, z in zip(full, states.chosen, strict=True))
        model.add(everything <= words).only_enforce_if([mover.Not() for mover in movers])
        return words

    @remembered
    def _innermost(self, tensor: int, memory: int, slot: int, dim: str) -> Var:
        """A Bool that may be true only where no loop further in than that of `dim` in a slot moves a node's tensor."""
        model = self.loops.model
        mover = model.new_bool_var("")
        for inner in self.loops.slots_between(slot, memory):
            model.add_implication(mover, self.loops.moves[tensor, inner].Not())
        classes = [chosen for chosen, each in self.loops.orders[slot] if each.mover[tensor] == dim]
        model.add_bool_or([mover.Not(), *classes])
        return mover


def _part(states: States, rank: Rank, state: tuple[tuple[int, ...], ...]) -> list[tuple[int, ...]]:
    """The chains of a rank's dimensions."""
    return [state[states.dims.index(dim)] for dim, _ in rank]
