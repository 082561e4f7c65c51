"""A mapping as a self-contained numpy program: it executes the schedule, counts what moves, and checks itself.

The program is text: a header, tables, `run` (the schedule), `direct` (the same operations without one), the runtimes
that such programs have in common (pasted), and `main`.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from types import ModuleType

from ....arch import Architecture
from ....cost_models.cascades import count_way
from ....cost_models.padding import counted_mapping
from ....cost_models.sparse import Structured, densities_of
from ....cost_models.sparse.formats import nonzero_share
from ....ir import Mapping, Problem
from ..parts.exactness import largest_exact
from ..parts.names import comment, quoted
from ..parts.packing import packed_kind
from ..parts.steps import operand_shapes
from ..parts.trees import heading
from . import runtime, runtime_check, runtime_finishes, runtime_meters, runtime_packed, runtime_passes, runtime_points
from .direct import cascade_lines
from .finishes import Finishes, finish_functions, finish_name
from .loops import TreeLoops
from .meters import meter_lines
from .passes import pass_lines, steps_one_by_one
from .runtime_packed import PackedZeros
from .schedule import LOCALS
from .schedules import Schedules

TITLE = '''"""Operations on one accelerator, executed by the schedule below, with the words that it moves counted.

Written by tilewright. It needs nothing but numpy. Run it:

    python reference.py [seed] [--floats] [--every-step]

It computes every operation twice, by the schedule and directly, compares all outputs, and compares the words moved with
those that the cost model expects. Outputs of whole numbers must be equal; where an operation takes exponentials,
quotients or roots, outputs may differ by a part in 10^9. With --floats, operands are of single precision, and sums of
products may differ by what rounding explains. It exits with 0 if all agree. `run(operands)` may be imported and called
on its own.
"""
'''

IMPORTS = """from __future__ import annotations

