"""`tilewright evaluate` and `tilewright verify`: what a mapping costs, and whether it does what it says."""

from __future__ import annotations

from collections.abc import Iterable
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..ir import Mapping, Problem, TilewrightError
from . import completions
from .cascades import evaluate_cascade, fused_named
from .machines import architecture_named, laid_out, settings_named
from .options import (
    DensityOption,
    FastOption,
    JsonOption,
    LayoutOption,
    MappingArgument,
    OpOption,
    QuietOption,
    SetOption,
    TreeOption,
    refuse_given,
)
from .problems import problem_named
from .sources import MappingSource, read_source
from .sparse import refuse_densities, with_density
from .terminal import say, show_document, show_line, show_page, status

if TYPE_CHECKING:
    from ..arch import Architecture
    from ..cost_models import Cost
    from ..mapper.certificate import Certificate
    from ..mapper.emit import Verification
    from ..mapper.legality import Claim
    from ..mapping_sources import AnyMapping
    from ..run.documents.mappings import LoadedMapping

DISAGREES = 1

_SECONDS_PER_STEP = 4e-5
_LONG_RUN = 60.0  # seconds


def evaluate(
    context: typer.Context,
    mapping: MappingArgument,
    arch: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|PATH",
            autocompletion=completions.arch,
            help="Evaluate on this architecture, not on the file's own.",
        ),
    ] = None,
    layer: Annotated[
        str | None,
        typer.Option(
            metavar="LAYER",
            autocompletion=completions.layer,
            help="The layer that a mapping file is for, such as resnet50:conv1.",
        ),
    ] = None,
    conv: Annotated[str | None, typer.Option(metavar="SIZES", help="That layer as a convolution.")] = None,
    gemm: Annotated[str | None, typer.Option(metavar="SIZES", help="That layer as a matrix product.")] = None,
    einsum: Annotated[
        str | None, typer.Option(metavar="SPEC", help="That layer as an einsum; --layer has its sizes.")
    ] = None,
    op: OpOption = None,
    tree: TreeOption = None,
    set_fields: SetOption = None,
    density: DensityOption = None,
    layout: LayoutOption = None,
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
    source = read_source(mapping)
    if op or tree or source.is_fused:
        refuse_given(context, "a cascade is given already", "layer", "conv", "gemm", "einsum")
        refuse_densities(context)
        evaluate_cascade(source, op, tree, arch, set_fields, json, layout)
        return
    given = any(text is not None for text in (layer, conv, gemm, einsum))
    problem = problem_named(layer, conv, gemm, einsum) if given else None
    loaded = load_on(source, problem, arch, set_fields)
    loaded = loaded._replace(arch=laid_out(loaded.arch, loaded.mapping.problem, layout))
    if density:
        zeros = Mapping(with_density(loaded.mapping.problem, density, layer), loaded.mapping.nest)
        loaded = loaded._replace(mapping=zeros, recorded=None)
    loaded = with_best_choices(loaded, mapping)
    cost = cost_of(mapping, loaded)
    if json:
        from ..run.documents.mappings import dump_mapping

        show_document(dump_mapping(loaded.mapping, loaded.arch, cost))
    else:
        show_result(loaded.mapping, loaded.arch, cost)


def verify(
    context: typer.Context,
    mapping: MappingArgument,
    sets: Annotated[
        bool, typer.Option("--sets", help="Prove by integer sets that the schedule is legal, and run nothing.")
    ] = False,
    floats: Annotated[
        bool, typer.Option("--floats", help="Operands of single precision; outputs may differ by their roundings.")
    ] = False,
    fast: FastOption = None,
    op: OpOption = None,
    tree: TreeOption = None,
    arch: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|PATH",
            autocompletion=completions.arch,
            help="The architecture that the tree of a cascade is for.",
        ),
    ] = None,
    set_fields: SetOption = None,
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
    if op or tree or source.is_fused:
        refuse_given(context, "this option does not know cascades yet", "sets", "floats", "fast")
        verify_cascade(source, op, tree, arch, set_fields, json)
        return
    if arch is not None or set_fields:
        hint = "evaluate it there with --json, and verify what comes out"
        option = "--arch" if arch is not None else "--set"
        raise TilewrightError("the file has its own architecture", where=option, hint=hint)
    if sets:
        refuse_given(context, "a proof by integer sets runs nothing", "floats", "fast")
        prove_mapping(source, json)
        return
    loaded = load(source)
    cost_of(mapping, loaded)
    verify_mapping(loaded.mapping, loaded.arch, floats=floats, fast=fast, json=json)


