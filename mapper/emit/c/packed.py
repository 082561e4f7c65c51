"""C99 source text of operands that are held packed: their nonzero words, and where these are.

Two ways, those of the formats `blocks` and `bitmask` (`cost_models/sparse/formats.py`) in the outermost memory:

    blocks   of every M neighbours N words, each with its place among them; words that are missing are zeros
    bitmask  a bit for every word, and the words whose bit is set, row by row; where each row's words begin

`run` takes packed operands as they are, and reads a word of them by `NAME_at`; the buffers inside hold every word.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....arch import Architecture
from ....cost_models.sparse import Structured, densities_of
from ....cost_models.sparse.formats import nonzero_share
from ....ir import Problem, Tensor
from ..parts.packing import packed_kind
from .text import c_comment


@dataclass(frozen=True)
class Packed:
    """One operand that is packed.

    tensor, name  of which names in C are made
    shape    of the array that it stands for
    density  blocks of N:M; None: a bitmask
    nonzero  words of all, in what the program checks itself with
    """

    tensor: Tensor
    name: str
    shape: tuple[int, ...]
    density: Structured | None
    nonzero: float

    @property
    def parameters(self) -> list[str]:
        """Of a function that takes it."""
        return [f"const {kind} *restrict {name}" for kind, name in zip(self._types, self.arguments, strict=True)]

    @property
    def arguments(self) -> list[str]:
        """The names of its arrays."""
        parts = ("words", "places") if self.density is not None else ("words", "bits", "starts")
        return [f"{self.name}_{part}" for part in parts]

    @property
    def _types(self) -> list[str]:
        return ["element", "uint8_t"] if self.density is not None else ["element", "uint8_t", "int64_t"]

    def at(self, index: list[str]) -> str:
        """A word."""
        return f"{self.name}_at({', '.join([*self.arguments, *(index or ['0'])])})"

    def _sizes(self) -> tuple[int, ...]:
        return self.shape or (1,)

    def access_lines(self) -> Iterator[str]:
        """The function that reads a word."""
        index = [f"x{axis}" for axis in range(len(self._sizes()))]
        yield f"static inline element {self.name}_at({', '.join([*self.parameters, *(f'int64_t {i}' for i in index)])})"
        yield "{"
        if self.density is None:
            yield f"    const int64_t row = {_flat(index[:-1], self._sizes()[:-1])}, first = row * {self._sizes()[-1]};"
            yield f"    const int64_t last = first + {index[-1]};"
            yield f"    if (!({self.name}_bits[last / 8] >> last % 8 & 1))"
            yield "        return 0;"
            yield f"    int64_t at = {self.name}_starts[row];"
            yield "    for (int64_t i = first; i < last; i++)"
            yield f"        at += {self.name}_bits[i / 8] >> i % 8 & 1;"
            yield f"    return {self.name}_words[at];"
        else:
            kept, block, rank = self.density.kept, self.density.block, self.density.rank
            blocks = self._blocks()
            inside = [f"{i} / {block}" if axis == rank else i for axis, i in enumerate(index)]
            yield f"    const int64_t at = ({_flat(inside, blocks)}) * {kept};"
            yield "    element found = 0;"
            yield f"    for (int64_t i = at; i < at + {kept}; i++)"
            yield f"        found += {self.name}_places[i] == {index[rank]} % {block} ? {self.name}_words[i] : 0;"
            yield "    return found;"
        yield "}"
        yield ""

    def _blocks(self) -> tuple[int, ...]:
        """Extents of the blocks."""
        assert self.density is not None
        rank, block = self.density.rank, self.density.block
        return tuple(-(-n // block) if axis == rank else n for axis, n in enumerate(self.shape))

    def pack_lines(self) -> Iterator[str]:
        """Its arrays, and the function that makes zeros in an array and packs the rest of it."""
        sizes, count = self._sizes(), math.prod(self._sizes())
        if self.density is None:
            rows = count // sizes[-1]
            yield f"static element {self.name}_words[{count}];"
            yield f"static uint8_t {self.name}_bits[{(count + 7) // 8}];"
            yield f"static int64_t {self.name}_starts[{rows}];"
            yield f"static void {self.name}_pack(element *array, uint64_t *state)"
            yield "{"
            yield f"    for (int64_t i = 0, at = 0; i < {count}; i++) {{"
            yield f"        if (i % {sizes[-1]} == 0)"
            yield f"            {self.name}_starts[i / {sizes[-1]}] = at;"
            yield f"        if (random_number(state) % 1000 >= {max(1, round(1000 * self.nonzero))})"
            yield "            array[i] = 0;"
            yield "        if (array[i] != 0) {"
            yield f"            {self.name}_bits[i / 8] |= (uint8_t)(1 << i % 8);"
            yield f"            {self.name}_words[at++] = array[i];"
            yield "        }"
            yield "    }"
            yield "}"
            yield ""
            return
        kept, block, rank = self.density.kept, self.density.block, self.density.rank
        stride, along = math.prod(sizes[rank + 1 :]), sizes[rank]
        held = math.prod(self._blocks()) * kept
        blocks = -(-along // block)
        yield f"static element {self.name}_words[{held}];"
        yield f"static uint8_t {self.name}_places[{held}];"
        yield f"static void {self.name}_pack(element *array, uint64_t *state)"
        yield "{"
        yield f"    for (int64_t line = 0; line < {count // along}; line++) {{"
        yield f"        const int64_t outer = line / {stride}, inner = line % {stride};"
        yield f"        for (int64_t b = 0; b < {blocks}; b++) {{"
        yield f"            int64_t left = {kept}, at = ((outer * {blocks} + b) * {stride} + inner) * {kept};"
        yield f"            const int64_t end = (b + 1) * {block} < {along} ? (b + 1) * {block} : {along};"
        yield f"            for (int64_t k = b * {block}; k < end; k++) {{"
        yield f"                element *word = array + (outer * {along} + k) * {stride} + inner;"
        yield "                if ((int64_t)(random_number(state) % (uint64_t)(end - k)) < left) {"
        yield f"                    {self.name}_words[at] = *word;"
        yield f"                    {self.name}_places[at++] = (uint8_t)(k % {block});"
        yield "                    left--;"
        yield "                } else {"
        yield "                    *word = 0;"
        yield "                }"
        yield "            }"
        yield "        }"
        yield "    }"
        yield "}"
        yield ""


RANDOM_NUMBER = """
static uint64_t random_number(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}
"""


def _flat(index: list[str], sizes: tuple[int, ...]) -> str:
    """The place of an element in row-major order."""
    text = "0"
    for i, size in zip(index, sizes, strict=True):
        text = i if text == "0" else f"({text}) * {size} + {i}"
    return text


def packed_operands(
    problem: Problem, arch: Architecture, shapes: dict[str, tuple[int, ...]], names: dict[str, str]
) -> dict[str, Packed]:
    """The operands that a program has packed, by tensor.

    shapes  of their arrays, by tensor
    names   in C
    """
    found = {}
    for tensor in problem.operands:
        kind = packed_kind(problem, arch, tensor)
        if kind:
            density = densities_of(problem)[tensor.name]
            share = nonzero_share(density, shapes[tensor.name])
            blocks = kind if isinstance(kind, Structured) else None
            found[tensor.name] = Packed(tensor, names[tensor.name], shapes[tensor.name], blocks, share)
    return found


def packed_lines(packed: Mapping[str, Packed]) -> Iterator[str]:
    """The functions that read packed words."""
    for each in packed.values():
        how = "a bit for every word" if each.density is None else f"{each.density.kept} of every {each.density.block}"
        yield from c_comment(f"{each.tensor} is packed: {how}.")
        yield from each.access_lines()
