"""Fields set from outside, parameters, and references between fields."""

from __future__ import annotations

import pytest

from tilewright.arch import Architecture, ArrayAxis, Keeps, Memory, load_arch, parse_arch
from tilewright.ir import ArchitectureError

TOY = """\
name: toy
description: $lanes lanes, $array.y rows, $GLB.size
clock: 1 GHz
word: 16 bit
parameters: {lanes: 8, rate: 2 words}
levels:
  - memory: DRAM
    access: 1 word
    read: 200 pJ
    write: 200 pJ
    bandwidth: $rate/cycle
  - memory: GLB
    size: 64 KiB
    access: 1 word
    read: 6 pJ
    write: 6 pJ
    bandwidth: {read: 8 B/cycle}
  - fanout: array
    x: {size: $lanes, reuse: output}
    y: 4
mac: {energy: 1 pJ}
"""


def toy(text: str = TOY, **settings: object) -> Architecture:
    chosen = {path.replace("__", "."): value for path, value in settings.items()}
    return parse_arch(text, "toy.yaml", chosen)  # type: ignore[arg-type]


def glb(arch: Architecture) -> Memory:
    found = arch.level("GLB")
    assert isinstance(found, Memory)
    return found


def test_references_are_filled_in() -> None:
    arch = toy()
    assert arch.description == "8 lanes, 4 rows, 64 KiB"
    assert arch.fanouts[0].axes == (ArrayAxis(size=8, reuse="output"), ArrayAxis(size=4))
    assert arch.memories[0].shared_bits_per_cycle == 32
    assert arch.settings == {}


def test_a_parameter_is_set_wherever_it_is_used() -> None:
    arch = toy(lanes=32, rate="4 words")
    assert arch.description.startswith("32 lanes")
    assert arch.fanouts[0].axes[0] == ArrayAxis(size=32, reuse="output")
    assert arch.memories[0].shared_bits_per_cycle == 64
    assert arch.settings == {"lanes": "32", "rate": "4 words"}


def test_a_field_is_set_and_what_refers_to_it_follows() -> None:
    arch = toy(array__y=16, GLB__size="1 MiB", clock="2 GHz", mac__per_cycle=2, partial_sum="32 bit")
    assert arch.description == "8 lanes, 16 rows, 1 MiB"
    assert (arch.fanouts[0].axes[1].size, glb(arch).size_bits) == (16, 2**23)
    assert (arch.clock_hz, arch.mac.per_cycle, arch.partial_sum_bits) == (2e9, 2, 32)


@pytest.mark.parametrize("value", ["256x128", "256 x 128"])
def test_both_axes_at_once_keep_what_else_they_say(value: str) -> None:
    assert toy(array=value).fanouts[0].axes == (ArrayAxis(size=256, reuse="output"), ArrayAxis(size=128))


def test_a_second_axis_is_made() -> None:
    text = TOY.replace("    y: 4\n", "").replace(", $array.y rows", "")
    assert toy(text, array="6x3").fanouts[0].axes == (ArrayAxis(size=6, reuse="output"), ArrayAxis(size=3))
    assert toy(text, array=6).fanouts[0].axes == (ArrayAxis(size=6, reuse="output"),)


def test_an_axis_as_a_whole_and_its_parts() -> None:
    assert toy(array__x="{size: 3, dims: [C, K]}").fanouts[0].axes[0] == ArrayAxis(size=3, dims=("C", "K"))
    assert toy(array__x={"size": 3, "dims": ["C"]}).fanouts[0].axes[0] == ArrayAxis(size=3, dims=("C",))
    assert toy(array__x__reuse="input").fanouts[0].axes[0] == ArrayAxis(size=8, reuse="input")


