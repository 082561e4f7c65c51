"""The result of a search with all that can be made of it, and what any mapping costs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from .arch import Architecture
from .arguments import ArchitectureLike, LayoutLike, as_architecture, as_problem, check_layer, laid_out
from .cost_models import Cost, best_choices, evaluate_open
from .cost_models.sparse import DensityLike, with_densities
from .forms import Format, emit_mapping
from .inputs import checks
from .ir import InfeasibleError, Mapping, MappingError, Problem, TilewrightError, Work
from .ir.display import Shown
from .ir.limits import check_countable
from .ir.units import count, energy, percent
from .mapper.answer import Answer, TriedForm, Unfused
from .mapper.certificate import Certificate
from .mapper.question import AnyQuestion

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from .mapper.emit import Element, Verification


@dataclass(frozen=True, repr=False)
class SearchResult(Shown):
    """The best mapping of a problem, or of a cascade, on an architecture, what it costs, and the proof.

    problem      that was searched for: a problem or a cascade
    arch         on which, with the layouts and formats that were best where they are open
    mapping      the best one that was found: of a cascade a tree
    cost         of the mapping
    certificate  what is proven of it
    unfused      of a cascade, the best with every intermediate in the outermost memory, to compare with: energy,
                 latency and what is proven; None where that was what was asked for, or nothing was found
    forms        of a cascade that can be computed in several ways, what is known of each
    """

    problem: Work
    arch: Architecture
    mapping: Mapping
    cost: Cost
    certificate: Certificate
    unfused: Unfused | None = None
    forms: tuple[TriedForm, ...] = ()

    @classmethod
    def of(cls, question: AnyQuestion, answer: Answer) -> SearchResult:
        """The result that an answer to a question makes."""
        arch = best_choices(answer.mapping, question.arch, question.objective)
        return cls(question.work, arch, answer.mapping, answer.cost, answer.certificate, answer.unfused, answer.forms)

    @property
    def answer(self) -> Answer:
        """Mapping, cost and certificates alone."""
        return Answer(self.mapping, self.cost, self.certificate, self.unfused, self.forms)

    @property
    def saves(self) -> float | None:
        """The part of the objective that fusing saves, 0 to 1; None where there is nothing to compare with."""
        return self.answer.saves

    def emit(
        self,
        form: Format = "numpy",
        *,
        element: Element | None = None,
        copied: Collection[str] | None = None,
        fast: bool | None = None,
    ) -> str:
        """The mapping as a text: `numpy` an executable program, `c` a C99 file (docs/c.md), `nest` the annotated loop
        nest or tree, `json` mapping.json, `yaml` a mapping file (docs/mappings.md), `timeloop` Timeloop's problem,
        architecture and mapping, `mlir` and `tvm` a function for these compilers (docs/compilers.md). Cascades have the
        first four of these.

        element  of the arrays in C, MLIR and TVM: "float" (the default, of cascades "double"), "double", "int32"
        copied   what these programs copy into local buffers: memories such as "GLB", tensors in them such as "GLB.W";
                 by default all that the mapping keeps
        fast     of numpy: whether steps that repeat others are run at once, as `verify` has it

        Raises TilewrightError for an unknown form and for one that does not know cascades, and MappingError for a
        mapping that the form cannot express.
        """
        return emit_mapping(self, form, element=element, copied=copied, fast=fast)

    def verify(self, seed: int = 0, *, floats: bool = False, fast: bool | None = None) -> Verification:
        """Run the numpy program: does it compute what the operations compute, one after the other, and does it move the
        words that the model counts?

        seed    of the random operands
        floats  operands of single precision, and outputs equal but for what rounding explains; else whole numbers, and
                outputs that are equal
        fast    run a pass over the inner loops step by step where it differs from those before it, and at once where
                it repeats one (docs/pipeline.md); else every step, which takes minutes for large layers. None: where
                the program has more than 20,000 steps. The words of all steps are counted either way

        Programs of cascades have whole numbers. Raises MappingError when no program can be written for the mapping.
        """
        checks.flag(floats, "floats")
        if fast is not None:
            checks.flag(fast, "fast")
        return verify_program(self.mapping, self.arch, checks.whole(seed, "the seed", 0), floats, fast)

    def save(self, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write mapping.json, nest.txt and, if a program can be written for the mapping, reference.py; return their
        paths. The folder is made, if need be.

        Raises TilewrightError when the folder or a file cannot be written.
        """
        place = prepare_folder(folder)
        texts = {name: self._text_of(form) for name, form in _FILES.items()}
        return tuple(write_file(place / name, text) for name, text in texts.items() if text is not None)

    def _text_of(self, form: Format) -> str | None:
        try:
            return emit_mapping(self, form)
        except MappingError:
            if form != "numpy":
                raise
            return None

    def to_frame(self) -> pandas.DataFrame:
        """Words read and written and energy by memory and tensor, of a cascade by operation too, as a pandas frame with
        units in the names of its columns. Raises TilewrightError when pandas is not installed."""
        from .report.comparisons.costs import cost_table

        table = cost_table(self.cost)
        return table.to_frame()

    def figure(self) -> Figure:
        """The operations under the roofs of the machine, as a matplotlib figure. Raises TilewrightError without it."""
        from .report.pages.roofline import draw_roofline, roofline_chart
        from .report.parts.figures import figure_style

        with figure_style():
            return draw_roofline(roofline_chart(str(self), self.arch, self._operations()))

    def _operations(self) -> list[tuple[str, int, Problem, Cost]]:
        """The name of every operation, how often it is done, what it computes, and its part of the cost."""
        if not self.mapping.is_of_cascade:
            return [(self.problem.name, 1, self.mapping.problem, self.cost)]
        cascade, parts = self.mapping.cascade, self.cost.operations
        return [(name, 1, cascade.operation(name).problem, part) for name, part in parts.items()]

    def __repr__(self) -> str:
        return f"<SearchResult: {self}>"

    def __str__(self) -> str:
        cost, verdict = self.cost, "proven optimal" if self.certificate.proven else "not proven optimal"
        saved = f"; fusing saves {percent(self.saves, 1)}" if self.saves else ""
        return (
            f"{self.problem.name} on {self.arch.name}: {energy(cost.energy_pj)}, "
            f"{count(cost.latency_cycles)} cycles, {verdict} for {self.certificate.objective}{saved}"
        )


