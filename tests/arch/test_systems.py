"""System files: what is read, what is set from outside, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilewright as tw
from tilewright.arch import parse_arch
from tilewright.arch.system import KINDS, axes_named, parse_system
from tilewright.arch.writer import architecture_text
from tilewright.ir import ArchitectureError

GB = 10**9
TWO = """\
system: two
device: {arch: three_level, set: {GLB.size: 64 KiB}}
fabric:
  - {name: node, kind: ring, size: 4, bandwidth: {both: 50 GB/s}, latency: 1 us, hop: 1.3 pJ/bit, links: 2}
  - {name: cluster, kind: switch, size: 2, bandwidth: 200 Gbit/s, reduces: true, shared: true, multicast: true}
"""

# Devices, bisection bandwidth [GB/s], and Tflop/s of a device as its maker states them.
LIBRARY = {
    "a100_pcie_x4": (4, 64, 312),
    "a100x8": (8, 1200, 312),
    "a100x8x4": (32, 400, 312),
    "h100_pcie_x8": (8, 64, 989),
    "h100x8": (8, 1800, 989),
    "h100x8x32": (256, 6400, 989),
    "simba_6x6": (36, 150, 4),
    "tpu_v4": (64, 1440, 275),
    "tpu_v5e": (256, 1440, 197),
    "wafer_5x5": (25, 10_000, 362),
}


def test_the_library_is_what_it_says() -> None:
    assert set(tw.list_systems()) == set(LIBRARY)
    for name, (devices, bisection, peak) in LIBRARY.items():
        system = tw.load_system(name)
        device = system.device
        assert (system.name, system.devices) == (name, devices)
        assert system.bisection == pytest.approx(bisection * GB)
        flops = 2 * device.mac_instances * device.mac.per_cycle * device.clock_hz
        assert flops == pytest.approx(peak * 1e12, rel=0.03)
        assert system.source
        page = (Path(__file__).parents[2] / "docs" / "chips.md").read_text(encoding="utf-8")
        assert f"| `{name}` | {system.description} |" in page


def test_a_file_says_axes_in_bytes_and_seconds() -> None:
    system = parse_system(TWO)
    node, cluster = system.axes
    assert (node.bandwidth, node.latency, node.hop_pj_per_bit, node.links) == (25 * GB, 1e-6, 1.3, 2)
    assert (cluster.bandwidth, cluster.reduces, cluster.shared, cluster.multicast) == (25 * GB, True, True, True)
    assert node.bytes_per_second == 100 * GB
    assert system.within(cluster) == (node,)
    assert dict(system.device.settings) == {"GLB.size": "64 KiB"}


def test_fields_are_set_before_the_file_is_checked() -> None:
    chosen = {
        "node.size": 3,
        "cluster.bandwidth": "10 GB/s",
        "device.RF.size": "1 KiB",
        "node.bandwidth": {"both": "2 GB/s"},
    }
    system = parse_system(TWO, set=chosen)
    assert (system.axes[0].size, system.axes[0].bandwidth, system.axes[1].bandwidth) == (3, GB, 10 * GB)
    assert dict(system.device.settings) == {"GLB.size": "64 KiB", "RF.size": "1 KiB"}


def test_what_a_device_holds_changes_no_mapping_of_one_device() -> None:
    """The size of the outermost memory is that of a device of a system; a question about one device has the same key,
    its document says nothing of it, and a file has it again."""
    free, held = tw.load_arch("three_level"), tw.load_arch("three_level", set={"DRAM.size": "1 GiB"})
    assert (free.memories[0].holds_bits, held.memories[0].holds_bits) == (None, 8 * 2**30)
    assert held.cost_text == free.cost_text
    assert held.memories[0].model_dump() == free.memories[0].model_dump()
    assert parse_arch(architecture_text(held)).memories == held.memories
    assert tw.load_system("h100x8").device.memories[0].holds_bits == 8 * 80 * 2**30
    small = tw.load_system("tpu_v4", set={"device.HBM.size": "2 GB"})
    assert small.device.memories[0].holds_bits == 8 * 2 * GB
    with pytest.raises(ArchitectureError, match="GLB is not the outermost memory"):
        type(held)(**dict(held) | {"levels": (held.levels[0], held.levels[1].model_copy(update={"holds_bits": 8}))})


@pytest.mark.parametrize("kind", KINDS)
def test_one_device_alone_has_no_links(kind: str) -> None:
    text = f"system: one\ndevice: three_level\nfabric: [{{name: x, kind: {kind}, size: 1, bandwidth: 1 GB/s}}]\n"
    system = parse_system(text)
    assert (system.devices, system.bisection, system.axes[0].bytes_per_second, system.axes[0].diameter) == (1, 0, 0, 0)
    with pytest.raises(ArchitectureError, match="one device"):
        axes_named(system, None)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("size: 4", "size: 0", r"two.yaml:4: fabric\[0\].size: found '0', expected the number of devices along it"),
        ("size: 4", "size: 5000", "found 5,000, expected the number of devices along it, 1 to 1,024"),
        ("bandwidth: {both: 50 GB/s}, ", "", r"fabric\[0\].bandwidth: missing, expected a bandwidth of one link"),
        ("{both: 50 GB/s}", "50 GB", "'GB' in '50 GB' is not a unit of bandwidth"),
        ("{both: 50 GB/s}", "50 B/cycle", "'B/cycle' in '50 B/cycle' is not a unit of bandwidth"),
        ("200 Gbit/s", "200 Gb/s", "write Gibit or Gbit for bits"),
        ("200 Gbit/s", "{both: 50 GB/s}", "a port of a switch is one direction.*\nhint: write bandwidth: 25 GB/s"),
        ("{both: 50 GB/s}", "{each: 50 GB/s}", "unknown key 'each'"),
        ("kind: ring", "kind: rings", "found 'rings', expected ring, line, full or switch\nhint: did you mean 'ring'"),
        ("links: 2", "reduces: true", "a ring has no switch that could add"),
        ("links: 2", "shared: true", "no axis lies within the innermost one"),
        ("links: 2", "multicast: true", "nothing shares a port of this axis"),
        ("links: 2", "link: 2", "unknown key 'link'\nhint: did you mean 'links'"),
        ("name: cluster", "name: node", r"fabric\[1\].name: a second axis is named 'node'"),
        ("name: cluster", "name: device", "found 'device', expected a name"),
        ("arch: three_level", "arch: three_levels", "two.yaml:2: device: no architecture is named 'three_levels'"),
        ("GLB.size", "GLP.size", "two.yaml:2: device: set GLP.size=64 KiB: there is no 'GLP'"),
        ("system: two\n", "", "two.yaml:1: system: missing, expected a name such as h100x8"),
        (TWO, "", "the file is empty, expected a system file"),
    ],
)
def test_what_is_wrong_is_said_in_its_place(old: str, new: str, message: str) -> None:
    assert old in TWO
    with pytest.raises(ArchitectureError, match=message):
        parse_system(TWO.replace(old, new), "two.yaml")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "nodes.size",
            "there is no field 'nodes.size', expected an axis and its key.*\nhint: did you mean 'node.size'",
        ),
        ("node", "there is no field 'node'"),
        ("node.sizes", "unknown key 'sizes'"),
        ("device.GLP.size", "there is no 'GLP'"),
    ],
)
def test_only_fields_that_there_are_can_be_set(path: str, message: str) -> None:
    with pytest.raises(ArchitectureError, match=message):
        parse_system(TWO, set={path: 2})


def test_a_system_that_there_is_not_is_named() -> None:
    with pytest.raises(ArchitectureError, match=r"no system is named 'h100x9', .*\nhint: did you mean 'h100x8'"):
        tw.load_system("h100x9")
    with pytest.raises(ArchitectureError, match=r"nowhere.yaml: .*no such file"):
        tw.load_system("nowhere.yaml")
