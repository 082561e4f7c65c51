"""The means that a mapping is charged, counted again over random masks: `verify` says what came of it.

Every access is walked with masks of the stated densities in hand (`walk.py`); what the closed form says has to lie
within some standard errors of what the masks have on average. Where no mask differs from another, as with N:M and given
arrays, it has to be the same number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...arch import Architecture
from ...ir import Loop, Mapping, Tensor
from ..closed_form import count_words
from .densities import Banded, Density, Measured, Structured, Uniform
from .parsing import densities_of
from .savings import stay
from .shares import SparseMapping, zeros_at_mac
from .walk import Counts, Flags, walk_boundary, walk_operations

MASKS = 200
"""Masks that are drawn."""

ERRORS = 5.0
"""Standard errors that a mean may be off: one figure in 1.7 million is, by chance."""

RARE = 1e-3
"""Of all words, what may be off besides, where chance decides: no mask may show what is rare."""

AGAIN = 25
"""By how many times as many masks a mean is looked at again that is off: what no mask has shown may be so rare."""

RARE_AGAIN = 3e-3
"""The same as `RARE` then: what is in one of 333 masks is in none of 5,000 once in three million times."""

MOST_DRAWN = 50_000_000
"""Words of all masks of an operand, at most."""

MOST = 10_000
"""Accesses across a boundary, or operations, that are walked; more take minutes."""

MOST_OPERATIONS = 300_000
"""Of problems whose accesses are walked: with all masks, every access looks at all that is used with it."""


@dataclass(frozen=True)
class Recount:
    """What came of it.

    masks    how many were drawn; 0: nothing was walked, for the reason that the message says
    figures  how many means were compared
    differing  those that are off, in words
    message  one line that says what was done
    """

    masks: int
    figures: int
    differing: tuple[str, ...]
    message: str

    def __bool__(self) -> bool:
        """Whether nothing is off."""
        return not self.differing


@dataclass(frozen=True)
class _Figure:
    """What masks have, and what they are to have on average, of so many words or operations."""

    name: str
    found: Counts
    expected: float
    dense: float


def random_masks(density: Density, shape: tuple[int, ...], many: int, rng: np.random.Generator) -> Flags:
    """(many, *shape) where words are nonzero; alike where nothing is left to chance."""
    if isinstance(density, Banded | Measured):
        fixed = density.mask(shape) if isinstance(density, Banded) else density.values != 0
        return np.broadcast_to(fixed, (many, *shape))
    return np.stack([_random_mask(density, shape, rng) for _ in range(many)])


def _random_mask(density: Density, shape: tuple[int, ...], rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    if isinstance(density, Uniform):
        words = math.prod(shape)
        flat = np.zeros(words, dtype=bool)
        flat[rng.choice(words, density.words(shape, shape).most, replace=False)] = True
        return flat.reshape(shape)
    assert isinstance(density, Structured)
    lines = np.zeros(shape, dtype=bool).swapaxes(density.rank, -1)
    for place in np.ndindex(lines.shape[:-1]):
        for start in range(0, lines.shape[-1], density.block):
            words = min(density.block, lines.shape[-1] - start)
            lines[place][start + rng.choice(words, min(density.kept, words), replace=False)] = True
    return lines.swapaxes(density.rank, -1)


def recount(mapping: Mapping, arch: Architecture, seed: int = 0, masks: int = MASKS) -> Recount:
    """Walk a mapping whose operands have zeros, with so many masks, where that does not take long."""
    sparse = SparseMapping(mapping, arch, densities_of(mapping.problem))
    if mapping.problem.macs > MOST_OPERATIONS:
        return Recount(0, 0, (), f"masks were not walked: that is done up to {MOST_OPERATIONS:,} operations")
    if sum(isinstance(density, Banded | Measured) for density in sparse.densities.values()) > 1:
        # Means take operands to know nothing of each other; two given arrays are one case of many.
        return Recount(0, 0, (), "masks were not walked: both operands are given, and nothing is left to chance")
    walked = [pair for pair in _boundaries(sparse) if _accesses(sparse, *pair) <= MOST]
    operations = mapping.problem.macs <= MOST and _operations_are_exact(sparse)
    if not walked and not operations:
        return Recount(0, 0, (), f"masks were not walked: that is done up to {MOST:,} accesses across a boundary")
    found = _compared(sparse, walked, operations, seed, masks, RARE)
    words = max(math.prod(sparse.shape(mapping.problem.tensor(name))) for name in sparse.densities)
    if not found and masks < min(AGAIN * masks, MOST_DRAWN // words):
        found = _compared(sparse, walked, operations, seed + 1, min(AGAIN * masks, MOST_DRAWN // words), RARE_AGAIN)
    return found


def _compared(
    sparse: SparseMapping, walked: list[tuple[Tensor, int]], operations: bool, seed: int, masks: int, rare: float
) -> Recount:
    """What is walked, with so many masks; so much of all words may be off where chance decides."""
    rng = np.random.default_rng(seed)
    drawn = {
        name: random_masks(density, sparse.shape(sparse.mapping.problem.tensor(name)), masks, rng)
        for name, density in sparse.densities.items()
    }
    figures = [figure for pair in walked for figure in _words(sparse, drawn, *pair)]
    figures += _operations(sparse, drawn) if operations else []
    by_chance = any(isinstance(density, Uniform) for density in sparse.densities.values())
    differing = tuple(_said(figure) for figure in figures if _is_off(figure, rare if by_chance else 0.0))
    left_out = len([*_boundaries(sparse)]) - len(walked)
    return Recount(masks, len(figures), differing, _message(figures, differing, masks, left_out, operations))


def _boundaries(sparse: SparseMapping) -> Iterator[tuple[Tensor, int]]:
    """Those that can be walked: whose tiles keep nothing when they move, and of outputs the one at the MAC."""
    for tensor in sparse.mapping.problem.tensors:
        # Tiles of equal size that do not overlap keep nothing either.
        overlaps = sparse.positions.ragged or any(len(rank) > 1 for rank in tensor.ranks)
        chain = sparse.chains[tensor.name]
        for index in range(len(chain)) if not tensor.is_output else [len(chain) - 1]:
            inner = chain[index].inner
            if inner is None or inner.halo == "none" or not overlaps:
                yield tensor, index


def _accesses(sparse: SparseMapping, tensor: Tensor, index: int) -> int:
    """Accesses across a boundary, at most."""
    served = {*stay(sparse.mapping, sparse.arch, sparse.chains[tensor.name][index])}
    items = enumerate(sparse.mapping.nest.items)
    return math.prod(item.trips for i, item in items if isinstance(item, Loop) and i not in served)


def _words(sparse: SparseMapping, masks: dict[str, Flags], tensor: Tensor, index: int) -> list[_Figure]:
    boundary, share = sparse.chains[tensor.name][index], sparse.share(tensor, index)
    found = walk_boundary(sparse, masks, tensor, index)
    accesses = count_words(sparse.mapping, sparse.arch).total[boundary.outer.name, tensor.name]
    dense = accesses.writes - accesses.fills if tensor.is_output else accesses.reads
    place = f"{tensor.name} at {boundary.outer.name}"
    figures = [
        _Figure(f"{place}, words moved", found.moved, dense * share.moved, dense),
        _Figure(f"{place}, words gated", found.gated, dense * share.gated, dense),
    ]
    density = sparse.densities.get(tensor.name)
    if density is not None and not isinstance(density, Banded | Measured) and not _is_padded(sparse, tensor):
        part = sparse.density(tensor)
        figures.append(_Figure(f"{place}, nonzero words", found.moved_nonzero, dense * share.moved * part, dense))
    return figures


def _is_padded(sparse: SparseMapping, tensor: Tensor) -> bool:
    """Whether the last block of N:M is shorter, so that its words are nonzero more often than others."""
    density = sparse.densities.get(tensor.name)
    return isinstance(density, Structured) and sparse.shape(tensor)[density.rank] % density.block != 0


def _operations_are_exact(sparse: SparseMapping) -> bool:
    """Whether the mean of operations is that over masks: units that skip zeros skip all of them, and where a padded
    block has more nonzero words than others, the other operand's zeros do not depend on the place."""
    mac = sparse.arch.mac
    for name, density in sparse.densities.items():
        tensor = sparse.mapping.problem.tensor(name)
        nonzero = sparse.density(tensor)
        if zeros_at_mac(mac, tensor, density, nonzero)[1] not in (0.0, 1.0 - nonzero):
            return False
        others = (other for each, other in sparse.densities.items() if each != name)
        if _is_padded(sparse, tensor) and not all(isinstance(other, Uniform) for other in others):
            return False
    return True


