"""An architecture as the text of an architecture file, which `load_arch` reads back as the same machine.

Figures are in units that lose nothing: a size in the largest unit of which it is a whole number, a bandwidth in bits or
bytes per cycle. Fields that say what is so anyway are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction

from ..ir import ArchitectureError
from ..ir.errors import on_one_line
from ..ir.problem import ROLES
from .document import LEVEL_NAME
from .ports import bounded_kinds
from .spec import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from .units import number_text, shown, size_text

_PLAIN = re.compile(r"[A-Za-z][\w ,.()/+-]*")


def architecture_text(arch: Architecture, notes: Iterable[str] = ()) -> str:
    """The text of a file; `notes` are comments at its top. Raises ArchitectureError for names that no file can hold."""
    for level in arch.levels:
        if not LEVEL_NAME.fullmatch(level.name):
            hint = "rename it: letters, digits, '_' and '-', a letter first"
            raise ArchitectureError(f"a file cannot hold the name {shown(level.name)}", where=arch.name, hint=hint)
    _refuse_references((arch.name, arch.description, arch.technology, arch.source))
    lines = [*(f"# {on_one_line(note)}" for note in notes), f"name: {_quoted(arch.name)}"]
    texts = {"description": arch.description, "technology": arch.technology, "source": arch.source}
    lines += [f"{key}: {_quoted(text)}" for key, text in texts.items() if text]
    lines += [f"clock: {_clock(arch.clock_hz)}", f"word: {arch.word_bits} bit", *_switches(arch), *_idle(arch, "")]
    lines += ["", "levels:"]
    for position, level in enumerate(arch.levels):
        lines += _memory(level, outermost=position == 0) if isinstance(level, Memory) else _fanout(level)
    return "\n".join([*lines, "", "mac:", *_mac(arch.mac)]) + "\n"


def _refuse_references(texts: Iterable[str]) -> None:
    """ArchitectureError for a text in which a file would see a reference to a field."""
    for text in texts:
        if re.search(r"\$[A-Za-z_]", text):
            hint = "take out the $, which refers to a field there"
            raise ArchitectureError(f"a file cannot hold the text {shown(text)}", hint=hint)


def _switches(arch: Architecture) -> Iterator[str]:
    if arch.partial_sum_bits is not None:
        yield f"partial_sum: {arch.partial_sum_bits} bit"
    for key, default in (("inner_drain_read", True), ("first_read_elision", True)):
        if getattr(arch, key) is not default:
            yield f"{key}: false"
    for key in ("reuse", "footprint", "padding", "latency", "overlap"):
        if getattr(arch, key) != Architecture.model_fields[key].default:
            yield f"{key}: {getattr(arch, key)}"


def _memory(memory: Memory, *, outermost: bool) -> Iterator[str]:
    yield f"  - memory: {memory.name}"
    if not outermost:
        yield f"    size: {_size(memory)}"
    elif memory.holds_bits is not None:
        yield f"    size: {size_text(memory.holds_bits)}"
    yield f"    access: {memory.access_bits} bit"
    yield f"    read: {number_text(memory.read_energy_pj)} pJ"
    yield f"    write: {number_text(memory.write_energy_pj)} pJ"
    if bandwidth := _bandwidth(memory):
        yield f"    bandwidth: {bandwidth}"
    if memory.keeps != Keeps():
        yield f"    keep: {_mapping((role, memory.keeps[role]) for role in ROLES)}"
    if memory.halo != "innermost":
        yield f"    halo: {memory.halo}"
    yield from _transfers(memory)
    if memory.block_bits is not None:
        yield f"    block: {memory.block_bits} bit"
    yield from _lines(memory)
    yield from _zeros(memory)
    yield from _idle(memory, "    ")


def _transfers(memory: Memory) -> Iterator[str]:
    if memory.double_buffered:
        yield "    double_buffered: true"
    if not memory.overlaps:
        yield "    overlaps: false"
    if memory.is_cache:
        yield "    cache: true"
    if memory.prefetch != "none":
        yield f"    prefetch: {memory.prefetch}"


def _lines(memory: Memory) -> Iterator[str]:
    if memory.line_bits is not None:
        yield f"    line: {memory.line_bits} bit"
    if memory.banks is not None:
        yield f"    banks: {memory.banks}"
    if memory.bank_ports > 1:
        yield f"    bank_ports: {memory.bank_ports}"
    if memory.layouts:
        yield f"    layout: {_mapping((key, repr(text)) for key, text in memory.layouts.items())}"


def _zeros(memory: Memory) -> Iterator[str]:
    if memory.formats:
        formats = ((role, kinds[0] if len(kinds) == 1 else _list(kinds)) for role, kinds in memory.formats.items())
        yield f"    compress: {_mapping(formats)}"
    for key, saved in (("gate", memory.gates), ("skip", memory.skips)):
        if saved:
            yield f"    {key}: {_mapping((role, _list(on)) for role, on in saved.items())}"


def _size(memory: Memory) -> str:
    if not memory.partition_bits:
        return size_text(memory.size_bits) if memory.size_bits is not None else "unbounded"
    parts = [(str(role), size_text(bits)) for role, bits in memory.partition_bits.items()]
    shared = [("shared", size_text(memory.size_bits))] if memory.size_bits is not None else []
    return _mapping([*parts, *shared])


def _bandwidth(memory: Memory) -> str:
    if memory.shared_bits_per_cycle is not None:
        return _per_cycle(memory.shared_bits_per_cycle)
    given = [(kind.name, _per_cycle(bits)) for kind, bits in bounded_kinds(memory)]
    return _mapping(given) if given else ""


def _fanout(fanout: Fanout) -> Iterator[str]:
    yield f"  - fanout: {fanout.name}"
    yield from (f"    {'xy'[i]}: {_axis(axis)}" for i, axis in enumerate(fanout.axes))
    if not fanout.multicast:
        yield "    multicast: false"
    if not fanout.spatial_reduction:
        yield "    spatial_reduction: false"
    if fanout.hop_pj_per_bit:
        yield f"    hop: {number_text(fanout.hop_pj_per_bit)} pJ/bit"


def _axis(axis: ArrayAxis) -> str:
    said = [("size", str(axis.size))]
    said += [("dims", _list(axis.dims))] if axis.dims is not None else []
    said += [("reuse", axis.reuse)] if axis.reuse is not None else []
    said += [] if axis.reduce else [("reduce", "false")]
    said += [("latency", f"{number_text(axis.latency_cycles)} cycles")] if axis.latency_cycles else []
    return str(axis.size) if len(said) == 1 else _mapping(said)


def _mac(mac: Mac) -> Iterator[str]:
    yield f"  energy: {number_text(mac.energy_pj)} pJ"
    if mac.per_cycle != 1:
        yield f"  per_cycle: {number_text(mac.per_cycle)}"
    for key, roles in (("gate", mac.gates), ("skip", mac.skips)):
        if roles:
            yield f"  {key}: {_list(roles)}"
    if mac.structure is not None:
        yield f"  structure: {mac.structure[0]}:{mac.structure[1]}"
    if mac.ops:
        yield "  ops:"
        for kind, op in mac.ops.items():
            energy, per_cycle = number_text(op.energy_pj), number_text(op.per_cycle)
            yield f"    {kind}: {{energy: {energy} pJ, per_cycle: {per_cycle}}}"
    yield from _idle(mac, "  ")


def _idle(part: Architecture | Memory | Mac, indent: str) -> Iterator[str]:
    if part.leakage_pj_per_cycle:
        yield f"{indent}leakage: {number_text(part.leakage_pj_per_cycle)} pJ/cycle"
    if part.area_mm2:
        yield f"{indent}area: {number_text(part.area_mm2)} mm2"


def _clock(hertz: float) -> str:
    """In the largest unit that gives the same number of hertz back."""
    for unit, scale in (("GHz", 10**9), ("MHz", 10**6), ("kHz", 10**3)):
        text = number_text(Fraction(hertz) / scale)
        if hertz >= scale and float(Fraction(text) * scale) == hertz:
            return f"{text} {unit}"
    return f"{number_text(hertz)} Hz"


def _per_cycle(bits: float) -> str:
    return f"{number_text(bits / 8)} B/cycle" if bits % 8 == 0 else f"{number_text(bits)} bit/cycle"


def _mapping(pairs: Iterable[tuple[str, str]]) -> str:
    return f"{{{', '.join(f'{key}: {value}' for key, value in pairs)}}}"


def _list(words: Iterable[str]) -> str:
    return f"[{', '.join(words)}]"


def _quoted(text: str) -> str:
    """A text as YAML reads it back; JSON's quotes are YAML's, too."""
    line = " ".join(text.split())
    return line if _PLAIN.fullmatch(line) and line == line.strip() else json.dumps(line)
