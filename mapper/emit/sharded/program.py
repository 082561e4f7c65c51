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
from ....ir.sharding import PARTIAL, REPLICATED, Deal, Placement, Sharding
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
with those of the network done at once ({exactness}), and bytes by link with those of the plan. It exits with 0 if all
agree.
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
            if occurrence.kind == OUTSIDE and occurrence.reads and self.space.row(occurrence.name) == occurrence.name:
                what = occurrence.role or "tensor"
                message = f"how this {what} comes from what it reads is not stated, so no program makes it"
                hint = "prefill has no caches of earlier runs, and blocks without experts no views of them"
                raise MappingError(message, where=f"{network}: {occurrence.name}", hint=hint)
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
        exactness = "equal: all words are whole numbers" if self.largest else "but for rounding"
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
        for name, members in self.members.items():
            inside = {member.key for member in members}
            yield from _work_lines(name, members, [self._part(member, inside) for member in members])
        yield "        },"
        outputs = ", ".join(f"{quoted(name)}: {_sharding(one)}" for name, one in self._outputs().items())
        yield f"        outputs={{{outputs}}},"
        yield f"        largest={self.largest},"
        yield "    )"

    def _words(self) -> dict[str, int]:
        """Of every tensor."""
        found = {
            name: prod(members[-1].sizes[dim] for dim in members[-1].writes) for name, members in self.members.items()
        }
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
        for name in self.members:
            if name not in read:
                whole = [one for one in self.answer.shardings[name] if "partial" not in one]
                found[name] = whole[-1]
        return found

    def _part(self, member: Member, inside: Collection[str]) -> str:
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
            operands.append(f"OperandRead({quoted(tensor.name)}, {quoted(source)}, ({lies}{',' if lies else ''}))")
        reduced = operation.reduction if operation.reduced_dims and operation.reduction else ""
        return (
            f"WorkPart({quoted(member.key)}, ({', '.join(operands)},), {member.writes!r}, {quoted(reduced)}"
            f"{_point(operation)})"
        )

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
            if isinstance(step, DeviceWork):
                yield from self._done_lines(step, reads)
            else:
                known.add((self._tensor(step.tensor), step.after))
                yield from self._resharded_lines(step)
        yield "    ]"

    def _reads(self, step: DeviceWork) -> dict[str, Sharding]:
        """In which shardings an operation needs what it reads."""
        return {
            tensor: self.space.needed(step.name, step.split, number)
            for number, tensor in enumerate(self.space.reads(step.name))
        }

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


def _work_lines(name: str, members: Sequence[Member], parts: Sequence[str]) -> Iterator[str]:
    dims = ", ".join(f"{quoted(dim)}: {size}" for dim, size in members[-1].sizes.items())
    yield f"            {quoted(name)}: NamedWork("
    yield f"                {{{dims}}},"
    yield "                ("
    yield from (f"                    {part}," for part in parts)
    yield "                ),"
    yield "            ),"


def _lies(axis: ReaderAxis, size: int) -> str:
    more = f", before={axis.before}" if axis.before else ""
    more += f", low={axis.part[0]}" if axis.part else ""
    return f"AxisRead({size}, {axis.rank!r}{more})"


def _point(operation: Operation) -> str:
    """What is done at a point; of a product nothing but its factor."""
    names = [tensor.name for tensor in operation.problem.operands]
    if operation.contracts:
        factor = constant(operation)
        return f", factor={factor!r}" if factor != 1 else ""
    return f", lambda {', '.join(names)}: {point_text(operation.expression, {name: name for name in names})}"


def _sharding(sharding: Sharding) -> str:
    return f"({', '.join(map(_placement, sharding))},)"


def _placement(placement: Placement) -> str:
    if not isinstance(placement, Deal):
        return placement.upper()
    around = f", {placement.low}, {placement.high}" if placement.low or placement.high else ""
    return f"Deal({placement.period}, {placement.block}{around})"


def _plain(text: str) -> str:
    return printable(text).replace("\\", "/").replace('"', "'")
