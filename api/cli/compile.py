"""`tilewright compile`: a whole network on a machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from . import completions
from .machines import architecture_named
from .mappings import say_verified
from .options import (
    DEFAULT_MEMORY,
    MOST_OF_GROUP,
    ArchOption,
    DimsOption,
    FuseOption,
    GroupOption,
    JsonOption,
    MemoryLimitOption,
    NoCacheOption,
    QuietOption,
    SetOption,
    SpaceOption,
    StoreOption,
    TilingOption,
    WidthsOption,
    is_given,
    refuse_given,
    tiling_and_space,
    widths_named,
)
from .problems import sizes_of_symbols
from .terminal import noting_interrupts, progress, say, show_document, show_page, status

if TYPE_CHECKING:
    from ..compiled import CompiledNetwork, NetworkForm
    from ..ir import MappingError
    from ..mapper.cascades import Fuse


def compile_network(
    context: typer.Context,
    network: Annotated[
        str,
        typer.Argument(
            metavar="NETWORK",
            autocompletion=completions.network,
            help="A network (`tilewright list networks`), or a YAML or ONNX file.",
        ),
    ],
    arch: ArchOption = None,
    set_fields: SetOption = None,
    objective: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            autocompletion=completions.words("energy", "latency", "edp", "ed2p"),
            help="What to minimize, of the whole network: energy, latency, edp, ed2p, or a weighted sum such as "
            "'energy + 100 * latency'.",
        ),
    ] = "energy",
    tiling: TilingOption = None,
    space: SpaceOption = "even",
    fuse: FuseOption = "all",
    group: GroupOption = MOST_OF_GROUP,
    time_limit: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="For the search of each group; then it takes its best mapping so far, and says how far off it can be.",
        ),
    ] = 10.0,
    total_limit: Annotated[
        float | None,
        typer.Option(
            "--total-limit",
            metavar="SECONDS",
            help="For all searches together; then the best of what is known is taken, and said how far off it can be.",
        ),
    ] = None,
    stays: Annotated[
        bool,
        typer.Option(
            "--stays/--no-stays",
            help="Whether tensors may stay on chip between groups, or all pass through the outermost memory.",
        ),
    ] = True,
    memory_limit: MemoryLimitOption = DEFAULT_MEMORY,
    dim: DimsOption = None,
    widths: WidthsOption = "file",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write plan.json, network.html and a folder for each group there. With --emit, a folder of the "
            "network's name unless given.",
        ),
    ] = None,
    json: JsonOption = False,
    _quiet: QuietOption = False,
    emit: Annotated[
        str | None,
        typer.Option(
            metavar="FORM",
            autocompletion=completions.words("c"),
            help="Also write one program for the whole network: c, a C99 file that checks itself, and its parameters. "
            "It knows no shared loops along windows, and loads again what stays on chip between groups: --fuse is "
            "plain and nothing stays, unless given.",
        ),
    ] = None,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Run the numpy program of every group and compare; of equal ones the first."),
    ] = False,
    store: StoreOption = None,
    no_cache: NoCacheOption = False,
) -> None:
    """Map a whole network: find the groups of operations that are best mapped as one, and prove that none cost less.

    The result of every group is kept in the store at once: after Ctrl-C, the same command goes on from there.

    \b
    tilewright compile mobilenet_v2 --arch eyeriss --out build/mobilenet
    tilewright compile mobilenet_v2 --arch eyeriss --emit c --out build/mobilenet
    tilewright compile model.onnx --arch my_npu.yaml --dim batch=1 --objective latency --group 3
    """
    from ..arguments import limits_of
    from ..compiled import CompiledNetwork, network_question, with_choices
    from ..compiled import compiled as answer_of
    from ..report.network_plan import network_plan_document, network_plan_page
    from ..workloads import load_network

    if no_cache:
        refuse_given(context, "--no-cache leaves the store alone", "store")
    found = load_network(network, sizes_of_symbols(dim), widths_named(widths))
    kinds = tiling_and_space(tiling, space)
    if emit == "c" and not is_given(context, "fuse"):
        fuse = "plain"
    if emit == "c" and not is_given(context, "stays"):
        stays = False
    limits = limits_of(time_limit, memory_limit)
    machine = architecture_named(arch, set_fields)
    question = network_question(found, machine, objective, *kinds, cast("Fuse", fuse), group, limits)
    question = with_choices(question, stays=stays, total_limit=total_limit)
    out = _folder(out, emit, found.name)
    with noting_interrupts() as interrupts, progress("searching groups") as announce:

        def watch(done: int, left: int) -> None:
            announce("", done + 1, done + left)

        answer = answer_of(question, store, watch, say, cached=not no_cache)
    if interrupts:
        say("interrupted: this is the best of what was found so far; the same command searches to the end")
    result = CompiledNetwork(found.name, machine, answer)
    files, refused = _saved(result, out, emit)
    if json:
        show_document(network_plan_document(answer))
    else:
        show_page(network_plan_page(answer, files))
    if refused is not None:
        raise refused
    if verify:
        with status("running the programs of all groups"):
            verified = result.verify()
        for one in verified:
            say_verified(one, quiet=json)


def _folder(out: Path | None, emit: str | None, network: str) -> Path | None:
    """Where files go, made if need be: what `--out` says, or the network's name where a program is asked for."""
    from ..arguments import check_choice
    from ..compiled import NetworkForm
    from ..results import prepare_folder

    if emit is not None:
        check_choice("--emit", emit, get_args(NetworkForm))
        out = out or Path(network)
    return None if out is None else prepare_folder(out)


def _saved(result: CompiledNetwork, out: Path | None, emit: str | None) -> tuple[tuple[Path, ...], MappingError | None]:
    """The files that were written, and why there is no program; the plan is written and shown all the same."""
    from ..ir import MappingError

    files = result.save(out) if out is not None else ()
    if emit is None or out is None:
        return files, None
    try:
        return (*files, *result.save_program(out, cast("NetworkForm", emit))), None
    except MappingError as error:
        return files, error
