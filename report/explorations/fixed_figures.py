"""What an exploration leaves out: memories whose size changes from point to point, and whose figures do not."""

from __future__ import annotations

from collections.abc import Sequence

from ...arch import Architecture, Memory
from ...ir.units import energy, significant, size


def fixed_figures(machines: Sequence[Architecture]) -> tuple[str, ...]:
    """A sentence for each memory that has several sizes, and one energy of an access, or one area, for all of them."""
    notes = []
    for name in dict.fromkeys(memory.name for machine in machines for memory in machine.memories):
        found = [memory for machine in machines for memory in machine.memories if memory.name == name]
        sizes = sorted({_bits(memory) for memory in found})
        if len(sizes) > 1:
            notes += _notes_of(name, sizes, found)
    return tuple(notes)


def _notes_of(name: str, sizes: list[int], memories: list[Memory]) -> list[str]:
    energies = {(m.read_energy_pj / m.access_bits, m.write_energy_pj / m.access_bits) for m in memories}
    areas = {memory.area_mm2 for memory in memories}
    same = []
    first = memories[0]
    if len(energies) == 1 and energies != {(0.0, 0.0)}:
        same.append(f"an access costs {energy(first.read_energy_pj)} at all of them")
    if len(areas) == 1 and first.area_mm2:
        same.append(f"it takes {significant(first.area_mm2)} mm2 at all of them")
    if not same:
        return []
    read = energy(first.read_energy_pj)
    formula = f'--set "{name}.read={read} * (size / S)**0.5"'
    span = f"{name} has sizes from {size(sizes[0])} to {size(sizes[-1])}, and {', and '.join(same)}"
    formula = f"A formula ({formula}, where S is the size that {read} is of)"
    instead = f"{formula} or an estimate ({name}.read=estimate) can follow the size."
    return [f"{span}: larger ones look better than they are. {instead}"]


def _bits(memory: Memory) -> int:
    return (memory.size_bits or 0) + sum(memory.partition_bits.values())
