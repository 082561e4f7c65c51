"""A whole network on a machine: which operations are mapped together, where every tile lies, and the proof."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args, overload

from .arch import Architecture
from .arch.system import SystemLike
from .arguments import (
    ArchitectureLike,
    StoreLike,
    WeightsLike,
    as_architecture,
    as_store,
    check_choice,
    limits_of,
    tiling_or_default,
)
from .collectives import as_system
from .cost_models import ENERGY, ObjectiveLike, parse_objective
from .cost_models.padding import with_padding_read
from .forms import EXTERN_FILE, HEADER_FILE, NETWORK_FILES, check_writes_networks
from .inputs import checks
from .ir import MappingError, ProblemError, TilewrightError
from .ir.display import Shown, ShownCost
from .ir.units import count, energy, percent
from .mapper.answer import Answer
from .mapper.certificate import Certificate
from .mapper.fusing import answer_below
from .mapper.progress import watched
from .mapper.question import FUSES, Limits
from .mapper.segmentation import (
    NetworkAnswer,
    NetworkQuestion,
    Segment,
    WeightsIn,
    check_objective,
    on_its_own,
    segment,
)
from .mapper.space import SPACES, Space
from .mapper.tilings import Tiling
from .models import NetworkLike, as_network
from .options import CompileKeywords, refuse, takes
from .report.parts.progress import signs_of_life
from .results import SearchResult, prepare_folder, write_file
from .workloads import Network
from .workloads.network import Uncounted, microbatch, sizes_asked

if TYPE_CHECKING:
    import numpy as np
    import pandas

    from .mapper.emit import Verification
    from .mapper.emit.network import NetworkElement, NetworkProgram
    from .mapper.question import Fuse
    from .mapper.sharding import ShardingQuestion
    from .run.documents.network_plans import NetworkPlanDocument
    from .sharded import CompiledSystem
    from .stored import Note
    from .workloads.graph import ModelTensor

GROUP_SECONDS = 10.0
"""For the search of each group, unless told otherwise."""

REFERENCE_MACS = 20_000_000
"""Of networks with more, onnx's reference implementation would take longer than a few seconds."""

NetworkForm = Literal["c", "numpy"]
"""A form of a program for the whole network."""

_FILES = ("plan.json", "network.html", "trace.json")


@dataclass(frozen=True)
class NetworkCost(ShownCost):
    """What one run of a network costs: the sums over its groups.

    energy_pj       of the whole run
    latency_cycles  of the whole run; `latency_s` in seconds
    outer_words     words that the outermost memory reads and writes
    clock_hz        of the architecture
    """

    energy_pj: float
    latency_cycles: float
    outer_words: int
    clock_hz: float


