"""The result of searching a cascade, with all that can be made of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .arch import Architecture
from .cost_models.cascades import FusedCost, with_best_layouts
from .forms import Format, emit_fused
from .inputs import checks
from .ir import Cascade, FusedMapping, MappingError
from .ir.display import Shown
from .ir.units import count, energy, percent
from .mapper.cascades import TriedForm
from .mapper.certificate import Certificate
from .mapper.fusing import FusedAnswer, Unfused
from .results import save_files

if TYPE_CHECKING:
    import pandas

    from .mapper.emit import Verification


@dataclass(frozen=True, repr=False)
class CascadeResult(Shown):
    """The best fused mapping of a cascade on an architecture, what it costs, and the proof.

    cascade      that was searched for
    arch         on which
    mapping      the best one that was found: a tree
    cost         of the mapping
    certificate  what is proven of it
    unfused      the best with every intermediate in the outermost memory, to compare with: energy, latency and what is
                 proven; None where that was what was asked for, or nothing was found
    forms        of a cascade that can be computed in several ways, what is known of each
    """

    cascade: Cascade
    arch: Architecture
    mapping: FusedMapping
    cost: FusedCost
    certificate: Certificate
    unfused: Unfused | None = None
    forms: tuple[TriedForm, ...] = ()

    @classmethod
    def of(cls, cascade: Cascade, arch: Architecture, answer: FusedAnswer) -> CascadeResult:
        """The result that an answer makes; its machine has the layouts that were best where they are open."""
        arch = with_best_layouts(answer.mapping, arch)
        return cls(cascade, arch, answer.mapping, answer.cost, answer.certificate, answer.unfused, answer.forms)

    @property
    def answer(self) -> FusedAnswer:
        """Mapping, cost and certificates alone."""
        return FusedAnswer(self.mapping, self.cost, self.certificate, self.unfused, self.forms)

    @property
    def saves(self) -> float | None:
        """The part of the objective that fusing saves, 0 to 1; None where there is nothing to compare with."""
        return self.answer.saves

    def emit(self, form: Literal["numpy", "c", "nest", "json"] = "numpy") -> str:
        """The mapping as a text: `numpy` an executable program, `c` one file of C99 that checks itself, `nest` the
        annotated tree, which `FusedMapping.parse` reads back, `json` mapping.json.

        Raises TilewrightError for an unknown form and for one that does not know cascades, and MappingError for a
        mapping that the form cannot express.
        """
        return emit_fused(self, form)

    def verify(self, seed: int = 0) -> Verification:
        """Run the numpy program: does it compute what the operations compute one after the other, and does it move the
        words that the model counts? `seed` is of the random operands.

        Raises MappingError when no program can be written for the mapping.
        """
        from .mapper.emit import verify_tree

        return verify_tree(self.mapping, self.arch, checks.whole(seed, "the seed", 0))

    def save(self, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write mapping.json, nest.txt (the tree) and, if a program can be written for the mapping, reference.py;
        return their paths. The folder is made, if need be.

        Raises TilewrightError when the folder or a file cannot be written.
        """
        return save_files(folder, self._text_of)

    def _text_of(self, form: Format) -> str | None:
        try:
            return emit_fused(self, form)
        except MappingError:
            if form != "numpy":
                raise
            return None

    def to_frame(self) -> pandas.DataFrame:
        """Words read and written and energy by operation, memory and tensor, as a pandas frame with units in the names
        of its columns. Raises TilewrightError when pandas is not installed."""
        from .report.comparisons.costs import fused_cost_table

        return fused_cost_table(self.cost).to_frame()

    def __repr__(self) -> str:
        return f"<CascadeResult: {self}>"

    def __str__(self) -> str:
        cost, verdict = self.cost, "proven optimal" if self.certificate.proven else "not proven optimal"
        saved = f"; fusing saves {percent(self.saves, 1)}" if self.saves else ""
        return (
            f"{self.cascade.name} on {self.arch.name}: {energy(cost.energy_pj)}, "
            f"{count(cost.latency_cycles)} cycles, {verdict} for {self.certificate.objective}{saved}"
        )
