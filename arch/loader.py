"""Architecture files: YAML with the units written out, read into an `Architecture` in base units.

    name: example                # required; every other text about the machine is optional
    description: one line
    technology: TSMC 65 nm LP
    source: where the figures come from
    clock: 200 MHz               # Hz, kHz, MHz, GHz
    word: 16 bit                 # width of operands and finished outputs
    partial_sum: 32 bit          # width of partial sums; a word, if not given
    inner_drain_read: true       # a partial sum that leaves is read from the inner memory (the default)
    first_read_elision: true     # the first visit of a partial sum reads nothing (the default)
    reuse: across_levels         # a tile stays over loops that do not move it (the default); at_node: over no loop
    footprint: exact             # a tile's words are those that it touches (the default); box: those between them too
    latency: steady              # of the busiest resource (the default); with_fill: and the first tiles, and the last
    overlap: within_operations   # operations of a cascade take turns (the default); across_operations: all at once
    leakage: 5 mW                # of what is neither memory nor MAC; a power, or pJ/cycle; nothing, if not given
    area: 1.5 mm2                # of what is neither memory nor MAC; for information

    levels:                      # outermost first; the first one is a memory that keeps everything, without a size
      - memory: DRAM
        access: 16 bit           # the width that the two energies are for; other widths cost in proportion
        read: 200 pJ             # aJ, fJ, pJ, nJ, uJ, mJ, J
        write: 200 pJ
        bandwidth: 480 MB/s      # of one instance, one port for both directions; unbounded, if not given
        line: 64 B               # its ports move whole lines; of any number of bits, if not given (docs/layouts.md)
        layout: {input: NHWC, W: KCRS8c}        # the order of words in them, by role or by tensor, or one for all
        banks: 16                # lines lie in so many, neighbours in different ones; all pass together, if not given
        bank_ports: 2            # lines that a bank moves in a cycle; 1, if not given
      - memory: GLB
        size: 108 KiB            # for all tensors together; or a part for each tensor (see spad); or `unbounded`
        access: 16 bit
        read: 6 pJ
        write: 6 pJ
        bandwidth: {read: 8 B/cycle, write: 4 words/cycle}            # a port for each direction
        keep: {input: must, weight: never, output: may}               # or one word for all; the default is must
        halo: innermost          # what a sliding tile keeps: none, innermost (the default), exact
        double_buffered: false   # true: every tile takes its room twice
        overlaps: true           # false: its transfers add to the time of the computation
        compress: {weight: bitmask}   # tensors with zeros, by role: bitmask, coordinate, runs, csr, blocks (of N:M) or
                                      # uncompressed; or a list of them, to choose from
        skip: {weight: [input]}  # reads of weights that meet nothing but zeros of the input; gate: their energy alone
        block: 64 B              # its energies are for whole blocks; for any number of bits, if not given
        leakage: 0.5 mW          # of one instance, at work or not
        area: 0.4 mm2            # of one instance
        estimate: {kind: sram, node: 28 nm}     # of figures that are left out (estimate_fields.py)
      - fanout: array            # an array of everything below; one axis or two
        x: 14                    # any dimension may be spread over it
        y: {size: 12, dims: [R, C], reuse: output}    # only these, and only those that do not move the outputs;
                                 # `reduce: false`: no reduction loops
        multicast: true          # one read above serves every instance that wants the word (the default)
        spatial_reduction: true  # partial sums are added up on their way out (the default)
        hop: 0.06 pJ/bit         # from one instance to the next along an axis; nothing, if not given
      - memory: spad
        size: {input: 12 words, weight: 448 B, shared: 64 B}          # `shared` is for tensors without a part
        access: 16 bit
        read: 1 pJ
        write: 1 pJ

    mac: {energy: 1 pJ, per_cycle: 1, leakage: 3 uW, area: 900 um2}   # per_cycle is 1, if not given
                                 # skip: [weight], gate: [input]: zeros that it leaves out; structure: 2:4 alone
                                 # ops: {exp: {energy: 4 pJ, per_cycle: 0.25}} is of points that do not multiply

    parameters: {lanes: 16}      # named values, for `x: lanes`; any field may be referred to (formulas.py)

A number with or without a unit may be a formula in other fields of the level, in parameters and in fields elsewhere:
`read: 6 pJ * (size / 108 KiB)**0.5`, `x: lanes / 2`, `bandwidth: array.x words/cycle` (formulas.py, expression.py).

Sizes are `bit`, `B`, `KiB` (1024 B), `kB` (1000 B) and so on, or `words` of the architecture's width; a bandwidth is a
size per cycle or per second. Unknown keys, keys given twice, aliases and tags are refused, and every error says
`file:line: field.path`, what was found and what was expected.
"""

