"""Inputs that can be read and mean nothing: each is refused in words, wherever it stands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright.arch import Mac, Memory
from tilewright.arch.loader import parse_arch
from tilewright.arch.sweeps import parse_sweep
from tilewright.ir import ArchitectureError
from tilewright.mapper.means import LEAST_MEMORY_LIMIT

MACHINE = """
name: toy
clock: 100 MHz
word: 16 bit
levels:
  - {memory: DRAM, access: 16 bit, read: 10 pJ, write: 10 pJ}
  - {memory: GLB, size: 4 KiB, access: 16 bit, read: 1 pJ, write: 1 pJ}
  - {fanout: array, x: 4}
  - {memory: spad, size: 64 B, access: 16 bit, read: 1 pJ, write: 1 pJ}
mac: {energy: 1 pJ}
"""
NETWORK = """
network: toy
layers:
  - {name: a.fc, op: gemm, M: 16, N: 16, K: 16, weight: true}
  - {name: wide, op: gemm, M: 16, N: 17, K: 16, weight: true}
blocks: {one: [fc]}
graph:
  - {block: one, names: [a], rows: {fc: a.fc}}
  - {name: wide, reads: input}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("read: 1 pJ", "read: 1e99 pJ", "toy.yaml:7: levels[1].read: found 1e+99 pJ, expected 1e+15 pJ at most"),
        ("size: 4 KiB", "size: 1 bit", "levels[1].size: found 1 bit, less than a word takes; expected 8 or more"),
        ("100 MHz", "1e99 Hz", "clock: found 1e+99 Hz"),
        ("x: 4", "x: 1000000000", "expected a whole number of instances"),
        ("x: 4", "x: 999999999", "levels[2].x: found 999999999, expected 65536 at most"),
        ("size: 4 KiB", "size: 4 KiB, layout: {input: HWW}", "a layout is given without a line"),
        ("size: 4 KiB", "size: 4 KiB, bandwidth: 1e-30 bit/cycle", "expected 1e-15 bit/cycle or more"),
    ],
)
def test_figures_of_no_machine(old: str, new: str, message: str) -> None:
    with pytest.raises(ArchitectureError) as refused:
        parse_arch(MACHINE.replace(old, new), "toy.yaml")
    assert message in str(refused.value)


@pytest.mark.parametrize("value", [True, "1", float("inf"), float("nan"), 1e99, -1, None, 10**400])
def test_figures_of_machines_in_python(value: object) -> None:
    with pytest.raises(ArchitectureError, match=r"Mac\.energy_pj"):
        Mac(energy_pj=value)  # type: ignore[arg-type]
    if value is not None:
        with pytest.raises(ArchitectureError, match=r"Memory\.size_bits"):
            Memory(name="x", access_bits=8, read_energy_pj=1, write_energy_pj=1, size_bits=value)  # type: ignore[arg-type]
    assert str(Mac(energy_pj=-0.0).energy_pj) == "0.0"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rows: {fc: a.fc}", "rows: {fd: a.fc}", "the block has no entry 'fd'"),
        ("rows: {fc: a.fc}", "rows: {fc: a.fd}", "no row 'a.fd'"),
        ("rows: {fc: a.fc}", "rows: [1]", r"found \[1\], expected a name"),
        ("rows: {fc: a.fc}", "rows: {fc: a.fc}, reads: [b]", r"found \['b'\], expected a name"),
        ("rows: {fc: a.fc}", "rows: {fc: a.fc}, reads: b", "reads 'b', unknown so far"),
        ("name: wide, reads", "name: wide, op: [1], reads", r"op: found \[1\], expected a name"),
        ("name: wide, reads", "name: wide, layer: 1, reads", "layer: found 1, expected a name"),
        ("reads: input}", "reads: input}\n  - {name: sum, op: add, reads: [a.fc, wide]}", "16 x 16 and 16 x 17"),
        ("network: toy", "network: toy\npublished: [{what: x, value: 1.0e+999, source: y}]", "expected a number"),
        ("network: toy", "network: toy\nbatch: true", "batch is True"),
        ("M: 16, N: 16", "M: 1e999, N: 16", "M is '1e999'"),
        ("M: 16, N: 16", "M: .inf, N: 16", "M is inf"),
        ("M: 16, N: 16", "M: 16, M: 16, N: 16", "the key 'M' is given twice"),
        ("name: wide", "name: ''", "must not be empty"),
    ],
)
def test_networks_that_contradict_themselves(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "toy.yaml"
    path.write_text(NETWORK)
    tw.load_network(path)
    path.write_text(NETWORK.replace(old, new))
    with pytest.raises(tw.TilewrightError, match=message):
        tw.load_network(path)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"objective": "energy where latency <= 1e999"}, "the limit is 'latency <= 1e999'"),
        ({"memory_limit": "1 B"}, "the memory limit is 1 B, expected 1 MiB or more"),
        ({"memory_limit": LEAST_MEMORY_LIMIT - 1}, "expected 1 MiB or more"),
        ({"memory_limit": True}, "the memory limit is True"),
        ({"time_limit": float("nan")}, "the time limit is nan"),
        ({"time_limit": True}, "the time limit is True"),
        ({"density": {"W": np.array([["x", "y"], ["z", ""]])}}, "an array of <U1, expected one of numbers"),
        ({"density": {"W": np.array([[1.0, np.nan], [0.0, 1.0]])}}, "what is no number"),
        ({"density": {"W": np.array([[1.0, np.inf], [0.0, 1.0]])}}, "what is no number"),
        ({"density": {"W": np.array([[None, 1], [0, 1]])}}, "an array of object"),
        ({"density": {"W": True}}, "found 'True'"),
        ({"layout": {"A": "kk"}}, "stands there twice"),
        ({"layout": {"A": "k"}}, "M is left out"),
    ],
)
def test_searches_that_ask_for_nothing(given: dict[str, object], message: str) -> None:
    arch = parse_arch(MACHINE.replace("write: 10 pJ", "write: 10 pJ, line: 8 B"))
    with pytest.raises(tw.TilewrightError) as refused:
        tw.search(tw.gemm(2, 2, 2), arch, **given)  # type: ignore[arg-type]
    assert message in str(refused.value)


