"""A compiled network as one numpy program: every group's tree on its buffers, all words counted, and a check.

A group is the program of its tree (`numpy/program.py`) as a function of its own; equal groups are one. What passes from
group to group, and what is done between them, is in `run`, and in `direct`, which takes the operations of each group
one after the other.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .....workloads.graph import NORMALIZING, REDUCING, WORD, ApartOperation, ApartRead, Computed
from ...numpy import runtime_packed, runtime_passes
from ...numpy.finishes import parameter_key
from ...numpy.points import number_text, point_text
from ...numpy.program import IMPORTS, RUNTIME, names_taken, program_lines, runtime_text
from ...parts.names import FreshNames, comment, quoted
from ..groups.exact import exact_magnitude
from ..groups.files import REFERENCE_FILE
from ..groups.program import ApartCall, GroupCall, GroupProgram, NetworkProgram, computed_of
from ..words.operands import Finished, Reading, Weight
from ..words.steps import steps_along
from . import runtime as runtime_network

TITLE = '''"""The network {network} on {arch}, executed group by group by the trees of its plan.

Written by tilewright. It needs nothing but {packages}, and {weights} beside it. Run it:

    python network.py [seed] [weights]

It counts the words that move. It computes the network twice, by the trees and one operation after the other, compares
all outputs, and compares the words moved with those that the plan promises. Outputs of whole numbers must be equal
where all results are such; else they may differ by a part in {apart} of the largest one. It exits with 0 if all agree.
`run(inputs, weights)` may be imported and called on its own.
"""
'''

RUN = '''def run(inputs: Sequence[np.ndarray], weights: np.ndarray) -> tuple[list[np.ndarray], list[tuple[str, Words]]]:
    """Execute every group's tree: the outputs as rows of words, and for each group its name and the words (read,
    written) by (memory, tensor).

    inputs   in the order of INPUTS, each a row of words or in any shape
    weights  all parameters, in one row
    """
    return execute(inputs, weights, by_tree=True)
'''

MAIN = '''
# ---- main ------------------------------------------------------------------------------------------------------------


def check(weights: np.ndarray, seed: int = 0) -> tuple[list[str], list[tuple[str, Words]]]:
    """Run on random inputs: what is wrong (nothing if all is well), and the words that each group has moved."""
    rng = np.random.default_rng(seed)
    if LARGEST:
        inputs = [rng.integers(-LARGEST, LARGEST + 1, words).astype(float) for words in INPUTS.values()]
    else:
        inputs = [rng.uniform(-1, 1, words) for words in INPUTS.values()]
    drawn = {1: (-7, 8), 2: (0, 2), 3: (0, 15)}
    inputs = [
        rng.integers(*drawn[whole], words.size).astype(float) if whole else words
        for words, whole in zip(inputs, WHOLE_INPUTS, strict=True)
    ]
    inputs = [
        rng.integers(0, rows, words.size).astype(float) if rows else words
        for words, rows in zip(inputs, ROWS_NAMED, strict=True)
    ]
    with np.errstate(all="ignore"):  # beyond ragged edges anything may come out, and counts nothing
        outputs, moved = run(inputs, weights)
        expected, _ = execute(inputs, weights, by_tree=False)
    wrong = []
    for name, output, reference in zip(OUTPUTS, outputs, expected, strict=True):
        bound = 0 if LARGEST else TOLERANCE * np.abs(reference[np.isfinite(reference)]).max(initial=0)
        found = difference(output, reference, bound)
        wrong += [f"{name}: {found}"] if found else []
    for (name, words), (_, promised) in zip(moved, EXPECTED(), strict=True):
        wrong += [f"{name}: the words moved are not those of the plan"] if words != promised else []
    return wrong, moved


def beside_definition(words: np.ndarray, weights: np.ndarray) -> list[str]:
    """What differs from the model's own definition, of which inputs and outputs are stored."""
    ends = np.cumsum([*INPUTS.values(), *OUTPUTS.values()])
    parts = np.split(words, ends[:-1])
    with np.errstate(all="ignore"):
        outputs, _ = run(parts[: len(INPUTS)], weights)
    wrong = []
    for name, whole, output, expected in zip(OUTPUTS, WHOLE_OUTPUTS, outputs, parts[len(INPUTS) :], strict=True):
        bound = 0 if whole else 1e-4 * np.abs(expected[np.isfinite(expected)]).max(initial=0)
        found = difference(output, expected, bound)
        wrong += [f"{name}, beside onnx.reference: {found}"] if found else []
    return wrong


