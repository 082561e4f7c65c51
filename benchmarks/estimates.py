"""How far estimates are from the figures of the shipped machines: both tables of results/estimates.md.

    python benchmarks/estimates.py

Energies: of every SRAM, register file and MAC, that of a read or of a multiply-accumulate by its estimate over the one
that its file states; files say where energies are of another technology than the chip. Areas: the sum of memories and
MACs over that of the chip, where one is published.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.arch import Architecture, Memory, list_archs, load_arch

RELATIVE = {"eyeriss": "relative to a MAC", "three_level": "invented"}
AREAS_MM2 = {
    "a100": (826, "die, [nvidia]"),
    "diannao": (3.02, "Chen et al., ASPLOS 2014 (C)"),
    "eyeriss": (12.25, "core of 3.5 mm x 3.5 mm, Chen et al., JSSC 2017"),
    "h100": (814, "die, [nvidia]"),
    "shidiannao": (4.86, "Du et al., ISCA 2015"),
    "simba": (6.0, "chiplet of 2.5 mm x 2.4 mm, Zimmer et al., VLSI 2019 (C)"),
    "tpu_v1": (331, "at most, die, Jouppi et al., ISCA 2017 (C)"),
    "tpu_v4i": (400, "at most, die, Jouppi et al., ISCA 2021 (C)"),
    "v100": (815, "die, [nvidia]"),
}
"""Of chips as published, and where; (C) is recalled and not confirmed by a second source."""


def energies() -> Iterator[tuple[str, str, int, float, float]]:
    """Machine, memory or MAC, bits of an access, and its energy as it is stated and as it is estimated, in pJ."""
    for name in list_archs():
        if name in RELATIVE:
            continue
        stated = load_arch(name)
        for memory in stated.memories[1:]:
            if memory.read_energy_pj:
                estimated = load_arch(name, {f"{memory.name}.read": "estimate"}).level(memory.name)
                assert isinstance(estimated, Memory)
                yield name, memory.name, memory.access_bits, memory.read_energy_pj, estimated.read_energy_pj
        mac = load_arch(name, {"mac.energy": "estimate"}).mac
        yield name, "MAC", stated.word_bits, stated.mac.energy_pj, mac.energy_pj


def energy_rows() -> Iterator[str]:
    yield "| machine | part | bits | stated | estimated | estimated / stated |"
    yield "|---|---|---|---|---|---|"
    for name, part, bits, stated, estimated in energies():
        yield f"| `{name}` | {part} | {bits} | {stated:.4g} pJ | {estimated:.4g} pJ | {estimated / stated:.2f} |"


def area_rows() -> Iterator[str]:
    yield "| machine | memories | MACs | together | published | together / published | of what |"
    yield "|---|---|---|---|---|---|---|"
    for name in list_archs():
        arch = load_arch(name)
        memories, macs = areas(arch)
        published, source = AREAS_MM2.get(name, (None, ""))
        of_it = f"{published:g} mm2 | {(memories + macs) / published:.2f}" if published else "- | -"
        yield f"| `{name}` | {memories:.3g} mm2 | {macs:.3g} mm2 | {memories + macs:.3g} mm2 | {of_it} | {source} |"


def areas(arch: Architecture) -> tuple[float, float]:
    """Of all memories, and of all MACs, in square millimetres."""
    memories = sum(arch.instances(memory.name) * memory.area_mm2 for memory in arch.memories)
    return memories, arch.mac_instances * arch.mac.area_mm2


if __name__ == "__main__":
    print("\n".join([*energy_rows(), "", *area_rows()]))