@dataclass(frozen=True, repr=False)
class CompiledNetwork(Shown):
    """The best segmentation of a network: groups of operations, each mapped as one tree.

    network  its name
    arch     the machine
    answer   groups, costs, addresses and what is proven
    """

    network: str
    arch: Architecture
    answer: NetworkAnswer

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The groups, in the order in which they run."""
        return self.answer.segments

    @property
    def certificate(self) -> Certificate:
        """What is proven of the whole."""
        return self.answer.certificate

    @property
    def cost(self) -> NetworkCost:
        """What one run costs."""
        found = self.answer
        return NetworkCost(found.energy_pj, found.latency_cycles, found.outer_words, self.arch.clock_hz)

    @property
    def plan(self) -> NetworkPlanDocument:
        """Groups, figures, trees and addresses, by the keys of plan.json."""
        from .run.documents.network_plans import network_plan_of

        return network_plan_of(self.answer)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all groups."""
        return self.answer.macs

    @property
    def uncounted(self) -> Uncounted:
        """What the network asks for beside its groups."""
        return self.answer.question.uncounted

    @property
    def energy_pj(self) -> float:
        """Of the whole run."""
        return self.answer.energy_pj

    @property
    def latency_cycles(self) -> float:
        """Of the whole run."""
        return self.answer.latency_cycles

    @property
    def saves(self) -> float | None:
        """The part of the objective that fusing saves, 0 to 1; None where there is nothing to compare with."""
        return self.answer.saves

    def results(self) -> list[SearchResult]:
        """Every group that is counted as a result of its own, with its programs and pages: what stays on chip between
        groups comes from the outermost memory there, or goes to it."""
        answers = (on_its_own(one, self.answer.question) for one in self.segments)
        return [self._result(answer) for answer in answers if answer is not None]

    def verify(self, seed: int = 0) -> list[Verification]:
        """Run the numpy program of every group, of equal ones the first: does it compute what its operations compute
        one after the other, and does it move the words that the model counts?

        Raises MappingError when no program can be written for a group.
        """
        return [result.verify(seed) for _, result in self._different()]

    def emit(self, form: NetworkForm = "c", element: NetworkElement | None = None) -> str:
        """One program for the whole network: `c` one file of C99 with `run(inputs, weights, outputs, arena)` on
        elements of that kind, double or float (None: the model's own, of a table doubles), which allocates nothing:
        every tile lies at its planned address, and what passes between groups in one more arena. `numpy` a program with
        `run(inputs, weights)`, which counts the words that every group moves. The `main` of both reads `weights()` from
        a file and compares the outputs with those of plain operations; that of numpy compares the words with the
        plan's, too.

        Raises TilewrightError for another form, and MappingError for networks whose programs cannot be written, and for
        floats where these are not exact (quantized networks, and all of numpy).
        """
        check_writes_networks(form, "form")
        from .mapper.emit.network import WEIGHTS_FILE, check_writable, emit_c_network, emit_numpy_network

        kind = self._element(element)
        check_writable(self.answer.question.graph, kind, form)
        if form == "numpy":
            if element not in (None, "double"):
                raise MappingError(f"numpy computes in doubles, not in {element}s", where="element")
            return emit_numpy_network(self._program, WEIGHTS_FILE)
        return emit_c_network(self._program, kind)

    def _element(self, element: NetworkElement | None) -> NetworkElement:
        """The kind of elements that is asked for; else the model's own."""
        from .mapper.emit.network import NetworkElement, own_element

        if element is None:
            return own_element(self._program)
        check_choice("element", element, get_args(NetworkElement))
        return element

    def weights(self, seed: int = 0, form: NetworkForm = "c") -> bytes:
        """The parameters of all operations, in the order of the program that reads them: doubles, the least significant
        byte first; for the C of a quantized network each in a type of its own (docs/networks.md). Those of an ONNX file
        are its own; a table has none, and random ones of a seed stand for them.

        Raises MappingError for networks whose programs cannot be written, ProblemError where parameters are missing.
        """
        check_writes_networks(form, "form")
        from .mapper.emit.network import network_weights, stored_bytes, weights_bytes

        values = network_weights(self._program, checks.whole(seed, "the seed", 0))
        return stored_bytes(self._program, values) if form == "c" else weights_bytes(values)

    @cached_property
    def _program(self) -> NetworkProgram:
        from .mapper.emit.network import network_program

        return network_program(self.answer)

    def save_program(
        self, folder: str | os.PathLike[str], form: NetworkForm = "c", element: NetworkElement | None = None
    ) -> tuple[Path, ...]:
        """Write network.c, with network.h for those who call it (C++ too), or network.py, and weights.bin, which it
        reads; return their paths. Beside the program of an ONNX file of up to 20 million multiply-accumulates,
        reference.bin: inputs, and what `onnx.reference` makes of them, with which the program compares its own outputs.
        Beside C that leaves functions to link, network_extern_stub.c: each of them, with a body that stops.

        Raises TilewrightError as `emit` does, and when the folder or a file cannot be written.
        """
        from .mapper.emit.network import REFERENCE_FILE, WEIGHTS_FILE, c_network_header, extern_stub, reference_bytes
        from .report.parts.files import write_bytes

        text, weights = self.emit(form, element), self.weights(form=form)
        name = NETWORK_FILES[form]
        place = prepare_folder(folder, (name, WEIGHTS_FILE, REFERENCE_FILE))
        (place / REFERENCE_FILE).unlink(missing_ok=True)  # of another program, perhaps
        files: tuple[Path, ...] = write_file(place / name, text), write_bytes(place / WEIGHTS_FILE, weights)
        if form == "c":
            kind = self._element(element)
            header, stub = c_network_header(self._program, kind), extern_stub(self._program, kind)
            files = (*files, write_file(place / HEADER_FILE, header))
            files = (*files, write_file(place / EXTERN_FILE, stub)) if stub else files
        words = reference_bytes(self._program) if self.macs <= REFERENCE_MACS else None
        return files if words is None else (*files, write_bytes(place / REFERENCE_FILE, words))

    def run(self, inputs: Mapping[str, Any], form: NetworkForm | None = None) -> dict[str, np.ndarray[Any, Any]]:
        """The outputs of the network, by their names, as arrays of the model's shapes and types.

        inputs  arrays by name, of the model's shapes
        form    "c": the C program, compiled at the first call, in a folder that is removed in the end; "numpy": the
                program that counts words, which takes much longer; None: c, where there is a C compiler (CC, cc, gcc or
                clang) and the program has no functions to link

        A network of a table computes with its random parameters on rows of words, by the names of operations.

        Raises ProblemError for names and arrays that the model does not have, and TilewrightError as `save_program`
        does.
        """
        from .mapper.emit.network import linked
        from .network_runs import arrays_made, run_executable, run_text, words_given

        if form is not None:
            check_writes_networks(form, "form")
        program, (given, made) = self._program, self._ends
        words = words_given(checks.mapping(inputs, "inputs", "arrays by name", ProblemError), given, self.network)
        rows = [words[key] for key in program.inputs]
        left = linked(self.answer.question.graph)
        if form == "c" and left:
            hint = "link the C program of save_program with them, or choose numpy"
            raise MappingError(f"the C program has functions to link: {', '.join(left)}", where="form", hint=hint)
        if form == "numpy" or (form is None and (left or self._executable is None)):
            found = run_text(*self._text_and_weights, rows)
        elif self._executable is None:
            raise MappingError("there is no C compiler", where="form", hint="set CC, or choose numpy")
        else:
            found = run_executable(self._executable, [program.words[key] for key in program.outputs], rows)
        return arrays_made(dict(zip(program.outputs, found, strict=True)), made)

    @property
    def _ends(self) -> tuple[Sequence[ModelTensor], Sequence[ModelTensor]]:
        """Inputs and outputs as the model names them; those of a table are rows of words."""
        from .workloads.graph import ModelTensor

        meaning, program = self.answer.question.graph.meaning, self._program
        if meaning is not None and meaning.handed:
            return meaning.given, meaning.handed
        rows = {key: ModelTensor(key, key, (words,), "float64") for key, words in program.words.items()}
        return [rows[key] for key in program.inputs], [rows[key] for key in program.outputs]

    @cached_property
    def _executable(self) -> Path | None:
        """The compiled C program, in a folder that lasts as long as this result; None where there is no compiler."""
        from .network_runs import compiled_program, compiler, folder_of

        command = compiler()
        if command is None:
            return None
        from .mapper.emit.network import WEIGHTS_FILE
        from .report.parts.files import write_bytes

        folder = folder_of(self)
        write_file(folder / NETWORK_FILES["c"], self.emit("c"))
        write_bytes(folder / WEIGHTS_FILE, self.weights())
        return compiled_program(command, folder)

    @cached_property
    def _text_and_weights(self) -> tuple[str, np.ndarray[Any, Any]]:
        """The numpy program, and the parameters that it takes."""
        from .mapper.emit.network import network_weights

        return self.emit("numpy"), network_weights(self._program)

    def save(self, folder: str | os.PathLike[str], command: str = "") -> tuple[Path, ...]:
        """Write plan.json, network.html, trace.json (for Perfetto and chrome://tracing), and for each group (of equal
        ones the first) a folder with mapping.json, nest.txt and, if a program can be written for it, reference.py;
        return the paths of all. The page has the shell command that makes it again, if given.

        Raises TilewrightError when the folder or a file cannot be written.
        """
        checks.text(command, "the command", "the text of one")
        from .report.networks.plan_html import network_plan_html
        from .report.traces import network_trace
        from .run.documents.network_plans import dump_network_plan

        place = prepare_folder(folder, _FILES)
        plan = self.plan
        texts = dump_network_plan(plan), network_plan_html(self.answer, plan, command), network_trace(plan)
        files = [write_file(place / name, text) for name, text in zip(_FILES, texts, strict=True)]
        for number, result in self._different():
            files += result.save(place / "groups" / str(number))
        return tuple(files)

    def _different(self) -> Iterator[tuple[int, SearchResult]]:
        """The number of each group that differs from all before it in more than names, from 1, and its result."""
        for number, one in enumerate(self.segments):
            answer = on_its_own(one, self.answer.question) if one.alike == number else None
            if answer is not None:
                yield number + 1, self._result(answer)

    def _result(self, answer: Answer) -> SearchResult:
        return SearchResult.of(self.answer.question.of_group(answer.mapping.cascade), answer)

    def to_frame(self) -> pandas.DataFrame:
        """A row for each group: operations, energy, cycles, words at the outermost memory, and what is proven, as a
        pandas frame with units in the names of its columns. Raises TilewrightError when pandas is not installed."""
        from .report.networks.network_plan import segment_table

        return segment_table(self.answer).to_frame()

    def __repr__(self) -> str:
        return f"<CompiledNetwork: {self}>"

    def __str__(self) -> str:
        verdict = "proven optimal" if self.certificate.proven else f"gap {percent(self.certificate.gap, 1)}"
        saved = f"; fusing saves {percent(self.saves, 1)}" if self.saves else ""
        left = f"; {self.uncounted.beside(self.macs)}" if self.uncounted.names else ""
        return (
            f"{self.network} on {self.arch.name}: {energy(self.energy_pj)}, {count(self.latency_cycles)} cycles, "
            f"{verdict} for {self.certificate.objective}{saved}{left}"
        )


