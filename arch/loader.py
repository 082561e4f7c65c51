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
        bandwidth: {read: 8 B/cycle, write: 4 words/cycle}            # a port for each direction; or by role, for
                                 # {input: 14 GB/s, weight: 34 GB/s}, of both directions
        keep: {input: must, weight: never, output: may}               # or one word for all; the default is must
        halo: innermost          # what a sliding tile keeps: none, innermost (the default), exact
        double_buffered: false   # true: every tile takes its room twice
        overlaps: true           # false: its transfers add to the time of the computation
        cache: false             # true: it holds what passes through by itself; programs copy nothing into it
        compress: {weight: bitmask}   # tensors with zeros, by role: bitmask, coordinate, runs, csr, blocks (of N:M) or
                                      # uncompressed; or a list of them, to choose from
        skip: {weight: [input]}  # reads of weights that meet nothing but zeros of the input; gate: their energy alone
        block: 64 B              # its energies are for whole blocks; for any number of bits, if not given
        leakage: 0.5 mW          # of one instance, at work or not
        area: 0.4 mm2            # of one instance
        estimate: {kind: sram, node: 28 nm}     # of figures that are left out (estimate_fields.py)
      - fanout: array            # an array of everything below; one axis or two
        x: {size: 14, latency: 1 cycle}         # any dimension may be spread over it; a hop along it takes a cycle, so
                                 # that 13 cycles pass until all instances are at work (0 cycles, if not given)
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
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from ..inputs import checks
from ..ir import ArchitectureError, did_you_mean
from .document import is_path, read_document, read_text
from .estimate_fields import estimated_text
from .levels import level_of, mac_of, refuse_second_name
from .parts import Scale, build, flag
from .settings import Setting, shown_settings, with_settings
from .spec import Architecture, Footprint, Latency, Overlap, Reuse
from .units import clock_hz, size_bits

_LIBRARY = Path(__file__).parent / "library"

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
    return parse_arch(*arch_file(name_or_path), set)


def arch_file(name_or_path: str | os.PathLike[str]) -> tuple[str, str]:
    """The text of an architecture's file, and how messages call it. Raises ArchitectureError where there is none."""
    name = checks.path(
        name_or_path, "the architecture", "a name of the library or the path of a file", ArchitectureError
    )
    known = list_archs()
    if isinstance(name_or_path, str) and name in known:
        path = _LIBRARY / f"{name}.yaml"
        return read_text(path, f"library/{path.name}"), f"library/{path.name}"
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
    return text, name


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
    scale = Scale(
        word_bits=top["word"].quantity(size_bits, _TOP["word"]),
        clock_hz=top["clock"].quantity(clock_hz, _TOP["clock"]),
        estimated={},
    )
    level_fields = top["levels"].elements(_TOP["levels"])
    levels = [level_of(field, scale, outermost=i == 0) for i, field in enumerate(level_fields)]
    refuse_second_name(level_fields)
    mac = mac_of(top["mac"], scale)
    texts = {key: top[key].text() for key in ("name", "description", "technology", "source") if key in top}
    if estimated := estimated_text(scale.estimated):
        texts["source"] = "; ".join(filter(None, [texts.get("source"), estimated]))
    # What is left to go wrong in a whole architecture is its outermost level, so the error stands there.
    return build(
        Architecture,
        document,
        level_fields[0],
        **texts,
        settings=shown_settings(set or {}),
        clock_hz=scale.clock_hz,
        word_bits=scale.word_bits,
        partial_sum_bits=scale.size(top["partial_sum"]) if "partial_sum" in top else None,
        inner_drain_read=flag(top, "inner_drain_read", True),
        first_read_elision=flag(top, "first_read_elision", True),
        reuse=cast(Reuse, top["reuse"].choice(("across_levels", "at_node"))) if "reuse" in top else "across_levels",
        footprint=cast(Footprint, top["footprint"].choice(("exact", "box"))) if "footprint" in top else "exact",
        latency=cast(Latency, top["latency"].choice(("steady", "with_fill"))) if "latency" in top else "steady",
        overlap=cast(Overlap, top["overlap"].choice(_OVERLAPS)) if "overlap" in top else _OVERLAPS[0],
        levels=levels,
        mac=mac,
        **scale.idle(top),
    )


@dataclass(frozen=True)
class ToolFile:
    """A file of another tool.

    what     it is, in words
    command  the subcommand of `tilewright import` that reads it
    hint     how to make a file of ours of it
    """

    what: str
    command: str
    hint: str


_KEYS = {
    "architecture": ("an architecture of Timeloop", "timeloop"),
    "arch": ("an architecture of AccelForge", "accelforge"),
    "operational_array": ("a hardware file of ZigZag", "zigzag"),
    "(?:ERT|ART)(?:_summary)?": ("a table of Accelergy", "accelergy"),
}


def tool_file(text: str, name: str) -> ToolFile | None:
    """What a text is if it is another tool's; `name` is how commands call its file."""
    if _has("levels", text):
        return None
    for key, (what, command) in _KEYS.items():
        # What Timeloop's first version calls arch has no nodes.
        if _has(key, text) and (key != "arch" or re.search(r"^\s+nodes:", text, re.MULTILINE)):
            words = f"`tilewright import {command} {name}{_beside(command, text)}` makes one of it"
            return ToolFile(what, command, words)
    return None


def _beside(command: str, text: str) -> str:
    """The rest of the command: what belongs to the file, and where the result goes."""
    if command == "accelergy":
        return " --arch MACHINE > machine.yaml"
    tables = " ERT.yaml" if command == "timeloop" and not _has("ERT(?:_summary)?", text) else ""
    several = command == "timeloop" and (_has("problem", text) or "constraints:" in text)
    return f"{tables} --out DIR" if several else f"{tables} > machine.yaml"


def _has(key: str, text: str) -> bool:
    return re.search(rf"^{key}:", text, re.MULTILINE) is not None
