"""`architecture:` of Timeloop v0.4: nodes from the outside in, and energies per access.

Timeloop counts in words, whatever their width at a level, so all widths are turned into words of the first memory.
An energy is an attribute (`vector_access_energy` of a memory, `energy` of the compute unit, in pJ) or a row of an
energy reference table, `ERT`, which the front end writes beside its output; areas are those of an `ART`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from ...arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from ...arch.document import Field
from ...arch.units import shown
from .accelergy import COMPUTE, FILL, READ, UPDATE, Actions, areas, energies, energy_of, unread_actions
from .nodes import Attributes, TimeloopNode

_MAY = Keeps(input="may", weight="may", output="may")
_DATAWIDTH = ("datawidth", "word_bits", "word_width")
_WIDTH = ("width", "memory_width", "data_storage_width")
_DEPTH = ("depth", "memory_depth", "data_storage_depth")
_BLOCK = ("block_size", "n_words")
_BANDWIDTHS = ("bandwidth", "read_bandwidth", "write_bandwidth", "shared_bandwidth")
_CYCLE = "global_cycle_seconds"
_STORAGE = (*_DATAWIDTH, *_WIDTH, *_DEPTH, *_BLOCK, *_BANDWIDTHS, "entries", "sizeKB", "cluster_size", "cluster_area",
            "multiple_buffering", "vector_access_energy", "energy", _CYCLE)  # fmt: skip
_COMPUTE = ("energy", "area", _CYCLE)
# What Timeloop reads and nothing here does: their value where they change nothing, and what they are.
_WITHOUT_EQUAL = {
    "reduction_supported": ("true", "a memory that cannot add to partial sums"),
    "min_utilization": ("0", "a least use of a memory's words"),
    "allow_overbooking": ("false", "tiles that may be larger than their memory"),
    "network_fill_latency": ("0", "the latency of a network"),
    "network_drain_latency": ("0", "the latency of a network"),
    "per_dataspace_bandwidth_consumption_scale": ("", "a bandwidth by data space"),
    "addr_gen_energy": ("0", "an energy of addresses"),
    **dict.fromkeys(("network_read", "network_fill", "network_drain", "network_update"), ("", "a network")),
    **dict.fromkeys(("network_operand", "network_result"), ("", "a network")),
    **dict.fromkeys(("instances", "meshX", "meshY"), ("1", "an array as an attribute; in v0.4 it is `spatial`")),
}
# Attributes of estimators, and of formats of zeros, that look like one of Timeloop's.
_ESTIMATORS = ("width", "depth", "datawidth", "width_a", "width_b", "multiplier_width", "adder_width", "n_ports",
               "metadata_block_size", "metadata_datawidth", "metadata_word_bits", "metadata_storage_width",
               "metadata_width", "metadata_storage_depth", "metadata_depth", "decompression_supported",
               "compression_supported")  # fmt: skip
_NOTHING = ("null", "none", "~", "[]", "{}", "")


@dataclass(frozen=True)
class _Component:
    """A memory or the compute unit, with its energies by action (pJ) and its area (mm2)."""

    leaf: TimeloopNode
    energies: Actions
    area_mm2: float

    @property
    def name(self) -> str:
        return self.leaf.name

    @property
    def attributes(self) -> Attributes:
        return self.leaf.attributes


def spatial_name(container: str) -> str:
    """What Timeloop's front end calls the array of a container, as a target of loops."""
    return f"inter_{container}_spatial"


def read_architecture(
    part: Field, leaves: Sequence[TimeloopNode], ert: Field | None, art: Field | None, notes: list[str]
) -> Architecture:
    """The machine, with Timeloop's rules; `ert` and `art` are Accelergy's tables of energies and areas.

    Raises TilewrightError with the place of what cannot be expressed.
    """
    tables = energies(ert, notes) if ert is not None else {}
    room = areas(art) if art is not None else {}
    parts = [
        _Component(leaf, tables.get(leaf.name, {}), room.get(leaf.name, 0.0))
        for leaf in leaves
        if leaf.kind in ("storage", "compute")
    ]
    _check_order(part, leaves, parts)
    _check_attributes(leaves, notes)
    known = {name for leaf in leaves for name in (leaf.name, spatial_name(leaf.name))}
    for name in dict.fromkeys([*tables, *room]):
        if name not in known:
            notes.append(f"{name} of the tables is left out: the architecture has no such component")
    for each in parts:
        if unread := unread_actions(each.energies):
            notes.append(f"actions of {each.name} are left out: {', '.join(unread)}")
    first = parts[0]
    word_bits = _word_bits(first)
    levels: list[Memory | Fanout] = []
    by_name = {each.name: each for each in parts}
    for leaf in leaves:
        if "spatial" in leaf.members:
            levels.append(Fanout(name=spatial_name(leaf.name), axes=tuple(ArrayAxis(size=size) for size in leaf.mesh)))
        if leaf.kind == "storage":
            levels.append(_memory(by_name[leaf.name], word_bits, notes))
    if leaking := [each.name for each in parts[:-1] if _leakage(each)]:
        notes.append(f"leak of {', '.join(leaking)} is of all instances; Timeloop counts those that are in use")
    last = parts[-1]
    if last.energies.get("leak"):
        notes.append(f"leak of {last.name} is left out, as Timeloop counts none of a compute unit")
    return Architecture(
        name="timeloop",
        clock_hz=float(f"{1 / _cycle_seconds(leaves):.12g}"),  # 1e-9 s is 1 GHz
        word_bits=word_bits,
        inner_drain_read=False,
        footprint="box",
        levels=tuple(_outermost(level, notes) if level.name == first.name else level for level in levels),
        mac=_mac(last),
    )