def test_members_are_made_where_there_is_no_mapping_yet() -> None:
    assert glb(toy(GLB__keep__weight="may")).keeps == Keeps(weight="may")
    assert glb(toy(GLB__bandwidth__write="4 B/cycle")).write_bits_per_cycle == 32
    assert glb(toy(GLB__double_buffered=True)).double_buffered


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            "arry.x",
            3,
            "set arry.x=3: there is no 'arry', expected a level and its key, a parameter or a key of the file",
        ),
        ("arry.x", 3, "hint: did you mean 'array.x'?"),
        ("lane", 3, "hint: did you mean 'lanes'?"),
        ("clok", 3, "hint: did you mean 'clock'?"),
        ("levels", 3, "set levels=3: there is no 'levels'"),
        ("GLB.siz", "1 MiB", "set GLB.siz=1 MiB: levels[1].siz: unknown key 'siz'\nhint: did you mean 'size'?"),
        ("array.z", 3, "set array.z=3: levels[2].z: unknown key 'z'"),
        ("array.x", "two", "set array.x=two: levels[2].x.size: found 'two', expected a whole number of instances"),
        ("array", "two", "set array=two: found 'two', expected sizes such as 256x256 or 64"),
        ("array", 16, "set array=16: array has two axes, expected sizes such as 16x16"),
        ("GLB", "1 MiB", "set GLB=1 MiB: GLB is a memory, expected one of its fields\nhint: GLB.size, GLB.access"),
        ("GLB.size", 3, "set GLB.size=3: levels[1].size: '3' has no unit, expected a size such as 108 KiB"),
        ("GLB.size.input", "3 B", "set GLB.size.input=3 B: levels[1].size is '64 KiB', expected a mapping"),
        (
            "GLB.keep",
            "{input: may, wait: may}",
            "levels[1].keep.wait: unknown key 'wait'\nhint: did you mean 'weight'?",
        ),
        ("GLB.keep", "{input", ": not YAML: "),
        ("clock", "$lanes", "set clock=$lanes: clock: '8' has no unit"),
        ("lanes", "$lanes", "set lanes=$lanes: parameters.lanes: $lanes refers to itself, by way of $lanes"),
        ("rate", "$DRAM.bandwidth", "refers to itself, by way of $"),
        ("clock", "$lane MHz", "set clock=$lane MHz: clock: $lane refers to nothing\nhint: did you mean 'lanes'?"),
        ("clock", "$GLB.bandwidth", "clock: $GLB.bandwidth refers to a mapping"),
    ],
)
def test_wrong_settings(path: str, value: str | int, message: str) -> None:
    with pytest.raises(ArchitectureError) as error:
        parse_arch(TOY, "toy.yaml", {path: value})
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("lanes: 8,", "lanes: [8],", "toy.yaml:5: parameters.lanes: found a list, expected a value such as 16"),
        ("{lanes: 8, rate: 2 words}", "8", "toy.yaml:5: parameters: found '8', expected a mapping such as {lanes: 16}"),
        ("lanes: 8,", "GLB: 8,", "toy.yaml:5: parameters.GLB: a level or a key of the file has this name"),
        ("lanes: 8,", "clock: 8,", "toy.yaml:5: parameters.clock: a level or a key of the file has this name"),
        ("lanes: 8,", "b-d: 8,", "toy.yaml:5: parameters.'b-d': found 'b-d', expected a name of letters"),
        ("x: {size: $lanes", "x: {size: $lane", "toy.yaml:19: levels[2].x.size: $lane refers to nothing"),
    ],
)
def test_wrong_parameters(old: str, new: str, message: str) -> None:
    with pytest.raises(ArchitectureError) as error:
        parse_arch(TOY.replace(old, new), "toy.yaml")
    assert str(error.value).startswith(message.replace("'b-d':", "b-d:"))


def test_the_library_is_set_by_name() -> None:
    arch = load_arch("systolic", set={"array.x": 128, "buffer.size": "1 MiB"})
    assert arch.description == "Textbook systolic array, 128 x 16, weight-stationary, 1 MiB buffer, 8 bit"
    assert arch.settings == {"array.x": "128", "buffer.size": "1 MiB"}
    assert load_arch("cpu", set={"lanes": 8}).mac_instances == 8
