"""Copies that groups read instead of inputs: of parameters before the first run, of others in every run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...c.text import affine_text, c_comment, c_names
from ...lowering.packs import Pack
from ..groups.program import GroupCall, NetworkProgram
from ..words.operands import Weight

_LINE = 16
"""Elements at whose multiples copies begin."""


class PackedInputs:
    """The copies of one network."""

    def __init__(self, program: NetworkProgram) -> None:
        self.program = program
        self.functions: dict[str, str] = {}
        self._places: dict[tuple[int, str], tuple[str, int]] = {}
        self._texts: dict[tuple[int, str], str] = {}
        sizes = {"packed": 0, "copied": 0}
        for call in program.calls:
            own = 0
            for name, one in call.named_inputs:
                pack = self._pack(call, name)
                if pack is None:
                    continue
                text = "\n".join(_function_lines("FUNCTION", pack))
                self.functions.setdefault(text, f"pack{len(self.functions)}")
                self._texts[call.number, name] = text
                words = -(-pack.words // _LINE) * _LINE
                if isinstance(one, Weight):
                    self._places[call.number, name] = "packed", sizes["packed"]
                    sizes["packed"] += words
                else:
                    self._places[call.number, name] = "copied", own
                    own += words
            sizes["copied"] = max(sizes["copied"], own)
        self.members = [(name, size) for name, size in sizes.items() if size]

    def _pack(self, call: GroupCall, name: str) -> Pack | None:
        """The copy of an input; groups that are alike have it by the place of the tensor."""
        return call.program.packs.get(call.names_there[name])

    def has(self, call: GroupCall, name: str) -> bool:
        """Whether a group reads an input from a copy."""
        return (call.number, name) in self._places

    def place(self, call: GroupCall, name: str, source: str) -> str:
        """Where a group reads an input: where its copy begins, or where it is itself."""
        if not self.has(call, name):
            return source
        member, offset = self._places[call.number, name]
        return f"arena->{member} + {offset}"

    def function_lines(self) -> Iterator[str]:
        """Every different copy once."""
        for text, name in self.functions.items():
            yield from text.replace("FUNCTION", name, 1).split("\n")

    def load_lines(self, place: Callable[[Weight], str]) -> Iterator[str]:
        """Copies of parameters."""
        for call in self.program.calls:
            for name, one in call.named_inputs:
                if isinstance(one, Weight) and self.has(call, name):
                    yield f"    {self._call(call, name, place(one))}"

    def run_lines(self, call: GroupCall, name: str, source: str) -> Iterator[str]:
        """The copy of an input that is made in the run, if one is."""
        if self.has(call, name) and self._places[call.number, name][0] == "copied":
            yield f"    {self._call(call, name, source)}"

    def _call(self, call: GroupCall, name: str, source: str) -> str:
        return f"{self.functions[self._texts[call.number, name]]}({source}, {self.place(call, name, source)});"


def _function_lines(function: str, pack: Pack) -> Iterator[str]:
    names = c_names()
    index = {dim: names.unique(dim) for dim, _ in pack.dims}
    known = {pack.variables[dim]: name for dim, name in index.items()}
    dims = list(pack.dims)
    yield from c_comment(f"{' x '.join(str(size) for _, size in dims)} words in the order in which they are read")
    yield f"static APART void {function}(const element *restrict from, element *restrict to)"
    yield "{"
    indent = "    "
    lane = dims.pop() if pack.width else None
    outside = len(dims) - pack.inside
    for number in range(len(dims) + 1):
        if lane is not None and number == outside:
            name = index[lane[0]]
            yield f"{indent}for (int64_t {name} = 0; {name} < {lane[1]}; {name} += {pack.width})"
            indent += "    "
        if number < len(dims):
            dim, size = dims[number]
            yield f"{indent}for (int64_t {index[dim]} = 0; {index[dim]} < {size}; {index[dim]}++)"
            indent += "    "
    if lane is None:
        yield f"{indent}*to++ = from[{affine_text(pack.access.flat, known)}];"
    else:
        name, size = index[lane[0]], lane[1]
        known[pack.variables[lane[0]]] = f"({name} + lane)"
        word = f"from[{affine_text(pack.access.flat, known)}]"
        yield f"{indent}for (int64_t lane = 0; lane < {pack.width}; lane++)"
        yield f"{indent}    *to++ = {f'{name} + lane < {size} ? {word} : 0' if size % pack.width else word};"
    yield "}"
    yield ""
