"""Figures of one node of an AccelForge architecture: energies, rates, leakage and area, with all that scales them.

What a node leaves out is estimated from its component class. An action's `latency` is the older way to say 1 /
throughput, and counts where there is no throughput, as there.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from ...arch.document import Field
from ...arch.estimates import Figures
from ...arch.expression import Number, Quantity, evaluate
from .accelforge_classes import class_estimate

ATTRIBUTES = "extra_attributes_for_component_model"
_ACTION = ("energy", "throughput", "bits_per_action", "latency", "energy_scale", "throughput_scale", "latency_scale",
           "values_per_action", ATTRIBUTES)  # fmt: skip
_ADDED = ("sum(a.n_calls / a.throughput for a in actions)", "read_latency + write_latency")
_APART = ("max(a.n_calls / a.throughput for a in actions)", "max(read_latency, write_latency)")
_SHARED_RATE = re.compile(
    r"(?:sum\(a\.n_calls for a in actions\)|\w+_actions|\(\w+_actions \+ \w+_actions\))((?: */ *[0-9.e+]+)+)"
)
_WORD = re.compile(r"(\w+)\.bits_per_value(?: if \1 else [0-9]+)?")


@dataclass(frozen=True)
class AccelForgeFile:
    """What holds for all nodes of a file, and what is said of them.

    shared     attributes of all component models
    variables  that numbers may refer to
    notes      what was left out, changed or assumed
    estimated  memory or MAC -> its figures that are estimates
    """

    word_bits: int
    shared: Mapping[str, Field]
    variables: Mapping[str, Field] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    estimated: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Component:
    """A memory or a compute unit.

    part     its name among estimates: that of the memory, or MAC
    members  of its node, all of which are known
    """

    part: str
    node: Field
    members: Mapping[str, Field]
    file: AccelForgeFile

    @cached_property
    def actions(self) -> dict[str, Mapping[str, Field]]:
        """Name -> members."""
        found = {}
        for action in self.members["actions"].elements("a list of actions") if "actions" in self.members else ():
            given = action.members({"name": "a name such as read"}, _ACTION)
            refuse_if_given(given, "values_per_action", "words of tensors have one width here")
            found[given["name"].text()] = given
        return found

    @cached_property
    def size_bits(self) -> int | None:
        """None is unbounded. A width that the workload states is a word."""
        size = self.members.get("size")
        if size is None:
            return None
        if _WORD.fullmatch(size.text("a number of bits")):
            self.file.notes.append(f"{size.path} is the width of a tensor, and here a word")
            return self.file.word_bits
        value = self._number(size)
        return None if value is None else int(value)

    def width_bits(self, action: str) -> int:
        """Of one action."""
        given = self.actions.get(action, {}).get("bits_per_action", self.members.get("bits_per_action"))
        return int((self._number(given) if given is not None else None) or 1)

    def energy_pj(self, action: str) -> float:
        """Of one action. Raises ArchitectureError where it is neither stated nor of a class."""
        given = self.actions.get(action, {})
        stated = self._number(given["energy"]) if "energy" in given else None
        scale = float(self._scale("energy_scale") * self._scale("actions_scale") * self._scale("energy_scale", given))
        if stated is not None:
            return float(stated * 10**12) * scale
        if self._modelled is None:
            hint = f"add it in joules to the energy of its action {action}, or a component_class"
            raise self.node.error(f"{self.part} states no energy of a {action}", hint=hint)
        if action == "write":
            return self._modelled.write_pj * self.width_bits("write") / self.width_bits("read") * scale
        return self._modelled.read_pj * scale

    def rate(self, action: str) -> Number | None:
        """Actions in a second; None is as many as one likes."""
        given = self.actions.get(action, {})
        scale = self._scale("throughput_scale") / self._scale("latency_scale") * self._scale("n_parallel_instances")
        scale *= self._scale("throughput_scale", given) / self._scale("latency_scale", given)
        scale /= self._scale("actions_scale")
        if found := _SHARED_RATE.fullmatch(self._total_latency):
            # Whatever throughputs say.
            return 1 / evaluate(f"1 {found[1]}", self._lookup).number / self._scale("actions_scale")
        stated = self._number(given["throughput"]) if "throughput" in given else None
        if "throughput" not in given and "latency" in given:
            seconds = self._number(given["latency"])
            stated = 1 / seconds if seconds else None
        return None if stated is None else stated * scale

    @property
    def ports_apart(self) -> bool:
        """Whether reads and writes happen at the same time, and so each have a port."""
        said = self.members.get("separate_read_write_ports")
        return self._total_latency.startswith("max(") or (said is not None and said.text().lower() == "true")

    def idle(self, clock_hz: float) -> dict[str, float]:
        """Leakage and area, as the specification has them."""
        known = self._modelled or Figures(0.0, 0.0)
        leak, area = self._stated("leak_power"), self._stated("area")
        copies = self._scale("n_parallel_instances")
        pj_per_s = known.leakage_mw * 1e9 if leak is None else float(leak * 10**12)
        mm2 = known.area_mm2 if area is None else float(area * 10**6)
        return {
            "leakage_pj_per_cycle": pj_per_s * float(copies * self._scale("leak_power_scale")) / clock_hz,
            "area_mm2": mm2 * float(copies * self._scale("area_scale")),
        }

    def note(self, actions: tuple[str, ...]) -> None:
        """Says which figures are estimates, and what of the node was not read."""
        latency, notes = self._total_latency, self.file.notes
        if latency and not (latency in (*_ADDED, *_APART) or _SHARED_RATE.fullmatch(latency)):
            notes.append(f"total_latency of {self.part} is not read: the throughputs of its actions hold")
        for key in ("bits_per_value", "bits_per_value_scale"):
            if key in self.members:
                notes.append(f"{key} of {self.part} is left out: its words have another width there; here all have one")
        for key in ("total_area", "total_leak_power", "component_modeling_log"):
            if key in self.members:
                notes.append(f"{key} of {self.part} is left out: AccelForge calculates it")
        for action in self.actions.values():
            if ATTRIBUTES in action:
                notes.append(f"{ATTRIBUTES} of an action of {self.part} is left out: no part of the estimate")
        if self._modelled is None or self._dummy:
            return
        names = tuple(name for name in actions if "energy" not in self.actions.get(name, {}))
        names = tuple("energy" if name == "compute" else name for name in names)
        if self._modelled is not None and not self._modelled.area_mm2:
            self.file.estimated[self.part] = names
            return
        idle = (("leakage", "leak_power"), ("area", "area"))
        self.file.estimated[self.part] = (*names, *(name for name, key in idle if key not in self.members))

    @property
    def _total_latency(self) -> str:
        given = self.members.get("total_latency")
        return "" if given is None else " ".join(given.text("an expression").split())

    @property
    def _dummy(self) -> bool:
        given = self.members.get("component_class")
        return given is not None and given.text().lower() == "dummy"

    @cached_property
    def _modelled(self) -> Figures | None:
        """What its class comes to, at the width of a read; None where the node states all, or has no class."""
        if "component_class" not in self.members:
            return None
        given, attributes = self.members["component_class"], self.members.get(ATTRIBUTES)
        own = attributes.mapping("a mapping such as {tech_node: 65e-9}") if attributes is not None else {}
        bits, word_bits = self.width_bits("read"), self.file.word_bits
        found = class_estimate(given, self.file.shared, own, self.size_bits, bits, word_bits)
        if found.basis:
            self.file.notes.append(
                f"{given.text()}, AccelForge's model of {self.part}, is estimated here: {found.basis}"
            )
        if found.unused:
            self.file.notes.append(f"{', '.join(found.unused)} of {self.part} left out: no part of the estimate")
        return found.figures

    def _stated(self, key: str) -> Number | None:
        return self._number(self.members[key]) if key in self.members else None

    def _number(self, given: Field) -> Number | None:
        return number(given, self.file.variables)

    def _scale(self, key: str, members: Mapping[str, Field] | None = None) -> Number:
        given = (self.members if members is None else members).get(key)
        found = self._number(given) if given is not None else Fraction(1)
        if given is not None and not found and (found is None or key in ("latency_scale", "actions_scale")):
            raise given.error(f"found {given.text()}, expected a number above 0")
        return Fraction(1) if found is None else found

    def _lookup(self, name: str) -> Quantity | None:
        return variable(name, self.file.variables)


def number(given: Field, variables: Mapping[str, Field] | None = None) -> Number | None:
    """A number, or a calculation with numbers and variables; None is without a limit."""
    text = given.text("a number")
    if text in ("inf", "1 / inf"):
        return None
    value = given.quantity(lambda words: evaluate(words, lambda name: variable(name, variables or {})), "a number")
    if any(value.powers) or value.number < 0:
        raise given.error(f"found {value.text!r}, expected a number of 0 or more")
    return value.number


def variable(name: str, variables: Mapping[str, Field]) -> Quantity | None:
    """What a variable stands for: each may refer to those before it."""
    if name not in variables:
        return None
    before = dict(itertools.takewhile(lambda each: each[0] != name, variables.items()))
    found = number(variables[name], before)
    return Quantity(found) if found is not None else None


def refuse_if_given(members: Mapping[str, Field], key: str, why: str) -> None:
    """ArchitectureError for a key that says something."""
    if key in members and members[key].value not in ((), "", {}, "null", "None"):
        raise members[key].error(f"{key} has no equal here: {why}")
