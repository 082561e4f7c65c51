"""Search and evaluation as a user calls them, and the result with all that can be made of it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from .arch import Architecture, load_arch
from .cost_models import Cost, ObjectiveLike, parse_objective
from .cost_models import evaluate as evaluate_fit
from .forms import Format, emit_mapping
from .ir import Mapping, Problem, TilewrightError, did_you_mean
from .ir.display import Shown
from .ir.limits import check_countable
from .mapper.certificate import Certificate
from .mapper.constraints import Constraints
from .mapper.constraints.files import ConstraintSource, load_constraints
from .mapper.several import search_best, search_front
from .mapper.space import SPACES, Space
from .mapper.strategies import STRATEGIES, search_by
from .mapper.tilings import TILINGS, Tiling
from .report.units import count, energy
from .workloads import load_layer

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from .mapper.emit import Element, Verification

ArchitectureLike: TypeAlias = Architecture | str | os.PathLike[str]
ConstraintsLike: TypeAlias = "ConstraintSource | Sequence[ConstraintSource] | None"


@dataclass(frozen=True, repr=False)
class SearchResult(Shown):
    """The best mapping of a problem on an architecture, what it costs, and the proof.

    problem      that was searched for
    arch         on which
    mapping      the best one that was found
    cost         of the mapping
    certificate  what is proven of it
    """

    problem: Problem
    arch: Architecture
    mapping: Mapping
    cost: Cost
    certificate: Certificate

    def emit(
        self,
        form: Format = "numpy",
        *,
        element: Element | None = None,
        copied: Collection[str] | None = None,
        fast: bool | None = None,
    ) -> str:
        """The mapping as a text: `numpy` an executable program, `c` a C99 file (docs/c.md), `nest` the annotated loop
        nest, `json` mapping.json, `yaml` a mapping file (docs/mappings.md), `timeloop` Timeloop's problem, architecture
        and mapping, `mlir` and `tvm` a function for these compilers (docs/compilers.md).

        element  of the arrays in C, MLIR and TVM: "float" (the default), "double", "int32"
        copied   what these programs copy into local buffers: memories such as "GLB", tensors in them such as "GLB.W";
                 by default all that the mapping keeps
        fast     of numpy: whether steps that repeat others are run at once, as `verify` has it

        Raises TilewrightError for an unknown form, and MappingError for a mapping that the form cannot express.
        """
        return emit_mapping(self.mapping, self.arch, form, self.cost, self.certificate, element, copied, fast)

    def verify(self, seed: int = 0, *, floats: bool = False, fast: bool | None = None) -> Verification:
        """Run the numpy program: does it compute the layer, and does it move the words that the model counts?

        seed    of the random operands
        floats  operands of single precision, and outputs equal but for what rounding explains; else whole numbers, and
                outputs that are equal
        fast    run a pass over the inner loops step by step where it differs from those before it, and at once where
                it repeats one (docs/pipeline.md); else every step, which takes minutes for large layers. None: where
                the program has more than 20,000 steps. The words of all steps are counted either way
        """
        from .mapper.emit import verify_numpy

        return verify_numpy(self.mapping, self.arch, seed, floats, fast)

    def save(self, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write mapping.json, nest.txt and reference.py, and return their paths; the folder is made, if need be.

        Raises TilewrightError when the folder or a file cannot be written.
        """
        place = prepare_folder(folder)
        return tuple(write_file(place / name, self.emit(form)) for name, form in _FILES.items())

    def to_frame(self) -> pandas.DataFrame:
        """Words read and written and energy by memory and tensor, as a pandas frame with units in the names of its
        columns. Raises TilewrightError when pandas is not installed."""
        from .report.costs import cost_table

        return cost_table(self.cost).to_frame()

    def figure(self) -> Figure:
        """The mapping under the roofs of its machine, as a matplotlib figure. Raises TilewrightError without it."""
        from .report.figures import figure_style
        from .report.roofline import draw_roofline, roofline_chart

        with figure_style():
            return draw_roofline(
                roofline_chart(str(self), self.arch, [(self.problem.name, 1, self.problem, self.cost)])
            )

    def __repr__(self) -> str:
        return f"<SearchResult: {self}>"

    def __str__(self) -> str:
        cost, verdict = self.cost, "proven optimal" if self.certificate.proven else "not proven optimal"
        return (
            f"{self.problem.name} on {self.arch.name}: {energy(cost.energy_pj)}, "
            f"{count(cost.latency_cycles)} cycles, {verdict} for {self.certificate.objective}"
        )


