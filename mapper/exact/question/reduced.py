"""A question as the steps of its search see it: fewer dimensions, arrays with one axis each, packed lines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ....arch import Architecture
from ....cost_models.layouts import has_lines, packed
from ....cost_models.layouts.choices import is_open
from ....ir import Problem, Tensor
from ...constraints import Constraints
from ...space import Space
from ...tilings import Tiling
from ..tiles.symmetry import Mirror, mirror_of
from ..tiles.visits import VisitTiles
from .canonical import CanonicalForm, canonical_problem
from .hierarchy import Hierarchy
from .limits import named_dims
from .single_axes import with_single_axes
from .surroundings import ALONE, Surroundings
from .zero_rules import ZeroRules


@dataclass(frozen=True)
class ReducedQuestion:
    """What is asked (`original`, `machine`), and what rows are made of in its place (`problem`, `arch`)."""

    original: Problem
    machine: Architecture
    tiling: Tiling
    space: Space
    constraints: Constraints
    surroundings: Surroundings

    @cached_property
    def zeros(self) -> ZeroRules | None:
        """What is known of zeros; None: no operand has any."""
        return ZeroRules(self.original, self.machine, self.tiling) if self.original.has_zeros else None

    @property
    def has_lines(self) -> bool:
        return has_lines(self.machine)

    @cached_property
    def canonical(self) -> CanonicalForm:
        """The problem with fewer dimensions, and the way back."""
        # Where words lie tells dimensions apart that cost alike otherwise.
        apart = frozenset(self.original.dim_names) if self.has_lines else named_dims(self.constraints)
        apart |= frozenset() if self.zeros is None else self.zeros.apart
        bounding = self.machine if self.zeros is None else self.zeros.machine
        return canonical_problem(self.original, bounding, self._counted_before, apart)

    @property
    def counted(self) -> Tiling:
        """The tiling by which words are counted: perfect only where nothing is ragged."""
        return self.visit.counted

    @property
    def _counted_before(self) -> Tiling:
        """The tiling by which words of the original problem are counted."""
        return VisitTiles.of(self.original, self.tiling, self.surroundings.cut, self.surroundings.made).counted

    @property
    def problem(self) -> Problem:
        return self.canonical.problem

    @cached_property
    def arch(self) -> Architecture:
        return packed(with_single_axes(self.canonical.arch))

    @cached_property
    def visit(self) -> VisitTiles:
        """Which tiles mappings are made of."""
        own: Tiling = "perfect" if self._counted_before == "perfect" else self.tiling
        return VisitTiles.of(self.problem, own, self.surroundings.cut, self.surroundings.made)

    @cached_property
    def hierarchy(self) -> Hierarchy:
        visit, follows = self.visit, self.follows_halos
        return Hierarchy(self.problem, self.arch, self.space, self._homes, visit.sizes, visit.uneven, follows)

    @property
    def follows_halos(self) -> bool:
        """Whether it is known what `halo: exact` keeps from loop to loop (`tiles/halos.py`)."""
        plain = self.zeros is None and not self.has_lines and self.arch.reuse == "across_levels"
        all_count = not self.problem.stores_less
        return plain and all_count and self.counted == "perfect" and self.surroundings is ALONE

    @property
    def _homes(self) -> tuple[int, ...]:
        """The number of the memory that each tensor comes from (its home); empty where all come from the outermost
        memory."""
        names = [memory.name for memory in reversed(self.arch.memories)]
        homes = self.surroundings.homes
        if not homes:
            return ()
        return tuple(names.index(homes.get(tensor.name, names[-1])) for tensor in self.problem.tensors)

    @property
    def mirror(self) -> Mirror | None:
        """Dimensions that may change places, so that one of two mirror images will do; none where something tells them
        apart, as lines of a stated layout do, and zeros of which more counts than how many words a tile has."""
        told_apart = self._lines_tell_apart or (self.zeros is not None and bool(self.zeros.apart))
        if told_apart or self.surroundings is not ALONE or not self.constraints.is_free:
            return None
        return mirror_of(self.problem, self.arch, self.zeros is not None)

    @property
    def _lines_tell_apart(self) -> bool:
        """Whether dimensions that are alike in words may not be in lines. Of all layouts of a tensor, those with two
        ranks in each other's place are the layouts of its mirror image; so where all are open, mirror images touch as
        many lines in the best ones, as long as ranks are searched with the steps that they have."""
        if not self.has_lines:
            return False
        tensors = self.original.tensors
        lined = [memory for memory in self.machine.memories if memory.line_bits is not None]
        return not (
            all(is_open(memory, tensor) for memory in lined for tensor in tensors)
            and all(map(self._keeps_ranks, tensors, self.problem.tensors))
        )

    def _keeps_ranks(self, original: Tensor, reduced: Tensor) -> bool:
        """Whether a tensor is searched with the ranks that it has, but for dimensions of one element."""
        sizes = self.original.sizes
        kept = (tuple((dim, c) for dim, c in rank if sizes[dim] > 1) for rank in original.ranks)
        return [rank for rank in kept if rank] == list(reduced.ranks)
