"""What every part of an architecture file is read with: the units of the machine, switches, and models, whose refusals
become errors at a place in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from .document import Field
from .spec import first_refusal
from .units import area_mm2, bits_per_cycle, pj_per_cycle, size_bits

Model = TypeVar("Model", bound=BaseModel)

A_SIZE = "a size such as 108 KiB"
AN_ENERGY = "an energy such as 6 pJ"
_A_BANDWIDTH = "a bandwidth such as 16 B/cycle"

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
class Scale:
    """What sizes in words [bit] and bandwidths per second [Hz] are measured with.

    estimated  memory or MAC -> figures that its estimate filled in, as they are read
    """

    word_bits: int
    clock_hz: float
    estimated: dict[str, tuple[str, ...]]

    def size(self, field: Field) -> int:
        return field.quantity(partial(size_bits, word_bits=self.word_bits), A_SIZE)

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


def plain_members(field: Field) -> Mapping[str, Field]:
    """The members of a mapping, not yet checked; none of anything else."""
    return field.value if isinstance(field.value, Mapping) else {}


def flag(members: Mapping[str, Field], key: str, default: bool) -> bool:
    """A switch that may be left out."""
    return members[key].boolean() if key in members else default


def build(model: type[Model], field: Field, otherwise: Field | None = None, /, **values: Any) -> Model:
    """A part of the specification; what pydantic refuses becomes an error at the place in the file.

    otherwise  where errors stand that are of no field alone; None: at `field`
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        where, message = first_refusal(error)
        key = next((_KEY_OF_SPEC.get(str(part), str(part)) for part in where), None)
        if key is None or not isinstance(field.value, Mapping):
            raise (otherwise or field).error(message) from None
        raise field.value.get(key, field).error(message[:1].lower() + message[1:]) from None