from __future__ import annotations

import contextlib
import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from ..inputs import checks
from ..ir import ArchitectureError, Role, did_you_mean
from ..ir.expression import OPERATION_KINDS
from ..ir.problem import ROLES
from .document import LEVEL_NAME, Field, is_path, read_document, read_text
from .estimate_fields import estimated_text, given, mac_estimate, memory_estimate, wants
from .other_tools import tool_file
from .settings import Setting, shown_settings, with_settings
from .spec import (
    Architecture,
    ArrayAxis,
    Fanout,
    Footprint,
    Halo,
    Keep,
    Keeps,
    Latency,
    Mac,
    Memory,
    Op,
    Overlap,
    Reuse,
)
from .units import area_mm2, bits_per_cycle, clock_hz, energy_pj, pj_per_bit, pj_per_cycle, size_bits
from .zeros import formats_of, roles_of, savings_of, structure_of

Model = TypeVar("Model", bound=BaseModel)

_LIBRARY = Path(__file__).parent / "library"

_A_SIZE = "a size such as 108 KiB"
_AN_ENERGY = "an energy such as 6 pJ"
_A_BANDWIDTH = "a bandwidth such as 16 B/cycle"
_AN_INSTANCE_COUNT = "a whole number of instances such as 16"

_TOP = {
    "name": "a name such as eyeriss",
    "clock": "a clock such as 200 MHz",
    "word": "a width such as 16 bit",
    "levels": "a list of memories and fanouts, outermost first",
    "mac": "a mapping such as {energy: 1 pJ}",
}
_SWITCHES = ("inner_drain_read", "first_read_elision", "reuse", "footprint", "latency", "overlap")
_OVERLAPS = ("within_operations", "across_operations")
_TOP_OPTIONAL = (
    "description", "technology", "source", "partial_sum", "leakage", "area", "parameters", *_SWITCHES
)  # fmt: skip
_MEMORY = {
    "memory": "a name such as DRAM",
    "access": "the width that the energies are for, such as 16 bit",
    "read": _AN_ENERGY,
    "write": _AN_ENERGY,
}
_MEMORY_OPTIONAL = (
    "size", "bandwidth", "keep", "halo", "double_buffered", "overlaps", "block", "line", "layout", "banks",
    "bank_ports", "leakage", "area", "estimate", "compress", "gate", "skip",
)  # fmt: skip
_BANKS = {"banks": "a number of banks such as 16", "bank_ports": "the lines that a bank moves in a cycle, such as 2"}
_MAC = {"energy": "an energy such as 1 pJ"}
_MAC_KEYS = ("energy", "per_cycle", "leakage", "area", "estimate", "ops", "gate", "skip", "structure")
_FANOUT = {"fanout": "a name such as array", "x": _AN_INSTANCE_COUNT}
_FANOUT_OPTIONAL = ("y", "multicast", "spatial_reduction", "hop")

# What files of other tools have at their top: what they are, and what reads them.
# Where the file says a thing that the specification calls otherwise; the unit is in the value there.
_KEY_OF_SPEC = {
    "access_bits": "access",
    "area_mm2": "area",
    "block_bits": "block",
    "clock_hz": "clock",
    "energy_pj": "energy",
    "hop_pj_per_bit": "hop",
    "keeps": "keep",
    "layouts": "layout",
    "line_bits": "line",
    "leakage_pj_per_cycle": "leakage",
    "partial_sum_bits": "partial_sum",
    "partition_bits": "size",
    "read_energy_pj": "read",
    "read_bits_per_cycle": "bandwidth",
    "shared_bits_per_cycle": "bandwidth",
    "size_bits": "size",
    "word_bits": "word",
    "write_bits_per_cycle": "bandwidth",
    "write_energy_pj": "write",
}