_FILES: dict[str, Format] = {"mapping.json": "json", "nest.txt": "nest", "reference.py": "numpy"}


def search(
    problem: Problem | str,
    arch: ArchitectureLike,
    objective: ObjectiveLike = "edp",
    tiling: Tiling = "perfect",
    space: Space = "even",
    constraints: ConstraintsLike = None,
    strategy: str = "exact",
    time_limit: float | None = None,
    seed: int = 0,
    *,
    store: str | os.PathLike[str] | None = None,
) -> SearchResult:
    """The mapping with the least energy, latency or other objective, and the proof that none is better.

    problem    a problem, or a layer by name: "resnet50:layer1.0.conv2"
    arch       an architecture, or one of the library by name, or the path of an architecture file
    objective  "energy", "latency", "edp", "ed2p", or a formula such as "energy * latency ** 0.5"; "latency,energy" is
               the least energy of the fastest; "energy where latency <= 20000" has a limit (docs/cost-model.md)
    tiling     "ragged" lets the last tile of a dimension be smaller, "perfect" allows divisors only
    space      "even": one tile boundary for each memory; "uneven": one for each memory and tensor
    constraints  only mappings that satisfy them: the name of a dataflow, the path of a constraints file, a dict of the
               same form, one line such as "GLB.temporal.K<=16", or a list of these
    strategy   "exact"; "cpsat", an independent exact model; "random", "anneal", "genetic": to compare with, no proof
    time_limit seconds after which the best mapping so far is returned, with the bound proven by then; None: no limit.
               Ctrl-C does the same
    seed       of the heuristic strategies
    store      path of a result store that is asked first, and keeps what is found (strategy "exact"); None: none is

    Raises TilewrightError: ProblemError, ArchitectureError or ConstraintError for what cannot be understood,
    InfeasibleError, with a diagnosis, when no mapping fits, StoreError for a store that cannot be used.
    """
    check_choice("strategy", strategy, STRATEGIES)
    asked = asked_for(problem, arch, tiling, space, constraints, time_limit)
    wanted = parse_objective(objective)
    if store is not None:
        if strategy != "exact":
            message = f"a store keeps what the strategy exact finds, found strategy {strategy}"
            raise TilewrightError(message, where="store")
        from .stored import search_stored

        return search_stored(
            asked.problem, asked.arch, wanted, tiling, space, asked.constraints, time_limit, store, warn
        ).result
    found = search_by(strategy, asked.problem, asked.arch, wanted, tiling, space, asked.constraints, time_limit, seed)
    return SearchResult(asked.problem, asked.arch, *found)


def search_top(
    problem: Problem | str,
    arch: ArchitectureLike,
    count: int,
    objective: ObjectiveLike = "edp",
    tiling: Tiling = "perfect",
    space: Space = "even",
    constraints: ConstraintsLike = None,
    time_limit: float | None = None,
) -> list[SearchResult]:
    """The best `count` mappings that differ in energy or latency, best first, each with its proof; arguments as those
    of `search`. Fewer where there are no more.

    Raises TilewrightError as `search` does, for a count below 1, and for a lexicographic objective.
    """
    if count < 1:
        raise TilewrightError(f"the number of mappings is {count}, expected 1 or more")
    asked = asked_for(problem, arch, tiling, space, constraints, time_limit)
    wanted = parse_objective(objective)
    if wanted.is_lexicographic:
        hint = 'give one value, such as "latency", or ask for the Pareto front'
        raise TilewrightError("the best few need one value each", where=f"objective {wanted}", hint=hint)
    found = search_best(asked.problem, asked.arch, count, wanted, tiling, space, asked.constraints, time_limit)
    return [SearchResult(asked.problem, asked.arch, *answer) for answer in found]


