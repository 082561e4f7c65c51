"""What is in the libraries, as pages of text: an architecture, a system, a network, a layer."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from ...arch import Architecture, ArrayAxis, Fanout, Mac, Memory
from ...arch.ports import stated_ports
from ...arch.system import System
from ...ir import Cascade, Work
from ...ir.problem import ROLES
from ...ir.units import clock, count, energy, plural, significant, size, watts
from ...workloads import Network
from ..networks.network import network_document, network_page
from ..parts.text import architecture_rows, columns, pairs, section
from ..parts.work import tensor_table, work_rows


def page_of(found: Architecture | System | Network | Work) -> Group:
    """The page of an architecture, a system, a network, a problem or a cascade."""
    if isinstance(found, System):
        from .system import system_page

        return system_page(found)
    if isinstance(found, Architecture):
        return architecture_page(found)
    if isinstance(found, Network):
        return network_page(found)
    return work_page(found)


def data_of(found: Architecture | System | Network | Work) -> Any:
    """The same for programs: an architecture and a problem as in mapping.json, a system in bytes and seconds, a network
    as a table of its layers, a cascade as in its file."""
    if isinstance(found, System):
        from .system import system_document

        return system_document(found)
    if isinstance(found, Cascade):
        return cascade_document(found)
    if isinstance(found, Network):
        return network_document(found)
    from ...run.documents.parts import part_of

    return part_of(found)


def architecture_page(arch: Architecture) -> Group:
    """An architecture: what it is, its hierarchy from the outside in, and its memories in figures."""
    rows = architecture_rows(arch)
    rows += [("", f"{significant(arch.total_area_mm2)} mm2, by estimates")] if "area of" in arch.estimates else []
    partial = arch.partial_sum_bits or arch.word_bits
    rows += [("Partial sums", f"{partial} bit")]
    rows += [("Reuse", "at nodes only")] if arch.reuse == "at_node" else []
    rows += [] if arch.first_read_elision else [("First reads", "partial sums are read at their first visit")]
    rows += [("Footprint", "the box around a tile, gaps included")] if arch.footprint == "box" else []
    rows += [("Padding", "zeros around a tensor are not stored, and not moved")] if arch.padding == "free" else []
    rows += [("Latency", "with fill and drain times")] if arch.latency == "with_fill" else []
    leaking = arch.total_leakage_pj_per_cycle
    rows += [("Leakage", f"{energy(leaking)} per cycle, {watts(leaking * arch.clock_hz)}")] if leaking else []
    rows += [(what, text) for what, text in (("Technology", arch.technology), ("Source", arch.source)) if text]
    return Group(
        pairs(rows),
        section("Hierarchy", Text("\n".join(_hierarchy_lines(arch)), no_wrap=True)),
        section("Memories", _memory_table(arch)),
    )


def work_page(work: Work) -> Group:
    """A layer or a cascade: its operations and sizes, and its tensors in words."""
    return Group(pairs(work_rows(work)), section("Tensors", tensor_table(work)))


def cascade_document(cascade: Cascade) -> dict[str, Any]:
    """A cascade for programs: what its YAML file says."""
    *operations, _ = str(cascade).splitlines()
    sizes = dict(pair for operation in cascade for pair in operation.problem.dims)
    return {
        "name": cascade.name,
        "operations": operations,
        "sizes": {dim.lower(): size for dim, size in sizes.items()},
        "points": cascade.macs,
    }


def _hierarchy_lines(arch: Architecture) -> list[str]:
    """One line a level, each inside the one above."""
    lines = []
    depth = 0
    for level in arch.levels:
        lines.append("  " * depth + (_memory_line(level) if isinstance(level, Memory) else _fanout_line(level)))
        depth += 1
    per_cycle = "" if arch.mac.per_cycle == 1 else f", {significant(arch.mac.per_cycle)} per cycle"
    mac = "  ".join([f"MAC  {energy(arch.mac.energy_pj)}{per_cycle}", *_idle(arch.mac)])
    return [*lines, "  " * depth + mac]


def _memory_line(memory: Memory) -> str:
    return "  ".join([memory.name, capacity(memory), _keeps(memory), *memory_extras(memory)])


def memory_extras(memory: Memory) -> list[str]:
    """What a memory does that others do not."""
    extras = [] if memory.halo == "innermost" else [f"halo {memory.halo}"]
    extras += ["double buffered"] if memory.double_buffered else []
    extras += [] if memory.overlaps else ["does not overlap compute"]
    extras += ["cache"] if memory.is_cache else []
    extras += ["fetches the next weights"] if memory.prefetch == "next" else []
    extras += [f"blocks of {size(memory.block_bits)}"] if memory.block_bits else []
    extras += [f"lines of {size(memory.line_bits)}"] if memory.line_bits else []
    extras += [_banks(memory)] if memory.banks else []
    return extras + _idle(memory)


def _banks(memory: Memory) -> str:
    ports = f" of {memory.bank_ports} ports" if memory.bank_ports > 1 else ""
    return f"{plural(memory.banks or 0, 'bank')}{ports}"


def _fanout_line(fanout: Fanout) -> str:
    axes = " x ".join(axis_text(axis) for axis in fanout.axes)
    return f"{fanout.name}  {axes}  {network_text(fanout)}"


def network_text(fanout: Fanout) -> str:
    """How words get to the instances of an array, and back."""
    multicast = "multicast" if fanout.multicast else "no multicast"
    reduction = "spatial reduction" if fanout.spatial_reduction else "no spatial reduction"
    hops = f", {energy(fanout.hop_pj_per_bit)} per bit and hop" if fanout.hop_pj_per_bit else ""
    return f"{multicast}, {reduction}{hops}"


def _idle(part: Memory | Mac) -> list[str]:
    """What one instance costs by being there."""
    leaks = [f"leaks {energy(part.leakage_pj_per_cycle)} per cycle"] if part.leakage_pj_per_cycle else []
    return leaks + ([f"{significant(part.area_mm2)} mm2"] if part.area_mm2 else [])


def axis_text(axis: ArrayAxis) -> str:
    """The size of an axis, and which loops it takes if not all."""
    limits = [f"only {' '.join(axis.dims)}"] if axis.dims is not None else []
    limits += [f"sharing the {axis.reuse}"] if axis.reuse else []
    limits += [] if axis.reduce else ["no reductions"]
    limits += (
        [f"a hop takes {significant(axis.latency_cycles)} {'cycle' if axis.latency_cycles == 1 else 'cycles'}"]
        if axis.latency_cycles
        else []
    )
    return f"{axis.size} ({', '.join(limits)})" if limits else str(axis.size)


def capacity(memory: Memory) -> str:
    """The size of a memory, or of its parts."""
    parts = [f"{role} {size(memory.partition_bits[role])}" for role in ROLES if role in memory.partition_bits]
    if memory.size_bits is not None:
        parts.append(f"shared {size(memory.size_bits)}" if parts else size(memory.size_bits))
    in_system = "" if memory.holds_bits is None else f" ({size(memory.holds_bits)} in a system)"
    return " + ".join(parts) or f"unbounded{in_system}"


def _keeps(memory: Memory) -> str:
    words = []
    for word in ("must", "may", "never"):
        roles = [role for role in ROLES if memory.keeps[role] == word]
        if len(roles) == len(ROLES):
            return "keeps everything" if word == "must" else f"{word} keep any tensor"
        words += [f"{word} keep {', '.join(roles)}"] if roles else []
    return "; ".join(words)


def _memory_table(arch: Architecture) -> Table:
    """Figures of one instance; energies are of one access."""
    per_second = f"at {clock(arch.clock_hz)}"
    table = columns(("memory",), ("count", "access", "read", "write", "port per cycle", per_second))
    for memory in arch.memories:
        table.add_row(
            memory.name,
            count(arch.instances(memory.name)),
            f"{memory.access_bits} bit",
            energy(memory.read_energy_pj),
            energy(memory.write_energy_pj),
            *bandwidth(memory, arch.clock_hz),
        )
    return table


def bandwidth(memory: Memory, clock_hz: float) -> tuple[str, str]:
    """Of one instance, per cycle and per second; ports of their own are read + write."""
    ports = [bits for _, bits in stated_ports(memory)]
    if not any(ports):
        return "unbounded", "-"
    per_cycle = " + ".join("unbounded" if bits is None else f"{significant(bits / 8)} B" for bits in ports)
    per_second = " + ".join("-" if bits is None else f"{significant(bits / 8 * clock_hz / 1e9)}" for bits in ports)
    return per_cycle, f"{per_second} GB/s"
