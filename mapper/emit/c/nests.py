"""C99 source text of nests of one operation: word by word, or in registers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol

from ....ir import Call, Expression, Number
from ..lowering.loop_program import Access, Affine, Array, Finish, PerfectNest, RegisterTile, Variable
from ..parts.names import FreshNames
from .direct import number_text, point_text
from .text import affine_text

VECTORS = """
/* Vectors of LANES elements. Those of compilers that have no vectors of their own are arrays. Where that is known, the
   widest vectors of the processor that this is compiled for, and how many it has. */
#define LANES {lanes}
#if defined(__AVX512F__)
#define WIDEST_BYTES 64
#define WIDEST_COUNT 32
#elif defined(__AVX__)
#define WIDEST_BYTES 32
#define WIDEST_COUNT 16
#elif defined(__SSE2__)
#define WIDEST_BYTES 16
#define WIDEST_COUNT 16
#elif defined(__ARM_NEON)
#define WIDEST_BYTES 16
#define WIDEST_COUNT 32
#endif
#ifdef __GNUC__
typedef element lanes __attribute__((vector_size(LANES * sizeof(element))));
typedef lanes lanes_anywhere __attribute__((aligned(sizeof(element)), may_alias));
#define READ(vector, from) ((vector) = *(const lanes_anywhere *)(from))
#define WRITE(to, vector) (*(lanes_anywhere *)(to) = (vector))
#define ADD(sum, left, right) ((sum) += (left) * (right))
#define ADD_SCALED(sum, scalar, vector) ((sum) += (scalar) * (vector))
#define ADD_WORDS(sum, vector) ((sum) += (vector))
#define LARGER(sum, vector) \\
    do {{ \\
        const __typeof__((sum) > (vector)) larger = (sum) > (vector); \\
        (sum) = (lanes)((larger & (__typeof__(larger))(sum)) | (~larger & (__typeof__(larger))(vector))); \\
    }} while (0)
#else
typedef struct {{
    element at[LANES];
}} lanes;
#define EACH(action) \\
    do {{ \\
        for (int lane = 0; lane < LANES; lane++) \\
            action; \\
    }} while (0)
#define READ(vector, from) EACH((vector).at[lane] = (from)[lane])
#define WRITE(to, vector) EACH((to)[lane] = (vector).at[lane])
#define ADD(sum, left, right) EACH((sum).at[lane] += (left).at[lane] * (right).at[lane])
#define ADD_SCALED(sum, scalar, vector) EACH((sum).at[lane] += (scalar) * (vector).at[lane])
#define ADD_WORDS(sum, vector) EACH((sum).at[lane] += (vector).at[lane])
#define LARGER(sum, vector) EACH((sum).at[lane] = larger((sum).at[lane], (vector).at[lane]))
#endif

