"""From the answer of a segmentation to the program of the network."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import cast

from .....ir import Cascade, MappingError, Node
from .....workloads.graph import (
    Apart,
    CascadeTensor,
    NetworkGraph,
    Occurrence,
    cascade_parameters,
    cascade_tensors,
)
from ....fusing import answer_without_search
from ....memory_plan import BufferSet, LiveBuffer, MemoryPlan
from ....segmentation import NetworkAnswer, Segment, StayingTensor
from ...lowering.lifetimes import tightened
from ...lowering.loop_program import Array, LoopProgram, PerfectNest, Statement, WholeLying
from ...lowering.lowering import lower
from ...lowering.nests import with_nests
from ...lowering.packs import Pack
from ...lowering.passing import without_passing
from ...lowering.register_tiles import Given, has_caches, register_tile, registers_of, summed_nodes, with_packed
from ...lowering.tiles import margins_of
from ...parts.trees import TensorFinish
from ..words.kinds import GroupKinds, NetworkKinds
from ..words.operands import Reading, Weight
from ..words.parameters import ParameterRow
from ..words.stored import ELEMENT, WordType
from .addresses import ArenaKey, Staying, group_addresses, in_elements, narrowest_bits, plan_elements
from .leaving import finished_outside
from .orders import Order, order_of, relaid
from .program import (
    LINE,
    ApartCall,
    GroupCall,
    GroupProgram,
    NetworkProgram,
    Step,
    made_by,
    padded_buffer,
    scratch_buffer,
    scratch_height,
    unfinished_buffer,
)
from .writable import check_writable


def network_program(answer: NetworkAnswer) -> NetworkProgram:
    """The program of a compiled network.

    Raises MappingError for what is made in a way that is no operation, all of it named, and for groups whose programs
    cannot be written yet.
    """
    check_writable(answer.question.graph)
    meaning = answer.question.graph.meaning
    if meaning is None or not meaning.is_quantized:
        return _Assembly(answer, 0).program()
    assembly = _Assembly(answer, 1)
    program = assembly.program()
    spread = assembly.bytes_of_planned()
    return program if spread == 1 else _Assembly(answer, spread).program()


@dataclass(frozen=True)
class _LoweredTree:
    """The program of a group, in whose names all that are alike are written: their tensors may have others.

    body   with buffers that begin as late as they can
    packs  what it reads from copies
    """

    segment: Segment
    finishes: Mapping[str, TensorFinish]
    kinds: GroupKinds | None
    tree: LoopProgram
    body: tuple[Statement, ...]
    packs: Mapping[str, Pack] = field(default_factory=dict)


@dataclass(frozen=True)
class _Draft:
    """A group before its program is written.

    number    from 0
    call      of it, with another program
    on_chip   of its tensors that stay on chip, how they lie
    kinds     how words are stored
    """

    number: int
    segment: Segment
    call: GroupCall
    on_chip: Mapping[str, WholeLying]
    kinds: GroupKinds | None


class _Assembly:
    """One use for one network.

    spread  bytes of an arena for each planned one, where tensors are stored in types of their own; 0: they are not
    """

    def __init__(self, answer: NetworkAnswer, spread: int) -> None:
        self.answer, self.arch = answer, answer.question.arch
        self.graph: NetworkGraph = answer.question.graph
        self.words: dict[str, int] = {}
        self.trees: dict[object, _LoweredTree] = {}
        self.programs: dict[object, GroupProgram] = {}
        self.meaning = self.graph.meaning
        self.parameters = ParameterRow(self.graph, is_narrow=spread > 0)
        self.kinds = NetworkKinds(self.meaning) if self.meaning is not None and spread else None
        self.bits = Fraction(8, spread) if spread else narrowest_bits(answer.segments, self.arch)
        self.line = LINE * WordType("double").bytes if spread else LINE
        self.staying: dict[str, Staying] = {}
        self.resident: dict[str, Staying] = {}
        self.loaded: dict[str, Staying] = {}
        self.registers = registers_of(self.arch) if has_caches(self.arch) and not spread else None
        self.orders: dict[str, Order] = {}

    def program(self) -> NetworkProgram:
        if self.registers is None:  # caches keep what they can by themselves
            self.staying = {one.name: self._staying(one) for one in self.answer.staying if not one.is_weight}
            self.resident = {one.name: self._resident(one) for one in self.answer.staying if one.is_weight}
        calls = self._written(list(self._steps()))
        made = {key for call in calls for key in made_by(call)}
        read = dict.fromkeys(key for call in calls for key in _read_by(call))
        inputs = tuple(key for key in read if key not in made)
        outputs = tuple(key for call in calls for key in _handed_by(call) if key not in read)
        if self.meaning is not None:
            order = {name: place for place, name in enumerate(self.meaning.inputs)}
            inputs = tuple(sorted(inputs, key=lambda key: order.get(key, len(order))))
            outputs = self.meaning.outputs
            self._check_outputs(outputs, calls)
        return NetworkProgram(
            self.graph.network,
            self.arch,
            inputs,
            outputs,
            self.words,
            tuple(self.parameters.weights),
            tuple(calls),
            self._plan(calls, {*inputs, *outputs, *self.staying}),
            self.staying,
            self.loaded,
            self.meaning.values if self.meaning is not None else None,
            self.kinds.stored if self.kinds is not None else {},
            self.meaning.reference if self.meaning is not None else None,
            self.meaning.types if self.meaning is not None else {},
            self.orders,
        )

    def bytes_of_planned(self) -> int:
        """How many bytes a planned one has to be for all that stays on chip to have room."""
        bits = {one.name: one.bits for one in self.answer.staying}
        names = {id(one): name for name, one in self.resident.items()}
        weights = {weight.name: weight for weight in self.parameters.weights}
        stays = [(self._size(self.words[name], self._kind(name)), bits[name]) for name in self.staying]
        stays += [
            (self._size(weights[name].words, weights[name].stored_as), bits[names[id(one)]])
            for name, one in self.loaded.items()
        ]
        return max((-(-size * 8 // planned) for size, planned in stays), default=1)

    def _kind(self, key: str) -> WordType:
        """How the words of a tensor are stored."""
        return self.kinds.stored[key] if self.kinds is not None else ELEMENT

    def _size(self, words: int, kind: WordType) -> int:
        """Words in what addresses count: elements, or bytes."""
        return words if self.kinds is None else words * kind.bytes

    def _check_outputs(self, outputs: Sequence[str], calls: Sequence[Step]) -> None:
        handed = {key for call in calls for key in _handed_by(call)}
        for key in outputs:
            if key not in handed:
                message = f"{key} is an output of the model, and is made inside a group"
                raise MappingError(message, where=self.graph.network, hint="compile it with --fuse none")

    def _staying(self, one: StayingTensor) -> Staying:
        """A tensor that stays, at its planned address."""
        shape = self.graph.shape(one.name)
        assert shape is not None
        return self._at_its_address(one, one.first, shape)

    def _resident(self, one: StayingTensor) -> Staying:
        """A weight that lies on chip all the time, at its planned address."""
        readers = zip(range(one.first, one.last + 1), one.buffers, strict=True)
        number, tensor = next(reader for reader in readers if reader[1] in dict(self.answer.segments[reader[0]].stays))
        answer = self.answer.segments[number].answer
        assert answer is not None
        return self._at_its_address(one, number, answer.mapping.cascade.extents(tensor))

    def _at_its_address(self, one: StayingTensor, number: int, shape: Sequence[int]) -> Staying:
        """As the plan of a segment has it, which knows the place."""
        buffer = one.buffers[number - one.first]
        arenas = (arena for arena in self.answer.segments[number].arenas if arena.memory == one.memory)
        arena = next(arena for arena in arenas if buffer in arena.plan.offsets)
        offset = in_elements(arena.plan.offsets[buffer][0], self.bits)
        size = math.prod(shape) if self.kinds is None else in_elements(-(-one.bits // 8), self.bits)
        return Staying((arena.memory, arena.roles), offset, size, one.first, one.last)

    def _occurrences(self, names: Sequence[str]) -> list[Occurrence]:
        return [self.graph.by_name[name] for name in names]

    def _steps(self) -> Iterator[_Draft | ApartCall]:
        """Groups, and what is done between them; nothing for what comes from outside but its forms."""
        known = self.meaning.apart if self.meaning is not None else {}
        for number, segment in enumerate(self.answer.segments):
            made = list(segment.names)
            if made[0] in known:
                yield self._apart_call(number, made[0], segment, known[made[0]])
            elif self.graph.by_name[made[0]].follows:  # a part of what is computed apart as a whole
                continue
            elif segment.answer is not None:
                draft = self._in_vectors(self._draft(number, segment))
                made = made_by(draft.call)
                yield draft
            for source in made:
                for form in self.meaning.copies.get(source, ()) if self.meaning is not None else ():
                    yield self._apart_call(number, form, segment, known[form])

    def _apart_call(self, number: int, name: str, segment: Segment, apart: Apart) -> ApartCall:
        operation = apart()
        inputs: list[str | Weight] = []
        for read in operation.reads:
            if read.source is not None:
                shape = self.graph.shape(read.source)
                if shape is not None:
                    self._see(read.source, shape)
                inputs.append(read.source)
            else:
                inputs.append(self.parameters.of_apart(name, read))
        self._see(name, operation.shape)
        finished = self.parameters.of_finish(name, segment.names, operation.shape)
        kinds = None if self.kinds is None else self.kinds.of_apart(name, operation, inputs, finished)
        return ApartCall(number + 1, name, operation, tuple(inputs), finished, kinds)

    def _draft(self, number: int, segment: Segment) -> _Draft:
        assert segment.answer is not None
        cascade = segment.answer.mapping.cascade
        members = self._occurrences(segment.names)
        tensors = cascade_tensors(self.graph, members, cascade)
        parameters = cascade_parameters(self.graph, members, cascade)
        forms = self._forms(members)
        keys = {
            name: tensor.key if name in cascade.producers else forms.get(tensor.key, tensor.key)
            for name, tensor in tensors.items()
        }
        inputs: list[Reading | Weight] = []
        for name in cascade.tensors:
            extents = cascade.extents(name)
            if name in cascade.producers:
                self._see(keys[name], extents)
            elif name in tensors:
                tensor = tensors[name]
                self._see(tensor.key, tensor.made)
                reading = _reading(tensor, cascade, name)
                inputs.append(replace(reading, key=keys[name], stays=tensor.key in self.staying))
            else:
                weight = self.parameters.of_operand(cascade, name, segment.names, parameters[name])
                keys[name] = weight.name
                inputs.append(weight)
                loaded = self._loaded(number, name)
                if loaded is not None:
                    self.loaded[weight.name] = loaded
        finished = {
            name: self.parameters.of_finish(keys[name], segment.names, cascade.extents(name))
            for name in cascade.producers
        }
        known = {name: found for name, found in finished.items() if found is not None}
        on_chip = {
            name: one.on_chip
            for name, one in zip(_given(cascade), inputs, strict=True)
            if isinstance(one, Reading) and one.stays
        }
        for name in cascade.tensors:
            if keys[name] in (self.staying if name in cascade.producers else self.loaded):
                extents = cascade.extents(name)
                on_chip[name] = WholeLying(extents, (0,) * len(extents))
        kinds = None
        if self.kinds is not None:
            weights = {n: one for n, one in zip(_given(cascade), inputs, strict=True) if isinstance(one, Weight)}
            kinds = self.kinds.of_group(cascade, keys, weights, known)
        made = tuple(op.output.name for op in cascade if not cascade.consumers[op.output.name])
        outputs = tuple(keys[name] for name in made)
        call = GroupCall(number + 1, cast("GroupProgram", None), cascade, keys, tuple(inputs), outputs, known)
        return _Draft(number, segment, call, on_chip, kinds)

    def _written(self, drafts: Sequence[_Draft | ApartCall]) -> list[Step]:
        """With the programs of groups; on a machine with caches, each tensor lies as is best for who makes it, and what
        reads it reads it so."""
        found: list[Step] = []
        shapes: dict[str, tuple[int, ...]] = {}
        for draft in drafts:
            if isinstance(draft, ApartCall):
                lying = {key: (shapes[key], self.orders[key]) for key in draft.sources if key in self.orders}
                found.append(replace(draft, relaid=relaid(draft.operation, lying) if lying else None))
                continue
            call = draft.call
            if self.registers is not None:
                for key in call.outputs:
                    name = next(name for name, own in call.keys.items() if own == key)
                    shapes[key] = call.cascade.extents(name)
                    order = self._best_order(draft, name)
                    if order is not None and _may_lie(key, shapes[key], order, drafts):
                        self.orders[key] = order
            found.append(replace(call, program=self._group(draft)))
        return found

    def _best_order(self, draft: _Draft, name: str) -> Order | None:
        """The order that is best for a tensor that a group makes; of what a caller is given, there is none."""
        key = draft.call.keys[name]
        if self.registers is None or (self.meaning is not None and key in self.meaning.outputs):
            return None
        return order_of(self._nested(draft)[1], name, self.registers, _given_to(draft.call))

    def _in_vectors(self, draft: _Draft) -> _Draft:
        """A group as it is planned; or on a machine with caches, where more of its operations fill vectors so, one
        operation after the other: a processor loses more by words that are computed one by one than a cache saves."""
        segment, cascade = draft.segment, draft.call.cascade
        if self.registers is None or len(cascade.operations) == 1:
            return draft
        asked = replace(self.answer.question.of_group(cascade), stays=segment.stays)
        apart = answer_without_search(asked)
        if apart is None or apart.mapping.cascade.operations != cascade.operations:
            return draft
        other = replace(draft, segment=replace(segment, answer=apart, arenas=()))
        return other if self._filling_vectors(other) > self._filling_vectors(draft) else draft

    def _filling_vectors(self, draft: _Draft) -> int:
        """Operations of a group that are computed in vectors of registers."""
        assert self.registers is not None
        given, body = _given_to(draft.call), self._nested(draft)[1]
        nests = [one for one in body if isinstance(one, PerfectNest)]
        return sum(register_tile(one, self.registers, given) is not None for one in nests)

    def _nested(self, draft: _Draft) -> tuple[LoopProgram, tuple[Statement, ...]]:
        """The program of a group on a machine with caches, as nests of single operations."""
        assert draft.segment.answer is not None
        mapping = draft.segment.answer.mapping
        outermost, keys = self.arch.memories[0].name, draft.call.keys
        orders = {Node(outermost, name): self.orders[key] for name, key in keys.items() if key in self.orders}
        summed = [f"{node.memory}.{node.tensor}" for node in summed_nodes(mapping, self.arch)]
        finishes = {name: one.finish for name, one in draft.call.finished.items()}
        tree = lower(mapping, self.arch, summed, laid_out=orders, with_margins=True, finishes=finishes)
        return tree, with_nests(tightened(without_passing(tree.body)))

    def _loaded(self, number: int, tensor: str) -> Staying | None:
        """A parameter of a group, where it lies on chip all the time."""
        for one in self.answer.staying if self.resident else ():
            if one.is_weight and one.first <= number <= one.last and one.buffers[number - one.first] == tensor:
                return self.resident[one.name]
        return None

    def _forms(self, members: Sequence[Occurrence]) -> dict[str, str]:
        """By what a group reads, the form in which it does, where that is another one."""
        if self.meaning is None:
            return {}
        uses = [(member.name, source.name) for member in members for source in member.sources]
        return {use[1]: self.meaning.forms[use] for use in uses if use in self.meaning.forms}

    def _see(self, key: str, shape: Sequence[int]) -> None:
        """Note the words of a tensor, which are the same wherever it is met."""
        words = math.prod(shape)
        if self.words.setdefault(key, words) != words:
            message = f"{key} has {self.words[key]} words in one group and {words} in another"
            hint = f"state its shape by an entry of the graph: {{name: {key}, op: outside, shape: [...]}}"
            raise MappingError(message, where=self.graph.network, hint=hint)

    def _group(self, draft: _Draft) -> GroupProgram:
        """The program of a group, or of one before it that is alike, does the same with words, and has its tiles at the
        same addresses."""
        number, segment, cascade, keys = draft.number, draft.segment, draft.call.cascade, draft.call.keys
        finishes = {name: one.finish for name, one in draft.call.finished.items()}
        stored = draft.kinds.alike(cascade.producers) if draft.kinds is not None else None
        lying = tuple((draft.on_chip.get(name), self.orders.get(keys[name])) for name in cascade.tensors)
        kind = segment.alike, tuple(finishes.get(name) for name in cascade.producers), lying, stored
        if kind not in self.trees:
            self.trees[kind] = self._lowered(draft, finishes)
        lowered, taken = self.trees[kind], self._taken(number)

        def size(array: Array) -> int:
            return self._size(array.elements, lowered.kinds.of(array) if lowered.kinds is not None else ELEMENT)

        addresses = group_addresses(segment, self.arch, self.bits, lowered.body, lowered.tree.places, taken, size)
        at = tuple((key, tuple(one.offsets.items()), one.is_planned) for key, one in addresses.items())
        if (kind, at) not in self.programs:
            one = lowered
            self.programs[kind, at] = GroupProgram(
                number + 1, one.segment, self.arch, one.finishes, one.tree, one.body, addresses, one.kinds, one.packs
            )
        return self.programs[kind, at]

    def _lowered(self, draft: _Draft, finishes: Mapping[str, TensorFinish]) -> _LoweredTree:
        segment, kinds = draft.segment, draft.kinds
        assert segment.answer is not None
        try:
            if self.registers is not None:
                return self._in_registers(draft, finishes)
            tree = lower(segment.answer.mapping, self.arch, with_margins=True, finishes=finishes, lying=draft.on_chip)
        except MappingError as error:
            where = f"{self.graph.network}: {' + '.join(segment.names)}"
            raise MappingError(error.message, where=where, hint=error.hint) from None
        body = without_passing(tree.body)
        body = finished_outside(body, self.arch.memories[0].name) if kinds is not None else body
        return _LoweredTree(segment, finishes, kinds, tree, tightened(body))

    def _in_registers(self, draft: _Draft, finishes: Mapping[str, TensorFinish]) -> _LoweredTree:
        """A group on a machine with caches."""
        assert self.registers is not None
        tree, body = self._nested(draft)
        given, arrays = _given_to(draft.call), dict[Array, Array]()
        found: list[Statement] = []
        packs: dict[str, Pack] = {}
        for statement in body:
            tile = register_tile(statement, self.registers, given) if isinstance(statement, PerfectNest) else None
            if tile is None:
                found.append(statement)
                continue
            tile, replaced, own = with_packed(tile)
            arrays |= replaced
            packs |= {pack.tensor: pack for pack in own}
            found.append(tile)
        inputs = tuple(arrays.get(array, array) for array in tree.inputs)
        return _LoweredTree(draft.segment, finishes, None, replace(tree, inputs=inputs), tuple(found), packs)

    def _taken(self, number: int) -> dict[ArenaKey, list[Staying]]:
        """What lies in each arena while a group works."""
        found: dict[ArenaKey, list[Staying]] = {}
        for one in (*self.staying.values(), *self.resident.values()):
            if one.first <= number <= one.last:  # of all words, what is planned for them
                found.setdefault(one.arena, []).append(one)
        return found

    def _plan(self, calls: Sequence[Step], given: set[str]) -> MemoryPlan:
        """Addresses of all that lies in the outermost memory but the caller's arrays; a moment is a group."""
        begin: dict[str, int] = {}
        end: dict[str, int] = {}
        buffers = []
        for moment, call in enumerate(calls):
            end |= dict.fromkeys(_read_by(call), moment + 1)
            begin |= dict.fromkeys(_handed_by(call), moment)
            if isinstance(call, ApartCall):
                if call.kinds is not None and call.finished is not None:
                    size = self._size(self.words[call.key], call.kinds.made)
                    buffers.append(LiveBuffer(unfinished_buffer(call.key), moment, moment + 1, size, self.line))
                continue
            for reading in _readings(call):
                if not reading.is_read_in_place:
                    name, size = padded_buffer(call.number, reading.key), math.prod(reading.shape)
                    size = self._size(size, self._kind(reading.key))
                    buffers.append(LiveBuffer(name, moment, moment + 1, size, self.line))
            size = scratch_height(call.program, self.arch)
            if size:
                buffers.append(LiveBuffer(scratch_buffer(call.number), moment, moment + 1, size, self.line))
        for key, moment in begin.items():
            if key not in given:
                size = self._size(self.words[key], self._kind(key))
                buffers.append(LiveBuffer(key, moment, end.get(key, moment + 1), size, self.line))
        return plan_elements(BufferSet(tuple(buffers)))


