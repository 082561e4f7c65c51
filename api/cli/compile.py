"""`tilewright compile`: a whole network on a machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ..inputs import checks
from ..ir.errors import TilewrightError
from . import completions
from .groups import grouped
from .machines import MachineOptions, settings_named
from .mappings import say_verified
from .options import (
    DEFAULTS,
    FuseOption,
    GroupOption,
    InputsOption,
    JsonOption,
    KindOptions,
    MemoryLimitOption,
    NetworkArgument,
    QuietOption,
    SizeOptions,
    StoreOptions,
    TotalLimitOption,
    WidthsOption,
    WorkersOption,
    by_name,
    names,
    option,
    refuse_given,
    seconds_option,
    values_of_inputs,
    widths_named,
)
from .terminal import FAILED, complain, noting_interrupts, own_command, say, show_document, show_page, signs

if TYPE_CHECKING:
    from ..arch.system import System
    from ..compiled import CompiledNetwork, NetworkForm
    from ..ir import MappingError
    from ..mapper.emit.network import NetworkElement
    from ..mapper.question import Fuse, Limits
    from ..mapper.segmentation import NetworkQuestion
    from ..mapper.sharding import PlanChoices, ShardingQuestion
    from ..mapper.space import Space
    from ..mapper.tilings import Tiling
    from ..workloads import Network
    from ..workloads.graph import NetworkGraph


@dataclass(frozen=True, kw_only=True)
class NetworkOptions(SizeOptions):
    """The network."""

    network: NetworkArgument
    inputs: InputsOption = DEFAULTS["inputs"]
    widths: WidthsOption = DEFAULTS["widths"]


@dataclass(frozen=True)
class GroupOptions:
    """Which groups there may be, and how long they are looked for."""

    fuse: FuseOption = DEFAULTS["fuse"]
    group: GroupOption = DEFAULTS["most"]
    stays: Annotated[
        bool,
        typer.Option(
            "--stays/--no-stays",
            help="Whether tensors may stay on chip between groups, or all pass through the outermost memory.",
        ),
    ] = True
    weights_in: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MEMORY[=OPERATION,...]",
            help="Weights that lie in this memory before a run, and after it: all of them, or, where not all have "
            "room, those that are best to keep; or those of some operations. They are read in once, for many runs. "
            "May be repeated.",
        ),
    ] = None
    time_limit: Annotated[
        float,
        seconds_option(
            "For the search of each group; then it takes its best mapping so far, and says how far off it can be.",
        ),
    ] = 10.0
    total_limit: TotalLimitOption = DEFAULTS["total_limit"]
    memory_limit: MemoryLimitOption = DEFAULTS["memory_limit"]
    workers: WorkersOption = DEFAULTS["workers"]


@dataclass(frozen=True)
class ProgramOptions:
    """What is written and run."""

    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write plan.json, network.html, trace.json and a folder for each group there. With --emit, a folder "
            "of the network's name unless given.",
        ),
    ] = None
    emit: Annotated[
        str | None,
        typer.Option(
            metavar="FORM",
            autocompletion=completions.words("c", "numpy"),
            help="Also write one program for the whole network, and its parameters: c, a C99 file that checks itself, "
            "or numpy, which counts the words that move, too.",
        ),
    ] = None
    element: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            autocompletion=completions.words("double", "float"),
            help="Of all arrays in the program in C: double, or float; the model's own unless given, of tables double.",
        ),
    ] = None
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Run the numpy program of every group and compare; of equal ones the first."),
    ] = False


@dataclass(frozen=True)
class SystemOptions:
    """Several devices in place of one architecture."""

    system: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|PATH",
            autocompletion=completions.system,
            help="Several devices in place of --arch: a system of the library (`tilewright list systems`), or a YAML "
            "file. --set is of the system then: node.size=4, device.HBM.bandwidth='2 TB/s'.",
        ),
    ] = None
    fix: Annotated[list[str] | None, option("fix")] = None
    stages: Annotated[str | None, option("stages")] = None
    microbatches: Annotated[str | None, option("microbatches")] = None

    def choices(self, total_s: float | None) -> PlanChoices:
        """What is said of the plan."""
        from ..mapper.sharding import PlanChoices

        counts = [_number(text) for text in names(self.microbatches or "1")]
        return PlanChoices(tuple(self.fix or ()), self.stages, counts, total_s)


@grouped
def compile_network(
    context: typer.Context,
    *,
    of: NetworkOptions,
    machine: MachineOptions,
    several: SystemOptions,
    objective: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            autocompletion=completions.words("energy", "latency", "edp", "ed2p"),
            help="What to minimize, of the whole network: energy, latency, edp, ed2p, or a formula such as "
            "'energy + 100 * latency'. With limits: 'energy where latency <= 20000'. Without it energy, of a system "
            "latency.",
        ),
    ] = None,
    kinds: KindOptions,
    groups: GroupOptions,
    program: ProgramOptions,
    kept: StoreOptions,
    json: JsonOption = False,
    _quiet: QuietOption = False,
) -> None:
    """Map a whole network: find the groups of operations that are best mapped as one, and prove that none cost less.
    With --system: how it is best divided among several devices.

    The result of every group is kept in the store at once: after Ctrl-C, the same command goes on from there.

    \b
    tilewright compile mobilenet_v2 --arch eyeriss --out build/mobilenet
    tilewright compile mobilenet_v2 --arch eyeriss --emit c --out build/mobilenet
    tilewright compile model.onnx --arch my_npu.yaml --dim batch=1 --objective latency --group 3
    tilewright compile mlp.yaml --arch three_level --objective "energy where latency <= 700"
    tilewright compile mlp.yaml --arch three_level --weights-in GLB
    tilewright compile gpt3_6_7b_block --system h100x8 --phase prefill --objective latency
    """
    from ..arch.system import load_system
    from ..arguments import limits_of
    from ..compiled import CompiledNetwork, network_question, with_choices
    from ..compiled import compiled as answer_of
    from ..cost_models import ENERGY
    from ..report.networks.network_plan import network_plan_page
    from ..run.documents.network_plans import dump_network_plan
    from ..workloads.networks import network_at

    emit, element = program.emit, program.element
    _check_program(context, program)
    kept.refuse_ignored(context)
    found = network_at(of.network, of.sizes, widths_named(of.widths), values_of_inputs(of.inputs))
    limits, asked = limits_of(groups.time_limit, groups.memory_limit), kinds.checked()
    if several.system is not None:
        refuse_given(context, "a system names its devices", "arch", hint="leave one of the two out")
        refuse_given(context, "operations are mapped one by one on the devices of a system", *_OF_GROUPS)
        mesh = load_system(several.system, settings_named(machine.set_fields or ()))
        load = partial(_question_on_system, found, of, mesh, objective, (*asked, limits))
        _compile_on_system(found.name, load, several.choices(groups.total_limit), groups, program, kept, json=json)
        return
    refuse_given(context, "it is of several devices, expected --system", "fix", "stages", "microbatches")
    chip = machine.named()
    wanted, fuse = objective or ENERGY, cast("Fuse", groups.fuse)
    question = network_question(found, chip, wanted, *asked, fuse, groups.group, limits)
    weights_in = _by_memory(groups.weights_in)
    question = with_choices(question, stays=groups.stays, weights_in=weights_in, total_limit=groups.total_limit)
    out = _folder(program.out, emit, found.name)
    _refuse_unwritable(question.graph, emit, element)
    question = _as_stored(question) if emit == "c" else question
    with (
        noting_interrupts() as interrupts,
        signs(f"searching the best groups of {found.name} on {chip.name}"),
        _saying_what_is_kept(not kept.no_cache),
    ):
        answer = answer_of(question, kept.store, say, cached=not kept.no_cache, workers=groups.workers)
    if interrupts:
        say("interrupted: this is the best of what was found so far; the same command searches to the end")
    result = CompiledNetwork(found.name, chip, answer)
    files, refused = _saved(result, out, emit, element)
    if json:
        show_document(dump_network_plan(result.plan))
    else:
        show_page(network_plan_page(answer, files))
    if refused is not None:
        raise refused
    if program.verify:
        with signs("running the programs of all groups"):
            verified = result.verify()
        for one in verified:
            say_verified(one, quiet=json)
    if answer.lost:
        complain("; ".join(answer.lost))
        raise typer.Exit(FAILED)


_OF_GROUPS = ("fuse", "group", "stays", "weights_in")
"""Options of plans on one device."""


def _check_program(context: typer.Context, program: ProgramOptions) -> None:
    """TilewrightError for options of a program that is not asked for, and for words of another kind."""
    from ..arguments import check_choice

    if program.emit is None:
        refuse_given(context, "it is of a program, which --emit asks for", "element")
    if program.element is not None:
        check_choice("--element", program.element, ("double", "float"))


def _number(text: str) -> int:
    """A number of microbatches."""
    if not text.isdecimal():
        raise TilewrightError(f"found {text!r}, expected numbers such as 1,2,4", where="--microbatches")
    return checks.whole(int(text), "a number of microbatches")


def _question_on_system(
    found: Network,
    of: NetworkOptions,
    mesh: System,
    objective: str | None,
    asked: tuple[Tiling | None, Space, Limits],
    count: int,
) -> ShardingQuestion:
    """The question about one of so many microbatches."""
    from ..sharded import sharding_question
    from ..workloads.network import microbatch
    from ..workloads.networks import network_at

    sizes = microbatch(of.sizes, count)
    part = found if count == 1 else network_at(of.network, sizes, widths_named(of.widths))
    return sharding_question(part, mesh, objective, *asked)


def _compile_on_system(
    name: str,
    load: Callable[[int], ShardingQuestion],
    choices: PlanChoices,
    groups: GroupOptions,
    program: ProgramOptions,
    kept: StoreOptions,
    *,
    json: bool,
) -> None:
    """Search the best plan on a system, write its files and show its page."""
    from ..mapper.sharding import compiled_on_system
    from ..report.networks.sharded_plan import sharded_plan_page
    from ..results import prepare_folder
    from ..run.documents.sharded_plans import dump_sharded_plan
    from ..sharded import CompiledSystem, sharded

    out = None if program.out is None else prepare_folder(program.out)
    told = f"dividing {name} among devices"
    divide = partial(sharded, store=kept.store, note=say, cached=not kept.no_cache, workers=groups.workers)
    with noting_interrupts() as interrupts, signs(told), _saying_what_is_kept(not kept.no_cache):
        result = CompiledSystem(name, *compiled_on_system(load, choices, divide))
    if interrupts:
        say("interrupted: this is the best of what was found so far; the same command searches to the end")
    files = () if out is None else result.save(out, own_command())
    if json:
        show_document(dump_sharded_plan(result.plan))
    else:
        show_page(sharded_plan_page(result.answer, files, result.pipeline))
    if program.verify:
        with signs("running the program of all devices"):
            verified = result.verify()
        say(str(verified))


@contextmanager
def _saying_what_is_kept(cached: bool) -> Iterator[None]:
    """Where Ctrl-C comes before there is a plan, it says how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        kept = "groups that were found are in the store; the same command goes on from there"
        raise KeyboardInterrupt(kept if cached else "nothing of it is kept") from None