def _check_order(part: Field, leaves: Sequence[TimeloopNode], parts: Sequence[_Component]) -> None:
    if len(parts) < 2:
        raise part.error("expected a memory and a compute unit at least")
    last = parts[-1].leaf
    if last.kind != "compute":
        message = (
            f"{last.name} stands innermost and is of class {last.members['class'].text()}, expected a compute unit"
        )
        raise last.members["class"].error(message, hint="class: intmac, fpmac, mac or compute")
    for leaf in (*(each.leaf for each in parts[:-1]), leaves[-1]):
        if leaf.kind == "compute" and leaf is not last:
            raise leaf.field.error(f"{leaf.name} computes, and {last.name} stands below it; expected one compute unit")
        if leaf.kind == "container":
            raise leaf.field.error(f"{leaf.name} stands below the compute unit {last.name}")


def _check_attributes(leaves: Iterable[TimeloopNode], notes: list[str]) -> None:
    """Refuse attributes that Timeloop reads and nothing here equals, and note those that only estimators read."""
    unread: dict[str, list[str]] = {}
    for leaf in leaves:
        read = _COMPUTE if leaf.kind == "compute" else _STORAGE
        for key, given in leaf.attributes.own.items():
            if key in _WITHOUT_EQUAL:
                _refuse(key, given)
            elif key not in read:
                # Refuse what is probably one of Timeloop's keys, mistyped.
                near = get_close_matches(key, (*read, *_WITHOUT_EQUAL), 1, 0.85)
                if near and key not in _ESTIMATORS:
                    raise given.error(f"unknown key {shown(key)}", hint=f"did you mean {near[0]!r}?")
                unread.setdefault(key, []).append(leaf.name)
        for key in ("subclass", "required_actions"):
            unread |= {key: [*unread.get(key, []), leaf.name]} if key in leaf.members else {}
        for key in ("area_scale", "energy_scale"):
            if key in leaf.members and leaf.attributes.number(leaf.members[key]) != 1:
                notes.append(f"{key} of {leaf.name} is left out: an ERT or ART holds it already")
    if unread:
        words = "; ".join(f"{key} of {', '.join(names)}" for key, names in unread.items())
        notes.append(f"left out, since they only describe components to energy estimators: {words}")


def _refuse(key: str, given: Field) -> None:
    usual, what = _WITHOUT_EQUAL[key]
    text = given.value.strip().lower() if isinstance(given.value, str) else given.found if given.value else ""
    if text not in (*_NOTHING, usual, f"{usual}.0"):
        raise given.error(f"{key} has no equal here: {what}")


def _cycle_seconds(leaves: Iterable[TimeloopNode]) -> float:
    found = 1e-9
    for leaf in leaves:
        given = leaf.attributes.get(_CYCLE) or leaf.attributes.variables.get(_CYCLE)
        if given is not None:
            found = leaf.attributes.number(given)
            if not found:
                raise given.error("found 0, expected the seconds of a cycle")
    return found


def _outermost(level: Memory | Fanout, notes: list[str]) -> Memory | Fanout:
    if isinstance(level, Memory) and level.size_bits is not None:
        notes.append(f"the size of {level.name} is left out: the outermost memory is unbounded here, and keeps all")
    return level.model_copy(update={"size_bits": None, "keeps": Keeps()})


def _mac(part: _Component) -> Mac:
    area = part.attributes.get("area")
    stated = part.attributes.number(area) * 1e-6 if area is not None else 0.0
    return Mac(energy_pj=_energy(part, "energy", COMPUTE), area_mm2=part.area_mm2 or stated)


def _memory(part: _Component, bits: int, notes: list[str]) -> Memory:
    """Widths in words of the first memory."""
    own, block = _word_bits(part), _block(part)
    if own != bits:
        notes.append(f"{part.name} holds words of {own} bit; here its words have {bits} bit, and as many fit")
    stated = part.attributes.get("cluster_area")
    if part.attributes.get("vector_access_energy") is not None and part.energies:
        notes.append(f"{part.name} states vector_access_energy, which wins over the ERT, as in Timeloop")
    return Memory(
        name=part.name,
        size_bits=_words(part, block, own, bits),
        access_bits=block * bits,
        block_bits=block * bits if block > 1 else None,
        read_energy_pj=_energy(part, "vector_access_energy", READ),
        write_energy_pj=_energy(part, "vector_access_energy", FILL, UPDATE),
        keeps=_MAY,
        double_buffered=_copies(part) == 2,
        area_mm2=part.area_mm2 or (part.attributes.number(stated) * 1e-6 if stated is not None else 0.0),
        leakage_pj_per_cycle=_leakage(part),
        **_ports(part, bits),
    )


