"""A fused mapping as a self-contained numpy program: it executes the tree, counts what moves, and checks itself."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Iterator
from types import ModuleType

from ....arch import Architecture
from ....cost_models.cascades import count_way
from ....ir import FusedMapping
from ..parts.exactness import is_exact
from ..parts.names import comment, quoted
from . import runtime, runtime_check, runtime_meters, runtime_tree
from .direct_cascade import cascade_lines
from .finishes import Finishes, finish_functions, finish_name
from .meters import meter_lines
from .program import IMPORTS, MODULE_NAMES
from .schedule import LOCALS
from .schedules import Schedules
from .tree_loops import TreeLoops
from .uneven import UnevenText

TITLE = '''"""A cascade of operations on one accelerator, executed by the tree below, which counts the words that move.

Written by tilewright. It needs nothing but numpy. Run it:

    python reference.py [seed]

It computes the cascade twice, by the tree and one operation after the other, compares all outputs, and compares the
words moved with those that the cost model expects. Outputs of whole numbers must be equal; where an operation takes
exponentials, quotients or roots, outputs may differ by a part in 10^9. It exits with 0 if all agree.
"""
'''

RUN_HEAD = '''def run(operands: Arrays, parameters: Arrays | None = None) -> tuple[Arrays, Words]:
    """Execute the tree: the outputs, and the words (read, written) by (memory, tensor).

    `parameters` are those of what is done with complete words.

    Loop variables are the first index of a tile, as the first instance sees it. Loops over instances (`parallel`) are
    axes of the buffers, so that one statement moves or computes for all instances.
    """'''

MAIN = '''
# ---- main ------------------------------------------------------------------------------------------------------------


def check(seed: int = 0) -> tuple[str, Words]:
    """Run on random operands: what is wrong with the outputs (nothing if all is well), and the words moved."""
    operands = random_inputs(OPERANDS, seed, EXACT)
    with np.errstate(all="ignore"):  # beyond ragged edges anything may come out, and counts nothing
        outputs, moved = run(operands)
    tensors = direct(operands)
    wrong = []
    for name, output in outputs.items():
        bound = 0 if EXACT and np.abs(tensors[name]).max() < 2.0**53 else 1e-9 * np.abs(tensors[name])
        found = difference(output, tensors[name], bound)
        wrong += [f"{name}: {found}"] if found else []
    return "; ".join(wrong), moved


def main() -> int:
    """Print the check's result; 0 if outputs and words are as they should be."""
    wrong, moved = check(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print("\\n".join(words_table(moved, EXPECTED)))
    if wrong:
        print(f"FAILED: {wrong}")
    if moved != EXPECTED:
        print("FAILED: the words moved are not those expected")
    if not wrong and moved == EXPECTED:
        print("OK: outputs and words moved agree")
    return int(bool(wrong) or moved != EXPECTED)


if __name__ == "__main__":
    sys.exit(main())
'''

RUNTIME = (runtime_tree, runtime, runtime_meters, runtime_check)


def emit_tree(fused: FusedMapping, arch: Architecture) -> str:
    """The text of a program that executes a fused mapping, counts the words it moves, and checks both.

    Raises MappingError when a node or loop stands where the architecture has no place for it, when its words cannot be
    counted yet, or when the tree is deeper than Python can express.
    """
    taken = [*MODULE_NAMES, *LOCALS, "points", "parameters", *(name for module in RUNTIME for name in vars(module))]
    parts: list[Iterable[str]] = [
        [TITLE],
        _header_lines(fused, arch),
        ["", IMPORTS],
        tree_lines(fused, arch, taken, {}),
        [runtime_text(RUNTIME), MAIN],
    ]
    return "\n".join(line for part in parts for line in part)


def tree_lines(
    fused: FusedMapping, arch: Architecture, taken: list[str], finishes: Finishes, stays: Collection[str] = ()
) -> Iterator[str]:
    """OPERANDS, EXACT and EXPECTED, `run` and `direct`, and all that these call but the runtime.

    taken     names that are not free
    finishes  what is done with words of tensors that operations write
    stays     tensors that are on chip before the run, or are left there, in their second node

    Raises MappingError as `emit_tree` does.
    """
    schedules = Schedules(fused, arch, [*taken, *(finish_name(finishes, tensor) for tensor in finishes)], stays)
    parts: list[Iterable[str]] = [
        _table_lines(schedules),
        ["", ""],
        finish_functions(finishes),
        [RUN_HEAD],
        _indented(_run_lines(schedules, finishes)),
        ["", ""],
        *([*meter_lines(schedule, _meters(schedules, name)), "", ""] for name, schedule in schedules.of.items()),
        *(_uneven_lines(schedules, name, taken) for name in schedules.uneven),
        cascade_lines(fused.cascade, taken, finishes),
        ["", ""],
    ]
    return (line for part in parts for line in part)


def runtime_text(modules: Iterable[ModuleType]) -> str:
    """What the programs of some modules have in common, but for their imports."""
    sources = [inspect.getsource(module) for module in modules]
    return "\n\n".join(source[source.index("# ---- ") :] for source in sources)


def _header_lines(fused: FusedMapping, arch: Architecture) -> Iterator[str]:
    yield from comment(f"Cascade       {fused.cascade.name}")
    yield from comment(str(fused.cascade), mark="#             ")
    yield from comment(f"Architecture  {arch.name}")
    yield from comment("Tree")
    yield from comment(str(fused), mark="#    ")


def _table_lines(schedules: Schedules) -> Iterator[str]:
    """Constants of the module: shapes, and the words that the cost model expects."""
    cascade = schedules.fused.cascade
    inputs = [tensor for tensor in cascade.tensors if tensor not in cascade.producers]
    spelled = ", ".join(f"{quoted(name)}: {cascade.extents(name)}" for name in inputs)
    yield f"OPERANDS: dict[str, tuple[int, ...]] = {{{spelled}}}"
    yield from comment("Whether all results of whole numbers are whole numbers.")
    yield f"EXACT = {all(is_exact(operation) for operation in cascade)}"
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


def _meters(schedules: Schedules, operation: str) -> str:
    return f"meters{list(schedules.of).index(operation)}"


def _run_lines(schedules: Schedules, finishes: Finishes) -> Iterator[str]:
    yield "kind = np.float64"
    yield from schedules.array_lines()
    yield ""
    yield from comment("Each operation's part of the buffers that several have in common.")
    yield from schedules.part_lines()
    yield ""
    for name, schedule in schedules.of.items():
        yield from comment(f"{name}: the tiles of a buffer, by first index per tensor axis")
        yield from schedule.mask_lines()
        yield from schedule.view_lines()
        meters = (*schedule.meter.values(), schedule.macs)
        yield f"{', '.join(meters)}{',' * (len(meters) == 1)} = counted{name_number(schedules, name)} = " + (
            f"{_meters(schedules, name)}()"
        )
        yield from schedule.drain_lines()
        yield ""
    for name, text in schedules.uneven.items():
        yield from comment(f"{name}: visits that are not all alike, each a function of its own")
        yield f"{text.names.counted}: list[Any] = []"
        for number, schedule in enumerate(schedules.above[name]):
            yield from schedule.outside_lines()
            meters = tuple(schedule.meter.values())
            yield f"{', '.join(meters)}, _ = counted_here = {_meters_above(text, number)}()"
            yield f"{text.names.counted}.extend(counted_here[:-1])"
        yield ""
    yield from _start_lines(schedules)
    yield from TreeLoops(schedules, finishes).lines()
    yield ""
    yield from _result_lines(schedules, finishes)


def _meters_above(text: UnevenText, number: int) -> str:
    return f"meters_{text.names.counted}{number}"


def _uneven_lines(schedules: Schedules, name: str, taken: list[str]) -> Iterator[str]:
    """The functions of one operation whose visits are not all alike."""
    text = schedules.uneven[name]
    yield from text.function_lines(taken)
    yield from ("", "")
    for number, schedule in enumerate(schedules.above[name]):
        yield from meter_lines(schedule, _meters_above(text, number))
        yield from ("", "")


def name_number(schedules: Schedules, operation: str) -> int:
    """The number of an operation, as names have it."""
    return list(schedules.of).index(operation)


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
            results.append(f"{quoted(output.name)}: {words}")
        yield from comment(f"{name} has its output in {home.memory}")
    for text in schedules.uneven.values():
        array = schedules.arrays[text.exchange]
        if text.exchange in schedules.given:
            extents = zip(array.origin, cascade.extents(text.output.name), strict=True)
            ends = ", ".join(f"{o}:{o + extent}" for o, extent in extents)
            results.append(f"{quoted(text.output.name)}: {array.name}[{ends or '...'}]")
    counted = ", ".join(
        [
            *(f"*counted{n}" for n in range(len(schedules.of))),
            *(f"*{t.names.counted}" for t in schedules.uneven.values()),
        ]
    )
    yield f"return {{{', '.join(results)}}}, words_moved(({counted},))"


def _indented(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield f"    {line}" if line else ""
