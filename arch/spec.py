"""The architecture: a hierarchy of memories and fanouts above a MAC, in base units.

Files spell units out (`108 KiB`, `6 pJ`, `16 B/cycle`); `loader.py` turns them into the base units here:
bits, picojoules, cycles, hertz. Field names carry the unit.
"""

from __future__ import annotations

import itertools
import math
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from ..ir import ArchitectureError, Problem, Role, Tensor, did_you_mean
from ..ir.display import Shown
from ..ir.errors import shown
from ..ir.problem import ROLES
from .units import LARGEST_BITS

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)  # it has no public name

Keep = Literal["must", "may", "never"]
Halo = Literal["none", "innermost", "exact"]
Reuse = Literal["across_levels", "at_node"]
Footprint = Literal["exact", "box"]
Padding = Literal["read", "free"]
Latency = Literal["steady", "with_fill"]
Overlap = Literal["within_operations", "across_operations"]
SparseFormat = Literal["uncompressed", "bitmask", "coordinate", "runs", "csr", "blocks"]
SPARSE_FORMATS: tuple[SparseFormat, ...] = ("uncompressed", "bitmask", "coordinate", "runs", "csr", "blocks")


def _number(value: Any) -> Any:
    if isinstance(value, bool | str):
        raise ValueError(f"found {shown(value)}, expected a number")
    return value


_Number = BeforeValidator(_number)
_NoSign = AfterValidator(lambda value: value + 0.0)  # of -0.0

# Figures beyond these are slips of the pen, and sums of their products would not be numbers any more.
BitCount = Annotated[int, _Number, Field(gt=0, le=LARGEST_BITS)]
Count = Annotated[int, _Number, Field(gt=0, le=10**9)]
Instances = Annotated[int, _Number, Field(gt=0, le=2**16)]
Picojoules = Annotated[float, _Number, Field(ge=0, le=1e15), _NoSign]
PerCycle = Annotated[float, _Number, Field(ge=1e-15, le=float(LARGEST_BITS))]
Hertz = Annotated[float, _Number, Field(ge=1e-3, le=1e15)]
Cycles = Annotated[float, _Number, Field(ge=0, le=1e15), _NoSign]
SquareMillimetres = Annotated[float, _Number, Field(ge=0, le=1e9), _NoSign]

_UNITS = (
    ("_bits_per_cycle", " bit/cycle"),
    ("_cycles", " cycles"),
    ("_pj_per_cycle", " pJ/cycle"),
    ("_pj_per_bit", " pJ/bit"),
    ("_pj", " pJ"),
    ("_bits", " bit"),
    ("_hz", " Hz"),
    ("_mm2", " mm2"),
)
"""What the figures of a field with such an ending are in."""

_NAMED = "write every field with its name, such as name='mine'; load_arch reads a file"

ESTIMATES = "estimates: "
"""What the source of an architecture says before the figures of it that are estimates."""


class _Called(ModelMetaclass):
    """What a call is given is checked as everything that is public: wrong values are an ArchitectureError. Readers of
    documents validate instead (`model_validate`), for they know the place in the file of what pydantic names."""

    def __call__(cls, *values: Any, **fields: Any) -> Any:
        if values:
            raise ArchitectureError(f"found {shown(values[0])} without a name", where=cls.__name__, hint=_NAMED)
        try:
            return super().__call__(**fields)
        except ValidationError as error:
            raise _refused(cls.__name__, error) from None


def _refused(name: str, error: ValidationError) -> ArchitectureError:
    where, message = first_refusal(error)
    return ArchitectureError(message, where=".".join(map(str, (name, *where))))


def first_refusal(error: ValidationError) -> tuple[tuple[int | str, ...], str]:
    """The first thing that is wrong with a record: where in it, and what. A name that it does not have may be why
    another one is missing."""
    found = error.errors(include_url=False)
    first = next((each for each in found if each["type"] == "extra_forbidden"), found[0])
    unit = next((unit for ending, unit in _UNITS if str((first["loc"] or ("",))[-1]).endswith(ending)), "")
    limits: dict[str, Any] = first.get("ctx", {})
    expected = first["msg"].replace("Input should be", "expected")
    for limit, words in (("le", "at most"), ("ge", "or more")):
        if limit in limits:
            return first["loc"], f"found {shown(first['input'])}{unit}, expected {limits[limit]:g}{unit} {words}"
    messages = {
        "missing": "missing",
        "extra_forbidden": "unknown field",
        "value_error": first["msg"].removeprefix("Value error, "),
    }
    return first["loc"], messages.get(first["type"], f"found {shown(first['input'])}, {expected}")


