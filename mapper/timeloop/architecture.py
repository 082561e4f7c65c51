"""`architecture:` of Timeloop v0.4: nodes from the outside in, and energies per access.

Timeloop counts in words, whatever their width at a level, so all widths are turned into words of the first memory.
An energy is an attribute (`vector_access_energy` of a memory, `energy` of the compute unit, in pJ) or a row of an
energy reference table, `ERT`, which the front end writes beside its output; areas are those of an `ART`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...arch import Architecture, ArrayAxis, Fanout, Keeps, Mac, Memory
from ...arch.document import Field
from .accelergy import Actions, areas, energies, number

_MAY = Keeps(input="may", weight="may", output="may")
_NODE = ("name", "class", "subclass", "attributes", "spatial", "constraints", "required_actions", "enabled")
_WORD_COUNTS = ("width", "depth", "datawidth")
_ENERGIES = ("vector_access_energy", "vector-access-energy", "energy")
# They describe a component to energy estimators, or say what is so here anyway.
_NO_BEARING = ("technology", "type", "n_banks", "n_ports", "nports", "nbanks", "n_rdwr_ports", "n_rd_ports",
               "n_wr_ports", "has_power_gating", "power_gated_at", "version", "reduction_supported", "min_utilization",
               "allow_overbooking", "multiplier_width", "adder_width", "update_fifo_depth",
               "global_cycle_seconds")  # fmt: skip
_ATTRIBUTES = (
    *_WORD_COUNTS, *_ENERGIES, "read_bandwidth", "write_bandwidth", "shared_bandwidth", "multiple_buffering",
    "cluster_size", *_NO_BEARING,
)  # fmt: skip


@dataclass(frozen=True)
class _Component:
    """A node that is a component, with its attributes, its energies by action (pJ) and its area."""

    field: Field
    name: str
    attributes: Mapping[str, Field]
    energies: Actions
    area_mm2: float


def spatial_name(container: str) -> str:
    """What Timeloop's front end calls the array of a container, as a target of loops."""
    return f"inter_{container}_spatial"


def read_architecture(part: Field, ert: Field | None, art: Field | None = None) -> Architecture:
    """The machine, with Timeloop's rules; `ert` and `art` are Accelergy's tables of energies and areas.

    Raises TilewrightError with the place of what cannot be expressed.
    """
    members = part.members({"nodes": "a list of !Container and !Component"}, ("version",))
    tables = energies(ert) if ert is not None else {}
    room = areas(art) if art is not None else {}
    levels: list[Memory | Fanout] = []
    components: list[_Component] = []
    cycle_s = 1e-9
    for node in flat_nodes(members["nodes"]):
        known = node.members({"name": "a name such as PE"}, _NODE)
        attributes = known["attributes"].members({}, _ATTRIBUTES) if "attributes" in known else {}
        name = known["name"].text()
        if "spatial" in known:
            levels.append(_fanout(name, known["spatial"]))
        if "global_cycle_seconds" in attributes:
            cycle_s = number(attributes["global_cycle_seconds"])
        if node.tag == "!Component":
            components.append(_Component(node, name, attributes, tables.get(name, {}), room.get(name, 0.0)))
            levels.append(_memory(components[-1], components[0]))
    if len(components) < 2:
        raise part.error("expected a memory and a compute unit at least")
    # The last component computes; it was taken for a memory so far.
    if levels[-1].name != components[-1].name:
        raise part.error(f"{levels[-1].name} stands below the compute unit {components[-1].name}")
    first = components[0]
    return Architecture(
        name="timeloop",
        clock_hz=float(f"{1 / cycle_s:.12g}"),  # 1e-9 s is 1 GHz
        word_bits=_word_bits(first),
        inner_drain_read=False,
        footprint="box",
        levels=tuple(_outermost(level) if i == 0 else level for i, level in enumerate(levels[:-1])),
        mac=Mac(energy_pj=_energy(components[-1], ("compute",), "energy"), area_mm2=components[-1].area_mm2),
    )


def _outermost(level: Memory | Fanout) -> Memory | Fanout:
    return level.model_copy(update={"size_bits": None, "keeps": Keeps()})