/* As many words as there are, and zeros behind them. */
static inline void load_part(element *to, const element *from, int64_t words)
{{
    for (int64_t lane = 0; lane < LANES; lane++)
        to[lane] = lane < words ? from[lane] : 0;
}}
"""


def factor_of(expression: Expression) -> float:
    """The product of the numbers in a product."""
    if isinstance(expression, Number):
        return expression.value
    return math.prod(map(factor_of, expression.arguments)) if isinstance(expression, Call) else 1


class NamesAndTexts(Protocol):
    """What a nest asks of the function in which it stands."""

    names: dict[Variable, str]
    array: dict[Array, str]
    fresh: FreshNames

    def text(self, expression: Affine) -> str: ...
    def element(self, array: Array, index: list[str]) -> str: ...
    def index(self, access: Access) -> list[str]: ...
    def word(self, array: Array, index: list[str]) -> str: ...
    def finished(self, finish: Finish, value: str, position: list[str]) -> str: ...


Place = Callable[[str, str, Mapping[str, str]], str]
"""What is done with a word of a tile: its text, that of its place, and the names of positions there."""


@dataclass(frozen=True)
class _Span:
    """Positions of a dimension, in C.

    count  how many there are; None: as many as there are left
    most   of them
    """

    start: str
    stop: str
    count: int | None
    most: int


class CNest:
    """The text of one nest.

    schedule  of the function in which it stands
    """

    def __init__(self, schedule: NamesAndTexts, nest: PerfectNest) -> None:
        self.schedule, self.nest = schedule, nest
        self.names = {dim: schedule.names[variable] for dim, variable in nest.variables.items()}

    def _index(self, access: Access, names: Mapping[str, str]) -> list[str]:
        """The texts of an access, with other names of its element's position."""
        known = dict(self.schedule.names)
        known |= {self.nest.variables[dim]: name for dim, name in names.items()}
        return [affine_text(part, known) for part in access.index]

    def _target(self, names: Mapping[str, str]) -> str:
        return self.schedule.element(self.nest.target.array, self._index(self.nest.target, names))

    def _done(self, value: str, names: Mapping[str, str]) -> str:
        """What becomes of a complete word."""
        if self.nest.finish is None:
            return value
        return self.schedule.finished(self.nest.finish, value, self._index(self.nest.target, names))

    def _begin(self) -> str:
        return number_text(self.nest.begin) if self.nest.begin else "0"

    # ---- word by word ----------------------------------------------------------------------------------------

    def plain_lines(self, indent: str) -> Iterator[str]:
        """Loops over the words that are written as they lie, in them over what is summed up for each."""
        nest, schedule = self.nest, self.schedule
        order = sorted(nest.written, key=lambda dim: -abs(nest.stride(nest.target, dim)))
        for dim in order:
            yield indent + self._head(dim)
            indent += "    "
        operands = zip(nest.operation.problem.operands, nest.operands, strict=True)
        words = {tensor.name: schedule.word(access.array, schedule.index(access)) for tensor, access in operands}
        value = point_text(nest.operation.expression, words)
        is_max = nest.operation.reduction == "max"
        if not nest.summed:
            target = self._target({})
            value = (
                value if nest.begin is not None else f"larger({target}, {value})" if is_max else f"{target} + {value}"
            )
            yield f"{indent}{target} = {self._done(value, {})};"
            return
        yield f"{indent[4:]}{{" if order else f"{indent}{{"
        inner = indent if order else f"{indent}    "
        yield f"{inner}element total = {self._begin() if nest.begin is not None else self._target({})};"
        deeper = inner
        for dim in sorted(nest.summed, key=lambda dim: -max(abs(nest.stride(one, dim)) for one in nest.operands)):
            yield deeper + self._head(dim)
            deeper += "    "
        yield deeper + (f"total = larger(total, {value});" if is_max else f"total += {value};")
        yield f"{inner}{self._target({})} = {self._done('total', {})};"
        yield f"{indent[4:]}}}" if order else f"{indent}}}"

    def _head(self, dim: str) -> str:
        name, begin = self.names[dim], self.nest.begins[dim]
        start, stop = (self.schedule.text(one) for one in (begin, begin + Affine.of(self.nest.extents[dim])))
        return f"for (int64_t {name} = {start}; {name} < {stop}; {name}++)"

    # ---- in registers ----------------------------------------------------------------------------------------

    def tile_lines(self, tile: RegisterTile, indent: str, pragma: str | None = None) -> Iterator[str]:
        """The loops of the plan, in them tiles of registers along lanes and rows.

        pragma  by which threads share the outermost loop
        """
        nest = self.nest
        spans = {}
        for dim, extent in nest.extents.items():
            begin = nest.begins[dim]
            start, stop = (self.schedule.text(one) for one in (begin, begin + Affine.of(extent)))
            spans[dim] = _Span(start, stop, extent, extent)
        if pragma is not None and tile.shared is not None:
            yield f"{indent}{pragma}"
        yield from self._loops(tile, list(tile.loops), spans, indent)

    def _loops(
        self, tile: RegisterTile, loops: list[tuple[str, int]], spans: dict[str, _Span], indent: str
    ) -> Iterator[str]:
        if not loops:
            yield from self._lanes(tile, spans, indent)
            return
        (dim, step), *others = loops
        outer = spans[dim]
        name = self.schedule.fresh.unique(self.names[dim])
        is_even = outer.count is not None and outer.count % step == 0
        yield f"{indent}for (int64_t {name} = {outer.start}; {name} < {outer.stop}; {name} += {step}) {{"
        inner = f"{indent}    "
        stop = f"{name} + {step}"
        if not is_even:
            yield f"{inner}const int64_t {name}_end = least({stop}, {outer.stop});"
            stop = f"{name}_end"
        span = _Span(name, stop, step if is_even else None, step)
        yield from self._loops(tile, others, {**spans, dim: span}, inner)
        yield f"{indent}}}"

    def _lanes(self, tile: RegisterTile, spans: dict[str, _Span], indent: str) -> Iterator[str]:
        """The loop over rows of lanes."""
        dim, width = tile.lane, tile.width
        span, name = spans[dim], self.names[dim]
        yield f"{indent}for (int64_t {name} = {span.start}; {name} < {span.stop}; {name} += {width}) {{"
        inner = f"{indent}    "
        if span.count is not None and span.count % width == 0:
            yield from self._rows(tile, list(tile.rows), spans, {}, None, inner)
        elif span.count is not None and span.count < width:
            yield from self._rows(tile, list(tile.rows), spans, {}, str(span.count), inner)
        else:
            part = f"{name}_words"
            yield f"{inner}const int64_t {part} = least({width}, {span.stop} - {name});"
            yield from self._rows(tile, list(tile.rows), spans, {}, part, inner)
        yield f"{indent}}}"

    def _rows(
        self,
        tile: RegisterTile,
        rows: list[tuple[str, int]],
        spans: dict[str, _Span],
        taken: dict[str, int],
        part: str | None,
        indent: str,
    ) -> Iterator[str]:
        """Loops over what is left of the dimensions that are written: some rows at once, and one by one at the end."""
        every = [*rows, *((dim, 1) for dim in self.nest.written if dim not in dict(tile.rows) and dim != tile.lane)]
        left = [(dim, n) for dim, n in every if dim not in taken]
        if not left:
            yield from self._register_tile(tile, spans, taken, part, indent)
            return
        (dim, many), span = left[0], spans[left[0][0]]
        name = self.names[dim]
        if many == 1 or (span.count is not None and span.count % many == 0):
            yield f"{indent}for (int64_t {name} = {span.start}; {name} < {span.stop}; {_plus(name, many)}) {{"
            yield from self._rows(tile, rows, spans, {**taken, dim: many}, part, f"{indent}    ")
            yield f"{indent}}}"
            return
        last = self.schedule.fresh.unique(f"{name}_last")
        yield f"{indent}int64_t {last} = {span.start};"
        yield f"{indent}for (; {last} + {many} <= {span.stop}; {last} += {many}) {{"
        yield f"{indent}    const int64_t {name} = {last};"
        yield from self._rows(tile, rows, spans, {**taken, dim: many}, part, f"{indent}    ")
        yield f"{indent}}}"
        yield f"{indent}for (int64_t {name} = {last}; {name} < {span.stop}; {name}++) {{"
        yield from self._rows(tile, rows, spans, {**taken, dim: 1}, part, f"{indent}    ")
        yield f"{indent}}}"

    def _register_tile(
        self, tile: RegisterTile, spans: dict[str, _Span], taken: dict[str, int], part: str | None, indent: str
    ) -> Iterator[str]:
        """Sums of some rows; with operands of which not all lanes are there, read word by word."""
        in_place = [i for i in range(len(self.nest.operands)) if i not in tile.packed and self._has_lanes(tile, i)]
        if part is None or not in_place:
            yield from self._sums(tile, spans, taken, part, False, indent)
            return
        if part.isdigit():
            yield from self._sums(tile, spans, taken, part, True, indent)
            return
        yield f"{indent}if ({part} == {tile.width}) {{"
        yield from self._sums(tile, spans, taken, None, False, f"{indent}    ")
        yield f"{indent}}} else {{"
        yield from self._sums(tile, spans, taken, part, True, f"{indent}    ")
        yield f"{indent}}}"

    def _has_lanes(self, tile: RegisterTile, number: int) -> bool:
        return self.nest.stride(self.nest.operands[number], tile.lane) != 0

    def _sums(
        self,
        tile: RegisterTile,
        spans: dict[str, _Span],
        taken: dict[str, int],
        part: str | None,
        by_words: bool,
        indent: str,
    ) -> Iterator[str]:
        nest = self.nest
        rows = [dict(zip(taken, places, strict=True)) for places in product(*map(range, taken.values()))]
        fresh = self.schedule.fresh
        sums = [[fresh.unique(f"sum{r}_{v}") for v in range(tile.vectors)] for r in range(len(rows))]
        outside = [dim for dim, _ in tile.loops if dim in nest.summed]
        every = [name for row in sums for name in row]
        words = f"[{len(rows)}][{tile.width}]"
        yield f"{indent}element words{words};"
        yield from self._loaded(tile, spans, taken, part, outside, indent)
        yield f"{indent}lanes {', '.join(every)};"
        for r, row in enumerate(sums):
            yield indent + " ".join(f"READ({name}, words[{r}] + {v} * LANES);" for v, name in enumerate(row))
        inner = indent
        for dim in tile.summed:
            name, span = self.names[dim], spans[dim]
            yield f"{inner}for (int64_t {name} = {span.start}; {name} < {span.stop}; {name}++) {{"
            inner += "    "
        yield from self._points(tile, rows, sums, part if by_words else None, inner)
        for _ in tile.summed:
            inner = inner[4:]
            yield f"{inner}}}"
        for r, row in enumerate(sums):
            yield indent + " ".join(f"WRITE(words[{r}] + {v} * LANES, {name});" for v, name in enumerate(row))
        yield from self._left(tile, spans, taken, part, outside, indent)

    def _loaded(
        self,
        tile: RegisterTile,
        spans: dict[str, _Span],
        taken: dict[str, int],
        part: str | None,
        outside: Sequence[str],
        indent: str,
    ) -> Iterator[str]:
        """What sums begin with: nothing, or what is there already."""
        nest = self.nest
        begin = f"words[row][lane] = {self._begin()};"
        loops = [
            f"for (int64_t row = 0; row < {math.prod(taken.values())}; row++)",
            f"    for (int64_t lane = 0; lane < {tile.width}; lane++)",
        ]
        if nest.begin is None or outside:
            if nest.begin is not None:
                first = " && ".join(f"{spans[d].start} == {self.schedule.text(nest.begins[d])}" for d in outside)
                yield f"{indent}if ({first}) {{"
                yield from (f"{indent}    {line}" for line in (*loops, f"        {begin}"))
                yield f"{indent}}} else {{"
                yield from self._over_words(
                    tile, taken, part, lambda place, word, _: f"{place} = {word};", f"{indent}    "
                )
                yield f"{indent}}}"
            else:
                yield from self._over_words(tile, taken, part, lambda place, word, _: f"{place} = {word};", indent)
            return
        yield from (f"{indent}{line}" for line in (*loops, f"        {begin}"))

    def _left(
        self,
        tile: RegisterTile,
        spans: dict[str, _Span],
        taken: dict[str, int],
        part: str | None,
        outside: Sequence[str],
        indent: str,
    ) -> Iterator[str]:
        """Sums leave; complete ones after what is done with them."""
        factor = factor_of(self.nest.operation.expression)

        def summed(place: str) -> str:
            return place if factor == 1 else f"({place} * {number_text(factor)})"

        def unfinished(place: str, word: str, _: Mapping[str, str]) -> str:
            return f"{word} = {place};"

        def finished(place: str, word: str, names: Mapping[str, str]) -> str:
            return f"{word} = {self._done(summed(place), names)};"

        if not outside or (self.nest.finish is None and factor == 1):
            yield from self._over_words(tile, taken, part, finished, indent)
            return
        last = " && ".join(f"{spans[d].stop} == {self._end(d)}" for d in outside)
        yield f"{indent}if ({last}) {{"
        yield from self._over_words(tile, taken, part, finished, f"{indent}    ")
        yield f"{indent}}} else {{"
        yield from self._over_words(tile, taken, part, unfinished, f"{indent}    ")
        yield f"{indent}}}"

    def _end(self, dim: str) -> str:
        return self.schedule.text(self.nest.begins[dim] + Affine.of(self.nest.extents[dim]))

    def _over_words(
        self,
        tile: RegisterTile,
        taken: dict[str, int],
        part: str | None,
        action: Place,
        indent: str,
    ) -> Iterator[str]:
        """An action for every word of a tile that there is; for all lanes a loop of fixed length, which is vectors."""
        if part is not None and not part.isdigit():
            yield f"{indent}if ({part} < {tile.width}) {{"
            yield from self._over(tile, taken, part, action, f"{indent}    ")
            yield f"{indent}}} else {{"
            yield from self._over(tile, taken, str(tile.width), action, f"{indent}    ")
            yield f"{indent}}}"
        else:
            yield from self._over(tile, taken, part or str(tile.width), action, indent)

    def _over(
        self,
        tile: RegisterTile,
        taken: dict[str, int],
        words: str,
        action: Place,
        indent: str,
    ) -> Iterator[str]:
        names, row = {}, []
        for number, (dim, many) in enumerate(taken.items()):
            if many == 1:
                continue
            index = f"row{number}"
            yield f"{indent}for (int64_t {index} = 0; {index} < {many}; {index}++)"
            indent += "    "
            names[dim] = f"({self.names[dim]} + {index})"
            row.append((index, math.prod(list(taken.values())[number + 1 :])))
        yield f"{indent}for (int64_t lane = 0; lane < {words}; lane++)"
        names[tile.lane] = f"({self.names[tile.lane]} + lane)"
        at = " + ".join(index if stride == 1 else f"{index} * {stride}" for index, stride in row) or "0"
        yield f"{indent}    {action(f'words[{at}][lane]', self._target(names), names)}"

    def _points(
        self, tile: RegisterTile, rows: list[dict[str, int]], sums: list[list[str]], part: str | None, indent: str
    ) -> Iterator[str]:
        """One more point of every sum: what rows have in common is read once."""
        nest = self.nest
        texts: list[list[list[str]]] = []  # by operand, row and vector
        for number, access in enumerate(nest.operands):
            name = self.schedule.fresh.unique(f"{access.array.tensor.name}_at")
            place = affine_text(access.flat, self.schedule.names)
            array = f"(const element *){self.schedule.array[access.array]}"
            yield f"{indent}const element *restrict {name} = {array} + {place};"
            shifts = [sum(nest.stride(access, dim) * n for dim, n in row.items()) for row in rows]
            if not self._has_lanes(tile, number):
                texts.append([[f"{name}[{shift}]"] * tile.vectors for shift in shifts])
                continue
            loaded: dict[int, list[str]] = {}
            for shift in shifts:
                if shift not in loaded:
                    loaded[shift] = [f"{name}{len(loaded)}_{v}" for v in range(tile.vectors)]
                    for v, vector in enumerate(loaded[shift]):
                        yield from self._vector(
                            vector, f"{name} + {shift + v * tile.lanes}", part, v * tile.lanes, indent
                        )
            texts.append([loaded[shift] for shift in shifts])
        has = [self._has_lanes(tile, number) for number in range(len(nest.operands))]
        for r, row in enumerate(sums):
            for v, name in enumerate(row):
                scalars = " * ".join(texts[i][r][v] for i, yes in enumerate(has) if not yes)
                vectors = [texts[i][r][v] for i, yes in enumerate(has) if yes]
                yield indent + self._combined(name, scalars, vectors)

    def _vector(self, name: str, place: str, part: str | None, before: int, indent: str) -> Iterator[str]:
        yield f"{indent}lanes {name};"
        if part is None:
            yield f"{indent}READ({name}, {place});"
            return
        yield f"{indent}element {name}_words[LANES];"
        yield f"{indent}load_part({name}_words, {place}, {part} - {before});"
        yield f"{indent}READ({name}, {name}_words);"

    def _combined(self, name: str, scalars: str, vectors: list[str]) -> str:
        if self.nest.operation.reduction == "max":
            return f"LARGER({name}, {vectors[0]});"
        if scalars:
            return f"ADD_SCALED({name}, {scalars}, {vectors[0]});"
        return f"ADD({name}, {', '.join(vectors)});" if len(vectors) == 2 else f"ADD_WORDS({name}, {vectors[0]});"


def _plus(name: str, step: int) -> str:
    return f"{name}++" if step == 1 else f"{name} += {step}"