def main() -> int:
    """Print the check's result; 0 if outputs and words are as they should be."""
    named = sys.argv[2] if len(sys.argv) > 2 else Path(__file__).with_name(WEIGHTS_FILE)
    weights = np.fromfile(named, "<f8")
    if weights.size != WEIGHTS:
        print(f"error: {named} has {weights.size} doubles, expected {WEIGHTS}: it belongs to another network")
        return 2
    wrong, moved = check(weights, int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    stored = Path(__file__).with_name(REFERENCE_FILE)
    if stored.exists():
        wrong += beside_definition(np.fromfile(stored, "<f8"), weights)
    elif IS_DEFINED:
        print(f"no {REFERENCE_FILE}: not compared with onnx.reference")
    total: Words = {}
    promised: Words = {}
    for (_, words), (_, group) in zip(moved, EXPECTED(), strict=True):
        added(total, words)
        added(promised, group)
    print("\\n".join(words_table(by_memory(total), by_memory(promised))))
    for line in wrong:
        print(f"FAILED: {line}")
    if not wrong:
        print(f"OK: all outputs agree, and the words moved by {len(moved)} groups are those of the plan")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
'''

_MORE_IMPORTS = "import time\nfrom collections.abc import Callable, Sequence\nfrom pathlib import Path\n"

_LOCALS = ("inputs", "weights", "made", "words", "run", "execute", "direct", "check", "main", "by_tree", "parameters")


def emit_numpy_network(program: NetworkProgram, weights_file: str) -> str:
    """The text of a numpy program with `run(inputs, weights)`, which executes every group's tree and counts its words,
    and a `main` that checks outputs and words.

    Raises MappingError for groups whose words cannot be counted yet.
    """
    modules = (runtime_network, *(module for module in RUNTIME if module not in (runtime_passes, runtime_packed)))
    taken = [*names_taken(), *_LOCALS, *vars(runtime_network)]
    names = FreshNames(taken)
    groups = {one.number: names.unique(f"group{one.number}") for one in program.programs}
    made = ", ".join(f"{number}: {name}()" for number, name in groups.items())
    packages = "numpy and onnx" if any(True for _ in computed_of(program)) else "numpy"
    title = TITLE.format(
        packages=packages,
        network=_plain(program.network),
        arch=_plain(program.arch.name),
        weights=weights_file,
        apart="10^9" if packages == "numpy" else "10^5",
    )
    parts: list[Iterator[str] | list[str]] = [
        [
            title,
            IMPORTS.replace("import time\n", _MORE_IMPORTS).replace(
                "import itertools\n", "import base64\nimport itertools\n"
            ),
        ],
        _constant_lines(program, weights_file),
        *(_group_lines(one, groups[one.number], taken) for one in program.programs),
        _Execution(program, groups).lines(),
        [RUN, "", runtime_text(modules), "", ""],
        [f"GROUPS: dict[int, GroupFunctions] = {{{made}}}", MAIN],
    ]
    return "\n".join(line for part in parts for line in part)


def _plain(text: str) -> str:
    return comment(text)[0][2:].replace("\\", "/").replace('"', "'")


def _constant_lines(program: NetworkProgram, weights_file: str) -> Iterator[str]:
    for name, keys in (("INPUTS", program.inputs), ("OUTPUTS", program.outputs)):
        spelled = ", ".join(f"{quoted(key)}: {program.words[key]}" for key in keys)
        yield f"{name}: dict[str, int] = {{{spelled}}}"
    yield from comment("Of inputs that are indices: how many rows there are.")
    yield f"ROWS_NAMED = {program.rows_named}"
    yield from comment("Which have whole numbers: 1 any, 2 truths, 3 none below 0.")
    yield f"WHOLE_INPUTS, WHOLE_OUTPUTS = {program.wholes(program.inputs)}, {program.wholes(program.outputs)}"
    yield f"IS_DEFINED, REFERENCE_FILE = {program.reference is not None}, {REFERENCE_FILE!r}"
    yield from _model_lines(program)
    yield f"WEIGHTS = {sum(weight.words for weight in program.weights)}"
    yield f"WEIGHTS_FILE = {quoted(weights_file)}"
    yield from comment("The largest magnitude of inputs with which all results are exact; 0: there is none.")
    yield f"LARGEST = {exact_magnitude(program)}"
    yield from ("", "")


def _model_lines(program: NetworkProgram) -> Iterator[str]:
    """The operators that no mapping has, as files of ONNX, and how far outputs may be from those of plain operations:
    such an operator may compute in floats."""
    models = list(computed_of(program))
    yield from comment("How far outputs may differ, as a part of the largest one.")
    yield f"TOLERANCE = {1e-5 if models else 1e-9}"
    if models:
        yield from comment("Operators that no mapping has: what onnx.reference is asked to compute.")
    yield "MODELS: dict[str, str] = {"
    for one in models:
        yield f"    {quoted(one.name)}: {quoted(base64.b64encode(one.model).decode())},"
    yield "}"


def _group_lines(group: GroupProgram, name: str, taken: list[str]) -> Iterator[str]:
    """A function that makes the program of a group."""
    assert group.segment.answer is not None
    mapping = group.segment.answer.mapping
    yield f"def {name}() -> GroupFunctions:"
    yield from comment(f"Group {group.number}: {' + '.join(group.segment.names)}", "    ")
    yield from comment(str(mapping), "    ", "#    ")
    stays = [tensor for tensor, _ in group.segment.stays]
    text = "\n".join(program_lines(mapping, group.arch, taken, group.finishes, stays))
    yield from (f"    {line}" if line else "" for line in text.split("\n"))
    yield "    return GroupFunctions(run, direct, EXPECTED)"
    yield from ("", "")


class _Execution:
    """The text of `execute`, which passes tensors from group to group."""

    def __init__(self, program: NetworkProgram, groups: dict[int, str]) -> None:
        self.program, self.groups = program, groups

    def lines(self) -> Iterator[str]:
        """The function, and what the plan promises for each group."""
        yield from comment("The groups in the order in which they run: what is printed of each, and its program.")
        listed = [f"({quoted(self._shown(call))}, {call.program.number})" for call in self.program.calls]
        yield f"ORDER: list[tuple[str, int]] = [{', '.join(listed)}]"
        yield from ("", "")
        yield "def EXPECTED() -> list[tuple[str, Words]]:"
        yield '    """The words that the plan promises for each group."""'
        yield "    return [(name, GROUPS[number].expected) for name, number in ORDER]"
        yield from ("", "")
        yield "def execute("
        yield "    inputs: Sequence[np.ndarray], weights: np.ndarray, by_tree: bool"
        yield ") -> tuple[list[np.ndarray], list[tuple[str, Words]]]:"
        yield '    """Every group by its tree, or its operations one after the other."""'
        yield "    moved: list[tuple[str, Words]] = []"
        yield "    made: Arrays = {}"
        for number, key in enumerate(self.program.inputs):
            yield f"    made[{quoted(key)}] = np.ravel(np.asarray(inputs[{number}], float))"
        for step in self.program.steps:
            yield ""
            lines = self._apart_lines(step) if isinstance(step, ApartCall) else self._call_lines(step)
            yield from (f"    {line}" for line in lines)
        outputs = ", ".join(f"made[{quoted(key)}]" for key in self.program.outputs)
        yield ""
        yield f"    return [{outputs}], moved"
        yield from ("", "")

    def _shown(self, call: GroupCall) -> str:
        return f"group {call.number}: {' + '.join(operation.name for operation in call.cascade)}"

    # ---- groups ----------------------------------------------------------------------------------------------

    def _call_lines(self, call: GroupCall) -> Iterator[str]:
        """What a group reads, its program, and what it makes; tensors of the program are those of the first of equal
        groups."""
        yield from comment(self._shown(call))
        assert call.program.segment.answer is not None
        cascade = call.program.segment.answer.mapping.cascade
        given = [name for name in cascade.tensors if name not in cascade.producers]
        inputs = zip(given, call.inputs, strict=True)
        operands = [self._operand(name, one, cascade.extents(name)) for name, one in inputs]
        yield f"operands = {{{', '.join(operands)}}}"
        parameters = [
            f"{quoted(parameter_key(tensor, name))}: {self._weight(weight)}"
            for (tensor, finish), done in zip(call.program.finishes.items(), call.finished.values(), strict=True)
            for (name, _, _), weight in zip(finish.parameters, done.parameters, strict=True)
        ]
        yield f"parameters = {{{', '.join(parameters)}}}"
        outputs = [op.output.name for op in cascade if not cascade.consumers[op.output.name]]
        yield "if by_tree:"
        yield f"    found, words = GROUPS[{call.program.number}].run(operands, parameters)"
        yield f"    moved.append(({quoted(self._shown(call))}, words))"
        yield "else:"
        yield f"    found = GROUPS[{call.program.number}].direct(operands, parameters)"
        for name, key in zip(outputs, call.outputs, strict=True):
            yield f"made[{quoted(key)}] = np.ravel(found[{quoted(name)}])"

    def _operand(self, name: str, one: Reading | Weight, extents: tuple[int, ...]) -> str:
        if isinstance(one, Weight):
            return f"{quoted(name)}: {self._weight(one)}"
        return f"{quoted(name)}: framed(made[{quoted(one.key)}], {one.made}, {one.own}, {extents})"

    def _weight(self, weight: Weight) -> str:
        return f"weights[{weight.offset}:{weight.offset + weight.words}].reshape({weight.shape})"

    # ---- between groups --------------------------------------------------------------------------------------

    def _apart_lines(self, call: ApartCall) -> Iterator[str]:
        yield from comment(f"{call.key}: {call.operation.how}")
        operation, reads = call.operation, []
        if operation.computed is not None:
            yield f"words = {self._computed_text(call, operation.computed)}"
            if call.finished is not None:
                yield from self._finish_lines(call.finished, operation.shape)
            yield f"made[{quoted(call.key)}] = np.ravel(words)"
            return
        for read, source in zip(call.operation.reads, call.inputs, strict=True):
            row = self._row_text(operation, read, source)
            offsets = ", ".join(map(_index_text, read.offsets))
            positions = ", ".join(_index_text(each.reshape(-1)) for each in read.positions)
            reads.append(f"ReadWords({row}, [{positions}], [{offsets}])")
        text = self._made_text(call, reads)
        if operation.scale != 1:
            text = f"({text}) * {operation.scale!r}"
        if operation.after is not None:
            text = point_text(operation.after, {WORD: f"({text})"})
        yield f"words = {text}"
        if call.finished is not None:
            yield from self._finish_lines(call.finished, operation.shape)
        yield f"made[{quoted(call.key)}] = np.ravel(words)"

    def _computed_text(self, call: ApartCall, computed: Computed) -> str:
        """What an operator makes of whole tensors."""
        operands = []
        for tensor, source in zip(computed.operands, call.inputs, strict=True):
            row = f"made[{quoted(source)}]" if isinstance(source, str) else self._row(source)
            operands.append(f"({quoted(tensor.name)}, {quoted(tensor.type)}, {row}.reshape({tensor.shape}))")
        results = ", ".join(quoted(result.name) for result in computed.results)
        return f"computed(MODELS[{quoted(computed.name)}], [{', '.join(operands)}], [{results}])"

    def _row(self, weight: Weight) -> str:
        return f"weights[{weight.offset}:{weight.offset + weight.words}]"

    def _made_text(self, call: ApartCall, reads: Sequence[str]) -> str:
        operation = call.operation
        if operation.how == "move":
            listed = ", ".join(f"({_extents(one)}, {text})" for one, text in zip(operation.reads, reads, strict=True))
            return f"moved_words({operation.shape}, {number_text(operation.fill)}, [{listed}])"
        if operation.how == "words":
            assert operation.expression is not None
            arrays = {
                one.name: f"spread({operation.shape}, {_extents(one)}, {text})"
                for one, text in zip(operation.reads, reads, strict=True)
            }
            return point_text(operation.expression, arrays)
        if operation.how == "weighted":
            factors = ", ".join(f"np.array({each.tolist()})" for each in operation.factors)
            return f"weighted({reads[0]}, [{factors}])"
        if operation.how == "gather":
            return f"rows_along({', '.join(reads)}, {operation.axis})"
        if operation.how not in NORMALIZING:
            return f"reduced({reads[0]}, {quoted(operation.how)})"
        normed = f"normalized({reads[0]}, {quoted(operation.how)}, {operation.epsilon!r})"
        arrays = {operation.reads[0].name: f"{normed}.reshape({operation.shape})"}
        for one, text in zip(operation.reads[1:], reads[1:], strict=True):
            arrays[one.name] = f"spread({operation.shape}, {_extents(one)}, {text})"
        return normed if operation.expression is None else point_text(operation.expression, arrays)

    def _row_text(self, operation: ApartOperation, read: ApartRead, source: str | Weight) -> str:
        """The words of what is read; for reductions after what is done with each of them."""
        row = f"made[{quoted(source)}]" if isinstance(source, str) else self._row(source)
        is_reduced = operation.how in REDUCING
        return point_text(operation.expression, {read.name: row}) if is_reduced and operation.expression else row

    def _finish_lines(self, done: Finished, shape: tuple[int, ...]) -> Iterator[str]:
        """What is done with all words of a tensor at once."""
        yield f"words = words.reshape({shape})"
        names = {done.finish.word: "words"}
        for (name, axes, _), weight in zip(done.finish.parameters, done.parameters, strict=True):
            wide = tuple(n if axis in axes else 1 for axis, n in enumerate(shape))
            names[name] = f"weights[{weight.offset}:{weight.offset + weight.words}].reshape({wide})"
        yield f"words = {point_text(done.finish.expression, names)}"


def _extents(read: ApartRead) -> str:
    return repr(tuple(read.extents))


def _index_text(values: np.ndarray[Any, np.dtype[np.int64]]) -> str:
    """An array of whole numbers, shortly where they are at equal distances."""
    found = steps_along(values)
    if found is None:
        listed = values.tolist()
        return f"np.array({listed}, np.int64)" if values.size else f"np.zeros({values.shape}, np.int64)"
    first, *along = found
    if values.ndim == 1:
        return f"steps({first}, {along[0]}, {values.shape[0]})"
    rows, columns = values.shape
    return f"(steps({first}, {along[0]}, {rows})[:, None] + steps(0, {along[1]}, {columns}))"