@dataclass(frozen=True)
class _Scale:
    """What sizes in words [bit] and bandwidths per second [Hz] are measured with.

    estimated  memory or MAC -> figures that its estimate filled in, as they are read
    """

    word_bits: int
    clock_hz: float
    estimated: dict[str, tuple[str, ...]]

    def size(self, field: Field) -> int:
        return field.quantity(partial(size_bits, word_bits=self.word_bits), _A_SIZE)

    def bandwidth(self, field: Field) -> float | None:
        """Bits per cycle; None is unbounded."""
        if field.value == "unbounded":
            return None
        parse = partial(bits_per_cycle, word_bits=self.word_bits, clock_hz=self.clock_hz)
        return field.quantity(parse, f"{_A_BANDWIDTH}, or unbounded")

    def idle(self, members: Mapping[str, Field]) -> dict[str, float]:
        """What something costs by being there: leakage and area, where they are given."""
        leakage = partial(pj_per_cycle, clock_hz=self.clock_hz)
        found = {}
        if "leakage" in members:
            found["leakage_pj_per_cycle"] = members["leakage"].quantity(leakage, "a leakage such as 0.5 mW")
        if "area" in members:
            found["area_mm2"] = members["area"].quantity(area_mm2, "an area such as 0.05 mm2")
        return found


def list_archs() -> tuple[str, ...]:
    """Names of the machines in the library, in alphabetical order."""
    return tuple(sorted(path.stem for path in _LIBRARY.glob("*.yaml")))


def load_arch(name_or_path: str | os.PathLike[str], set: Mapping[str, Setting] | None = None) -> Architecture:
    """A machine of the library by its name, or an architecture file by its path.

    name_or_path  a text is a path when it ends in .yaml or .yml, holds a path separator, or names an existing file; a
                  library name comes first
    set  fields to set before the file is checked, such as {"array.x": 128, "GLB.size": "1 MiB"} (settings.py)

    Raises ArchitectureError when there is no such machine, file or field, or when the file cannot be understood.
    """
    name = checks.path(
        name_or_path, "the architecture", "a name of the library or the path of a file", ArchitectureError
    )
    known = list_archs()
    if isinstance(name_or_path, str) and name in known:
        path = _LIBRARY / f"{name}.yaml"
        return parse_arch(read_text(path, f"library/{path.name}"), f"library/{path.name}", set)
    if isinstance(name_or_path, str) and not is_path(name):
        raise ArchitectureError(
            f"no architecture is named {name!r}, expected a library name or a path that ends in .yaml",
            hint=did_you_mean(name, known),
        )
    text = read_text(Path(name), name, hint=_instead_of(Path(name), known))
    if text.lstrip().startswith("{") and '"schema_version"' in text:
        hint = f"its own architecture is in it: `tilewright evaluate {name}` needs no --arch"
        raise ArchitectureError("this is a mapping.json, expected an architecture file", where=name, hint=hint)
    if other := tool_file(text, name):
        raise ArchitectureError(f"this is {other.what}, expected an architecture file", where=name, hint=other.hint)
    return parse_arch(text, name, set)


def _instead_of(path: Path, known: Sequence[str]) -> str:
    """A hint for a path that is not there: the nearest file beside it or name of the library, or all these names."""
    stems = {name: name for name in known}
    with contextlib.suppress(OSError, ValueError):  # a folder that is not there, or not to be read
        stems |= {
            other.stem: str(other)
            for other in path.parent.iterdir()
            if other.suffix in (".yaml", ".yml") and other.is_file()
        }
    near = difflib.get_close_matches(path.stem, stems, n=1)
    return f"did you mean {stems[near[0]]!r}?" if near else f"library names are {', '.join(known)}"