def search_pareto(
    problem: Problem | str,
    arch: ArchitectureLike,
    tiling: Tiling = "perfect",
    space: Space = "even",
    constraints: ConstraintsLike = None,
    time_limit: float | None = None,
    *,
    store: str | os.PathLike[str] | None = None,
) -> list[SearchResult]:
    """The exact Pareto front of energy and latency, from the least energy to the least latency, each point proven;
    arguments as those of `search`, the time limit for each of the two searches that a point takes. A store keeps all
    of these searches.

    Raises TilewrightError as `search` does.
    """
    if store is not None:
        from .stored import front_stored

        return front_stored(problem, arch, tiling, space, constraints, time_limit, store, warn)
    asked = asked_for(problem, arch, tiling, space, constraints, time_limit)
    found = search_front(asked.problem, asked.arch, tiling, space, asked.constraints, time_limit)
    return [SearchResult(asked.problem, asked.arch, *answer) for answer in found]


def warn(text: str) -> None:
    """A warning for those that call from Python."""
    import warnings

    warnings.warn(text, RuntimeWarning, stacklevel=2)


@dataclass(frozen=True)
class Asked:
    """What a search is about, checked."""

    problem: Problem
    arch: Architecture
    constraints: Constraints


def asked_for(
    problem: Problem | str,
    arch: ArchitectureLike,
    tiling: str,
    space: str,
    constraints: ConstraintsLike,
    time_limit: float | None,
) -> Asked:
    """The problem, the architecture and the constraints that arguments of `search` name; all of them checked."""
    check_choice("tiling", tiling, TILINGS)
    check_choice("space", space, SPACES)
    check_time_limit(time_limit)
    layer = load_layer(problem) if isinstance(problem, str) else problem
    machine = as_architecture(arch)
    check_countable(layer)
    return Asked(layer, machine, load_constraints(constraints, layer, machine))


def evaluate(
    mapping: Mapping | str | os.PathLike[str],
    layer: Problem | ArchitectureLike | None = None,
    arch: ArchitectureLike | None = None,
) -> Cost:
    """What a mapping costs, by the closed forms: `evaluate(mapping, arch)` or `evaluate("mine.yaml", layer, arch)`.

    mapping  a mapping, or the path or the text of a mapping.json or of a mapping file (docs/mappings.md)
    layer    the layer that a mapping file is for, unless it says so itself; the others hold their own
    arch     where it runs; a mapping.json holds its own, and a mapping file may name one

    Raises TilewrightError when the mapping cannot be read, does not cover the layer, or does not fit the architecture.
    """
    if arch is None and layer is not None and not isinstance(layer, Problem):
        layer, arch = None, layer
    if not isinstance(mapping, Mapping):
        from .mapping_sources import load_any

        loaded = load_any(mapping, layer if isinstance(layer, Problem | str) else None, arch)
        return evaluate(loaded.mapping, loaded.arch)
    if isinstance(layer, Problem) and layer != mapping.problem:
        raise TilewrightError(f"the mapping is of {mapping.problem.name}, and not of the layer that is given")
    if arch is None:
        raise TilewrightError("no architecture is given", hint="write evaluate(mapping, load_arch('eyeriss'))")
    check_countable(mapping.problem)
    machine = as_architecture(arch)
    cost = evaluate_fit(mapping, machine)
    if not isfinite(cost.edp):
        raise TilewrightError("energy times latency is too large for a number", where=machine.name)
    return cost


def as_architecture(arch: ArchitectureLike) -> Architecture:
    """The architecture itself, or the one of that name or path."""
    return arch if isinstance(arch, Architecture) else load_arch(arch)


def check_choice(what: str, value: str, known: Collection[str]) -> None:
    """TilewrightError, with the nearest known word, for a word that is not known."""
    if value not in known:
        message = f"unknown {what} {value!r}, expected {' or '.join(known)}"
        near = did_you_mean(str(value), known)
        raise TilewrightError(message, hint=near if near.startswith("did you mean") else None)


def check_time_limit(seconds: float | None) -> None:
    """TilewrightError for a time limit that no search can have."""
    if seconds is not None and not 0 <= seconds < float("inf"):
        raise TilewrightError(f"the time limit is {seconds}, expected seconds, 0 or more")


def prepare_folder(folder: str | os.PathLike[str], names: Collection[str] | None = None) -> Path:
    """Make a folder, if need be, and make sure that files of these names (a result's) can be written in it.

    Raises TilewrightError when they cannot: better before a search than after it.
    """
    place = Path(folder)
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
    from .report.files import write_bytes

    return write_bytes(path, text.encode())


def _unwritable(path: Path, error: Exception) -> TilewrightError:
    reason = getattr(error, "strerror", None) or str(error)
    return TilewrightError(f"cannot be written: {reason}", where=str(path))
