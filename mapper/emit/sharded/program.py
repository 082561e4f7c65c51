"""A plan for several devices as one numpy program: an array for every device and shard, collectives as copies between
devices along the links of the system, and a check.

What is computed, and the plan, are data at the top of the text; the runtimes below them read like the rules of
docs/chips.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import prod

from ....ir import MappingError, Operation
from ....ir.sharding import PARTIAL, REPLICATED, SPREAD, Deal, Placement, Sharding
from ....workloads.graph import Occurrence
from ....workloads.graph.atoms import ReaderAxis
from ....workloads.graph.joining import Member, Read, members_of
from ....workloads.graph.occurrences import OUTSIDE
from ....workloads.graph.readings import window_sizes
from ...sharding import DeviceWork, Resharding, ShardedAnswer, ShardingSpace
from ..numpy.points import constant, point_text
from ..numpy.program import runtime_text
from ..parts.exactness import largest_exact
from ..parts.names import comment, printable, quoted
from . import runtime_links, runtime_mesh, runtime_words, runtime_work

TITLE = '''"""The network {network} on {devices} devices, {system}: the plan's steps, one after the other.

Written by tilewright. It needs nothing but numpy. Run it:

    python {file} [seed]

Every device holds an array for each tensor and sharding, and does its block of each operation. Collectives copy words
from device to device along the links of the system, and count the bytes that pass each of them. Outputs are compared
with those of the network done at once, {exactness}; bytes by link, hops and seconds with those
of the plan. It exits with 0 if all agree.
"""
'''

IMPORTS = """from __future__ import annotations

import itertools
import math
import sys
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

