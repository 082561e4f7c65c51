"""`tilewright evaluate` and `tilewright verify`: what a mapping costs, and whether it does what it says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..ir import Mapping, Problem, TilewrightError
from . import completions
from .groups import grouped
from .machines import architecture_named, laid_out, settings_named
from .options import (
    DEFAULTS,
    ConvOption,
    DensityOption,
    EinsumOption,
    FastOption,
    GemmOption,
    JsonOption,
    LayoutOption,
    MappingArgument,
    OpOption,
    QuietOption,
    SetOption,
    TreeOption,
    refuse_given,
)
from .problems import cascade_named, problem_named, refuse_unknown_to_cascades, with_density
from .sources import MappingSource, read_source
from .terminal import say, show_document, show_line, show_page, signs

if TYPE_CHECKING:
    from ..arch import Architecture
    from ..mapper.emit import Verification
    from ..mapper.legality import Claim
    from ..mapping_sources import EvaluatedMapping, SourcedMapping

DISAGREES = 1

_SECONDS_PER_STEP = 4e-5
_LONG_RUN = 60.0  # seconds


@dataclass(frozen=True)
class MappingOptions:
    """What a mapping is for, where its file does not say so."""

    arch: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|PATH", autocompletion=completions.arch, help="On this architecture, not on the file's own."
        ),
    ] = None
    set_fields: SetOption = None
    layer: Annotated[
        str | None,
        typer.Option(
            metavar="LAYER",
            autocompletion=completions.layer,
            help="The layer that a mapping file is for, such as resnet50:conv1.",
        ),
    ] = None
    conv: ConvOption = None
    gemm: GemmOption = None
    einsum: EinsumOption = None
    op: OpOption = None
    tree: TreeOption = None

    def is_tree(self, source: MappingSource) -> bool:
        """Whether a source holds, or the options name, the mapping of a cascade."""
        return bool(self.op or self.tree or source.is_fused)

    def problem(self) -> Problem | None:
        """The layer that is named, if any is."""
        given = any(text is not None for text in (self.layer, self.conv, self.gemm, self.einsum))
        return problem_named(self.layer, self.conv, self.gemm, self.einsum) if given else None

    def loaded(self, context: typer.Context, source: MappingSource) -> SourcedMapping:
        """The mapping of a file, of standard input, or that was written by hand for a cascade, on its architecture."""
        if not self.is_tree(source):
            return self._read(source, self.problem())
        refuse_given(context, "a cascade is given already", "layer")
        refuse_unknown_to_cascades(context)
        if not source.is_fused:
            return self._written_tree(source)
        if self.op or self.tree:
            hint = "leave --op and --mapping out"
            raise TilewrightError("the file holds a cascade and its tree already", where=source.place, hint=hint)
        return self._read(source, None)

    def _read(self, source: MappingSource, layer: Problem | None) -> SourcedMapping:
        from ..mapping_sources import load_any

        arch = None if self.arch is None else architecture_named(self.arch, self.set_fields)
        settings = settings_named(self.set_fields or ()) if arch is None else None
        text = source.text
        if text is None or (source.given != "-" and not source.is_fused):
            return load_any(Path(source.given), layer, arch, source.place, settings)
        return load_any(text if text.lstrip().startswith("{") else f"{text}\n", layer, arch, source.place, settings)

    def _written_tree(self, source: MappingSource) -> SourcedMapping:
        from ..arch.document import read_text
        from ..mapping_sources import SourcedMapping

        cascade = cascade_named(source.given, self.op)
        if self.tree is None:
            hint = "write it to a file, and name it by --mapping"
            raise TilewrightError("the tree of the cascade is missing", hint=hint)
        if self.arch is None:
            raise TilewrightError("no architecture is given", hint="name one by --arch, such as --arch eyeriss")
        machine, place = architecture_named(self.arch, self.set_fields), str(self.tree)
        try:
            mapping = Mapping.parse(cascade, read_text(self.tree, place, "the tree of a cascade"))
        except TilewrightError as error:
            raise error.located(place) from None
        return SourcedMapping(mapping, machine, None, place)


@grouped
def evaluate(
    context: typer.Context,
    mapping: MappingArgument,
    on: MappingOptions,
    density: DensityOption = DEFAULTS["density"],
    layout: LayoutOption = DEFAULTS["layout"],
    json: Annotated[bool, typer.Option("--json", help="Print a mapping.json with the new figures.")] = False,
    _quiet: QuietOption = False,
) -> None:
    """Compute what a mapping costs: one that was found, on its own architecture or on another one, or one of your own.

    \b
    tilewright evaluate result/mapping.json
    tilewright evaluate result/mapping.json --arch changed_chip.yaml --json
    tilewright evaluate mine.yaml --layer resnet50:layer1.0.conv2 --arch eyeriss
    tilewright evaluate result/mapping.json --arch eyeriss --set "DRAM.read=100 pJ"
    tilewright evaluate result/mapping.json --arch sparse_tensor_core --density W=2:4
    tilewright evaluate --op "T[m,n] += A[m,k] * B[k,n]" --op "O[m,p] += T[m,n] * C[n,p]" m=64,k=64,n=64,p=64
      --arch chip.yaml --mapping tree.txt
    tilewright evaluate cascade.yaml --arch chip.yaml --mapping tree.txt
    """
    from ..forms import emit_mapping
    from ..report.pages.result import evaluated_page

    loaded = on.loaded(context, read_source(mapping))
    loaded = loaded._replace(arch=laid_out(loaded.arch, loaded.mapping.work, layout))
    if density and not loaded.mapping.is_of_cascade:
        zeros = Mapping(with_density(loaded.mapping.problem, density, on.layer), loaded.mapping.nest)
        loaded = loaded._replace(mapping=zeros, recorded=None)
    found = evaluated(_with_best_choices(loaded))
    if json:
        show_document(emit_mapping(found._replace(certificate=None, unfused=None), "json"))
    else:
        show_page(evaluated_page(found.mapping, found.arch, found.cost))


@grouped
def verify(
    context: typer.Context,
    mapping: MappingArgument,
    on: MappingOptions,
    sets: Annotated[
        bool, typer.Option("--sets", help="Prove by integer sets that the schedule is legal, and run nothing.")
    ] = False,
    floats: Annotated[
        bool, typer.Option("--floats", help="Operands of single precision; outputs may differ by their roundings.")
    ] = False,
    fast: FastOption = None,
    json: JsonOption = False,
    _quiet: QuietOption = False,
) -> None:
    """Run the numpy program of a mapping: does it compute the layer, and move the words that the model counts?

    The program executes the schedule tile by tile on random operands: small whole numbers, whose sums must be equal, or
    floats, whose sums must be as near as rounding in any order can leave them. Of a schedule with more than 20,000
    steps it runs a pass over the inner loops step by step where that differs from those before it, and at once where it
    repeats one; the words of all steps are counted either way. With --sets, integer sets prove instead that the
    schedule visits every point once, reorders additions only, and finds in every memory what it reads there; the proof
    takes a second for layers of any size. The exit code is 1 if anything disagrees.

    \b
    tilewright verify result/mapping.json
    tilewright verify result/mapping.json --sets
    tilewright verify cascade.yaml --arch chip.yaml --mapping tree.txt
    """
    source = read_source(mapping)
    if not on.is_tree(source):
        hint = "evaluate it there with --json, and verify what comes out"
        refuse_given(context, "the file has its own architecture", "arch", "set_fields", hint=hint)
    if sets and not on.is_tree(source):
        refuse_given(context, "a proof by integer sets runs nothing", "floats", "fast")
        prove_mapping(source, on.problem(), json)
        return
    found = evaluated(on.loaded(context, source))
    verify_mapping(found.mapping, found.arch, floats=floats, fast=fast, json=json)


def prove_mapping(source: MappingSource, layer: Problem | None = None, json: bool = False) -> None:
    """Print the proof that a file's schedule is legal; exits with 1 if it is not.

    Of a mapping.json the schedule comes first, and as it stands in the file: a nest that does not cover its problem is
    refuted with a point that it leaves out. The reader of mapping files refuses such a nest with its line.
    """
    from ..cost_models.integer_sets import Schedule
    from ..mapper.legality import prove, prove_schedule, tile_sets
    from ..mapping_sources import load_any
    from ..report.pages.legality import legality_data, legality_page
    from ..run.documents.files import read_text
    from ..run.documents.mappings import parse_nest

    where = source.place
    text = source.text if source.text is not None else read_text(Path(source.given), where)
    with signs("proving that the schedule is legal"):
        if Path(source.given).suffix not in (".yaml", ".yml"):
            _refuse_illegal(prove_schedule(Schedule.of(*parse_nest(text, where))), where)
        loaded = load_any(text, layer, where=where)
        evaluated(loaded)
        mapping = loaded.mapping
        claims, tiles = prove(mapping, loaded.arch), tile_sets(mapping, loaded.arch)
    if json:
        show_document(legality_data(mapping, claims, tiles))
    else:
        show_page(legality_page(mapping, loaded.arch, claims, tiles))
    _refuse_illegal(claims, where)
    if json:
        return
    show_line(f"\nlegal: proven for all {mapping.problem.macs:,} points")


def _refuse_illegal(claims: Iterable[Claim], where: str) -> None:
    refuted = [claim for claim in claims if not claim.proven]
    for claim in refuted:
        say(f"illegal: {where}: {claim.text}")
    if refuted:
        raise typer.Exit(DISAGREES)


def verify_mapping(
    mapping: Mapping,
    arch: Architecture,
    quiet: bool = False,
    floats: bool = False,
    fast: bool | None = None,
    json: bool = False,
) -> None:
    """Run the program and say what came of it, on stderr if `quiet`; exits with 1 if it disagrees."""
    from ..ir.units import count
    from ..mapper.emit import program_steps
    from ..results import verify_program

    name = mapping.work.name
    steps = program_steps(mapping, arch, fast)
    expected = steps * _SECONDS_PER_STEP
    if expected > _LONG_RUN:
        say(f"note: the program has {count(steps)} steps and may run for {expected / 60:,.0f} minutes or more")
    try:
        with signs(f"running the program of {name}, {count(steps)} steps, about {max(expected, 1):,.0f} s"):
            verification = verify_program(mapping, arch, floats=floats, fast=fast)
    except MemoryError:
        raise TilewrightError("its tensors do not fit the memory of this computer", where=name) from None
    say_verified(verification, quiet, json)


def say_verified(verification: Verification, quiet: bool = False, json: bool = False) -> None:
    """Say what came of a program, on stderr if `quiet`, or print it as a document; exits with 1 if it disagrees."""
    from ..ir.units import seconds

    verdict = "verified" if verification else "disagrees"
    text = f"{verdict}: {verification.message} ({seconds(verification.seconds)})"
    if json:
        show_document(verification.as_dict())
    elif not verification:
        typer.echo(text, err=True)
    elif quiet:
        say(text)
    else:
        show_line(text)
    if not verification:
        raise typer.Exit(DISAGREES)


def _with_best_choices(loaded: SourcedMapping) -> SourcedMapping:
    """The mapping on its machine with the best layouts, and formats, where these are open."""
    from ..cost_models import best_choices

    try:
        return loaded._replace(arch=best_choices(loaded.mapping, loaded.arch))
    except TilewrightError as error:
        raise error.located(loaded.place) from None


def evaluated(loaded: SourcedMapping) -> EvaluatedMapping:
    """The mapping with what it costs; a note says so if its file claims something else."""
    from ..results import evaluate as costs

    try:
        cost = costs(loaded.mapping, loaded.arch)
    except TilewrightError as error:
        raise error.located(loaded.place) from None
    if loaded.recorded is not None:
        recorded = loaded.recorded.cost
        if not (isclose(cost.energy_pj, recorded.energy_pj) and isclose(cost.edp, recorded.edp)):
            claimed = f"{recorded.energy_pj:,.10g} pJ and {recorded.latency_cycles:,.10g} cycles"
            found = f"{cost.energy_pj:,.10g} pJ and {cost.latency_cycles:,.10g} cycles"
            say(f"note: {loaded.place} records {claimed}, and the mapping in it costs {found}")
    return loaded.evaluated(cost)