def parse_arch(text: str, where: str = "<text>", set: Mapping[str, Setting] | None = None) -> Architecture:
    """The architecture that a YAML text describes; the format is at the top of this module.

    where  how messages call the text, usually its file name
    set    fields to set, as for `load_arch`

    Raises ArchitectureError with `where:line: field.path` when the text cannot be understood.
    """
    chosen = checks.mapping({} if set is None else set, "set", 'a dict such as {"array.x": 128}', ArchitectureError)
    for key in chosen:
        checks.text(key, "a field in set", "a path such as array.x", ArchitectureError)
    document = with_settings(read_document(text, where), chosen, (*_TOP, *_TOP_OPTIONAL))
    top = document.members(_TOP, _TOP_OPTIONAL)
    scale = _Scale(
        word_bits=top["word"].quantity(size_bits, _TOP["word"]),
        clock_hz=top["clock"].quantity(clock_hz, _TOP["clock"]),
        estimated={},
    )
    level_fields = top["levels"].elements(_TOP["levels"])
    levels = [_level(field, scale, outermost=i == 0) for i, field in enumerate(level_fields)]
    _refuse_second_name(level_fields)
    mac = _mac(top["mac"], scale)
    texts = {key: top[key].text() for key in ("name", "description", "technology", "source") if key in top}
    if estimated := estimated_text(scale.estimated):
        texts["source"] = "; ".join(filter(None, [texts.get("source"), estimated]))
    # What is left to go wrong in a whole architecture is its outermost level, so the error stands there.
    return _build(
        Architecture,
        level_fields[0],
        **texts,
        settings=shown_settings(set or {}),
        clock_hz=scale.clock_hz,
        word_bits=scale.word_bits,
        partial_sum_bits=scale.size(top["partial_sum"]) if "partial_sum" in top else None,
        inner_drain_read=_flag(top, "inner_drain_read", True),
        first_read_elision=_flag(top, "first_read_elision", True),
        reuse=_reuse(top),
        footprint=_footprint(top),
        latency=cast(Latency, top["latency"].choice(("steady", "with_fill"))) if "latency" in top else "steady",
        overlap=cast(Overlap, top["overlap"].choice(_OVERLAPS)) if "overlap" in top else _OVERLAPS[0],
        levels=levels,
        mac=mac,
        **scale.idle(top),
    )


def _level(field: Field, scale: _Scale, *, outermost: bool) -> Memory | Fanout:
    members = field.mapping("a memory or a fanout, such as '- memory: DRAM'")
    kinds = [kind for kind in ("memory", "fanout") if kind in members]
    if len(kinds) != 1:
        found = "both a memory and a fanout" if kinds else "neither a memory nor a fanout"
        raise field.error(f"this level is {found}, expected '- memory: NAME' or '- fanout: NAME'")
    if kinds == ["memory"]:
        return _memory(field, scale, outermost)
    if outermost:
        raise field.error("the outermost level is a fanout, expected a memory that keeps everything, such as DRAM")
    return _fanout(field, scale)


def _memory(field: Field, scale: _Scale, outermost: bool) -> Memory:
    estimated = [key for key in ("read", "write") if wants(_plain_members(field), key)]
    required = {key: what for key, what in _MEMORY.items() if key not in estimated}
    members = given(field.members(required, (*_MEMORY_OPTIONAL, *estimated)))
    keeps = _keeps(members["keep"]) if "keep" in members else Keeps()
    if "size" not in members and not outermost:
        raise field.error(f"missing, expected {_A_SIZE}, a part for each tensor, or unbounded", key="size")
    energies = {key: members[key].quantity(energy_pj, _AN_ENERGY) for key in ("read", "write") if key in members}
    memory = _build(
        Memory,
        field,
        name=_level_name(members["memory"]),
        access_bits=scale.size(members["access"]),
        read_energy_pj=energies.get("read", 0.0),
        write_energy_pj=energies.get("write", 0.0),
        keeps=keeps,
        halo=_halo(members),
        double_buffered=_flag(members, "double_buffered", False),
        overlaps=_flag(members, "overlaps", True),
        block_bits=scale.size(members["block"]) if "block" in members else None,
        line_bits=scale.size(members["line"]) if "line" in members else None,
        layouts=_layouts(members["layout"]) if "layout" in members else {},
        **{key: members[key].whole(expected) for key, expected in _BANKS.items() if key in members},
        formats=formats_of(members["compress"]) if "compress" in members else {},
        gates=savings_of(members["gate"]) if "gate" in members else {},
        skips=savings_of(members["skip"]) if "skip" in members else {},
        **scale.idle(members),
        **(_sizes(members["size"], keeps, scale) if "size" in members else {}),
        **(_ports(members["bandwidth"], scale) if "bandwidth" in members else {}),
    )
    return _with_estimates(memory, field, scale) if "estimate" in members else memory