def _leakage(part: _Component) -> float:
    """None of an ERT whose energies the memory does not take."""
    return 0.0 if part.attributes.get("vector_access_energy") is not None else part.energies.get("leak", 0.0)


def _ports(part: _Component, bits: int) -> dict[str, float]:
    """Bandwidths, which are stated in words."""
    given = {port: part.attributes.get(f"{port}_bandwidth") for port in ("read", "write", "shared")}
    found = {port: part.attributes.number(each) * bits for port, each in given.items() if each is not None}
    both = part.attributes.get("bandwidth")
    if both is not None:  # as Timeloop reads it
        found = {port: part.attributes.number(both) * bits / 2 for port in ("read", "write")} | found
    if "shared" in found and len(found) > 1:
        message = "a bandwidth for both directions and one for each have no equal here, expected one kind"
        raise (given["shared"] or part.leaf.field).error(message)
    for port, rate in found.items():
        if not rate:
            raise part.leaf.field.error(f"{part.name} has a {port} bandwidth of 0, expected more")
    return {f"{port}_bits_per_cycle": rate for port, rate in found.items()}


def _words(part: _Component, block: int, own: int, bits: int) -> int | None:
    """The size, in bits of words of the first memory; None is unbounded."""
    entries, size = part.attributes.get("entries"), part.attributes.get("sizeKB")
    depth = part.attributes.get(*_DEPTH)
    if sum(each is not None for each in (entries, size, depth)) > 1:
        raise part.leaf.field.error("depth, entries and sizeKB say one thing, expected one of them")
    if depth is not None:
        return part.attributes.whole(depth, "a whole number") * block * bits
    if entries is not None:
        return part.attributes.whole(entries, "a whole number") * bits
    if size is not None:
        return part.attributes.whole(size, "a whole number") * 1024 * 8 // own * bits
    return None


def _copies(part: _Component) -> int:
    given = part.attributes.get("multiple_buffering")
    copies = 1.0 if given is None else part.attributes.number(given)
    if given is not None and copies not in (1, 2):
        raise given.error(f"{copies:g} copies of a tile have no equal here, expected 1 or 2")
    return int(copies)


def _word_bits(part: _Component) -> int:
    given = part.attributes.get(*_DATAWIDTH)
    if given is None:
        message = "missing, expected the width of a word in bits"
        raise part.leaf.field.error(message, key="attributes.datawidth")
    return part.attributes.whole(given, "a width in bits")


def _block(part: _Component) -> int:
    """Words of an access."""
    own, cluster, block = _word_bits(part), part.attributes.get("cluster_size"), part.attributes.get(*_BLOCK)
    if cluster is not None and part.attributes.whole(cluster, "a whole number") != 1:
        raise cluster.error("clusters of memories have no equal here, expected 1")
    stated = part.attributes.whole(block, "a number of words") if block is not None else None
    width = part.attributes.get(*_WIDTH)
    if width is None:
        return stated or 1
    bits = part.attributes.whole(width, "a width in bits")
    words, rest = divmod(bits, own)
    if rest or not words:
        raise width.error(f"{bits} bits are no whole number of words of {own} bits")
    if block is not None and stated != words:
        raise block.error(f"{bits} bits are {words} words, and no block of {stated}; clusters have no equal here")
    return words


def _energy(part: _Component, attribute: str, *kinds: tuple[str, ...]) -> float:
    """pJ per access; kinds of actions that are one here must cost alike. A memory's own energy wins over the ERT, as
    there."""
    stated = part.attributes.get(attribute)
    found = dict(filter(None, (energy_of(part.energies, kind) for kind in kinds)))
    known = list(found.values())
    if stated is not None and (part.leaf.kind == "storage" or not known):
        return part.attributes.number(stated)
    if len(set(known)) > 1:
        raise part.leaf.field.error(f"{' and '.join(found)} of {part.name} differ in energy; here they are one")
    if known:
        return known[0]
    hint = f"add the attribute {attribute} in pJ, or give the ERT file that Timeloop's front end writes"
    raise part.leaf.field.error(f"no energy is given for {part.name}", hint=hint)


def without_sharing(arch: Architecture, arrays: Mapping[str, Mapping[str, bool]]) -> Architecture:
    """The machine with other switches of its arrays, by name."""
    levels = [level.model_copy(update=dict(arrays.get(level.name, {}))) for level in arch.levels]
    return arch.model_copy(update={"levels": tuple(levels)})
