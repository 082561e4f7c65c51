"""The part of a network's C99 file that checks it: the same operations in plain loops, and what `main` has to know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .....ir import Operation
from ...c.direct import direct_lines
from ...c.text import c_string
from ..groups.exact import exact_magnitude
from ..groups.files import REFERENCE_FILE, WEIGHTS_FILE, NetworkElement
from ..groups.program import ApartCall, GroupCall, NetworkProgram, Step, made_by
from ..words.stored import ELEMENT, WordType
from .between import Between
from .finish import finish_function

_TOLERANCES = {"double": 1e-9, "float": 1e-4}
"""How far outputs may be from those of plain loops, as a part of the largest: sums are added in another order."""


def network_direct_lines(program: NetworkProgram, between: Between) -> Iterator[str]:
    """A function for each different operation, and `direct`, which calls them."""
    functions: dict[str, str] = {}
    calls: list[str] = []
    made = _made(program)
    offsets = {weight.name: weight.offset for weight in program.weights}

    def place(key: str) -> str:
        if key in offsets:
            return f"weights + {offsets[key]}"
        return f"inputs[{program.inputs.index(key)}]" if key in program.inputs else f"made[{made.index(key)}]"

    for number, call in enumerate(program.steps):
        if isinstance(call, ApartCall):
            calls += [*between.calls(call, place, lambda one: f"weights + {one.offset}"), f"    DONE({number});"]
            continue
        for operation in call.cascade:
            lines = list(_direct_of(call, operation, "FUNCTION"))
            body = "\n".join(lines)
            if body not in functions:
                functions[body] = f"direct{len(functions)}"
                yield from _direct_of(call, operation, functions[body])
            tensors = (*operation.problem.operands, operation.output)
            calls.append(f"    {functions[body]}({', '.join(place(call.keys[t.name]) for t in tensors)});")
            done = call.finished.get(operation.output.name)
            if done is not None:
                extents = call.cascade.extents(operation.output.name)
                body = "\n".join(finish_function("FUNCTION", done.finish, extents))
                if body not in functions:
                    functions[body] = f"finish{len(functions)}"
                    yield from finish_function(functions[body], done.finish, extents)
                given = [place(call.keys[operation.output.name]), *(f"weights + {w.offset}" for w in done.parameters)]
                calls.append(f"    {functions[body]}({', '.join(given)});")
        calls.append(f"    DONE({number});")
    yield "static void direct(const element *const inputs[], const element *weights, element *const made[])"
    yield "{"
    yield "    (void)weights;"
    yield "    BEGIN(1);"
    yield from calls
    yield "}"
    yield ""


def _step_name(step: Step) -> str:
    if isinstance(step, ApartCall):
        return c_string(step.key)
    return c_string(" + ".join(operation.name for operation in step.cascade))


def _kind_number(stored: WordType) -> str:
    """The kind of a row of words, as `main` knows it."""
    return stored.type.removesuffix("_t").upper()


def _direct_of(call: GroupCall, operation: Operation, function: str) -> Iterator[str]:
    return direct_lines(function, operation, call.layout(operation))


def _made(program: NetworkProgram) -> list[str]:
    return [key for step in program.steps for key in made_by(step)]


def constant_lines(program: NetworkProgram, element: NetworkElement) -> Iterator[str]:
    """What the program's `main` knows of the network, as constants and tables."""
    largest, made = exact_magnitude(program, element), _made(program)

    def numbers(values: list[int]) -> str:
        return ", ".join(f"INT64_C({value})" for value in values)

    def kinds(keys: Iterable[str]) -> str:
        return ", ".join(_kind_number(program.kind(key)) for key in keys)

    def wholes(keys: Iterable[str]) -> str:
        return ", ".join(map(str, program.wholes(keys)))

    weights = sum(weight.words for weight in program.weights)
    rows: list[tuple[int, WordType]] = [(weight.words, weight.stored_as) for weight in program.weights]
    rows = (rows or [(0, ELEMENT)]) if program.is_narrow else [(weights, ELEMENT)]
    yield f"#define INPUTS {len(program.inputs)}"
    yield f"#define OUTPUTS {len(program.outputs)}"
    yield f"#define TENSORS {len(made)}"
    yield f"#define WEIGHTS {weights}"
    yield f"#define WEIGHT_ROWS {len(rows)}"
    yield f"#define WEIGHTS_FILE {c_string(WEIGHTS_FILE)}"
    yield f"#define REFERENCE_FILE {c_string(REFERENCE_FILE)}"
    yield f"#define IS_DEFINED {int(program.reference is not None)}"
    yield f"#define NARROW_KINDS {int(program.is_narrow)}"
    yield f"#define OWN_KINDS {c_string('words of their own types' if program.is_narrow else 'floats')}"
    yield "#define RUN(inputs, weights, outputs, arena) \\"
    yield "    run((const data *const *)(inputs), (const data *)(weights), (data *const *)(outputs), arena)"
    yield f"#define EXACT {int(largest > 0)}"
    yield f"#define LARGEST {largest or 1}"
    yield f"#define TOLERANCE {_TOLERANCES[element]}"
    yield "#ifdef TIMES"
    yield f"static const char *const STEP_NAMES[STEPS] = {{{', '.join(map(_step_name, program.steps))}}};"
    yield "#endif"
    yield f"static const int64_t INPUT_ELEMENTS[INPUTS] = {{{numbers([program.words[k] for k in program.inputs])}}};"
    yield f"static const int INPUT_KINDS[INPUTS] = {{{kinds(program.inputs)}}};"
    yield f"static const int OUTPUT_KINDS[OUTPUTS] = {{{kinds(program.outputs)}}};"
    yield f"static const int64_t WEIGHT_ELEMENTS[WEIGHT_ROWS] = {{{numbers([words for words, _ in rows])}}};"
    yield f"static const int WEIGHT_KINDS[WEIGHT_ROWS] = {{{', '.join(_kind_number(kind) for _, kind in rows)}}};"
    yield f"static const int WEIGHT_BIASES[WEIGHT_ROWS] = {{{', '.join(str(kind.bias) for _, kind in rows)}}};"
    yield "/* Which have whole numbers: 1 any, 2 truths, 3 none below 0. */"
    yield f"static const int WHOLE_INPUT[INPUTS] = {{{wholes(program.inputs)}}};"
    yield f"static const int WHOLE_OUTPUT[OUTPUTS] = {{{wholes(program.outputs)}}};"
    yield "/* Of inputs that are indices: how many rows there are. */"
    yield f"static const int64_t ROWS_NAMED[INPUTS] = {{{numbers(list(program.rows_named))}}};"
    yield f"static const int64_t ELEMENTS[TENSORS] = {{{numbers([program.words[key] for key in made])}}};"
    yield f"static const int OUTPUT[OUTPUTS] = {{{', '.join(str(made.index(key)) for key in program.outputs)}}};"
    yield f"static const char *const NAMES[OUTPUTS] = {{{', '.join(c_string(key) for key in program.outputs)}}};"
