"""Which pruning rules of the search still hold where operands have zeros, before anything of a mapping is known.

Without zeros four rules prune loops and rows; a property of `ZeroRules` says of each whether it still holds.

- A loop that charges nothing stands as far inside as it can. Without savings this loses nothing, since the tiles of
  nodes do not depend on the order of the loops between them. With savings it loses nothing in two cases. Either all
  memories of a tensor, from the inside out to the last one that saves, skip alike: moved inwards, a loop of n trips
  makes one access of n, which is needed no more often than the n together, and no cost that has been charged changes.
  Or each access that may be left out meets one word of every operand that decides: the same share is left out in every
  mapping. (`orders_count`: the rule fails.)
- A row that another one dominates, costing no more in any column, is pruned. This needs columns that say everything.
  They do not where words pass that a memory further out may leave out, where units or memories leave out operations by
  what stands further in, or where the smallest format may not fit. (`rows_count`: the rule fails.)
- Complete rows of perfect tiles with equal columns cost the same. This also holds where every order of loops is tried
  because one memory alone, outside the innermost holder, saves accesses of an operand: the share that it leaves out is
  left out further in as well, and is charged with it. (`columns_tell`: the rule holds.)
- With ragged tiles, a loop is no longer than it must be to leave the same number of tiles. This loses nothing if a word
  takes no more bits in a smaller tile and nothing is left out. (`trips_count`: the rule fails.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ....arch import Architecture, Fanout, Memory
from ....arch.spec import SparseFormat
from ....cost_models.sparse import Density, Uniform, densities_of
from ....cost_models.sparse.formats import nonzero_share, possible_formats
from ....cost_models.sparse.savings import box
from ....cost_models.sparse.shares import check_known, zeros_at_mac
from ....ir import Problem, Role, Tensor
from ...tilings import Tiling

ALIKE: frozenset[SparseFormat] = frozenset(("uncompressed", "bitmask", "blocks"))
"""Formats in which a word takes the same number of bits on average in every tile."""


@dataclass(frozen=True)
class ZeroRules:
    """Which pruning rules hold for a problem with zeros on a machine, before anything of a mapping is known.

    problem, arch  as they are given; the search may see smaller ones
    """

    problem: Problem
    arch: Architecture
    tiling: Tiling

    def __post_init__(self) -> None:
        check_known(self.problem, self.arch)

    @cached_property
    def densities(self) -> dict[str, Density]:
        """The densities of operands with zeros, by the tensor's name."""
        return densities_of(self.problem)

    def shape(self, tensor: Tensor) -> tuple[int, ...]:
        """Return the extent of a tensor along each rank."""
        return box(tensor, self.problem.sizes, self.arch.footprint)

    def nonzero(self, tensor: Tensor) -> float:
        """Return the probability that a word of a tensor is not zero."""
        if tensor.name not in self.densities:
            return 1.0
        return nonzero_share(self.densities[tensor.name], self.shape(tensor))

    def formats(self, memory: Memory, tensor: Tensor) -> tuple[SparseFormat, ...]:
        """Return the formats in which a memory may hold a tensor."""
        if tensor.name not in self.densities:
            return ("uncompressed",)
        return possible_formats(memory, tensor, self.densities[tensor.name])

    def keeping(self, tensor: Tensor) -> list[Memory]:
        """Return the memories that may keep a tensor, outermost first."""
        return [memory for memory in self.arch.memories if memory.keeps[tensor.role] != "never"]

    def deciding(self, tensor: Tensor, roles: Sequence[Role]) -> list[Tensor]:
        """Return the operands of some roles, other than the tensor, whose zeros decide which of its accesses are left
        out."""
        return [
            other
            for other in self.problem.operands
            if other is not tensor and other.role in roles and other.name in self.densities
        ]

    def saves(self, memory: Memory, tensor: Tensor) -> bool:
        """Whether a memory may leave out accesses of a tensor."""
        return any(self.deciding(tensor, by_role.get(tensor.role, ())) for by_role in (memory.gates, memory.skips))

    @cached_property
    def orders_count(self) -> bool:
        """Whether a loop that charges nothing may pay elsewhere than as far inside as it can stand."""
        return not all(self._is_known(tensor) and self._mac_finds_all(tensor) for tensor in self._varying)

    @cached_property
    def rows_count(self) -> bool:
        """Whether a row may lead to the best mapping although another one costs no more in every column."""
        return self._has_choices or self.orders_count or (self.tiling == "ragged" and bool(self._varying))

    @property
    def columns_tell(self) -> bool:
        """Whether complete rows of perfect tiles with equal columns cost the same."""
        varying = [tensor for tensor in self._varying if not (self._is_known(tensor) and self._mac_finds_all(tensor))]
        return not self._has_choices and len(varying) <= 1 and all(map(self._is_counted, varying))

    @property
    def _has_choices(self) -> bool:
        """Whether a memory may hold a tensor in several formats."""
        return any(
            len(self.formats(memory, tensor)) > 1
            for tensor in self.problem.operands
            for memory in self.keeping(tensor)[1:]
        )

    def only_saver(self, tensor: Tensor) -> Memory | None:
        """Return the one memory that may leave out accesses of an operand; None where several may, or none."""
        savers = [memory for memory in self.keeping(tensor) if self.saves(memory, tensor)]
        return savers[0] if len(savers) == 1 and not tensor.is_output else None

    def _is_counted(self, tensor: Tensor) -> bool:
        """Whether all that an operand's only saver leaves out, further in as well, is known once the words that pass it
        are (`CostColumns.book_further_in`): exactly one memory holds the operand inside it, the operands that decide
        have uniform zeros, and what it skips does not change the time of operations."""
        saver = self.only_saver(tensor)
        if saver is None or saver.keeps[tensor.role] != "must":
            return False
        inside = self.keeping(tensor)[self.keeping(tensor).index(saver) + 1 :]
        others = self.deciding(tensor, (*saver.gates.get(tensor.role, ()), *saver.skips.get(tensor.role, ())))
        skips = self.deciding(tensor, saver.skips.get(tensor.role, ()))
        return (
            [memory.keeps[tensor.role] for memory in inside] == ["must"]
            and all(isinstance(self.densities[other.name], Uniform) for other in others)
            and (not skips or self._mac_finds_all(tensor))
        )

    def least_done(self, tensor: Tensor) -> tuple[float, float]:
        """Return, for an operand with one saver, the least and the most share of operations that the zeros of the other
        operand leave: the least is what `machine` counts, the most is what remains if the units alone leave out
        operations."""
        kept, most = 1.0, 1.0
        for other in self.deciding(tensor, ("input", "weight")):
            nonzero = self.nonzero(other)
            gated, skipped = zeros_at_mac(self.arch.mac, other, self.densities[other.name], nonzero)
            kept, most = kept * nonzero, most * (1.0 - max(gated, skipped))
        return kept, most

    @cached_property
    def trips_count(self) -> bool:
        """Whether a longer loop may pay than the shortest one that leaves the same number of tiles."""
        return self.rows_count or bool(self.unsettled)

    @cached_property
    def unsettled(self) -> tuple[int, ...]:
        """The operands, as numbers, whose bits per word depend on tiles in a memory other than the outermost one."""
        return tuple(
            t
            for t, tensor in enumerate(self.problem.tensors)
            if not all(self.is_alike(memory, tensor) for memory in self.keeping(tensor)[1:])
        )

    @cached_property
    def _varying(self) -> list[Tensor]:
        """The tensors of which some memory leaves out more accesses in one mapping than in another."""
        return [
            tensor
            for tensor in self.problem.tensors
            if any(
                self.saves(memory, tensor) and not self._meets_words(memory, tensor) for memory in self.keeping(tensor)
            )
        ]

    def _meets_words(self, memory: Memory, tensor: Tensor) -> bool:
        """Whether in every mapping each access of a memory to a tensor meets one word of every other operand, with
        uniform zeros: nothing keeps the tensor further in, and no instances share accesses there."""
        inside = self.arch.levels[self.arch.levels.index(memory) + 1 :]
        holders = [level for level in inside if isinstance(level, Memory) and level.keeps[tensor.role] != "never"]
        shares = [
            fanout.spatial_reduction if tensor.is_output else fanout.multicast
            for fanout in inside
            if isinstance(fanout, Fanout) and fanout.instances > 1
        ]
        others = self.deciding(tensor, (*memory.gates.get(tensor.role, ()), *memory.skips.get(tensor.role, ())))
        alike = all(isinstance(self.densities[other.name], Uniform) for other in others)
        return memory.keeps[tensor.role] == "must" and not holders and not any(shares) and alike

    def is_alike(self, memory: Memory, tensor: Tensor) -> bool:
        """Whether a word of a tensor takes the same number of bits in every tile that a memory holds."""
        kinds = self.formats(memory, tensor)
        return len(kinds) == 1 and kinds[0] in ALIKE

    def _is_known(self, tensor: Tensor) -> bool:
        """Whether what is left out of a tensor's words follows from what the innermost memories leave out: all memories
        out to the last one that saves skip by the same roles, none of them gates, and the operands that decide have
        uniform zeros."""
        inwards = self.keeping(tensor)[::-1]
        if tensor.is_output:  # the innermost holder alone leaves anything out, whichever that is
            saving = [memory for memory in inwards if self.saves(memory, tensor)]
        else:
            saving = inwards[: 1 + max(i for i, memory in enumerate(inwards) if self.saves(memory, tensor))]
        skips = {memory.skips.get(tensor.role, ()) for memory in saving}
        gating = any(self.deciding(tensor, memory.gates.get(tensor.role, ())) for memory in saving)
        others = {*self.deciding(tensor, sum(skips, ()))}
        alike = all(isinstance(self.densities[other.name], Uniform) for other in others)
        return len(skips) == 1 and not gating and alike

    def _mac_finds_all(self, tensor: Tensor) -> bool:
        """Whether the MAC units skip every zero of the other operands, and so all that memories leave out of a
        tensor."""
        if tensor.is_output:
            return True  # what is left out of an output is no operation
        mac, others = self.arch.mac, self.deciding(tensor, ("input", "weight"))
        return all(
            zeros_at_mac(mac, other, self.densities[other.name], self.nonzero(other))[1] == 1.0 - self.nonzero(other)
            for other in others
        )

    @property
    def apart(self) -> frozenset[str]:
        """The dimensions that the searched problem must not join: those of tensors for which more counts than the
        number of words in a tile."""
        found: set[str] = set()
        for tensor in self.problem.operands:
            density = self.densities.get(tensor.name)
            by_shape = any("csr" in self.formats(memory, tensor) for memory in self.keeping(tensor))
            if density is not None and (by_shape or not isinstance(density, Uniform)):
                found |= tensor.dims
        return frozenset(found)

    @property
    def machine(self) -> Architecture:
        """The machine whose MAC units leave out as many operations as any mapping may: costs on it are lower bounds."""
        energy = cycles = 1.0
        for tensor in self.problem.operands:
            if tensor.name not in self.densities:
                continue
            density, zero = self.densities[tensor.name], 1.0 - self.nonzero(tensor)
            gated, skipped = zeros_at_mac(self.arch.mac, tensor, density, 1.0 - zero)
            for other in self.problem.operands:
                for memory in self.keeping(other) if other is not tensor else []:
                    gated = zero if tensor.role in memory.gates.get(other.role, ()) else gated
                    skipped = zero if tensor.role in memory.skips.get(other.role, ()) else skipped
            energy, cycles = energy * (1.0 - max(gated, skipped)), cycles * (1.0 - skipped)
        mac = self.arch.mac
        changed = mac.model_copy(update={"energy_pj": mac.energy_pj * energy, "per_cycle": mac.per_cycle / cycles})
        return self.arch.model_copy(update={"mac": changed})