"""

MAIN = '''
# ---- main ------------------------------------------------------------------------------------------------------------


def main() -> int:
    """Print the check's result; 0 if outputs and bytes are as they should be."""
    found = checked(network(), plan(), TOLERANCE, int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print("\\n".join(table(found, network())))
    return int(bool(found.wrong))


if __name__ == "__main__":
    sys.exit(main())
'''

_TOLERANCE = 1e-9
"""How far outputs may differ, as a part of the largest word, where functions of words make fractions."""


def sharded_program(answer: ShardedAnswer, file: str = "program.py") -> str:
    """The text of a numpy program that does the plan on arrays, and checks outputs and bytes by link.

    Raises MappingError for what the program cannot do.
    """
    return "\n".join(_ShardedText(answer, file).lines())


class _ShardedText:
    """The text of one program."""

    def __init__(self, answer: ShardedAnswer, file: str) -> None:
        self.answer, self.file, question = answer, file, answer.question
        self.graph, self.system = question.graph, question.system
        self.space = ShardingSpace(self.graph, self.system)
        self._check()
        self.members = {o.name: members_of(self.graph, o, "parts") for o in self.graph if o.kind != OUTSIDE}
        self.largest = largest_exact([(m.operation, self._names(m)) for all_ in self.members.values() for m in all_])

    def _check(self) -> None:
        """MappingError for what no such program does."""
        network = self.graph.network
        if self.graph.meaning is not None:
            message = "a program for several devices knows no parameters and functions of model files yet"
            raise MappingError(message, where=network, hint="tables of networks have programs, as gpt3_6_7b_block")
        for occurrence in self.graph:
            if occurrence.times > 1 or occurrence.follows:
                message = "a program for several devices has no steps of a recurrent layer"
                raise MappingError(message, where=f"{network}: {occurrence.name}")
        for step in self.answer.steps:
            if isinstance(step, DeviceWork) and SPREAD in self.space.made(step.name, step.split):
                message = "its rows are dealt by those of what it reads: which device has which, the plan does not say"
                raise MappingError(message, where=f"{network}: {step.name}", hint="give it another split, as by fixed=")
        for name in (*self.space.names, *self.space.readers):
            if self.space.bits(name) % 8:
                message = f"its words have {self.space.bits(name)} bits, and a program counts whole bytes"
                raise MappingError(message, where=f"{network}: {name}")

    def _names(self, member: Member) -> dict[str, str]:
        """What its tensors are called in the network."""
        own = {tensor.name: f"{member.key}: {tensor.name}" for tensor in member.operation.problem.operands}
        read = {read.operand: self._tensor(read.key) for read in member.reads}
        return {**own, **read, member.operation.output.name: member.key}

    def _tensor(self, key: str) -> str:
        return self.space.row(key)

    # ---- the text --------------------------------------------------------------------------------------------

    def lines(self) -> Iterator[str]:
        """All of it."""
        exactness = "and equal, as all words are whole numbers" if self.largest else "and equal but for rounding"
        yield TITLE.format(
            network=_plain(self.graph.network),
            devices=self.system.devices,
            system=_plain(self.system.name),
            exactness=exactness,
            file=self.file,
        )
        yield IMPORTS
        yield from comment("How far outputs may differ, as a part of the largest word.")
        yield f"TOLERANCE = {0 if self.largest else _TOLERANCE}"
        yield from ("", "")
        yield from self._network_lines()
        yield from ("", "")
        yield from self._plan_lines()
        yield from ("", "")
        yield "\n".join((f"REPLICATED, PARTIAL = {REPLICATED!r}, {PARTIAL!r}", "", "", inspect.getsource(Deal), ""))
        yield runtime_text((runtime_words, runtime_work, runtime_links, runtime_mesh))
        yield MAIN

    def _network_lines(self) -> Iterator[str]:
        yield "def network() -> DealtNetwork:"
        yield '    """What is computed, and where."""'
        yield "    return DealtNetwork("
        yield "        axes=("
        for axis in self.system.axes:
            more = "".join(f", {key}=True" for key in ("reduces", "shared", "multicast") if getattr(axis, key))
            more = f", {axis.bandwidth!r}, {axis.latency!r}, {axis.links}{more}"
            yield f"            LinkedAxis({quoted(axis.name)}, {quoted(axis.kind)}, {axis.size}{more}),"
        yield "        ),"
        yield "        tensors={"
        for name, words in self._words().items():
            yield f"            {quoted(name)}: TensorRow({words}, {self.space.bits(name)}),"
        yield "        },"
        yield "        works={"
        for occurrence in self.graph:
            members = self.members.get(occurrence.name)
            if members is not None:
                inside = {member.key for member in members}
                yield from _work_lines(occurrence.name, members, [self._part(member, inside) for member in members])
            elif self._is_view(occurrence):
                yield f"            {quoted(occurrence.name)}: RowsView({self._view(occurrence)}),"
        yield "        },"
        outputs = ", ".join(f"{quoted(name)}: {_sharding(one)}" for name, one in self._outputs().items())
        yield f"        outputs={{{outputs}}},"
        yield f"        largest={self.largest},"
        yield "    )"

    def _words(self) -> dict[str, int]:
        """Of every tensor."""
        last = {name: members[-1] for name, members in self.members.items()}
        found = {name: prod(member.sizes[dim] for dim in member.writes) for name, member in last.items()}
        views = (view for view in self.graph if self._is_view(view))
        others = (*self.space.names, *(self._tensor(view.sources[0].name) for view in views))
        found |= {name: self.space.words(name) for name in others if name not in found}
        for members in self.members.values():
            inside = {member.key for member in members}
            for member in members:
                for read in member.reads:
                    key = self._tensor(read.key)
                    if read.key not in inside:
                        words = prod(self._axis_sizes(member, read))
                        if found.setdefault(key, words) != words:
                            message = f"{member.name} reads {words:,} words of {key}, which has {found[key]:,}"
                            raise MappingError(message, where=self.graph.network)
        return found

    def _is_view(self, occurrence: Occurrence) -> bool:
        """Whether it has other rows than what it reads, or has them in another order."""
        return occurrence.role is not None and self.space.row(occurrence.name) == occurrence.name

    def _view(self, occurrence: Occurrence) -> str:
        """Its source, the words of a row, and which rows it has."""
        source = occurrence.sources[0].name
        shape, read = self.graph.shape(occurrence.name), self.graph.shape(source)
        if not shape or not read:
            raise MappingError("its shape, or that of what it reads, is not known", where=occurrence.name)
        row, own, given = shape[-1], prod(shape[:-1]), prod(read) // shape[-1]
        if occurrence.role == "cache":
            lots = prod(shape[:-2])
            rows = f"newest({lots}, {own // lots}, {given // lots})"
        elif len(occurrence.sources) == 1:
            rows = f"last_of({own}, {given // own})"
        elif own > given:
            rows = f"by_expert({given}, {own // given}, {self._experts(occurrence.name)})"
        else:
            dealt_out = next(o.name for o in self.graph if self._is_view(o) and o.sources[1:] == occurrence.sources[1:])
            choices = prod(self.graph.shape(occurrence.sources[1].name) or (1,)) // shape[0]
            rows = f"from_experts({given // choices}, {choices}, {self._experts(dealt_out)})"
        return f"{quoted(self._tensor(source))}, {row}, {rows}"

    def _experts(self, name: str) -> int:
        """How many there are among which the rows of a view are dealt: its readers have them as their first rank."""
        reader = next(o for o in self.graph if o.problem is not None and o.sources and o.sources[0].name == name)
        assert reader.problem is not None
        operand = reader.problem.operands[0]
        return reader.problem.sizes[operand.ranks[0][0][0]] if len(operand.ranks) > 2 else 1

    def _axis_sizes(self, member: Member, read: Read) -> list[int]:
        """Positions of the axes of what is read."""
        shape = self.graph.shape(read.key)
        windows: Mapping[str, int] = {}
        if shape is not None and any(axis.window for axis in read.axes):
            windows = window_sizes(shape, member, read)
        return [
            windows.get(axis.rank[0][0], axis.extent(member.sizes) - 2 * axis.before)
            if axis.window
            else axis.extent(member.sizes)
            for axis in read.axes
        ]

    def _outputs(self) -> dict[str, Sharding]:
        """What nothing reads, and in which sharding it lies in the end."""
        read = {self._tensor(name) for occurrence in self.graph for name in occurrence.reads}
        found = {}
        for name in self.space.names:
            if name not in read and not self._is_drawn(name):
                whole = [one for one in self.answer.shardings[name] if "partial" not in one]
                found[name] = whole[-1]
        return found

    def _part(self, member: Member, inside: Collection[str]) -> list[str]:
        """One operation; its operands are parameters, what others make, or what is made inside of the same name."""
        operation = member.operation
        reads = {read.operand: read for read in member.reads}
        operands = []
        for tensor in operation.problem.operands:
            if tensor.name in reads:
                read = reads[tensor.name]
                sizes = [] if read.key in inside else self._axis_sizes(member, read)
                axes = list(zip(read.axes, sizes or [axis.extent(member.sizes) for axis in read.axes], strict=True))
                source = read.key if read.key in inside else self._tensor(read.key)
            else:
                own = [ReaderAxis(rank) for rank in tensor.ranks]
                axes, source = [(axis, axis.extent(member.sizes)) for axis in own], ""
            lies = ", ".join(_lies(axis, size) for axis, size in axes)
            operands.append(f"OperandRead({quoted(tensor.name)}, {quoted(source)}, [{lies}])")
        reduced = operation.reduction if operation.reduced_dims and operation.reduction else ""
        head = f"{quoted(member.key)}, {list(member.writes)!r}, {quoted(reduced)}{_point(operation)}"
        return [f"WorkPart({head}, operands=[", *(f"    {operand}," for operand in operands), "])"]

    def _plan_lines(self) -> Iterator[str]:
        yield "def plan() -> list[PlanStep]:"
        yield '    """What devices do, and how tensors get from one sharding to another, step by step."""'
        yield "    return ["
        known: set[tuple[str, Sharding]] = set()
        for step in self.answer.steps:
            reads = self._reads(step) if isinstance(step, DeviceWork) else {self._tensor(step.tensor): step.before}
            for tensor, sharding in reads.items():
                if self.space.is_free(tensor) and (tensor, sharding) not in known:
                    known.add((tensor, sharding))
                    yield f"        GiveStep({quoted(tensor)}, {_sharding(sharding)}),"
            if isinstance(step, DeviceWork) and self._is_drawn(step.name):
                yield from comment(f"{step.name}: drawn, since nothing states how it is made", "        ")
                yield f"        GiveStep({quoted(step.name)}, {_sharding(self.space.made(step.name, step.split))}),"
            elif isinstance(step, DeviceWork):
                yield from self._done_lines(step, reads)
            else:
                known.add((self._tensor(step.tensor), step.after))
                yield from self._resharded_lines(step)
        yield "    ]"

    def _reads(self, step: DeviceWork) -> dict[str, Sharding]:
        """In which shardings an operation needs what it reads."""
        is_view = self._is_view(self.graph.by_name[step.name])
        if self._is_drawn(step.name):
            return {}
        return {
            tensor: self.space.needed(step.name, step.split, number)
            for number, tensor in enumerate(self.space.reads(step.name)[: 1 if is_view else None])
        }

    def _is_drawn(self, name: str) -> bool:
        """Whether it is made in a way that nothing states."""
        occurrence = self.graph.by_name[name]
        return occurrence.kind == OUTSIDE and occurrence.role is None

    def _done_lines(self, step: DeviceWork, reads: Mapping[str, Sharding]) -> Iterator[str]:
        along = [
            f"{dim} along {axis.name}{f' ({called})' if called else ''}"
            for dim, axis, called in zip(step.split, self.system.axes, step.parallelism or ("",) * 9, strict=False)
            if dim is not None
        ]
        yield from comment(f"{step.name}: {', '.join(along) or 'all devices do the same'}", "        ")
        read = ", ".join(f"{quoted(tensor)}: {_sharding(one)}" for tensor, one in reads.items())
        made = _sharding(self.space.made(step.name, step.split))
        yield f"        WorkStep({quoted(step.name)}, {step.split!r}, {{{read}}}, {made}),"

    def _resharded_lines(self, step: Resharding) -> Iterator[str]:
        number = next(i for i, axis in enumerate(self.system.axes) if axis.name == step.axis)
        text = f"        MoveStep({quoted(self._tensor(step.tensor))}, {quoted(step.move)}, {number}, "
        text += f"{_sharding(step.before)}, {_sharding(step.after)}"
        if step.phase is None:
            yield f"{text}),"
            return
        one = step.phase
        yield f"{text},"
        links = {link: moved for link, moved in one.bytes_by_link.items() if moved}
        yield f"            LinkFigures({quoted(one.schedule)}, {one.time!r}, {one.hops}, {one.moved}, {links!r})),"


def _work_lines(name: str, members: Sequence[Member], parts: Sequence[Sequence[str]]) -> Iterator[str]:
    dims = ", ".join(f"{quoted(dim)}: {size}" for dim, size in members[-1].sizes.items())
    yield f"            {quoted(name)}: NamedWork({{{dims}}}, ["
    for lines in parts:
        yield from (f"                {line}" for line in (*lines[:-1], f"{lines[-1]},"))
    yield "            ]),"


def _lies(axis: ReaderAxis, size: int) -> str:
    more = f", before={axis.before}" if axis.before else ""
    more += f", low={axis.part[0]}" if axis.part else ""
    return f"AxisRead({size}, {dict(axis.rank)!r}{more})"


def _point(operation: Operation) -> str:
    """What is done at a point; of a product nothing but its factor."""
    names = [tensor.name for tensor in operation.problem.operands]
    if operation.contracts:
        factor = constant(operation)
        return f", factor={factor!r}" if factor != 1 else ""
    return f", point=lambda {', '.join(names)}: {point_text(operation.expression, {name: name for name in names})}"


def _sharding(sharding: Sharding) -> str:
    return f"({', '.join(map(_placement, sharding))},)"


def _placement(placement: Placement) -> str:
    if not isinstance(placement, Deal):
        return placement.upper()
    around = f", {placement.low}, {placement.high}" if placement.low or placement.high else ""
    return f"Deal({placement.period}, {placement.block}{around})"


def _plain(text: str) -> str:
    return printable(text).replace("\\", "/").replace('"', "'")
