"""Mappings written by hand: a short YAML, outermost level first, read for a layer and an architecture.

    layer: resnet50:layer1.0.conv2       # optional, as on the command line; or `conv:` or `gemm:` with sizes
    arch: eyeriss                        # optional: a name of the library, or a path
    levels:                              # outermost first
      - memory: DRAM
        keep: [I, W, O]                  # tensors that it holds from here inwards
        loops: [P=7, K=4]                # then these loops in time, outermost first
      - memory: GLB
        keep: [I, O]                     # W bypasses it
        loops: [C=2, Q=8, P=8]
      - fanout: array
        y: [C=4, S=3]                    # dimensions spread over an axis, the first key outside the second
        x: [C=2, Q=7]
      - memory: spad
        keep: [I, W, O]
        loops: [R=3, C=4, K=16]

The entries are the loop nest from the top: where every tensor has its own place between the loops (an uneven mapping),
a memory has several entries. An entry with `loops:` alone holds loops; levels that are not used may be left out.
`mapper/emit/mapping_yaml.py` writes this form. Errors say `file:line: field.path`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..arch import Architecture, Fanout, Memory
from ..arch.document import Field, read_document
from ..ir import Axis, Loop, LoopNest, Mapping, MappingError, Node, Problem, TilewrightError, did_you_mean
from ..ir.mapping import check_cover

_HEADER = ("layer", "conv", "gemm", "arch")
_A_LOOP = "loops such as [K=4, P=7], outermost first"
_LOOP = re.compile(r"(.+?)\s*=\s*([0-9]{1,15})")


@dataclass(frozen=True)
class MappingFile:
    """A file that has been read, but not yet for any layer.

    header  what it says about its layer and architecture: `layer`, `conv`, `gemm`, `arch`
    """

    header: dict[str, str]
    levels: Field

    def mapping(self, problem: Problem, arch: Architecture) -> Mapping:
        """The mapping of a layer on an architecture.

        Raises MappingError, with file, line and field, for a name that neither of the two has, and for loops that do
        not cover the layer. Whether tiles fit is for `evaluate` to say.
        """
        try:
            return _mapping(self.levels, problem, arch)
        except TilewrightError as error:
            raise MappingError(error.message, where=error.where, hint=error.hint) from None


def read_mapping_file(text: str, where: str) -> MappingFile:
    """The mapping file in a YAML text; `where` is what messages call it.

    Raises MappingError for text that is not such a file.
    """
    try:
        document = read_document(text, where, "a mapping", "start with 'levels:', outermost first")
        if isinstance(document.value, dict) and "operations" in document.value:
            hint = "name the file of its tree with --mapping (docs/cascades.md), or search it: tilewright search FILE"
            raise document.error("found the operations of a cascade, expected a mapping", hint=hint)
        top = document.members({"levels": "a list of memories and fanouts, outermost first"}, _HEADER)
        return MappingFile({key: top[key].text() for key in _HEADER if key in top}, top["levels"])
    except TilewrightError as error:
        raise MappingError(error.message, where=error.where, hint=error.hint) from None


def _mapping(levels: Field, problem: Problem, arch: Architecture) -> Mapping:
    placed: list[tuple[Loop | Node, Field]] = []
    for entry in levels.elements("memories and fanouts, outermost first"):
        placed += _entry(entry, problem, arch)
    _refuse_second_nodes(placed)
    nest = LoopNest(tuple(item for item, _ in placed))
    for dim, size in problem.dims:
        first = next((place for item, place in placed if isinstance(item, Loop) and item.dim == dim), levels)
        try:
            check_cover(nest, dim, size)
        except MappingError as error:
            raise first.error(error.message, hint=error.hint) from None
    try:
        return Mapping(problem, nest)
    except MappingError as error:
        raise levels.error(error.message, hint=error.hint) from None


def _refuse_second_nodes(placed: list[tuple[Loop | Node, Field]]) -> None:
    first: dict[Node, Field] = {}
    for item, place in placed:
        if isinstance(item, Node) and item in first:
            raise place.error(f"{item.memory} keeps {item.tensor} twice, first in line {first[item].line}")
        if isinstance(item, Node):
            first[item] = place


def _entry(entry: Field, problem: Problem, arch: Architecture) -> Iterator[tuple[Loop | Node, Field]]:
    members = entry.mapping("a memory, a fanout or loops, such as '- memory: DRAM'")
    if "fanout" in members:
        yield from _fanout(entry, problem, arch)
        return
    members = entry.members({}, ("memory", "keep", "loops"))
    if "keep" in members and "memory" not in members:
        raise entry.error("missing, expected the memory that keeps these tensors", key="memory")
    if "memory" in members:
        memory = members["memory"].text("a name such as GLB")
        _check_level(members["memory"], arch, memory, Memory)
        kept = members.get("keep")
        for tensor in kept.elements("tensors such as [I, W]") if kept and kept.value != () else ():
            yield Node(memory, _known(tensor, "tensor", [t.name for t in problem.tensors])), tensor
    if "loops" in members:
        yield from _loops(members["loops"], problem, None)


def _fanout(entry: Field, problem: Problem, arch: Architecture) -> Iterator[tuple[Loop | Node, Field]]:
    members = entry.members({"fanout": "a name such as array"}, ("x", "y"))
    name = members["fanout"].text("a name such as array")
    level = _check_level(members["fanout"], arch, name, Fanout)
    for key, member in members.items():
        if key == "fanout":
            continue
        if isinstance(level, Fanout) and "xy".index(key) >= len(level.axes):
            raise member.error(f"{name} has no axis {key}, expected x alone")
        yield from _loops(member, problem, Axis(name, "xy".index(key)))


def _loops(field: Field, problem: Problem, axis: Axis | None) -> Iterator[tuple[Loop, Field]]:
    for element in field.elements(_A_LOOP):
        text = element.text("a loop such as K=4")
        match = _LOOP.fullmatch(text)
        if match is None or int(match[2]) == 0:
            raise element.error(f"found {text!r}, expected a dimension and its trips, such as K=4")
        dim = match[1]
        if dim not in problem.sizes:
            raise element.error(f"unknown dimension {dim!r}", hint=did_you_mean(dim, problem.sizes))
        yield Loop(dim, int(match[2]), axis), element


def _known(field: Field, what: str, names: list[str]) -> str:
    name = field.text(f"a {what} such as {names[0]}")
    if name not in names:
        raise field.error(f"unknown {what} {name!r}", hint=did_you_mean(name, names))
    return name


def _check_level(field: Field, arch: Architecture, name: str, kind: type[Memory | Fanout]) -> Memory | Fanout:
    level = arch.levels[arch.depth[name]] if name in arch.depth else None
    word = "memory" if kind is Memory else "fanout"
    if level is None:
        known = [each.name for each in arch.levels if isinstance(each, kind)]
        raise field.error(f"{arch.name} has no {word} {name!r}", hint=did_you_mean(name, known))
    if not isinstance(level, kind):
        raise field.error(f"{name} is a {level.kind} of {arch.name}, expected '- {level.kind}: {name}'")
    return level