@overload
def compile(  # noqa: A001 -- as tw.compile it is called, and nothing is compiled here otherwise
    network: NetworkLike,
    arch: ArchitectureLike,
    objective: ObjectiveLike | None = None,
    tiling: Tiling | None = None,
    space: Space = "even",
    **options: Unpack[CompileKeywords],
) -> CompiledNetwork: ...
@overload
def compile(  # noqa: A001
    network: NetworkLike,
    arch: None = None,
    objective: ObjectiveLike | None = None,
    tiling: Tiling | None = None,
    space: Space = "even",
    *,
    system: SystemLike,
    **options: Unpack[CompileKeywords],
) -> CompiledSystem: ...
@takes(CompileKeywords, time_limit=GROUP_SECONDS, watch=None)
def compile(  # noqa: A001
    network: NetworkLike,
    arch: ArchitectureLike | None = None,
    objective: ObjectiveLike | None = None,
    tiling: Tiling | None = None,
    space: Space = "even",
    system: SystemLike | None = None,
    **options: Unpack[CompileKeywords],
) -> CompiledNetwork | CompiledSystem:
    """The proven best way to cut a network into groups of operations that are each mapped as one (docs/networks.md).

    network    a network, its name, the path of a table or an ONNX file, or an ONNX model: its bytes, or as onnx has it
    arch       an architecture, one of the library by name, or the path of an architecture file
    system     in its place several devices: a system, one of the library by name, or the path of a system file. Then
               every operation is split over them (docs/chips.md), and the result is a `CompiledSystem`
    objective  of the whole network: "energy", the default, of a system "latency"; a weighted sum such as
               "energy + 100 * latency"; "edp", "ed2p", another formula, or any with limits, "energy where latency <=
               1e6", which take several searches
    tiling, space  of the mappings to choose from, as of `search`
    fuse       "all"; "plain", no shared loops along windows; "whole", intermediates
               whole on chip and no shared loops; "none", every operation on its own
    most       operations that a group has at most
    dims, phase, batch, widths, inputs  as of `load_network`
    stays      whether tensors may stay on chip between groups, whole, from the group that makes them to the last one
               that reads them; else all pass through the outermost memory
    weights_in the name of a memory in which weights lie before a run, and after it: they are read in once, for many
               runs. All do, or, where not all have room, those that are best to keep. By memory, the operations whose
               weights do; None: all. It has to be outside all arrays
    time_limit seconds for the search of each group, then its best mapping so far is taken, with the bound proven by
               then; None: no limit. Ctrl-C ends the whole with the best that is known
    fix        splits that are given, of a system: a list such as ["block.*.qk: g@node"]
    stages     of a system: the axis along which stages of a pipeline lie, or "free": whichever is best, or none
    microbatches  numbers of parts, of a batch, that pass the stages one after the other, of which the best is taken
    total_limit  seconds for all searches together, then the best segmentation of what is known is taken, with the
               bound proven by then; None: no limit
    memory_limit  bytes that each search may take, or a text such as "2 GiB"
    workers    groups that are searched at once, each in a process of its own; None: one for each core. What is found in
               a moment is found in this process
    store      path of a result store that is asked first, and keeps what is found; None: none is
    watch      called with a `SearchProgress`: groups searched and left, value, bound and gap so far, what is being done
    progress   whether a bar shows it, in a notebook or on a terminal; None: in a notebook

    Raises TilewrightError: ProblemError for a network whose edges are not known, InfeasibleError where an operation
    fits in no group, or no segmentation keeps the limits, UndecidedError where that is not known in time.
    """
    watch, store = options["watch"], as_store(options["store"])
    if watch is not None:
        checks.function(watch, "watch")
    if options["progress"] is not None:
        checks.flag(options["progress"], "progress")
    sizes = sizes_asked(options["dims"], options["phase"], options["batch"])
    found = as_network(network, sizes, options["widths"], options["inputs"])
    limits, fuse, most = limits_of(options["time_limit"], options["memory_limit"]), options["fuse"], options["most"]
    if system is not None:
        if arch is not None:
            hint = "leave out arch: a system names its devices, and `set` of load_system changes them"
            raise TilewrightError("an architecture is given beside a system, expected one", where="arch", hint=hint)
        from .sharded import sharding_question

        def load(count: int) -> ShardingQuestion:
            part = found if count == 1 else as_network(network, microbatch(sizes, count), options["widths"])
            return sharding_question(part, as_system(system), objective, tiling, space, limits)

        return _on_system(found.name, load, options)
    if arch is None:
        hint = "give arch='eyeriss', or system='h100x8' for several devices"
        raise TilewrightError("no architecture is given", where="arch", hint=hint)
    refuse(options, ("fix", "stages", "microbatches"), "it is of several devices, expected a system beside it")
    wanted = ENERGY if objective is None else objective
    question = network_question(found, as_architecture(arch), wanted, tiling, space, fuse, most, limits)
    stays, weights_in, total_limit = options["stays"], options["weights_in"], options["total_limit"]
    question = with_choices(question, stays=stays, weights_in=weights_in, total_limit=total_limit)
    from .searches import warn

    with signs_of_life(wanted=options["progress"]), watched(watch):
        answer = compiled(question, store, warn, cached=store is not None, workers=options["workers"])
    return CompiledNetwork(found.name, question.arch, answer)