ManyResult: TypeAlias = SearchResult | InfeasibleError
"""What a layer of many comes to."""


def verify_program(
    mapping: Mapping, arch: Architecture, seed: int = 0, floats: bool = False, fast: bool | None = None
) -> Verification:
    """As `SearchResult.verify`, of a mapping on its machine."""
    from .mapper.emit import verify_numpy

    if floats and mapping.is_of_cascade:
        raise TilewrightError("this option does not know cascades yet", where="floats", hint="leave it out")
    return verify_numpy(mapping, arch, seed, floats, fast)


_FILES: dict[str, Format] = {"mapping.json": "json", "nest.txt": "nest", "reference.py": "numpy"}


@checks.known_keywords
def evaluate(
    mapping: Mapping | str | os.PathLike[str],
    layer: Problem | ArchitectureLike | None = None,
    arch: ArchitectureLike | None = None,
    *,
    density: MappingABC[str, DensityLike] | None = None,
    layout: LayoutLike = None,
) -> Cost:
    """What a mapping costs, by the closed forms: `evaluate(mapping, arch)` or `evaluate("mine.yaml", layer, arch)`.

    mapping  a mapping, that of a cascade (docs/cascades.md) included, or the path or the text of a mapping.json or of a
             mapping file (docs/mappings.md)
    layer    the layer that a mapping file is for, unless it says so itself; the others hold their own
    arch     where it runs; a mapping.json holds its own, and a mapping file may name one
    density  of operands that have zeros, by tensor: a fraction, a text such as "2:4@K", or a numpy array whose zeros
             count (docs/sparse.md), in place of those that the layer has. The cost is the mean over all places of the
             zeros, and says what they save in `zeros`
    layout   where words lie in memories that have lines, by tensor or by memory and tensor: {"O": "NHWC"}; or one for
             all tensors, such as "any", the best (docs/layouts.md)

    Raises TilewrightError when the mapping cannot be read, does not cover the layer, or does not fit the architecture.
    """
    if arch is None and layer is not None and not isinstance(layer, Problem):
        layer, arch = None, layer
    if density is not None and layout is not None:
        raise TilewrightError("zeros and layouts are not known together", where="layout", hint="leave one out")
    if not isinstance(mapping, Mapping):
        checks.path(mapping, "the mapping", "a Mapping, or the path or the text of one", MappingError)
        from .mapping_sources import load_any

        loaded = load_any(mapping, None if layer is None else as_problem(layer), arch)
        return evaluate(loaded.mapping, loaded.arch, density=density, layout=layout)
    check_layer(layer, mapping.work)
    if density is not None and mapping.is_of_cascade:
        raise TilewrightError("cascades know no density yet", where="density", hint="evaluate one operation")
    if arch is None:
        raise TilewrightError("no architecture is given", hint="write evaluate(mapping, load_arch('eyeriss'))")
    machine = as_architecture(arch)
    if not mapping.is_of_cascade:
        check_countable(mapping.problem)
    if density is not None:
        mapping = Mapping(with_densities(mapping.problem, density), mapping.nest)
    cost, _ = evaluate_open(mapping, laid_out(machine, mapping.work, layout))
    return _finite(cost, machine)


def _finite(cost: Cost, machine: Architecture) -> Cost:
    if not isfinite(cost.edp):
        raise TilewrightError("energy times latency is too large for a number", where=machine.name)
    return cost


def prepare_folder(folder: str | os.PathLike[str], names: Collection[str] | None = None) -> Path:
    """Make a folder, if need be, and make sure that files of these names (a result's) can be written in it.

    Raises TilewrightError when they cannot: better before a search than after it.
    """
    given = checks.path(folder, "the folder", "the path of a folder")
    if not given:
        raise TilewrightError("the folder is '', expected the path of a folder", hint="'.' is the one you are in")
    place = Path(given)
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            pass
    except (FileExistsError, NotADirectoryError):
        raise TilewrightError("this is not a directory, expected one to write into", where=str(place)) from None
    except (OSError, ValueError) as error:
        raise _unwritable(place, error) from None
    for name in _FILES if names is None else names:
        if (place / name).is_dir():
            raise TilewrightError("this is a directory, expected a file to write", where=str(place / name))
    return place


def write_file(path: Path, text: str) -> Path:
    """Write a text and return its path, folders made if need be; TilewrightError when it cannot be written."""
    from .report.parts.files import write_bytes

    return write_bytes(path, text.encode())


def _unwritable(path: Path, error: Exception) -> TilewrightError:
    reason = getattr(error, "strerror", None) or str(error)
    return TilewrightError(f"cannot be written: {reason}", where=str(path))
