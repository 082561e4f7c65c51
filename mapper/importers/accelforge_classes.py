"""AccelForge's component classes: its models compute what a file leaves out; here our tables estimate it.

    component_class: SmartBufferSRAM                              also SRAM, CactiSRAM
    extra_attributes_for_component_model: {tech_node: 65e-9, n_rw_ports: 2, width: 64}
    component_class: LPDDR4                                       also the other kinds of `arch/estimates/dram.py`
    component_class: Register
    component_class: IntMAC
    extra_attributes_for_component_model: {tech_node: 65e-9, multiplier_width: 8, adder_width: 16}

Case does not matter, there as here. `tech_node` is in metres, and may stand in the attributes of all models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from ...arch.document import Field
from ...arch.estimates import DRAM_KINDS, Figures, dram, mac, registers, sram
from ...arch.expression import Number, evaluate
from ...ir import ArchitectureError

Attributes = Mapping[str, Field]

READ = ("tech_node", "width", "n_rw_ports", "multiplier_width", "adder_width")
"""Attributes that have a say in some estimate."""

_SRAM = ("smartbuffersram", "sram", "cactisram")
_REGISTERS = ("register", "registers", "regfile")
_MAC = ("intmac",)
_KINDS = {kind.lower(): kind for kind in DRAM_KINDS}
_KNOWN = f"SmartBufferSRAM, SRAM, CactiSRAM, Register, IntMAC, {', '.join(DRAM_KINDS)} or Dummy"


class Modelled(NamedTuple):
    """What an estimate of a component class is.

    figures  of one access, or of one multiply-accumulate
    basis    what it was estimated of, in words; nothing, if nothing was
    unused   attributes that had no say in it
    """

    figures: Figures
    basis: str
    unused: tuple[str, ...]


def class_estimate(
    field: Field, shared: Attributes, own: Attributes, size_bits: int | None, bits: int, word_bits: int
) -> Modelled:
    """The estimate of a component of some class.

    field        its component_class
    shared, own  attributes of all component models, and of this one, which win
    size_bits    of a memory; None is unbounded
    bits         of an action: a part of a word costs that part of it
    word_bits    what an array gives at a time where neither `width` nor actions say more

    Raises ArchitectureError, with the place, for classes and attributes that no table has.
    """
    attributes = {**shared, **own}
    name = field.text("the name of a class")
    word = name.lower()
    if word == "dummy":
        return Modelled(Figures(0.0, 0.0), "", ())
    if word in _KINDS:
        return Modelled(dram(_KINDS[word], bits), f"{_KINDS[word]}, {bits} bit", tuple(own))
    if word not in (*_SRAM, *_REGISTERS, *_MAC):
        hint = "state energies in joules in its actions, with leak_power and area"
        raise field.error(f"no table has the class {name!r}, expected {_KNOWN}", hint=hint)
    node = float(_number(field, attributes, "tech_node")) * 1e9
    if word in _MAC:
        used: tuple[str, ...] = ("multiplier_width", "adder_width")
        widths = [f"int{int(_number(field, attributes, key))}" for key in used]
        found, basis = _located(field, partial(mac, widths[0], widths[1], node)), f"{widths[0]}, sums {widths[1]}"
    elif size_bits is None:
        raise field.error(f"a memory of class {name} needs a size", hint="give its size in bits")
    else:
        used = ("width", "n_rw_ports") if word in _SRAM else ("width",)
        width = int(_number(field, attributes, "width")) if "width" in attributes else max(bits, word_bits)
        ports = int(_number(field, attributes, "n_rw_ports")) if "n_rw_ports" in attributes else 1
        array = partial(sram, size_bits, width, node, ports)
        estimate = array if word in _SRAM else partial(registers, size_bits, width, node)
        found = _located(field, estimate).times(bits / width, 1.0, 1.0)
        basis = f"{size_bits} bits, {width} at a time"
    unused = tuple(key for key in own if key not in (*used, "tech_node"))
    return Modelled(found.rounded(), f"{basis}, {node:g} nm", unused)


def _number(field: Field, attributes: Attributes, key: str) -> Number:
    if key not in attributes:
        message = f"no estimate without {key}, expected it in extra_attributes_for_component_model"
        raise field.error(message, hint="tech_node: 65e-9 is 65 nm" if key == "tech_node" else None)
    value = attributes[key].quantity(lambda given: evaluate(given, lambda _: None), "a number")
    if any(value.powers) or value.number <= 0:
        raise attributes[key].error(f"found {value.text!r}, expected a number above 0")
    return value.number


def _located(field: Field, estimate: Callable[[], Figures]) -> Figures:
    try:
        return estimate()
    except ArchitectureError as error:
        raise error.located(field.where) from None
    except KeyError as error:
        raise field.error(f"no table has the format {error.args[0]}, expected int8, int16 or int32") from None