import itertools
import math
import sys
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
"""

MAIN = '''
# ---- main ------------------------------------------------------------------------------------------------------------


def check(seed: int = 0, floats: bool = False, every_step: bool = False) -> tuple[str, WordTable, tuple[int, int]]:
    """Run on random operands: what is wrong with the outputs (nothing if all is well), the words moved, and the steps
    of the schedule: all, and those that were run one by one."""
    operands = random_floats(OPERANDS, seed) if floats else random_operands(OPERANDS, seed, LARGEST)
    counted: list[Any] = []
    with np.errstate(all="ignore"):  # beyond ragged edges anything may come out, and counts nothing
        outputs, moved = run(operands, every_step=every_step, counted=counted)
        tensors = direct(operands)
        sizes = direct({name: np.abs(array) for name, array in operands.items()}) if floats else tensors
    wrong = []
    for name, output in outputs.items():
        bound = 0 if LARGEST else 1e-9 * np.abs(tensors[name])
        found = difference(output, tensors[name], rounding_bound(sizes[name], ROUNDINGS) if floats else bound)
        wrong += [f"{name}: {found}"] if found else []
    steps = [meter.number() for meter in counted if isinstance(meter, Macs)]
    return "; ".join(wrong), moved, (sum(number for number, _ in steps), sum(ran for _, ran in steps))


def main() -> int:
    """Print the check's result; 0 if outputs and words are as they should be."""
    begun = time.perf_counter()
    seeds = [int(word) for word in sys.argv[1:] if not word.startswith("--")]
    wrong, moved, steps = check(seeds[0] if seeds else 0, "--floats" in sys.argv, "--every-step" in sys.argv)
    print("\\n".join(words_table(moved, EXPECTED)))
    if wrong:
        print(f"FAILED: {wrong}")
    if moved != EXPECTED:
        print("FAILED: the words moved are not those expected")
    if wrong or moved != EXPECTED:
        return 1
    print(f"OK: outputs and words moved agree{steps_note(*steps)} ({time.perf_counter() - begun:.1f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
'''

PACKED_MAIN = """    for number, (name, how) in enumerate(PACKED.items()):
        operands[name] = with_zeros(operands[name], PackedZeros(*how), seed + number)
    given = {name: packed(operands[name], PackedZeros(*how)) for name, how in PACKED.items()}
"""
"""What the check does before it runs a program whose operands are packed."""

RUN_HEAD = '''def run(
    operands: Arrays, parameters: Arrays | None = None, every_step: bool = False, counted: list[Any] | None = None
) -> tuple[Arrays, WordTable]:
    """Execute the schedule: the outputs, and the words (read, written) by (memory, tensor).

    parameters  of what is done with complete words
    every_step  run each step on its own; in a program without passes they are anyway
    counted     a list to which is added what counts

    Loop variables are the first index of a tile, as the first instance sees it. Loops over instances (`parallel`) are
    axes of the buffers, so that one statement moves or computes for all instances.
    """'''

PASSES_NOTE = [
    "# The schedule has very many steps. A pass over its inner loops that begins like one before it (the same tiles",
    "# held at the same places, as seen from there) is not run step by step again: it is one contraction on the",
    "# buffers outside, and is counted as that one was. With --every-step, each step is run.",
    "",
]

PADDING_NOTE = [
    "# Zeros of padding are words here, which buffers hold and which are counted: the counts are those of the same",
    "# machine with 'padding: read'.",
    "",
]

RUNTIME = (
    runtime,
    runtime_meters,
    runtime_passes,
    runtime_points,
    runtime_finishes,
    runtime_check,
    runtime_packed,
)

MODULE_NAMES = (
    "check",
    "main",
    "meters",
    "time",
    "sys",
    "math",
    "annotations",
    "any",
    "expected",
    "roundings",
    "largest",
)


def names_taken() -> list[str]:
    """Names that are not free in a program."""
    return [*MODULE_NAMES, *LOCALS, *(name for module in RUNTIME for name in vars(module))]


def emit_numpy(
    mapping: Mapping, arch: Architecture, fast: bool | None = None, depths: Collection[int] | None = None
) -> str:
    """The text of a program that executes a mapping, counts the words it moves, and checks both.

    fast    with passes (`passes.py`), of which equal ones are run step by step once; None: of operations of many steps
    depths  numbers of Python loops outside the passes, instead of those with which the fewest steps are run

    Raises MappingError when a node or loop stands where the architecture has no place for it, when its words cannot be
    counted yet, or when it is deeper than Python and numpy can express.
    """
    zeros_count = not mapping.is_of_cascade and counted_mapping(mapping, arch) is not mapping
    if zeros_count:
        arch = arch.model_copy(update={"padding": "read"})
    taken = names_taken()
    schedules = Schedules(mapping, arch, taken, fast=fast, depths=depths)
    packing = _packing(mapping.problem, arch) if mapping.work.has_zeros else {}
    passes = any(schedules.depths.values())
    left_out = [runtime_finishes]
    left_out += [] if passes else [runtime_passes]
    left_out += [] if packing else [runtime_packed]
    left_out += [] if schedules.layer is None else [runtime_points]
    parts = [
        [TITLE],
        PASSES_NOTE if passes else [],
        PADDING_NOTE if zeros_count else [],
        comment(heading(mapping, arch)),
        ["", IMPORTS],
        _packing_lines(packing),
        _program_lines(schedules, taken, {}, packing),
        [runtime_text(module for module in RUNTIME if module not in left_out), _main(packing)],
    ]
    return "\n".join(line for part in parts for line in part)


def program_lines(
    fused: Mapping, arch: Architecture, taken: list[str], finishes: Finishes, stays: Collection[str] = ()
) -> Iterator[str]:
    """OPERANDS, LARGEST, ROUNDINGS and EXPECTED, `run` and `direct`, and all that these call but the runtime.

    taken     names that are not free
    finishes  what is done with words of tensors that operations write
    stays     tensors that are on chip before the run, or are left there, in their second node

    Raises MappingError as `emit_numpy` does.
    """
    schedules = Schedules(fused, arch, [*taken, *(finish_name(finishes, tensor) for tensor in finishes)], stays)
    return _program_lines(schedules, taken, finishes, {})


def program_steps(mapping: Mapping, arch: Architecture, fast: bool | None = False) -> int:
    """How often the program's innermost statements run, at most; with passes, about how many steps and passes it has.
    A step takes tens of microseconds and more. Of operations whose visits are not all alike nothing is known.

    Raises MappingError as `emit_numpy` does.
    """
    schedules = Schedules(mapping, arch, fast=fast)
    every = ((plan, schedules.depths[name]) for name, plan in schedules.plans.items())
    return sum(steps_one_by_one(plan, depths) if depths else plan.steps_at_most for plan, depths in every)


@cache
def _source(module: ModuleType) -> str:
    """What a runtime has below its imports."""
    source = inspect.getsource(module)
    return source[source.index("# ---- ") :]


def runtime_text(modules: Iterable[ModuleType]) -> str:
    """What the programs of some modules have in common, but for their imports."""
    return "\n\n".join(map(_source, modules))


# ---- packed operands -------------------------------------------------------------------------------------------------


def _packing(problem: Problem, arch: Architecture) -> dict[str, PackedZeros]:
    """The operands that the outermost memory has packed, 2:4 or with bitmasks, and how many of their words are not
    zero."""
    found = {}
    shapes = operand_shapes(problem)
    for tensor in problem.operands:
        kind = packed_kind(problem, arch, tensor)
        if isinstance(kind, Structured):
            found[tensor.name] = PackedZeros(0.0, kind.kept, kind.block, kind.rank)
        elif kind:
            share = nonzero_share(densities_of(problem)[tensor.name], shapes[tensor.name])
            found[tensor.name] = PackedZeros(share, 0, 0, 0)
    return found


def _packing_lines(packing: dict[str, PackedZeros]) -> Iterator[str]:
    if packing:
        yield from comment("Operands that are packed: their nonzero words, a share of all, or so many of a block.")
        yield "PACKED: dict[str, tuple[float, int, int, int]] = {"
        for name, zeros in packing.items():
            yield f"    {quoted(name)}: {tuple(zeros)},"
        yield "}"


def _main(packing: dict[str, PackedZeros]) -> str:
    """The check; operands that are packed get their zeros before."""
    if not packing:
        return MAIN
    before = "    counted: list[Any] = []\n"
    return MAIN.replace(before, PACKED_MAIN + before).replace("run(operands,", "run({**operands, **given},")


# ---- tables and functions --------------------------------------------------------------------------------------------


def _program_lines(
    schedules: Schedules, taken: list[str], finishes: Finishes, packing: Collection[str]
) -> Iterator[str]:
    parts: list[Iterable[str]] = [
        _table_lines(schedules),
        ["", ""],
        finish_functions(finishes),
        [RUN_HEAD],
        _indented(_run_lines(schedules, finishes, packing)),
        ["", ""],
        *([*meter_lines(schedule, _meters(schedules, name)), "", ""] for name, schedule in schedules.of.items()),
        *(_uneven_lines(schedules, name, taken) for name in schedules.uneven),
        cascade_lines(schedules.fused.cascade, taken, finishes),
        ["", ""],
    ]
    return (line for part in parts for line in part)


def _table_lines(schedules: Schedules) -> Iterator[str]:
    """Constants of the module: shapes, what is exact, and the words that the cost model expects."""
    cascade = schedules.fused.cascade
    inputs = [tensor for tensor in cascade.tensors if tensor not in cascade.producers]
    spelled = ", ".join(f"{quoted(name)}: {cascade.extents(name)}" for name in inputs)
    yield from comment("Shape of every operand: one axis per rank.")
    yield f"OPERANDS: dict[str, tuple[int, ...]] = {{{spelled}}}"
    yield from comment("The largest magnitude of whole numbers of which all results are exact; 0: there is none.")
    yield f"LARGEST = {largest_exact([(operation, {t: t for t in cascade.tensors}) for operation in cascade])}"
    yield from comment("Roundings that a product may go through on its way into an output, of one sum; else 0.")
    rounded = 0 if schedules.layer is None else _reductions(schedules) + len(inputs)
    yield f"ROUNDINGS = {rounded}"
    yield from comment("Words read and written, by memory and tensor, as the cost model has them.")
    expected: dict[tuple[str, str], tuple[int, int]] = {}
    for way in schedules.ways.values():
        for key, words in count_way(way, schedules.arch).total.items():
            reads, writes = expected.get(key, (0, 0))
            expected[key] = reads + words.reads, writes + words.writes
    yield "EXPECTED: dict[tuple[str, str], tuple[int, int]] = {"
    for (memory, tensor), both in expected.items():
        yield f"    ({quoted(memory)}, {quoted(tensor)}): {both},"
    yield "}"


def _reductions(schedules: Schedules) -> int:
    """Products that a layer sums up in one output element."""
    (plan,) = schedules.plans.values()
    return plan.reductions()


def _meters(schedules: Schedules, operation: str) -> str:
    return f"meters{list(schedules.of).index(operation)}"


def _run_lines(schedules: Schedules, finishes: Finishes, packing: Collection[str]) -> Iterator[str]:
    if packing:
        yield "# What comes out of the outermost memory is no longer packed."
        yield "operands = {name: unpacked(operand) for name, operand in operands.items()}"
    if schedules.layer is None:
        yield "kind = np.dtype(np.float64)"
    else:
        yield f"kind, output_kind = number_types(operands, {_reductions(schedules)})"
    yield "counted = [] if counted is None else counted"
    yield from schedules.array_lines()
    yield ""
    yield from schedules.part_lines()
    for name, schedule in schedules.of.items():
        yield from comment(f"{name}: the tiles of a buffer, by first index per tensor axis")
        yield from schedule.view_lines()
        meters = (*schedule.meter.values(), schedule.macs)
        yield f"{', '.join(meters)}{',' * (len(meters) == 1)} = counted_here = {_meters(schedules, name)}()"
        yield "counted.extend(counted_here)"
        yield from schedule.drain_lines()
        yield from pass_lines(schedule)
        yield ""
    for name, text in schedules.uneven.items():
        yield from comment(f"{name}: visits that are not all alike, each a function of its own")
        for number, schedule in enumerate(schedules.above[name]):
            yield from schedule.outside_lines()
            meters = tuple(schedule.meter.values())
            yield f"{', '.join(meters)}, _ = counted_here = {text.names.above}{number}()"
            yield "counted.extend(counted_here[:-1])"
        yield ""
    yield from _start_lines(schedules)
    yield from TreeLoops(schedules, finishes).lines()
    yield ""
    yield from _result_lines(schedules, finishes)


def _uneven_lines(schedules: Schedules, name: str, taken: list[str]) -> Iterator[str]:
    """The functions of one operation whose visits are not all alike."""
    text = schedules.uneven[name]
    yield from text.function_lines(taken)
    yield from ("", "")
    for number, schedule in enumerate(schedules.above[name]):
        yield from meter_lines(schedule, f"{text.names.above}{number}")
        yield from ("", "")


def _start_lines(schedules: Schedules) -> Iterator[str]:
    """Whole outputs that are maxima begin below all numbers."""
    for schedule in schedules.of.values():
        for position, buffer in schedule.plan.buffers.items():
            if buffer.tensor.is_output and buffer.whole and schedule.identity != "0":
                yield f"{schedule.buffer[position]}[...] = {schedule.identity}"


def _result_lines(schedules: Schedules, finishes: Finishes) -> Iterator[str]:
    cascade = schedules.fused.cascade
    results = []
    for name, schedule in schedules.of.items():
        output = schedule.problem.output
        home = next(b for b in schedule.plan.buffers.values() if b.tensor.is_output and b.boundary is None)
        if home.whole:
            sizes = ", ".join(f":{extent}" for extent in cascade.extents(output.name))
            words = f"{schedule.buffer[home.position]}[{sizes or '...'}]"
            if output.name in finishes and not cascade.consumers[output.name]:
                words = f"finished({words}, {finish_name(finishes, output.name)}, parameters)"
            if schedules.layer is not None:
                words = f"{words}.astype(output_kind)"
            results.append(f"{quoted(output.name)}: {words}")
        yield from comment(f"{name} has its output in {home.memory}")
    for text in schedules.uneven.values():
        array = schedules.arrays[text.exchange]
        if text.exchange in schedules.given:
            extents = zip(array.origin, cascade.extents(text.output.name), strict=True)
            ends = ", ".join(f"{o}:{o + extent}" for o, extent in extents)
            results.append(f"{quoted(text.output.name)}: {array.name}[{ends or '...'}]")
    yield f"return {{{', '.join(results)}}}, words_moved(counted)"


def _indented(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield f"    {line}" if line else ""
