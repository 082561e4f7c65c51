"""The keys of an architecture file, as a file has them: the readers know these, editors get them as a JSON Schema, and
docs/architecture-keys.md lists them (`python docs/make_schema.py` writes both).

A quantity is a number with its unit, such as `16 bit`, or a formula in other fields (docs/scaling.md).
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA = Path(__file__).parent / "architecture.schema.json"
"""The same for editors."""

Keep = Literal["must", "may", "never"]
Operand = Literal["input", "weight"]
TensorRole = Literal["input", "weight", "output"]


Number = Annotated[str | int | float, Field(examples=[16, "lanes / 2"])]
Size = Annotated[str, Field(examples=["108 KiB", "16 bit", "64 words"])]
Energy = Annotated[str, Field(examples=["6 pJ", "estimate"])]
Bandwidth = Annotated[str, Field(examples=["16 B/cycle", "480 MB/s"])]
Power = Annotated[str, Field(examples=["0.5 mW", "2 pJ/cycle"])]
Area = Annotated[str, Field(examples=["0.4 mm2"])]
Node = Annotated[str, Field(examples=["28 nm"])]
Switch = bool | str


class Keys(BaseModel):
    """A part of the file; no other keys may stand in it."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


class AxisKeys(Keys):
    """One axis of an array; a number alone is its size.

    size     instances along it
    dims     only these dimensions may be spread over it; else any
    reuse    only dimensions that do not move the tensors of this role
    reduce   whether reduction loops may be spread over it; true, if not given
    latency  that a word takes from one instance to the next; nothing, if not given
    """

    size: Number
    dims: list[str] | None = None
    reuse: TensorRole | None = None
    reduce: Switch | None = None
    latency: str | None = Field(None, examples=["1 cycle"])


class FanoutKeys(Keys):
    """An array of everything below it.

    fanout             its name
    x, y               its axes, of which it has one at least
    multicast          one read above serves every instance that wants the word; true, if not given
    spatial_reduction  partial sums are added up on their way out; true, if not given
    hop                energy from one instance to the next along an axis; nothing, if not given
    """

    fanout: str
    x: AxisKeys | Number | None = None
    y: AxisKeys | Number | None = None
    multicast: Switch | None = None
    spatial_reduction: Switch | None = None
    hop: str | None = Field(None, examples=["0.06 pJ/bit"])


class EstimateKeys(Keys):
    """Figures that are left out, from published tables (docs/scaling.md).

    kind   of a memory: sram, registers or dram; or one for each of its parts
    type   of a DRAM
    format, sum  of a MAC: its operands, and what it adds up
    node   technology
    width  that the table is asked for; the access, if not given
    ports  read-write ports of an SRAM
    only   the figures that are taken; all that are left out, if not given
    """

    kind: str | dict[str, Literal["sram", "registers"]] | None = None
    type: str | None = Field(None, examples=["LPDDR4", "HBM3"])
    format: str | None = Field(None, examples=["int8", "bf16"])
    sum: str | None = Field(None, examples=["int32"])
    node: Node | None = None
    width: Size | None = None
    ports: Number | None = None
    only: str | list[str] | None = Field(None, examples=["area", ["leakage", "area"]])