def flat_nodes(nodes: Field) -> Iterator[Field]:
    """Nodes from the outside in. Parallel ones hold different tensors, so they may stand inside each other."""
    for node in nodes.elements("a list of !Container and !Component"):
        if node.tag == "!Parallel":
            yield from flat_nodes(node.members({"nodes": "a list of nodes"})["nodes"])
        elif node.tag in ("!Container", "!Component"):
            yield node
        elif node.tag == "!Nothing":  # a branch for what passes by
            continue
        else:
            raise node.error(f"{node.tag or 'a node without a tag'} has no equal here, expected !Container, !Component")


def _fanout(name: str, field: Field) -> Fanout:
    mesh = field.members({}, ("meshX", "meshY"))
    sizes = [mesh[key].whole("a number of instances") if key in mesh else 1 for key in ("meshX", "meshY")]
    return Fanout(name=spatial_name(name), axes=tuple(ArrayAxis(size=size) for size in sizes))


def _memory(part: _Component, first: _Component) -> Memory:
    """Widths in words of the first memory; the compute unit passes through here, too, and needs no attributes."""
    bits, block = _word_bits(first), _block(part)
    depth = part.attributes.get("depth")
    bandwidths = {}
    for port in ("read", "write", "shared"):
        if f"{port}_bandwidth" in part.attributes:
            bandwidths[f"{port}_bits_per_cycle"] = number(part.attributes[f"{port}_bandwidth"]) * bits
    if "shared_bits_per_cycle" in bandwidths and len(bandwidths) > 1:
        message = "a bandwidth for both directions and one for each have no equal here, expected one kind"
        raise part.attributes["shared_bandwidth"].error(message)
    if "cluster_size" in part.attributes and part.attributes["cluster_size"].text() != "1":
        raise part.attributes["cluster_size"].error("clusters of memories have no equal here, expected 1")
    energy = 0.0 if _computes(part) else _energy(part, ("read",), _ENERGIES[0])
    return Memory(
        name=part.name,
        size_bits=depth.whole("a whole number") * block * bits if depth is not None else None,
        access_bits=block * bits,
        block_bits=block * bits if block > 1 else None,
        read_energy_pj=energy,
        write_energy_pj=0.0 if _computes(part) else _energy(part, ("write", "update"), _ENERGIES[0]),
        keeps=_MAY,
        double_buffered=_copies(part) == 2,
        area_mm2=part.area_mm2,
        **bandwidths,
    )


def _computes(part: _Component) -> bool:
    return "width" not in part.attributes


def _copies(part: _Component) -> int:
    field = part.attributes.get("multiple_buffering")
    copies = 1.0 if field is None else number(field)
    if field is not None and copies not in (1, 2):
        raise field.error(f"{copies:g} copies of a tile have no equal here, expected 1 or 2")
    return int(copies)


def _word_bits(part: _Component) -> int:
    field = part.attributes.get("datawidth") or part.attributes.get("width")
    if field is None:
        raise part.field.error("missing, expected the width of a word in bits", key="attributes.datawidth")
    return field.whole("a width in bits")


def _block(part: _Component) -> int:
    """Words of an access."""
    if "width" not in part.attributes:
        return 1
    width = part.attributes["width"].whole("a width in bits")
    words, rest = divmod(width, _word_bits(part))
    if rest or not words:
        raise part.attributes["width"].error(f"{width} bits are no whole number of words of {_word_bits(part)} bits")
    return words


def _energy(part: _Component, actions: tuple[str, ...], attribute: str) -> float:
    """pJ per access; actions that are one here must cost alike."""
    found = {action: part.energies[action] for action in actions if action in part.energies}
    if len(set(found.values())) > 1:
        raise part.field.error(f"{' and '.join(found)} of {part.name} differ in energy; here they are one")
    if found:
        return next(iter(found.values()))
    for key in (attribute, attribute.replace("_", "-")):
        if key in part.attributes:
            return number(part.attributes[key])
    hint = f"add the attribute {attribute} in pJ, or give the ERT file that Timeloop's front end writes"
    raise part.field.error(f"no energy is given for {part.name}", hint=hint)