def prove_mapping(source: MappingSource, json: bool = False) -> None:
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
    with status("proving that the schedule is legal"):
        if Path(source.given).suffix not in (".yaml", ".yml"):
            _refuse_illegal(prove_schedule(Schedule.of(*parse_nest(text, where))), where)
        loaded = load_any(text, where=where)
        cost_of(source.given, loaded)
        claims = prove(loaded.mapping, loaded.arch)
        tiles = tile_sets(loaded.mapping, loaded.arch)
    if json:
        show_document(legality_data(loaded.mapping, claims, tiles))
    else:
        show_page(legality_page(loaded.mapping, loaded.arch, claims, tiles))
    _refuse_illegal(claims, where)
    if json:
        return
    show_line(f"\nlegal: proven for all {loaded.mapping.problem.macs:,} points")


def _refuse_illegal(claims: Iterable[Claim], where: str) -> None:
    refuted = [claim for claim in claims if not claim.proven]
    for claim in refuted:
        say(f"illegal: {where}: {claim.text}")
    if refuted:
        raise typer.Exit(DISAGREES)


def show_result(
    mapping: Mapping,
    arch: Architecture,
    cost: Cost,
    certificate: Certificate | None = None,
    files: Iterable[Path] = (),
    origin: str = "",
) -> None:
    """Print the page of a result.

    files   that it was written to
    origin  where it is from, if it was not found just now
    """
    from ..mapper.answer import Answer
    from ..report.pages.result import evaluated_page, result_page

    if certificate is None:
        show_page(evaluated_page(mapping, arch, cost, files))
    else:
        show_page(result_page(Answer(mapping, cost, certificate), arch, files, origin))


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
    from ..mapper.emit import program_steps, verify_numpy

    steps = program_steps(mapping, arch, fast)
    expected = steps * _SECONDS_PER_STEP
    if expected > _LONG_RUN:
        say(f"note: the program has {count(steps)} steps and may run for {expected / 60:,.0f} minutes or more")
    try:
        with status(f"running the program of {mapping.problem.name}"):
            verification = verify_numpy(mapping, arch, floats=floats, fast=fast)
    except MemoryError:
        raise TilewrightError(
            "its tensors do not fit the memory of this computer", where=mapping.problem.name
        ) from None
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


def verify_cascade(
    source: MappingSource,
    op: list[str] | None,
    tree: Path | None,
    arch: str | None,
    set_fields: list[str] | None,
    json: bool = False,
) -> None:
    """Run the program of a tree: of a mapping.json, or of one that was written by hand."""
    from ..mapper.emit import verify_numpy

    fused, machine, *_ = fused_named(source, op, tree, arch, set_fields)
    with status(f"running the program of {fused.cascade.name}"):
        verification = verify_numpy(fused, machine)
    say_verified(verification, json=json)


def load(
    source: MappingSource,
    layer: Problem | None = None,
    arch: Architecture | None = None,
    settings: dict[str, str] | None = None,
) -> AnyMapping:
    """The mapping of a file, or of standard input."""
    from ..mapping_sources import load_any

    if source.given != "-" or source.text is None:
        return load_any(Path(source.given), layer, arch, source.place, settings)
    text = source.text
    return load_any(text if text.lstrip().startswith("{") else f"{text}\n", layer, arch, source.place, settings)


def load_on(source: MappingSource, layer: Problem | None, arch: str | None, set_fields: list[str] | None) -> AnyMapping:
    """The mapping of a file on the architecture of `--arch`, or on its own; `--set` changes either."""
    if arch is not None:
        return load(source, layer, architecture_named(arch, set_fields))
    return load(source, layer, settings=settings_named(set_fields or ()))


def with_best_choices(loaded: AnyMapping, source: str) -> AnyMapping:
    """The mapping on its machine with the best layouts, and formats, where these are open."""
    from ..cost_models.layouts.choices import has_open_layouts
    from ..cost_models.open_choices import evaluate_open

    if not (has_open_layouts(loaded.arch, loaded.mapping.problem) or loaded.mapping.problem.has_zeros):
        return loaded
    try:
        return loaded._replace(arch=evaluate_open(loaded.mapping, loaded.arch)[1])
    except TilewrightError as error:
        raise error.located(source) from None


def cost_of(source: str, loaded: AnyMapping | LoadedMapping) -> Cost:
    """What a file's mapping costs; a note says so if the file claims something else."""
    from ..results import evaluate as costs

    try:
        cost = costs(loaded.mapping, loaded.arch)
    except TilewrightError as error:
        raise error.located(source) from None
    if loaded.recorded is None:
        return cost
    recorded = loaded.recorded.cost
    if not (isclose(cost.energy_pj, recorded.energy_pj) and isclose(cost.edp, recorded.edp)):
        claimed = f"{recorded.energy_pj:,.10g} pJ and {recorded.latency_cycles:,.10g} cycles"
        found = f"{cost.energy_pj:,.10g} pJ and {cost.latency_cycles:,.10g} cycles"
        say(f"note: {source} records {claimed}, and the mapping in it costs {found}")
    return cost