@pytest.mark.parametrize("statement", ["T[m] = exp(1e999 * A[m])", "T[m] = A[m] + 1" + "0" * 400])
def test_numbers_of_operations(statement: str) -> None:
    with pytest.raises(tw.TilewrightError, match="is too large"):
        tw.cascade([statement], {"m": 4})


def test_a_sweep_whose_quotes_do_not_end(tmp_path: Path) -> None:
    path = tmp_path / "designs.csv"
    path.write_text('GLB.size,array\n"64 KiB,8x8\n32 KiB,4x4\n')
    with pytest.raises(tw.TilewrightError, match="not a table: unexpected end of data"):
        parse_sweep(str(path))


def test_a_plan_that_fits_nothing_in_particular() -> None:
    with pytest.raises(tw.TilewrightError, match="expected one\nhint: state the capacity"):
        tw.plan_memory([("a", 0, 1, 4)], least=False)
    with pytest.raises(tw.TilewrightError, match="the name of a buffer is ''"):
        tw.plan_memory([("", 0, 1, 4)])
    with pytest.raises(tw.TilewrightError, match="more than 1,000,000 buffers, each copy counted"):
        tw.plan_memory([("a", 0, 1, 4, 1, 10**12)])
    with pytest.raises(tw.TilewrightError, match=r"more than 2\^62 bytes"):
        tw.plan_memory([("a", 0, 1, 2**53, 1, 1000)])


def test_many_buffers_end_in_a_plan_without_any_time() -> None:
    rng = np.random.default_rng(1)
    begins, lives, sizes = rng.integers(0, 500, 2000), rng.integers(1, 20, 2000), rng.integers(1, 4000, 2000)
    rows = zip(begins.tolist(), lives.tolist(), sizes.tolist(), strict=True)
    plan = tw.plan_memory([(f"b{i}", at, at + life, size) for i, (at, life, size) in enumerate(rows)], time_limit=0)
    plan.check()
    assert plan.lower_bound <= plan.height < 1.5 * plan.lower_bound
    assert not plan.decisions


def test_a_cascade_of_a_thousand_operations() -> None:
    chain = [f"T{i + 1}[m] = exp(T{i}[m])" for i in range(1000)]
    with pytest.raises(tw.TilewrightError, match="1,000 operations, expected 100 at most"):
        tw.cascade(chain, {"m": 4})
    assert len(tw.cascade(chain[:100], {"m": 4}).operations) == 100


@pytest.mark.parametrize("element", [np.zeros(3), ["float"], True, 3])
def test_elements_that_are_none(element: object) -> None:
    found = tw.search(tw.gemm(2, 2, 2), parse_arch(MACHINE))
    for form in ("c", "mlir"):
        with pytest.raises(tw.TilewrightError, match="unknown kind of element"):
            found.emit(form, element=element)  # type: ignore[arg-type]


@pytest.mark.long
def test_many_blocks_by_name(tmp_path: Path) -> None:
    names = ", ".join(f"b{i}" for i in range(20_000))
    rows = "layers:\n  - {name: fc, op: gemm, M: 4, N: 4, K: 4, weight: true, repeat: 20000}\n"
    path = tmp_path / "toy.yaml"
    path.write_text(f"network: toy\n{rows}blocks: {{b: [fc]}}\ngraph:\n  - {{block: b, names: [{names}]}}\n")
    wiring = tw.load_network(path).wiring
    assert wiring is not None
    assert len(wiring.occurrences) == 20_000
