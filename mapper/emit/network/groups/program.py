"""A compiled network as a program in no language yet: groups one after the other, tensors between them in one arena."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from .....arch import Architecture
from .....ir import Cascade, Operation
from .....workloads.graph import ApartOperation, Computed, Reference, Values
from ....memory_plan import MemoryPlan
from ....segmentation import Segment
from ...c.direct import Lying, lying
from ...lowering.loop_program import LoopProgram, Statement
from ...lowering.packs import Pack
from ...parts.trees import TensorFinish
from ..words.kinds import ApartKinds, GroupKinds
from ..words.operands import Finished, Reading, Weight
from ..words.stored import ELEMENT, WordType
from .addresses import Addresses, ArenaKey, Staying

LINE = 8
"""Elements of a cache line, at which tensors between groups begin."""


@dataclass(frozen=True)
class GroupProgram:
    """What groups do that differ in names alone.

    number     of the first such group, from 1
    segment    that group
    arch       the machine
    finishes   what is done with the words of its tensors
    tree       its program
    body       with buffers that begin as late as they can
    addresses  of its buffers
    kinds      how words are stored; None: as elements
    packs      of what it is given, by the name of the tensor, what it reads from copies
    """

    number: int
    segment: Segment
    arch: Architecture
    finishes: Mapping[str, TensorFinish]
    tree: LoopProgram
    body: tuple[Statement, ...]
    addresses: Mapping[ArenaKey, Addresses]
    kinds: GroupKinds | None = None
    packs: Mapping[str, Pack] = field(default_factory=dict)


@dataclass(frozen=True)
class GroupCall:
    """One group of the network.

    number   from 1
    program  of it, or of the first one that is alike
    cascade  its own
    keys     by the name of a tensor in the cascade: who makes it, or the name of the parameter
    inputs   in the order of the program's
    outputs  who makes them: in the order of the program's
    finished by the name of a tensor in the cascade, what is done with its words
    """

    number: int
    program: GroupProgram
    cascade: Cascade
    keys: Mapping[str, str]
    inputs: tuple[Reading | Weight, ...]
    outputs: tuple[str, ...]
    finished: Mapping[str, Finished]

    @property
    def named_inputs(self) -> list[tuple[str, Reading | Weight]]:
        """The inputs, each with its name in the cascade."""
        names = [name for name in self.cascade.tensors if name not in self.cascade.producers]
        return list(zip(names, self.inputs, strict=True))

    @property
    def names_there(self) -> dict[str, str]:
        """Of its tensors, their names in the program, which may be that of a group that is alike."""
        answer = self.program.segment.answer
        assert answer is not None
        return dict(zip(self.cascade.tensors, answer.mapping.cascade.tensors, strict=True))

    def layout(self, operation: Operation) -> dict[str, Lying]:
        """How the tensors of one of its operations lie, each as it was made."""
        readings = {reading.key: reading for reading in self.inputs if isinstance(reading, Reading)}
        found = {}
        for tensor in operation.problem.tensors:
            reading = readings.get(self.keys[tensor.name])
            found[tensor.name] = (
                lying(self.cascade, operation, tensor.name)
                if reading is None
                else reading.lying(operation, tensor.name)
            )
        return found


@dataclass(frozen=True)
class ApartCall:
    """What is done between groups, in the outermost memory.

    number     from 1, among the groups
    key        of what it makes
    operation  what it does
    inputs     who makes what it reads, or the parameter, in the operation's order
    finished   what is done with its words
    kinds      how words are stored; None: as elements
    relaid     the operation on tensors as they lie; None: they lie as they stand
    """

    number: int
    key: str
    operation: ApartOperation
    inputs: tuple[str | Weight, ...]
    finished: Finished | None
    kinds: ApartKinds | None = None
    relaid: ApartOperation | None = None

    @property
    def sources(self) -> list[str]:
        """Who makes what it reads."""
        return [one for one in self.inputs if isinstance(one, str)]

    def chooses_by(self, key: str) -> bool:
        """Whether the words of a tensor name the rows that are taken."""
        return self.operation.how == "gather" and self.inputs[1] == key


Step = GroupCall | ApartCall
"""What a program does at one moment."""


@dataclass(frozen=True)
class NetworkProgram:
    """The whole.

    network  its name
    arch     the machine
    inputs   of the caller: who makes them, outside of the network
    outputs  for the caller: what nothing in the network reads
    words    of every tensor, by who makes it; of those inside groups too
    weights  of all operations
    steps    groups, and what is done between them, in the order in which they run
    plan     of what lies between groups, and in the outermost memory inside them, by `tensor_buffer` and such
    staying  what lies on chip between groups, by who makes it
    loaded   weights that lie on chip all the time, by name
    values   reads the parameters that a model states; None: they are seeded
    reference  inputs and outputs by the definition of the model that it is of; None: they are not known
    types    of inputs and outputs, as the model names them
    orders   of tensors that do not lie axis by axis as they stand, in which order they do, the slowest first
    stored   of quantized networks, how every tensor is stored, by who makes it; addresses are bytes then. Else nothing
    """

    network: str
    arch: Architecture
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    words: Mapping[str, int]
    weights: tuple[Weight, ...]
    steps: tuple[Step, ...]
    plan: MemoryPlan
    staying: Mapping[str, Staying]
    loaded: Mapping[str, Staying]
    values: Values | None = None
    stored: Mapping[str, WordType] = field(default_factory=dict)
    reference: Reference | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    orders: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def is_narrow(self) -> bool:
        """Whether tensors are stored in types of their own."""
        return bool(self.stored)

    def kind(self, key: str) -> WordType:
        """How the words of a tensor are stored."""
        return self.stored.get(key, ELEMENT)

    def wholes(self, keys: Iterable[str]) -> tuple[int, ...]:
        """For each input or output which whole numbers it has: 1 any, 2 truths, 3 none below 0; 0: it has others."""
        kinds = (self.types.get(key, "").rstrip("0123456789") for key in keys)
        return tuple({"INT": 1, "BOOL": 2, "UINT": 3}.get(kind, 0) for kind in kinds)

    @property
    def rows_named(self) -> tuple[int, ...]:
        """For each input among how many rows its words choose; 0 where they are no indices."""
        return tuple(self._rows_named(key) for key in self.inputs)

    def _rows_named(self, key: str) -> int:
        """The least number of rows that words of this tensor, or the same words once more, choose among; else 0."""
        steps = [step for step in self.steps if isinstance(step, ApartCall) and key in step.inputs]
        counts = [step.operation.reads[0].extents[step.operation.axis] for step in steps if step.chooses_by(key)]
        counts += [self._rows_named(step.key) for step in steps if step.operation.how == "move"]
        return min(filter(None, counts), default=0)

    @property
    def calls(self) -> list[GroupCall]:
        """The groups."""
        return [step for step in self.steps if isinstance(step, GroupCall)]

    @property
    def programs(self) -> list[GroupProgram]:
        """Each once, in order."""
        return list({call.program.number: call.program for call in self.calls}.values())

    @property
    def heights(self) -> dict[ArenaKey, int]:
        """Elements of every arena inside the outermost memory."""
        found: dict[ArenaKey, int] = {}
        for one in (*self.staying.values(), *self.loaded.values()):
            found[one.arena] = max(found.get(one.arena, 0), one.end)
        for program in self.programs:
            for key, addresses in program.addresses.items():
                if key[0] != self.arch.memories[0].name:
                    found[key] = max(found.get(key, 0), addresses.height)
        return found

    def offset(self, buffer: str) -> int:
        """Where a buffer of the plan begins, in elements."""
        return self.plan.offsets[buffer][0]


def computed_of(program: NetworkProgram) -> Iterator[Computed]:
    """The operators that no mapping has."""
    for step in program.steps:
        if isinstance(step, ApartCall) and step.operation.computed is not None:
            yield step.operation.computed


def padded_buffer(call: int, key: str) -> str:
    """The buffer of a tensor with the zeros around that a group reads."""
    return f"{key} for group {call}"


def unfinished_buffer(key: str) -> str:
    """The buffer of what is made between groups, before anything is done with its words."""
    return f"{key} before its functions"


def scratch_buffer(call: int) -> str:
    """The buffer of what a group keeps in the outermost memory for itself."""
    return f"scratch of group {call}"


def scratch_height(program: GroupProgram, arch: Architecture) -> int:
    """Elements that a group keeps in the outermost memory for itself."""
    addresses = program.addresses.get((arch.memories[0].name, ()))
    return addresses.height if addresses else 0


def made_by(step: Step) -> list[str]:
    """All tensors that a step makes, those inside a group too."""
    if isinstance(step, ApartCall):
        return [step.key]
    return [step.keys[operation.output.name] for operation in step.cascade]