def _operations(sparse: SparseMapping, masks: dict[str, Flags]) -> list[_Figure]:
    mac, problem = sparse.arch.mac, sparse.mapping.problem
    if mac.structure is not None:
        roles = {
            t.role
            for t in problem.operands
            if t.name in sparse.densities and zeros_at_mac(mac, t, sparse.densities[t.name], sparse.density(t))[1]
        }
        plain = mac.model_copy(update={"structure": None, "skips": tuple(role for role in mac.skips if role in roles)})
        walked = replace(sparse, arch=sparse.arch.model_copy(update={"mac": plain}))
    else:
        walked = sparse
    found = zip(("done", "gated", "skipped"), walk_operations(walked, masks), strict=True)
    return [
        _Figure(f"operations {kind}", counts, getattr(sparse.operations, kind), problem.macs) for kind, counts in found
    ]


def _is_off(figure: _Figure, rare: float) -> bool:
    error = ERRORS * float(np.std(figure.found)) / math.sqrt(len(figure.found))
    allowed = max(error, rare * figure.dense, 1e-9 * figure.dense)
    return abs(float(np.mean(figure.found)) - figure.expected) > allowed


def _said(figure: _Figure) -> str:
    return f"{figure.name}: {float(np.mean(figure.found)):,.1f} over the masks, {figure.expected:,.1f} expected"


def _message(figures: list[_Figure], differing: tuple[str, ...], masks: int, left_out: int, operations: bool) -> str:
    if differing:
        return f"{differing[0]}" + (f", and {len(differing) - 1} more" if differing[1:] else "")
    same = sum(float(np.std(figure.found)) == 0.0 for figure in figures)
    text = f"{len(figures)} means over {masks} masks are within {ERRORS:g} standard errors, {same} of them the same"
    left = [f"{left_out} crossings"] * bool(left_out) + ["operations"] * (not operations)
    return text + (f" (not walked: {' and '.join(left)})" if left else "")
