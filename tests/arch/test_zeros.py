"""What an architecture file says about zeros: read, written back, and refused with its place."""

from __future__ import annotations

import pytest

from tilewright.arch import Memory, load_arch, parse_arch
from tilewright.arch.writer import architecture_text
from tilewright.ir import ArchitectureError

TEXT = """
name: zeros
clock: 1 GHz
word: 8 bit
levels:
  - memory: DRAM
    access: 8 bit
    read: 1 pJ
    write: 1 pJ
    {memory}
mac: {{energy: 1 pJ, {mac}}}
"""


def test_what_is_read() -> None:
    arch = parse_arch(
        TEXT.format(
            memory="compress: {weight: csr, input: [bitmask, csr]}\n"
            "    skip: {weight: [input], output: [input, weight]}\n"
            "    gate: {input: [weight]}",
            mac="skip: [weight], gate: [input], structure: 2:4",
        )
    )
    memory = arch.levels[0]
    assert isinstance(memory, Memory)
    assert memory.formats == {"weight": ("csr",), "input": ("bitmask", "csr")}
    assert memory.skips == {"weight": ("input",), "output": ("input", "weight")}
    assert memory.gates == {"input": ("weight",)}
    assert (arch.mac.skips, arch.mac.gates, arch.mac.structure) == (("weight",), ("input",), (2, 4))
    assert parse_arch(architecture_text(arch)).cost_text == arch.cost_text


def test_machines_without_zeros_say_nothing_of_them() -> None:
    assert not any(word in load_arch("eyeriss").model_dump_json() for word in ("skips", "gates", "formats"))


@pytest.mark.parametrize(
    ("memory", "mac", "message"),
    [
        (
            "compress: {weight: zip}",
            "per_cycle: 1",
            r"DRAM|compress.weight: found 'zip', expected uncompressed, bitmask",
        ),
        ("compress: {output: bitmask}", "per_cycle: 1", r"compress.output: outputs have no format"),
        ("compress: {weight: [csr, csr]}", "per_cycle: 1", r"compress.weight: a format is given twice"),
        ("skip: {weight: [weight]}", "per_cycle: 1", r"skip.weight: weight decides about itself"),
        ("skip: {weight: []}", "per_cycle: 1", r"skip.weight: the list is empty"),
        ("gate: {psum: [weight]}", "per_cycle: 1", r"gate.psum: unknown key 'psum'"),
        ("overlaps: true", "structure: 4:2", r"mac.structure: found '4:2', expected N:M"),
        ("overlaps: true", "skip: [output]", r"mac.skip\[0\]: found 'output', expected input or weight"),
    ],
)
def test_what_is_refused(memory: str, mac: str, message: str) -> None:
    with pytest.raises(ArchitectureError, match=message):
        parse_arch(TEXT.format(memory=memory, mac=mac))