def _with_estimates(memory: Memory, field: Field, scale: _Scale) -> Memory:
    """The memory with the figures that it leaves to its estimate."""
    estimate = memory_estimate(_plain_members(field), memory)
    energies = {f"{name}_energy_pj": estimate.pj(name) for name in ("read", "write") if name in estimate.names}
    scale.estimated[memory.name] = estimate.names
    return memory.model_copy(update={**energies, **estimate.idle(scale.clock_hz)})


def _plain_members(field: Field) -> Mapping[str, Field]:
    return field.value if isinstance(field.value, Mapping) else {}


def _fanout(field: Field, scale: _Scale) -> Fanout:
    members = field.members(_FANOUT, _FANOUT_OPTIONAL)
    per_bit = partial(pj_per_bit, word_bits=scale.word_bits)
    return _build(
        Fanout,
        field,
        name=_level_name(members["fanout"]),
        axes=[_axis(members[key]) for key in ("x", "y") if key in members],
        multicast=_flag(members, "multicast", True),
        spatial_reduction=_flag(members, "spatial_reduction", True),
        hop_pj_per_bit=members["hop"].quantity(per_bit, "an energy per size such as 0.06 pJ/bit")
        if "hop" in members
        else 0.0,
    )


def _mac(field: Field, scale: _Scale) -> Mac:
    estimated = wants(_plain_members(field), "energy")
    required = {} if estimated else _MAC
    members = given(field.members(required, _MAC_KEYS))
    estimate = mac_estimate(_plain_members(field)) if "estimate" in members else None
    energy = members["energy"].quantity(energy_pj, _MAC["energy"]) if "energy" in members else None
    idle = scale.idle(members)
    if estimate is not None:
        scale.estimated["MAC"] = estimate.names
        energy = estimate.pj("energy") if energy is None else energy
        idle |= estimate.idle(scale.clock_hz)
    ops = _ops(members["ops"]) if "ops" in members else {}
    zeros = {f"{key}s": roles_of(members[key]) for key in ("gate", "skip") if key in members}
    structure = structure_of(members["structure"]) if "structure" in members else None
    return _build(
        Mac, field, energy_pj=energy, per_cycle=_per_cycle(members), **idle, ops=ops, **zeros, structure=structure
    )


def _ops(field: Field) -> dict[str, Op]:
    """What points cost that are no multiply-accumulates, by kind of function."""
    found = {}
    for kind, each in field.members({}, OPERATION_KINDS).items():
        members = each.members(_MAC, ("per_cycle",))
        energy = members["energy"].quantity(energy_pj, _MAC["energy"])
        found[kind] = _build(Op, each, energy_pj=energy, per_cycle=_per_cycle(members))
    return found


def _per_cycle(members: Mapping[str, Field]) -> float:
    return members["per_cycle"].number("a positive number of MACs such as 1") if "per_cycle" in members else 1.0


def _level_name(field: Field) -> str:
    name = field.text("a name such as DRAM")
    if not LEVEL_NAME.fullmatch(name):
        raise field.error(f"found {name!r}, expected a name of letters, digits, '_' and '-', a letter first")
    return name


def _refuse_second_name(level_fields: tuple[Field, ...]) -> None:
    first: dict[str, int] = {}
    for field in level_fields:
        members = field.mapping("a level")
        name = members["memory"] if "memory" in members else members["fanout"]
        text = name.text()
        if text in first:
            raise name.error(f"a second level is named {text!r}, the first is in line {first[text]}")
        first[text] = name.line