class MemoryKeys(Keys):
    """A memory. The first level is one that keeps everything.

    memory         its name
    access         the width that the two energies are for; other widths cost in proportion
    read, write    energy of an access
    size           for all tensors together, a part for each of them and `shared` for the others, or `unbounded`; of the
                   first level what a device of a system holds (docs/chips.md), which no mapping on one device asks for
    bandwidth      of one instance: of one port for all words, or of ports for `read` and `write`, for `input`, `weight`
                   and `output`, or for all five; unbounded where none is given
    keep           whether tensors pass through it: one word for all, or one for each role; must, if not given
    halo           what a sliding tile keeps; innermost, if not given
    double_buffered  whether every tile takes its room twice
    overlaps       whether its transfers take place while computing; true, if not given
    cache          whether it holds what passes through by itself: programs copy nothing into it
    prefetch       next: weights that come to it from the outermost memory are fetched while the group before runs, in
                   the plan of a network (docs/networks.md); one operation has no next. none, if not given
    block          its energies are for whole blocks; for any number of bits, if not given
    line           its ports move whole lines; of any number of bits, if not given (docs/layouts.md)
    layout         the order of words in lines, by role or tensor, or one for all
    banks          that lines lie in, neighbours in different ones
    bank_ports     lines that a bank moves in a cycle; 1, if not given
    leakage        of one instance, at work or not
    area           of one instance
    estimate       of figures that are left out
    compress       how operands with zeros are held: a format, or a list to choose from (docs/sparse.md)
    gate, skip     by role whose accesses are left out, the roles whose zeros decide it: energy alone, or time as well
    """

    memory: str
    access: Size
    read: Energy | None = None
    write: Energy | None = None
    size: Size | dict[TensorRole | Literal["shared"], Size] | None = None
    bandwidth: Bandwidth | dict[Any, Bandwidth] | None = None
    keep: Keep | dict[TensorRole, Keep] | None = None
    halo: Literal["none", "innermost", "exact"] | None = None
    double_buffered: Switch | None = None
    overlaps: Switch | None = None
    cache: Switch | None = None
    prefetch: Literal["none", "next"] | None = None
    block: Size | None = None
    line: Size | None = None
    layout: str | dict[str, str] | None = Field(None, examples=["row-major", {"input": "NHWC"}])
    banks: Number | None = None
    bank_ports: Number | None = None
    leakage: Power | None = None
    area: Area | None = None
    estimate: EstimateKeys | None = None
    compress: dict[Operand, str | list[str]] | None = Field(None, examples=[{"weight": "bitmask"}])
    gate: dict[TensorRole, list[Operand]] | None = None
    skip: dict[TensorRole, list[Operand]] | None = None


class OpKeys(Keys):
    """What a unit needs for points that do not multiply.

    energy     of one point
    per_cycle  points that one unit completes in a cycle; 1, if not given
    """

    energy: Energy
    per_cycle: Number | None = None


class MacKeys(Keys):
    """The compute unit, one below every instance of the innermost level.

    energy     of one multiply-accumulate
    per_cycle  multiply-accumulates that one unit completes in a cycle; 1, if not given
    leakage, area  of one unit
    estimate   of figures that are left out
    ops        what points cost that do not multiply, by kind of function
    gate, skip  roles whose zeros it leaves out: energy alone, or time as well
    structure  N:M, where it skips all but N of M neighbours
    """

    energy: Energy | None = None
    per_cycle: Number | None = None
    leakage: Power | None = None
    area: Area | None = None
    estimate: EstimateKeys | None = None
    ops: dict[str, OpKeys] | None = None
    gate: list[Operand] | None = None
    skip: list[Operand] | None = None
    structure: str | int | None = Field(None, examples=["2:4"])  # 2:4 is a number in YAML 1.1


class ArchitectureKeys(Keys):
    """An architecture file.

    name         of the machine
    description, technology, source  texts for people
    clock        of all parts
    word         width of operands and finished outputs
    partial_sum  width of partial sums; a word, if not given
    inner_drain_read    whether a partial sum that leaves is read from the inner memory; true, if not given
    first_read_elision  whether the first visit of a partial sum reads nothing; true, if not given
    reuse        over which loops a tile stays; across_levels, if not given
    footprint    words of a tile: those that it touches, or those between them too; exact, if not given
    padding      whether zeros around an operand are words; read, if not given: free ones are not stored and not moved
    latency      of the busiest resource, or with the first and last tiles as well; steady, if not given
    overlap      whether operations of a cascade take turns; within_operations, if not given
    leakage, area  of what is neither memory nor MAC
    parameters   named values for formulas
    levels       memories and arrays, outermost first
    mac          the compute unit
    """

    name: str
    description: str = ""
    technology: str = ""
    source: str = ""
    clock: str = Field(examples=["200 MHz"])
    word: Size
    partial_sum: Size | None = None
    inner_drain_read: Switch | None = None
    first_read_elision: Switch | None = None
    reuse: Literal["across_levels", "at_node"] | None = None
    footprint: Literal["exact", "box"] | None = None
    padding: Literal["read", "free"] | None = None
    latency: Literal["steady", "with_fill"] | None = None
    overlap: Literal["within_operations", "across_operations"] | None = None
    leakage: Power | None = None
    area: Area | None = None
    parameters: dict[str, str | int | float] | None = None
    levels: list[MemoryKeys | FanoutKeys]
    mac: MacKeys


def optional(model: type[Keys], required: Collection[str]) -> tuple[str, ...]:
    """The keys of a part, but for those that a reader asks for in its own words."""
    return tuple(name for name in model.model_fields if name not in required)