def _on_system(network: str, load: Callable[[int], ShardingQuestion], options: CompileKeywords) -> CompiledSystem:
    """The result of `compile` on a system; `load` is the question about one of so many microbatches."""
    from .mapper.sharding import PlanChoices, compiled_on_system
    from .searches import warn
    from .sharded import CompiledSystem, sharded

    refuse(options, ("fuse", "most", "stays", "weights_in"), "operations are mapped one by one on several devices")
    store, total_s = options["store"], _total_seconds(options["total_limit"])
    stages = None if options["stages"] is None else checks.text(options["stages"], "stages", "an axis, or free")
    given = checks.items(options["microbatches"], "microbatches", "a list")
    counts = [checks.whole(one, "a number of microbatches") for one in given]
    choices = PlanChoices(options["fix"], stages, counts, total_s)
    with signs_of_life(wanted=options["progress"]), watched(options["watch"]):
        divide = partial(sharded, store=store, note=warn, cached=store is not None, workers=options["workers"])
        return CompiledSystem(network, *compiled_on_system(load, choices, divide))


def load_network_plan(path: str | os.PathLike[str]) -> NetworkPlanDocument:
    """The plan.json at a path that `compile` has written for a network: groups, figures, addresses, by the keys of its
    schema.

    Raises MappingError for a file that is no such document, with the first key that is wrong, and MemoryPlanError for
    one that was changed: figures of the whole that are not those of its groups, tiles that overlap or do not fit.
    """
    from .run.documents.network_plans import read_network_plan

    return read_network_plan(Path(checks.path(path, "a plan", "the path of a plan.json")))