def _given(cascade: Cascade) -> list[str]:
    """Tensors that come from outside, in the order of a group's inputs."""
    return [name for name in cascade.tensors if name not in cascade.producers]


def _given_to(call: GroupCall) -> Given:
    """What a group may read from copies: what one operation of it reads alone."""
    single = [name for name in _given(call.cascade) if len(call.cascade.consumers[name]) == 1]
    inputs = dict(zip(_given(call.cascade), call.inputs, strict=True))
    weights = [name for name in single if isinstance(inputs[name], Weight)]
    return Given(weights, [name for name in single if name not in weights])


def _may_lie(key: str, shape: tuple[int, ...], order: Order, drafts: Sequence[_Draft | ApartCall]) -> bool:
    """Whether all that reads a tensor can read it in another order: axis by axis as it is made."""
    for draft in drafts:
        if isinstance(draft, ApartCall):
            if key in draft.sources and relaid(draft.operation, {key: (shape, order)}) is None:
                return False
        elif any(isinstance(one, Reading) and one.key == key and one.made != shape for one in draft.call.inputs):
            return False
    return True


def _reading(tensor: CascadeTensor, cascade: Cascade, name: str) -> Reading:
    margins = margins_of(cascade, name)
    shape = tuple(extent + sum(zeros) for extent, zeros in zip(cascade.extents(name), margins, strict=True))
    before = tuple(own + low for own, (low, _) in zip(tensor.before, margins, strict=True))
    return Reading(tensor.key, tensor.made, before, shape, tensor.before)


def _readings(call: GroupCall) -> Iterator[Reading]:
    return (one for one in call.inputs if isinstance(one, Reading))


def _handed_by(step: Step) -> Sequence[str]:
    return [step.key] if isinstance(step, ApartCall) else step.outputs


def _read_by(step: Step) -> list[str]:
    return step.sources if isinstance(step, ApartCall) else [reading.key for reading in _readings(step)]
