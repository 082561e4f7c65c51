"""A mapping as a self-contained numpy program: it executes the schedule, counts what moves, and checks itself.

The program is text: a header, the tables of the layer, `run` (the schedule), `direct` (the same operation without
one), the runtime that every program has in common (`runtime.py`, pasted), and `main`.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Iterator
from functools import cache

from ....arch import Architecture
from ....cost_models import count_words
from ....cost_models.sparse import Structured, densities_of
from ....cost_models.sparse.formats import nonzero_share
from ....ir import Mapping
from ..parts.names import FreshNames, comment, quoted
from ..parts.packing import packed_kind
from . import runtime, runtime_check, runtime_meters, runtime_packed, runtime_passes
from .direct import direct_lines, operand_shapes
from .loops import LoopText
from .meters import meter_lines
from .passes import MANY_STEPS, checked_depths, pass_depths, pass_lines, steps_one_by_one
from .plan import NestPlan
from .runtime_packed import PackedZeros
from .schedule import ProgramText

TITLE = '''"""One layer on one accelerator, executed by the schedule below, with the words that it moves counted.

Written by tilewright. It needs nothing but numpy. Run it:

    python reference.py [seed] [--floats] [--every-step]

It computes the layer twice, by the schedule and directly, compares both, and compares the words moved with those that
the cost model expects. Outputs of whole numbers must be equal; with --floats, operands are of single precision, and
outputs may differ by what rounding explains. It exits with 0 if all agree. `run(operands)` may be imported and called
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
    """Run on random operands: what is wrong with the output (nothing if all is well), the words moved, and the steps of
    the schedule: all, and those that were run one by one."""
    operands = random_floats(OPERANDS, seed) if floats else random_operands(OPERANDS, seed)
    counted = meters()
    output, moved = run(operands, every_step, counted)
    bound: np.ndarray | int = 0
    if floats:
        bound = rounding_bound(direct({name: np.abs(array) for name, array in operands.items()}), ROUNDINGS)
    return difference(output, direct(operands), bound), moved, counted[-1].number()


