"""Nests of one operation on a machine with caches, which keep what is used again by themselves: what is left of a plan
is the order of its tiles, and the tile of outputs that its registers hold.

    for K in 4                              for k0 in tiles of 16
      for Q in 11                             for q0 in tiles of 5
        registers keep O[16 k, 5 q]   ->        5 vectors of sums, in registers
          for C in 64                           for c: 5 vectors += 5 words of the input * 1 vector of weights
            for Q in 5, parallel K in 16        the 5 vectors leave, complete, after what is done with complete words

Neighbouring outputs along one dimension are the lanes of a vector, so operands have to lie word by word along it, or
not to move at all: tensors between groups lie so that they do (`lane_of`), and parameters are packed once, in the order
in which the innermost loops read them (`Pack`). Where the plan has no such tile, because it splits its sums or has too
few of them for the multiplier's pipeline, it is made larger: loops of the plan that stand in the way are left out.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

from ....arch import Architecture
from ....ir import Mapping, Node
from ....ir.expression import Operand, factors_of
from .loop_program import Access, Affine, Array, PerfectNest, RegisterTile
from .packs import Pack

FEWEST_SUMS = 8
"""Vectors of sums that keep two multipliers at work, each of which takes four cycles."""


@dataclass(frozen=True)
class Registers:
    """The vectors of a machine.

    lanes  words in one
    count  of them
    """

    lanes: int
    count: int

    @property
    def sums(self) -> int:
        """Vectors that may be sums: the others hold operands."""
        return max(self.count - max(self.count // 8, 2), 1)


def has_caches(arch: Architecture) -> bool:
    """Whether programs for this machine copy nothing into its memories but what its registers sum up."""
    return any(memory.is_cache for memory in arch.memories)


def registers_of(arch: Architecture) -> Registers:
    """The vectors of a machine with caches: as many lanes as its innermost fanout has instances, and as many vectors as
    its innermost memory has room for."""
    lanes = 2 ** (arch.mac_instances.bit_length() - 1)
    size = arch.memories[-1].size_bits or arch.word_bits * lanes * 16
    return Registers(lanes, max(size // (arch.word_bits * lanes), 4))


def summed_nodes(fused: Mapping, arch: Architecture) -> frozenset[Node]:
    """What programs copy there: outputs in memories that are no caches."""
    own = [memory.name for memory in arch.memories[1:] if not memory.is_cache]
    made = [operation.output.name for operation in fused.cascade]
    return frozenset(Node(memory, tensor) for memory in own for tensor in made)


@dataclass(frozen=True)
class Given:
    """What comes from outside, and is read by one nest alone: it may be packed.

    parameters  before the run
    tensors     in every run
    """

    parameters: Collection[str]
    tensors: Collection[str]


def register_tile(nest: PerfectNest, registers: Registers, given: Given) -> RegisterTile | None:
    """How a nest is computed in registers; None where it is neither a sum of products nor a maximum of words, where
    nothing is combined, or where no dimension lies word by word."""
    expression = nest.operation.expression
    if factors_of(expression) is None or math.prod(nest.extents[dim] for dim in nest.summed) == 1:
        return None
    if len(nest.operands) > 2 or (nest.operation.reduction == "max" and not isinstance(expression, Operand)):
        return None
    lane, price = lane_of(nest, registers, given)
    if lane is None or price == math.inf:
        return None
    packed = tuple(i for i, one in enumerate(nest.operands) if _is_packed(nest, one, lane, given))
    vectors, rows = _tile(nest, lane, registers)
    loops, width = list(nest.loops), vectors * registers.lanes
    wanted = {lane: width, **dict(rows)}
    for dim, least in wanted.items():
        _leave_out(loops, dim, least, is_whole=dim == lane)
    many = width + math.prod(n for _, n in rows)
    if math.prod(nest.extents[dim] for dim in nest.summed) * many <= 2**17:  # words that caches near the core hold
        loops = [(dim, step) for dim, step in loops if dim not in nest.summed]
    loops = [(dim, step) for dim, step in loops if step != wanted.get(dim)]
    moved = [one for i, one in enumerate(nest.operands) if i not in packed]
    summed = sorted(nest.summed, key=lambda dim: -max((abs(nest.stride(one, dim)) for one in moved), default=0))
    return RegisterTile(nest, lane, registers.lanes, vectors, rows, tuple(loops), tuple(summed), packed)


def lane_of(
    nest: PerfectNest, registers: Registers, given: Given, *, is_free: bool = False
) -> tuple[str | None, float]:
    """The dimension that is best as lanes, and what it costs.

    is_free  whether the output may lie as is best
    """
    prices = {dim: _price(nest, dim, registers, given, is_free) for dim in nest.written}
    lane = min(prices, key=prices.__getitem__, default=None)
    return lane, math.inf if lane is None else prices[lane]


def _price(nest: PerfectNest, dim: str, registers: Registers, given: Given, is_free: bool) -> float:
    """What it costs to have a dimension as lanes: words that are not neighbours, and lanes without words."""
    found = 0.0 if is_free or nest.stride(nest.target, dim) == 1 else 1.0
    strides = [nest.stride(access, dim) for access in nest.operands]
    if not any(strides):
        return math.inf
    for access, stride in zip(nest.operands, strides, strict=True):
        if stride not in (0, 1):
            is_parameter = access.array.tensor.name in given.parameters
            found += math.inf if not _can_be_packed(nest, access, given) else 0.0 if is_parameter else 1.5
    size = nest.extents[dim]
    lanes = -(-size // registers.lanes) * registers.lanes
    packed = [_is_packed(nest, access, dim, given) for access in nest.operands]
    if lanes > size and any(stride == 1 and not own for stride, own in zip(strides, packed, strict=True)):
        found += 1.5  # what is left of the lanes is read word by word
    return found + 2 * (lanes / size - 1) - (0.25 if dim == nest.lane else 0)


def _can_be_packed(nest: PerfectNest, access: Access, given: Given) -> bool:
    """Whether every element of a nest's dimensions is another word, and nothing outside of the nest moves it."""
    if access.array.is_local or access.array.tensor.name not in {*given.parameters, *given.tensors}:
        return False
    dims = {variable: dim for dim, variable in nest.variables.items()}
    terms = [part.terms for part in access.index]
    known = [v in dims and c == 1 and nest.begins[dims[v]] == Affine() for each in terms for v, c in each]
    return all(known) and all(len(each) <= 1 for each in terms)