def _sizes(field: Field, keeps: Keeps, scale: _Scale) -> dict[str, Any]:
    """`size_bits` and `partition_bits`: one size for all tensors, or a part for each."""
    if field.value == "unbounded":
        return {}
    if isinstance(field.value, str):
        return {"size_bits": scale.size(field)}
    members = field.members({}, (*ROLES, "shared"))
    for role in ROLES:
        if keeps[role] == "never" and role in members:
            raise members[role].error(f"the {role} has a part here, and 'keep' says never; expected one of the two")
        if keeps[role] != "never" and role not in members and "shared" not in members:
            hint = f"add a part, 'shared: 64 B' for the tensors without one, or 'keep: {{{role}: never}}'"
            raise field.error(f"missing, expected {_A_SIZE}, since this memory keeps the {role}", key=role, hint=hint)
    parts = {role: scale.size(members[role]) for role in ROLES if role in members}
    return {"partition_bits": parts, "size_bits": scale.size(members["shared"]) if "shared" in members else None}


def _ports(field: Field, scale: _Scale) -> dict[str, float | None]:
    """Bandwidth of one shared port, or of separate ports, in bits per cycle."""
    if isinstance(field.value, str):
        return {"shared_bits_per_cycle": scale.bandwidth(field)}
    members = field.members({}, ("read", "write"))
    return {f"{port}_bits_per_cycle": scale.bandwidth(member) for port, member in members.items()}


def _keeps(field: Field) -> Keeps:
    options = ("must", "may", "never")
    if isinstance(field.value, str):
        same = cast(Keep, field.choice(options))
        return Keeps(input=same, weight=same, output=same)
    members = field.members({}, ROLES)
    return _build(Keeps, field, **{role: member.choice(options) for role, member in members.items()})


def _layouts(field: Field) -> dict[str, str]:
    """The order of words in the lines of a memory: one text for all tensors, or by tensor or role."""
    expected = "a layout such as NHWC or row-major"
    if isinstance(field.value, str):
        return dict.fromkeys(ROLES, field.text(expected))
    return {key: member.text(expected) for key, member in field.mapping(f"{expected}, or one for each tensor").items()}


def _halo(members: Mapping[str, Field]) -> Halo:
    return cast(Halo, members["halo"].choice(("none", "innermost", "exact"))) if "halo" in members else "innermost"


def _reuse(top: Mapping[str, Field]) -> Reuse:
    return cast(Reuse, top["reuse"].choice(("across_levels", "at_node"))) if "reuse" in top else "across_levels"


def _footprint(top: Mapping[str, Field]) -> Footprint:
    return cast(Footprint, top["footprint"].choice(("exact", "box"))) if "footprint" in top else "exact"


def _axis(field: Field) -> ArrayAxis:
    if isinstance(field.value, str):
        return _build(ArrayAxis, field, size=field.whole(_AN_INSTANCE_COUNT))
    members = field.members({"size": _AN_INSTANCE_COUNT}, ("dims", "reuse", "reduce"))
    return _build(
        ArrayAxis,
        field,
        size=members["size"].whole(_AN_INSTANCE_COUNT),
        dims=_dims(members["dims"]) if "dims" in members else None,
        reuse=cast(Role, members["reuse"].choice(ROLES)) if "reuse" in members else None,
        reduce=_flag(members, "reduce", True),
    )


def _dims(field: Field) -> tuple[str, ...]:
    expected = "a list of dimensions such as [P, Q]"
    dims: list[str] = []
    for element in field.elements(expected):
        dim = element.text("a dimension such as P")
        if dim in dims:
            raise element.error(f"dimension {dim!r} is given twice")
        dims.append(dim)
    return tuple(dims)


def _flag(members: Mapping[str, Field], key: str, default: bool) -> bool:
    return members[key].boolean() if key in members else default


def _build(model: type[Model], field: Field, **values: Any) -> Model:
    """A part of the specification; what pydantic refuses becomes an error at the place in the file."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = next((_KEY_OF_SPEC.get(str(part), str(part)) for part in first["loc"]), None)
        message = first["msg"].removeprefix("Value error, ")
        place = field.value.get(key, field) if key and isinstance(field.value, Mapping) else field
        raise place.error(message[:1].lower() + message[1:] if key else message) from None
