"""C99 source text of operators that no mapping has, in plain loops: recurrent ones, choices along an axis, sums of
products of any operands."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from .....ir import MappingError
from .....workloads.graph import Computed
from ..groups.extern import activations_of

_FUNCTIONS = {"Relu": "larger({}, 0)", "Sigmoid": "1 / (1 + exp(-({})))", "Tanh": "tanh({})"}


def plain_lines(computed: Computed, names: Sequence[str], to: str) -> Iterator[str]:
    """The statements of an operator, with rows of these names and one row of all results."""
    results, first = [], 0
    for result in computed.results:
        results.append(f"({to} + {first})" if first else to)
        first += math.prod(result.shape)
    body = _PLAIN.get(computed.operators[0])
    if body is None:
        raise MappingError(f"{computed.operators[0]} is not written in plain loops", where=computed.name)
    yield from (f"    {line}" for line in body(computed, dict(zip(computed.positions, names, strict=True)), results))


def _shape(computed: Computed, position: int) -> tuple[int, ...]:
    return computed.operands[computed.positions.index(position)].shape


def _result(computed: Computed, output: int, results: Sequence[str]) -> str | None:
    return results[computed.outputs.index(output)] if output in computed.outputs else None


# ---- recurrent operators ---------------------------------------------------------------------------------------------


def _recurrent(computed: Computed, given: Mapping[int, str], results: Sequence[str]) -> Iterator[str]:
    """Every direction and sequence for itself, step after step: all gates of a step, then the state behind it."""
    op, layout = computed.operators[0], int(computed.attributes.get("layout", 0))
    first, second, features = _shape(computed, 0)
    batch, steps = (first, second) if layout else (second, first)
    directions, rows, states = _shape(computed, 2)
    yield f"for (int64_t d = 0; d < {directions}; d++)"
    yield f"for (int64_t b = 0; b < {batch}; b++) {{"
    at = f"(b * {directions} + d) * {states}" if layout else f"(d * {batch} + b) * {states}"
    cells = ("h", "c") if op == "LSTM" else ("h",)
    for number, cell in enumerate(cells):
        start = f"{given[5 + number]}[{at} + k]" if 5 + number in given else "0"
        yield f"    element {cell}[{states}];"
        yield f"    for (int64_t k = 0; k < {states}; k++) {cell}[k] = {start};"
    yield f"    element x[{rows}], r[{rows}];"
    reverse = str(computed.attributes.get("direction", "forward"))
    backwards = {"forward": "0", "reverse": "1", "bidirectional": "d"}[reverse]
    yield f"    for (int64_t s = 0; s < {steps}; s++) {{"
    yield f"        const int64_t t = {backwards} ? {steps - 1} - s : s;"
    lies = f"(b * {steps} + t) * {features}" if layout else f"(t * {batch} + b) * {features}"
    yield f"        const element *restrict now = {given[0]} + {lies};"
    yield f"        for (int64_t g = 0; g < {rows}; g++) {{"
    bias = f"{given[3]}[d * {2 * rows} + g]" if 3 in given else "0"
    other = f"{given[3]}[d * {2 * rows} + {rows} + g]" if 3 in given else "0"
    yield f"            element read = {bias}, kept = {other};"
    yield f"            PRODUCTS(read, now, {given[1]} + (d * {rows} + g) * {features}, {features});"
    yield f"            PRODUCTS(kept, h, {given[2]} + (d * {rows} + g) * {states}, {states});"
    yield "            x[g] = read;"
    yield "            r[g] = kept;"
    yield "        }"
    functions = activations_of(computed)
    count = len(functions) // directions
    for direction in range(directions):
        own = functions[direction * count : (direction + 1) * count]
        yield f"        if (d == {direction}) {{"
        yield from (f"            {line}" for line in _step(computed, given, states, own))
        yield "        }"
    whole = _result(computed, 0, results)
    if whole is not None:
        axes = f"((b * {steps} + t) * {directions} + d)" if layout else f"((t * {directions} + d) * {batch} + b)"
        yield f"        for (int64_t k = 0; k < {states}; k++) {whole}[{axes} * {states} + k] = h[k];"
    yield "    }"
    for number, cell in enumerate(cells):
        last = _result(computed, 1 + number, results)
        if last is not None:
            yield f"    for (int64_t k = 0; k < {states}; k++) {last}[{at} + k] = {cell}[k];"
    yield "}"


def _step(computed: Computed, given: Mapping[int, str], states: int, functions: Sequence[str]) -> Iterator[str]:
    """The state behind a step, of what its gates read (x) and keep (r)."""
    op = computed.operators[0]
    calls = [_FUNCTIONS[name] for name in functions]

    def gate(number: int) -> str:
        return f"x[{number * states} + k] + r[{number * states} + k]"

    if op == "RNN":
        yield f"for (int64_t k = 0; k < {states}; k++) h[k] = {calls[0].format(gate(0))};"
        return
    if op == "GRU":
        after = int(computed.attributes.get("linear_before_reset", 0))
        if after:
            yield f"for (int64_t k = 0; k < {states}; k++) {{"
            yield f"    const element z = {calls[0].format(gate(0))};"
            yield f"    const element q = {calls[0].format(gate(1))};"
            inner = f"x[{2 * states} + k] + q * r[{2 * states} + k]"
            yield f"    const element n = {calls[1].format(inner)};"
            yield "    h[k] = (1 - z) * n + z * h[k];"
            yield "}"
            return
        rows = 3 * states
        yield f"element q[{states}];"
        yield f"for (int64_t k = 0; k < {states}; k++) q[k] = {calls[0].format(gate(1))} * h[k];"
        yield f"for (int64_t k = 0; k < {states}; k++) {{"
        bias = f"{given[3]}[d * {2 * rows} + {rows + 2 * states} + k]" if 3 in given else "0"
        yield f"    element kept = {bias};"
        yield f"    PRODUCTS(kept, q, {given[2]} + (d * {rows} + {2 * states} + k) * {states}, {states});"
        yield f"    const element z = {calls[0].format(gate(0))};"
        yield f"    const element n = {calls[1].format(f'x[{2 * states} + k] + kept')};"
        yield "    h[k] = (1 - z) * n + z * h[k];"
        yield "}"
        return

    def peephole(number: int, cell: str) -> str:
        return f" + {given[7]}[d * {3 * states} + {number * states} + k] * {cell}" if 7 in given else ""

    yield f"for (int64_t k = 0; k < {states}; k++) {{"
    yield f"    const element i = {calls[0].format(gate(0) + peephole(0, 'c[k]'))};"
    yield f"    const element f = {calls[0].format(gate(2) + peephole(2, 'c[k]'))};"
    yield f"    c[k] = f * c[k] + i * ({calls[1].format(gate(3))});"
    yield f"    const element o = {calls[0].format(gate(1) + peephole(1, 'c[k]'))};"
    yield f"    h[k] = o * ({calls[2].format('c[k]')});"
    yield "}"


# ---- along an axis ---------------------------------------------------------------------------------------------------


def _axis(computed: Computed, axis: int) -> tuple[int, int, int]:
    """Rows before an axis, its size, and what lies behind it, of the first operand."""
    shape = _shape(computed, 0)
    axis %= len(shape)
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def _sums(computed: Computed, given: Mapping[int, str], results: Sequence[str]) -> Iterator[str]:
    before, size, behind = _axis(computed, computed.numbers[1][0])
    leaves_own, turned = (int(computed.attributes.get(name, 0)) for name in ("exclusive", "reverse"))
    place = f"(i * {size} + {f'{size - 1} - n' if turned else 'n'}) * {behind} + j"
    yield f"for (int64_t i = 0; i < {before}; i++)"
    yield f"for (int64_t j = 0; j < {behind}; j++) {{"
    yield "    element total = 0;"
    yield f"    for (int64_t n = 0; n < {size}; n++) {{"
    adds, keeps = f"        total += {given[0]}[{place}];", f"        {results[0]}[{place}] = total;"
    yield from (keeps, adds) if leaves_own else (adds, keeps)
    yield "    }"
    yield "}"


def _largest(computed: Computed, given: Mapping[int, str], results: Sequence[str]) -> Iterator[str]:
    """The words that come next after the last one that was taken: by size, and of equal ones the first."""
    axis = int(computed.attributes.get("axis", -1))
    before, size, behind = _axis(computed, axis)
    count, sign = computed.results[0].shape[axis], ">" if int(computed.attributes.get("largest", 1)) else "<"
    values, places = _result(computed, 0, results), _result(computed, 1, results)
    word = f"{given[0]}[(i * {size} + n) * {behind} + j]"
    yield f"for (int64_t i = 0; i < {before}; i++)"
    yield f"for (int64_t j = 0; j < {behind}; j++) {{"
    yield "    int64_t last = -1;"
    yield "    element limit = 0;"
    yield f"    for (int64_t taken = 0; taken < {count}; taken++) {{"
    yield "        int64_t found = -1;"
    yield "        element best = 0;"
    yield f"        for (int64_t n = 0; n < {size}; n++) {{"
    yield f"            const element word = {word};"
    yield f"            const int is_left = last < 0 || limit {sign} word || (word == limit && n > last);"
    yield f"            if (is_left && (found < 0 || word {sign} best)) {{ best = word; found = n; }}"
    yield "        }"
    yield "        last = found;"
    yield "        limit = best;"
    for to, what in ((values, "best"), (places, "(element)found")):
        if to is not None:
            yield f"        {to}[(i * {count} + taken) * {behind} + j] = {what};"
    yield "    }"
    yield "}"


def _elements(computed: Computed, given: Mapping[int, str], results: Sequence[str]) -> Iterator[str]:
    """GatherElements and ScatterElements: a word for each index, which stands in place of that axis."""
    shape, chosen = _shape(computed, 0), _shape(computed, 1)
    axis = int(computed.attributes.get("axis", 0)) % len(shape)
    scatters = computed.operators[0] == "ScatterElements"
    if scatters:
        yield f"for (int64_t n = 0; n < {math.prod(shape)}; n++) {results[0]}[n] = {given[0]}[n];"
    for number, size in enumerate(chosen):
        yield f"for (int64_t i{number} = 0; i{number} < {size}; i{number}++)"
    index = " + ".join(f"i{n} * {math.prod(chosen[n + 1 :])}" for n in range(len(chosen)))
    terms = [f"{'n' if n == axis else f'i{n}'} * {math.prod(shape[n + 1 :])}" for n in range(len(shape))]
    yield "{"
    yield f"    int64_t n = (int64_t){given[1]}[{index}];"
    yield f"    n += n < 0 ? {shape[axis]} : 0;"
    if scatters:
        yield f"    {results[0]}[{' + '.join(terms)}] = {given[2]}[{index}];"
    else:
        yield f"    {results[0]}[{index}] = {given[0]}[{' + '.join(terms)}];"
    yield "}"


# ---- sums of products ------------------------------------------------------------------------------------------------


def _einsum(computed: Computed, given: Mapping[int, str], results: Sequence[str]) -> Iterator[str]:
    equation = str(computed.attributes["equation"]).replace(" ", "")
    read, _, made = equation.partition("->")
    operands = read.split(",")
    if "->" not in equation:
        letters = read.replace(",", "")
        made = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    sizes: dict[str, int] = {}
    for number, text in enumerate(operands):
        for letter, size in zip(text, _shape(computed, number), strict=True):
            sizes[letter] = max(sizes.get(letter, 1), size)
    names = {letter: f"i{number}" for number, letter in enumerate(sizes)}

    def place(text: str, shape: Sequence[int]) -> str:
        terms = [f"{names[letter]} * {math.prod(shape[n + 1 :])}" for n, letter in enumerate(text) if shape[n] > 1]
        return " + ".join(terms) or "0"

    for letter in made:
        yield f"for (int64_t {names[letter]} = 0; {names[letter]} < {sizes[letter]}; {names[letter]}++)"
    yield "{"
    yield "    element total = 0;"
    for letter in (one for one in sizes if one not in made):
        yield f"    for (int64_t {names[letter]} = 0; {names[letter]} < {sizes[letter]}; {names[letter]}++)"
    words = [f"{given[n]}[{place(text, _shape(computed, n))}]" for n, text in enumerate(operands)]
    yield f"        total += {' * '.join(words)};"
    yield f"    {results[0]}[{place(made, [sizes[letter] for letter in made])}] = total;"
    yield "}"


_PLAIN: Mapping[str, Callable[[Computed, Mapping[int, str], Sequence[str]], Iterator[str]]] = {
    "CumSum": _sums,
    "Einsum": _einsum,
    "GRU": _recurrent,
    "GatherElements": _elements,
    "LSTM": _recurrent,
    "RNN": _recurrent,
    "ScatterElements": _elements,
    "TopK": _largest,
}