def _is_packed(nest: PerfectNest, access: Access, lane: str, given: Given) -> bool:
    is_parameter = access.array.tensor.name in given.parameters
    return (is_parameter or nest.stride(access, lane) not in (0, 1)) and _can_be_packed(nest, access, given)


def _tile(nest: PerfectNest, lane: str, registers: Registers) -> tuple[int, tuple[tuple[str, int], ...]]:
    """Vectors along the lanes, and rows: those of the plan, if they keep the multipliers at work."""
    most, others = registers.sums, [dim for dim in nest.written if dim != lane]
    planned = [(dim, nest.tile[dim]) for dim in others if nest.tile[dim] > 1]
    vectors = max(nest.tile[lane] // registers.lanes, 1)
    sums = vectors * math.prod(n for _, n in planned)
    if lane == nest.lane and FEWEST_SUMS <= sums <= most and len(planned) <= 2:
        return vectors, tuple(planned)
    every = -(-nest.extents[lane] // registers.lanes)
    moving = [dim for dim in others if nest.extents[dim] > 1 and any(nest.stride(one, dim) for one in nest.operands)]
    moving.sort(key=lambda dim: (nest.extents[dim] < 4, nest.stride(nest.target, dim)))
    vectors = min(every, 2) if moving else min(every, FEWEST_SUMS)
    rows: list[tuple[str, int]] = []
    for dim in moving[:2]:
        left = most // (vectors * math.prod(n for _, n in rows))
        if left > 1 and math.prod(n for _, n in rows) * vectors < FEWEST_SUMS:
            rows.append((dim, _rows(nest.extents[dim], left)))
    return vectors, tuple(rows)


def _rows(size: int, most: int) -> int:
    """As many rows as leave few behind, and are many."""
    return max(range(1, min(size, most) + 1), key=lambda n: (n / most) - (size % n) / size)


def _leave_out(loops: list[tuple[str, int]], dim: str, least: int, *, is_whole: bool) -> None:
    """Leave out the innermost loops over a dimension until their steps hold register tiles, or whole ones alone."""
    while own := [i for i, (one, _) in enumerate(loops) if one == dim]:
        step = loops[own[-1]][1]
        if step % least == 0 if is_whole else step >= least:
            return
        del loops[own[-1]]


# ---- what is packed --------------------------------------------------------------------------------------------------


def pack_of(tile: RegisterTile, number: int) -> Pack:
    """The copy of an operand that a register tile reads."""
    nest, access = tile.nest, tile.nest.operands[number]
    moving = {dim for dim in nest.extents if nest.stride(access, dim)}
    outside = [dim for dim in nest.written if dim in moving and dim != tile.lane]
    inside = [dim for dim in tile.summed if dim in moving]
    is_row = tile.lane in moving
    dims = [*outside, *inside, *([tile.lane] if is_row else [])]
    width = tile.width if is_row else 0
    return Pack(access, tuple((dim, nest.extents[dim]) for dim in dims), nest.variables, width, len(inside))


def with_packed(tile: RegisterTile) -> tuple[RegisterTile, dict[Array, Array], list[Pack]]:
    """The tile with the operands that it reads from copies, what has become of their arrays, and the copies."""
    packs = [pack_of(tile, number) for number in tile.packed]
    operands, arrays = list(tile.nest.operands), {}
    for number, pack in zip(tile.packed, packs, strict=True):
        array = operands[number].array
        arrays[array] = replace(array, shape=(pack.words,), steps=(1,), order=(0,))
        operands[number] = Access(arrays[array], (pack.place(),))
    return replace(tile, nest=replace(tile.nest, operands=tuple(operands))), arrays, packs
