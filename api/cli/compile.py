"""`tilewright compile`: a whole network on a machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

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
    refuse_given,
    tiling_and_space,
    widths_named,
)
from .problems import sizes_of_symbols
from .terminal import noting_interrupts, progress, say, show_document, show_page, status

if TYPE_CHECKING:
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
    memory_limit: MemoryLimitOption = DEFAULT_MEMORY,
    dim: DimsOption = None,
    widths: WidthsOption = "file",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write plan.json, network.html and a folder for each group there."),
    ] = None,
    json: JsonOption = False,
    _quiet: QuietOption = False,
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
    tilewright compile model.onnx --arch my_npu.yaml --dim batch=1 --objective latency --group 3
    """
    from ..arguments import limits_of
    from ..compiled import CompiledNetwork, network_question
    from ..compiled import compiled as answer_of
    from ..report.network_plan import network_plan_document, network_plan_page
    from ..results import prepare_folder
    from ..workloads import load_network

    if no_cache:
        refuse_given(context, "--no-cache leaves the store alone", "store")
    found = load_network(network, sizes_of_symbols(dim), widths_named(widths))
    kinds = tiling_and_space(tiling, space)
    limits = limits_of(time_limit, memory_limit)
    machine = architecture_named(arch, set_fields)
    question = network_question(found, machine, objective, *kinds, cast("Fuse", fuse), group, limits)
    if out is not None:
        prepare_folder(out)
    with noting_interrupts() as interrupts, progress("searching groups") as announce:

        def watch(done: int, left: int) -> None:
            announce("", done + 1, done + left)

        answer = answer_of(question, store, watch, say, cached=not no_cache)
    if interrupts:
        say("interrupted: this is the best of what was found so far; the same command searches to the end")
    result = CompiledNetwork(found.name, machine, answer)
    files = result.save(out) if out is not None else ()
    if json:
        show_document(network_plan_document(answer))
    else:
        show_page(network_plan_page(answer, files))
    if verify:
        with status("running the programs of all groups"):
            verified = result.verify()
        for one in verified:
            say_verified(one, quiet=json)
