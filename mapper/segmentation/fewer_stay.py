"""Bounds of groups of which tensors stay on chip, by the same groups of which fewer stay.

A tree for which a tensor stays in a memory becomes one for which it does not, with one node more: the memory holds the
tensor whole, as it did, and the node is filled from the outermost memory, or drained to it, once. So a group weighs at
least what it weighs where fewer tensors stay, less what it takes to pass the others once. The node stands above all
loops and splits of the group, where each tensor from outside has a depth of its own; a group of one operation has none,
in the even space, and is left out. Energy has to be all that counts: passing takes time too.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...arch import Architecture
from ...cost_models import Objective
from ...cost_models.cost import tensor_tile_words
from ...cost_models.layouts import has_lines
from ..canonical import CascadeNames
from ..cascades.terms.upper_memories import UpperMemories
from ..pareto.weights import weights_of
from .kinds import GroupKind


class FewerStay:
    """What passing takes on one machine, by an objective.

    knows  whether the bounds hold there
    """

    def __init__(self, arch: Architecture, objective: Objective) -> None:
        self.memories = UpperMemories(arch)
        weights = weights_of(objective)
        self.energy = 0.0 if weights is None else weights.energy
        timed = weights is None or not weights.energy_only or arch.total_leakage_pj_per_cycle > 0
        plain = arch.first_read_elision and not has_lines(arch) and not any(one.block_bits for one in arch.memories)
        self.knows = plain and not timed

    def relate(self, kinds: Sequence[GroupKind]) -> None:
        """Note at some kinds, which are equal but for what stays, of which of the others fewer tensors stay."""
        if not self.knows or len(kinds) < 2 or len(kinds[0].cascade.operations) < 2:
            return
        passing = [self._passing_pj(kind) for kind in kinds]
        for kind, each in zip(kinds, passing, strict=True):
            for other, fewer in zip(kinds, passing, strict=True):
                if each is not None and fewer is not None and fewer.keys() < each.keys():
                    more = sum(pj for stay, pj in each.items() if stay not in fewer)
                    kind.fewer.append((other, self.energy * more))
                    other.more.append(kind)

    def _passing_pj(self, kind: GroupKind) -> dict[tuple[int, str], float] | None:
        """pJ that each tensor that stays takes at most to pass once between its memory and the outermost one, by its
        number in the cascade, and memory; None where one has to lie in a memory between."""
        numbers = {tensor: i for i, tensor in enumerate(CascadeNames.of(kind.cascade).tensors)}
        found = {}
        for name, memory in kind.stays:
            users = [op for op in kind.cascade if any(tensor.name == name for tensor in op.problem.tensors)]
            tensors = [op.problem.tensor(name) for op in users]
            between = self.memories.upper[1 : self.memories.depth[memory]]
            if any(one.keeps[tensor.role] == "must" for one in between for tensor in tensors):
                return None
            footprint = self.memories.arch.footprint
            tiles = zip(tensors, (op.problem.sizes for op in users), strict=True)
            words = max(tensor_tile_words(tensor, sizes, footprint) for tensor, sizes in tiles)
            outermost = self.memories.outermost
            each = max(self.memories.through_pj(tensor, outermost, memory) for tensor in tensors)
            found[numbers[name], memory] = words * each
        return found