def main() -> int:
    """Print the check's result; 0 if output and words are as they should be."""
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
    print(f"OK: output and words moved agree{steps_note(*steps)} ({time.perf_counter() - begun:.1f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
'''

RUN_HEAD = '''def run(
    operands: dict[str, np.ndarray], every_step: bool = False, counted: tuple[Any, ...] | None = None
) -> tuple[np.ndarray, WordTable]:
    """Execute the schedule: the output, and the words (read, written) by (memory, tensor).

    every_step  run each step on its own; in a program without passes they are anyway
    counted     what counts, `meters()`

    Loop variables are the first index of a tile, as the first instance sees it. Loops over instances (`parallel`) are
    axes of the buffers, so that one statement moves or computes for all instances.
    """'''

PASSES_NOTE = [
    "# The schedule has very many steps. A pass over its inner loops that begins like one before it (the same tiles",
    "# held at the same places, as seen from there) is not run step by step again: it is one contraction on the",
    "# buffers outside, and is counted as that one was. With --every-step, each step is run.",
    "",
]

RUNTIME = (runtime, runtime_meters, runtime_passes, runtime_check, runtime_packed)

MODULE_NAMES = (
    "check",
    "main",
    "meters",
    "counted",
    "time",
    "sys",
    "math",
    "annotations",
    "any",
    "expected",
    "roundings",
    "returns",
)


def emit_numpy(
    mapping: Mapping, arch: Architecture, fast: bool | None = None, depths: Collection[int] | None = None
) -> str:
    """The text of a program that executes `mapping`, counts the words it moves, and checks both.

    fast    with passes (`passes.py`), of which equal ones are run step by step once; None: if it has many steps
    depths  numbers of Python loops outside the passes, instead of those with which the fewest steps are run

    Raises MappingError when a node or loop stands where the architecture has no place for it, or when the nest is
    deeper than Python and numpy can express.
    """
    taken = [*MODULE_NAMES, *(name for module in RUNTIME for name in vars(module))]
    schedule = ProgramText(mapping, arch, taken, _depths(mapping, arch, fast, depths))
    packing = _packing(mapping, arch)
    direct_names = FreshNames((*taken, "operands", "kind", "result", "np", "itertools"))
    parts = [
        [TITLE],
        PASSES_NOTE if schedule.passes else [],
        _header_lines(mapping, arch),
        ["", IMPORTS],
        _table_lines(schedule),
        _packing_lines(packing),
        ["", ""],
        [RUN_HEAD],
        _unpacking_lines(packing),
        _run_lines(schedule),
        ["", ""],
        meter_lines(schedule),
        ["", ""],
        direct_lines(mapping.problem, direct_names),
        ["", ""],
        [runtime_text(bool(schedule.passes), bool(packing)), MAIN if not packing else _packing_main()],
    ]
    return "\n".join(line for part in parts for line in part)


def program_steps(mapping: Mapping, arch: Architecture, fast: bool | None = False) -> int:
    """How often the program's innermost statement runs, at most; with passes, about how many steps and passes it has.
    A step takes tens of microseconds and more.

    Raises MappingError when a node or loop stands where the architecture has no place for it.
    """
    depths = _depths(mapping, arch, fast, None)
    plan = NestPlan.of(mapping, arch)
    return steps_one_by_one(plan, depths) if depths else plan.steps_at_most


def _depths(mapping: Mapping, arch: Architecture, fast: bool | None, depths: Collection[int] | None) -> tuple[int, ...]:
    plan = NestPlan.of(mapping, arch)
    if depths is not None:
        return checked_depths(plan, depths)
    if fast is None:
        fast = plan.steps_at_most > MANY_STEPS
    return pass_depths(plan) if fast else ()


def _packing(mapping: Mapping, arch: Architecture) -> dict[str, PackedZeros]:
    """The operands that the outermost memory has packed, 2:4 or with bitmasks, and how many of their words are not
    zero."""
    found = {}
    shapes = operand_shapes(mapping.problem)
    for tensor in mapping.problem.operands:
        kind = packed_kind(mapping.problem, arch, tensor)
        if isinstance(kind, Structured):
            found[tensor.name] = PackedZeros(0.0, kind.kept, kind.block, kind.rank)
        elif kind:
            share = nonzero_share(densities_of(mapping.problem)[tensor.name], shapes[tensor.name])
            found[tensor.name] = PackedZeros(share, 0, 0, 0)
    return found


def _packing_lines(packing: dict[str, PackedZeros]) -> Iterator[str]:
    if packing:
        yield from comment("Operands that are packed: their nonzero words, a share of all, or so many of a block.")
        yield "PACKED: dict[str, tuple[float, int, int, int]] = {"
        for name, zeros in packing.items():
            yield f"    {quoted(name)}: {tuple(zeros)},"
        yield "}"


def _unpacking_lines(packing: dict[str, PackedZeros]) -> Iterator[str]:
    if packing:
        yield "    # What comes out of the outermost memory is no longer packed."
        yield "    operands = {name: unpacked(operand) for name, operand in operands.items()}"


def _packing_main() -> str:
    """The check with operands that have zeros, and are packed."""
    given = "    counted = meters()\n    output, moved = run(operands, every_step, counted)\n"
    zeros = (
        "    for number, (name, how) in enumerate(PACKED.items()):\n"
        "        operands[name] = with_zeros(operands[name], PackedZeros(*how), seed + number)\n"
        "    given = dict(operands)\n"
        "    for name, how in PACKED.items():\n"
        "        given[name] = packed(operands[name], PackedZeros(*how))\n"
    )
    assert given in MAIN
    return MAIN.replace(given, zeros + given.replace("run(operands,", "run(given,"))


@cache
def runtime_text(passes: bool, packs: bool = False) -> str:
    """What all programs share: the source of the `runtime` modules below their imports."""
    left_out = [*([] if passes else [runtime_passes]), *([] if packs else [runtime_packed])]
    modules = [module for module in RUNTIME if module not in left_out]
    sources = [inspect.getsource(module) for module in modules]
    return "\n\n".join(source[source.index("# ---- ") :] for source in sources)


def _header_lines(mapping: Mapping, arch: Architecture) -> Iterator[str]:
    yield from comment(f"Layer         {mapping.problem}")
    yield from comment(f"Architecture  {arch.name}")
    if arch.description:
        yield from comment(f"              {arch.description}")
    yield from comment("Mapping")
    for line in str(mapping.nest).split("\n"):
        yield from comment(f"    {line}")


def _table_lines(schedule: ProgramText) -> Iterator[str]:
    """Constants of the module: shapes, roundings, and the words that the cost model expects."""
    mapping, arch = schedule.plan.mapping, schedule.arch
    yield from comment("Shape of every operand: one axis per rank.")
    shapes = operand_shapes(mapping.problem)
    spelled = ", ".join(f"{quoted(name)}: {shape}" for name, shape in shapes.items())
    yield f"OPERANDS: dict[str, tuple[int, ...]] = {{{spelled}}}"
    yield from comment("Roundings that a product may go through on its way into an output.")
    yield f"ROUNDINGS = {schedule.plan.reductions() + len(mapping.problem.operands)}"
    yield from comment("Words read and written, by memory and tensor, as the cost model has them.")
    yield "EXPECTED: dict[tuple[str, str], tuple[int, int]] = {"
    for (memory, tensor), words in count_words(mapping, arch).total.items():
        yield f"    ({quoted(memory)}, {quoted(tensor)}): ({words.reads}, {words.writes}),"
    yield "}"


def _run_lines(schedule: ProgramText) -> Iterator[str]:
    output = schedule.problem.output
    buffer = next(b for b in schedule.plan.buffers.values() if b.tensor is output and b.boundary is None)
    yield f"    kind, output_kind = number_types(operands, {schedule.plan.reductions()})"
    yield from _indented(schedule.buffer_lines())
    yield ""
    yield "    # Views: the tiles of a buffer, by first index per tensor axis."
    yield from _indented(schedule.view_lines())
    yield ""
    names = (*schedule.meter.values(), "macs")
    yield "    counted = meters() if counted is None else counted"
    yield f"    {', '.join(names)}{',' * (len(names) == 1)} = counted"
    yield from _indented(schedule.drain_lines())
    yield ""
    yield from _indented(pass_lines(schedule))
    yield from _indented(LoopText(schedule).lines())
    yield ""
    yield from _indented(_final_drains(schedule))
    sizes = [f":{schedule.problem.sizes[rank[0][0]]}" for rank in output.ranks]
    name = schedule.buffer[buffer.position]
    yield f"    result = {name}[{', '.join(sizes) or '()'}].astype(output_kind)"
    yield "    return np.asarray(result), words_moved(counted)"


def _final_drains(schedule: ProgramText) -> Iterator[str]:
    """Partial sums that are still inside leave, innermost first."""
    for position, buffer in reversed(schedule.plan.buffers.items()):
        if buffer.tensor.is_output and buffer.boundary:
            yield f"{schedule.drain[position]}()"


def _indented(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield f"    {line}" if line else ""