def network_question(
    network: Network,
    arch: Architecture,
    objective: ObjectiveLike,
    tiling: Tiling | None,
    space: Space,
    fuse: Fuse,
    most: int,
    limits: Limits,
) -> NetworkQuestion:
    """The question that arguments of `compile` ask; all of them checked."""
    if network.wiring is None:
        hint = "add a graph to its table, as workloads/networks/README.md says"
        raise ProblemError("which layer reads which is not known", where=f"network {network.name}", hint=hint)
    check_choice("space", space, SPACES)
    check_choice("fuse", fuse, FUSES)
    count = checks.whole(most, "the number of operations of a group")
    wanted, kind = parse_objective(objective, arch.clock_hz), tiling_or_default(tiling)
    check_objective(wanted)
    uncounted = network.uncounted
    machine = with_padding_read(arch)
    return NetworkQuestion(network.wiring, machine, wanted, kind, space, fuse, count, limits, uncounted=uncounted)


def with_choices(
    question: NetworkQuestion, *, stays: bool, weights_in: WeightsLike = None, total_limit: float | None
) -> NetworkQuestion:
    """The question with what `compile` alone is asked; checked."""
    total_s = _total_seconds(total_limit)
    asked = tuple(_weights_in(weights_in))
    return replace(question, stays=checks.flag(stays, "stays"), weights_in=asked, total_s=total_s)