def _by_memory(texts: list[str] | None) -> dict[str, list[str] | None]:
    """By memory the operations whose weights lie there; None: all."""
    hint = "write GLB, for the weights of all operations"
    found: dict[str, list[str] | None] = {}
    for memory, listed in by_name(texts, "--weights-in", _WEIGHTS_IN, hint, alone=True).items():
        names = None if listed is None else [name.strip() for name in listed.split(",")]
        if names is not None and not all(names):
            raise TilewrightError(f"found '{memory}={listed}', expected {_WEIGHTS_IN}", where="--weights-in", hint=hint)
        found[memory] = names
    return found


_WEIGHTS_IN = "MEMORY or MEMORY=OPERATION,OPERATION"


def _folder(out: Path | None, emit: str | None, network: str) -> Path | None:
    """Where files go, made if need be: what `--out` says, or the network's name where a program is asked for."""
    from ..forms import check_writes_networks
    from ..report.parts.files import path_component
    from ..results import prepare_folder

    if emit is not None:
        check_writes_networks(emit, "--emit")
        out = out or Path(path_component(network))
    return None if out is None else prepare_folder(out)


def _refuse_unwritable(graph: NetworkGraph, emit: str | None, element: str | None) -> None:
    """TilewrightError where no program can be written, before anything is searched."""
    if emit is not None:
        from ..mapper.emit.network import check_writable, linked

        check_writable(graph, cast("NetworkElement", element or "double"), emit)
        functions = linked(graph) if emit == "c" else ()
        if functions:
            say(f"functions to link, which network_extern_stub.c has empty: {', '.join(functions)}")


def _as_stored(question: NetworkQuestion) -> NetworkQuestion:
    """With the widths in which the C program stores words, where these are more than planned; it says which."""
    from ..mapper.emit.network import with_stored_widths

    graph, wider = with_stored_widths(question.graph, question.arch)
    if wider:
        shown = [f"{key} {planned} -> {stored}" for key, (planned, stored) in list(wider.items())[:6]]
        more = f", and {len(wider) - 6} more" if len(wider) > 6 else ""
        say(f"words are stored wider than the model has them, and planned so, in bits: {', '.join(shown)}{more}")
    return replace(question, graph=graph)


def _saved(
    result: CompiledNetwork, out: Path | None, emit: str | None, element: str | None
) -> tuple[tuple[Path, ...], MappingError | None]:
    """The files that were written, and why there is no program; the plan is written and shown all the same."""
    from ..ir import MappingError

    files = result.save(out, own_command()) if out is not None else ()
    if emit is None or out is None:
        return files, None
    try:
        return (
            *files,
            *result.save_program(out, cast("NetworkForm", emit), cast("NetworkElement | None", element)),
        ), None
    except MappingError as error:
        return files, error
