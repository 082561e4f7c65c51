"""ZigZag's hardware files: memories from the inside out, each with the operands that it keeps and the dimensions of the
array that one instance of it serves.

A memory stands below the dimensions that it does not serve. Where that does not nest, as with an output register for
each column and a weight register for each row, the inner one is copied for all MACs, and its energies are divided by
the number of copies: the same in sum while all of them work. Costs are in pJ for an access of a port's full width.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from ...arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from ...arch.document import Field, read_document, read_text
from ...arch.expression import evaluate
from ...ir import Role
from .machine import ImportedMachine, checked

_WHAT = "a hardware file of ZigZag"
_OPERANDS: dict[str, Role] = {"I1": "input", "I2": "weight", "O": "output"}
_MEMORY = {
    "size": "a number of bits",
    "r_cost": "the energy of a read in pJ",
    "w_cost": "the energy of a write in pJ",
    "operands": "a list of I1, I2 and O",
    "ports": "a list of ports",
    "served_dimensions": "a list of dimensions of the array, such as [D1, D2]",
}
_MEMORY_OPTIONAL = ("area", "latency", "mem_type", "auto_cost_extraction", "double_buffering_support",
                    "force_double_buffering", "min_r_granularity", "min_w_granularity")  # fmt: skip
_DOUBLE = ("double_buffering_support", "force_double_buffering")
_PORT = {"type": "read, write or read_write", "bandwidth_max": "a number of bits"}
_PORT_OPTIONAL = ("name", "bandwidth_min", "allocation")
_ARRAY_OPTIONAL = ("unit_area", "input_precision", "is_imc", "imc_type", "adc_resolution", "bit_serial_precision")
_IN_MEMORY = "computing in memory has no equal here"
# What they say where they say nothing.
_USUAL = ("", "0", "0.0", "1", "false", "none", "null", "~", "sram", ())
# Keys that stand as comments, and why.
_LEFT_OUT = {
    "area": "it has no unit",
    "latency": "no part of ZigZag's costs",
    "mem_type": "it is for estimates",
    "min_r_granularity": "an access costs by its width here",
    "min_w_granularity": "an access costs by its width here",
    "bandwidth_min": "an access costs by its width here, however narrow",
    "allocation": "every port serves all operands here",
    "unit_area": "it has no unit",
    "input_precision": "--word says how wide words are",
    "dataflows": "which loops may be spread is left open; dims of an axis says so here",
    "accelerator_type": "it is Stream's",
}


def read_zigzag(path: str | os.PathLike[str], word_bits: int = 8, clock_hz: float = 1e9) -> ImportedMachine:
    """The machine in a hardware file.

    word_bits  width of operands, which the file does not state
    clock_hz   which it does not state either; turns cycles into seconds, and nothing else

    Raises ArchitectureError, with file, line and field, for what cannot be read or has no equal here.
    """
    name = os.fspath(path)
    top = read_document(read_text(Path(path), name, _WHAT), name, _WHAT, "start with 'name:' and 'memories:'").members(
        {"memories": "memories by name, the innermost first", "operational_array": "an array with dimensions"},
        ("name", "dataflows", "cores", "accelerator_type"),
    )
    if "cores" in top:
        raise top["cores"].error("cores have no equal here: give the file of one core")
    given = top["operational_array"].mapping("an array with dimensions")
    for key in ("is_imc", "imc_type", "adc_resolution", "bit_serial_precision"):
        if key in given and _says(given[key]):
            raise given[key].error(f"{key} has no equal here: {_IN_MEMORY}")
    array = top["operational_array"].members(
        {"unit_energy": "the energy of a MAC in pJ", "dimensions": "names such as [D1, D2]", "sizes": "their sizes"},
        _ARRAY_OPTIONAL,
    )
    dims = [dim.text() for dim in array["dimensions"].elements("names such as [D1, D2]")]
    sizes = [size.whole("a number of MACs") for size in array["sizes"].elements("sizes such as [16, 16]")]
    if len(dims) != len(sizes):
        raise array["sizes"].error(f"{len(sizes)} sizes for {len(dims)} dimensions, expected as many")
    extent = dict(zip(dims, sizes, strict=True))
    notes = [
        f"the file states no width of words and no clock: {word_bits} bit and {clock_hz / 1e9:g} GHz are assumed",
        "which loops may be spread over an axis is in ZigZag's mapping file; here all may",
    ]
    levels = _levels(top["memories"], extent, notes)
    notes += _left_out(top, array)
    arch = checked(
        lambda: Architecture(
            name=top["name"].text() if "name" in top else "zigzag",
            source=f"imported from {Path(path).name}, {_WHAT}",
            clock_hz=clock_hz,
            word_bits=word_bits,
            levels=tuple(levels),
            mac=Mac(energy_pj=_number(array["unit_energy"])),
        ),
        name,
    )
    return ImportedMachine(arch, tuple(notes))


def _left_out(top: Mapping[str, Field], array: Mapping[str, Field]) -> Iterator[str]:
    """A sentence for each key that is not read, and whose it is."""
    owners: dict[str, list[str]] = {}
    parts = [(name, memory.mapping("a memory")) for name, memory in top["memories"].mapping("memories by name").items()]
    parts += [
        (name, port.mapping("a port"))
        for name, members in parts
        for port in members["ports"].elements("a list of ports")
    ]
    for name, members in (*parts, ("the array", array), ("the file", top)):
        for key in members:
            if key in _LEFT_OUT and _says(members[key]) and name not in owners.setdefault(key, []):
                owners[key].append(name)
    yield from (f"{key} of {', '.join(of)} is left out: {_LEFT_OUT[key]}" for key, of in owners.items() if of)


def _says(field: Field) -> bool:
    value = field.value.strip().lower() if isinstance(field.value, str) else field.value
    return bool(value) and value not in _USUAL


def _levels(memories: Field, extent: Mapping[str, int], notes: list[str]) -> list[Memory | Fanout]:
    """Memories from the outside in, and before each the dimensions that it is the first not to serve."""
    levels: list[Memory | Fanout] = []
    spread: list[str] = []
    fields = list(memories.mapping("memories by name").items())
    for position, (name, field) in enumerate(reversed(fields)):
        members = field.members(_MEMORY, _MEMORY_OPTIONAL)
        if "auto_cost_extraction" in members and _says(members["auto_cost_extraction"]):
            message = "auto_cost_extraction has no equal here: ZigZag asks CACTI for r_cost and w_cost"
            raise members["auto_cost_extraction"].error(message, hint="give both in pJ, and set it to false")
        served = _names(members["served_dimensions"], extent)
        missing = [dim for dim in extent if dim not in served]
        if position == 0 and missing:
            notes.append(f"{name} is the outermost memory: it serves {', '.join(missing)} as well")
            served, missing = list(extent), []
        levels += _arrays([dim for dim in missing if dim not in spread], extent)
        spread += [dim for dim in missing if dim not in spread]
        copies = math.prod(extent[dim] for dim in spread if dim in served)
        if copies > 1:
            notes.append(f"{name} serves {copies} MACs in ZigZag; here each has its own, at 1/{copies} of the energy")
        levels.append(_memory(name, field, members, copies, outermost=position == 0))
    return [*levels, *_arrays([dim for dim in extent if dim not in spread], extent)]


def _arrays(dims: list[str], extent: Mapping[str, int]) -> list[Fanout]:
    """Arrays of two dimensions at most."""
    pairs = [dims[i : i + 2] for i in range(0, len(dims), 2)]
    return [
        Fanout(name="_".join(pair), axes=tuple(ArrayAxis(size=extent[dim]) for dim in pair)) for pair in pairs if pair
    ]


def _memory(name: str, field: Field, members: Mapping[str, Field], copies: int, *, outermost: bool) -> Memory:
    operands = [_OPERANDS[operand] for operand in _names(members["operands"], _OPERANDS)]
    if outermost and len(operands) < 3:
        raise members["operands"].error("the last memory is the outermost one, expected that it keeps I1, I2 and O")
    widths: dict[str, list[int]] = {"read": [], "write": [], "read_write": []}
    for port in members["ports"].elements("a list of ports"):
        given = port.members(_PORT, _PORT_OPTIONAL)
        width = given["bandwidth_max"].whole("a number of bits")
        widths[given["type"].choice(tuple(widths))].append(width)
    if not widths["read_write"] and not (widths["read"] and widths["write"]):
        raise members["ports"].error("expected ports to read and to write, or one for both")
    bandwidth: dict[str, float] = {}
    if widths["read_write"] and not widths["read"] and not widths["write"]:
        bandwidth["shared_bits_per_cycle"] = float(sum(widths["read_write"]))
    else:
        for port_type in ("read", "write"):
            bandwidth[f"{port_type}_bits_per_cycle"] = float(sum(widths[port_type]) + sum(widths["read_write"]))
    kept = {role: "must" if role in operands else "never" for role in _OPERANDS.values()}
    double = any(key in members and members[key].text().lower() == "true" for key in _DOUBLE)
    return checked(
        lambda: Memory(
            name=name,
            size_bits=None if outermost else members["size"].whole("a number of bits"),
            access_bits=max(widths["read"] + widths["read_write"]),
            read_energy_pj=_number(members["r_cost"]) / copies,
            write_energy_pj=_number(members["w_cost"]) / copies,
            keeps=Keeps(**kept),
            double_buffered=double,
            **bandwidth,
        ),
        field.where,
    )


def _names(field: Field, known: Mapping[str, object]) -> list[str]:
    if field.value == ():
        return []
    names = [element.text("a name") for element in field.elements(f"a list of {', '.join(known)}")]
    for name, element in zip(names, field.elements("names"), strict=True):
        if name not in known:
            raise element.error(f"unknown name {name!r}, expected one of {', '.join(known)}")
    return names


def _number(field: Field) -> float:
    """A number without a unit."""
    value = field.quantity(lambda text: evaluate(text, lambda _: None), "a number")
    if any(value.powers) or value.number < 0:
        raise field.error(f"found {value.text!r}, expected a number of 0 or more")
    return float(value.number)