class Spec(BaseModel, metaclass=_Called):
    """Base of all specification records: frozen, unknown keys refused. Made from wrong values, an ArchitectureError."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _without(fields: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """The fields of a record without those that few machines have, where they have their defaults."""
    return {name: value for name, value in fields.items() if name not in defaults or value != defaults[name]}


class Keeps(Spec):
    """Which tensors a memory must, may or must not keep, by role.

    input, weight, output  for the tensors of that role
    """

    input: Keep = "must"
    weight: Keep = "must"
    output: Keep = "must"

    def __getitem__(self, role: Role) -> Keep:
        value: Keep = getattr(self, role)
        return value


class Memory(Spec):
    """One memory level; `fanout`s above it say how many instances there are.

    kind             tells memories from fanouts in a document
    name             of the level
    size_bits        shared by all tensors kept; None is unbounded
    holds_bits       of the outermost memory: what a device of a system holds. No mapping on one device asks for it, and
                     no document of one has it
    partition_bits   a private part per role instead (a role without a part uses `size_bits`)
    access_bits      the width that the energies are for
    read_energy_pj, write_energy_pj  energy of one access of `access_bits`; other widths cost in proportion
    *_bits_per_cycle bandwidth of one instance; None is unbounded. `shared` is one port for both directions, those by
                     role carry its tensors alone, in both directions
    keeps            which tensors it keeps
    halo             how much of the tile it holds is kept when the tile slides:
                     `exact` all of it, `innermost` only along the innermost moving loop, `none` nothing
    double_buffered  two copies of every tile are charged against the capacity
    overlaps         transfers overlap compute; if not, their time adds to the latency
    is_cache         it holds what passes through it by itself: programs copy nothing into it (docs/c.md)
    prefetch         `next`: weights come to it from the outermost memory while the group before runs (docs/networks.md)
    block_bits       energies are of whole blocks, per instance, tensor and kind of access; None: of any width
    line_bits        its ports move whole lines of so many bits (docs/layouts.md); None: words
    banks            its lines lie in so many banks, neighbouring ones in different banks; None: any lines pass together
    bank_ports       lines that a bank moves in a cycle
    layouts          by tensor, or by role, in which order it holds the words; others are row-major
    leakage_pj_per_cycle, area_mm2  of one instance
    formats          how it may hold tensors with zeros, by role (docs/sparse.md); a role without one is not compressed
    gates, skips     by role, what it leaves out reads of, where all that is used with them of one of these other roles
                     is zero: gating saves the energy, skipping the time as well
    """

    kind: Literal["memory"] = "memory"
    name: str
    size_bits: BitCount | None = None
    holds_bits: SkipJsonSchema[BitCount | None] = Field(default=None, exclude=True)
    partition_bits: dict[Role, BitCount] = Field(default_factory=dict)
    access_bits: BitCount
    read_energy_pj: Picojoules
    write_energy_pj: Picojoules
    read_bits_per_cycle: PerCycle | None = None
    write_bits_per_cycle: PerCycle | None = None
    shared_bits_per_cycle: PerCycle | None = None
    input_bits_per_cycle: PerCycle | None = None
    weight_bits_per_cycle: PerCycle | None = None
    output_bits_per_cycle: PerCycle | None = None
    keeps: Keeps = Keeps()
    halo: Halo = "innermost"
    double_buffered: bool = False
    overlaps: bool = True
    is_cache: bool = False
    prefetch: Literal["none", "next"] = "none"
    block_bits: BitCount | None = None
    line_bits: BitCount | None = None
    banks: Count | None = None
    bank_ports: Count = 1
    layouts: dict[str, str] = Field(default_factory=dict)
    leakage_pj_per_cycle: Picojoules = 0.0
    area_mm2: SquareMillimetres = 0.0
    formats: dict[Role, tuple[SparseFormat, ...]] = Field(default_factory=dict)
    gates: dict[Role, tuple[Role, ...]] = Field(default_factory=dict)
    skips: dict[Role, tuple[Role, ...]] = Field(default_factory=dict)

    @field_validator("formats", mode="before")
    @classmethod
    def _lists_of_formats(cls, value: Any) -> Any:
        """One format is a list of one."""
        if not isinstance(value, dict):
            return value
        lists = {role: (each,) if isinstance(each, str) else each for role, each in value.items()}
        return {role: tuple(each) if isinstance(each, list) else each for role, each in lists.items()}

    @model_serializer(mode="wrap")
    def _without_defaults(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        rare: dict[str, Any] = {
            "is_cache": False,
            "prefetch": "none",
            **dict.fromkeys(f"{role}_bits_per_cycle" for role in ROLES),
            "line_bits": None,
            "banks": None,
            "bank_ports": 1,
            "layouts": {},
            "formats": {},
            "gates": {},
            "skips": {},
        }
        return _without(handler(self), rare)

    @model_validator(mode="after")
    def _one_kind_of_port(self) -> Memory:
        if self.shared_bits_per_cycle and (self.read_bits_per_cycle or self.write_bits_per_cycle):
            raise ValueError("a shared port and separate ports are given; expected one kind")
        return self

    @model_validator(mode="after")
    def _fetches_weights(self) -> Memory:
        if self.prefetch == "next" and self.keeps.weight == "never":
            raise ValueError("prefetch is next, and it never keeps weights; expected a memory that they come to")
        if self.prefetch == "next" and not self.overlaps:
            raise ValueError("prefetch is next, and overlaps is false; expected one that is filled while computing")
        return self

    @model_validator(mode="after")
    def _lines_or_blocks(self) -> Memory:
        if self.line_bits and self.block_bits:
            raise ValueError("line and block are given; expected one: blocks are lines of words packed without a gap")
        if self.layouts and not self.line_bits:
            raise ValueError("a layout is given without a line; expected a line as well: else any order costs the same")
        if (self.banks or self.bank_ports > 1) and not self.line_bits:
            raise ValueError("banks are given without a line; expected a line as well: banks are of lines")
        if self.bank_ports > 1 and not self.banks:
            raise ValueError("bank_ports are given without banks; expected how many banks have so many ports each")
        return self

    @property
    def keeps_sums(self) -> bool:
        """Whether partial sums may be kept."""
        return self.keeps.output != "never"

    def without_lines(self) -> Memory:
        """The memory where all lines are full, and never lie in one bank when they pass together."""
        plain: dict[str, Any] = {"line_bits": None, "banks": None, "bank_ports": 1}
        if self.banks is not None and self.line_bits is not None:
            most = float(self.banks * self.bank_ports * self.line_bits)
            are_apart = self.read_bits_per_cycle or self.write_bits_per_cycle
            bounded = ("read", "write") if are_apart else ("shared",)
            for port in bounded:
                key = f"{port}_bits_per_cycle"
                plain[key] = min(getattr(self, key) or most, most)
        return self.model_copy(update=plain)


class ArrayAxis(Spec):
    """One axis of a fanout.

    size   instances along the axis
    dims   only these problem dimensions may be spread over it (None: any); `N` stands for `N2` as well, which is what a
           cascade calls the `N` of another operation
    reuse  only dimensions that do not move the tensors of this role: `weight` allows loops that share weights,
           `output` allows reduction loops only
    reduce whether reduction loops may be spread over it (False: every instance has outputs of its own)
    latency_cycles  that a word takes from one instance to the next along the axis: what enters an array of 16 x 16 in
           step reaches its far corner 30 hops later
    """

    size: Instances
    dims: tuple[str, ...] | None = None
    reuse: Role | None = None
    reduce: bool = True
    latency_cycles: Cycles = 0.0

    def allows(self, problem: Problem, dim: str) -> bool:
        """Whether a dimension of the problem may be spread over it."""
        if self.dims is not None and not {dim, dim.rstrip("0123456789")} & set(self.dims):
            return False
        if not self.reduce and dim not in problem.output.dims:
            return False
        return self.reuse is None or all(dim not in t.dims for t in problem.tensors if t.role == self.reuse)


class Fanout(Spec):
    """A one- or two-dimensional array of instances of everything below it.

    kind               tells fanouts from memories in a document
    name               of the level
    axes               x, and y if there are two
    multicast          one read above serves every instance that wants the word in the same step
    spatial_reduction  partial sums of instances that differ only in reduction dimensions are summed on the way out
    hop_pj_per_bit     energy of a bit on its way from one instance to the next along an axis
    """

    kind: Literal["fanout"] = "fanout"
    name: str
    axes: tuple[ArrayAxis, ...] = Field(min_length=1, max_length=2)
    multicast: bool = True
    spatial_reduction: bool = True
    hop_pj_per_bit: Picojoules = 0.0

    @property
    def instances(self) -> int:
        """Of what is below it, for each instance of what is above it."""
        return math.prod(axis.size for axis in self.axes)

    @property
    def filling_cycles(self) -> float:
        """From the first instance to the last: how long the array takes to fill with work, and to drain."""
        return sum((axis.size - 1) * axis.latency_cycles for axis in self.axes)


class Op(Spec):
    """What one unit needs for points of another kind than multiply-accumulates.

    energy_pj  of one point
    per_cycle  points that one unit completes in a cycle
    """

    energy_pj: Picojoules
    per_cycle: PerCycle = 1.0


class Mac(Spec):
    """The compute unit at the bottom: one per instance of the innermost level.

    energy_pj  of one multiply-accumulate
    per_cycle  multiply-accumulates that one unit completes in a cycle
    leakage_pj_per_cycle, area_mm2  of one unit
    ops        by kind of function (`exp`, `max`, `add`, ...), what a point costs; others cost as multiply-accumulates
    gates, skips  roles whose zeros it leaves out: gating saves the energy, skipping the time as well
    structure  (n, m): it skips where of m neighbours n at most are nonzero, and then all but n of m; None: any zero
    """

    energy_pj: Picojoules
    per_cycle: PerCycle = 1.0
    leakage_pj_per_cycle: Picojoules = 0.0
    area_mm2: SquareMillimetres = 0.0
    ops: dict[str, Op] = Field(default_factory=dict)
    gates: tuple[Role, ...] = ()
    skips: tuple[Role, ...] = ()
    structure: tuple[Count, Count] | None = None

    @model_serializer(mode="wrap")
    def _without_defaults(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = {name: value for name, value in handler(self).items() if name not in ("gates", "skips") or value}
        return _without(fields, {"ops": {}, "structure": None})

    def of(self, kind: str) -> Mac:
        """The unit as an operation of that kind sees it."""
        op = self.ops.get(kind)
        return self.model_copy(update={"energy_pj": op.energy_pj, "per_cycle": op.per_cycle, "ops": {}}) if op else self


class Architecture(Spec, Shown):
    """An accelerator, outermost level first.

    name               of the machine
    description, technology, source  texts for people
    clock_hz           turns bytes per second into bits per cycle, and cycles into seconds
    word_bits          width of operands and finished outputs, unless a layer states its own
    partial_sum_bits   width of partial sums; None is `word_bits`
    inner_drain_read   a partial-sum tile that leaves is read from the inner memory (False: not charged, as Timeloop)
    first_read_elision the first visit of a partial sum reads nothing (False: it is read like every later one, as when
                       outputs start from a bias or are added to what is there)
    reuse              which temporal loops above a node make its tile be transferred again: `across_levels` the
                       innermost one that moves its tensor, and those outside it; `at_node` all of them, as AccelForge
    footprint          words of a tile: `exact` the distinct ones that it touches, `box` also those between them, as
                       Timeloop (they differ where strides or dilations leave gaps)
    padding            zeros around an operand that a layer states: `read` they are words as all others; `free` they are
                       neither stored nor moved, and take no room, as in NVDLA
    latency            `steady`: of the busiest resource; `with_fill`: and of the first tiles in, and the last ones out
    overlap            of a cascade's operations: `within_operations` each takes the time of its slowest resource, one
                       after the other; `across_operations` the slowest resource of all together, which perfect
                       prefetching could reach
    leakage_pj_per_cycle, area_mm2  of the rest of the chip, besides memories and MACs
    levels             memories and fanouts, outermost first; the first one is a memory
    mac                the compute unit
    settings           fields of its file that were set from outside, as texts; all other fields have them in already
    """

    name: str
    description: str = ""
    technology: str = ""
    source: str = ""
    settings: dict[str, str] = Field(default_factory=dict)
    clock_hz: Hertz
    word_bits: BitCount
    partial_sum_bits: BitCount | None = None
    inner_drain_read: bool = True
    first_read_elision: bool = True
    reuse: Reuse = "across_levels"
    footprint: Footprint = "exact"
    padding: Padding = "read"
    latency: Latency = "steady"
    leakage_pj_per_cycle: Picojoules = 0.0
    area_mm2: SquareMillimetres = 0.0
    levels: tuple[Memory | Fanout, ...]
    mac: Mac
    overlap: Overlap = "within_operations"

    @model_serializer(mode="wrap")
    def _without_defaults(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return _without(handler(self), {"overlap": "within_operations", "padding": "read"})

    @model_validator(mode="after")
    def _sound(self) -> Architecture:
        if not self.levels or not isinstance(self.levels[0], Memory):
            raise ValueError("the outermost level must be a memory")
        outermost = self.levels[0]
        if outermost.keeps != Keeps() or outermost.size_bits or outermost.partition_bits:
            needed = "it must keep all tensors, of any size; put one like that above it"
            raise ValueError(f"{outermost.name} is the outermost memory: {needed}")
        banked = next((memory.name for memory in self.memories if memory.banks), None)
        if banked and self.latency == "with_fill":
            message = f"{banked} has banks: 'latency: with_fill' knows no waiting for them, expected 'latency: steady'"
            raise ValueError(message)
        lined = next((memory.name for memory in self.memories if memory.line_bits is not None), None)
        if lined and self.padding == "free":
            message = f"{lined} has lines: 'padding: free' knows none, expected 'padding: read'"
            raise ValueError(message)
        bounded = next((memory.name for memory in self.memories[1:] if memory.holds_bits), None)
        if bounded:
            raise ValueError(f"{bounded} is not the outermost memory, expected size_bits instead of holds_bits")
        ahead = next((memory for memory in self.memories if memory.prefetch == "next"), None)
        if ahead is not None:
            self._check_prefetch(ahead)
        names = [level.name for level in self.levels]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"two levels are named {', '.join(sorted(twice))}")
        return self

    def _check_prefetch(self, memory: Memory) -> None:
        """Whether weights can come to a memory while the operations before compute."""
        outermost = self.memories[0]
        if memory is outermost:
            raise ValueError(f"prefetch of {memory.name} is next, and nothing comes to the outermost memory")
        if not outermost.overlaps:
            message = f"prefetch of {memory.name} is next, and no word passes {outermost.name} while computing"
            raise ValueError(f"{message}: its overlaps is false")
        lined = next((one.name for one in (outermost, memory) if one.line_bits is not None), None)
        if lined:
            raise ValueError(f"{lined} has lines: 'prefetch: next' of {memory.name} knows none, expected it without")

    def __str__(self) -> str:
        what = f"{self.name}: {self.description}" if self.description else self.name
        return f"{what} ({self.mac_instances:,} MAC units; {', '.join(memory.name for memory in self.memories)})"

    @property
    def estimates(self) -> str:
        """The figures that are estimates, as the source says; nothing, if none are."""
        return self.source.partition(ESTIMATES)[2]

    @property
    def cost_text(self) -> str:
        """All that costs and latencies depend on, as JSON: no texts and no areas. Without defaults, so that a new
        switch of the cost model that is off leaves it as it is."""
        without: dict[str, Any] = dict.fromkeys(
            ("name", "description", "technology", "source", "settings", "area_mm2"), True
        )
        without |= {"levels": {"__all__": {"area_mm2", "is_cache"}}, "mac": {"area_mm2"}}
        return self.model_dump_json(exclude=without, exclude_defaults=True)

    @property
    def memories(self) -> tuple[Memory, ...]:
        """The memories, outermost first."""
        return tuple(level for level in self.levels if isinstance(level, Memory))

    @property
    def memories_outside(self) -> tuple[Memory, ...]:
        """The memories outside all arrays, outermost first: where operations can exchange intermediates."""
        return tuple(itertools.takewhile(lambda level: isinstance(level, Memory), self.levels))  # type: ignore[arg-type]

    @property
    def fanouts(self) -> tuple[Fanout, ...]:
        """The fanouts, outermost first."""
        return tuple(level for level in self.levels if isinstance(level, Fanout))

    @cached_property
    def depth(self) -> dict[str, int]:
        """Position of every level in the hierarchy, outermost 0."""
        return {level.name: i for i, level in enumerate(self.levels)}

    @cached_property
    def filling_cycles(self) -> float:
        """Cycles from the first instance of all arrays to the last one (`ArrayAxis.latency_cycles`)."""
        return sum(fanout.filling_cycles for fanout in self.fanouts)

    def filling_between(self, outer: str, inner: str) -> float:
        """Those of the arrays between two memories."""
        between = self.levels[self.depth[outer] : self.depth[inner]]
        return sum(level.filling_cycles for level in between if isinstance(level, Fanout))

    @property
    def fills(self) -> bool:
        """Whether the latency has cycles in which work has not reached all units, or has left some of them: those of
        first tiles, or of arrays."""
        return self.latency == "with_fill" or self.filling_cycles > 0

    @property
    def refills(self) -> bool:
        """Whether some arrays run empty before a memory inside them is refilled."""
        outermost = self.memories[0].name
        return any(not m.overlaps and self.filling_between(outermost, m.name) > 0 for m in self.memories)

    @property
    def what_fills(self) -> str:
        """As its file says it."""
        return "latency: with_fill" if self.latency == "with_fill" else "the latency of an array's axis"

    def without_fills(self) -> Architecture:
        """The machine on which nothing has to be filled: no mapping is slower on it."""
        levels = [
            level.model_copy(update={"axes": tuple(a.model_copy(update={"latency_cycles": 0.0}) for a in level.axes)})
            if isinstance(level, Fanout)
            else level
            for level in self.levels
        ]
        return self.model_copy(update={"latency": "steady", "levels": tuple(levels)})

    @property
    def mac_instances(self) -> int:
        """MAC units in all."""
        return math.prod(fanout.instances for fanout in self.fanouts)

    @property
    def total_leakage_pj_per_cycle(self) -> float:
        """Of all instances, at work or not, and the rest of the chip."""
        memories = sum(self.instances(m.name) * m.leakage_pj_per_cycle for m in self.memories)
        return self.leakage_pj_per_cycle + memories + self.mac_instances * self.mac.leakage_pj_per_cycle

    @property
    def total_area_mm2(self) -> float:
        """Of all instances and the rest of the chip, as far as it is stated."""
        memories = sum(self.instances(m.name) * m.area_mm2 for m in self.memories)
        return self.area_mm2 + memories + self.mac_instances * self.mac.area_mm2

    def loop_moves(self, dim: str, tensor: Tensor) -> bool:
        """Whether a temporal loop of several trips over `dim` makes a tile of the tensor be transferred again."""
        return self.reuse == "at_node" or dim in tensor.dims

    def level(self, name: str) -> Memory | Fanout:
        """The level of that name; ArchitectureError names the nearest one otherwise."""
        if name not in self.depth:
            raise ArchitectureError(f"no level {name!r}", where=self.name, hint=did_you_mean(name, self.depth))
        return self.levels[self.depth[name]]

    def instances(self, name: str) -> int:
        """Instances of a level: the product of the fanouts above it."""
        above = self.levels[: self.depth[name]]
        return math.prod(level.instances for level in above if isinstance(level, Fanout))

    def width_bits(self, tensor: Tensor) -> int:
        """Width of an operand word or a finished output word."""
        return tensor.bits or self.word_bits

    def partial_width_bits(self, tensor: Tensor) -> int:
        """Width of a word while it is accumulated; operands have only one width."""
        if not tensor.is_output:
            return self.width_bits(tensor)
        return tensor.partial_bits or self.partial_sum_bits or self.width_bits(tensor)
