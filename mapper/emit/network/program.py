"""A compiled network as a program in no language yet: groups one after the other, tensors between them in one arena."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ....arch import Architecture
from ....ir import Cascade, MappingError, Operation
from ....workloads.graph import CascadeTensor, NetworkGraph, Occurrence, cascade_tensors
from ...memory_plan import BufferSet, LiveBuffer, MemoryPlan
from ...segmentation import NetworkAnswer, Segment
from ..c_direct import Lying, lying
from ..lifetimes import tightened
from ..loop_program import Statement
from ..tree_lowering import TreeProgram, lower_tree, margins_of
from .addresses import Addresses, ArenaKey, group_addresses, plan_elements

LINE = 8
"""Elements of a cache line, at which tensors between groups begin."""


@dataclass(frozen=True)
class Reading:
    """A tensor from outside of a group, as the group's program reads it.

    key     who makes it
    made    positions of each of its axes
    before  zeros before the first position of each
    shape   of the array that the program reads: with these zeros, and others after the last position
    own     of the zeros before, those that the cascade takes for the tensor's; others are the operations' own
    """

    key: str
    made: tuple[int, ...]
    before: tuple[int, ...]
    shape: tuple[int, ...]
    own: tuple[int, ...]

    @property
    def is_as_made(self) -> bool:
        """Whether it can be read where it lies."""
        return self.made == self.shape and not any(self.before)

    def lying(self, operation: Operation, tensor: str) -> Lying:
        """How an operation finds it as it was made."""
        pads = [operation.pad(tensor, i) for i in range(len(self.made))]
        before = tuple(own + low for own, (low, _) in zip(self.own, pads, strict=True))
        padded = tuple(
            shape > made or bool(low) for shape, made, low in zip(self.shape, self.made, before, strict=True)
        )
        return Lying(self.made, before, padded)


@dataclass(frozen=True)
class Weight:
    """A parameter of an operation.

    name    of the occurrence, and of the operand there
    shape   of its axes
    offset  of its first word among those of all parameters
    terms   that are summed up in every word of the operation's output
    """

    name: str
    shape: tuple[int, ...]
    offset: int
    terms: int

    @property
    def words(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class GroupProgram:
    """What groups do that differ in names alone.

    number     of the first such group, from 1
    segment    that group
    tree       its program
    body       with buffers that begin as late as they can
    addresses  of its buffers
    """

    number: int
    segment: Segment
    tree: TreeProgram
    body: tuple[Statement, ...]
    addresses: Mapping[ArenaKey, Addresses]


@dataclass(frozen=True)
class GroupCall:
    """One group of the network.

    number   from 1
    program  of it, or of the first one that is alike
    cascade  its own
    keys     by the name of a tensor in the cascade: who makes it, or the name of the parameter
    inputs   in the order of the program's
    outputs  who makes them: in the order of the program's
    """

    number: int
    program: GroupProgram
    cascade: Cascade
    keys: Mapping[str, str]
    inputs: tuple[Reading | Weight, ...]
    outputs: tuple[str, ...]

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
class NetworkProgram:
    """The whole.

    network  its name
    arch     the machine
    inputs   of the caller: who makes them, outside of the network
    outputs  for the caller: what nothing in the network reads
    words    of every tensor, by who makes it; of those inside groups too
    weights  of all operations
    calls    groups in the order in which they run
    plan     of what lies between groups, and in the outermost memory inside them, by `tensor_buffer` and such
    """

    network: str
    arch: Architecture
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    words: Mapping[str, int]
    weights: tuple[Weight, ...]
    calls: tuple[GroupCall, ...]
    plan: MemoryPlan

    @property
    def programs(self) -> list[GroupProgram]:
        """Each once, in order."""
        return list({call.program.number: call.program for call in self.calls}.values())

    @property
    def heights(self) -> dict[ArenaKey, int]:
        """Elements of every arena inside the outermost memory."""
        found: dict[ArenaKey, int] = {}
        for program in self.programs:
            for key, addresses in program.addresses.items():
                if key[0] != self.arch.memories[0].name:
                    found[key] = max(found.get(key, 0), addresses.height)
        return found

    def offset(self, buffer: str) -> int:
        """Where a buffer of the plan begins, in elements."""
        return self.plan.offsets[buffer][0]


def padded_buffer(call: int, key: str) -> str:
    """The buffer of a tensor with the zeros around that a group reads."""
    return f"{key} for group {call}"


def scratch_buffer(call: int) -> str:
    """The buffer of what a group keeps in the outermost memory for itself."""
    return f"scratch of group {call}"


def scratch_height(program: GroupProgram, arch: Architecture) -> int:
    """Elements that a group keeps in the outermost memory for itself."""
    addresses = program.addresses.get((arch.memories[0].name, ()))
    return addresses.height if addresses else 0


def network_program(answer: NetworkAnswer) -> NetworkProgram:
    """The program of a compiled network.

    Raises MappingError for what is made in a way that is no operation, all of it named, and for groups whose programs
    cannot be written yet.
    """
    return _Assembly(answer).program()


class _Assembly:
    """One use for one network."""

    def __init__(self, answer: NetworkAnswer) -> None:
        self.answer, self.arch = answer, answer.question.arch
        self.graph: NetworkGraph = answer.question.graph
        self.words: dict[str, int] = {}
        self.weights: list[Weight] = []
        self.programs: dict[int, GroupProgram] = {}

    def program(self) -> NetworkProgram:
        self._check_known()
        calls = [
            self._call(number, segment)
            for number, segment in enumerate(self.answer.segments)
            if segment.answer is not None
        ]
        made = {call.keys[operation.output.name] for call in calls for operation in call.cascade}
        read = {reading.key for call in calls for reading in _readings(call)}
        inputs = tuple(dict.fromkeys(r.key for call in calls for r in _readings(call) if r.key not in made))
        outputs = tuple(key for call in calls for key in call.outputs if key not in read)
        return NetworkProgram(
            self.graph.network,
            self.arch,
            inputs,
            outputs,
            self.words,
            tuple(self.weights),
            tuple(calls),
            self._plan(calls, {*inputs, *outputs}),
        )

    def _check_known(self) -> None:
        outside = [name for segment in self.answer.segments if segment.answer is None for name in segment.names]
        unknown = [self.graph.shown(one) for one in self._occurrences(outside) if one.sources]
        if unknown:
            message = f"how {', '.join(unknown)} come{'s' * (len(unknown) == 1)} from what is read there is not stated"
            hint = "a program needs layers, and additions, products, norms, softmax and pooling between them"
            raise MappingError(message, where=self.graph.network, hint=hint)

    def _occurrences(self, names: Sequence[str]) -> list[Occurrence]:
        return [self.graph.by_name[name] for name in names]

    def _call(self, number: int, segment: Segment) -> GroupCall:
        assert segment.answer is not None
        cascade = segment.answer.mapping.cascade
        tensors = cascade_tensors(self.graph, self._occurrences(segment.names), cascade)
        keys: dict[str, str] = {name: tensor.key for name, tensor in tensors.items()}
        inputs: list[Reading | Weight] = []
        for name in cascade.tensors:
            extents = cascade.extents(name)
            if name in cascade.producers:
                self._see(keys[name], extents)
            elif name in tensors:
                tensor = tensors[name]
                self._see(tensor.key, tensor.made)
                inputs.append(_reading(tensor, cascade, name))
            else:
                weight = self._weight(cascade, name, segment, extents)
                keys[name] = weight.name
                inputs.append(weight)
        program = self._group(segment)
        outputs = tuple(op.output.name for op in cascade if not cascade.consumers[op.output.name])
        return GroupCall(number + 1, program, cascade, keys, tuple(inputs), tuple(keys[name] for name in outputs))

    def _see(self, key: str, shape: Sequence[int]) -> None:
        """Note the words of a tensor, which are the same wherever it is met."""
        words = math.prod(shape)
        if self.words.setdefault(key, words) != words:
            message = f"{key} has {self.words[key]} words in one group and {words} in another"
            hint = f"state its shape by an entry of the graph: {{name: {key}, op: outside, shape: [...]}}"
            raise MappingError(message, where=self.graph.network, hint=hint)

    def _weight(self, cascade: Cascade, tensor: str, segment: Segment, shape: tuple[int, ...]) -> Weight:
        reader = cascade.consumers[tensor][0]
        terms = math.prod(reader.problem.sizes[dim] for dim in reader.reduced_dims)
        last = self.weights[-1] if self.weights else None
        name = f"{'+'.join(segment.names)}: {tensor}"
        self.weights.append(Weight(name, shape, last.offset + last.words if last else 0, terms))
        return self.weights[-1]

    def _group(self, segment: Segment) -> GroupProgram:
        """The program of a group, or of the first one that is alike."""
        first = self.answer.segments[segment.alike]
        if segment.alike not in self.programs:
            assert first.answer is not None
            try:
                tree = lower_tree(first.answer.mapping, self.arch, with_margins=True)
            except MappingError as error:
                where = f"{self.graph.network}: {' + '.join(first.names)}"
                hint = "compile it with --fuse whole: groups then have no shared loops"
                raise MappingError(error.message, where=where, hint=hint) from None
            body = tightened(tree.body)
            addresses = group_addresses(first, self.arch, body, tree.places)
            self.programs[segment.alike] = GroupProgram(segment.alike + 1, first, tree, body, addresses)
        return self.programs[segment.alike]

    def _plan(self, calls: Sequence[GroupCall], given: set[str]) -> MemoryPlan:
        """Addresses of all that lies in the outermost memory but the caller's arrays; a moment is a group."""
        begin: dict[str, int] = {}
        end: dict[str, int] = {}
        buffers = []
        for moment, call in enumerate(calls):
            for reading in _readings(call):
                end[reading.key] = moment + 1
                if not reading.is_as_made:
                    name, size = padded_buffer(call.number, reading.key), math.prod(reading.shape)
                    buffers.append(LiveBuffer(name, moment, moment + 1, size, LINE))
            for key in call.outputs:
                begin[key] = moment
            size = scratch_height(call.program, self.arch)
            if size:
                buffers.append(LiveBuffer(scratch_buffer(call.number), moment, moment + 1, size, LINE))
        for key, moment in begin.items():
            if key not in given:
                buffers.append(LiveBuffer(key, moment, end[key], self.words[key], LINE))
        return plan_elements(BufferSet(tuple(buffers)))


def _reading(tensor: CascadeTensor, cascade: Cascade, name: str) -> Reading:
    margins = margins_of(cascade, name)
    shape = tuple(extent + sum(zeros) for extent, zeros in zip(cascade.extents(name), margins, strict=True))
    before = tuple(own + low for own, (low, _) in zip(tensor.before, margins, strict=True))
    return Reading(tensor.key, tensor.made, before, shape, tensor.before)


def _readings(call: GroupCall) -> Iterator[Reading]:
    return (one for one in call.inputs if isinstance(one, Reading))
