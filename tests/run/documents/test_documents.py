"""mapping.json: everything comes back, and everything that is wrong with a file is said in one message."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import longer
from generators import random_architecture, random_mapping, random_problem, with_extras
from tilewright import TilewrightError, gemm, load_arch, load_mapping, search
from tilewright.cost_models import cost_of, count_words
from tilewright.ir import MappingError
from tilewright.results import SearchResult
from tilewright.run.documents.mappings import dump_mapping, parse_mapping

GOLDEN = Path(__file__).parents[2] / "golden"
Change = Callable[[dict[str, Any]], object]


@cache
def result() -> SearchResult:
    return search(gemm(M=16, N=16, K=16), load_arch("eyeriss"))


def changed(change: Change) -> str:
    """The text of a document after a change to its content."""
    data = json.loads(result().emit("json"))
    change(data)
    return json.dumps(data)


def problem_of(data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = data["cascade"]["operations"][0]["problem"]
    return found


def level(data: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(part for part in data["architecture"]["levels"] if part["name"] == name)
    return found


def test_a_search_result_comes_back_whole() -> None:
    loaded = load_mapping(result().emit("json"))
    assert loaded.mapping == result().mapping
    assert loaded.arch == result().arch
    assert loaded.recorded.cost == result().cost
    assert loaded.recorded.certificate == result().certificate


@pytest.mark.parametrize("seeds", longer.blocks(320, 40))
def test_random_mappings_come_back_whole(seeds: range) -> None:
    done = 0
    for seed in seeds:
        rng = random.Random(seed)
        problem, arch = random_problem(rng), random_architecture(rng, reuse="across_levels" if seed % 2 else "at_node")
        arch = arch if seed % 4 else with_extras(rng, arch, "leakage", "block", "hop", "fill", "widths")
        try:
            mapping = random_mapping(rng, problem, arch)
            cost = cost_of(mapping, arch, count_words(mapping, arch))
        except MappingError:
            continue
        text = dump_mapping(mapping, arch, cost)
        loaded = load_mapping(text)
        assert loaded.mapping == mapping
        assert loaded.arch == arch
        assert loaded.recorded.cost == cost
        assert loaded.recorded.certificate is None
        assert dump_mapping(loaded.mapping, loaded.arch, loaded.recorded.cost) == text
        done += 1
    assert longer.occurs(done > 10)


@pytest.mark.parametrize("name", ["eyeriss", "three_level", "tpu_v1"])
def test_every_architecture_of_the_library_comes_back(name: str) -> None:
    arch = load_arch(name)
    text = dump_mapping(result().mapping, arch, result().cost)
    assert load_mapping(text).arch == arch


def test_the_summary_has_the_derived_figures() -> None:
    summary = json.loads(result().emit("json"))["summary"]
    assert summary["edp"] == result().cost.edp
    assert summary["latency_s"] == result().cost.latency_s
    assert summary["proven"] is True


def test_a_document_is_readable_by_people() -> None:
    lines = result().emit("json").splitlines()
    assert max(len(line) for line in lines if '"source": ' not in line) <= 120  # a text cannot be broken
    assert any(line.strip().startswith('{"kind": "loop"') for line in lines)


def test_a_path_and_a_text_with_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    path = tmp_path / "mapping.json"
    path.write_text("\ufeff" + result().emit("json"), encoding="utf-8")
    assert load_mapping(path).mapping == result().mapping
    assert load_mapping(str(path)).mapping == result().mapping


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda d: d.pop("cascade"), "cascade: missing"),
        (lambda d: d.update(nots=[]), "nots: unknown key"),
        (
            lambda d: d["tree"]["items"].append({"kind": "loop", "dim": "M", "trip": 3}),
            "trip: unknown key\nhint: did you mean 'trips'",
        ),
        (
            lambda d: d["tree"]["items"].append({"kind": "loop", "dim": "M", "trips": 3}),
            "dimension M has 16 elements",
        ),
        (lambda d: d["tree"]["items"].append({"kind": "node", "memory": "GLB", "tensor": "X"}), "unknown tensor 'X'"),
        (lambda d: d["tree"]["items"].append({"dim": "M", "trips": 3}), ".kind: missing"),
        (lambda d: d["tree"]["items"].append({"kind": "lop"}), "found 'lop', expected 'loop', 'node'"),
        (
            lambda d: d["tree"]["items"].insert(0, {"kind": "loop", "dim": "M", "trips": 0}),
            "tree.items[0].trips: found 0, expected a",
        ),
        (
            lambda d: d["tree"]["items"].insert(0, {"kind": "loop", "dim": "M", "trips": 1.5}),
            "tree.items[0].trips: found 1.5, expected a",
        ),
        (lambda d: d["tree"].update(items={}), "tree.items: found an object, expected a list"),
        (
            lambda d: problem_of(d)["dims"][0].__setitem__(1, "16"),
            "problem.dims[0][1]: found '16', expected a whole number",
        ),
        (lambda d: problem_of(d)["dims"][0].__setitem__(1, -3), "dimension M is -3, expected 1 or more"),
        (lambda d: problem_of(d)["dims"][0].__setitem__(1, 0), "dimension M is 0, expected 1 or more"),
        (lambda d: problem_of(d)["dims"][0].__setitem__(1, 10**30), "2^53 at most"),
        (
            lambda d: problem_of(d)["tensors"][0].update(role="inputs"),
            "problem.tensors[0].role: found 'inputs', expected",
        ),
        (lambda d: problem_of(d)["tensors"][0].update(ranks=[[["X", 1]]]), "unknown dimension 'X'"),
        (lambda d: level(d, "GLB").update(size_bits=-8), "size_bits: found -8, expected a number greater than 0"),
        (lambda d: level(d, "GLB").update(sizebits=8), "sizebits: unknown key\nhint: did you mean 'size_bits'"),
        (lambda d: level(d, "GLB").update(name="DRAM"), "architecture: two levels are named DRAM"),
        (lambda d: d["architecture"].update(clock_hz=True), "architecture.clock_hz: found True, expected a number"),
        (lambda d: d["cost"].update(energy_pj="1"), "cost.energy_pj: found '1', expected a number"),
        (lambda d: d["cost"].update(energy=1), "cost.energy: unknown key"),
        (lambda d: d["certificate"].pop("value"), "certificate.value: missing"),
        (lambda d: d["certificate"].update(objective="edpp"), "certificate.objective: unknown name 'edpp'"),
        (lambda d: d["certificate"].update(objective="1/edp"), "certificate.objective: unknown name 'edp'"),
        (lambda d: d["cascade"]["operations"][0].update(expression="A + W"), "another operation than the sum of A * W"),
        (lambda d: d["cascade"]["operations"].append({}), "operations[1].problem: missing"),
        (lambda d: d.pop("schema_version"), "schema_version: missing, expected 6"),
        (lambda d: d.update(schema_version=9), "schema_version: found 9, expected 6\nhint: it was written by a newer"),
        (lambda d: d.update(schema_version="1"), "schema_version: found '1', expected 6"),
    ],
)
def test_malformed_documents_name_file_and_field(change: Change, expected: str) -> None:
    with pytest.raises(TilewrightError) as caught:
        parse_mapping(changed(change), "some/mapping.json")
    text = str(caught.value)
    assert text.startswith("some/mapping.json: ")
    assert expected in text
    assert "pydantic" not in text
    assert "http" not in text


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda d: d.pop("problem"), "problem: missing"),
        (lambda d: d["problem"]["dims"][0].__setitem__(1, "16"), "problem.dims[0][1]: found '16', expected a whole"),
        (lambda d: d["problem"]["dims"][0].__setitem__(1, 0), ": problem: "),
        (lambda d: d["nest"].insert(0, {"kind": "loop", "dim": "M", "trips": 0}), "nest[0].trips: found 0, expected a"),
        (lambda d: d["nest"].insert(0, {"kind": "loop", "dim": "X", "trips": 3}), "nest: "),
        (lambda d: d["problem"].pop("tensors"), "problem.tensors: missing"),
    ],
)
def test_what_is_wrong_with_an_older_document_is_said_in_its_own_words(change: Change, expected: str) -> None:
    data = json.loads((GOLDEN / "mapping-1" / "searched.json").read_text(encoding="utf-8"))
    change(data)
    with pytest.raises(MappingError) as caught:
        parse_mapping(json.dumps(data), "old.json")
    assert str(caught.value).startswith("old.json: ")
    assert expected in str(caught.value)
    assert "cascade" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "not JSON"),
        ("for M in 4", "not JSON"),
        ('{"nest": [', "not JSON"),
        ("[]", "found a list, expected an object"),
        ("3", "found a number, expected an object"),
        ('{"nest": 1, "nest": 2}', "the key 'nest' is given twice"),
        ('{"nest": NaN}', "found NaN, expected a finite number"),
        ('{"a":' * 100_000, "nested too deep"),
        ('{"a": ' + "9" * 5000 + "}", "4300 digits"),
    ],
)
def test_texts_that_are_no_document(text: str, expected: str) -> None:
    with pytest.raises(MappingError, match=r"some\.json") as caught:
        parse_mapping(text, "some.json")
    assert expected in str(caught.value)


def test_numbers_that_are_not_finite_are_refused() -> None:
    text = result().emit("json").replace('"clock_hz": 200000000.0', '"clock_hz": 1e999', 1)
    with pytest.raises(MappingError, match=r"clock_hz|finite"):
        parse_mapping(text, "some.json")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "mapping.json").write_text("{}")
    for name, expected in {
        "none.json": "no such file",
        "binary.json": "not a text file",
        "mapping.json": "schema_version: missing",
        "mapping.json/x": "cannot be read",
    }.items():
        with pytest.raises(MappingError, match=expected) as caught:
            load_mapping(tmp_path / name)
        assert str(tmp_path / name) in str(caught.value)
    with pytest.raises(MappingError, match=r"this is a directory") as caught:
        load_mapping(tmp_path)
    assert str(tmp_path / "mapping.json") in str(caught.value)