def _total_seconds(total_limit: float | None) -> float | None:
    return None if total_limit is None else checks.seconds(total_limit, "the limit of the whole")


def _weights_in(given: WeightsLike) -> Iterator[WeightsIn]:
    expected = "the name of a memory, or by such names lists of operations"
    if given is None:
        return
    if isinstance(given, str):
        yield WeightsIn(given)
        return
    for memory, operations in checks.mapping(given, "weights_in", expected).items():
        listed = [] if operations is None else checks.items(operations, f"weights_in: {memory}", "names of operations")
        names = [checks.text(one, "an operation", "its name") for one in listed]
        if operations is None or names:
            yield WeightsIn(checks.text(memory, "a memory", "its name"), tuple(names))


def compiled(
    question: NetworkQuestion,
    store: StoreLike | None,
    note: Note,
    *,
    cached: bool,
    workers: int | None,
) -> NetworkAnswer:
    """The answer to a question.

    store    path of the store that keeps the results of groups; None: `TILEWRIGHT_STORE`, or the user's cache
    note     called with what is worth knowing, such as that nothing can be kept
    cached   whether a store is asked at all
    workers  groups that are searched at once; None: one for each core
    """
    from .run.batch.group_workers import GroupWorkers
    from .stored import group_solver

    count = None if workers is None else checks.whole(workers, "the number of workers")
    solvers = GroupWorkers(group_solver(store, note) if cached else answer_below, count)
    try:
        return segment(question, solvers)
    finally:
        solvers.drop()
